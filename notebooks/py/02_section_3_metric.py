# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 3: the metric
#
# **The question.** A language model gives the true next token a probability and, at the same time, a place among all tokens. Are these two measurements of a model, or one?
#
# > **The paper.** "In fact, absolute-based and relative-based perspectives capture two distinct aspects of model performance, and neither can substitute for the other." (Section 1)
# >
# > $$\mathrm{CE} = \mathrm E[-\log p(t)], \qquad R = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,], \qquad \mathrm{RBP}_k = \Pr(R \le k) \tag{2, 3, 4}$$
#
# **Guess first.** A model has a cross-entropy (CE) of 3 nats on some text. Between which limits does that force $\mathrm{RBP}_1$, the share of tokens that it ranks first? And between which limits would you expect it?
#
# [Glossary](../docs/glossary.md)

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.ticker import MultipleLocator, NullLocator
from scipy.special import logsumexp
from scipy.stats import linregress
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from rbpkit import (
    InputError,
    fit_rbp_law,
    load_corpus,
    load_summaries,
    logit_ranks,
    measure,
    paper,
    plots,
)
from rbpkit.study.params import check_parameters
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket import paths, recipes

check_parameters(globals())
disable_progress_bar()
torch.set_num_threads(1)
summaries = load_summaries(records_dir or paths.SUMMARIES)

# %% [markdown]
# ## One probability, two ranks
#
# Figure 1 of the paper asks two models for the capital of France. Both give "Paris" a probability of 0.28.

# %%
capitals = {
    "first model": {
        "London": 0.30,
        "Beijing": 0.29,
        "Paris": 0.28,
        "Madrid": 0.10,
        "New York": 0.07,
    },
    "second model": {
        "Paris": 0.28,
        "London": 0.21,
        "Beijing": 0.20,
        "Madrid": 0.18,
        "New York": 0.13,
    },
}
figure_1 = [
    {"prediction": model, "token": token, "p": one, "correct": token == "Paris"}
    | {"place": sum(other >= one for other in p.values())}  # Eq. 3
    for model, p in capitals.items()
    for token, one in p.items()
]
figure_1 = pd.DataFrame(figure_1)
figure_1.query("correct")

# %% tags=["hide-input"]
TRUTH, OTHER = "#0072B2", "0.8"
with plots.style():
    figure, panels = plt.subplots(1, 2, figsize=(7, 2.6), sharex=True, layout="constrained")
    for axes, (model, part) in zip(panels, figure_1.groupby("prediction"), strict=True):
        axes.barh(part["token"], part["p"], color=np.where(part["correct"], TRUTH, OTHER))
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        rank = part.loc[part["correct"], "place"].item()
        axes.set(xlabel="$p(v)$", title=f"{model}: $p(t)$ = 0.28, $R$ = {rank}")
plots.save(figure, figure_1, figures_dir, "figure_1")

# %% [markdown]
# *The two predictions of Figure 1, most probable token on top. Cross-entropy sees the length of the blue bar. A rank sees its place.*
#
# For cross-entropy the two models are equally good. A user who takes the top token gets London from one and Paris from the other. (Printed as they are, the first model's probabilities add up to 1.04. The ranks are not affected.)
#
# The opposite happens too. Divide all logits by one number, a temperature, and every probability changes, but no rank does.
#
# **Exercise 1.** Could "Paris" have a rank of 4 or more with a probability of 0.28? Which is the largest rank it can have?
#
# <details><summary>Hint</summary>If the rank is R, then R tokens have at least this probability. All probabilities add up to one.</details>

# %%
answer_1 = None  # a rank
print(check(1, answer_1, sealed("4e074085", digits=0, within=0)))

# %% [markdown]
# ## Three averages
#
# Over a text, both kinds of measurement become averages. Figure 2 of the paper works them out for three tokens, with the true token in fourth, second and fifth place.

# %%
drawn = np.array([15, 13, 12, 10, 9, 8, 6])  # heights of the bars in Figure 2, from its drawing
truth = np.array([3, 1, 4])  # which of them is the true token, in each of its three panels
p_t = np.array([0.21, 0.28, 0.19])  # its probability, as printed

R = (drawn >= drawn[truth][:, None]).sum(axis=1)  # Eq. 3
p_A, CE_three = p_t.mean(), -np.log(p_t).mean()  # Eq. 2
RBP = {k: (R <= k).mean() for k in range(1, 8)}  # Eq. 4
print(f"R = {R.tolist()}, E[p(t)] = {p_A:.3f}, CE = {CE_three:.3f} nats, RBP_2 = {RBP[2]:.3f}")

# %% tags=["hide-input"]
with plots.style():
    figure, panels = plt.subplots(1, 3, figsize=(7, 2.3), sharey=True, layout="constrained")
    for axes, rank, p in zip(panels, R, p_t, strict=True):
        places = np.arange(1, len(drawn) + 1)
        axes.bar(places, drawn, color=np.where(places == rank, TRUTH, OTHER), width=0.9)
        axes.axvline(2.5, color="black", linestyle="--", linewidth=1)
        axes.text(2.6, 15.2, "$k = 2$", fontsize=9)
        axes.set(xlabel="place", xticks=places, yticks=[], ylim=(0, 17))
        axes.set_title(f"$p(t)$ = {p}, $R$ = {rank}")
        axes.grid(False)
points = [(n + 1, place, h, place == R[n]) for n in range(3) for place, h in enumerate(drawn, 1)]
points = pd.DataFrame(points, columns=["token", "place", "height", "correct"])
points["p"] = points["token"].map(dict(enumerate(p_t, 1))).where(points["correct"])
plots.save(figure, points, figures_dir, "figure_2")

# %% [markdown]
# *Figure 2 of the paper: the true token in blue, the top two to the left of the dashed line. Only the three printed probabilities are numbers. The bars are a sketch: on their scale they would add up to more than one.*
#
# - $\mathrm{CE}$ is the mean loss. It punishes a single very small $p(t)$ without limit.
# - $\mathrm E[p(t)]$ is the paper's "absolute-based metric $p_A$". It is the chance that a token *drawn* from the model's distribution is the true one. Since $-\log$ is convex, $\mathrm{CE} \ge -\log \mathrm E[p(t)]$.
# - $\mathrm{RBP}_1$ is the chance that the model's *top* token is the true one, and $\mathrm{RBP}_k$ that it is among the top $k$.
#
# All three are taken while the model reads the true text. No text is generated, so a rank says how well a model predicts the text, and not how good the text would be that it writes.
#
# ## From scratch
#
# The whole measurement needs no package of ours. Load a folder with `transformers`, read some documents, and keep two numbers for each token.

# %%
documents = load_corpus("pocket:code").documents[:24]
folders = [recipes.model_folder("Pythia", size) for size in (0, 2, 4, 7)]


def load(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer, AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


@torch.no_grad()
def predictions(tokenizer, network):
    """For each document: logits (T, V), and the tokens that really came next (T,)."""
    for document in documents:
        ids = tokenizer(document, truncation=True, max_length=256, return_tensors="pt")["input_ids"]
        yield network(ids).logits[0, :-1].double().numpy(), ids[0, 1:].numpy()


def measured(tokenizer, network):
    """Rank R and probability p(t) of every token."""
    R, p_t = [], []
    for logits, t in predictions(tokenizer, network):
        l_t = logits[np.arange(len(t)), t][:, None]  # the true token's logit
        R.append((logits >= l_t).sum(axis=1))  # Eq. 3
        p_t.append(np.exp(l_t[:, 0] - logsumexp(logits, axis=1)))
    return np.concatenate(R), np.concatenate(p_t)


def non_embedding_parameters(network):
    """S: the base model without the output head, less the token embeddings."""
    every = sum(weights.numel() for weights in network.base_model.parameters())
    return every - network.get_input_embeddings().weight.numel()


loaded = [load(folder) for folder in folders]
tokens = [measured(*one) for one in loaded]
scratch = pd.DataFrame({"S": [non_embedding_parameters(network) for _, network in loaded]})
scratch["CE"] = [-np.log(p_t).mean() for _, p_t in tokens]
scratch["E[p(t)]"] = [p_t.mean() for _, p_t in tokens]
ks = [1, 10, 100]
for k in ks:
    scratch[f"RBP_{k}"] = [(R <= k).mean() for R, _ in tokens]

RBP_1 = np.array([(R <= 1).mean() for R, _ in tokens])
minus_alpha, log_C = np.polyfit(np.log(scratch["S"]), np.log(-np.log(RBP_1)), 1)
print(f"alpha = {-minus_alpha:.3f} at k = 1")
scratch.round(3)

# %% tags=["hide-input"]
# The package gives the same numbers.
for folder, one in zip(folders, scratch.to_dict("records"), strict=True):
    package = measure(folder, documents)
    assert package.summary.manifest.S == one["S"] and np.isclose(package.ce(), one["CE"], rtol=1e-4)
    for k in ks:  # another order of additions may move a token by one rank
        assert abs(package.rbp(k) - one[f"RBP_{k}"]) < 2 / package.summary.tokens
assert np.isclose(fit_rbp_law(scratch["S"], RBP_1).alpha, -minus_alpha)

# %% [markdown]
# Everything else in this project is the same measurement with more models, more text and less memory. The top token is right more often than a drawn one: $\mathrm{RBP}_1$ is above $\mathrm E[p(t)]$ for each model.
#
# How often do Figure 1's two cases occur? Take the tokens to which the third of these models gives a probability near 0.28:

# %%
R, p_t = tokens[2]
near = R[np.abs(p_t - 0.28) < 0.02]
shares = pd.Series(near).value_counts(normalize=True).sort_index()
print(f"{len(near)} tokens;", ", ".join(f"rank {rank}: {one:.0%}" for rank, one in shares.items()))

# %% [markdown]
# Figure 1 is no rare case: nearly half of these 65 tokens have a more probable rival. Token by token, a probability does not tell the rank. Is that still so for averages over a text?
#
# ## What cross-entropy forces
#
# Here is the limit that the guess asked for. $R$ tokens have a probability of at least $p(t)$, and all probabilities add up to one. So $R\,p(t) \le 1$, and for each token
#
# $$-\log p(t) \;\ge\; \log R .$$
#
# Hence $\mathrm E[\log R] \le \mathrm{CE}$. Markov's inequality says that $\log R$ reaches $\log(k+1)$ for at most a share $\mathrm{CE}/\log(k+1)$ of the tokens, and so
#
# $$\mathrm{RBP}_k \;\ge\; 1 - \frac{\mathrm{CE}}{\log(k+1)} .$$


# %%
def least(CE, k):
    """The smallest RBP_k that a cross-entropy allows."""
    return np.maximum(0, 1 - CE / np.log1p(k))


slack = -np.log(p_t) - np.log(R)
CE, V = -np.log(p_t).mean(), loaded[2][1].config.vocab_size
k = np.arange(1, V + 1)
rbp = np.bincount(R, minlength=V + 1)[1:].cumsum() / len(R)
print("-log p(t) >= log R at every token:", bool((slack > -1e-5).all()))
print(f"CE = {CE:.3f} nats, E[log R] = {np.log(R).mean():.3f}")

# %% tags=["hide-input"]
with plots.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    left.plot(np.log(R), -np.log(p_t), ".", color=TRUTH, alpha=0.15, markersize=4, rasterized=True)
    left.plot([0, np.log(V)], [0, np.log(V)], color="black")
    left.set(xlabel=r"$\log R$", ylabel=r"$-\log p(t)$ (nats)", title="each token")
    left.text(6, 4.4, r"$\log R$", fontsize=10)
    right.step(k, rbp, where="post", color=TRUTH)
    right.plot(k, least(CE, k), "--", color="black")
    right.text(20, 0.86, r"$\mathrm{RBP}_k$", color=TRUTH, ha="right", fontsize=10)
    right.text(220, 0.32, "forced by CE", fontsize=10)
    right.set(xscale="log", ylim=(0, 1.02), xlabel="$k$", title="all tokens")
grid = np.unique(np.geomspace(1, V, 80).astype(int))
points = pd.DataFrame({"k": grid, "rbp": rbp[grid - 1], "bound": least(CE, grid)})
plots.save(figure, points, figures_dir, "figure_2_bounds")

# %% [markdown]
# *The 24 documents under the third model. Left: no token is below the line. Right: $\mathrm{RBP}_k$ is the distribution function of the rank, a staircase that ends at 1. The dashed curve is all that cross-entropy guarantees.*
#
# The inequality is sharp, and there is no bound from above: a model can be nearly uniform, with a cross-entropy near $\log V$, and still put the true token first by a hair. A model with $\mathrm{CE} \ge \log 2$, and that is every model here, may in principle have any $\mathrm{RBP}_1$ from 0 to 1. So the paper is right: *in principle* one metric does not give the other.
#
# **Exercise 2.** A model has $\mathrm{CE} = 2$ nats. From which whole $k$ on is $\mathrm{RBP}_k$ at least one half?
#
# **Exercise 3.** Write down logits of $V$ tokens for which the rank is 1 and the loss is as near to $\log V$ as you like. Check them with `logit_ranks`.

# %%
answer_2 = None  # a k
print(check(2, answer_2, sealed("2fca346d", digits=0, within=0)))

# %% [markdown]
# ## What happens in practice
#
# Now compare real models on one text. The left panels show $-\log \mathrm{RBP}_1$ against size, as the paper does. The right panels show the same points against cross-entropy.

# %%
pythia = paper.ce_and_rbp1().query("kind == 'empirical'")  # Figure 8a
pythia = pythia.pivot(index=["model", "S"], columns="series", values="value").reset_index()
pythia = pythia.rename(columns={"neg_log_rbp1": "loss"}).assign(family="Pythia")
gpt2 = paper.gpt2_wiki_metrics().query("k == 1").rename(columns={"ce": "CE"})
gpt2 = gpt2.assign(family="GPT2", loss=-np.log(gpt2["p_N1"]))
columns = ["corpus", "family", "model", "S", "CE", "loss"]
published = pd.concat([pythia, gpt2]).assign(corpus="published: Wiki")[columns]

ours = [
    (of.corpus, of.family, of.model, of.S, one.ce(), -np.log(one.rbp(1)))
    for one in summaries
    if (of := one.manifest).corpus in corpus_names and of.family in families
]
ours = pd.DataFrame(ours, columns=columns).astype({"S": int, "CE": float, "loss": float})
every = pd.concat([published, ours]).sort_values(["family", "S"])
first = next((name for name in corpus_names if name in set(ours["corpus"])), None)
if first is None:
    print(f"not measured: {', '.join(families)} on {', '.join(corpus_names)}")

# %% tags=["hide-input"]
panels = []
for corpus in filter(None, ("published: Wiki", first)):
    part = every[every["corpus"] == corpus]
    panels += [part.assign(panel=f"{corpus.removeprefix('pocket:')}, by {name}", x=part[x])
               for x, name in (("S", "size"), ("CE", "cross-entropy"))]  # fmt: skip
look = {"panel": "panel", "x": "x", "size": (3.4, 2.6), "ylabel": r"$-\log\,\mathrm{RBP}_1$"}
figure = plots.law_grid(pd.concat(panels), **look)
for number, axes in enumerate(figure.axes):
    axes.set_xlabel("CE (nats)" if number % 2 else "$S$")
    if number % 2:
        axes.xaxis.set_major_locator(MultipleLocator(0.5))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:g}")
plots.save(figure, every, figures_dir, "figure_2_from_ce")

# %% [markdown]
# *One text in each row, one point for each model. Left: each family has its own curve. Right: the families nearly share one line.*
#
# How far are the points from a straight line in $\log S$, and how far from one in $\log \mathrm{CE}$? The scatter is the standard deviation of $\log(-\log \mathrm{RBP}_1)$ about the line.


# %%
def scatter(x, loss):
    line = linregress(np.log(x), np.log(loss))
    residual = np.log(loss) - line.intercept - line.slope * np.log(x)
    return np.sqrt((residual**2).sum() / (len(x) - 2))


groups = every.groupby(["corpus", "family"])
lines = pd.DataFrame(
    [
        (*names, len(part), scatter(part["S"], part["loss"]), scatter(part["CE"], part["loss"]))
        for names, part in groups
        if len(part) >= 3
    ],
    columns=["corpus", "family", "models", "scatter in S", "scatter in CE"],
)
lines.round(3)

# %% [markdown]
# In every row the scatter about the line in cross-entropy is the smaller one or equal, and for the published Pythias it is five times smaller. A single token's probability does not give its rank. An average over a text does: if you know a model's cross-entropy on it, you nearly know its $\mathrm{RBP}_1$.
#
# This is so for one text and one tokenizer. Another text has another line, and so has another tokenizer. The line through the Pythias on Wiki predicts the GPT-2 models' $\mathrm{RBP}_1$ too low:

# %%
line = linregress(np.log(pythia["CE"]), np.log(pythia["loss"]))
predicted = np.exp(-np.exp(line.intercept + line.slope * np.log(gpt2["CE"])))
miss = predicted - np.exp(-gpt2["loss"])
print("predicted less published RBP_1:", miss.round(3).tolist())

# %% [markdown]
# ## Ties and 16-bit numbers
#
# Eq. 3 counts a token that *ties* with the true one as ahead of it. The authors' program counts only strictly larger logits, so ties are behind. With $g$ larger and $e$ equal logits, the ranks are $g + e + 1$ and $g + 1$. With exact numbers this would not matter. Round the logits, and it does:

# %%
rows = []
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    g, e = [], []
    for logits, t in predictions(*loaded[2]):
        rounded = torch.from_numpy(logits).to(dtype).float().numpy()
        l_t = rounded[np.arange(len(t)), t][:, None]
        g.append((rounded > l_t).sum(axis=1))
        e.append((rounded == l_t).sum(axis=1) - 1)
    g, e = np.concatenate(g), np.concatenate(e)
    row = {"logits": str(dtype).removeprefix("torch."), "tied": (e > 0).mean()}
    rows.append(row | {"RBP_1, Eq. 3": (g + e < 1).mean(), "RBP_1, program": (g < 1).mean()})
ties = pd.DataFrame(rows)
ties.round({"tied": 2, "RBP_1, Eq. 3": 3, "RBP_1, program": 3})

# %% [markdown]
# bfloat16 keeps eight binary digits of a number, so many logits become equal. The table below has 100 documents of two corpora under each pocket model of the four families. "Body" means that only the network ran in 16 bits and the logits have 32, as in this project.

# %%
table = pd.read_csv(paths.TABLES / "precision.csv")
table["rule"] = table["optimistic"] - table["pessimistic"]
exact = table[table["setting"] == "float32"].set_index(["corpus", "model", "k"])["CE"]
table["CE changes by"] = (
    table["CE"] / table.set_index(["corpus", "model", "k"]).index.map(exact) - 1
).abs()
precision = table.groupby("setting", sort=False)[["tied", "rule", "CE changes by"]].max()
precision.round(4)

# %% [markdown]
# *The largest value over models, corpora and $k$ = 1, 10, 100. tied: share of true tokens with an equal logit. rule: by how much $\mathrm{RBP}_k$ depends on the rule for ties.*
#
# On 32-bit logits the rule does not matter. On 16-bit logits it moves $\mathrm{RBP}_k$, and cross-entropy hardly notices. Two habits follow. Rank 32-bit logits: `transformers` loads a model in the precision of its folder, often 16 bits, unless you ask for `float32` as `load` does above. And refuse broken logits. Nothing is larger than NaN, so under the program's rule a broken logit has rank 1, a perfect score:

# %%
broken = torch.tensor([[0.5, torch.nan, 2.0]])
print("larger logits, plus one:", 1 + int((broken > broken[0, 1]).sum()))
try:
    logit_ranks(broken, torch.tensor([1]))
except InputError as error:
    print("rbpkit:", error)

# %% [markdown]
# ## The paper's claims


# %% tags=["hide-input"]
def rms(values):
    return np.sqrt((values**2).mean())


both_CE = pd.concat([pythia["CE"], gpt2["CE"]])
free, free_measured = (both_CE >= np.log(2)).sum(), (ours["CE"] >= np.log(2)).sum()
wiki = lines.query("corpus == 'published: Wiki' and family == 'Pythia'").iloc[0]
in_S, in_CE = wiki["scatter in S"], wiki["scatter in CE"]
pooled = lines[lines["corpus"] != "published: Wiki"].groupby("family")
pooled = pooled[["scatter in S", "scatter in CE"]].agg(rms)
by_family = [f"{one.Index}: {one[1]:.3f} in S, {one[2]:.3f} in CE" for one in pooled.itertuples()]
paris = figure_1.query("correct")["place"]
in_32_bits, in_16_bits = precision.loc[["float32", "bfloat16 logits"], "rule"]

claims_table(
    "02",
    [
        {
            "claim": "the same probability score may correspond to different rankings",
            "where": "Section 1, Figure 1",
            "test": "ranks of true tokens with one probability, 0.28",
            "published": f"ranks {paris.iloc[0]} and {paris.iloc[1]}",
            "measured": f"rank 1 for {(near == 1).mean():.0%} of the tokens; others up to rank {near.max()}",
            "verdict": "holds" if paris.nunique() > 1 else "does not hold",
            "main": True,
        },
        {
            "claim": "if RBP1 is 30%, it means that greedy sampling works for 30% cases. Yet this "
            "cannot be deduced from the cross-entropy value.",
            "where": "Section 3.2",
            "test": "models whose CE leaves the whole range from 0 to 1 open for RBP_1 (CE of at"
            " least log 2)",
            "published": f"{free} of {len(both_CE)} models",
            "measured": f"{free_measured} of {len(ours)} models and corpora",
            "verdict": "holds" if free == len(both_CE) else "holds in part",
            "main": False,  # notebook 08 has it as a main claim
        },
        {
            "claim": "absolute-based and relative-based perspectives capture two distinct aspects of "
            "model performance, and neither can substitute for the other",
            "where": "Section 1",
            "test": "in principle: nothing follows from CE for RBP_1 (notebook 02). In practice: scatter of"
            " log(-log RBP_1) about a line in log S, and about one in log CE, on one text",
            "published": f"Pythia on Wiki: {in_S:.3f} in S, {in_CE:.3f} in CE",
            "measured": "; ".join(by_family) or "no family of three models",
            "verdict": "holds" if in_CE > in_S else "holds in part",
            "main": True,
        },
        {
            "claim": "pA = (0.21 + 0.28 + 0.19)/3 ≈ 0.227; we obtain RBP2 = 1/3 ≈ 0.333",
            "where": "Figure 2",
            "test": "computed again",
            "published": f"pA = {p_A:.3f}, RBP_2 = {RBP[2]:.3f}",
            "measured": "",
            "verdict": "holds" if round(p_A, 3) == 0.227 and RBP[2] == 1 / 3 else "does not hold",
            "main": False,
        },
        {
            "claim": "RBPk is the probability that the ground-truth token is within the top-k scored"
            " tokens",
            "where": "Section 3.2",
            "test": "largest change of RBP_k if tied tokens are counted behind the true one (Eq. 3"
            " counts them ahead); logits of 32 bits, and of 16",
            "published": "by definition, except for ties",
            "measured": f"{in_32_bits:.4f} with 32 bits; {in_16_bits:.4f} with 16",
            "verdict": "holds",
            "main": False,
        },
    ],
    records_dir,
    figures_dir,
)

# %% [markdown]
# ## What this cannot show
#
# - That cross-entropy nearly gives $\mathrm{RBP}_1$ is seen for models trained to lower cross-entropy, on one text at a time. A temperature moves cross-entropy and leaves every rank as it is.
# - $\mathrm{RBP}_1$ and CE come from the same tokens, so part of the chance in them is shared. That makes the right panels look a little better than new text would.
# - The published points with both metrics are 14 models on one corpus.
#
# [Notebook 15](15_size_and_tokens.ipynb) compares models of different size at equal cross-entropy. [Notebook 10](10_appendix_B_law_in_k.ipynb) follows $\mathrm{RBP}_k$ along $k$. Ranks of the true token under a language model go back to Shannon's guessing game (*Prediction and Entropy of Printed English*, 1951), which also bounds entropy by the distribution of ranks.
