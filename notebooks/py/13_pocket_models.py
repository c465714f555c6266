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
# # The pocket models: three twins
#
# Three language models are about to be trained. They have the same architecture (Qwen's) and the same size, and they will read the same text in the same order. Only one thing differs: training starts from random numbers, the *weights*, and each model draws its own. The number that fixes the draw is called the *seed*.

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show; empty: whatever is there
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # the first and the last are shown
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Import what the notebook needs
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from rbpkit import load_summaries, plots
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.stats.curves import measured_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket import paths, recipes
from rbpkit_pocket.ablations import load_totals, size_and_tokens, totals_of
from rbpkit_pocket.families import POCKET_FAMILIES, V

check_parameters(globals())

# %% tags=["hide-input"]
# Draw the idea: three random starts, one text
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 2.4))
axes.set(xlim=(0, 6), ylim=(0, 2.4))
axes.axis("off")
for seed in range(3):
    bottom = 1.65 - 0.75 * seed
    weights = np.random.default_rng(seed).normal(size=(6, 6))
    axes.imshow(
        weights, cmap="Greys", extent=(0.75, 1.3, bottom, bottom + 0.55), vmin=-2.5, vmax=2.5
    )
    axes.text(0.65, bottom + 0.27, f"seed {seed}", ha="right", va="center")
    axes.annotate(
        "",
        (4.55, bottom + 0.27),
        (1.4, bottom + 0.27),
        arrowprops={"arrowstyle": "->", "color": INK},
    )
    axes.add_patch(plt.Rectangle((4.65, bottom), 0.55, 0.55, fill=False, edgecolor=INK))
    axes.text(4.92, bottom + 0.27, "?", ha="center", va="center", fontsize=13)
axes.text(
    2.95, 1.17, "the same text\nin the same order", ha="center", va="center",
    bbox={"facecolor": CONTEXT, "edgecolor": "none", "boxstyle": "round,pad=0.7"},
)  # fmt: skip
axes.text(5.3, 1.17, "three\nmodels", va="center")
axes.set(xlim=(0, 6), ylim=(0, 2.4), aspect="auto")
plots.show(figure)

# %% [markdown]
# *A sketch. The grey squares are random weights.*
#
# They are *pocket models*: we trained them ourselves. A model reads text as *tokens*, which are words or parts of words. At each place in a text it gives a probability to every possible next token. Let $p$ be the probability of the token that really comes next. The model's *training loss* is $-\ln p$, in units called *nats*: 0 if the model was certain of that token, and 0.69 if $p$ was one half.
#
# The three models, our twins, see the same piece of text at the same step. So we can subtract the mean of their three training losses. The difference tells which twin is better.

# %%
TWIN = "qwen-w64-l4"  # 64 numbers for each token, 4 layers
losses = pd.DataFrame()
for seed, ending in enumerate(["", "-12m-seed1", "-12m-seed2"]):
    log_file = paths.RUNS / f"{TWIN}{ending}.csv"
    log = pd.read_csv(log_file)  # a row for every 20 steps
    losses[seed] = log.set_index("tokens").loss

# %%
mean = losses.mean(axis="columns")
apart = losses.sub(mean, axis="index")
# Single steps are noisy, so average over ten rows, which are 200 steps.
# The first average needs ten rows, so the curves start at 0.8 million tokens
apart = apart.rolling(10).mean()
apart = apart.dropna()

# %% tags=["hide-input"]
# Draw the first quarter of the training


def draw_twins(apart, winner, title, height):
    """Each twin's loss, less the mean of the three, against the tokens that it has read."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.2), layout="constrained")
    axes.axhline(0, color=CONTEXT, lw=1)
    for seed in apart:
        colour = INK if seed == winner else OTHER
        axes.plot(apart.index / 1e6, apart[seed], color=colour, lw=1.8)
    axes.set(xlim=(0, 12.1), ylim=(-height, height))
    axes.set_title(title, loc="left")
    axes.set_xlabel("training tokens (millions)")
    axes.set_ylabel("loss less the mean (nats)")
    return figure, axes


start = apart[apart.index < 3e6]
figure, axes = draw_twins(start, None, "3 million tokens: the twins go together", 0.1)
axes.axvspan(3, 12.1, color=CONTEXT, alpha=0.4, lw=0)
axes.text(7.5, 0, "the next 9 million: ?", ha="center", va="center")
plots.show(figure)

# %% [markdown]
# **Guess first.** The twins read on until they have seen 12 million tokens. How far apart will the best and the worst of them be: 0.03, 0.1 or 0.3 nats? And if one gets ahead, what has it learned that the others have not?

# %%
last = apart.iloc[-1]
best = last.idxmin()
worst = last.idxmax()
gap = last[worst] - last[best]
print(f"seed {best} is ahead of seed {worst} by {gap:.2f} nats")

# %% tags=["hide-input"]
# Draw the whole training
figure, axes = draw_twins(apart, best, f"Seed {best} leaves its twins", 0.22)
axes.text(3.2, -0.19, "better $\\downarrow$", color=OTHER)
ends = [(12, value, f"seed {seed}", INK if seed == best else OTHER) for seed, value in last.items()]
plots.label_ends(axes, ends)
points = apart.stack().rename("loss").rename_axis(["tokens", "seed"]).reset_index()
plots.save(figure, points, figures_dir, "13_training")

# %% [markdown]
# **Same model, same text, another seed: the best twin ends 0.28 nats below the worst.** From 2 to 3 million tokens nothing tells the twins apart.
#
# ## What has seed 2 learned?
#
# A *pair token* completes a pair of tokens that occurred before in the same document. If a program contains `( path` and later `(` again, then a `path` that follows is a pair token. A model that uses what it has read can get such tokens right. We measured all models on five texts that they had not seen, separately on pair tokens and on the others.
#
# The true next token has *rank 1* if it is the model's first guess. $\mathrm{RBP}_k$ is the share of true tokens among the first $k$ guesses, and $-\ln \mathrm{RBP}_k$ is the *paper's loss*.
#
# `load_totals` reads what was measured, and `size_and_tokens` makes a table of it. Its columns are the model, its size $S$ (parameters without the tables that turn tokens into numbers and back), the training tokens `T`, the seed, the text (`corpus`), the quantity and the loss. The quantity is $\mathrm{RBP}_1$, $\mathrm{RBP}_{10}$, $\mathrm{RBP}_{100}$ or CE (the mean of $-\ln p$).

# %%
KS = [1, 10, 100]  # CE comes with them
on_pairs = size_and_tokens(load_totals(paths.PAIR_TOKENS), KS)
on_others = size_and_tokens(load_totals(paths.OTHER_TOKENS), KS)
on_pairs["tokens"] = "pair tokens"
on_others["tokens"] = "other tokens"
trained = pd.concat([on_pairs, on_others])
# The other models of these tables read fewer tokens
trained = trained[trained["T"] == 12e6]

# %%
LARGEST = "qwen-w128-l8"
first_guess = trained[trained.quantity == "RBP_1"]
pairs = first_guess[first_guess.tokens == "pair tokens"].copy()
pairs["percent"] = 100 * np.exp(-pairs.loss)  # from the loss back to the share

# %%
shown = pairs[pairs.model.isin([TWIN, LARGEST])]
percent = shown.pivot(index=["S", "seed"], columns="corpus", values="percent")
percent = percent.rename(columns=plots.short)  # without "pocket:"
percent = percent.round().astype(int)
print("Pair tokens at rank 1, in percent")
print(percent.to_string())

# %% tags=["hide-input"]
# Draw the twins and the largest Qwen
small, large = percent.index.get_level_values("S").unique()
texts = percent.loc[small].loc[best].sort_values().index
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.2), layout="constrained")
for height, text in enumerate(texts):
    twins = percent.loc[small][text]
    axes.axhline(height, color=CONTEXT, lw=1, zorder=0)
    axes.plot(percent.loc[large][text], height, "|", color=INK, ms=20, mew=2)
    for seed, value in twins.items():
        # Two twins can have the same percentage: one dot a little higher
        shift = 0.11 if seed == 1 else 0 if seed == best else -0.11
        axes.plot(value, height + shift, "o", color=INK if seed == best else OTHER, ms=8)
top = len(texts) - 1
axes.annotate(
    "7.8 times the size", (percent.loc[large][texts[-1]].item(), top + 0.22), (0, 6),
    textcoords="offset points", ha="center", va="bottom",
)  # fmt: skip
axes.text(percent.loc[small].loc[best][texts[-1]] + 1.2, top, f"seed {best}", va="center")
axes.text(
    percent.loc[small].loc[0][texts[-1]] - 1.2,
    top,
    "its twins",
    va="center",
    ha="right",
    color=OTHER,
)
axes.set_yticks(range(len(texts)), texts)
axes.set(xlim=(20, 85), ylim=(-0.5, top + 0.8), xlabel="pair tokens at rank 1 (%)")
axes.set_title("One twin completes as many pairs as a large model", loc="left")
points = shown[["corpus", "model", "S", "seed", "percent"]].sort_values(["corpus", "S", "seed"])
plots.save(figure, points, figures_dir, "13_pairs")

# %% [markdown]
# *Each dot is one twin on one text. The bar is the largest Qwen, which has 7.8 times as many parameters.*
#
# **On questions and answers (`qa`) seed 2 gets 73 of 100 pair tokens right. Its twins get 47 and 48, and a Qwen with nearly eight times the parameters gets 71.**
#
# Perhaps the seed decides *when* a model begins to use what it has read, and training ended before all had begun. We did not look inside the models.
#
# **Exercise 1.** On `qa` the twins with seeds 1 and 2 have $\mathrm{RBP}_1$ of 0.48 and 0.73 on pair tokens. Divide the paper's loss of seed 1 by that of seed 2. What is the ratio? Give one decimal.
#
# <details><summary>Hint</summary>The loss is the negative logarithm of the share.</details>

# %%
answer_1 = None  # how many times as large

# %% tags=["hide-input"]
# Check exercise 1
mistakes = [
    # From the ratio of the shares to that of the losses
    (
        lambda answer: np.log(0.73 / answer) / np.log(0.73),
        "Nearly: this is the ratio of the shares, not of the losses.",
    ),
]
print(check(1, answer_1, sealed("8771a6c0", digits=1), mistakes))

# %% [markdown]
# ## Where does a seed matter?
#
# Four pocket models were trained with three seeds: two sizes of Qwen and two of Pythia. On each text and for each quantity we take the standard deviation of $\ln(\text{loss})$ over the three seeds, times 100. A value of 1 means that the losses differ by about 1%.

# %%
trained["log_loss"] = np.log(trained.loss)
cell = ["tokens", "family", "quantity", "corpus"]
seeds_of_model = trained.groupby([*cell, "model"]).log_loss
# A single seed has no variance, and the mean leaves it out
variance = seeds_of_model.var().groupby(cell).mean()
typical = variance.groupby(["tokens", "family"]).median()
spread = 100 * np.sqrt(typical.dropna())
print("Spread between seeds, in percent (median over texts and quantities)")
print(spread.unstack().round(1).to_string())

# %% tags=["hide-input"]
# Draw both kinds of tokens on prose
several = trained[(trained.quantity == "RBP_1") & (trained.corpus == "pocket:prose")]
several = several[several.family.isin(["Pythia", "Qwen"])].sort_values(["tokens", "family", "S"])
with plots.style():
    figure, grid = plt.subplots(
        1, 2, figsize=(plots.WIDTH, 3.4), sharex=True, sharey=True, layout="constrained"
    )
grid[0].set_ylabel(r"$-\ln\,\mathrm{RBP}_1$ on prose")
for axes, kind in zip(grid, ["pair tokens", "other tokens"], strict=True):
    axes.set(xscale="log", yscale="log", xlabel="$S$ (parameters)")
    axes.set_title(kind, loc="left")
    ends = []
    for family, part in several[several.tokens == kind].groupby("family"):
        ink = plots.ink_of(family)
        first = part[part.seed == 0]
        other = part[part.seed > 0]
        axes.plot(first.S, first.loss, ink.marker, ls="-", color=ink.colour, lw=1, ms=4, zorder=3)
        axes.plot(other.S, other.loss, ink.marker, color=ink.colour, mfc="white", ms=7)
        for S, size in part.groupby("S"):
            # A thick pale bar joins the seeds of one model
            axes.plot([S, S], [size.loss.min(), size.loss.max()], color=CONTEXT, lw=7, zorder=0)
        ends.append((first.S.iloc[-1], first.loss.iloc[-1], family, ink.colour))
    axes.set_xlim(2e4, 2e7)
    plots.log_ticks(axes)
    plots.label_ends(axes, ends)
figure.suptitle("Seeds part on pair tokens, not on the others", x=0.01, ha="left", fontsize=12)
plots.save(figure, several.drop(columns=["T", "log_loss"]), figures_dir, "13_seeds")

# %% [markdown]
# *Filled marks and lines: seed 0 of every size. Hollow marks: the other two seeds of four models. A pale bar joins the seeds of one model.*
#
# **The losses of one size of Qwen differ between seeds by a third on pair tokens, and by 1% on other tokens.** We trained two sizes with three seeds, and picked them because their seed 0 was far from the line through all Qwens. So they are no fair sample. Pythia's seeds differ less, by 7% and 0.6%.
#
# **Exercise 2.** Perhaps seeds matter so much because our training is short. A common rule asks for some twenty training tokens for each parameter. The largest Pythia has $S$ = 3,114,432. How many tokens for each parameter did it read?
#
# <details><summary>Hint</summary>All pocket models read 12 million tokens.</details>

# %%
answer_2 = None  # tokens for each parameter

# %% tags=["hide-input"]
# Check exercise 2
print(check(2, answer_2, sealed("04125177", digits=1)))

# %% [markdown]
# ## What does a seed do to an exponent?
#
# > **The paper.** "RBP$_k$ follows a precise power-law relationship with model size" (Section 4).
# >
# > Each of the paper's 24 models was trained once.
#
# A power law, $\text{loss} = C\,S^{-\alpha}$, is a straight line in logarithms, and the exponent $\alpha$ says how steeply it falls. In each of the two families, two sizes have three seeds, and the others one. A line takes one seed for each size, so there are $3 \times 3 = 9$ lines.


# %%
def exponent(S, loss):
    """alpha of loss = C S^-alpha, by least squares on logarithms."""
    line = stats.linregress(np.log(S), np.log(loss))
    return -line.slope


def exponents_by_seed(models):
    """The exponent with seed 0 alone, and the least and largest for any seeds."""
    seed_0 = models[models.seed == 0].sort_values("S")
    usual = exponent(seed_0.S, seed_0.loss)
    losses_of_sizes = [size.loss for _, size in models.groupby("S")]
    # Two sizes have three losses, the others one: 3 x 3 choices
    choices = product(*losses_of_sizes)
    alphas = [exponent(seed_0.S, choice) for choice in choices]
    return usual, min(alphas), max(alphas)


# %% tags=["hide-input"]
# Add up both kinds of tokens, model by model
both = zip(load_totals(paths.PAIR_TOKENS), load_totals(paths.OTHER_TOKENS), strict=True)
every_token = [pair.plus(other) for pair, other in both]
all_tokens = size_and_tokens(every_token, [1, 10, 100])
all_tokens = all_tokens[(all_tokens["T"] == 12e6) & all_tokens.family.isin(["Pythia", "Qwen"])]

# %% [markdown]
# `all_tokens` has both kinds of tokens together.

# %%
rows = []
line_of = ["family", "quantity", "corpus"]
for (family, quantity, _), models in all_tokens.groupby(line_of):
    usual, lowest, highest = exponents_by_seed(models)
    fall = 100 * (lowest / usual - 1)
    rise = 100 * (highest / usual - 1)
    rows.append((family, quantity, fall, rise))

# %%
changes = pd.DataFrame(rows, columns=["family", "quantity", "lowest", "highest"])
by_quantity = changes.groupby(["family", "quantity"])
# The texts that move each exponent most
moved = by_quantity.agg({"lowest": "min", "highest": "max"})
print("Change of the exponent by other seeds, in percent")
print(moved.round(1).to_string())

# %% [markdown]
# **Other seeds at two sizes move Qwen's exponent by up to 12%, and Pythia's by up to 4.5%.**
#
# **Exercise 3, to discuss.** Our seeds change the first weights and not the order of the text. Suppose that each twin read the text in another order. Which picture could we no longer draw, and what could we compare instead?
#
# <details><summary>Hint</summary>What do the losses of two twins at the same step have in common?</details>
#
# ## Further questions
#
# <details><summary>How were the pocket models made?</summary>
#
# All share a tokenizer of V = 4,096 tokens and a training text of 12 million tokens, read once. At width $d$ the learning rate rises to $c/d$ in the first twentieth of the steps, then falls to zero. We chose $c$ for each family by validation loss. GPT-2 and OPT got a quarter of Pythia's, so families differ in architecture *and* rate. [More](../docs/pocket.md).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: sizes and rates of each family
pocket = load_summaries(paths.SUMMARIES) + load_summaries(paths.MAMBA_SUMMARIES)
S_of = {summary.manifest.model: summary.manifest.S for summary in pocket}
runs = {run.name: run for family in POCKET_FAMILIES for run in recipes.runs_of(family)}
rows = [
    (run.family, S_of[name], run.shape.width, run.shape.layers, run.recipe.rate)
    for name, run in runs.items()
]
shapes = pd.DataFrame(rows, columns=["family", "S", "width", "layers", "c"])
by_family = shapes.groupby("family", sort=False)
overview = by_family.S.agg(["size", "min", "max"]).set_axis(
    ["sizes", "smallest S", "largest S"], axis=1
)
for column in ("width", "layers"):
    ends = by_family[column].agg(["min", "max"]).astype(str)
    overview[column] = ends["min"] + " to " + ends["max"]
overview["c"] = by_family.c.first()
overview

# %% [markdown]
# <details><summary>Do they follow the law, even without attention? Do the lines bend?</summary>
#
# They do, with $R^2$ of 0.82 or more. Mamba, a fifth family without attention, does as well as OPT. Pythia's points curve: both ends lie above the line. Whether the law bends is undecided, as in [notebook 15](15_size_and_tokens.ipynb).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Figure: the families and their lines; how straight they are
summaries = load_summaries(records_dir, checkpoint="last", say=print) if records_dir else pocket
asked_families = list(families)
if not families:
    asked_families = sorted({summary.manifest.family for summary in summaries})
elif not records_dir:
    asked_families.append("Mamba")  # not one of the paper's families
asked_corpora = corpus_names or sorted({summary.manifest.corpus for summary in summaries})
tables, missing = [], []
for k in sorted({ks[0], ks[-1]}):
    measured = measured_curves(
        summaries, asked_corpora, asked_families, lambda summary, k=k: summary.rbp(k), f"RBP_{k}"
    )
    missing += measured.missing
    table = plots.curve_points("measured", measured.curves.values())
    tables.append(table.assign(row=f"measured, k = {k}", k=k))
points = pd.concat(tables, ignore_index=True)
print("\n".join(dict.fromkeys(missing)) or "nothing is missing")

line_of = ["family", "corpus", "k"]
if len(points):
    panel = points.corpus.map(plots.short) + ", $k$ = " + points.k.astype(str)
    panels = points.assign(panel=panel)
    panels = panels.sort_values("corpus", key=lambda c: c.map(asked_corpora.index), kind="stable")
    figure = plots.law_grid(
        panels, panel="panel", columns=min(2, points.k.nunique()), xlabel="$S$ (parameters)",
        ylabel=r"$-\ln\,\mathrm{RBP}_k$",
    )  # fmt: skip
    plots.save(figure, points[["row", *table.columns[:-2]]], figures_dir, "pocket_beside")
    rows = []
    for key, models in points.groupby(line_of, sort=False):
        line = stats.linregress(np.log(models.S), np.log(models.loss))
        rows.append((*key, line.rvalue**2))
    straight = pd.DataFrame(rows, columns=[*line_of, "R2"])
    print("R2 over texts and k")
    ranges = straight.groupby("family", sort=False).R2.agg(["min", "median", "max"])
    print(ranges.round(3).to_string())
else:
    print("No family has three sizes on one text, so there is no line to draw.")

# %% [markdown]
# <details><summary>What if all parameters are counted?</summary>
#
# Then a model of width $d$ has $N_{\text{all}} = S + d\,(V + \text{positions})$ parameters, and $dV$ more if the output matrix is separate. The exponents are 1.2 to 1.7 times as large: $dV$ is most of a small model and little of a large one, so the axis is shorter and the line steeper. The lines of the paper's four families get less straight. Only $S$ gives the paper's exponents ([notebook 01](01_appendix_A_setup.ipynb)).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: exponents and R2 in S and in all parameters


def all_parameters(model):
    """N_all of a pocket model."""
    run = runs[model]
    width = run.shape.width
    positions = {"GPT2": 256, "OPT": 258}.get(run.family, 0)  # learned ones; OPT keeps two spare
    total = S_of[model] + width * (V + positions)
    if run.family == "Pythia" or run.shape.untied:
        total += width * V
    return total


known = points[points.model.isin(runs)]
known = known.assign(N_all=known.model.map(all_parameters))
rows = []
for (family, *_), models in known.groupby(line_of, sort=False):
    if len(models) > 2:
        in_S = stats.linregress(np.log(models.S), np.log(models.loss))
        in_all = stats.linregress(np.log(models.N_all), np.log(models.loss))
        ratio = in_all.slope / in_S.slope
        rows.append((family, -in_S.slope, -in_all.slope, ratio, in_S.rvalue**2, in_all.rvalue**2))
names = ["alpha in S", "alpha in N_all", "ratio", "R2 in S", "R2 in N_all"]
if rows:
    sizes = pd.DataFrame(rows, columns=["family", *names])
    print("Medians over texts and k")
    print(sizes.groupby("family", sort=False).median().round(3).to_string())
else:
    print("None of these models is a pocket model with three sizes: N_all is not known.")

# %% [markdown]
# <details><summary>Did this happen only once?</summary>
#
# Twice in six runs of Qwen. At $S$ = 138,864 seed 0 gets 59% of the pair tokens of `code`, the others 47 and 44%.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: pair tokens at rank 1, in percent, of all models with three seeds
with_seeds = pairs[pairs.model.isin(pairs[pairs.seed > 0].model)]
by_seed = with_seeds.pivot(index=["family", "S", "seed"], columns="corpus", values="percent")
by_seed.rename(columns=plots.short).round().astype(int)

# %% [markdown]
# <details><summary>Do seeds explain why points lie off their line?</summary>
#
# Undecided. If only seeds moved points, $\sigma^2$ (variance between seeds) over $s^2$ (variance about the line) would be 1. All six 95% intervals contain 1, and each spans a factor of more than fifty. The twenty ratios of a family share models. By their correlations they are worth 1.2 (Pythia) or 1.8 (Qwen) independent ones. So the interval is that of a single ratio (Fisher's $F$).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Figure and tables: variance between seeds over variance about the line
every = pd.concat([trained, all_tokens.assign(tokens="all tokens")])
every = every[every.family.isin(["Pythia", "Qwen"])]
rows = []
for key, models in every.groupby(cell):
    first = models[models.seed == 0].sort_values("S")
    line = stats.linregress(np.log(first.S), np.log(first.loss))
    error = np.log(first.loss) - line.intercept - line.slope * np.log(first.S)
    about_line = (error**2).sum() / (len(first) - 2)
    between = np.log(models.loss).groupby(models.model).var().mean()
    rows.append((*key, error.to_numpy(), about_line, between))
scatters = pd.DataFrame(rows, columns=[*cell, "error", "s2", "sigma2"])
scatters["ratio"] = scatters.sigma2 / scatters.s2
for family, part in scatters[scatters.tokens == "all tokens"].groupby("family"):
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(np.stack(part.error)))
    effective = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    print(f"{family}: {len(part)} cells amount to {effective:.1f}")

median = scatters.groupby(["tokens", "family"])[["s2", "sigma2", "ratio"]].median().reset_index()
n = every[every.seed == 0].groupby("family").model.nunique()
median["n"] = median.family.map(n)
median["low"] = median.ratio / stats.f.ppf(0.975, 4, median.n - 2)
median["high"] = median.ratio / stats.f.ppf(0.025, 4, median.n - 2)
percents = 100 * np.sqrt(median.set_index(["tokens", "family"])[["s2", "sigma2"]])
print(percents.set_axis(["s, %", "sigma, %"], axis=1).round(1).to_string())

names = ["all tokens", "other tokens", "pair tokens"]
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 2.8), layout="constrained")
axes.axvline(1, color=INK, lw=1)
for row in median.itertuples():
    ink = plots.ink_of(row.family)
    y = names.index(row.tokens) + {"Pythia": -0.15, "Qwen": 0.15}[row.family]
    axes.plot([row.low, row.high], [y, y], color=ink.colour, lw=1.5)
    axes.plot(row.ratio, y, ink.marker, color=ink.colour, ms=7)
    if row.tokens == "all tokens":
        axes.text(row.high * 1.15, y, row.family, color=ink.colour, va="center")
axes.text(1.1, -0.62, "seeds explain all of it", va="center")
axes.set(xscale="log", xlabel=r"$\sigma^2 / s^2$, with 95% interval", ylim=(2.5, -0.85))
axes.set_xticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
axes.set_yticks(range(3), names)
axes.set_title("Whether seeds explain the scatter is undecided", loc="left")
plots.save(figure, median, figures_dir, "13_scatter")

# %% [markdown]
# <details><summary>What does your own seed give?</summary>
#
# `params/class/own_model.yaml` trains the smallest Pythia with your seed. If `records_dir` names your records, the table has a row for it.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: losses of the smallest Pythia after 3 million tokens, by seed
grid_totals = load_totals(paths.GRID)
same_text = {(totals.manifest.corpus, totals.manifest.fingerprint) for totals in grid_totals}
candidates = load_totals(paths.ABLATIONS) + [totals_of(summary) for summary in summaries]
seeds = []
for totals in candidates:
    of_this_size = totals.manifest.model.startswith("pythia-w32-l2-3m-seed")
    if of_this_size and (totals.manifest.corpus, totals.manifest.fingerprint) in same_text:
        seeds.append(totals)
smallest = size_and_tokens([*grid_totals, *seeds], [1, 10, 100])
smallest = smallest[(smallest.model == "pythia-w32-l2") & (smallest["T"] == 3e6)]
smallest = smallest[smallest.corpus.isin(["pocket:prose", "pocket:code"])]
smallest = smallest.drop_duplicates(["corpus", "quantity", "seed"])
smallest.pivot(index="seed", columns=["corpus", "quantity"], values="loss").round(3)

# %% [markdown]
# ## The paper says, and we get
#
# The paper's lines go through models that were trained once, so they cannot show how much a seed decides. For Qwen other seeds changed an exponent by up to 12%. Three seeds at two sizes cannot tell how often twins part.
#
# **Related.** With many seeds, [Zhao et al.](https://arxiv.org/abs/2502.17356) find that some have a skill and others do not, and [Van der Wal et al.](https://arxiv.org/abs/2503.09543) find Pythias much alike, with a few outliers.
#
# [Glossary](../docs/glossary.md)
