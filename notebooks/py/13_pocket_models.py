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
# # The pocket models: how they were made, and what chance does to them
#
# **The question.** Many notebooks of this project draw lines through small models that we trained ourselves. How were these models made, and how much of what the lines show comes from choices that are not about size: the random weights that training starts from, the way parameters are counted, the architecture?
#
# > **The paper.** "RBP$_k$ follows a precise power-law relationship with model size" (Section 4, on $-\log \mathrm{RBP}_k$). Its 24 models were trained by others, all are transformers, and each size is one training run.
#
# **The surprise.** Three models of one size read the same text in the same order; only their random first weights differ. For a quarter of the training they go together. Then one leaves the other two, and in the end it completes as many repeated pairs of tokens as a model of nearly eight times its size. The section "When they part" shows the moment.
#
# **Guess first.** Suppose that you count *all* parameters of these small models, embeddings and output matrix included. Does the exponent become smaller or larger, and by how much?
#
# [Glossary](../docs/glossary.md)

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # the first and the last are shown
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from rbpkit import load_summaries, plots
from rbpkit.stats.curves import measured_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket import paths, recipes
from rbpkit_pocket.ablations import (
    load_totals,
    size_and_tokens,
    totals_of,
)

check_parameters(globals())

# %% [markdown]
# ## One recipe
#
# Each family has the architecture of a real one, in small:
#
# - **GPT-2** and **OPT** have learned positions, and their output matrix is tied to the embedding.
# - **Pythia** has rotary positions on a quarter of each head, attention and MLP side by side, and a separate output matrix.
# - **Qwen** has rotary positions, grouped-query attention and a gated MLP. Its three largest sizes have a separate output matrix.
# - **Mamba** is not in the paper. It has no attention: each layer passes a state of 16 numbers a channel from token to token.
#
# The rest is shared: one tokenizer with $V$ = 4,096, and one training text, cut out of Python packages. Every model read the same 12 million tokens in the same order, none of them twice. For width $d$ the learning rate rises to $c/d$ over the first twentieth of the steps and then falls linearly to zero. We searched $c$ for each family, by validation loss alone ([how](../docs/pocket.md)).

# %%
runs = {run.name: run for family in recipes.FAMILIES for run in recipes.runs_of(family)}
pocket = load_summaries(paths.SUMMARIES) + load_summaries(paths.MAMBA_SUMMARIES)
S = {one.manifest.model: one.manifest.S for one in pocket}

shapes = pd.DataFrame(
    [(run.family, S[name], run.shape.width, run.shape.layers, run.recipe.rate)
     for name, run in runs.items()],
    columns=["family", "S", "width", "layers", "c"],
)  # fmt: skip
shapes.groupby("family", sort=False).agg(
    sizes=("S", "size"), smallest_S=("S", "min"), largest_S=("S", "max"),
    widths=("width", lambda d: f"{d.min()} to {d.max()}"),
    layers=("layers", lambda layers: f"{layers.min()} to {layers.max()}"), c=("c", "first"),
)  # fmt: skip

# %% [markdown]
# The last column is a warning: GPT-2 and OPT got a quarter of Pythia's rate. A difference between two families is always one of architecture *and* rate.
#
# **Exercise 1.** A common rule asks for some twenty training tokens for each parameter. How many did the largest Pythia see for each parameter of $S$?
#
# <details><summary>Hint</summary>12 million tokens; its S is in the table.</details>

# %%
answer_1 = None  # tokens for each parameter
print(check(1, answer_1, sealed("04125177", digits=1)))

# %% [markdown]
# So the larger models are far from finished. Their exponents belong to 12 million tokens and would be others after more ([notebook 15](15_size_and_tokens.ipynb)).
#
# ## Do they follow the law, even without attention?

# %%
summaries = load_summaries(records_dir) if records_dir else pocket
shown = families if records_dir else [*families, "Mamba"]
tables = []
for k in sorted({ks[0], ks[-1]}):
    found = measured_curves(summaries, corpus_names, shown, lambda one, k=k: one.rbp(k), f"RBP_{k}")
    table = plots.curve_points("measured", found.curves.values())
    tables.append(table.assign(row=f"measured, k = {k}", k=k))
    print("\n".join(found.missing) or f"k = {k}: nothing is missing")
points = pd.concat(tables, ignore_index=True)

# %%
if len(points):
    panels = points.assign(panel=points.corpus.map(plots.short) + ", $k$ = " + points.k.astype(str))
    panels = panels.sort_values("corpus", key=lambda c: c.map(corpus_names.index), kind="stable")
    figure = plots.law_grid(panels, panel="panel", columns=points.k.nunique(), size=(3.4, 2.4))
    plots.save(figure, points[["row", *table.columns]], figures_dir, "pocket_beside")

# %% [markdown]
# *The loss against S, a line for each family. Each point is one trained model.*
#
# How straight are the lines? Here is the range of $R^2$ over corpora and $k$.


# %%
def law(x, loss):
    """alpha and R2 of loss = C x^-alpha, by least squares on logarithms."""
    fit = stats.linregress(np.log(x), np.log(loss))
    return -fit.slope, fit.rvalue**2


line_of = ["family", "corpus", "k"]
rows = [(*key, *law(one.S, one.loss)) for key, one in points.groupby(line_of, sort=False)]
lines = pd.DataFrame(rows, columns=[*line_of, "alpha", "R2"]).astype({"R2": float})
lines.groupby("family", sort=False).R2.agg(["min", "median", "max"]).round(3)

# %% [markdown]
# The law holds without attention too: Mamba's five sizes are on lines as straight as OPT's. They span only one decade of $S$, so we do not rank Mamba's exponent. [Notebook 14](14_repeated_pairs.ipynb) shows what Mamba does differently.
#
# Pythia and Qwen fit less well. Pythia's points bend: both ends are above the line, and the middle is below it. Of Qwen's, the second and the third are out of place.
#
# ## What is the size of a model?
#
# The paper's $S$ leaves out embeddings and output matrix. With them, a model of width $d$ has
#
# $$N_{\text{all}} = S + d\,(V + \text{positions}) + \underbrace{d\,V}_{\text{if the output matrix is separate}}$$
#
# parameters. We fit the same losses against both.


# %%
def all_parameters(model):
    """N_all of a pocket model."""
    run, d = runs[model], runs[model].shape.width
    positions = {"GPT2": 256, "OPT": 258}.get(run.family, 0)  # learned ones; OPT keeps two spare
    separate = run.family == "Pythia" or run.shape.untied
    return S[model] + d * (recipes.V + positions) + (d * recipes.V if separate else 0)


known = points[points.model.isin(runs)]
known = known.assign(N_all=known.model.map(all_parameters))
rows = []
for (family, *_), one in known.groupby(line_of, sort=False):
    if len(one) > 2:
        (alpha, R2), (alpha_all, R2_all) = law(one.S, one.loss), law(one.N_all, one.loss)
        rows.append((family, alpha, alpha_all, alpha_all / alpha, R2, R2_all))
numbers = ["alpha in S", "alpha in N_all", "ratio", "R2 in S", "R2 in N_all"]
sizes = pd.DataFrame(rows, columns=["family", *numbers]).astype(dict.fromkeys(numbers, float))
sizes.groupby("family", sort=False).median().round(3)

# %% [markdown]
# *Medians over corpora and k.*
#
# Counting everything makes the exponents 1.2 to 1.7 times as large, and the lines of the paper's four families less straight. The losses are the same. Only the axis is shorter, because $dV$ is most of a small model and less of a large one. An exponent means nothing without the size that it belongs to. [Notebook 01](01_appendix_A_setup.ipynb) finds that only $S$ reproduces the exponents that the paper prints.
#
# **Exercise 2.** Let depth grow with width, so that $S \propto d^3$. Against $S$ a family has $\alpha = 0.10$. Which exponent does it have against the size of its output matrix alone?
#
# <details><summary>Hint</summary>The matrix has d V entries. Write S as a power of it.</details>

# %%
answer_2 = None  # an exponent
print(check(2, answer_2, sealed("22176497", digits=2)))

# %% [markdown]
# ## Another seed
#
# Two Pythias and two Qwens were trained three times. The text and its order are the same, and the initial weights differ. The two Qwens were chosen because they are out of place, and that counts against what follows.
#
# Write $\varepsilon_i$ for the distance of model $i$ from the line, in log loss. With $n$ sizes the scatter about the line is $s$. The scatter between seeds of one size, $\sigma$, comes from the sizes $m$ that have three seeds:
#
# $$s^2 = \frac{1}{n - 2} \sum_{i=1}^{n} \varepsilon_i^2, \qquad \sigma^2 = \operatorname{mean}_m\, \operatorname{Var}_{\text{seeds}} \log L_m.$$
#
# If initial weights alone moved models off their line, $\sigma^2/s^2$ would be 1 up to sampling. We compute it for all tokens and for two kinds. A token *completes a repeated pair* if it and the token before it stood next to each other earlier in the document. The others do not.

# %%
totals = {
    "repeated pairs": load_totals(paths.PAIR_TOKENS),
    "other tokens": load_totals(paths.OTHER_TOKENS),
}
totals["all tokens"] = [pair.plus(other) for pair, other in zip(*totals.values(), strict=True)]
trained = pd.concat(
    size_and_tokens(some, [1, 10, 100]).assign(tokens=kind) for kind, some in totals.items()
)
trained = trained[(trained["T"] == 12e6) & trained.family.isin(["Pythia", "Qwen"])]


def scatter(cell):
    """Residuals about the line of seed 0, and s2 and sigma2."""
    first = cell[cell.seed == 0].sort_values("S")
    fit = stats.linregress(np.log(first.S), np.log(first.loss))
    error = np.log(first.loss) - fit.intercept - fit.slope * np.log(first.S)
    between_seeds = np.log(cell.loss).groupby(cell.model).var().mean()  # one seed: no variance
    return error.to_numpy(), (error**2).sum() / (len(first) - 2), between_seeds


rows = [
    (*key, *scatter(one))
    for key, one in trained.groupby(["tokens", "family", "quantity", "corpus"])
]
scatters = pd.DataFrame(
    rows, columns=["tokens", "family", "quantity", "corpus", "error", "s2", "sigma2"]
)
scatters["ratio"] = scatters.sigma2 / scatters.s2

# %% [markdown]
# There are twenty cells for each family (four quantities on five corpora). They share their models, so they are not twenty trials. To how many independent ones do the residuals amount? With eigenvalues $\lambda$ of the correlations between cells, the effective number is $(\sum \lambda)^2 / \sum \lambda^2$.

# %%
for family, one in scatters[scatters.tokens == "all tokens"].groupby("family"):
    between_cells = np.linalg.eigvalsh(np.corrcoef(np.stack(one.error)))
    effective = between_cells.sum() ** 2 / (between_cells**2).sum()
    print(f"{family}: {len(one)} cells amount to {effective:.1f}")

# %% [markdown]
# That is little more than one trial. So we take the median ratio and give it the interval of a single one. For normal errors $\sigma^2/s^2$, divided by its true value, follows Fisher's $F$ with 4 and $n - 2$ degrees of freedom. (Seed 0 enters both numbers, and Qwen's seeds fall into two groups, so the true interval is rather wider.)

# %%
median = scatters.groupby(["tokens", "family"])[["s2", "sigma2", "ratio"]].median().reset_index()
n = trained[trained.seed == 0].groupby("family").model.nunique()
median["n"] = median.family.map(n)
median["low"] = median.ratio / stats.f.ppf(0.975, 4, median.n - 2)
median["high"] = median.ratio / stats.f.ppf(0.025, 4, median.n - 2)

# %% tags=["hide-input"]
kinds = ["all tokens", "other tokens", "repeated pairs"]
with plots.style():
    figure, axes = plt.subplots(figsize=(6.5, 2.5), layout="constrained")
for row in median.itertuples():
    ink = plots.ink_of(row.family)
    y = kinds.index(row.tokens) + {"Pythia": -0.12, "Qwen": 0.12}[row.family]
    axes.plot([row.low, row.high], [y, y], color=ink.colour, lw=1.5)
    axes.plot(row.ratio, y, ink.marker, color=ink.colour, ms=7)
axes.axvline(1, color="black", lw=1)
axes.set(xscale="log", xlabel=r"$\sigma^2 / s^2$, with 95% interval", ylim=(2.5, -0.5))
axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
axes.set_yticks(range(3), kinds)
marks = plots.family_marks(["Pythia", "Qwen"])
axes.legend(handles=marks, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plots.save(figure, median, figures_dir, "13_scatter")

# %% [markdown]
# *Scatter between seeds against scatter about the line. On the black line, initial weights explain all of the scatter. Far to the left of it they explain little.*
#
# All six intervals contain 1, and each spans a factor of more than fifty. So it is **undecided** whether chance explains the scatter of either family. Nor can these seeds say whether Pythia's bend is real: only its smallest and its third size were trained again, and the large ones make the bend.
#
# **Exercise 3.** Change the code: with three seeds at all eight sizes of Pythia the numerator would have 16 degrees of freedom. How much shorter does Pythia's interval become, as a ratio of its ends? Why would more seeds never be enough?
#
# <details><summary>Hint</summary>Replace the 4. Then let it go to 10,000; which number still limits the interval?</details>
#
# The two spreads themselves show where a seed matters:

# %%
spread = 100 * median.set_index(["tokens", "family"])[["s2", "sigma2"]] ** 0.5
spread.set_axis(["s, %", "sigma, %"], axis=1).round(1)

# %%
several = trained[
    (trained.quantity == "RBP_1") & trained.corpus.isin(["pocket:prose", "pocket:code"])
]
several = several[several.tokens != "all tokens"].sort_values(["corpus", "tokens", "family", "S"])
several = several.assign(panel=several.corpus.map(plots.short) + ", " + several.tokens)
figure = plots.law_grid(
    several[several.seed == 0], panel="panel", ylabel=r"$-\log\,\mathrm{RBP}_1$"
)
for axes, (_, panel) in zip(figure.axes, several.groupby("panel", sort=False), strict=True):
    for family, new in panel[panel.seed > 0].groupby("family"):
        ink = plots.ink_of(family)
        axes.plot(new.S, new.loss, ink.marker, mfc="none", color=ink.colour, ms=7, zorder=4)
plots.save(figure, several.drop(columns="panel"), figures_dir, "13_seeds")

# %% [markdown]
# *Filled: the pocket models (seed 0) and their lines. Open: two other seeds of four models. On tokens that complete no repeated pair the seeds are close together. On repeated pairs a Qwen can be far above or far below its twins.*
#
# ## When they part
#
# All seeds of a model read the same tokens at the same step, so we can subtract the mean of the three from each training loss, averaged over 200 steps.

# %%
logs = {}
for model, seed in product(trained[trained.seed > 0].model.unique(), range(3)):
    name = f"{model}-12m-seed{seed}" if seed else model
    log = pd.read_csv(paths.RUNS / f"{name}.csv")
    logs[model, seed] = log.set_index("tokens").loss
losses = pd.DataFrame(logs).sort_index(axis=1)
parted = losses - losses.T.groupby(level=0).transform("mean").T
parted = parted.rolling(10).mean().dropna()  # a row is 20 steps

# %% tags=["hide-input"]
looks = {f"seed {seed}": look for seed, look in enumerate(("-", "--", ":"))}
with plots.style():
    figure, grid = plt.subplots(2, 2, figsize=(7, 4.6), sharex=True, sharey=True)
figure.set_layout_engine("constrained")
for axes, (model, three) in zip(grid.flat, parted.T.groupby(level=0), strict=True):
    family = runs[model].family
    for (_, loss), look in zip(three.iterrows(), looks.values(), strict=True):
        axes.plot(loss.index / 1e6, loss, look, color=plots.ink_of(family).colour, lw=1.5)
    axes.axhline(0, color="0.5", lw=0.6)
    axes.set_title(f"{family}, $S$ = {S[model]:,}", fontsize=11)
for axes in grid[1]:
    axes.set_xlabel("training tokens (millions)")
for axes in grid[:, 0]:
    axes.set_ylabel("loss less the mean (nats)")
handles = [plt.Line2D([], [], color="black", ls=look, label=seed) for seed, look in looks.items()]
figure.legend(handles=handles, loc="outside lower center", ncols=3)
tidy = parted.stack([0, 1], future_stack=True).rename("loss")
tidy = tidy.rename_axis(["tokens", "model", "seed"]).reset_index()
plots.save(figure, tidy, figures_dir, "13_training")

# %% [markdown]
# *Training loss of each seed less the mean of the three; negative is better. The Qwens go together for a few million tokens. Then one of each size pulls away.*
#
# What has the fast one learned? Here is the share of repeated pairs at rank 1, in percent, with the largest Qwen for comparison.

# %%
pairs = trained[(trained.tokens == "repeated pairs") & (trained.quantity == "RBP_1")]
pairs = pairs[pairs.model.isin(["qwen-w48-l3", "qwen-w64-l4", "qwen-w128-l8"])]
pairs = pairs.assign(percent=100 * np.exp(-pairs.loss), corpus=pairs.corpus.map(plots.short))
pairs.pivot(index=["S", "seed"], columns="corpus", values="percent").round(0).astype(int)

# %% [markdown]
# In each size one seed of three gets clearly more repeated pairs right than its twins. The one of the larger size equals a Qwen of nearly eight times its parameters. It looks as if the seed decides *when* a model begins to use what stood earlier, and as if training ended before all had begun. We did not look inside the models, so whether they copy is not shown.
#
# What does this do to an exponent? Choose one of three seeds at each of the two sizes, and you have nine lines for each family:

# %%
rows = []
for (family, quantity, _), one in trained[trained.tokens == "all tokens"].groupby(
    ["family", "quantity", "corpus"]
):
    levels, choices = zip(*[(size, part.loss) for size, part in one.groupby("S")], strict=True)
    alphas = [law(levels, choice)[0] for choice in product(*choices)]
    pocket_alpha, _ = law(levels, one[one.seed == 0].sort_values("S").loss)
    rows.append((family, quantity, min(alphas) / pocket_alpha - 1, max(alphas) / pocket_alpha - 1))
moved = pd.DataFrame(rows, columns=["family", "quantity", "lowest, %", "highest, %"])
moved = moved.groupby(["family", "quantity"]).agg({"lowest, %": "min", "highest, %": "max"})
(100 * moved).round(1)

# %% [markdown]
# *By how many percent the nine exponents differ from that of the pocket models, over five corpora.* A seed moves Pythia's exponents by up to 5% and Qwen's by up to 12%. These are lower bounds, because only two sizes vary, and not the largest.
#
# **Exercise 4.** Our seeds change the initial weights and not the order of the text. Which of this section's pictures could not be drawn if the order changed too, and what would you compare instead?
#
# <details><summary>Hint</summary>What do two training losses at the same step have in common?</details>
#
# ## A seed of your own
#
# `params/class/own_model.yaml` trains the smallest Pythia with your seed, on 3 million tokens. With your records this table has a row for it, next to the three seeds that come with `rbpkit`.

# %% tags=["hide-input"]
grid = load_totals(paths.GRID)
text = {(one.manifest.corpus, one.manifest.fingerprint) for one in grid}
seeds = [
    one
    for one in [*load_totals(paths.ABLATIONS), *map(totals_of, summaries)]
    if one.manifest.model.startswith("pythia-w32-l2-3m-seed")
    and (one.manifest.corpus, one.manifest.fingerprint) in text
]
small = size_and_tokens([*grid, *seeds], [1, 10, 100])
small = small[(small.model == "pythia-w32-l2") & (small["T"] == 3e6)]
small = small[small.corpus.isin(["pocket:prose", "pocket:code"])]
small = small.drop_duplicates(["corpus", "quantity", "seed"])
small.pivot(index="seed", columns=["corpus", "quantity"], values="loss").round(3)

# %% [markdown]
# ## What we found
#
# - *The law does not need attention.* A state-space family follows it as well as OPT does. We saw this for five small sizes over one decade, and it says nothing about large ones.
# - *The exponent depends on what is counted.* This is arithmetic as much as measurement.
# - *Whether seeds explain the scatter about the lines is undecided*, in both families and for both kinds of tokens.
# - *Seeds of one size can part.* Two of six Qwens did, and the difference is in repeated pairs. So it happens, but three seeds do not tell how often.
#
# **What this cannot show.** Three seeds at two sizes of two families are few, and the Qwens were chosen for being odd. GPT-2, OPT and Mamba have one seed a size. Family and learning rate change together.
#
# **Related.** [Zhao et al.](https://arxiv.org/abs/2502.17356) train many seeds and find that some have a skill and others do not. [Van der Wal et al.](https://arxiv.org/abs/2503.09543) train Pythias with nine more seeds and find them much alike, with a few outliers. [Olsson et al.](https://arxiv.org/abs/2209.11895) describe how heads that copy form within a short stretch of training.
