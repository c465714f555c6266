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
# We trained seven small models that look at a character and write its Unicode name. The pictures come from fonts that every installation has, so you can repeat all of this on a laptop.
#
# **Guess first.** The largest model has one million parameters in its text decoder. It has never seen any of the test characters. For what share of them will its most likely words be the whole name, from the first token to the last?
#
# [Glossary](../docs/glossary.md)

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import linregress

from rbpkit import Corpus, load_model, load_summaries, measure, plots
from rbpkit.pocket import recipes
from rbpkit.pocket.glyphs import load_glyphs, pictures, twins_key
from rbpkit.pocket.readers import READERS, READINGS, SIZES
from rbpkit.stats.bootstrap import resample_weights
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed

check_parameters(globals())

# %% [markdown]
# ## Pictures and names
#
# `pocket:glyphs` has one document for each character in each font: a grey picture of 32 x 32 pixels, drawn with a seeded shift, scale, contrast and noise, and the name as its caption. Names are built of parts, so a character that was never seen can be named.
#
# The split is by character. A character and its twins are on one side: those that differ in accents, style, width or a frame around them. All fonts of a test character are test pictures.

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
    axes.imshow(pictures("test")[place], cmap="gray", vmin=0, vmax=255)
    axes.set_axis_off()
    axes.set_title("\n".join(one["name"].replace("-", " ").split(maxsplit=3)), fontsize=6)
plots.save(figure, shown, figures_dir, "19_glyphs")

# %% [markdown]
# *Six test pictures and their names.*
#
# ## The models
#
# The *readers* have the architecture of LLaVA. A vision tower (SigLIP) cuts the picture into 16 patches and turns each into a vector; a text decoder (Pythia's architecture) reads these vectors as if they were tokens, and then writes the name. With a picture $x$ and the name's tokens $t_1, \dots, t_N$ the decoder gives
#
# $$p(t_i \mid x, t_1, \dots, t_{i-1}), \qquad i = 1, \dots, N,$$
#
# and $R_i$ is the rank of $t_i$ among all $V$ = 1,024 tokens, as in Eq. 3. Nothing else in the paper changes. Only tokens of the name are scored, the first one included.
#
# What is $S$? The margin that we fixed beforehand names the text decoder. Tower and decoder have the same width $w$, and a stack of $L$ layers has
#
# $$S = L\,(12 w^2 + 13 w) + 2w .$$

# %%
every = load_summaries(READINGS)
of = {(one.manifest.corpus, one.manifest.model): one for one in every}
names = [one.name for one in SIZES]
true = [of["pocket:glyphs", name] for name in names]


def stack(layers, width):
    """S of a stack of layers."""
    return layers * (12 * width**2 + 13 * width) + 2 * width


S = np.array([stack(one.layers, one.width) for one in SIZES])
S_tower = np.array([stack(one.tower, one.width) for one in SIZES])
assert (S == [one.manifest.S for one in true]).all()
pd.DataFrame({
    "width": [one.width for one in SIZES], "layers": [one.layers for one in SIZES],
    "S": S, "layers of the tower": [one.tower for one in SIZES], "S of the tower": S_tower,
    "CE": np.round([one.ce() for one in true], 3), "RBP_1": np.round([one.rbp(1) for one in true], 3),
    "RBP_10": np.round([one.rbp(10) for one in true], 3),
}, index=names)  # fmt: skip

# %% [markdown]
# ## The law
#
# The losses are $-\log \mathrm{RBP}_k$ and CE. For their intervals we resample groups of twins, because pictures of one character, or of a letter with other accents, are not independent.

# %%
units = np.unique(glyphs.code.map(twins_key), return_inverse=True)[1]
weights = resample_weights(units)  # (draws, pictures)


def parts(one):
    """By picture: CE's sum, tokens, and hits at k = 1, 10, 100."""
    hits = one.document_hits[:, np.searchsorted(one.k_grid, [1, 10, 100])]
    return np.column_stack((one.document_nll, hits, one.document_tokens))


def losses(sums):
    """CE and -log RBP_k of sums over pictures."""
    return np.concatenate((sums[..., :1] / sums[..., 4:], -np.log(sums[..., 1:4] / sums[..., 4:])), -1)


loss = np.array([losses(parts(one).sum(0)) for one in true])  # (models, quantities)
drawn = np.stack([losses(weights @ parts(one)) for one in true], 1)  # (draws, models, quantities)
low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
quantities = ["CE", "k = 1", "k = 10", "k = 100"]

# %%
panel = {"CE": "CE", "k = 1": "$k = 1$", "k = 10": "$k = 10$", "k = 100": "$k = 100$"}
points = pd.DataFrame([
    {"panel": panel[quantity], "family": "Reader", "model": name, "S": S[i],
     "loss": loss[i, j], "low": low[i, j], "high": high[i, j]}
    for j, quantity in enumerate(quantities) for i, name in enumerate(names)
])  # fmt: skip
seeds = [one for one in every if "-seed" in one.manifest.model]
figure = plots.law_grid(points, panel="panel", ylabel=r"$-\log\,\mathrm{RBP}_k$ or CE")
for j, axes in enumerate(figure.axes):
    again = [(one.manifest.S, losses(parts(one).sum(0))[j]) for one in seeds]
    axes.plot(*zip(*again, strict=True), "o", mfc="none", color="black", ms=6)
plots.save(figure, points, figures_dir, "19_law")

# %% [markdown]
# *The losses against the size of the text decoder, with 95% intervals for other characters. Open circles: two more seeds of two sizes.*


# %%
def law(x, y):
    """alpha, its 95% interval by Student's t, and R2 of y = C x^-alpha."""
    fit = linregress(np.log(x), np.log(y))
    half = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
    return -fit.slope, -fit.slope - half, -fit.slope + half, fit.rvalue**2


sizes = {"decoder": S, "tower": S_tower, "both": S + S_tower}
rows = [
    (size, quantity, *law(x, loss[:, j]))
    for size, x in sizes.items()
    for j, quantity in enumerate(quantities)
]
lines = pd.DataFrame(rows, columns=["S of the", "loss", "alpha", "low", "high", "R2"])
lines.set_index(["S of the", "loss"]).round(3)
