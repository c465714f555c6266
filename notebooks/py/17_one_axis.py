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
# # Beyond the paper: size or cross-entropy?
#
# A language model gives every *token* (a word or part of one) a probability to come next. The model's *cross-entropy*, CE, is the mean of $-\log p$ in nats (natural logarithms), with $p$ the probability of the true token. $\mathrm{RBP}_k$ is the share of true tokens that are among the model's $k$ most probable ones. $S$, the model's size, counts its parameters without embeddings (the tables that turn tokens into numbers).
#
# Here are two *pocket models* (small models that we trained), of the families OPT and Pythia. Both were measured on `pocket:prose`, descriptions inside Python programs.

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Imports, and the summaries of the models
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display

from rbpkit import fit_power_law, load_summaries, paper, plots
from rbpkit.palette import INK
from rbpkit.stats.curves import in_order
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import ABLATION_FAMILIES, load_totals

check_parameters(globals())
every = load_summaries(records_dir or paths.SUMMARIES, checkpoint="last", say=print)
corpora = corpus_names or sorted({summary.manifest.corpus for summary in every})
shown_families = families or sorted({summary.manifest.family for summary in every})
summaries = in_order(every, corpora, shown_families)
own = bool(records_dir)
dropped = sorted({s.manifest.model for s in every} - {s.manifest.model for s in summaries})
if own and dropped:
    print(f"Not asked for, so not shown: {', '.join(dropped)}.")
if not summaries:
    print(f"No model of {', '.join(shown_families)} was measured on {', '.join(corpora)}.")

# %% [markdown]
# | | $S$ | CE | $\mathrm{RBP}_{10}$ |
# |---|---|---|---|
# | OPT | 991,616 | 3.85 | 59.8% |
# | Pythia | 84,912 | 3.87 | **?** |
#
# **Guess.** The OPT is almost twelve times as large. How large is the Pythia's $\mathrm{RBP}_{10}$: 50%, 55% or 59%?
#
# *[Glossary](../docs/glossary.md)*
#
# ## All models in one picture
#
# We have 69 small models, all with one tokenizer:
#
# - 25 *ordinary* ones, of the four families of the paper ([Yue et al.](https://arxiv.org/abs/2510.20387))
# - five of another design, Mamba
# - 18 Pythias with fewer training tokens
# - 21 *ablations*, with one thing changed: learning rate, depth, random seed or targets (what the model is trained to predict).
#
# We call $-\log \mathrm{RBP}_k$ the *rank loss*. `corpora` names three texts. `ordinary` and `others` hold pairs: a model's kind, and its measurements on one text.

# %% tags=["hide-input"]
# The other 44 models; with records of your own, only your models are shown
others = []
if not own:
    grid = [t for t in load_totals(paths.GRID) if not t.manifest.model.endswith("-12m")]
    for kind, measured in (
        ("Mamba", load_summaries(paths.MAMBA_SUMMARIES)),
        ("fewer tokens", grid),
        ("ablation", load_totals(paths.ABLATIONS)),
    ):
        others += [(kind, model) for model in measured]
ordinary = [("ordinary", summary) for summary in summaries]

# %%
KS = (1, 10, 100)


def points_of(models):
    """A row for each model, text and k; models: pairs of a kind and what was measured."""
    rows = []
    for kind, model in models:
        about = model.manifest  # the names of text, family and model, and the size
        CE = model.ce()
        for k in KS:
            loss = -np.log(model.rbp(k))
            row = [about.corpus, kind, about.family, about.model]
            row += [about.S, k, CE, loss]
            rows.append(row)
    columns = ["corpus", "kind", "family", "model", "S", "k", "CE", "loss"]
    return pd.DataFrame(rows, columns=columns)


# %%
points = points_of(ordinary + others)
points = points[points["corpus"].isin(corpora)]
points = points[points["loss"] > 0]  # a loss of 0 has no logarithm

# %% tags=["hide-input"]
# What can be fitted: at least three models, with three values of CE
enough = points.groupby(["corpus", "k"]).filter(lambda part: part["CE"].nunique() >= 3)
if not summaries or enough.empty:
    print("A line needs three models on one text, so this notebook cannot draw one from yours.")

# %% [markdown]
# For each text and $k$ we fit two lines to the 25 ordinary models: log rank loss against $\log S$, and against $\log \mathrm{CE}$. How far are all 69 models from each line?


# %%
def distances(models, x):
    """log(loss / the line), for a line in log x that is fitted to the ordinary models."""
    fitted = models[models["kind"] == "ordinary"]
    line = fit_power_law(fitted[x], fitted["loss"])
    on_line = line.predict(models[x]).loss
    return np.log(models["loss"] / on_line)


def root_mean_square(values):
    return np.sqrt(np.mean(values**2))


# %% tags=["hide-input"]
# Draw the main picture: one text, k = 10, against S and against CE
if len(enough):
    text = "pocket:prose" if "pocket:prose" in set(enough["corpus"]) else enough["corpus"].iloc[0]
    shown = enough[(enough["corpus"] == text) & (enough["k"] == 10)]
    shown = shown if len(shown) else enough[enough["corpus"] == text]
    labels = {"S": "$S$ (parameters without embeddings)", "CE": "cross-entropy (nats a token)"}
    with plots.style():
        figure, both = plt.subplots(
            2, 1, figsize=(plots.WIDTH, 7), sharey=True, layout="constrained", height_ratios=(2, 3)
        )
        for axes, x in zip(both, labels, strict=True):
            for (kind, family), part in shown.groupby(["kind", "family"], sort=False):
                ink = plots.ink_of(family)
                look = {"color": ink.colour, "ms": 6}
                if kind != "ordinary":  # hollow: not fitted
                    look.update(mfc="none", ms=5, alpha=0.8)
                axes.plot(part[x], part["loss"], ink.marker, ls="", **look)
            fitted = shown[shown["kind"] == "ordinary"]
            ends = np.sort(shown[x])[[0, -1]]
            line = fit_power_law(fitted[x], fitted["loss"]).predict(ends)
            axes.plot(line.S, line.loss, color=INK, lw=1.2, zorder=0)
            off = root_mean_square(distances(shown, x))
            name = "size" if x == "S" else "cross-entropy"
            axes.set(
                xscale="log", yscale="log", xlabel=labels[x], ylabel=r"$-\log\,\mathrm{RBP}_{10}$"
            )
            axes.set_title(f"Against {name}: one line misses by {off:.1%}")
            plots.log_ticks(axes)
        both[1].set_xticks([3, 3.5, 4, 4.5, 5], ["3", "3.5", "4", "4.5", "5"])
        both[1].minorticks_off()
        labels_of_guess = {"opt-w128-l5": "OPT: 59.8%", "pythia-w48-l3": "Pythia: 59.3%"}
        for name, label in labels_of_guess.items():
            ringed = shown[(shown["model"] == name) & (text == "pocket:prose")]
            if ringed.empty or own:
                continue
            for axes, x in zip(both, labels, strict=True):
                point = ringed[x].iloc[0], ringed["loss"].iloc[0]
                axes.plot(*point, "o", color=INK, ms=13, mfc="none")
                is_pythia = name.startswith("pythia")
                above = is_pythia == (x == "CE")  # where no other mark is
                axes.annotate(
                    label,
                    point,
                    xytext=(-8 if is_pythia else 8, 9 if above else -13),
                    ha="right" if is_pythia else "left",
                    va="center",
                    textcoords="offset points",
                )
        used = [f for f in (*shown_families, "Mamba") if f in set(shown["family"])]
        both[1].legend(handles=plots.family_marks(used), loc="lower right", ncols=2)
    plots.save(figure, shown, figures_dir, "17_cross_entropy")
    print(
        f"{text}: {len(shown)} models; against S {root_mean_square(distances(shown, 'S')):.3f}, "
        f"against CE {root_mean_square(distances(shown, 'CE')):.3f}, "
        f"the farthest {distances(shown, 'CE').abs().max():.3f}"
    )

# %% [markdown]
# *$k = 10$. Filled: the ordinary models (fitted). Hollow: the others. Rings: the two of the guess.*
#
# **The answer: 59.3%. On prose, a line in CE misses the 69 models by 1.5%, and a line in size by 21%** (root mean square).
#
# [Move the models from size to cross-entropy](../docs/explorables/line.html)
#
# The table `enough` has the points of every text and $k$ with at least three models.


# %%
def distances_by_text(points):
    """By text and k, how far the models are from a line in S and from a line in CE, in percent."""
    rows = []
    for (corpus, k), models in points.groupby(["corpus", "k"]):
        row = {"text": corpus, "k": k}
        for axis in ("S", "CE"):
            off = distances(models, axis)
            row[axis] = 100 * root_mean_square(off)
        row["farthest"] = 100 * off.abs().max()  # from the line in CE
        rows.append(row)
    return pd.DataFrame(rows).pivot(index="text", columns="k")


# %%
if len(enough):  # your own records may have too few models
    display(distances_by_text(enough).round(1))

# %% [markdown]
# *Distance of the 69 models from a line in $S$ and in CE, in percent (root mean square). farthest: the model farthest from the line in CE.*
#
# A line in CE misses by 1 to 4%, and a line in size by 14 to 28%. This is unfair to size. Most of the 44 others have another design or training, and $S$ does not show that. The ordinary models alone miss the line in size by 9 to 13%, and the line in CE by 1 to 2%.
#
# ## Do shared tokens make the line?
#
# CE and $\mathrm{RBP}_k$ are counted on the same tokens. Tokens that happen to suit a model improve both numbers, so luck alone could put models on a line. So we split the files of `pocket:prose` into random halves, 200 times. For the ordinary models we take $\mathrm{RBP}_{10}$ from one half and CE from the other.
#
# `halves` has the pairs of halves. `CE_of` and `RBP_of` give every model's CE and $\mathrm{RBP}_{10}$ on one half. `off_line` gives the models' distance from a line through them (root mean square).

# %% tags=["hide-input"]
# Random halves of the files, and what is counted on one half
halved = [s for s in summaries if s.manifest.corpus == (corpora or [""])[0]]
halved = [s for s in halved if np.array_equal(s.document, halved[0].document)]
halves = []
if len(halved) >= 3 and len(halved[0].document) >= 20:
    # A row for each model, a column for each document: tokens, summed -log p, hits at k = 10
    tokens = np.array([s.document_tokens for s in halved], dtype=float)
    nll = np.array([s.document_nll for s in halved])
    hits = np.array([s.document_hits[:, list(s.k_grid).index(10)] for s in halved], dtype=float)
    files = getattr(halved[0], "document_units", None)  # the file that a document comes from
    files = np.arange(tokens.shape[1]) if files is None else files
    random = np.random.default_rng(0)
    for _ in range(200):
        shuffled = random.permutation(files.max() + 1)  # a random number for each file
        first = shuffled[files] % 2 == 0  # documents of the files with an even number
        halves.append((first, ~first))
else:
    print("Halves need three models on one text of at least 20 documents, so they are left out.")


def per_token(sums, half):
    """Sums over the documents of one half, divided by their tokens, for each model."""
    return sums[:, half].sum(axis=1) / tokens[:, half].sum(axis=1)


def CE_of(half):
    return per_token(nll, half)


def RBP_of(half):
    return per_token(hits, half)


def off_line(CE, RBP):
    """Distance of the models from their own line, log against log."""
    loss = -np.log(RBP)
    line = fit_power_law(CE, loss)
    return root_mean_square(np.log(loss / line.predict(CE).loss))


# %%
same = []  # distances, with CE and RBP from the same half
other = []  # distances, with CE from the other half
for first, second in halves:
    RBP = RBP_of(second)
    same.append(off_line(CE_of(second), RBP))
    other.append(off_line(CE_of(first), RBP))

# %%
if halves:  # your own records may have too few documents
    from_same = np.mean(same)
    from_other = np.mean(other)
    farther = from_other / from_same - 1
    print(f"same half {from_same:.4f}, other half {from_other:.4f}: {farther:.0%} farther")

# %% [markdown]
# With CE from other files, the distance grows by only 8%. So the shared tokens hardly make the line. (On other texts it grows by up to 27%: [notebook 20](20_beyond_cross_entropy.ipynb), folded.)
#
# **Exercise 1.** On one text, $-\log \mathrm{RBP}_{10} = 0.38$ at CE = 3.2, and 0.50 at CE = 3.8. A model has CE = 3.4. Which $\mathrm{RBP}_{10}$ do you expect, to two decimals?
#
# <details><summary>Hint</summary>The line is straight in logarithms. Turn the loss into an RBP.</details>

# %%
answer_1 = None  # an RBP_10, between 0 and 1
print(check(1, answer_1, sealed("1778e316", digits=2)))

# %% [markdown]
# ## The paper's models
#
# The paper's families have different tokenizers, so their CEs cannot share a line. But we can compare exponents. With size, the rank loss falls as $S^{-\alpha_k}$, and CE as $S^{-\alpha_{\mathrm{CE}}}$. The ratio of the two exponents is $\varepsilon_k = \alpha_k / \alpha_{\mathrm{CE}}$. Suppose that on one text the rank loss is $c\,\mathrm{CE}^p$, with one $p$ for all families and a factor $c$ for each. Then $\varepsilon_k$ is $p$:
#
# $$-\log \mathrm{RBP}_k \propto \mathrm{CE}^p \propto \big(S^{-\alpha_{\mathrm{CE}}}\big)^p, \quad\text{so}\quad \alpha_k = p\,\alpha_{\mathrm{CE}}.$$
#
# The paper's Table 1 (`paper.table1`) has both exponents for four families on six texts. By how many percent do the families differ in $\alpha_k$, and by how many in $\varepsilon_k$ (standard deviation)?

# %%
slopes = paper.table1().pivot(index=["dataset", "family"], columns="k", values="slope")
exponents = -slopes
alpha_CE = exponents["CE"]
alpha_k = exponents[["1", "10", "100"]]
epsilon_k = alpha_k.div(alpha_CE, axis=0)

# %%
# Families differ by factors, so we take the standard deviation of logarithms
spread_of_alpha = np.log(alpha_k).groupby("dataset").std()
spread_of_epsilon = np.log(epsilon_k).groupby("dataset").std()
spreads = {"alpha_k": spread_of_alpha, "epsilon_k": spread_of_epsilon}
table = pd.concat(spreads, axis=1)
(100 * table).round(1)

# %% [markdown]
# **On four texts the families differ by 11 to 21% in $\alpha_k$. In $\varepsilon_k$ they differ by 3 to 9% at $k = 1$, 1 to 3% at $k = 10$ and 2 to 5% at $k = 100$.** On the two texts of code the families do not agree. On Github, GPT-2's CE follows no power law ($R^2$ is 0.091), so its exponent means little. For HumanEval we know no reason.
#
# **Exercise 2.** On a text, one family has $\alpha_{\mathrm{CE}} = 0.08$ and $\alpha_{100} = 0.18$. Another has $\alpha_{\mathrm{CE}} = 0.10$. Which $\alpha_{100}$ do you expect for the other, to three decimals?
#
# <details><summary>Hint</summary>On one text both families have the same ratio.</details>

# %%
answer_2 = None  # an exponent
print(check(2, answer_2, sealed("81e7e8f8", digits=3)))

# %% [markdown]
# **Exercise 3, to discuss.** On the line, two models with the same CE have the same $\mathrm{RBP}_{10}$. Does this show that CE *causes* the ranks?
#
# ## What we found
#
# **On one text, the CE of one of our small models gives its rank losses at $k$ = 1, 10 and 100, typically to within 1 to 4%. So these models lie nearly on one axis.** The paper's exponents agree with such an axis on four texts, and not on its two texts of code. A test fixed beforehand, whether ablations keep $\varepsilon_k$, failed with 12 models and was undecided with 19.
#
# Very short training (1.5 million tokens) moves models off the axis by 6 to 9% at $k = 100$. In 63 runs ([notebook 20](20_beyond_cross_entropy.ipynb)), other changes move the rank loss, too. At equal CE and $k = 100$, the rank loss is 5.0% higher in deep, narrow models at twice the learning rate (3.5% by a parabola), and 4.2% (2.3%) higher at a quarter of the rate. At $k = 1$ it is 2.1% lower with smoothed targets. Dropout moves it by less than 1% at $k$ = 1, 10 and 100. None of this shows that CE causes the ranks.
#
# ## Further questions

# %% [markdown]
# <details><summary>And within one family?</summary>
#
# A line for one family misses its models by 1.6 to 2.9% in $S$, and by 0.4 to 0.9% in CE.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: distances of the ordinary models, by text and k
ordinary_points = enough[enough["kind"] == "ordinary"]
if len(ordinary_points):
    display(distances_by_text(ordinary_points).round(1))

# %% tags=["hide-input", "hide-output"]
# Folded: lines for each family
rows = []
for (corpus, k, _), part in ordinary_points.groupby(["corpus", "k", "family"], sort=False):
    if part["S"].nunique() >= 3:
        rows.append((corpus, k, *(root_mean_square(distances(part, x)) for x in ("S", "CE"))))
if rows:
    families_own = pd.DataFrame(rows, columns=["text", "k", "in S", "in CE"])
    display(families_own.groupby(["text", "k"], sort=False).mean().round(4))

# %% [markdown]
# <details><summary>Which models are farthest from the axis?</summary>
#
# At $k = 100$ the Pythias of 1.5 million tokens. Some of their CEs are beyond the fitted ones.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: distance from the line in CE at k = 100, by kind of model, and for the shortest training
if not own:
    for corpus, models in enough[enough["k"] == 100].groupby("corpus", sort=False):
        off = distances(models, "CE")
        kinds = models["kind"].mask(models["model"].str.endswith("-1.5m"), "1.5 million tokens")
        print(corpus, off.groupby(kinds).apply(root_mean_square).round(3).to_dict())

# %% [markdown]
# <details><summary>Could two losses that fall with size share a line by chance?</summary>
#
# If both scattered independently about lines in $S$, models would be three to five times as far from a line in CE.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: the distance if both scattered independently
random = np.random.default_rng(42)
rows = []
for (_, _, k), part in ordinary_points.groupby(["corpus", "family", "k"], sort=False):
    if part["S"].nunique() < 4:
        continue
    log_S = np.log(part["S"].to_numpy(dtype=float))
    drawn = {}
    for name in ("CE", "loss"):
        line = fit_power_law(part["S"], part[name])
        scatter = np.std(np.log(part[name] / line.predict(part["S"]).loss))
        drawn[name] = np.exp(-line.alpha * log_S + scatter * random.normal(size=(200, len(part))))
    by_chance = [off_line(CE, np.exp(-loss)) for CE, loss in zip(*drawn.values(), strict=True)]
    rows.append(
        (k, np.sqrt(np.mean(np.square(by_chance))), root_mean_square(distances(part, "CE")))
    )
if rows:
    chance = pd.DataFrame(rows, columns=["k", "if independent", "counted"])
    display(chance.groupby("k").agg(lambda v: np.sqrt(np.mean(v**2))).round(3))

# %% [markdown]
# <details><summary>Is CE special?</summary>
#
# No. At $k = 1$, a line in $\mathrm{RBP}_5$ does about as well, and one in $\mathrm{RBP}_{10}$ misses by 29 to 46% more. At $k = 100$, $\mathrm{RBP}_{10}$ is as good or better.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: the distance from a line in another axis, by text and k
rows = []
for corpus, models in itertools.groupby(summaries, key=lambda s: s.manifest.corpus):
    models = list(models)
    if len({s.manifest.model for s in models}) < 3:
        continue
    losses = {k: np.array([-np.log(s.rbp(k)) for s in models]) for k in (1, 5, 10, 50, 100)}
    axes_of = {"CE": np.array([s.ce() for s in models])}
    axes_of.update({f"RBP_{k}": losses[k] for k in (5, 10, 50)})
    for k in (1, 100):
        for name, axis in axes_of.items():
            line = fit_power_law(axis, losses[k])
            rows.append(
                (corpus, k, name, root_mean_square(np.log(losses[k] / line.predict(axis).loss)))
            )
if rows:
    special = pd.DataFrame(rows, columns=["text", "k", "axis", "off"])
    display(special.pivot(index=["text", "k"], columns="axis", values="off").round(4))

# %% [markdown]
# <details><summary>Is the agreement in Table 1 luck?</summary>
#
# Families differ by 4.7% in $\varepsilon_k$ (median). If they exchange their $\alpha_{\mathrm{CE}}$, they differ by at least 10.2%, in all 23 ways.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: all 24 ways
log_k = np.log(alpha_k.stack().unstack("family"))
log_CE = np.log(alpha_CE.unstack("family")).reindex(log_k.index.get_level_values("dataset"))
spreads = []
for order in itertools.permutations(range(4)):
    exchanged = log_CE.to_numpy()[:, order]
    spreads.append(np.median((log_k.to_numpy() - exchanged).std(axis=1, ddof=1)))
print(f"true: {spreads[0]:.3f}; best of the {len(spreads) - 1} others: {min(spreads[1:]):.3f}")

# %% [markdown]
# <details><summary>Can the axis predict the paper's largest Pythia?</summary>
#
# On Wiki, a line through nine smaller ones misses Pythia-12B's rank loss by 5, 8 and 9% from its size ($k$ = 1, 10, 100), and by 0, 0.5 and 2.5% from its CE.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: Pythia-12B from its size and from its CE
published_CE = paper.ce_and_rbp1().query("kind == 'empirical' and series == 'CE'")
wiki = paper.emergence().query("N == 1 and k in @KS").copy()
wiki["CE"] = wiki["model"].map(published_CE.set_index("model")["value"])
wiki["loss"] = -np.log(wiki["p"])
for k, part in wiki.groupby("k"):
    part = part.sort_values("S")
    smaller, largest = part[:-1], part[-1:]
    for x in ("S", "CE"):
        predicted = fit_power_law(smaller[x], smaller["loss"]).predict(largest[x]).loss
        miss = float(np.log(predicted / largest["loss"]).iloc[0])
        print(f"Pythia-12B on Wiki, k = {k:3}, from {x:2}: {miss:+.3f}")

# %% [markdown]
# <details><summary>What became of the test that was fixed beforehand?</summary>
#
# [The first margin](../docs/margins.md) asked whether $\varepsilon_k$ of ablations is within 8% of that of GPT-2 and OPT, and differs at most a third as much as $\alpha_k$. With 12 models it differed by 24%: a failure. With seven more, as planned, by 14%: undecided (16% without GPT-2 at Pythia's rate, a failure). **Ordinary families miss 8% too**: Pythia has 13%, Qwen 8.3%. So the failure is weak evidence.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: the first margin's number, and what ordinary families would score
if not own:
    five_texts = points_of([("ordinary", summary) for summary in every] + others)
    width = five_texts["model"].str.extract(r"-w(\d+)", expand=False).astype(float)
    small = five_texts[(five_texts["kind"] == "ordinary") & (width <= 96)]
    models_of = dict(iter(small.groupby("family")))
    ablations = five_texts[five_texts["kind"] == "ablation"]
    for name, runs in ABLATION_FAMILIES.items():
        models_of[name] = ablations[ablations["model"].isin([run.name for run in runs])]

    def log_epsilon(models):
        """log epsilon_k, a row for each text and k."""
        cells = models.groupby(["corpus", "k"])
        slopes = [
            cells.apply(lambda cell, y=y: fit_power_law(cell["S"], cell[y]).alpha)
            for y in ("loss", "CE")
        ]
        return np.log(slopes[0] / slopes[1])

    reference = (log_epsilon(models_of.pop("GPT2")) + log_epsilon(models_of.pop("OPT"))) / 2

    def error_of(models):
        return root_mean_square(log_epsilon(models) - reference)

    errors = pd.Series({name: error_of(models) for name, models in models_of.items()})
    display(errors.rename("error of epsilon_k").round(3).to_frame())
    five = errors[list(ABLATION_FAMILIES)]
    four = five.drop("GPT-2, Pythia's rate")
    print(f"the five families of ablations: {root_mean_square(five):.2f}")
    print(f"without GPT-2 at Pythia's rate: {root_mean_square(four):.2f}")
    # The 12 models of the first step were the three smallest of these four families
    smallest = [models_of[name] for name in four.index]
    smallest = [m[m["S"].isin(np.sort(m["S"].unique())[:3])] for m in smallest]
    first_step = np.array([error_of(models) for models in smallest])
    print(f"the first 12 models: {root_mean_square(first_step):.2f}")

# %% [markdown]
# **Related.** A shifted power law gives the loss on one text from that on another ([Brandfonbrener et al.](https://arxiv.org/abs/2411.12925)). Size and architecture hardly change this law ([Mayilvahanan et al.](https://arxiv.org/abs/2502.12120)). Loss also gives scores on tasks ([Du et al.](https://arxiv.org/abs/2403.15796)). We have not found elsewhere that rank losses of several families follow one power of CE.
