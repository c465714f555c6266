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
    return np.concatenate(
        (sums[..., :1] / sums[..., 4:], -np.log(sums[..., 1:4] / sums[..., 4:])), -1
    )


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

# %% [markdown]
# TEXT law
#
# ## Beside the text families
#
# Are these exponents like those of the pocket models that read text?

# %%
text = load_summaries(recipes.SUMMARIES)
rows = []
for family in ("GPT2", "OPT", "Pythia", "Qwen"):
    for corpus in sorted({one.manifest.corpus for one in text}):
        some = [m for m in text if (m.manifest.family, m.manifest.corpus) == (family, corpus)]
        x, y = [m.manifest.S for m in some], np.array([losses(parts(m).sum(0)) for m in some])
        rows.append((family, plots.short(corpus), *(law(x, y[:, j])[0] for j in range(4))))
beside = pd.DataFrame(rows, columns=["family", "corpus", *quantities])
reader = lines[lines["S of the"] == "decoder"].set_index("loss").alpha
table = beside.groupby("family", sort=False)[quantities].median()
table.loc["Reader, pictures"] = reader
for k in (1, 10, 100):
    table[f"alpha_{k} / alpha_CE"] = table[f"k = {k}"] / table["CE"]
table.round(3)

# %% [markdown]
# TEXT beside
#
# ## Whole names
#
# Who reads a character wants all of its name. Let $N$ be the number of its tokens. The share of names of length $N$ whose tokens all have rank 1 is $p_{N,1}$: greedy decoding writes exactly this name. If tokens are independent, Eqs. 6 and 8 say
#
# $$p_{N,1} = \mathrm{RBP}_1^{\,N} = \exp(-N C S^{-\alpha}).$$

# %%
N = true[0].document_tokens
whole = np.array([one.document_hits[:, 0] == N for one in true])  # (models, pictures)
alpha_1 = lines.query("`S of the` == 'decoder' and loss == 'k = 1'").alpha.item()
C_1 = np.exp(np.mean(np.log(loss[:, 1]) + alpha_1 * np.log(S)))
groups = {
    "1 to 3": (1, 3),
    "4 or 5": (4, 5),
    "6 or 7": (6, 7),
    "8 or 9": (8, 9),
    "10 and more": (10, 99),
}
rows = []
for label, (least, most) in groups.items():
    here = (N >= least) & (N <= most)
    for i, name in enumerate(names):
        share, chance = whole[i, here].mean(), np.exp(-N[here] * C_1 * S[i] ** -alpha_1).mean()
        ends = np.quantile(
            weights[:, here] @ whole[i, here] / weights[:, here].sum(1), [0.025, 0.975]
        )
        rows.append((label, name, S[i], here.sum(), share, *ends, chance))
columns = ["tokens", "model", "S", "pictures", "p", "low", "high", "Eq. 8"]
named = pd.DataFrame(rows, columns=columns)
print("whole names, all lengths:", ", ".join(f"{share:.3f}" for share in whole.mean(1)))

# %% tags=["hide-input"]
with plots.style():
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (label, one), ink in zip(
    named.groupby("tokens", sort=False), plots.inks_of(groups).values(), strict=True
):
    bars = np.maximum([one.p - one.low, one.high - one.p], 0)
    axes.errorbar(
        one.S, one.p, bars, fmt=ink.marker, color=ink.colour, ms=5, elinewidth=0.9, label=label
    )
    axes.plot(one.S, one["Eq. 8"], "--", color=ink.colour, lw=1.2)
axes.set(
    xscale="log", xlabel="$S$ of the text decoder", ylabel="whole names at rank 1", ylim=(0, None)
)
axes.legend(title="tokens in the name", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plots.save(figure, named, figures_dir, "19_names")

# %% [markdown]
# *Shares of names that greedy decoding gets right from end to end, by their length. Dashed: Eq. 8.*
#
# TEXT names
#
# ## Do they look?
#
# A model could do well by guessing common names. So each one is measured again with another glyph's picture, and with a blank one.

# %%
kinds = {"true": "", "shuffled": "-shuffled", "blank": "-blank"}
rows = []
for i, name in enumerate(names):
    sums = {kind: parts(of[f"pocket:glyphs{end}", name]) for kind, end in kinds.items()}
    rbp = {kind: one[:, 1].sum() / N.sum() for kind, one in sums.items()}
    row = {"model": name, "S": S[i], **{f"RBP_1, {kind}": value for kind, value in rbp.items()}}
    for kind in ("shuffled", "blank"):
        gap = (weights @ (sums["true"] - sums[kind])[:, 1]) / (weights @ N)
        row[f"gap, {kind}"] = rbp["true"] - rbp[kind]
        row[f"low, {kind}"], row[f"high, {kind}"] = np.quantile(gap, [0.025, 0.975])
    rows.append(row)
look = pd.DataFrame(rows)
look.set_index("model").drop(columns="S").round(3)

# %% tags=["hide-input"]
with plots.style():
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for kind, ink in zip(kinds, plots.inks_of(kinds).values(), strict=True):
    axes.plot(look.S, look[f"RBP_1, {kind}"], ink.marker + ink.line, color=ink.colour, label=kind)
axes.set(xscale="log", xlabel="$S$ of the text decoder", ylabel=r"$\mathrm{RBP}_1$", ylim=(0, 1))
axes.legend(title="pictures", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plots.save(figure, look, figures_dir, "19_look")

# %% [markdown]
# TEXT look
#
# ## Which characters?

# %%
first = glyphs.name.str.split().str[0]
common = [
    "LATIN",
    "GREEK",
    "CYRILLIC",
    "ARMENIAN",
    "CANADIAN",
    "ARABIC",
    "GEORGIAN",
    "MATHEMATICAL",
    "BRAILLE",
]
script = first.where(first.isin(common), "others").to_numpy()
words = {word for name in load_glyphs("train").name for word in name.replace("-", " ").split()}
seen = np.array([set(name.replace("-", " ").split()) <= words for name in glyphs.name])


def by(kind, values):
    """RBP_1 of the smallest and the largest model and its exponent, for each value."""
    rows = []
    for value in dict.fromkeys(values):
        here = kind == value
        hits = np.array([one.document_hits[here, 0].sum() for one in true]) / N[here].sum()
        whole_here = whole[-1, here].mean()
        rows.append(
            (
                value,
                glyphs.code[here].nunique(),
                hits[0],
                hits[-1],
                law(S, -np.log(hits))[0],
                whole_here,
            )
        )
    columns = [
        "",
        "characters",
        "RBP_1, smallest",
        "RBP_1, largest",
        "alpha",
        "whole names, largest",
    ]
    return pd.DataFrame(rows, columns=columns).set_index("").round(3)


by(script, [*common, "others"])

# %%
by(
    np.where(seen, "all words of the name seen", "a word never seen"),
    ["all words of the name seen", "a word never seen"],
)

# %% [markdown]
# TEXT scripts
#
# ## One picture
#
# Here is one glyph under every size.

# %%
place = int(np.flatnonzero(glyphs.name == "GREEK SMALL LETTER EPSILON WITH DASIA AND VARIA")[0])
row = {"text": glyphs.name[place], "picture": pictures("test")[place]}
one_picture = Corpus.of([row], "one glyph", field="text", image="picture")
ranks = {}
for name in names:
    model = load_model(READERS / name, image=True)
    ranks[name] = measure(model, one_picture).records
