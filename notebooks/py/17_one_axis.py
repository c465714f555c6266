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
# # Beyond the paper: two models with the same cross-entropy
#
# A small language model reads a text and ranks all tokens before each next one. CE, its **cross-entropy**, is the mean of $-\log p$ over the text, where $p$ is the probability of the true token (in nats). $\mathrm{RBP}_{10}$ is the share of true tokens that are among its first ten. $S$ is its size: the number of parameters without embeddings.
#
# Here are two of our pocket models on `pocket:prose`, a text of docstrings.

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
every = load_summaries(records_dir or paths.SUMMARIES)
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
# | an OPT | 991,616 | 3.85 | 59.8% |
# | a Pythia | 84,912 | 3.87 | **?** |
#
# **Guess.** The OPT is almost twelve times as large. Both have nearly the same cross-entropy. How often does the Pythia have the true token among its first ten: in 50%, 55% or 59% of all positions?
#
# *[Glossary](../docs/glossary.md). Logarithms are natural.*

# %% tags=["hide-input"]
# Draw the idea: each family comes down the same scale at its own pace
prose = [s for s in summaries if s.manifest.corpus == "pocket:prose"]
if prose and not own:
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
        for height, family in enumerate(reversed(shown_families)):
            models = [s for s in prose if s.manifest.family == family]
            ink = plots.ink_of(family)
            CEs = [s.ce() for s in models]
            axes.plot(CEs, [height] * len(CEs), "-", color=ink.colour)
            for s in models:
                size = 3 + 1.6 * np.log10(s.manifest.S / 2e4)
                axes.plot(s.ce(), height, ink.marker, color=ink.colour, ms=3 * size / 2)
            axes.text(
                4.72, height, plots.name_of(family), color=ink.colour, ha="right", va="center"
            )
        axes.annotate("", (2.95, -0.8), (4.7, -0.8), arrowprops={"arrowstyle": "->", "color": INK})
        axes.text(2.95, -0.6, "lower cross-entropy", ha="right", color=INK)
        axes.set(
            xlim=(5.05, 2.9), ylim=(-1.1, 3.6), yticks=[], xlabel="cross-entropy (nats a token)"
        )
        axes.spines["left"].set_visible(False)
        axes.set_title(
            "Each family comes down the same scale, at its own pace\n(larger mark: larger model)"
        )
    plots.save(
        figure,
        pd.DataFrame([{"model": s.manifest.model, "CE": s.ce()} for s in prose]),
        figures_dir,
        "17_pace",
    )

# %% [markdown]
# ## All models in one picture
#
# We have 69 pocket models. 25 are the four families of the paper; we call them *ordinary*. Five are Mambas, which have no attention. 18 are Pythias that saw fewer training tokens. 21 are *ablations*, with one thing changed: the learning rate, the depth, or the targets of training ([notebook 20](20_beyond_cross_entropy.ipynb)). Collect CE and $-\log \mathrm{RBP}_k$ of all of them.

# %% tags=["hide-input"]
# The other 44 models; with records of your own, only your models are shown
KS = (1, 10, 100)
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
def points_of(models):
    """A row for each model, text and k; models: pairs of a kind and what was measured."""
    rows = []
    for kind, model in models:
        about = model.manifest
        for k in KS:
            loss = -np.log(model.rbp(k))  # the rank loss
            row = (about.corpus, kind, about.family, about.model, about.S, k, model.ce(), loss)
            rows.append(row)
    columns = ["corpus", "kind", "family", "model", "S", "k", "CE", "loss"]
    return pd.DataFrame(rows, columns=columns)


points = points_of(ordinary + others)
points = points[points["corpus"].isin(corpora) & (points["loss"] > 0)]

# %% [markdown]
# Fit one line to $\log(-\log \mathrm{RBP}_k)$ of the 25 ordinary models, first against $\log S$ and then against $\log \mathrm{CE}$. How far is each of the 69 models from the line?


# %%
def distances(models, x):
    """log(loss / the line), for a line in log x that is fitted to the ordinary models."""
    fitted = models[models["kind"] == "ordinary"]
    line = fit_power_law(fitted[x], fitted["loss"])
    return np.log(models["loss"] / line.predict(models[x]).loss)


def root_mean_square(values):
    return np.sqrt(np.mean(values**2))


# %% tags=["hide-input"]
# What can be fitted: at least three models, with three values of CE
enough = points.groupby(["corpus", "k"]).filter(lambda part: part["CE"].nunique() >= 3)
if not summaries or enough.empty:
    print("A line needs three models on one text, so this notebook cannot draw one from yours.")

# %%
rows = []
for (corpus, k), models in enough.groupby(["corpus", "k"], sort=False):
    in_S = root_mean_square(distances(models, "S"))
    in_CE = root_mean_square(distances(models, "CE"))
    rows.append((corpus, k, len(models), in_S, in_CE))
missed = pd.DataFrame(rows, columns=["text", "k", "models", "by a line in S", "by a line in CE"])
missed.round(3)

# %% [markdown]
# *Root mean square distance in $\log(-\log \mathrm{RBP}_k)$: 0.01 is about 1% of the rank loss.*

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
        for name, share in (("opt-w128-l5", "59.8%"), ("pythia-w48-l3", "59.3%")):
            ringed = shown[(shown["model"] == name) & (text == "pocket:prose")]
            if len(ringed) and not own:  # the two models of the guess
                both[1].plot(ringed["CE"], ringed["loss"], "o", color=INK, ms=13, mfc="none")
                above = name.startswith("pythia")
                both[1].annotate(
                    share,
                    (ringed["CE"].iloc[0], ringed["loss"].iloc[0]),
                    xytext=(-34, 8) if above else (10, -14),
                    textcoords="offset points",
                )
        used = [f for f in (*shown_families, "Mamba") if f in set(shown["family"])]
        both[1].legend(handles=plots.family_marks(used), loc="lower right", ncols=2)
    plots.save(figure, shown, figures_dir, "17_cross_entropy")
    print(
        f"{text}: {len(shown)} models; against S {root_mean_square(distances(shown, 'S')):.3f}, "
        f"against CE {root_mean_square(distances(shown, 'CE')):.3f}"
    )

# %% [markdown]
# *Above: 69 models against size. Below: the same models against cross-entropy. Filled marks were fitted, hollow ones were not: Mambas, fewer tokens, ablations. Rings: the two models of the guess.*
#
# **The answer: 59.3%.** On prose, all 69 models lie on one line in cross-entropy to 1.5%, whatever their family, size or recipe. A line in size misses them by 21%. On the other texts, and at $k = 1$ and 100, a line in cross-entropy misses by 1 to 4%, and a line in size by 14 to 28%.
#
# ## Is it an artefact?
#
# CE and $\mathrm{RBP}_k$ are counted on the same tokens. If these tokens happen to suit a model, both its CE and its $\mathrm{RBP}_{10}$ look better, and the line looks straighter than it is. So take CE from one half of the source files and $\mathrm{RBP}_{10}$ from the other half, 200 times. This is done for the 25 ordinary models, with a line through them alone.

# %% tags=["hide-input"]
# Per document: tokens, summed -log p, and how many true tokens were among the first ten
control = None
halved = [s for s in summaries if s.manifest.corpus == (corpora or [""])[0]]
halved = [s for s in halved if np.array_equal(s.document, halved[0].document)]
if len(halved) >= 3 and len(halved[0].document) >= 20:
    tokens = np.array([s.document_tokens for s in halved], dtype=float)
    nll = np.array([s.document_nll for s in halved])
    hits = np.array([s.document_hits[:, list(s.k_grid).index(10)] for s in halved], dtype=float)
    files = getattr(halved[0], "document_units", None)
    files = np.arange(tokens.shape[1]) if files is None else files


# %%
def off_line(CE, RBP):
    """Distance of the models from their own line, log against log."""
    loss = -np.log(RBP)
    line = fit_power_law(CE, loss)
    return root_mean_square(np.log(loss / line.predict(CE).loss))


# %%
random = np.random.default_rng(0)
same, other = [], []
for _ in range(200 if len(halved) >= 3 and len(halved[0].document) >= 20 else 0):
    in_first = random.permutation(files.max() + 1)[files] % 2 == 0  # whole source files
    second = ~in_first
    RBP = hits[:, second].sum(axis=1) / tokens[:, second].sum(axis=1)
    for half, found in ((second, same), (in_first, other)):
        CE = nll[:, half].sum(axis=1) / tokens[:, half].sum(axis=1)
        found.append(off_line(CE, RBP))
if same:
    control = np.mean(other) / np.mean(same) - 1
    print(f"same half {np.mean(same):.4f}, other half {np.mean(other):.4f}: {control:.0%} farther")

# %% [markdown]
# With CE from other source files, the models are only a little farther from the line. So the line is not an artefact of shared tokens.
#
# **Exercise 1.** On one text, $-\log \mathrm{RBP}_{10} = 0.38$ at CE = 3.2, and 0.50 at CE = 3.8. A model of unknown size has CE = 3.4. Which $\mathrm{RBP}_{10}$ do you expect, to two decimals?
#
# <details><summary>Hint</summary>Draw the line through the two points in logarithms. Where between log 3.2 and log 3.8 does log 3.4 lie? Then turn the loss back into an RBP.</details>

# %%
answer_1 = None  # an RBP_10, between 0 and 1
print(check(1, answer_1, sealed("1778e316", digits=2)))

# %% [markdown]
# ## The paper's models
#
# > **The paper.** "when k = 1, the decay exponents of cross-entropy (absolute-based) and $- \log p_1$ (relative-based) are nearly identical" (Section 5.2).
#
# "Nearly identical" would mean that $\varepsilon_1$, the ratio of the two exponents, is 1. We ask whether it is the same for all families. The paper's models use different tokenizers, so their cross-entropies per token cannot share one line. But suppose that on a text the rank loss is a power of CE, with one exponent $\varepsilon_k$ for all. CE is a power of size. So the rank loss is a power of size too, and its exponent is a product:
#
# $$-\log \mathrm{RBP}_k \propto \mathrm{CE}^{\,\varepsilon_k}, \quad \mathrm{CE} \propto S^{-\alpha_{\mathrm{CE}}} \qquad\Longrightarrow\qquad \varepsilon_k = \alpha_k / \alpha_{\mathrm{CE}}\ \text{is the same for all families.}$$
#
# Table 1 of the paper has $\alpha_k$ and $\alpha_{\mathrm{CE}}$ for four families on six texts. By how many percent do the families differ in $\alpha_k$, and by how many in $\varepsilon_k$?

# %%
table = paper.table1().pivot(index=["dataset", "family"], columns="k", values="slope")
table = -table  # the paper prints slopes; exponents are positive
wanted = [str(k) for k in KS]
alpha_k = table[wanted]
epsilon_k = alpha_k.div(table["CE"], axis=0)
# Families differ by factors, so their spread is a standard deviation of logarithms.
before = np.log(alpha_k).groupby("dataset").std()
after = np.log(epsilon_k).groupby("dataset").std()
spread = pd.concat({"alpha_k": before, "epsilon_k": after}, axis=1)
(100 * spread).round(1)

# %% [markdown]
# *Standard deviation of the four families' exponents, in percent: before and after the division.*
#
# **On four of six texts the families then agree to 3 to 9% at $k = 1$, 1 to 3% at $k = 10$ and 2 to 5% at $k = 100$.** In $\alpha_k$ they differ by 11 to 21%. It fails on both texts of code. On Github, GPT-2's cross-entropy follows no power law (Table 1 prints an $R^2$ of 0.091), so its exponent means little. For HumanEval we know no reason.
#
# **Exercise 2.** On a text, one family has $\alpha_{\mathrm{CE}} = 0.08$ and $\alpha_{100} = 0.18$. Another has $\alpha_{\mathrm{CE}} = 0.10$. Which $\alpha_{100}$ do you expect of it, to three decimals?
#
# <details><summary>Hint</summary>The ratio of the first family belongs to the text.</details>

# %%
answer_2 = None  # an exponent
print(check(2, answer_2, sealed("81e7e8f8", digits=3)))

# %% [markdown]
# **Exercise 3, to discuss** (no check; see [the solutions](../docs/solutions/17_one_axis.md)). The line says that two models with the same CE have the same $\mathrm{RBP}_{10}$. Does it say that cross-entropy *causes* the ranks?
#
# ## What we found
#
# **On a given text, rank losses and cross-entropy move along one axis of quality, to 1 to 4%. CE is one good reading of it, and $\mathrm{RBP}_{10}$ is another.** Size, family, tokens and recipe decide how far along the axis a model is. Depth and smoothed targets also move it off the axis, by 2 to 6% (notebook 20). It is an observation about four families and small models, and no proof of a cause. [Notebook 20](20_beyond_cross_entropy.ipynb) asks what cross-entropy does *not* tell.
#
# ## Further questions

# %% [markdown]
# <details><summary>Is CE special? No.</summary>
#
# Take $\mathrm{RBP}_5$ or $\mathrm{RBP}_{10}$ as the axis instead of CE. The table below (folded) has the distance of the 25 models from a line in each. For $k = 1$, $\mathrm{RBP}_{10}$ does about as well as CE, and a nearer $k$ does better. For $k = 100$ the same is true of $\mathrm{RBP}_{50}$.</details>

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
# <details><summary>How much of all differences between models lies along the axis?</summary>
#
# The first principal component of $\log(-\log \mathrm{RBP}_k)$, at eleven $k$ from 1 to 1,000, has 99% or more of the variance between the 25 models, on each text.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: the share of the first principal component, by text
ELEVEN = (1, 2, 5, 10, 20, 50, 100, 200, 336, 500, 1000)
for corpus in corpora:
    models = [s for s in summaries if s.manifest.corpus == corpus]
    if len(models) >= 4:
        ks = [k for k in ELEVEN if all(k < s.manifest.V and s.rbp(k) < 1 for s in models)]
        losses = np.log([[-np.log(s.rbp(k)) for k in ks] for s in models])
        variances = np.linalg.svd(losses - losses.mean(axis=0), compute_uv=False) ** 2
        print(f"{corpus}: {variances[0] / variances.sum():.1%} of the variance, {len(ks)} k")

# %% [markdown]
# <details><summary>Is the comparison with size fair, if each family has a line of its own?</summary>
#
# A line in $S$ for each family misses its models by 1 to 3%. A line in CE for each family misses by 0.5 to 1.3%. So even within one family CE is the closer measure, by a factor of about two.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: lines for each family
rows = []
ordinary_points = enough[enough["kind"] == "ordinary"] if len(enough) else enough
for (corpus, k, _), part in ordinary_points.groupby(["corpus", "k", "family"], sort=False):
    if part["S"].nunique() >= 3:
        rows.append((corpus, k, *(root_mean_square(distances(part, x)) for x in ("S", "CE"))))
if rows:
    families_own = pd.DataFrame(rows, columns=["text", "k", "in S", "in CE"])
    display(families_own.groupby(["text", "k"], sort=False).mean().round(4))

# %% [markdown]
# <details><summary>Could two losses that both fall with size lie on one line by chance?</summary>
#
# Give CE and the rank loss independent random scatter about their own lines in $S$, as large as the scatter that is there. Then they would be two to five times as far from a line in CE as they are. When a model is worse than its size promises, it is worse in both, and by matching amounts.</details>

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
# <details><summary>Can the axis predict the largest Pythia, or another architecture?</summary>
#
# The paper's Pythia-12B, on Wiki: a line through the nine smaller Pythias misses its rank loss by 5, 8 and 9% from its size ($k$ = 1, 10, 100), and by 0, 0.5 and 2.5% from its CE, which has to be known. Mamba: its exponents follow from its CE exponent and the other families' $\varepsilon_k$ to 3 to 7%. Simply taking the other families' exponents misses by 23 to 28%.</details>

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
# Folded: Mamba's exponents, from the other families' exponents and from their ratios
if not own:
    rows = []
    chosen = points[points["kind"].isin(["ordinary", "Mamba"])]
    for (corpus, family, k), part in chosen.groupby(["corpus", "family", "k"]):
        alpha = fit_power_law(part["S"], part["loss"]).alpha
        alpha_CE = fit_power_law(part["S"], part["CE"]).alpha
        rows.append((corpus, family, k, np.log(alpha), np.log(alpha / alpha_CE)))
    exponents = pd.DataFrame(rows, columns=["corpus", "family", "k", "alpha_k", "epsilon_k"])
    wide = exponents.pivot(index=["corpus", "k"], columns="family")
    for name in ("alpha_k", "epsilon_k"):
        error = wide[name]["Mamba"] - wide[name].drop(columns="Mamba").mean(axis=1)
        print(
            f"Mamba from the others' {name}:",
            (error**2).groupby("k").mean().pow(0.5).round(3).to_dict(),
        )

# %% [markdown]
# <details><summary>Is the agreement in Table 1 luck?</summary>
#
# Give each family the CE exponent of another one, in all 24 ways. With the true exponents the families are 4.7% apart (median of all texts and $k$). The best of the 23 others gives 10.2%.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: all 24 ways
log_k = np.log(alpha_k.stack().unstack("family"))
log_CE = np.log(table["CE"].unstack("family")).reindex(log_k.index.get_level_values("dataset"))
spreads = []
for order in itertools.permutations(range(4)):
    exchanged = log_CE.to_numpy()[:, order]
    spreads.append(np.median((log_k.to_numpy() - exchanged).std(axis=1, ddof=1)))
print(f"true: {spreads[0]:.3f}; best of the {len(spreads) - 1} others: {min(spreads[1:]):.3f}")

# %% [markdown]
# <details><summary>What became of the test that was fixed beforehand?</summary>
#
# [The first margin](../docs/margins.md) asked whether ablations keep $\varepsilon_k$: an error of at most 8%, and at most a third of the error of the exponents themselves. With 12 models it failed: the error was 24%. With seven more, as planned, it was 14%: undecided. (Without the family that was completed last it would be 16%, a failure.) **This margin had no power.** Even if the line were exact, the test would be passed with a probability of 4 to 10%, and ordinary families of five sizes miss it. Notebook 20 has a sharper test.</details>

# %% tags=["hide-input", "hide-output"]
# Folded: the first margin's number, and what ordinary families would score
if not own:
    EXPONENTS = {}
    five_texts = points_of([("ordinary", summary) for summary in every] + others)
    width = five_texts["model"].str.extract(r"-w(\d+)", expand=False).astype(float)
    small = five_texts[(five_texts["kind"] == "ordinary") & (width <= 96)]
    groups = {family: part for family, part in small.groupby("family")}
    for name, runs in ABLATION_FAMILIES.items():
        names = [run.name for run in runs]
        part = five_texts[five_texts["model"].isin(names) & (five_texts["kind"] == "ablation")]
        if part["S"].nunique() >= 3:
            groups[name] = part
    for name, part in groups.items():
        ratio = {}
        for cell, models in part.groupby(["corpus", "k"]):
            slopes = [fit_power_law(models["S"], models[y]).alpha for y in ("loss", "CE")]
            ratio[cell] = np.log(slopes[0] / slopes[1])
        EXPONENTS[name] = pd.Series(ratio)
    reference = (EXPONENTS["GPT2"] + EXPONENTS["OPT"]) / 2
    errors = {
        name: np.sqrt(((ratio - reference) ** 2).mean())
        for name, ratio in EXPONENTS.items()
        if name not in ("GPT2", "OPT")
    }
    display(pd.Series(errors, name="error of epsilon_k").round(2).to_frame())
    five = np.array([errors[name] for name in ABLATION_FAMILIES if name in errors])
    print(f"the five families of ablations: {root_mean_square(five):.2f}")

# %% [markdown]
# **Related.** That a task's score is a function of loss is known ([Schaeffer et al.](https://arxiv.org/abs/2304.15004); *Understanding Emergent Abilities from the Loss Perspective*). A power of cross-entropy for each text, with an exponent that depends on $k$ and not on the family, we have not found elsewhere.
