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
# # Beyond the paper: which tokens make families differ?
#
# Here is the first problem of HumanEval, cut into tokens (words or their parts). Take a token and the token just before it. If these two already occurred next to each other, in this order, earlier in the text, the token *completes a pair*. Such tokens are filled below. The list `tokens` has the tokens' numbers.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_14.py).*

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
from itertools import pairwise

import pandas as pd
import torch

from rbpkit import fit_power_law, load_model
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_14 as draw
from rbpkit_notebooks.joint_law import held_out_errors
from rbpkit_pocket import ablations, paths

check_parameters(globals())
tokens = draw.first_problem()

# %%
seen = set()
is_pair_token = [False]  # the first token has none in front of it
for before, token in pairwise(tokens):
    is_pair_token.append((before, token) in seen)
    seen.add((before, token))
print(f"{sum(is_pair_token)} of {len(tokens)} tokens complete a pair")
draw.text(tokens, is_pair_token, figures_dir)

# %% [markdown]
# *A bar separates tokens. A fill without letters is white space.*
#
# A model can predict such a token by *copying*: it finds an earlier occurrence of the token just read, and repeats what followed there. We call the filled tokens *pair tokens*, and all others *other tokens*.
#
# $S$ is the number of parameters without embeddings. $\mathrm{RBP}_k$ is the share of true next tokens that are among a model's $k$ first guesses. On one text, a family of models follows $-\log \mathrm{RBP}_1 \propto S^{-\alpha}$.
#
# The *pocket models* compared here are small ones that we trained, with the designs of GPT-2, OPT, Pythia, Qwen and Mamba. All families read the same 12 million tokens, but not at the same learning rate: at each width, Pythia's is four times that of GPT-2 and OPT. On five texts, our Pythia's exponent is 1.3 to 1.7 times that of the next family.
#
# **Guess.** Fit $\alpha$ to each kind of token. Where do the families differ: on pair tokens, on other tokens, or on both alike?
#
# *[Glossary](../docs/glossary.md). Logarithms are natural.*
#
# ## Two kinds of token, two exponents
#
# We measured every pocket model on each kind of token. `load_totals` reads the counts, and `plus` adds those of two kinds. `size_and_tokens` makes a table. A row has one model, one text and one quantity ($\mathrm{RBP}_1$, $\mathrm{RBP}_{10}$, $\mathrm{RBP}_{100}$ or the cross-entropy, CE). The column `loss` is $-\log \mathrm{RBP}_k$ or CE, and `T` is the number of training tokens.

# %%
pair = ablations.load_totals(paths.PAIR_TOKENS)
other = ablations.load_totals(paths.OTHER_TOKENS)
together = [one.plus(two) for one, two in zip(pair, other, strict=True)]
kinds = {}
for kind, totals in {"other": other, "pair": pair, "all": together}.items():
    kinds[kind] = ablations.size_and_tokens(totals, ks=(1, 10, 100))
models = pd.concat(kinds, names=["kind"]).reset_index("kind")
models["corpus"] = models["corpus"].str.removeprefix("pocket:")
models = models[models["seed"] == 0]  # without the repeated runs of notebook 13
finished = models[models["T"] == 12e6]  # without Pythia's shorter trainings

# %% [markdown]
# We fit three families at $k = 1$. Qwen is left out, because its smaller and its larger models differ in design: three use one matrix for embedding and output, and three use two. (We decided this after seeing that Qwen's exponents do not agree with the others.) Qwen comes back below.


# %%
def exponents(models, by):
    """alpha of -log loss on log S, for each group of models."""
    groups = models.groupby(by)[["S", "loss"]]
    return groups.apply(lambda group: fit_power_law(group["S"], group["loss"]).alpha)


FAMILIES = ["GPT2", "OPT", "Pythia"]
of_three = finished[finished["family"].isin(FAMILIES)]
at_rank_1 = of_three[of_three["quantity"] == "RBP_1"]
alpha = exponents(at_rank_1, ["corpus", "kind", "family"])
alpha = alpha.unstack(["kind", "family"])
alpha.round(3)

# %%
next_family = alpha["pair"][["GPT2", "OPT"]].max(axis=1)
on_other = alpha["other"]
spread = on_other.max(axis=1) / on_other.min(axis=1)
print(f"other tokens: steepest over flattest family {spread.min():.2f} to {spread.max():.2f}")
for kind in ("pair", "all"):
    next_steepest = alpha[kind][["GPT2", "OPT"]].max(axis=1)
    ratio = alpha[kind]["Pythia"] / next_steepest
    print(f"{kind} tokens: Pythia over the next family {ratio.min():.1f} to {ratio.max():.1f}")
draw.kinds(finished, FAMILIES, figures_dir)

# %% [markdown]
# *Prose is one of five texts.*
#
# **One exponent hides two. On other tokens, the steepest family's exponent is at most 1.18 times the flattest's. On pair tokens, Pythia's is 2.2 to 3.9 times that of the next family.** But on pair tokens Pythia's points do not lie on a line. We come back to this.

# %% [markdown]
# **Exercise 1.** In a text 20% of the tokens are pair tokens. At one size their cross-entropy is 2 nats, and it falls as $S^{-0.20}$; that of the other tokens is 4 nats, and it falls as $S^{-0.05}$. So the cross-entropy of all tokens is no power law. What is its slope on logarithmic axes at this size, without the minus sign? Give three decimals.
#
# <details><summary>Hint</summary>The cross-entropy of all tokens is $0.2 \cdot 2 + 0.8 \cdot 4$. Weight each exponent by its part.</details>

# %%
answer_1 = None  # an exponent
draw.check(1, answer_1)

# %% [markdown]
# ## Do the models copy?
#
# The fills say nothing about a model. It could predict such a token correctly without copying. So we test copying without a text: 40 random tokens, and then the same 40 again.
#
# The first 40 can help in two ways. A model may just expect any token that it has seen, or it may copy. To tell these apart, we also put the first 40 into another order. Then copying fails, or even misleads, but a model can still expect what it has seen. In both cases we measure the loss on the second 40. The loss after the other order minus the loss after the same order is the *gain from the order*.


# %%
def loss_of_repeat(model, ids):
    """Mean -log p in nats of the last 39 tokens."""
    logits = model.logits(ids).float()
    log_p = logits.log_softmax(dim=-1)
    # A place predicts the token after it, so the last place predicts nothing we know
    predicted = log_p[:, :-1]
    followed = ids[:, 1:, None]
    log_p_of_true = predicted.gather(2, followed)
    # The first of the last 40 cannot be copied: its pair is new
    return float(-log_p_of_true[:, -39:].mean())


# %%
generator = torch.Generator().manual_seed(0)
forty = torch.randint(1, 4096, (32, 40), generator=generator)  # 32 sequences of 40 tokens
random_order = torch.rand(forty.shape, generator=generator).argsort(1)
shuffled = forty.gather(1, random_order)  # each sequence in another random order
same_order = torch.cat([forty, forty], dim=1)
other_order = torch.cat([shuffled, forty], dim=1)

# %%
# GPT-2's largest model and Pythia's sixth have about a million parameters each.
# In a name w is the width and l the number of layers.
for name in ("gpt2-w96-l10", "pythia-w128-l5"):
    model = load_model(paths.MODELS / name, device="cpu")
    with torch.no_grad():
        gain = loss_of_repeat(model, other_order) - loss_of_repeat(model, same_order)
    print(f"{name:15} gain from the order: {gain:.1f} nats")

# %% [markdown]
# GPT-2 gains hardly anything from the order. Pythia copies. Here is the gain of all pocket models, measured with 256 sequences (`order`, in nats):

# %%
probed = pd.read_csv(paths.COPYING)
draw.gains(probed, figures_dir)

# %% [markdown]
# *Bars: 95% intervals. Mamba is a family without attention.*
#
# Pythia begins to copy between its second and its fourth size. Qwen copies at its second size, not at the third and fourth, and again at the last two. Does a model that copies also do better on pair tokens of real text?

# %%
on_pairs = finished.query("corpus == 'prose' and quantity == 'RBP_1' and kind == 'pair'")
both = on_pairs.merge(probed[["model", "order"]], on="model")
qwen = both[both["family"] == "Qwen"].sort_values("S")
print(qwen.round(2)[["S", "order", "loss"]])
draw.loss_against_gain(both, figures_dir)

# %% [markdown]
# **Qwen's loss on pair tokens goes up and down with its gain, and not with its size: 0.65 at a gain of 0.31, 0.84 and 0.76 without a gain, and 0.61 and 0.46 at gains of 0.15 and 0.50.** How fast does Pythia's loss on pair tokens fall where copying begins, and how fast afterwards?

# %%
pythia = at_rank_1.query("kind == 'pair' and family == 'Pythia'")
place = pythia.groupby("corpus")["S"].rank()  # 1 is the smallest
middle = pythia[(place >= 2) & (place <= 4)]
steps = pd.DataFrame({"2nd to 4th size": exponents(middle, ["corpus"])})
steps["from the 4th on"] = exponents(pythia[place >= 4], ["corpus"])
steps["4th over next"] = steps["from the 4th on"] / next_family
steps["5th over next"] = exponents(pythia[place >= 5], ["corpus"]) / next_family
steps.round(2)

# %% [markdown]
# *Exponents of Pythia on pair tokens. "over next": divided by the larger exponent of GPT-2 and OPT, which are fitted to all sizes.*
#
# **So Pythia's large exponent on pair tokens comes mostly from one sudden drop, where copying begins. From the fourth size on, its exponent is only 1.0 to 1.6 times that of the next family.** (We chose the fourth size after we had seen the figure. From the fifth size on, the ratio is 1.25 to 1.81. Each size has one seed.)
#
# **Exercise 2.** Before reading, a model gives each of $V$ = 4,096 tokens the same probability. After 40 different tokens, it gives each of these 40 the probability 1/40. By how many nats is its loss on them now lower? Give one decimal. How much of this is a gain from the order?
#
# <details><summary>Hint</summary>The loss of a token with probability p is -log p.</details>

# %%
answer_2 = None  # nats
draw.check(2, answer_2)

# %% [markdown]
# ## The architecture, or the learning rate?
#
# We trained three Pythias at GPT-2's learning rate, and three GPT-2s at Pythia's.

# %%
rates = draw.with_rates(probed)
by_rate = rates.pivot(index=["family", "S"], columns="rate", values="order")
by_rate.round(2)

# %% [markdown]
# *Gain from the order, in nats.*
#
# **At GPT-2's rate the third Pythia no longer copies (-0.01 instead of 0.87 nats).** But at Pythia's rate the third GPT-2 still gains hardly anything (0.05 instead of 0.01). So copying at this size needs both: Pythia's architecture and the high rate.
#
# ## Does copying move a model off the line in CE?
#
# On all tokens of a text, rank losses follow a line in log CE ([notebook 17](17_one_axis.ipynb)). Does copying move a model off this line? We compare the fourth Pythia, which copies, with the second, which does not yet.

# %%
ordinary = finished.query("kind == 'all' and family != 'Mamba'")
losses = ordinary.pivot(index=["corpus", "model"], columns="quantity", values="loss")
change = {}
for corpus, of_text in losses.groupby("corpus"):
    by_model = of_text.droplevel("corpus")
    for quantity in ("RBP_1", "RBP_10", "RBP_100"):
        line = fit_power_law(by_model["CE"], by_model[quantity])
        promised = line.predict(by_model["CE"]).loss
        off = 100 * (by_model[quantity] / promised - 1)  # percent above the line
        change[corpus, quantity] = off["pythia-w80-l4"] - off["pythia-w48-l3"]
pd.Series(change).unstack().round(1)

# %% [markdown]
# *Rank loss above the line: the fourth Pythia's less the second's, in percent.*
#
# **At $k$ = 10 hardly: by at most 1%, but by 4% on HumanEval. At $k$ = 100 the rank loss rises off the line by 0.2 to 4.8%.** (We chose the models after seeing the step. Each has one seed.)
#
# ## What we found
#
# The exponents of GPT-2, OPT and Pythia differ on pair tokens, and hardly on other tokens. On pair tokens Pythia's loss makes a step at the sizes at which Pythia begins to copy random tokens, and Qwen's loss follows its copying, too. The learning rate has a part in the copying. We did not show that these models copy pair tokens of real text. Nor do we know whether the families of the paper ([Yue et al.](https://arxiv.org/abs/2510.20387)) differ in this way: it publishes no ranks of single tokens.
#
# **Exercise 3, to discuss** ([solution](../docs/solutions/14_repeated_pairs.md)). On pair tokens, does a line through the third to the sixth Pythia predict the seventh and the eighth better than a line through the first six? What does that say about a power law there?
#
# ## Further questions

# %% [markdown]
# <details><summary>Does a law in size and training tokens hold better without pair tokens?</summary>
#
# For Pythia, yes. On other tokens the sum and Kaplan's form pass all three tests of [notebook 15](15_size_and_tokens.ipynb): at most 5% (median) and 10% (worst). On all tokens they fail.</details>

# %%
missed = held_out_errors(models.query("kind == 'other' and family == 'Pythia'"), ["sum", "kaplan"])
missed = missed.groupby(["held out", "form"]).agg(["median", "max"])
missed.unstack("held out").round(1)

# %% [markdown]
# <details><summary>And Mamba?</summary>
#
# Mamba gains most from size on other tokens, and on pair tokens less than half as much as Pythia. So only the three other families agree on other tokens.</details>

# %%
small = finished.query("S < 420_000 and family != 'Qwen'")  # up to Mamba's largest size
every = exponents(small, ["kind", "quantity", "corpus", "family"])
every.groupby(["kind", "family"]).median().unstack().round(3)

# %% [markdown]
# **Related.** [Olsson et al.](https://arxiv.org/abs/2209.11895) describe induction heads, which complete such pairs and form suddenly during training. [Arora et al.](https://arxiv.org/abs/2312.04927) compare models with attention to models without it (gated convolutions). They differ mostly on repeated pairs.
