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
# # Pictures to words: does the law hold in a multimodal model?
#
# **The question.** The paper's models read text and nothing else. Does the law also hold for models that look at a picture and say what it shows?
#
# > **The paper.** "RBP$_k$ follows a precise power-law relationship with model size" (Section 4, on $-\log \mathrm{RBP}_k$).
#
# We trained six sizes of a small model that looks at a character and writes its Unicode name. The pictures come from the fonts of matplotlib, so a laptop can repeat all this.
#
# **The answer, before you start.** For characters that the models have seen in training, drawn anew, the law *holds*. For characters that they have never seen it holds *in part*: size helps little there.
#
# **Guess first.** The largest model has one million parameters in its text decoder. For what share of characters that it has never seen will its most likely tokens be the whole name, from the first token to the last? For which script most often?
#
# [Glossary](../docs/glossary.md)

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
from dataclasses import replace
from itertools import product
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import linregress, t

from rbpkit import Corpus, load_model, load_summaries, measure, plots
from rbpkit.stats.bootstrap import resample_weights
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket import paths
from rbpkit_pocket.captioners import SIZES
from rbpkit_pocket.glyphs import load_glyphs, pictures, twins_key

check_parameters(globals())

# %% [markdown]
# ## Pictures and names
#
# `pocket:glyphs` has one document for each character in each font: a grey picture of 32 x 32 pixels, drawn with a seeded shift, scale, contrast and noise, and the name as its caption. Names are built of parts, so parts of a name may be known when the character is not.
#
# The split is by character. A character and all its *twins* are in the same part of it. Twins differ only in accents, style, width or a frame around them; a capital and its small letter are not twins. All fonts of a test character are test pictures.

# %%
glyphs = load_glyphs("test")
counts = {split: load_glyphs(split) for split in ("train", "valid", "test")}
pd.DataFrame({
    split: {"pictures": len(one), "characters": one.code.nunique(),
            "groups of twins": one.code.map(twins_key).nunique()}
    for split, one in counts.items()
})  # fmt: skip

# %% tags=["hide-input"]
shown = glyphs.drop_duplicates("code").head(60).iloc[::10]
with plots.style():
    figure, grid = plt.subplots(1, 6, figsize=(7, 1.7), layout="constrained")
for axes, (place, one) in zip(grid, shown.iterrows(), strict=True):
    axes.imshow(pictures("test", 0)[place], cmap="gray", vmin=0, vmax=255)
    axes.set_axis_off()
    axes.set_title(fill(one["name"], 16), fontsize=6.5)
plots.save(figure, shown, figures_dir, "19_glyphs")

# %% [markdown]
# *Six test pictures and their names.*
#
# ## The models
#
# The *readers* have the architecture of LLaVA. A vision tower (SigLIP) cuts the picture into 16 patches and turns each into a vector. A text decoder (Pythia's architecture) reads these vectors as if they were tokens, and then writes the name. With a picture $x$ and the name's tokens $t_1, \dots, t_N$ the decoder gives
#
# $$p(t_i \mid x, t_1, \dots, t_{i-1}), \qquad i = 1, \dots, N,$$
#
# and $R_i$ is the rank of $t_i$ among all $V$ = 1,024 tokens, as in Eq. 3. Nothing else in the paper changes. Only tokens of the name are scored, the first one included.
#
# Before training we fixed that $S$ is the size of the text decoder. Tower and decoder have the same width $w$, and a stack of $L$ layers has
#
# $$S = L\,(12 w^2 + 13 w) + 2w .$$

# %%
of = {
    (one.manifest.corpus, one.manifest.model): one
    for one in load_summaries(paths.CAPTIONER_SUMMARIES)
}
names = [one.name for one in SIZES]


def stack(layers, width):
    """S of a stack of layers."""
    return layers * (12 * width**2 + 13 * width) + 2 * width


S = np.array([stack(one.layers, one.width) for one in SIZES])
S_tower = np.array([stack(one.tower, one.width) for one in SIZES])
assert (S == [of["pocket:glyphs", name].manifest.S for name in names]).all()
pd.DataFrame({
    "width": [one.width for one in SIZES],
    "layers": [one.layers for one in SIZES], "S": S,
    "layers of the tower": [one.tower for one in SIZES], "S of the tower": S_tower,
}, index=names)  # fmt: skip

# %% [markdown]
# Each size was trained three times, from other first weights, on the same 192,000 pictures in the same order. The rate is $c/w$ with one $c$ for all. Of what was tried, 0.175 has the lowest sum of the two validation CEs below (characters never seen, whole training runs of one seed). Most differences are no larger than those between seeds.
#
# An earlier family, trained for half as long at four times the rate, did not follow the law. By its margin only characters never seen counted. We then trained this family, with a new margin and two verdicts, one for each kind of characters (`docs/margins.md`).

# %%
rates = pd.read_csv(paths.RUNS / "reader_rates.csv")
rates.pivot(index="width", columns="rate", values="valid_ce").round(3).astype(object).fillna(
    "not run"
)

# %% [markdown]
# ## The law
#
# The losses are $-\log \mathrm{RBP}_k$ and CE, on two kinds of characters:
#
# - *seen*: glyphs of the training split, drawn anew. Only size, shift, contrast and noise are new, so this is nearly the training loss.
# - *never seen*: the test characters. No twin of them was in the training pictures either. If R is a test character, training had no R in any style.
#
# The paper's test texts lie between the two: new text, but of the same kind as the training text.
#
# Each has its own verdict. The loss of a size is the geometric mean of its three seeds.

# %%
KINDS = {"seen": "pocket:glyphs-seen", "never seen": "pocket:glyphs"}
QUANTITIES = ["CE", "k = 1", "k = 10", "k = 100"]
seeds = [[replace(size, seed=seed).name for seed in (0, 1, 2)] for size in SIZES]


def parts(one):
    """(pictures, 5): summed nll, hits at k = 1, 10, 100, tokens."""
    hits = one.document_hits[:, np.searchsorted(one.k_grid, [1, 10, 100])]
    return np.column_stack((one.document_nll, hits, one.document_tokens))


def losses(one):
    """CE and -log RBP_k of a model on a corpus."""
    *sums, tokens = parts(one).sum(0)
    return np.array([sums[0] / tokens, *-np.log(np.divide(sums[1:], tokens))])


each = {kind: np.array([[losses(of[corpus, name]) for name in some] for some in seeds])
        for kind, corpus in KINDS.items()}  # by size, seed and quantity  # fmt: skip
loss = {kind: np.exp(np.log(one).mean(1)) for kind, one in each.items()}
rows = [
    (kind, quantity, S[i], loss[kind][i, j], each[kind][i, :, j].min(), each[kind][i, :, j].max())
    for kind, (j, quantity), i in product(KINDS, enumerate(QUANTITIES), range(len(SIZES)))
]
points = pd.DataFrame(rows, columns=["characters", "quantity", "S", "loss", "low", "high"])
table = points.pivot(index=["characters", "S"], columns="quantity", values="loss")[QUANTITIES]
table.loc[list(KINDS)].map("{:.4g}".format)

# %% tags=["hide-input"]
figure = plots.law_grid(
    points, panel="quantity", hue="characters", ylabel=r"CE, or $-\log\,\mathrm{RBP}_k$",
    legend_title="characters", xlabel="$S$ of the text decoder",
)  # fmt: skip
plots.save(figure, points, figures_dir, "19_law")

# %% [markdown]
# *The losses against the size of the text decoder (each panel has its own scale). Points are geometric means over the seeds; bars reach from the lowest seed to the highest.*


# %%
def law(x, y):
    """alpha, its 95% interval by Student's t, and R2 of y = C x^-alpha."""
    fit = linregress(np.log(x), np.log(y))
    half = t.ppf(0.975, len(x) - 2) * fit.stderr
    return -fit.slope, -fit.slope - half, -fit.slope + half, fit.rvalue**2


rows = []
for kind, (j, quantity) in product(KINDS, enumerate(QUANTITIES)):
    y = loss[kind][:, j]
    others = [law(x, y)[3] for x in (S_tower, S + S_tower)]
    fit = linregress(np.log(S[:-1]), np.log(y[:-1]))
    ahead = np.exp(fit.intercept + fit.slope * np.log(S[-1])) / y[-1] - 1
    scatter = np.log(each[kind][:, :, j]).std(1, ddof=1).mean()
    rows.append((kind, quantity, *law(S, y), *others, ahead, scatter))
names_of = ["alpha", "low", "high", "R2", "R2, tower", "R2, both", "largest predicted", "seeds"]
lines = pd.DataFrame(rows, columns=["characters", "loss", *names_of])
lines = lines.set_index(["characters", "loss"])
lines.round(3)

# %%
choices = list(product(range(3), repeat=len(SIZES)))  # one seed of each size
for kind, j in product(KINDS, range(3)):
    R2 = np.array([law(S, each[kind][range(len(SIZES)), one, j])[3] for one in choices])
    print(
        f"{kind}, {QUANTITIES[j]}: R2 at least {R2.min():.2f}; 0.9 or more in {np.mean(R2 >= 0.9):.0%}"
    )
logs = [[pd.read_csv(paths.RUNS / f"{name}.csv") for name in some] for some in seeds]
valid = np.exp(np.log([[one.valid_ce.iloc[-1] for one in some] for some in logs]).mean(1))
print("CE of the validation split: alpha {:.3f} [{:.3f}, {:.3f}], R2 {:.2f}".format(*law(S, valid)))

# %% [markdown]
# *$R^2$ also for the size of the tower and of both as $S$. "largest predicted": error of a line through the other five sizes. "seeds": standard deviation of the log loss between seeds.*
#
# For seen characters CE and the losses at $k$ = 1 and 10 lie close to straight lines over 1.6 decades of $S$, and the exponent grows with $k$, as in the paper's Section 4.4. The lines bend a little: a line through the other five sizes promises losses that are 7 to 17% lower than the largest size has. The size of the tower fits less well than that of the decoder.
#
# For characters never seen size changes little. $-\log \mathrm{RBP}_1$ and $-\log \mathrm{RBP}_{10}$ fall by an eighth over forty times the size. CE hardly falls on these 723 characters. On the 294 of the validation split, which were just as new, it does ($\alpha$ = 0.03).
#
# **Exercise 1.** For seen characters, how many times as large must the decoder be to halve $-\log \mathrm{RBP}_1$?
#
# <details><summary>Hint</summary>Solve $2^{-1} = f^{-\alpha}$ for $f$.</details>

# %%
answer_1 = None  # a factor
print(check(1, answer_1, sealed("6f4b6612", digits=0)))

# %% [markdown]
# ## Compared with the text families
#
# Are these exponents like those of the pocket models that read text?

# %%
text = load_summaries(paths.SUMMARIES)
rows = []
for key in product(("GPT2", "OPT", "Pythia", "Qwen"), {one.manifest.corpus for one in text}):
    some = [one for one in text if (one.manifest.family, one.manifest.corpus) == key]
    x, y = [one.manifest.S for one in some], np.array([losses(one) for one in some])
    rows.append((key[0], *(law(x, y[:, j])[0] for j in range(4))))
beside = pd.DataFrame(rows, columns=["family", *QUANTITIES]).groupby("family").median()
beside.loc["Reader, seen"] = lines.loc["seen"].alpha
for k in (1, 10, 100):
    beside[f"k = {k} / CE"] = beside[f"k = {k}"] / beside["CE"]
beside.round(3)

# %% [markdown]
# *Exponents; of the text families the median over five corpora. The last three columns are $\alpha_k/\alpha_{\mathrm{CE}}$.*
#
# The readers' losses fall about four times as fast as those of text. But divide by the exponent of CE, as [notebook 17](17_one_law.ipynb) does. At $k$ = 10 the readers' ratio is like those of the text families, and at $k$ = 100 a little larger. At $k$ = 1 it is 1.0, like the paper's "nearly identical" exponents; our text families have 1.3 to 1.4.
#
# ## Whole names
#
# A reader of characters needs the whole name. Let $N$ be the number of its tokens. The share of names of length $N$ whose tokens all have rank 1 is $p_{N,1}$: greedy decoding writes exactly these names. If tokens are independent, Eqs. 6 and 8 say
#
# $$p_{N,1} = \mathrm{RBP}_1^{\,N} = \exp(-N C S^{-\alpha}).$$

# %%
LENGTHS = {"1 to 4 tokens": (1, 4), "5 to 7": (5, 7), "8 to 10": (8, 10), "11 and more": (11, 99)}
rows, whole = [], {}
for kind, corpus in KINDS.items():
    N = of[corpus, names[0]].document_tokens
    first_hits = [np.mean([of[corpus, name].document_hits[:, 0] for name in some], axis=0)
                  for some in seeds]  # fmt: skip
    whole[kind] = [np.array([of[corpus, name].document_hits[:, 0] == N for name in some])
                   for some in seeds]  # by size; (seeds, pictures)  # fmt: skip
    fit = linregress(np.log(S), np.log(loss[kind][:, 1]))
    C = np.exp(fit.intercept)
    for label, (least, most) in LENGTHS.items():
        here = (N >= least) & (N <= most)
        for i in range(len(SIZES)):
            p = whole[kind][i][:, here].mean(1)
            eq_8 = np.exp(-N[here] * C * S[i] ** fit.slope).mean()
            missed = (N - first_hits[i])[here].mean()
            rows.append((kind, label, S[i], p.mean(), p.min(), p.max(), eq_8, missed))
names_of = ["characters", "N", "S", "p", "low", "high", "Eq. 8", "misses"]
named = pd.DataFrame(rows, columns=names_of)
for kind in KINDS:
    print(f"{kind}: whole names right", *(f"{one.mean():.2f}" for one in whole[kind]))


# %% tags=["hide-input"]
with plots.style():
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
inks = plots.inks_of(LENGTHS)
for label, one in named[named.characters == "seen"].groupby("N", sort=False):
    ink = inks[label]
    look = {"fmt": ink.marker, "color": ink.colour, "ms": 6, "elinewidth": 0.9, "mfc": "none"}
    axes.errorbar(one.S, one.p, [one.p - one.low, one.high - one.p], label=label, **look)
    axes.plot(one.S, one["Eq. 8"], "--", color=ink.colour, lw=1.2)
axes.set(xscale="log", xlabel="$S$ of the text decoder", ylabel="whole names at rank 1")
axes.plot([], [], "--", color="black", lw=1.2, label="Eq. 8")
handles, labels = axes.get_legend_handles_labels()
figure.legend(handles[1:] + handles[:1], labels[1:] + labels[:1], loc="outside right center")
plots.save(figure, named, figures_dir, "19_names")

# %%
largest = named[(named.characters == "seen") & (named.S == S[-1])].set_index("N")
largest[["p", "Eq. 8", "misses"]].round(2)

# %% [markdown]
# *Shares of the names of seen characters that greedy decoding gets right from end to end, by length; bars from the lowest seed to the highest. Dashed: Eq. 8. The table is for the largest size.*
#
# Eq. 8 expects misses to grow with $N$. They do not: names of up to ten tokens have nearly the same number of misses. So Eq. 8 is too hopeful for short names, of which a quarter to a half of what it says are right, and too low for names of eight to ten tokens. Of characters never seen, hardly any name is right.
#
# **Exercise 2.** The largest size has $\mathrm{RBP}_1$ = 0.85 on characters that it has seen. By Eq. 6, what percentage of names of eight tokens would it write without an error?
#
# <details><summary>Hint</summary>All eight tokens must have rank 1.</details>

# %%
answer_2 = None  # percent
print(check(2, answer_2, sealed("670671cd", digits=0)))

# %% [markdown]
# ## Do they look?
#
# A model could do well by knowing common names. So each model of seed 0 is measured again with another glyph's picture, and with a blank one, on the characters that it has never seen.

# %%
N = of["pocket:glyphs", names[0]].document_tokens
twins = np.unique(glyphs.code.map(twins_key), return_inverse=True)[1]
weights = resample_weights(twins)
rows = []
for name, size in zip(names, S, strict=True):
    hits = {
        end: parts(of[f"pocket:glyphs{end}", name])[:, 1] for end in ("", "-shuffled", "-blank")
    }
    row = {"S": size, "true": hits[""].sum() / N.sum()}
    for end in ("-shuffled", "-blank"):
        drop = hits[""] - hits[end]
        low, high = np.quantile(weights @ drop / (weights @ N), [0.025, 0.975])
        kind = end[1:]
        row |= {f"drop, {kind}": drop.sum() / N.sum(), f"{kind}: low": low, f"{kind}: high": high}
    rows.append(row)
look = pd.DataFrame(rows)
look.set_index("S").round(3)

# %% [markdown]
# *RBP$_1$ with the true picture, with another's and with a blank one, and both drops with 95% intervals.*
#
# All sizes look: each drop is above 0, and so is its interval.
#
# **Exercise 3.** Neither a shuffled nor a blank picture says anything about the name. Yet the two drops differ. Why? Does one of them say how much looking is worth?
#
# <details><summary>Hint</summary>Which of the two kinds of picture has the model met in training?</details>
#
# ## Which characters?

# %%
SCRIPTS = [
    "BRAILLE",
    "LATIN",
    "GREEK",
    "CYRILLIC",
    "ARMENIAN",
    "CANADIAN",
    "ARABIC",
    "GEORGIAN",
    "MATHEMATICAL",
]
first = glyphs.name.str.split().str[0]
script = first.where(first.isin(SCRIPTS), "others").to_numpy()
words = {word for name in counts["train"].name for word in name.split()}
known = np.array([set(name.split()) <= words for name in glyphs.name])


def by(labels, values):
    """RBP_1, its exponent and whole names, for the pictures with each label."""
    rows = []
    for value in values:
        here = labels == value
        hits = [np.mean([parts(of["pocket:glyphs", one])[here, 1].sum() for one in some])
                for some in seeds]  # fmt: skip
        rbp = np.array(hits) / N[here].sum()
        alpha = law(S, -np.log(rbp))[0]
        rows.append(
            (value, here.sum(), rbp[0], rbp[-1], alpha, whole["never seen"][-1][:, here].mean())
        )
    columns = ["", "pictures", "RBP_1, smallest", "RBP_1, largest", "alpha", "whole names, largest"]
    return pd.DataFrame(rows, columns=columns).set_index("").round(3)


PARTS = ["all its words were seen", "a word was never seen"]
pd.concat([by(script, [*SCRIPTS, "others"]), by(np.where(known, *PARTS), PARTS)])

# %% [markdown]
# The answer to the guess: about two names in a hundred are right, and most of those are *Braille*. Such a name lists the raised dots (DOTS-1246), so all of it is in the picture. The smallest size reads hardly any; from the second size on the models name about three in four Braille pictures that they have never seen (there are 23 such characters).
#
# All Braille names contain a word never seen, their list of dots. That is why whole names with a word never seen are *more* often right than others.
#
# ## Two pictures
#
# Here are the first Latin and the first Braille picture of the test list, with the ranks of their tokens under each size.

# %%
places = [glyphs.index[glyphs.name.str.startswith(one)][0] for one in ("LATIN", "BRAILLE")]
rows = [{"text": glyphs.name[i], "picture": pictures("test", 0)[i]} for i in places]
corpus = Corpus.of(rows, "two glyphs", field="text", image="picture")
ranks = {}
for name in names:
    model = load_model(paths.CAPTIONERS / name, image=True)
    found = measure(model, corpus).records
    ranks[name] = found.rank()
tokens = [model.tokenizer.decode([i]).strip() or "_" for i in found.target]
ranks = pd.DataFrame(ranks, index=pd.MultiIndex.from_arrays([found.document, tokens]))

# %% tags=["hide-input"]
with plots.style():
    figure, grid = plt.subplots(
        2, 2, figsize=(7, 5), layout="constrained", width_ratios=(1, 4)
    )  # fmt: skip
for (left, right), (number, one) in zip(grid, ranks.groupby(level=0), strict=True):
    left.imshow(rows[number]["picture"], cmap="gray", vmin=0, vmax=255)
    left.set_axis_off()
    right.imshow(np.log(one.T), cmap="viridis_r", aspect="auto", vmin=0, vmax=np.log(30))
    for i, j in product(range(len(names)), range(len(one))):
        ink = "white" if one.iloc[j, i] > 4 else "black"
        right.text(j, i, one.iloc[j, i], ha="center", va="center", fontsize=8, color=ink)
    right.set_xticks(range(len(one)), one.index.get_level_values(1), fontsize=8)
    right.set_yticks(range(len(names)), [f"{size:,}" for size in S], fontsize=8)
    right.set_ylabel("$S$ of the decoder")
    right.grid(False)
points = ranks.rename_axis(["picture", "token"]).reset_index()
plots.save(figure, points, figures_dir, "19_ranks")

# %% [markdown]
# *Ranks under each size (seed 0), each after the true tokens before it. The darker, the worse (log of the rank).*
#
# No size has met an R in any style, and none can name it: its rank is above 50 everywhere. All of the Braille name is in the picture, and only the smallest size misses a part of it.
#
# ## The verdict
#
# The margin was fixed in `docs/margins.md` before this family was trained. It was not blind. The first family had been measured, and an earlier trial of the same idea had found a law.


# %%
def verdict(lines, better):
    """The rule of docs/margins.md, for the lines of CE, k = 1 and k = 10."""
    strong = (lines.R2 >= 0.9).sum()
    if strong == 3 and better:
        return "holds"
    if strong:
        return "holds in part"
    none = (lines.R2 < 0.75).all() or ((lines.low <= 0) & (lines.high >= 0)).all()
    return "does not hold" if none else "cannot be told"


rows = []
for kind in KINDS:
    judged = lines.loc[kind].loc[QUANTITIES[:3]]
    better = bool((loss[kind][-1, :2] < loss[kind][-2, :2]).all())
    rows.append((kind, *judged.R2.round(3), better, verdict(judged, better)))
columns = ["characters", *(f"R2, {one}" for one in QUANTITIES[:3])]
columns += ["largest size better than the next", "verdict"]
least = look[["shuffled: low", "blank: low"]].min().min()
print(f"it looks: RBP_1 drops in every size, by at least {least:.2f} (end of the 95% interval)")
pd.DataFrame(rows, columns=columns).set_index("characters")

# %% [markdown]
# "The law holds for multimodal models", on this family: **holds** for characters seen in training. For characters never seen it **holds in part**: of the three lines only that of $k$ = 10 has an $R^2$ above 0.9, and its exponent is less than a tenth of that for seen characters. That verdict is a close one: with one seed of each size instead of the mean of three, this $R^2$ reaches 0.9 in three of ten combinations.
#
# ## What we found
#
# - *The law holds in a multimodal family* for pictures like those of training. That is sure for this family, trained at one rate on one order of the data.
# - *For characters never seen size helps little.* Where the name can be read off the picture, as in Braille, it helps much.
# - *All sizes look.* That is sure.
# - *Misses hardly grow with the length of a name*, so Eq. 8 promises too many of the short names, and too few of those of eight to ten tokens.
#
# **What this cannot show.** The models are tiny, saw 192,000 drawings of 6,040 characters in training, and are of one architecture. Names are not free text. Decoder and tower grow together. Lengths, scripts and the two pictures were not fixed beforehand.
#
# **Related.** [Henighan et al.](https://arxiv.org/abs/2010.14701) find power laws of the loss for pictures, video and pairs of picture and text. [Aghajanyan et al.](https://arxiv.org/abs/2301.03728) fit them to models that mix modalities. [Liu et al.](https://arxiv.org/abs/2304.08485) describe LLaVA. Ranks are in none of them.
