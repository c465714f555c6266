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
# Two models continue the sentence "The capital of France is". The bars are the probabilities that they give to five tokens.

# %% tags=["parameters", "hide-input"]
# Parameters
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured; []: all
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]  # []: all
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Imports
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.patches import Rectangle
from scipy.special import logsumexp
from scipy.stats import linregress
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from rbpkit import (
    InputError,
    fit_power_law,
    fit_rbp_law,
    load_corpus,
    load_model,
    load_summaries,
    logit_ranks,
    measure,
    paper,
    plots,
)
from rbpkit.palette import CONTEXT, INK, OTHER, RANK_FILLS, rank_group
from rbpkit.study.params import check_parameters
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed
from rbpkit.tools.rank_view import look
from rbpkit_pocket import paths
from rbpkit_pocket.families import model_folder

check_parameters(globals())
disable_progress_bar()
torch.set_num_threads(1)
summaries = load_summaries(records_dir or paths.SUMMARIES)
manifests = [summary.manifest for summary in summaries]
families = families or sorted({manifest.family for manifest in manifests})
corpus_names = corpus_names or sorted({manifest.corpus for manifest in manifests})
if not any(one.family in families and one.corpus in corpus_names for one in manifests):
    print("Nothing of these families and texts was measured, so all that was measured is shown.")
    families = sorted({manifest.family for manifest in manifests})
    corpus_names = sorted({manifest.corpus for manifest in manifests})

# %% tags=["hide-input"]
# Draw Figure 1 of the paper
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
rows = []
for model, p in capitals.items():
    for token in p:
        place = sum(other >= p[token] for other in p.values())  # Eq. 3
        rows.append((model, token, p[token], token == "Paris", place))
figure_1 = pd.DataFrame(rows, columns=["prediction", "token", "p", "correct", "place"])
with plots.style():
    figure, panels = plt.subplots(
        1, 2, figsize=(plots.WIDTH, 2.7), sharex=True, layout="constrained"
    )
    for axes, (model, part) in zip(panels, figure_1.groupby("prediction"), strict=True):
        axes.barh(part["token"], part["p"], color=np.where(part["correct"], INK, CONTEXT))
        axes.invert_yaxis()
        for row in part.itertuples():
            axes.text(row.p + 0.005, row.token, f"{row.p:.2f}", va="center", size=10)
        place = part.loc[part["correct"], "place"].item()
        axes.set(xlim=(0, 0.37), xticks=[], title=f"{model}: Paris is in place {place}")
        axes.spines["bottom"].set_visible(False)
plots.save(figure, figure_1, figures_dir, "figure_1")

# %% [markdown]
# *Figure 1 of the paper, most probable token on top. "Paris", the true token, has the same bar in both, but not the same place. (The first model's probabilities add up to 1.04, as printed.)*
#
# The two models give the true token the same probability. By this measure they are equally good. But their top tokens are London and Paris. So there are two ways to judge a model. Let $p(v)$ be the probability of token $v$ among all $V$ tokens of its vocabulary, and $t$ the true token:
#
# > **The paper.** "In fact, absolute-based and relative-based perspectives capture two distinct aspects of model performance, and neither can substitute for the other." (Section 1)
# >
# > $$\mathrm{CE} = \mathrm E[-\log p(t)], \qquad R = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,], \qquad \mathrm{RBP}_k = \Pr(R \le k) \tag{2, 3, 4}$$
#
# The cross-entropy $\mathrm{CE}$ is an average over the tokens of a text, in nats (the logarithm is natural). The rank $R$ is the place of the true token, and $\mathrm{RBP}_k$ is the share of tokens with a rank of at most $k$. [Glossary](../docs/glossary.md)
#
# **Exercise 1.** "Paris" has a probability of 0.28. What is the largest rank it can have?
#
# <details><summary>Hint</summary>If the rank is R, then R tokens have at least this probability. All probabilities add up to one.</details>

# %%
answer_1 = None  # a rank
right_answer = sealed("4e074085", digits=0, within=0)
print(check(1, answer_1, right_answer))

# %% [markdown]
# ## $\mathrm{RBP}_k$ is a share
#
# Here are 53 tokens of the function of notebook 00, ranked by the smallest of the pocket models (small ones that we trained).

# %% tags=["hide-input"]
# Draw the idea: a share of real tokens
function = '''def is_prime(n):
    """Return True if n is a prime number."""
    if n < 2:
        return False
    for i in range(2, n):
        if n % i == 0:
            return False
    return True
'''
smallest_pocket = load_model(model_folder("Pythia", 0), device="cpu")
ranks = np.array([token.rank for token in look(smallest_pocket, function).scored])
in_order = np.sort(ranks)
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.1))
    figure.subplots_adjust(0, 0, 1, 1)
    count = len(ranks)
    axes.set(xlim=(-0.3, count + 0.3), ylim=(0, 3.1))
    axes.axis("off")
    for height, row, title in (
        (2.62, ranks, "in the order of the text"),
        (1.85, in_order, "sorted, smallest rank first"),
    ):
        axes.text(0, height + 0.36, title, size=11, va="center")
        for place, rank in enumerate(row):
            fill = RANK_FILLS[rank_group(int(rank))]
            axes.add_patch(Rectangle((place, height), 0.93, 0.25, facecolor=fill))
    for height, k in ((1.55, 1), (1.0, 10), (0.45, 100)):
        hits = int((ranks <= k).sum())
        axes.plot(
            [0, 0, hits - 0.07, hits - 0.07],
            [height + 0.12, height, height, height + 0.12],
            color=INK,
        )
        words = f"$\\mathrm{{RBP}}_{{{k}}}$ = {hits}/{count} = {hits / count:.2f}"
        axes.text(0.3, height - 0.17, words, size=12, va="center")
    largest = ranks.argmax()
    axes.plot([largest + 0.46] * 2, [2.53, 2.61], color=INK, linewidth=1)
    axes.annotate(f"rank {ranks[largest]}", (largest + 0.5, 2.62), xytext=(0, -12), size=10, ha="center",
                  textcoords="offset points", va="center")  # fmt: skip
points = pd.DataFrame({"position": range(1, count + 1), "rank": ranks})
plots.save(figure, points, figures_dir, "figure_2_share")

# %% [markdown]
# *Each cell is a token, in the colours of notebook 00: the paler, the smaller its rank. A bracket spans the tokens with a rank of at most $k$.*
#
# `look` reads a text with a model and gives the rank of each token.

# %%
seen = look(smallest_pocket, function)
ranks = np.array([token.rank for token in seen.scored])  # all tokens but the first
for k in (1, 10, 100):
    hits = ranks <= k
    print(f"RBP_{k} = {hits.sum()}/{len(hits)} = {hits.mean():.2f}")

# %% [markdown]
# **Guess first.** A model has a cross-entropy of 3 nats on some text. Between which two shares must its $\mathrm{RBP}_1$ be?
#
# ## What cross-entropy forces
#
# If the true token has the probability $e^{-3} = 0.05$ at every place, CE is 3. The other 0.95 can be shared in many ways, such as these:

# %% tags=["hide-input"]
# Draw the idea: two models with one cross-entropy
p_true = np.exp(-3)
with plots.style():
    figure, panels = plt.subplots(
        1, 2, figsize=(plots.WIDTH, 2.6), sharey=True, layout="constrained"
    )
    shapes = ([1 - p_true, p_true], [p_true] + [(1 - p_true) / 24] * 24)
    for axes, heights, true in zip(panels, shapes, (1, 0), strict=True):
        colours = [INK if place == true else CONTEXT for place in range(len(heights))]
        axes.bar(range(1, len(heights) + 1), heights, color=colours, width=0.85)
        axes.annotate(
            "true token", (true + 1, p_true), xytext=(4, 8), textcoords="offset points", size=10
        )
        axes.set(ylim=(0, 0.075), xlim=(0, 26), xlabel="place")
        axes.set_title(f"CE = {-np.log(heights[true]):.0f}, $\\mathrm{{RBP}}_1$ = {int(true == 0)}")
    panels[0].set_ylabel("probability")
    panels[0].set_yticks([0, 0.02, 0.04, 0.06])
    panels[0].text(2, 0.067, "\u2190 one wrong token has 0.95", size=10)
    panels[1].text(2, 0.067, "24 wrong tokens share 0.95", size=10)
rows = [
    (n, place, p, place == (2, 1)[n - 1])
    for n in (1, 2)
    for place, p in enumerate(shapes[n - 1], 1)
]
points = pd.DataFrame(rows, columns=["model", "place", "p", "correct"])
plots.save(figure, points, figures_dir, "figure_2_open")

# %% [markdown]
# *The dark bar is 0.05 in both. Left, the true token is second; right, it is first.*
#
# So a cross-entropy of 3 nats leaves everything open: $\mathrm{RBP}_1$ can be anything from 0 to 1. At larger $k$ something is forced. By Eq. 3, exactly $R$ tokens have a probability of at least $p(t)$. All probabilities add up to one, so $R\,p(t) \le 1$, which is
#
# $$-\log p(t) \;\ge\; \log R .$$
#
# The average of the left side is CE, so CE is at least the average of $\log R$. Let a share $q$ of the tokens have a rank above $k$. Each of them has $\log R \ge \log(k+1)$, so the average of $\log R$ is at least $q \log (k+1)$. Hence
#
# $$\mathrm{RBP}_k = 1 - q \;\ge\; 1 - \frac{\mathrm{CE}}{\log(k+1)} .$$
#
# At $k = 1$ the right side is $1 - \mathrm{CE}/\log 2$. If CE is $\log 2 = 0.69$ or more, this is at most 0 and forces nothing.


# %%
def least(CE, k):
    """The smallest RBP_k that a cross-entropy allows."""
    bound = 1 - CE / np.log(k + 1)
    return np.maximum(0, bound)


for k in (1, 10, 100, 1000):
    print(f"CE = 3 forces RBP_{k} >= {least(3, k):.2f}")

# %% [markdown]
# **Exercise 2.** A model has $\mathrm{CE} = 2$ nats. What is the smallest $k$ at which $\mathrm{RBP}_k$ *must* be at least one half?
#
# <details><summary>Hint</summary>Set the bound equal to 1/2 and solve for k + 1.</details>
#
# **Exercise 3.** How large can CE be if every true token is first? Take a model with $V = 4096$ tokens that puts the true token first everywhere, while all others are almost as probable. Near which number is its cross-entropy, to two decimals? (Up to this CE, $\mathrm{RBP}_1$ can be 1.)
#
# <details><summary>Hint</summary>Which probability has each token if all are alike?</details>

# %%
answer_2 = None  # a k
right_answer = sealed("2fca346d", digits=0, within=0)
print(check(2, answer_2, right_answer))

answer_3 = None  # nats
right_answer = sealed("0ca88800", digits=2)
print(check(3, answer_3, right_answer))

# %% [markdown]
# ## From scratch
#
# **Guess again.** At 3 nats, which $\mathrm{RBP}_1$ do trained models have? We measure four of them, and take only their folders and the documents from this project. For each token of the documents we keep two numbers: the rank and the probability of the true token.
#
# `predict` gives the model's *logits*, a score for each token of the vocabulary; softmax turns them into probabilities.

# %%
documents = load_corpus("pocket:code").documents[:24]
sizes = (0, 2, 4, 7)  # four of the eight pocket Pythias
folders = [model_folder("Pythia", size) for size in sizes]


def predict(tokenizer, network, document):
    """At T places of a document: scores (T, V) of all tokens, and the true tokens (T,)."""
    cut = {"truncation": True, "max_length": 256}
    ids = tokenizer(document, return_tensors="pt", **cut)["input_ids"]
    with torch.no_grad():
        logits = network(ids).logits[0].double()  # more digits for the sums below
    # The first token has nothing before it; what comes after the last one is unknown.
    return logits[:-1].numpy(), ids[0, 1:].numpy()


# %%
def rank_and_probability(logits, t):
    """R and p(t) at each place."""
    place = np.arange(len(t))
    logit_of_t = logits[place, t]
    as_probable = logits >= logit_of_t[:, None]
    R = as_probable.sum(axis=1)  # Eq. 3
    log_of_sum = logsumexp(logits, axis=1)  # softmax divides by this sum
    return R, np.exp(logit_of_t - log_of_sum)


def non_embedding_parameters(network):
    """S: the model without its output head and without its token embeddings."""
    embeddings = network.get_input_embeddings().weight
    body = network.base_model.parameters()
    count = sum(weights.numel() for weights in body)
    return count - embeddings.numel()


# %%
networks, all_R, all_p = [], [], []
for folder in folders:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    results = []
    for document in documents:
        logits, t = predict(tokenizer, network, document)
        results.append(rank_and_probability(logits, t))
    R, p_t = np.concatenate(results, axis=1)  # (2, tokens): all documents in a row
    networks.append(network)
    all_R.append(R)
    all_p.append(p_t)

# %%
S = [non_embedding_parameters(network) for network in networks]
scratch = pd.DataFrame({"S": S})
scratch["CE"] = [-np.log(p_t).mean() for p_t in all_p]  # Eq. 2
for k in (1, 10, 100):
    scratch[f"RBP_{k}"] = [(R <= k).mean() for R in all_R]  # Eq. 4
scratch.round(3)

# %% tags=["hide-input"]
# Compare with the package's own measurement
for folder, row in zip(folders, scratch.to_dict("records"), strict=True):
    package = measure(folder, documents)
    assert package.summary.manifest.S == row["S"] and np.isclose(package.ce(), row["CE"], rtol=1e-4)
    for k in (1, 10, 100):  # another order of additions may move a token by one rank
        assert abs(package.rbp(k) - row[f"RBP_{k}"]) < 2 / package.summary.tokens
alpha = fit_rbp_law(scratch["S"], scratch["RBP_1"]).alpha
slope, _ = np.polyfit(np.log(scratch["S"]), np.log(-np.log(scratch["RBP_1"])), 1)
assert np.isclose(alpha, -slope)
print("S, CE and RBP_k of the package agree.")
print(f"through these four: alpha = {alpha:.3f} at k = 1")

# %% [markdown]
# (Notebook 00 reads all documents, not 24, so its numbers differ.) Take the third model. How much of its $\mathrm{RBP}_k$ is forced by its cross-entropy?

# %%
R, p_t = all_R[2], all_p[2]
CE = -np.log(p_t).mean()
V = networks[2].config.vocab_size
k = np.arange(1, V + 1)
rbp = np.array([(R <= each).mean() for each in k])
print(f"CE = {CE:.3f} nats. RBP_1 = {rbp[0]:.3f}, forced: {least(CE, 1):.3f}")

# %% tags=["hide-input"]
# Draw the figure: RBP_k, and what cross-entropy forces
assert (-np.log(p_t) - np.log(R) > -1e-5).all()
print(f"-log p(t) >= log R at every token; averages {CE:.3f} >= {np.log(R).mean():.3f}")
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.5), layout="constrained")
    axes.fill_between(k, least(CE, k), 1, step="post", color=CONTEXT, linewidth=0)
    axes.step(k, rbp, where="post", color=INK)
    axes.plot(k, least(CE, k), "--", color=OTHER)
    axes.text(3, rbp[2] + 0.05, r"$\mathrm{RBP}_k$", ha="right", size=11)
    axes.text(700, 0.42, "forced by CE", size=11, color=OTHER)
    axes.text(1.3, 0.2, "CE allows\nall of the grey", size=11)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="$k$", ylabel="share of tokens")
    axes.set_title(r"$\mathrm{RBP}_k$ is far above what cross-entropy forces")
grid = np.unique(np.geomspace(1, V, 80).astype(int))
points = pd.DataFrame({"k": grid, "rbp": rbp[grid - 1], "bound": least(CE, grid)})
plots.save(figure, points, figures_dir, "figure_2_bounds")

# %% [markdown]
# *The 24 documents under the third model.*
#
# ## What happens in practice
#
# The paper prints both CE and $\mathrm{RBP}_1$ for 14 models on Wikipedia. `wiki` has them: family, size $S$, CE, and the loss $-\log \mathrm{RBP}_1$. For each family we fit two straight lines to the log of the loss: one in $\log S$ and one in $\log \mathrm{CE}$. Which line do the points follow more closely? `scatter` gives their typical distance from a line.

# %% tags=["hide-input"]
# Put the published points, and those that were measured, into tables
columns = ["corpus", "family", "model", "S", "CE", "loss"]
pythia = paper.ce_and_rbp1().query("kind == 'empirical'")  # Figure 8a
pythia = pythia.pivot(index=["model", "S"], columns="series", values="value").reset_index()
pythia = pythia.rename(columns={"neg_log_rbp1": "loss"}).assign(family="Pythia")
gpt2 = paper.gpt2_wiki_metrics().query("k == 1").rename(columns={"ce": "CE"})
gpt2 = gpt2.assign(family="GPT2", loss=-np.log(gpt2["p_N1"]))
wiki = (
    pd.concat([pythia, gpt2]).assign(corpus="published: Wiki")[columns].sort_values(["family", "S"])
)
rows = []
for summary, manifest in zip(summaries, manifests, strict=True):
    if manifest.corpus in corpus_names and manifest.family in families:
        loss = -np.log(summary.rbp(1)) if summary.rbp(1) > 0 else np.nan
        names = manifest.corpus, manifest.family, manifest.model
        rows.append((*names, manifest.S, summary.ce(), loss))
own = pd.DataFrame(rows, columns=columns).astype({"S": int, "CE": float, "loss": float})
everything = pd.concat([wiki, own]).dropna()


# %%
def scatter(points, x):
    """The standard deviation of log loss about its line in log x."""
    log_x, log_loss = np.log(points[x]), np.log(points["loss"])
    line = linregress(log_x, log_loss)
    off = log_loss - line.intercept - line.slope * log_x
    degrees_of_freedom = len(off) - 2  # the line took two
    return np.sqrt(sum(off**2) / degrees_of_freedom)


for family, part in wiki.groupby("family"):
    in_S, in_CE = scatter(part, "S"), scatter(part, "CE")
    print(f"{family:6} scatter about a line in S: {in_S:.3f}, in CE: {in_CE:.3f}")


# %% tags=["hide-input"]
# Draw the figure: the same points against size and against cross-entropy
def draw_both(points, title):
    with plots.style():
        figure, panels = plt.subplots(
            1, 2, figsize=(plots.WIDTH, 3.3), sharey=True, layout="constrained"
        )
        for axes, x, label in zip(
            panels, ("S", "CE"), ("size $S$", "cross-entropy (nats)"), strict=True
        ):
            for family, part in points.groupby("family"):
                look_of = plots.ink_of(family)
                part = part.sort_values(x)
                axes.plot(part[x], part["loss"], look_of.marker, color=look_of.colour)
                if len(part) >= 3:
                    line = linregress(np.log(part[x]), np.log(part["loss"]))
                    fitted = np.exp(line.intercept + line.slope * np.log(part[x]))
                    axes.plot(part[x], fitted, color=look_of.colour, linewidth=1.2)
            axes.set(xscale="log", yscale="log", xlabel=label)
        plots.log_ticks(panels[0])
        panels[0].set_ylabel(r"$-\log\,\mathrm{RBP}_1$")
        low, high = points["CE"].min(), points["CE"].max()
        ticks = [tick for tick in (1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6) if low <= tick <= high]
        panels[1].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panels[1].minorticks_off()
        ends = []
        for family, part in points.groupby("family"):
            last = part.sort_values("S").iloc[-1]
            ends.append(
                (last["S"], last["loss"], plots.name_of(family), plots.ink_of(family).colour)
            )
        panels[0].set_xlim(right=points["S"].max() * (30 if points["S"].max() > 1e9 else 6))
        figure.suptitle(title, x=0.01, ha="left", size=12)
        plots.label_ends(panels[0], ends)
        if points["S"].max() > 1e9:  # two published families, of which one line is the upper
            for family, at in (("GPT2", (3.1, 0.745)), ("Pythia", (2.05, 0.7))):
                panels[1].text(
                    *at, plots.name_of(family), size=10, color=plots.ink_of(family).colour
                )
    return figure


figure = draw_both(wiki, "By size two lines far apart, by cross-entropy almost one (Wiki)")
plots.save(
    figure, pd.concat([wiki, own]).sort_values(["family", "S"]), figures_dir, "figure_2_from_ce"
)

# %% [markdown]
# **On Wikipedia the Pythias lie more than five times closer to a line in cross-entropy than to one in size.** Which $\mathrm{RBP}_1$ do such lines give at a cross-entropy of 3 nats? `everything` has the points of Wikipedia and of the pocket models. `fit_power_law` puts a line through the logarithms, and `line.predict` reads the loss at a CE off this line.

# %%
expected = []
for _, part in everything.groupby(["corpus", "family"]):
    if len(part) >= 3:  # fewer make no line
        line = fit_power_law(part["CE"], part["loss"])
        loss_at_3 = line.predict([3.0]).loss
        expected.append(np.exp(-loss_at_3))
print(f"RBP_1 at CE = 3: {np.min(expected):.2f} to {np.max(expected):.2f}")

# %% [markdown]
# So the answers to the guesses are: 0 to 1 in principle, and 0.41 to 0.46 in practice. (Some lines had to be extended to reach 3 nats.) The probability of a single token does not tell its rank. But if a model was trained to lower its cross-entropy, the mean log probability over a whole text nearly tells how often the true token is first.
#
# It does not tell this exactly, because each text and each tokenizer has a slightly different line. For the GPT-2 models, Pythia's line predicts an $\mathrm{RBP}_1$ that is too low by 0.013 to 0.016.

# %% tags=["hide-input", "hide-output"]
# Predict GPT-2 by Pythia's line
line = linregress(np.log(pythia["CE"]), np.log(pythia["loss"]))
predicted = np.exp(-np.exp(line.intercept + line.slope * np.log(gpt2["CE"])))
miss = predicted - np.exp(-gpt2["loss"])
print("predicted less published RBP_1:", miss.round(3).tolist())

# %% [markdown]
# ## The paper says, we get
#
# "Neither can substitute for the other" holds in part: in principle nothing follows from CE for $\mathrm{RBP}_1$, but in practice a line in CE nearly gives it.

# %% tags=["hide-input", "hide-output"]
# Compute what the claims and the folds below show
drawn = np.array([15, 13, 12, 10, 9, 8, 6])  # heights of the bars in Figure 2, from its drawing
truth = np.array([3, 1, 4])  # which of them is the true token, in each of its three panels
p_of_truth = np.array([0.21, 0.28, 0.19])  # its probability, as printed
R_of_truth = (drawn >= drawn[truth][:, None]).sum(axis=1)  # Eq. 3
p_A, CE_three = p_of_truth.mean(), -np.log(p_of_truth).mean()  # Eq. 2
RBP_2 = (R_of_truth <= 2).mean()  # Eq. 4
near = R[np.abs(p_t - 0.28) < 0.02].astype(int)

rows = []
for names, part in everything.groupby(["corpus", "family"]):
    if len(part) >= 3:
        by_S, by_CE = scatter(part, "S"), scatter(part, "CE")
        rows.append((*names, len(part), by_S, by_CE))
    else:
        print(f"too few models for a line: {names[1]} on {names[0]}")
lines = pd.DataFrame(rows, columns=["corpus", "family", "models", "scatter in S", "scatter in CE"])

table = pd.read_csv(paths.TABLES / "precision.csv")
table["rule"] = table["optimistic"] - table["pessimistic"]
key = ["corpus", "model", "k"]
exact = table[table["setting"] == "float32"].set_index(key)["CE"]
table["CE changes by"] = (table["CE"] / table.set_index(key).index.map(exact) - 1).abs()
precision = table.groupby("setting", sort=False)[["tied", "rule", "CE changes by"]].max()


# %% tags=["hide-input", "hide-output"]
# The claims
def rms(values):
    return np.sqrt((values**2).mean())


both_CE = pd.concat([pythia["CE"], gpt2["CE"]])
free, free_measured = (both_CE >= np.log(2)).sum(), (own["CE"] >= np.log(2)).sum()
pythia_line = lines.query("corpus == 'published: Wiki' and family == 'Pythia'").iloc[0]
in_S, in_CE = pythia_line["scatter in S"], pythia_line["scatter in CE"]
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
            "test": "in principle: models whose CE leaves the whole range from 0 to 1 open for RBP_1 (CE of"
            " at least log 2). In practice: the next row",
            "published": f"{free} of {len(both_CE)} models",
            "measured": f"{free_measured} of {len(own)} models and corpora",
            "verdict": "holds" if free == len(both_CE) and in_CE > in_S else "holds in part",
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
            "published": f"pA = {p_A:.3f}, RBP_2 = {RBP_2:.3f}",
            "measured": "",
            "verdict": "holds" if round(p_A, 3) == 0.227 and RBP_2 == 1 / 3 else "does not hold",
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
# **What this cannot show.** If all logits are divided by one number (a temperature), CE changes and no rank does. Trained models do not differ in this way. $\mathrm{RBP}_1$ and CE come from the same tokens and share noise. So in the figure above the points lie a little too close to the lines in cross-entropy ([notebook 17](17_one_axis.ipynb) measures how much).
#
# **Related work.** Ranks of the true token go back to Shannon's guessing game (*Prediction and Entropy of Printed English*, 1951).
#
# ## Further questions
#
# <details><summary>How often does Figure 1 happen?</summary>
#
# Different ranks at one probability are common. The third model gives 65 true tokens a probability near 0.28. Nearly half of them are second, the others first. None is third, as "Paris" is in the first model.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Ranks of tokens with a probability near 0.28; and tokens drawn by lot
shares = pd.Series(near).value_counts(normalize=True).sort_index()
print(
    f"{len(near)} tokens;", ", ".join(f"rank {rank}: {share:.0%}" for rank, share in shares.items())
)
by_lot = [p.mean() for p in all_p]
assert (scratch["RBP_1"] > by_lot).all()
print("E[p(t)] of the four models:", np.round(by_lot, 3).tolist())

# %% [markdown]
# <details><summary>What does Figure 2 of the paper compute?</summary>
#
# Three averages over three tokens: $\mathrm{CE}$; the paper's "absolute-based metric $p_A$" $= \mathrm E[p(t)] = 0.227$; and $\mathrm{RBP}_2 = 1/3$. If tokens were drawn by lot from the model's probabilities, a share $\mathrm E[p(t)]$ would be true. The top token is right more often ($\mathrm{RBP}_1 > \mathrm E[p(t)]$ for all four models above).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Draw Figure 2 of the paper; only the three printed probabilities are numbers, the bars are its sketch
print(
    f"R = {R_of_truth.tolist()}, E[p(t)] = {p_A:.3f}, CE = {CE_three:.3f} nats, RBP_2 = {RBP_2:.3f}"
)
with plots.style():
    figure, panels = plt.subplots(
        3, 1, figsize=(plots.WIDTH * 0.7, 4.5), sharex=True, layout="constrained"
    )
    places = np.arange(1, len(drawn) + 1)
    for axes, rank, p in zip(panels, R_of_truth, p_of_truth, strict=True):
        axes.bar(places, drawn, color=np.where(places == rank, INK, CONTEXT), width=0.9)
        axes.axvline(2.5, color=INK, linestyle="--", linewidth=1)
        axes.set(xticks=places, yticks=[], ylim=(0, 17), title=f"$p(t)$ = {p}, $R$ = {rank}")
    panels[-1].set_xlabel("place; $k$ = 2 at the dashed line")
rows = [
    (n + 1, place, h, place == R_of_truth[n]) for n in range(3) for place, h in enumerate(drawn, 1)
]
points = pd.DataFrame(rows, columns=["token", "place", "height", "correct"])
points["p"] = points["token"].map(dict(enumerate(p_of_truth, 1))).where(points["correct"])
plots.save(figure, points, figures_dir, "figure_2")

# %% [markdown]
# <details><summary>Do the measured models lie closer to a line in CE, too?</summary>
#
# Yes: for every family and text with three models or more, the scatter about the line in CE is smaller or equal.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# The scatter of every family and text, and the first measured text
first = next((name for name in corpus_names if name in set(own["corpus"])), None)
if first is None:
    print(f"not measured: {', '.join(families)} on {', '.join(corpus_names)}")
else:
    title = f"The same points by size and by cross-entropy ({plots.short(first)})"
    plots.show(draw_both(own[own["corpus"] == first].dropna(), title))
lines.round(3)

# %% [markdown]
# <details><summary>What if tokens tie, and what do 16-bit numbers do?</summary>
#
# Eq. 3 counts a token that ties with the true one as ahead of it; the authors' program counts it as behind. With 32-bit logits the rule does not matter. A number of the 16-bit kind bfloat16 keeps eight binary digits, so many logits become equal. Then $\mathrm{RBP}_k$ depends on the rule by up to 0.008, while CE hardly changes. So ask `transformers` for `float32`.
#
# An exponent survives 16 bits. If only the network (the body) runs in 16 bits, no exponent of the pocket models changes by more than 0.6% (bfloat16) or 0.4% (float16). If the logits are rounded too, the largest changes are 1.3% and 0.3%.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# The third model with logits of 32 and 16 bits; then all pocket models, largest value
rows = []
tokenizer = AutoTokenizer.from_pretrained(folders[2])
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    larger, equal = [], []
    for document in documents:
        logits, t = predict(tokenizer, networks[2], document)
        rounded = torch.from_numpy(logits).to(dtype).float().numpy()
        logit_of_t = rounded[np.arange(len(t)), t][:, None]
        larger.append((rounded > logit_of_t).sum(axis=1))
        equal.append((rounded == logit_of_t).sum(axis=1) - 1)
    g, e = np.concatenate(larger), np.concatenate(equal)
    row = {"logits": str(dtype).removeprefix("torch."), "tied": (e > 0).mean()}
    rows.append({**row, "RBP_1, Eq. 3": (g + e < 1).mean(), "RBP_1, program": (g < 1).mean()})
ties = pd.DataFrame(rows)
print(ties.round({"tied": 2, "RBP_1, Eq. 3": 3, "RBP_1, program": 3}).to_string(index=False))
# "Body": only the network ran in 16 bits, and the logits have 32, as in this project.
alpha = table.groupby(["setting", "corpus", "family", "k"], sort=False)[["S", "pessimistic"]].apply(
    lambda rows: fit_rbp_law(rows["S"], rows["pessimistic"]).alpha  # pessimistic: by Eq. 3
)
change = alpha.unstack("setting").div(alpha["float32"], axis=0) - 1
precision["alpha changes by, %"] = (100 * change.abs().max()).round(1)
precision.round(4)

# %% [markdown]
# <details><summary>And if a logit is broken?</summary>
#
# A broken logit is NaN ("not a number"). No comparison with NaN is true, so the authors' program finds no larger logit and gives it rank 1, a perfect score. `rbpkit` refuses it.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# A broken logit
broken = torch.tensor([[0.5, torch.nan, 2.0]])
print("larger logits, plus one:", 1 + int((broken > broken[0, 1]).sum()))
try:
    logit_ranks(broken, torch.tensor([1]))
except InputError as error:
    print("rbpkit:", error)
