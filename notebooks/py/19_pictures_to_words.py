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
# # Pictures to words
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_19.py).*
#
# You know how language models get better with size. Is it the same for a model that has to look? Here a small model sees a picture of a character and writes its Unicode name, token by token. It has never seen this character:

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
from dataclasses import replace

import numpy as np
import pandas as pd

from rbpkit import fit_power_law
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_19 as draw
from rbpkit_pocket.captioners import CAPTIONER_SIZES

check_parameters(globals())
glyphs, measured = draw.read_summaries()
names = [size.name for size in CAPTIONER_SIZES]

# %%
script = glyphs["name"].str.split().str[0]  # the first word of a name
latin = glyphs.index[script == "LATIN"][0]
words, ranks = draw.ranks_of(names[-1], latin)  # under the largest model
print(glyphs["name"][latin])
draw.first_name(latin, words, ranks, figures_dir)

# %% [markdown]
# A rank of 1 means that the true token was the model's first guess. LATIN and LETTER are first guesses here; SMALL and WITH are second ones. R has rank 94: in training the model has met capital and turned R's, but no plain small one, in any style.
#
# **Guess.** Of characters that it has never seen, how many names does the largest model get wholly right: 2%, 20% or 50%? In which script most often: Greek, Arabic or Braille?
#
# *[Glossary](../docs/glossary.md). $\mathrm{RBP}_k$ is the share of true tokens of rank $k$ or less. CE is the mean of $-\log p$, where $p$ is the probability of the true token. $S$ is the size of the text decoder in parameters. Logarithms are natural.*
#
# ## The captioners
#
# > **The paper.** "RBP$_k$ follows a precise power-law relationship with model size" (Section 4, on $-\log \mathrm{RBP}_k$).
#
# The paper's models read text and nothing else. Our *captioners* have the architecture of LLaVA ([Liu et al.](https://arxiv.org/abs/2304.08485)). A vision tower cuts the picture into 16 patches and turns each into a vector. A text decoder reads these vectors as if they were tokens, and then writes the name. Let $x$ be the picture and $t_1, \dots, t_N$ the tokens of the name. The decoder gives $p(t_i \mid x, t_1, \dots, t_{i-1})$, and the rank of $t_i$ is counted among all $V$ = 1,024 tokens, as in text.
#
# There are six sizes, each trained from three *seeds* (other random first weights). Two characters are *twins* if they differ only in accents, style, width or a frame. We ask about two kinds of characters:
#
# - *Seen*: characters of the training pictures, drawn again at another place and scale, with other noise.
# - *Never seen*: neither the character nor a twin of it was in training.
#
# ## The law
#
# For each size, take the geometric mean of the three seeds' losses. `measured` has what was measured, by text and model. `CAPTIONER_SIZES` are the sizes, smallest first; `names` are their models with seed 0.

# %%
KINDS = {"seen": "pocket:glyphs-seen", "never seen": "pocket:glyphs"}
QUANTITIES = ["CE", "k = 1", "k = 10", "k = 100"]
S = [measured["pocket:glyphs", name].manifest.S for name in names]


def losses_of(summary):
    """CE and -log RBP_k of a model on a corpus."""
    rank_losses = [-np.log(summary.rbp(k)) for k in (1, 10, 100)]
    return [summary.ce(), *rank_losses]


def three_seeds(corpus, size):
    """What was measured of one size, with each seed."""
    # The seed is a part of a model's name
    seeds = [replace(size, seed=seed) for seed in (0, 1, 2)]
    return [measured[corpus, one.name] for one in seeds]


each = {}  # for each kind, an array of losses by size, seed and quantity
for kind, corpus in KINDS.items():
    by_size = []
    for size in CAPTIONER_SIZES:
        losses = [losses_of(summary) for summary in three_seeds(corpus, size)]
        by_size.append(losses)
    each[kind] = np.array(by_size)

# %%
loss = {}  # for each kind, an array of mean losses by size and quantity
for kind in KINDS:
    # Over the seeds: the line is fitted to logarithms, too
    mean_log = np.log(each[kind]).mean(axis=1)
    loss[kind] = np.exp(mean_log)
rows = []
for kind in KINDS:
    for column, quantity in enumerate(QUANTITIES):
        line = fit_power_law(S, loss[kind][:, column])
        low, high = line.alpha_interval
        rows.append((kind, quantity, line.alpha, low, high, line.r2))
columns = ["characters", "loss", "alpha", "low", "high", "R2"]
lines = pd.DataFrame(rows, columns=columns)
print(lines.round(3))

draw.law(S, each, loss, figures_dir)

# %% [markdown]
# *Points: means over three seeds. Bars: from the lowest seed to the highest (above, hidden by the points).*
#
# **For characters seen in training the losses fall with size nearly as a power ($R^2$ = 0.99 for CE and for $k$ = 1 and 10), and for new ones hardly: forty times the size lowers $-\log \mathrm{RBP}_1$ by an eighth.**
#
# But six losses that fall smoothly have a high $R^2$ anyway. How often would random losses in falling order reach 0.9, and how good is the line as a forecast?

# %%
generator = np.random.default_rng(0)
reached = []
for _ in range(1000):
    falling = np.sort(generator.uniform(size=len(S)))[::-1]
    reached.append(fit_power_law(S, np.exp(falling)).r2 >= 0.9)
print(f"random falling losses with an R2 of 0.9 or more: {np.mean(reached):.0%}")
for kind in KINDS:
    of_1 = loss[kind][:, 1]
    line = fit_power_law(S[:-1], of_1[:-1])  # without the largest
    promised = line.predict(S[-1]).loss
    print(f"{kind}: the largest is {of_1[-1] / promised - 1:+.0%} off, k = 1")

# %% [markdown]
# So a line with an $R^2$ of 0.9 says little, and the line for seen characters bends: the largest model is 9% worse than it promises.

# %% [markdown]
# **Exercise 1.** For seen characters $\alpha$ = 0.226 at $k$ = 1. How many times as large must the decoder be to halve $-\log \mathrm{RBP}_1$?
#
# <details><summary>Hint</summary>Solve $2^{-1} = f^{-\alpha}$ for $f$.</details>

# %%
answer_1 = None  # a factor
draw.check(1, answer_1)

# %% [markdown]
# ## Which names are right?
#
# A model that writes its first guesses gets a whole name right if all of its tokens have rank 1. Count such names among characters never seen, for the smallest and the largest size, and by script. `glyphs` is the table of their pictures.

# %%
tokens = measured["pocket:glyphs", names[0]].document_tokens  # of each name
whole = {}
for label, size in (("smallest", CAPTIONER_SIZES[0]), ("largest", CAPTIONER_SIZES[-1])):
    right = []
    for summary in three_seeds("pocket:glyphs", size):
        hits = summary.document_hits[:, 0]  # tokens of rank 1
        right.append(hits == tokens)
    whole[label] = np.mean(right, axis=0)  # for each picture, the share of seeds
for label, share in whole.items():
    print(f"{label}: {share.mean():.3f} of {len(tokens):,} names are right")

# %%
# Does it help that a name says what the picture shows?
shares = pd.Series(whole["largest"]).groupby(script).mean()
shares = shares[draw.SCRIPTS].sort_values()
braille = glyphs.index[script == "BRAILLE"]
words, ranks = draw.ranks_of(names[-1], braille[0])
print(glyphs["name"][braille[0]], ranks)
print(f"{len(braille)} pictures of {glyphs['code'][braille].nunique()} Braille characters")
draw.scripts(shares, braille[0], words, ranks, figures_dir)

# %% [markdown]
# **The answer: two names in a hundred are right, and most of them are Braille.** A Braille name lists the raised dots, so the picture shows the whole name. A small R can be named only by someone who has met one.
#
# **Exercise 2.** The largest size has $\mathrm{RBP}_1$ = 0.85 on characters that it has seen. If tokens were independent of each other, what percentage of names of eight tokens would it write without an error?
#
# <details><summary>Hint</summary>All eight tokens must have rank 1.</details>

# %%
answer_2 = None  # percent
draw.check(2, answer_2)

# %% [markdown]
# ## Do they look?
#
# A model could do well by knowing common names. So we measure each size (seed 0) again with *shuffled* pictures, where each name has another character's picture, and with *blank* ones.

# %%
rows = []
for name, size in zip(names, S, strict=True):
    RBP_1 = {}
    for corpus in ("pocket:glyphs", "pocket:glyphs-shuffled", "pocket:glyphs-blank"):
        picture = corpus.partition("glyphs-")[2]  # shuffled, blank or nothing
        RBP_1[picture or "true picture"] = measured[corpus, name].rbp(1)
    rows.append({"S": size, **RBP_1})
pd.DataFrame(rows).round(3)

# %% [markdown]
# All sizes look: without the right picture, $\mathrm{RBP}_1$ drops by 0.13 to 0.22.
#
# **Exercise 3, to discuss** (no check; see [the solutions](../docs/solutions/19_pictures_to_words.md)). Neither a shuffled nor a blank picture says anything about the name. Yet the two drops differ. Why? Does one of them say how much looking is worth?
#
# <details><summary>Hint</summary>Which of the two kinds of picture has the model met in training?</details>
#
# ## What to keep
#
# **For characters that they have seen, captioners improve with size nearly as a power, with a bend. For new characters size helps little, unless the name can be read off the picture.**
#
# **What stays open.** The models are tiny, have one architecture, and saw 192,000 drawings of 6,040 characters. Whether larger ones would name new characters, we cannot tell.
#
# ## Our verdicts
#
# This is our second attempt. A first family, trained for half as many steps, failed the test that we had fixed for it. Knowing its $R^2$ for both kinds of characters, we trained again at another rate and wrote a new test ([margins](../docs/margins.md)). The law *holds* if CE, $k$ = 1 and $k$ = 10 have an $R^2$ of at least 0.9 and the largest size is better than the next smaller one. It *holds in part* if one or two of the three lines pass.

# %%
tested = lines[lines["loss"] != "k = 100"]  # the test names CE, k = 1 and k = 10 only
LEAST_R2 = 0.9  # fixed before the second family was trained
passed = (tested["R2"] >= LEAST_R2).groupby(tested["characters"]).sum()
for kind in KINDS:
    better = (loss[kind][-1, :2] < loss[kind][-2, :2]).all()  # in CE and at k = 1
    holds = passed[kind] == 3 and better
    part = passed[kind] > 0
    verdict = "holds" if holds else "holds in part" if part else "does not hold"
    print(f"{kind}: {passed[kind]} of 3 lines pass, largest is better: {better}; {verdict}")

# %% [markdown]
# The second verdict hangs on $k = 10$ alone, where the exponent is 0.035, against 0.445 for seen characters. The test of looking was fixed beforehand, too; the comparison of scripts was not.
#
# **Related.** [Henighan et al.](https://arxiv.org/abs/2010.14701) find power laws of the loss for pictures, video and pairs of picture and text. [Aghajanyan et al.](https://arxiv.org/abs/2301.03728) fit them to models that mix modalities. None of the two reports ranks.
