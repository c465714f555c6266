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
# A paper reports a cross-entropy of 3 nats for its language model. You want to use the model in a keyboard that proposes one next word. How often will the proposal be right? If cross-entropy told you, you would need no other number.
#
# Here two models continue the sentence "The capital of France is". The bars are the probabilities that they give to five tokens.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_02.py).*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured; []: all
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]  # []: all
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy import special
from transformers import AutoModelForCausalLM, AutoTokenizer

from rbpkit import fit_power_law, load_corpus, measure
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_02 as draw
from rbpkit_notebooks.claims import Verdicts, counted
from rbpkit_pocket import paths

check_parameters(globals())

# %%
# Probabilities of five tokens, as printed in the paper's Figure 1
first = {"London": 0.30, "Beijing": 0.29, "Paris": 0.28, "Madrid": 0.10, "New York": 0.07}
second = {"Paris": 0.28, "London": 0.21, "Beijing": 0.20, "Madrid": 0.18, "New York": 0.13}
draw.figure_1(first, second, figures_dir)

# %% [markdown]
# *Figure 1 of the paper, most probable token on top. Black: the true token. (The first model's probabilities add up to 1.04, as printed.)*
#
# The two models give the true token the same probability. By this measure they are equally good. But their top tokens are London and Paris. So there are two ways to judge a model. Let $p(v)$ be the probability of token $v$ among all $V$ tokens of its vocabulary, and $t$ the true token:
#
# > **The paper.** "In fact, absolute-based and relative-based perspectives capture two distinct aspects of model performance, and neither can substitute for the other." (Section 1)
# >
# > $$\mathrm{CE} = \mathrm E[-\log p(t)], \qquad R = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,], \qquad \mathrm{RBP}_k = \Pr(R \le k) \tag{2, 3, 4}$$
#
# The cross-entropy $\mathrm{CE}$ is an average over the tokens of a text, in nats (the logarithm is natural). The rank $R$ is the place of the true token, and $\mathrm{RBP}_k$ is the share of tokens with a rank of at most $k$. [Glossary](../docs/glossary.md)
#

# %%
ranks_of_paris = []
for model in (first, second):
    p = np.array(list(model.values()))
    R = int((p >= model["Paris"]).sum())  # Eq. 3
    ranks_of_paris.append(R)
print(f"ranks of Paris: {ranks_of_paris}, -log p = {-np.log(0.28):.2f} nats in both")

# %% [markdown]
# **Exercise 1.** "Paris" has a probability of 0.28. What is the largest rank it can have?
#
# <details><summary>Hint</summary>If the rank is R, then R tokens have at least this probability. All probabilities add up to one.</details>

# %%
answer_1 = None  # a rank
draw.check(1, answer_1)

# %% [markdown]
# ## $\mathrm{RBP}_k$ is a share
#
# The smallest of the pocket models (small ones that we trained) ranked the 53 tokens of the function in notebook 00:

# %%
ranks = draw.ranks_of_function()
for k in (1, 10, 100):
    hits = ranks <= k
    print(f"RBP_{k} = {hits.sum()}/{len(hits)} = {hits.mean():.2f}")
draw.share(ranks, figures_dir)

# %% [markdown]
# *A bracket spans the tokens with a rank of at most $k$.*
#
# **Guess first.** Back to your keyboard. The model has a cross-entropy of 3 nats on some text. Between which two shares must its $\mathrm{RBP}_1$ be?
#
# ## What cross-entropy forces
#
# If the true token has the probability $e^{-3} = 0.05$ at every place, CE is 3. The other 0.95 can be shared in many ways, such as these:

# %%
p_true = np.exp(-3)
draw.one_cross_entropy(p_true, figures_dir)

# %% [markdown]
# *Left, the true token is second; right, it is first.*
#
# So a cross-entropy of 3 nats leaves everything open: $\mathrm{RBP}_1$ can be anything from 0 to 1. With more guesses something is forced. By Eq. 3, exactly $R$ tokens have a probability of at least $p(t)$. All probabilities add up to one, so $R\,p(t) \le 1$, which is
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
draw.check(2, answer_2)
answer_3 = None  # nats
draw.check(3, answer_3)

# %% [markdown]
# ## From scratch
#
# **Guess again.** At 3 nats, which $\mathrm{RBP}_1$ do trained models have? We measure four of them, and take only their folders and the documents from this project. For each token of the documents we keep two numbers: the rank and the probability of the true token.
#
# `predict` gives the model's *logits*, a score for each token of the vocabulary; softmax turns them into probabilities.

# %%
documents = load_corpus("pocket:code").documents[:24]
names = ("pythia-w32-l2", "pythia-w64-l4", "pythia-w96-l4", "pythia-w192-l7")
folders = [paths.MODELS / name for name in names]  # four of the eight pocket Pythias


def predict(tokenizer, network, document):
    """At T places of a document: scores (T, V) of all tokens, and the true tokens (T,)."""
    cut = {"truncation": True, "max_length": 256}
    ids = tokenizer(document, return_tensors="pt", **cut)["input_ids"]
    logits = network(ids).logits[0].detach()
    logits = logits.double().numpy()  # more digits for the sums below
    # The first token has nothing before it; what comes after the last one is unknown
    return logits[:-1], ids[0, 1:].numpy()


# %%
def rank_and_probability(logits, t):
    """R and p(t) at each place."""
    place = np.arange(len(t))
    logit_of_t = logits[place, t]
    as_probable = logits >= logit_of_t[:, None]
    R = as_probable.sum(axis=1)  # Eq. 3
    log_of_sum = special.logsumexp(logits, axis=1)  # softmax divides by this sum
    return R, np.exp(logit_of_t - log_of_sum)


# %%
sizes, all_R, all_p = [], [], []
for folder in folders:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    body = network.base_model  # without the output head
    sizes.append(body.num_parameters(exclude_embeddings=True))
    results = []
    for document in documents:
        logits, t = predict(tokenizer, network, document)
        results.append(rank_and_probability(logits, t))
    R, p_t = np.concatenate(results, axis=1)  # (2, tokens): all documents in a row
    all_R.append(R)
    all_p.append(p_t)

# %%
scratch = pd.DataFrame({"S": sizes})
scratch["CE"] = [-np.log(p_t).mean() for p_t in all_p]  # Eq. 2
for k in (1, 10, 100):
    scratch[f"RBP_{k}"] = [(R <= k).mean() for R in all_R]  # Eq. 4
scratch.round(3)

# %%
package = measure(folders[2], documents)  # the third model, in one line
assert np.isclose(package.ce(), scratch.CE[2], rtol=1e-4)
print(f"CE {package.ce():.3f}, RBP_1 {package.rbp(1):.3f}, RBP_10 {package.rbp(10):.3f}")

# %% [markdown]
# The package finds the same. (Notebook 00 reads all documents, not 24, so its numbers differ.) How much of the third model's $\mathrm{RBP}_k$ is forced by its cross-entropy?

# %%
R, p_t = all_R[2], all_p[2]
loss = -np.log(p_t)
assert (loss > np.log(R) - 1e-5).all()  # -log p(t) >= log R, at every token
CE = loss.mean()
V = network.config.vocab_size
k = np.arange(1, V + 1)
tokens_of_rank = np.bincount(R.astype(int), minlength=V + 1)
rbp = np.cumsum(tokens_of_rank[1:]) / len(R)  # a rank of at most 1, 2, 3, ...
print(f"CE = {CE:.3f} nats. RBP_1 = {rbp[0]:.3f}, forced: {least(CE, 1):.3f}")
draw.bounds(k, rbp, least(CE, k), figures_dir)

# %% [markdown]
# *The 24 documents under the third model.*
#
# ## What happens in practice
#
# The paper prints both CE and $\mathrm{RBP}_1$ for 14 models on Wikipedia. `wiki` has them: family, size $S$, CE, and the loss $-\log \mathrm{RBP}_1$. `own` has the same of the pocket models, on three texts. We fit two straight lines to the log of each family's loss: one in $\log S$ and one in $\log \mathrm{CE}$. Which line do the points follow more closely? `residual_sd` is their typical distance from a line. And which $\mathrm{RBP}_1$ does the line in CE give at 3 nats?

# %%
wiki = draw.published()
study = draw.read_study(records_dir, families, corpus_names)
own = draw.measured(study)
rows = []
every_point = pd.concat([wiki, own]).dropna()
for about, part in every_point.groupby(["corpus", "family"]):
    if len(part) < 3:
        print("too few models for a line:", about)
        continue
    in_S = fit_power_law(part["S"], part["loss"])
    in_CE = fit_power_law(part["CE"], part["loss"])
    RBP_1 = np.exp(-in_CE.predict(3.0).loss)
    rows.append((*about, in_S.residual_sd, in_CE.residual_sd, RBP_1, part["CE"].min() > 3))

# %%
columns = ["corpus", "family", "scatter in S", "scatter in CE", "RBP_1", "extended"]
lines = pd.DataFrame(rows, columns=columns)
expected = lines["RBP_1"]
print(f"RBP_1 at CE = 3: {expected.min():.2f} to {expected.max():.2f}")
print(f"lines that had to be extended to 3 nats: {counted(lines['extended'])}")
draw.from_ce(wiki, own, figures_dir)
lines.query("corpus == 'published: Wiki'").round(3)

# %% [markdown]
# The lines give 0.41 to 0.46. But these are four texts, and most models here do not come down to 3 nats. Others published pairs of CE and accuracy, which is $\mathrm{RBP}_1$, on Wikipedias of other languages ([notebook 17](17_one_axis.ipynb)). Here are those with a CE of about 3:

# %%
pairs = pd.read_csv(draw.EVIDENCE / "pairs_to_predict.csv", comment="#").set_index("id")
truth = pd.read_csv(draw.EVIDENCE / "pairs_truth.csv", comment="#").set_index("id")
pairs["acc"] = pairs["acc"].fillna(truth["acc"])  # some were withheld at first
near_3 = pairs[(pairs["k"] == 1) & (abs(pairs["ce"] - 3) < 0.05)]
near_3.groupby("text")["acc"].agg(["min", "max"]).round(2)

# %% [markdown]
# **On one text, cross-entropy nearly tells how often the first guess is right: on Wikipedia the Pythias lie five times closer to a line in cross-entropy than to one in size. From text to text it does not: at 3 nats, 40 to 53 of 100 first guesses are right.**
#
# So the answers to the guesses are 0 to 1 in principle, and 0.40 to 0.53 in practice. For your keyboard you need to know the text as well. Even the same French text differs by 0.05 to 0.07 if it is read backward.
#
# Does "five times" rest on one model? We leave out each Pythia in turn. And does it work in the other direction, from $\mathrm{RBP}_1$ to CE? If you know one of two numbers that lie on a line, you know the other.

# %%
pythia = wiki.query("family == 'Pythia'")
times_closer = []
for left_out in pythia.index:
    others = pythia.drop(index=left_out)
    in_S = fit_power_law(others["S"], others["loss"])
    in_CE = fit_power_law(others["CE"], others["loss"])
    times_closer.append(in_S.residual_sd / in_CE.residual_sd)
print(f"without one model: {min(times_closer):.1f} to {max(times_closer):.1f} times closer")
back = fit_power_law(pythia["loss"], pythia["CE"])
print(f"CE from RBP_1: typically {100 * back.residual_sd:.1f}% off")

# %% [markdown]
# Even on one text each family has a line of its own. For the GPT-2 models, Pythia's line predicts an $\mathrm{RBP}_1$ that is too low by 0.013 to 0.016.

# %%
gpt2 = wiki.query("family == 'GPT2'")
line = fit_power_law(pythia["CE"], pythia["loss"])
predicted = line.predict(gpt2["CE"]).loss
miss = np.exp(-predicted) - np.exp(-gpt2["loss"])
print("predicted less published RBP_1:", miss.round(3).tolist())

# %% [markdown]
# ## Further questions
#
# <details><summary>How often does Figure 1 happen?</summary>
#
# Not as drawn. The third model gives 65 true tokens a probability near 0.28, and none of them is third, as "Paris" is in the first model. But nearly half are second and the others first, so one probability does go with two ranks.
#
# </details>

# %%
near = R[np.abs(p_t - 0.28) < 0.02].astype(int)  # as probable as "Paris" above
first = f"{(near == 1).mean():.0%} of them first"
print(f"{len(near)} tokens, {first}; largest rank {near.max()}")

# %% [markdown]
# <details><summary>What does Figure 2 of the paper compute?</summary>
#
# Two averages over three tokens: the paper's "absolute-based metric $p_A$", which is $\mathrm E[p(t)]$, and $\mathrm{RBP}_2$. If the next token were drawn by lot from the model's probabilities, it would be the true one in a share $\mathrm E[p(t)]$ of all places.
#
# </details>

# %%
p_A = np.mean([0.21, 0.28, 0.19])  # as printed
RBP_2 = np.mean(np.array([4, 2, 5]) <= 2)  # ranks, from the heights of the drawn bars
print(f"p_A = {p_A:.3f}, RBP_2 = {RBP_2:.3f}")

# %% [markdown]
# <details><summary>Do the measured models lie closer to a line in CE, too?</summary>
#
# Yes: for every family and text with three models or more, the scatter about the line in CE is smaller or equal.
#
# </details>

# %%
closer = lines["scatter in CE"] <= lines["scatter in S"]
print(f"closer to the line in CE: {closer.sum()} of {len(lines)}")

# %% [markdown]
# <details><summary>What if tokens tie, and what do 16-bit numbers do?</summary>
#
# Eq. 3 counts a token that ties with the true one as ahead of it; the authors' program counts it as behind. With 32-bit logits the rule does not matter. A number of the 16-bit kind bfloat16 keeps eight binary digits, so many logits become equal. Then $\mathrm{RBP}_k$ depends on the rule by up to 0.008. So ask `transformers` for `float32`.
#
# And a broken logit, NaN ("not a number")? No comparison with NaN is true, so the authors' program finds no larger logit and gives it rank 1, a perfect score. `rbpkit` refuses it.
#
# </details>

# %%
# All pocket models, with ties behind ("optimistic") and ahead of the true token ("pessimistic")
precision = pd.read_csv(paths.TABLES / "precision.csv").set_index("setting")
rule = (precision["optimistic"] - precision["pessimistic"]).groupby("setting").max()
print(rule.round(4).to_string())

# %% [markdown]
# ## What to keep
#
# In principle cross-entropy and $\mathrm{RBP}_1$ are free of each other: with a CE between $\log 2$ and $\log V$ every $\mathrm{RBP}_1$ is possible, and an $\mathrm{RBP}_1$ below 1 allows any CE above $(1 - \mathrm{RBP}_1) \log 2$. In practice each nearly tells the other, on one text. $\mathrm{RBP}_1$ and CE come from the same tokens and share noise, so the points lie a little too close to the lines. If all logits are divided by one number (a temperature), CE changes and no rank does. The models here hardly differ in this way; tuned or smoothed ones can. What does one need to know of a model to go from one to the other? [Notebook 17](17_one_axis.ipynb) asks that.
#
# ## The paper says, we get
#
# The sentences are about what the two metrics can tell, so the verdicts are those in principle.

# %%
verdicts = Verdicts("02", records_dir, figures_dir)
verdicts.add(
    "02.1",
    holds=ranks_of_paris[0] != ranks_of_paris[1],
    published=f"ranks {ranks_of_paris}",
    measured=f"{first}; others up to rank {near.max()}",
    turns_if="",
)

# %%
open_to_all = wiki["CE"] >= np.log(2)  # every RBP_1 from 0 to 1 is possible
scatter = lines.query("corpus == 'published: Wiki' and family == 'Pythia'").iloc[0]
in_S, in_CE = scatter["scatter in S"], scatter["scatter in CE"]
verdicts.add(
    "02.3",
    holds=open_to_all.all(),
    count=open_to_all.sum(),
    of=len(open_to_all),
    published=f"in practice, Pythia on Wiki: {in_S:.3f} in S, {in_CE:.3f} in CE",
    measured=f"{counted(own['CE'] >= np.log(2))}; nearer in CE: {counted(closer)}",
    turns_if={"trained models of one family on one text are meant": in_CE > in_S},
)

# %%
verdicts.add(
    "02.4",
    holds=round(p_A, 3) == 0.227 and RBP_2 == 1 / 3,
    published=f"pA = {p_A:.3f}, RBP_2 = {RBP_2:.3f}",
    turns_if="",
)
float32, bfloat16 = rule["float32"], rule["bfloat16 logits"]
verdicts.add(
    "02.5",
    holds=float32 < 0.0005,
    published="by definition, except for ties",
    measured=f"ties change {float32:.4f} with 32 bits, {bfloat16:.4f} with 16",
    turns_if={"logits have 16 bits": bfloat16 < 0.0005},
)
verdicts.table()

# %% [markdown]
# **Related work.** Ranks of the true token go back to Shannon's guessing game (*Prediction and Entropy of Printed English*, 1951). Shannon used them to enclose the entropy of English between two bounds.
