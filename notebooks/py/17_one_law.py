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
# # Beyond the paper: one law of ranks for every $k$?
#
# **The question.** The paper fits a separate line at each $k$, and each line has its own exponent. Is there one distribution of ranks behind all of them? And are the models calibrated: of the tokens that a model predicts with 80%, are 80% right?
#
# > **The paper.** "our hypothesis is that the rank distribution follows a lognormal distribution" (Section 5.2)
#
# **The surprise.** We compare four laws of ranks, the lognormal among them. Ask which law gives $\mathrm{RBP}_k$ best, and they come in one order. Ask which law makes the ranks of the missed tokens most likely, and they come in the opposite order.
#
# **Guess first.** Pythia's exponent on Wiki is $\alpha = 0.20$ at $k = 100$. What is it at $k$ = 10,000: about 0.2, 0.3 or 1?
#
# **Another law.** All of this takes the size $S$ as the cause. Within one text, though, the models of all families are nearly on one line if the horizontal axis is their cross-entropy ([notebook 02](02_section_3_metric.ipynb), [picture](../figures/figure_2_from_ce.png)). If that holds at every $k$, the distribution of ranks changes with one number of the model, its CE.
#
# *[Glossary](../docs/glossary.md). $S$ counts non-embedding parameters, logarithms are natural.*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import expit, ndtr

from rbpkit import fit_power_law, load_summaries, paper, plots
from rbpkit.pocket.recipes import DATA, SUMMARIES
from rbpkit.stats.curves import in_order
from rbpkit.stats.rank_laws import fit_rank_law
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed

check_parameters(globals())
summaries = in_order(load_summaries(records_dir or SUMMARIES), corpus_names, families)
there = {(one.manifest.corpus, one.manifest.family) for one in summaries}
lacking = [f"{f} on {c}" for c in corpus_names for f in families if (c, f) not in there]
if lacking:
    print("not measured:", "; ".join(lacking))

# %% [markdown]
# ## A distribution instead of many lines
#
# If ranks have the distribution function $F$, every $\mathrm{RBP}_k$ follows from it. We take four laws for $\ln R$. Each has a location and a scale, so each takes two numbers for a model:
#
# $$\mathrm{RBP}_k = \frac{F(a + b \ln k)}{F(a + b \ln V)}.$$
#
# $R$ is a whole number and the laws are continuous, so a rank $r$ stands for an interval. Here it is the one from $r - 1$ to $r$, for all four laws alike.

# %%
LAWS = {
    "Weibull": lambda z: -np.expm1(-np.exp(z)),  # ln R is a Gumbel variable (minimum)
    "lognormal": ndtr,  # normal
    "log-logistic": expit,  # logistic
    "Fréchet": lambda z: np.exp(-np.exp(-z)),  # Gumbel (maximum)
}


def rbp_of(law, t, k, V, x=0.0, cut=0.0, beyond=0):
    """RBP_k by a law; with beyond = 1, of the tokens past rank 1 alone.

    t = (a, b), or (a, b, a', b') for a + a' x and b + b' x with x = ln S.
    """
    a, b, a_x, b_x = (*t, 0, 0)[:4]
    a, b, F = a + a_x * x, b + b_x * x, LAWS[law]
    upto_k, upto_V = (F(a + b * np.log(rank + cut)) for rank in (k, V))
    left_out = F(a + b * np.log(beyond + cut)) if beyond else 0.0
    return (upto_k - left_out) / (upto_V - left_out)


def fit_law(law, table, sizes=False, cut=0.0, beyond=0):
    """The numbers t of a law, by least squares of RBP_k; `sizes`: four, with the slopes in x."""
    k, V, x, rbp = table[["k", "V", "x", "rbp"]].to_numpy().T

    def off(t):
        by_law = rbp_of(law, t, k, V, x if sizes else 0.0, cut, beyond)
        return np.nan_to_num(by_law - rbp, nan=9.0)

    start = [0, 0.5, 0, 0] if sizes else [0, 0.5]
    with np.errstate(all="ignore"):  # trials far off
        return least_squares(off, start, xtol=1e-12, ftol=1e-12).x


# %% [markdown]
# The Fréchet law is not an arbitrary choice. Its $-\log \mathrm{RBP}_k = e^{-a}\,k^{-b}$ is the paper's own power law in $k$ (ICLR version, [notebook 10](10_appendix_B_law_in_k.ipynb)), up to the division by $F(V)$. So the paper has two laws of ranks, this one and the lognormal. Both cannot be exact.
#
# **Exercise 1.** A model has $\mathrm{RBP}_1 = 0.5$ and $\mathrm{RBP}_{10} = 0.8$. Which $\mathrm{RBP}_{100}$ does the Fréchet law give? Take $F(V) = 1$, and give two decimals. Which one does the log-logistic law give?
#
# <details><summary>Hint</summary>By the Fréchet law -log RBP falls by the same factor from each k to ten times k. By the log-logistic law, what does so is (1 - RBP) / RBP.</details>

# %%
answer_1 = None  # RBP_100 by the Frechet law
print(check(1, answer_1, sealed("faf3c000", digits=2, within=0)))

# %% [markdown]
# ## Two yardsticks
#
# The points are every $\mathrm{RBP}_k$ that the paper plots, and $\mathrm{RBP}_k$ of the pocket models on a grid of $k$.

# %% tags=["hide-input"]
model_of = ["source", "corpus", "family", "model"]
windows = paper.emergence().query("N == 1").assign(family="Pythia").rename(columns={"p": "rbp"})
published = pd.concat([paper.rbp_by_size(), paper.rbp_by_k(), windows])
published = published.rename(columns={"dataset": "corpus"}).assign(source="published")
published = published.drop_duplicates(["corpus", "family", "model", "k"])
published["V"] = published["family"].map(paper.vocabularies().groupby("family")["V"].max())
grids = [
    pd.DataFrame({"k": one.k_grid, "rbp": one.document_hits.sum(axis=0) / one.tokens}).assign(
        source="measured",
        corpus=one.manifest.corpus,
        family=one.manifest.family,
        model=one.manifest.model,
        S=one.manifest.S,
        V=one.manifest.V,
    )
    for one in summaries
]
points = pd.concat([published, *grids], ignore_index=True)[[*model_of, "S", "V", "k", "rbp"]]
points = points[points["k"] < points["V"]].astype({"k": float, "V": float})
points["x"] = np.log(points["S"])
points["x"] -= points.groupby(model_of[:3])["x"].transform("mean")

# %% [markdown]
# **First yardstick: $\mathrm{RBP}_k$.** Fit each law to each model at $k \le 100$, with two numbers. How far is it off at the $k$ where it is worst?

# %%
few = points[points["k"] <= 100]
RBP_1 = few[few["k"] == 1].set_index(model_of)["rbp"].rename("RBP_1")
past_1 = few[few["k"] > 1].join(RBP_1, on=model_of).dropna()
past_1["rbp"] = (past_1["rbp"] - past_1["RBP_1"]) / (1 - past_1["RBP_1"])
rows = []
for ranks, table, cut, beyond in (
    ("all ranks", few, 0, 0),
    ("all ranks, cut at r + 1/2", few, 0.5, 0),
    ("ranks >= 2", past_1, 0, 1),
):
    for about, model in table.groupby(model_of, sort=False):
        for law in LAWS if len(model) > 2 else []:
            t = fit_law(law, model, cut=cut, beyond=beyond)
            by_law = rbp_of(law, t, model["k"], model["V"], cut=cut, beyond=beyond)
            rows.append((*about, ranks, law, np.abs(by_law - model["rbp"]).max()))
errors = pd.DataFrame(rows, columns=[*model_of, "ranks", "law", "value"])
by_law = errors.groupby(["source", "law", "ranks"], sort=False)["value"].median()
by_law.unstack(["source", "ranks"]).round(3).T

# %% [markdown]
# *Median over models of the largest error.* With all ranks, the Fréchet law is closest and the Weibull is farthest. Two choices matter:
#
# - *The cut.* Let each interval end at $r + \tfrac12$, another common way to round. This costs as much as the step from one law to the next, so laws that are cut at different places must not be compared.
# - *Rank 1*, by far the most frequent rank. Leave it out, $(\mathrm{RBP}_k - \mathrm{RBP}_1)/(1 - \mathrm{RBP}_1)$, and the four laws are nearly equal.
#
# **Second yardstick: likelihood.** Now leave out rank 1, as Figure 8c does, and ask for the mean log probability of the ranks from 2 on. For the paper's models the figure gives these ranks in bins; for the pocket models every rank is known. We take the largest of each family.

# %%
ranks_of = {
    ("published", "Wiki", "Pythia", model): (bins["bin_lo"], bins["bin_hi"], bins["mass"])
    for model, bins in paper.rank_density().groupby("model", sort=False)
}
for one in summaries:  # by rising S: the largest of a family comes last
    m, at = one.manifest, one.ranks.values >= 2
    ranks = one.ranks.values[at], one.ranks.values[at] + 1, one.ranks.counts[at]
    largest = max(x.manifest.S for x in summaries if x.manifest.family == m.family)
    if m.S == largest and len(ranks[0]) > 2:
        ranks_of["measured", m.corpus, m.family, m.model] = ranks
V_of = points.drop_duplicates("model").set_index("model")["V"]
V_of.update(paper.models().set_index("model")["vocab_rows"].astype(float))

# %%
rows = []
for about, (lo, hi, counts) in ranks_of.items():
    for ranks, cut in (("ranks >= 2", 0), ("ranks >= 2, cut at r + 1/2", 0.5)):
        for law, F in LAWS.items():

            def log_mass(lo, hi, t, F=F, cut=cut):
                upper, lower = (F(t[0] + t[1] * np.log(r - 1 + cut)) for r in (hi, lo))
                return np.log(upper - lower)

            V = int(V_of[about[-1]])
            _, score = fit_rank_law(log_mass, [(-1, 0.3)], lo, hi, counts, V, k_min=2)
            rows.append((*about, ranks, law, score))
scores = pd.DataFrame(rows, columns=[*model_of, "ranks", "law", "score"])
scores["value"] = scores.groupby(model_of)["score"].transform("max") - scores["score"]
by_law = scores.groupby(["source", "law", "ranks"], sort=False)["value"].median()
by_law.unstack(["source", "ranks"]).round(4).T

# %% [markdown]
# *Median over models of the nats per token by which a law is behind the best.* Now the Weibull leads and the Fréchet law is last. The Weibull is ahead of the lognormal by a few thousandths of a nat. The other cut takes about as much from either of them. Besides, the fits are scored on the ranks that they were fitted to.

# %% tags=["hide-input"]
every = pd.concat([errors.assign(yardstick="RBP_k"), scores.assign(yardstick="likelihood")])
panels = {
    ("RBP_k", "all ranks"): "largest error in $\\mathrm{RBP}_k$, $k \\leq 100$",
    ("likelihood", "ranks >= 2"): "nats per token behind the best,\nranks from 2 on",
}
looks = {"published": ("black", -0.15), "measured": ("#0072B2", 0.15)}
with plots.style():
    figure, grid = plt.subplots(1, 2, figsize=(7, 3.1), sharey=True, layout="constrained")
    for axes, ((yardstick, ranks), title) in zip(grid, panels.items(), strict=True):
        part = every[(every["yardstick"] == yardstick) & (every["ranks"] == ranks)]
        for source, some in part.groupby("source", sort=False):
            colour, height = looks[source]
            at = some["law"].map(list(LAWS).index) + height
            axes.plot(some["value"], at, "o", color=colour, mew=0, ms=4, alpha=0.4, label=source)
            middle = some.groupby("law")["value"].median()[list(LAWS)]
            axes.plot(middle, np.arange(len(LAWS)) + height, "|", color=colour, ms=13, mew=2.5)
        axes.set_xlabel(title)
        axes.set_xlim(left=-0.03 * axes.get_xlim()[1])
        axes.grid(axis="y", visible=False)
        for line in np.arange(0.5, len(LAWS) - 1):
            axes.axhline(line, color="0.85", lw=0.8)
    grid[0].set_yticks(range(len(LAWS)), LAWS)
    grid[0].set_ylim(len(LAWS) - 0.5, -0.5)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
columns = ["yardstick", "ranks", *model_of, "law", "value"]
plots.save(figure, every[columns], figures_dir, "17_laws")

# %% [markdown]
# *Left: one point for each model. Right: one for each of the four Pythias of Figure 8c and for the largest pocket model of each family on each text. Bars are medians. From top to bottom the laws get better on the left and worse on the right.*
#
# On the published models the two orders are exactly opposite. On the pocket models the two laws in the middle are about equal on the left, and the ends swap as well. No law here is good at both ends of the distribution. **Three of the four give $\mathrm{RBP}_k$ to one to three hundredths, and none is singled out.** [Notebook 08](08_section_5_2_two_laws.ipynb) finds the same in Figure 8c. The paper claims no more: it calls the lognormal its hypothesis.
#
# **Exercise 2.** Add a fifth law, `"Student": lambda z: stdtr(5, z)`: $\ln R$ has a Student distribution with five degrees of freedom. Where do you expect it in the two orders? Import `stdtr` from `scipy.special`, and run the notebook again.
#
# <details><summary>Hint</summary>A logistic variable has heavier tails than a normal one, and Student's are heavier still.</details>
#
# ## Four numbers for all sizes
#
# Now let $a$ and $b$ be linear in $\ln S$. Then four numbers give every $\mathrm{RBP}_k(S)$ of a family on a text, where separate lines take two for each $k$. The largest model is left out of the fits and counts in the errors.

# %%
series = [*model_of[:3], "k"]
long = points[points.groupby(series)["S"].transform("nunique") >= 4]
rows = []
for about, part in long.groupby(model_of[:3], sort=False):
    smaller = part[part["S"] < part["S"].max()]
    for law in LAWS:
        t = fit_law(law, smaller, sizes=True)
        off = np.abs(rbp_of(law, t, part["k"], part["V"], part["x"]) - part["rbp"])
        rows.append((*about, law, 4, off.max()))
    off = []
    for _, at in part.groupby("k"):
        known = at[(at["S"] < at["S"].max()) & (at["rbp"] < 1)]
        if known["S"].nunique() >= 3 and known["rbp"].nunique() > 1:
            line = fit_power_law(known["S"], -np.log(known["rbp"]))
            off.append(np.abs(np.exp(-line.predict(at["S"]).loss) - at["rbp"]).max())
    rows.append((*about, "a line at each k", 2 * len(off), max(off)))
contest = pd.DataFrame(rows, columns=[*model_of[:3], "law", "numbers", "worst"])
by_law = contest.groupby(["source", "law"], sort=False)
by_law.agg({"numbers": "median", "worst": ["median", "max"]}).round(3)

# %% [markdown]
# *Largest error in $\mathrm{RBP}_k$ over all $k$ and sizes: median and maximum over families and texts. `numbers` is how many the law takes for one family on one text.*
#
# The lines do better, as they should with so many numbers. The Fréchet law comes closest to them, with the log-logistic next. But on this yardstick it was first anyway.
#
# ## The exponents that a law implies
#
# A law with $a$ and $b$ linear in $\ln S$ says how the exponent changes with $k$. By the Fréchet law $-\log \mathrm{RBP}_k = e^{-a}\,k^{-b}$, so
#
# $$\alpha(k) = a' + b' \ln k ,$$
#
# and the log-logistic law agrees when misses are rare. By the Weibull law $-\log \mathrm{RBP}_k \approx \exp(-e^{a} k^{b})$, and the exponent grows as a *power* of $k$. Figure 6b has the exponents of Pythia for $k$ up to the thousands. The laws are fitted to $\mathrm{RBP}_k$ and never see these slopes.

# %%
slopes = paper.fit_by_k().query("quantity == 'slope'").rename(columns={"dataset": "corpus"})
exponents = slopes.assign(printed=-slopes["value"])[["corpus", "k", "printed"]]
exponents = exponents.astype({"k": float}).reset_index(drop=True)
for corpus, at in exponents.groupby("corpus"):
    part = points[(points["corpus"] == corpus) & (points["family"] == "Pythia")]
    x, V = np.unique(part["x"]), part["V"].max()
    for law in LAWS:
        implied = rbp_of(law, fit_law(law, part, sizes=True), at["k"].to_numpy()[:, None], V, x)
        exponents.loc[at.index, law] = -np.polyfit(x, np.log(-np.log(implied)).T, 1)[0]
exponents[exponents["k"] == 10_000].drop(columns="k").set_index("corpus").round(2)

# %% tags=["hide-input"]
inks = ["#D55E00", "#0072B2", "#E69F00", "#009E73", "#CC79A7"]
with plots.style():
    figure, grid = plt.subplots(2, 2, figsize=(7, 5.6), layout="constrained")
    for axes, (corpus, at) in zip(grid.flat, exponents.groupby("corpus", sort=False), strict=True):
        axes.plot(at["k"], at["printed"], "o", color="black", ms=4, label="Figure 6b", zorder=3)
        for law, ink, line in zip(LAWS, inks, ("-", "--", "-.", ":", "-"), strict=False):
            axes.plot(at["k"], at[law], line, color=ink, label=law, lw=1.5)
        axes.set(xscale="log", ylim=(0, 1.6 * at["printed"].max()), title=corpus, xlabel="$k$")
    for axes in grid[:, 0]:
        axes.set_ylabel(r"exponent $\alpha(k)$")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plots.save(figure, exponents, figures_dir, "17_exponents")

# %% [markdown]
# *The exponent of Pythia at each $k$, as printed in Figure 6b and as each law implies it. The table above has the values at $k$ = 10,000.*
#
# Up to $k = 10$ the laws agree with one another and, nearly, with the paper. Beyond, they part. On Wiki the log-logistic and Fréchet laws are closest, on HotpotQA and AusLegal the lognormal, and on HumanEval no law follows the bends. The Weibull, the most likely law for the ranks from 2 on, fails on every text when it is fitted to $\mathrm{RBP}_k$. So an exponent has to be measured at the $k$ at which it is used.
#
# ## Are the models calibrated?
#
# A model is *calibrated* if the next tokens are distributed as it predicts. Let $p_{\max}$ be its largest probability at a position and $H$ the entropy of its prediction. Then a calibrated model has
#
# $$\mathrm{RBP}_1 = \mathrm{E}[p_{\max}], \qquad \mathrm{CE} = \mathrm{E}[H],$$
#
# and both sides of the paper's comparison are properties of one predicted distribution. The right-hand sides need no target at all: they are what a model *believes* of itself.

# %%
rows = []
for one in summaries:
    if one.document_p_max is not None:  # sums over the tokens of each document
        m, T = one.manifest, one.tokens
        p_max, H = one.document_p_max.sum() / T, one.document_entropy.sum() / T
        rows.append((m.corpus, m.family, m.model, m.S, one.rbp(1), p_max, one.ce(), H))
names = ["corpus", "family", "model", "S", "RBP_1", "E[p_max]", "CE", "E[H]"]
believed = pd.DataFrame(rows, columns=names)
gaps = pd.DataFrame(
    {
        "corpus": believed["corpus"],
        "RBP_1 - E[p_max]": believed["RBP_1"] - believed["E[p_max]"],
        "CE - E[H]": believed["CE"] - believed["E[H]"],
    }
)
gaps.groupby("corpus", sort=False).agg(["min", "max"]).astype(float).round(2)

# %% [markdown]
# The models are nearly calibrated: $\mathrm{RBP}_1$ is within about 0.03 of what they believe, and CE within about 0.3 nats. On prose and code every model is a little *under*confident, on HumanEval most are *over*confident. A mean can hide errors that cancel, so we sort the tokens into ten bins $b$ by $p_{\max}$ and compare in each bin. With $T_b$ tokens and $h_b$ of rank 1 in bin $b$, the expected calibration error is
#
# $$\mathrm{ECE} = \sum_b \frac{T_b}{T}\,\Big|\frac{h_b}{T_b} - \overline{p_{\max}}_b\Big|.$$

# %%
jobs = {(one.manifest.corpus, one.manifest.model) for one in summaries if not records_dir}
bins = pd.read_csv(DATA / "tables" / "calibration.csv")  # from every token of the pocket models
bins = bins[[job in jobs for job in zip(bins["corpus"], bins["model"], strict=True)]]
if bins.empty:
    print("summaries do not have p_max by bin, so this section needs the pocket models")
bins = bins.assign(share=bins["hits"] / bins["tokens"])
bins["error"] = bins["tokens"] * (bins["share"] - bins["p_max"]).abs()
sums = bins.groupby(["corpus", "model"])[["error", "tokens"]].sum()
ECE = sums["error"] / sums["tokens"]
ECE.groupby("corpus").agg(["min", "median", "max"]).astype(float).round(3)

# %% tags=["hide-input"]
shown = [corpus for corpus in corpus_names if corpus in set(bins["corpus"])]
if shown:
    with plots.style():
        figure, grid = plt.subplots(
            -(-(len(shown) + 1) // 2), 2, figsize=(7, 3 * -(-(len(shown) + 1) // 2)),
            layout="constrained", squeeze=False,
        )  # fmt: skip
        for axes, corpus in zip(grid.flat, shown, strict=False):
            axes.axline((0, 0), slope=1, color="black", lw=1)
            here = bins[(bins["corpus"] == corpus) & bins["low"].notna()]
            for family, part in here.groupby("family"):
                one, ink = part[part["S"] == part["S"].max()], plots.ink_of(family)
                reach = np.abs(one[["low", "high"]].to_numpy().T - one["share"].to_numpy())
                look = {
                    "color": ink.colour,
                    "marker": ink.marker,
                    "ms": 4,
                    "lw": 1,
                    "elinewidth": 0.8,
                }
                axes.errorbar(one["p_max"], one["share"], reach, label=family, **look)
            axes.set(title=plots.short(corpus), xlabel=r"$p_{\max}$", ylabel="share of rank 1")
            axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        for axes in grid.flat[len(shown) :]:
            axes.axis("off")
        grid.flat[len(shown)].legend(
            *grid.flat[0].get_legend_handles_labels(), loc="center", frameon=False
        )
    table = pd.concat([bins[bins["corpus"] == corpus] for corpus in shown])
    plots.save(figure, table.drop(columns=["share", "error"]), figures_dir, "17_reliability")

# %% [markdown]
# *Share of tokens of rank 1 in each bin of $p_{\max}$, for the largest model of each family. On the diagonal a model is calibrated. Bars: 95% (bootstrap of the text), for bins of at least 50 tokens.*
#
# On HumanEval the largest models are overconfident when they are confident. Such tokens are few there, so the ECE stays small.
#
# **Exercise 3.** Of a model's tokens 60% have $p_{\max} = 0.3$, and 35% of these have rank 1. The others have $p_{\max} = 0.8$, and 70% of these have rank 1. What is the ECE, to two decimals? Why is it not $|\mathrm{RBP}_1 - \mathrm{E}[p_{\max}]|$?
#
# <details><summary>Hint</summary>The two bins err in opposite directions.</details>

# %%
answer_3 = None  # the ECE
print(check(3, answer_3, sealed("91539d74", digits=2)))

# %% [markdown]
# ### Does miscalibration make the two exponents differ?
#
# On the pocket models $\alpha_1$ is larger than $\alpha_{\mathrm{CE}}$ ([notebook 08](08_section_5_2_two_laws.ipynb)). If miscalibration caused this, the exponents of what the models believe, $\mathrm{E}[p_{\max}]$ and $\mathrm{E}[H]$, would be closer to each other.

# %%
rows = []
for (corpus, family), part in believed.groupby(["corpus", "family"], sort=False):
    if part["S"].nunique() >= 3:
        losses = -np.log(part["RBP_1"]), part["CE"], -np.log(part["E[p_max]"]), part["E[H]"]
        alpha = [fit_power_law(part["S"], loss).alpha for loss in losses]
        rows.append((corpus, family, *alpha, alpha[0] / alpha[1], alpha[2] / alpha[3]))
names = ["corpus", "family", "alpha_1", "alpha_CE", "alpha_1, believed", "alpha_CE, believed"]
names += ["measured ratio", "believed ratio"]
alphas = pd.DataFrame(rows, columns=names)
alphas.drop(columns="corpus").groupby("family", sort=False).mean().astype(float).round(3)

# %% [markdown]
# *Means over the texts; each ratio is $\alpha_1 / \alpha_{\mathrm{CE}}$.* They are farther apart, in each of the four families. $-\log$ of the largest probability and the entropy are two properties of one distribution, and they fall at different rates before any target is seen. So miscalibration does not explain the gap between the two exponents; here it makes the gap smaller. What a theory has to give is how the sorted predictions change with $S$.
#
# ## What we found
#
# - **No law of ranks is singled out.** Three of four laws with two numbers give $\mathrm{RBP}_k$ to one to three hundredths, and the order of all four depends on the yardstick. This is sure for these models and texts. Laws with more numbers are closer, which says little.
# - **The paper's power law in $k$ gives $\mathrm{RBP}_k$ more closely than its lognormal**, at $k \le 100$ and when cut at the same place. On the ranks from 2 on it is the worst of the four.
# - **An exponent cannot be carried to a $k$ in the thousands.** The laws agree up to 10 and disagree beyond, and none of them is right on all four texts. The printed exponents that we compared are Pythia's alone.
# - **The pocket models are nearly calibrated**, and miscalibration does not make their two exponents differ. Whether that is so for the paper's models is unknown, because nobody published their predictions.
#
# **Related.** [Guo et al.](https://arxiv.org/abs/1706.04599) measure and mend calibration of classifiers. [Liu et al.](https://arxiv.org/abs/2406.11345) look at calibration over the whole vocabulary. Laws of ranks are Zipf's and Mandelbrot's subject, there for words and here for predictions.
