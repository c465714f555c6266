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
# # Section 5.2: one curve for two laws
#
# Next to a curve in the paper's Figure 8c are two numbers: $\mu=-14.29$ and $\sigma=5.76$. The curve says how often each *rank* occurs when the model Pythia-12B reads Wikipedia. The rank $R$ of a token (a piece of text) is its place if the model sorts all tokens, the most probable first.
#
# The curve is a *lognormal*: the natural logarithm $\ln R$ follows the bell of a normal distribution with mean $\mu$ and standard deviation $\sigma$. Half of a bell is below its middle, so by this curve half of all ranks are below $e^{-14.29}=0.0000006$. But ranks are 1, 2, 3 and so on.
#
# **Guess first.** The curve was fitted to tokens of rank 2 and more (checked below). Which part of its area lies there: a half, a tenth, one in thirty, or one in two hundred?
#
# *[Glossary](../docs/glossary.md)*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Import what is needed
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, ndtr
from scipy.stats import linregress, norm

from rbpkit import fit_power_law, load_summaries, paper, plots
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit.stats.curves import in_order, table1_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.choices import asked_and_there
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.findings.rank_laws import closed_form, fit_lognormal, lognormals, published_laws
from rbpkit_pocket.paths import SUMMARIES

check_parameters(globals())
ours = "your models" if records_dir else "pocket models"

# %% [markdown]
# Ranks are whole numbers. So rank $k$ gets the area between $k-\tfrac12$ and $k+\tfrac12$, as in the authors' program.


# %%
def at_least(k, mu, sigma):
    """The share of the curve's area above k - 1/2, which is that of the ranks k, k + 1, ..."""
    distance = (np.log(k - 0.5) - mu) / sigma  # from the middle, in standard deviations
    return norm.sf(distance)  # the bell's area to the right of it


printed = paper.lognormal_params().set_index("model")  # as written in Figure 8c
mu, sigma = printed.loc["pythia-12b", ["mu", "sigma"]]
at_any_rank = at_least(1, mu, sigma)
at_fitted_ranks = at_least(2, mu, sigma)

# %% tags=["hide-input"]
# Draw the bell and the part of it that lies at the fitted ranks
x = np.linspace(np.log(1e-13), np.log(1e5), 2000)
bell = norm.pdf(x, mu, sigma)
real = x > np.log(1.5)
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.4), layout="constrained")
    axes.fill_between(np.exp(x), bell, color=CONTEXT, linewidth=0)
    axes.fill_between(np.exp(x[real]), bell[real], color=INK, linewidth=0)
    axes.plot(np.exp(x), bell, color=INK, linewidth=1.2)
    axes.vlines(np.exp(mu), 0, bell.max(), color=OTHER, linewidth=1)
    axes.text(4e-7, 0.02, "half of\nthe curve", ha="right")
    axes.annotate(
        "ranks 2, 3, 4, …:\n0.5% of the curve",
        (4, 0.0015),
        (3, 0.032),
        arrowprops={"arrowstyle": "-", "color": INK},
    )
    axes.set(xscale="log", xlabel="rank", ylim=(0, None), xlim=(1e-13, 1e5))
    axes.set_title("Pythia-12B: only a sliver of the curve lies at ranks of 2 and more")
    axes.set_xticks([1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
sliver = pd.DataFrame({"part": ["below every rank", "rank 1", "ranks of 2 and more"]})
sliver["share"] = -np.diff([1, at_any_rank, at_fitted_ranks, 0])
plots.save(figure, sliver, figures_dir, "figure_8_sliver")

# %%
print(f"the middle of the curve: rank {np.exp(mu):.7f}")  # the logarithm undone
print(f"below every rank: {1 - at_any_rank:.1%}")
print(f"at rank 1: {at_any_rank - at_fitted_ranks:.1%}")
print(f"at ranks of 2 and more: {at_fitted_ranks:.1%}")

# %% [markdown]
# **Half of the curve lies below a rank of 0.0000006, and only 0.5% of it at the ranks to which it was fitted.**
#
# **Exercise 1.** For Pythia-14M the paper prints $\mu=1.19$ and $\sigma=3.69$. Which share of that curve lies at ranks of 2 and more?
#
# <details><summary>Hint</summary>Use <code>at_least</code>.</details>

# %%
answer_1 = None  # a share, two decimals
print(check(1, answer_1, sealed("74fd51f1", digits=2)))

# %% [markdown]
# ## What the curve is for
#
# > **The paper.** "when k = 1, the decay exponents of cross-entropy (absolute-based) and $-\log p_1$ (relative-based) are nearly identical". To explain this, "our hypothesis is that the rank distribution follows a lognormal distribution" (Section 5.2, Eq. 9).
#
# Cross-entropy (CE) is the mean of $-\log p$ in nats (natural logarithms), where $p$ is the probability that a model gives the true token. It is *absolute-based*: it uses $p$ itself. $\mathrm{RBP}_k$, the share of tokens of rank $k$ or less, is *relative-based*: it uses only the order of the tokens. The paper's $p_1$ is $\mathrm{RBP}_1$.
#
# Let $S$ be the number of parameters without embeddings. CE and $-\log\mathrm{RBP}_1$ are two losses. Both fall as $S^{-\alpha}$: on logarithmic axes, a line with slope $-\alpha$. Here they are for ten Pythias on Wikipedia (Wiki):

# %%
laws = published_laws()  # the points of Figures 8a and 8b, a row for each model
size = laws["S"]
rank_loss = laws["neg_log_rbp1"]  # -log RBP_1
law_of_CE = fit_power_law(size, laws["CE"])
law_of_rank = fit_power_law(size, rank_loss)
print(f"alpha of CE: {law_of_CE.alpha:.4f}")
print(f"alpha of -log RBP_1: {law_of_rank.alpha:.4f}")

# The ratio of two powers of S is a power, too. Its exponent is the difference of theirs.
law_of_ratio = fit_power_law(size, laws["CE"] / rank_loss)
low, high = law_of_ratio.alpha_interval  # of 95%
print(f"difference of the two: {law_of_ratio.alpha:.4f}, between {low:.4f} and {high:.4f}")

# %% tags=["hide-input"]
# Draw Figure 8a
green = plots.ink_of("Pythia")
LABELS = {"CE": "CE", "neg_log_rbp1": r"$-\log\,\mathrm{RBP}_1$"}
DASHES = {"CE": "--", "neg_log_rbp1": "-"}


def draw_law(axes, values, dashes, colour, marker):
    """Draw one loss against S with its line; return the exponent and the line's right end."""
    law = fit_power_law(laws["S"], values)
    line = law.predict(laws["S"])
    axes.plot(line.S, line.loss, dashes, color=colour, linewidth=1.4)
    axes.plot(laws["S"], values, marker, color=colour, markersize=5)
    return law.alpha, line.loss[-1]


def draw_measured(axes):
    """Draw the two measured laws; return their labels."""
    ends = []
    for name, label in LABELS.items():
        alpha, end = draw_law(axes, laws[name], DASHES[name], green.colour, green.marker)
        ends.append((laws["S"].iloc[-1], end, rf"{label}: $\alpha$ = {alpha:.3f}", green.colour))
    axes.set(xscale="log", yscale="log", ylim=(0.45, 6.5), ylabel="nats")
    axes.set(xlabel="$S$ (non-embedding parameters)")
    plots.log_ticks(axes)
    return ends


with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.3), layout="constrained")
    axes.set_title("Two laws, nearly parallel (Pythia on Wiki)")
    plots.label_ends(axes, draw_measured(axes))
measured_points = laws[["model", "S", "CE", "neg_log_rbp1"]]
plots.save(figure, measured_points, figures_dir, "figure_8a")

# %% [markdown]
# The exponents are close but not equal: the 95% interval of their difference, 0.006 to 0.008, leaves out zero.
#
# Why are they so close? The paper assumes that one curve gives the share $p_k$ of tokens of each rank $k$. Then $\mu$ and $\sigma$ decide $-\log p_1$. They also decide the entropy of the rank, $-\sum_k p_k\log p_k$, which the paper puts in place of CE. (CE and this entropy are equal if in every context the model gives its $k$-th most probable token the probability $p_k$.)
#
# **Exercise 2.** If $S$ grows a thousandfold, by which factor does $\mathrm{CE}/(-\log\mathrm{RBP}_1)$ change?
#
# <details><summary>Hint</summary>It is a power of S, too.</details>

# %%
answer_2 = None  # a factor, two decimals
print(check(2, answer_2, sealed("22fa3ce4", digits=2)))

# %% [markdown]
# ## From ranks to a curve
#
# Count how often each rank occurs. In the upper panel below, this share is the area of a bar. The lower panel adds the shares up from the left:

# %% tags=["hide-input"]
# Draw the idea: a histogram of ranks, and its running sum
GROUPS = ["pythia-14m", "pythia-160m", "pythia-1.4b", "pythia-12b"]


def with_rank_1(model):
    """Figure 8c's bins and shares with rank 1 in front, as shares of all tokens."""
    bins = paper.rank_density().query("model == @model")[["bin_lo", "bin_hi", "mass"]]
    right = np.exp(-laws.set_index("model").loc[model, "neg_log_rbp1"])  # RBP_1
    first = pd.DataFrame({"bin_lo": [1], "bin_hi": [2], "share": [right]})
    return pd.concat([first, bins.assign(share=bins.pop("mass") * (1 - right))], ignore_index=True)


def log_width(bins):
    """How wide each bar is on the logarithmic axis of ranks."""
    return np.log((bins["bin_hi"] - 0.5) / (bins["bin_lo"] - 0.5))


def draw_bars(axes, bins):
    """Bars whose area is a share of all tokens; rank k is drawn from k - 1/2 to k + 1/2."""
    axes.bar(
        bins["bin_lo"] - 0.5,
        bins["share"] / log_width(bins),
        bins["bin_hi"] - bins["bin_lo"],
        align="edge",
        color=[GREYS[0] if first == 1 else CONTEXT for first in bins["bin_lo"]],
        edgecolor="white",
        linewidth=0.4,
    )
    axes.set(xscale="log", xlim=(0.45, 6e4))
    axes.set_xticks([1, 10, 100, 1000, 10000], ["1", "10", "100", "1,000", "10,000"])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


largest_bins = with_rank_1("pythia-12b")
RBP_12B = paper.rbp_by_k().query(
    "dataset == 'Wiki' and model == 'pythia-12b' and k in [1, 10, 100]"
)
RBP_12B = RBP_12B.set_index("k")["rbp"]
with plots.style():
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(plots.WIDTH, 4.6), sharex=True, layout="constrained"
    )
    draw_bars(top, largest_bins)
    top.set_title("How often each rank occurs (Pythia-12B on Wiki)")
    top.text(1.65, 0.45, "rank 1: 58% of the tokens")
    top.text(5, 0.13, "ranks 2, 3, 4, …")
    summed = largest_bins["share"].cumsum()
    bottom.step(largest_bins["bin_hi"] - 1, summed, where="post", color=INK)
    for k, share in RBP_12B.items():
        bottom.plot(k, share, "o", color=INK)
        bottom.annotate(
            rf"$\mathrm{{RBP}}_{{{k}}}$ = {share:.2f}",
            (k, share),
            (8, -16),
            textcoords="offset points",
        )
    bottom.set(
        ylim=(0, 1.05), xlabel="rank", title="Add up from the left: the share of rank $k$ or less"
    )
    bottom.set_yticks([0, 0.5, 1])
    bottom.spines["left"].set_visible(True)
plots.save(figure, largest_bins.assign(summed=summed), figures_dir, "figure_8_idea")

# %% [markdown]
# Figure 8c begins at rank 2. A bar has ranks `bin_lo` to `bin_hi` - 1, and `mass` is its share:

# %%
paper.rank_density().head(3)

# %% [markdown]
# Is rank 1 left out, or only not drawn? If it is left out, the bar of rank 2 is a share of the other tokens only. Figure 9 of the paper's ICLR version has $\mathrm{RBP}_1$ and $\mathrm{RBP}_2$ for three models:

# %%
RBP = paper.rbp_by_k().query("dataset == 'Wiki' and k in [1, 2]")
RBP = RBP.pivot(index="model", columns="k", values="rbp")
rank_2 = RBP[2] - RBP[1]
other_than_1 = 1 - RBP[1]
expected = rank_2 / other_than_1

bars = paper.rank_density().query("bin_lo == 2").set_index("model")
table = pd.DataFrame({"bar of rank 2": bars["mass"], "if rank 1 is left out": expected})
table.dropna().round(4)  # without the models that only one of the two figures has

# %% [markdown]
# They agree, so rank 1 is left out of the figure. Is it left out of the fit, too? Suppose that it is. Then the share of a bar, by the curve, is the curve's area over the ranks of the bar, divided by the curve's whole area from rank 2 on. The best curve has the highest `score`:


# %%
def score(bins, mu, sigma):
    """The mean log probability of a token in these bars, by the curve from rank 2 on."""
    from_first = at_least(bins["bin_lo"], mu, sigma)
    beyond_last = at_least(bins["bin_hi"], mu, sigma)
    probability = (from_first - beyond_last) / at_least(2, mu, sigma)
    return (bins["mass"] * np.log(probability)).sum()


largest = paper.rank_density().query("model == 'pythia-12b'")
print(f"12B, as printed: {score(largest, -14.29, 5.76):.4f}")
print(f"12B, with a sigma of 5.5: {score(largest, -14.29, 5.5):.4f}")

# %% [markdown]
# `fit_lognormal` searches for that curve:

# %%
refits = {}
for model, bins in paper.rank_density().groupby("model"):
    fit = fit_lognormal(bins["bin_lo"], bins["mass"], upto=bins["bin_hi"], k_min=2)
    refits[model] = {"mu, refitted": fit.mu, "sigma, refitted": fit.sigma}
refits = pd.DataFrame(refits).T  # a row for each model
printed[["mu", "sigma"]].join(refits).round(2)

# %% [markdown]
# They differ from the printed ones by at most 0.03. **So rank 1 is neither in the figure nor in the fit.** The curve was fitted only to tokens at which the model's first guess is wrong. It is then used to say how often the first guess is right. Continue it to rank 1:

# %%
neg_log_RBP_1 = laws.set_index("model")["neg_log_rbp1"]
RBP_1 = np.exp(-neg_log_RBP_1[printed.index])  # of these four models
have_rank_1 = 100 * RBP_1  # of 100 tokens
others = 100 - have_rank_1  # to these the curve was fitted

mu, sigma = printed["mu"], printed["sigma"]  # of all four models
area_of_others = at_least(2, mu, sigma)
area_of_rank_1 = at_least(1, mu, sigma) - area_of_others
by_curve = others * area_of_rank_1 / area_of_others  # the curve is scaled to the others

of_100 = {"have rank 1": have_rank_1, "others": others, "rank 1 by the curve": by_curve}
pd.DataFrame(of_100).round(0).astype(int)


# %% tags=["hide-input"]
# Draw Figure 8c: the smallest and the largest model
def curve_shares(bins, mu, sigma):
    """The curve's share in each bin, in tokens of all tokens; the curve is scaled to rank 2 on."""
    inside = at_least(bins["bin_lo"], mu, sigma) - at_least(bins["bin_hi"], mu, sigma)
    return inside / at_least(2, mu, sigma) * bins["share"][bins["bin_lo"] > 1].sum()


def draw_curve(axes, bins):
    """The curve over the bars, and its height at rank 1."""
    height = bins["fitted"] / log_width(bins)
    middle = np.sqrt((bins["bin_lo"] - 0.5) * (bins["bin_hi"] - 0.5))
    others = bins["bin_lo"] > 1
    axes.plot(middle[others], height[others], color=INK, linewidth=1.8)
    axes.hlines(height[~others], 0.5, 1.5, color=INK, linewidth=3)


published_bins = {}
for model in GROUPS:
    bins = with_rank_1(model)
    fitted = curve_shares(bins, printed.loc[model, "mu"], printed.loc[model, "sigma"])
    published_bins[model] = bins.assign(fitted=fitted)

with plots.style():
    figure, panels = plt.subplots(
        2, 1, figsize=(plots.WIDTH, 4.8), sharex=True, sharey=True, layout="constrained"
    )
    for axes, model, name in zip(panels, (GROUPS[0], GROUPS[-1]), ("14M", "12B"), strict=True):
        bins = published_bins[model]
        draw_bars(axes, bins)
        draw_curve(axes, bins)
        first = bins.iloc[0]
        axes.text(1.65, 0.41, f"Pythia-{name}: rank 1 has {first['share']:.0%} of the tokens")
        axes.text(1.65, 0.34, f"the curve leaves room for {first['fitted']:.0%} (thick line)")
        off = bins["fitted"] / bins["share"]
        middle_ranks = off[(bins["bin_lo"] >= 4) & (bins["bin_hi"] <= 61)]
        print(f"{name}: the curve is {off[0]:.2f} times the bar at rank 1,", end=" ")
        print(f"{off[1]:.2f} times at rank 2, up to {middle_ranks.max():.2f} times", end=" ")
        print(f"at ranks 4 to 60, and {off.iloc[-1]:.0f} times in the last bin")
    panels[0].set_title("The curve has too little room for rank 1")
    panels[1].set_xlabel("rank")
drawn = pd.concat([published_bins[model].assign(panel=model) for model in GROUPS])
columns = ["panel", "bin_lo", "bin_hi", "share", "fitted"]
plots.save(figure, drawn[columns], figures_dir, "figure_8c")

# %% [markdown]
# *Line: the printed lognormal, scaled so that its area from rank 2 on is that of the bars.*
#
# **Of 100 tokens that Pythia-12B reads, 58 have rank 1. The curve through the other 42, continued to rank 1, leaves room for 30.** From rank 2 on it follows the bars roughly, but in the last bin it is 8 times too high.
#
# **Exercise 3 (to discuss).** Keep rank 1 in the fit: `lognormals(load_summaries(SUMMARIES), k_min=1)[0]` has a row for each of our small *pocket models* and texts. Compare `fitted_neg_log_p1` with `neg_log_rbp1`, and `fitted_entropy` with `entropy`. What is gained at rank 1, and what is lost? ([Our answer](../docs/solutions/08_section_5_2_two_laws.md).)
#
# <details><summary>Hint</summary>Do the same with k_min=2.</details>
#
# ## From the curve back to the laws
#
# Does a curve that is wrong at rank 1 give both laws? From $\mu$ and $\sigma$, the paper's Appendix C computes $-\log p_1$ and the entropy of the ranks, the *simulated* losses of Figure 8b.

# %%
exponents = {}
for name in ("CE", "neg_log_rbp1", "simulated_CE", "simulated_neg_log_rbp1"):
    exponents[name] = fit_power_law(size, laws[name]).alpha
print(pd.Series(exponents).round(3).to_string())

too_high = laws["simulated_CE"] - laws["CE"]
too_large = laws["simulated_neg_log_rbp1"] / rank_loss
print(f"CE, simulated minus measured: {too_high.min():.2f} to {too_high.max():.2f} nats")
print(f"-log p_1, simulated divided by measured: {too_large.min():.2f} to {too_large.max():.2f}")

# %% tags=["hide-input"]
# Check: the formulas with the printed parameters give Figure 8b; draw it
four = laws.set_index("model").loc[printed.index]
by_formula = closed_form(printed["mu"], printed["sigma"])
assert np.abs(by_formula.CE - four["simulated_CE"]).max() < 0.0035
assert np.abs(by_formula.neg_log_p1 - four["simulated_neg_log_rbp1"]).max() < 0.0015

with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
    ends = draw_measured(axes)
    for name, label in (("CE", "CE"), ("neg_log_rbp1", r"$-\log\,p_1$")):
        alpha, end = draw_law(axes, laws[f"simulated_{name}"], DASHES[name], INK, ".")
        ends.append((laws["S"].iloc[-1], end, rf"{label}, simulated: $\alpha$ = {alpha:.3f}", INK))
    axes.set_title("By the curve both losses are too high")
    plots.label_ends(axes, ends)

summaries = load_summaries(records_dir or SUMMARIES, checkpoint="last", say=print)

there = [one.manifest for one in summaries]
corpora = asked_and_there(
    corpus_names, sorted({one.corpus for one in there}), "corpus", bool(records_dir)
)
shown_families = asked_and_there(
    families, sorted({one.family for one in there}), "family", bool(records_dir)
)
summaries = in_order(summaries, corpora, shown_families)
fits, refused = lognormals(summaries)  # ranks of 2 and more, as the authors
for reason in refused:
    print(f"No lognormal for {reason}.")
if fits.empty:
    fits = laws.iloc[:0].assign(corpus="", family="")
columns = ["source", "corpus", "family", *laws.columns]
of_paper = laws.assign(source="published", corpus="Wiki", family="Pythia")
parameters = pd.concat([of_paper, fits.assign(source="measured")]) if len(fits) else of_paper
parameters = parameters[columns].astype({"S": "Int64"})
plots.save(figure, parameters, figures_dir, "figure_8b")

# %% [markdown]
# The simulated losses are power laws too ("similar scaling patterns"). But $-\log p_1$ is too high by a factor of 1.7, and CE by 1.2 nats. (Appendix C scales the curve's shares so that they add up to 1. Then rank 1 gets 41 of 100.) A constant factor does not change an exponent: $-\log p_1$ has 0.080 in place of 0.079. An added constant makes it smaller: CE has 0.061 in place of 0.087. So by the curve CE falls more slowly than $-\log p_1$. As measured, it falls faster.
#
# The lognormal roughly describes the ranks of wrong guesses. It is worst in the far tail. It does not explain why CE and $\mathrm{RBP}_1$ fall almost alike.
#
# ## Further questions
#
# <details><summary>Are the exponents near each other on other texts?</summary>
#
# Of Table 1's 24 pairs, 13 are within 10%. $-\log\mathrm{RBP}_1$ is steeper in all 4 pairs of HotpotQA and all 12 of pocket models, CE in 17 of the paper's other 20.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Compare the two exponents in Table 1, and in what was measured
rows = []
for one in summaries:
    about = one.manifest
    rows.append((about.corpus, about.family, about.model, about.S, one.ce(), one.rbp(1)))
points = pd.DataFrame(rows, columns=["corpus", "family", "model", "S", "CE", "RBP_1"])
points = points[points["RBP_1"].between(0, 1, inclusive="neither")]
points["neg_log_rbp1"] = -np.log(points["RBP_1"])
points = pd.concat(
    [of_paper[["source", "corpus", "family", *measured_points]], points.assign(source="measured")]
)
points = points.astype({"S": int, "CE": float, "neg_log_rbp1": float})

rows, too_few = [], []
for pair, models in points.groupby(["source", "corpus", "family"], sort=False):
    if models["S"].nunique() < 3:
        too_few.append(f"{pair[2]} on {pair[1]}")
        continue
    of_CE = fit_power_law(models["S"], models["CE"]).alpha
    of_RBP = fit_power_law(models["S"], models["neg_log_rbp1"]).alpha
    apart = fit_power_law(models["S"], models["neg_log_rbp1"] / models["CE"])
    rows.append((*pair, of_CE, of_RBP, of_RBP / of_CE, apart.alpha, *apart.alpha_interval))
if too_few:
    print(f"Fewer than three sizes, so no exponent: {'; '.join(too_few)}.")
names = ["source", "corpus", "family", "alpha_CE", "alpha_1", "ratio", "difference", "low", "high"]
pairs = pd.DataFrame(rows, columns=names)

table = paper.table1().query("k in ['CE', '1']").rename(columns={"dataset": "corpus"})
wide = table.pivot(index=["corpus", "family"], columns="k", values="slope")
table1 = pd.DataFrame({"alpha_CE": -wide["CE"], "alpha_1": -wide["1"]}).reset_index()
table1["ratio"] = table1["alpha_1"] / table1["alpha_CE"]
off_one = (table1["ratio"] - 1).abs()
within = {0.1: int((off_one <= 0.1).sum()), 0.2: int((off_one <= 0.2).sum())}
print(
    f"Table 1: {within[0.1]} of 24 pairs within 10%, {within[0.2]} within 20%. alpha_1 / alpha_CE:"
)
print(table1.pivot(index="corpus", columns="family", values="ratio").round(2).to_string())
published = table1_curves()  # of each cell the points, and the figure that shows them
of_CE, of_RBP = published["Wiki", "CE", "GPT2"][0], published["Wiki", "1", "GPT2"][0]
gpt2 = fit_power_law(of_CE.S, of_RBP.loss / of_CE.loss)
give_or_take = (gpt2.alpha_interval[1] - gpt2.alpha_interval[0]) / 2
print(f"GPT-2 on Wiki: alpha_1 - alpha_CE = {gpt2.alpha:.4f}, give or take {give_or_take:.4f}")
pairs.drop(columns=["alpha_CE", "alpha_1"]).round(3)

# %% tags=["hide-input", "hide-output"]
# Draw all pairs of exponents
of_models = pairs[pairs["source"] == "measured"]
in_panels = {"paper: Table 1": table1, ours: of_models}
in_panels = {title: part for title, part in in_panels.items() if len(part)}
with plots.style():
    figure, panels = plt.subplots(
        1, len(in_panels), figsize=(plots.WIDTH, 3.5), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axes, (title, part) in zip(panels[0], in_panels.items(), strict=True):
        axes.axline((0.05, 0.05), slope=1, color=CONTEXT, linewidth=1.5)
        for family, pair in part.groupby("family", sort=False):
            ink = plots.ink_of(family)
            axes.plot(pair["alpha_CE"], pair["alpha_1"], ink.marker, color=ink.colour)
        axes.set(title=title, xlabel=r"$\alpha$ of CE", xlim=(0.02, 0.14), ylim=(0.02, 0.16))
    panels[0][0].set_ylabel(r"$\alpha$ of $-\log\,\mathrm{RBP}_1$")
    panels[0][0].text(0.112, 0.103, "equal", color=OTHER)
    marks = plots.family_marks(dict.fromkeys([*table1["family"], *of_models["family"]]))
    figure.legend(handles=marks, loc="outside lower center", ncols=5)
long = points.rename(columns={"neg_log_rbp1": "RBP_1"})
long = long.melt(["source", "corpus", "family", "model", "S"], ["CE", "RBP_1"], "quantity", "loss")
long["value"] = np.where(long["quantity"] == "CE", long["loss"], np.exp(-long["loss"]))
both = pd.concat([table1.assign(source="published"), of_models])
both = both.melt(["source", "corpus", "family"], ["alpha_CE", "alpha_1"], "quantity")
saved = pd.concat([long, both]).astype({"S": "Int64"})
plots.save(figure, saved, figures_dir, "figure_8a_all")

# %% [markdown]
# <details><summary>Does CE decide RBP_1?</summary>
#
# Not in principle: if each true token gets $e^{-2}=0.135$ and every other token less, CE is 2, but $\mathrm{RBP}_1$ is 1. Within one text, nearly: a parabola in $\log\mathrm{CE}$ gives $-\log\mathrm{RBP}_1$ of the Pythias to 0.6%.
#
# </details>


# %% tags=["hide-input", "hide-output"]
# Measure how far -log RBP_1 is from a line and from a parabola in log CE and in log S
def misses(x, y):
    """The largest distance of y from a line, and from a parabola in x."""
    return [np.abs(y - np.polyval(np.polyfit(x, y, degree), x)).max() for degree in (1, 2)]


log_loss = np.log(laws["neg_log_rbp1"])
by_CE = misses(np.log(laws["CE"]), log_loss)
by_S = misses(np.log(laws["S"]), log_loss)
off = pd.DataFrame({"log CE": by_CE, "log S": by_S}, index=["line", "parabola"])
(100 * off).round(1).add_suffix(", % of the loss")

# %% [markdown]
# <details><summary>What predicts whether N tokens in a row have rank 1?</summary>
#
# A line through the smaller Pythias, in $\log\mathrm{CE}$ ([Schaeffer et al.](https://arxiv.org/abs/2304.15004)) or in $\log(-\log\mathrm{RBP}_1)$, predicts the largest one's share. Both miss almost equally. The paper's Eq. 6 gives $\mathrm{RBP}_1^N$, as if tokens were independent, and misses by far more.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Predict p_N1 of each family's largest model in three ways
Ns = (2, 5, 10)
windows = paper.emergence().query("k == 1").pivot(index="model", columns="N", values="p")
every_N = windows.join(laws.set_index("model")[["S", "CE"]])
every_N = every_N.assign(source="published", corpus="Wiki", family="Pythia")
rows = []
for one in summaries:
    about = one.manifest
    row = {"source": "measured", "corpus": about.corpus, "family": about.family}
    row["S"], row["CE"] = about.S, one.ce()
    for N in (1, *Ns):
        windows_of_N = one.windows.get(N)
        row[N] = one.success(N, 1) if windows_of_N is not None and windows_of_N.total else 0.0
    rows.append(row)
every_N = pd.concat([every_N, pd.DataFrame(rows)])


def errors_of(models):
    """Relative errors of the three predictions for the largest of these models, at each N."""
    models = models.sort_values("S").astype(dict.fromkeys(["CE", 1, *Ns], float))
    shares = models[[1, *Ns]].to_numpy()
    if len(models) < 4 or not ((shares > 0) & (shares < 1)).all():
        return []
    ways = {"line in CE": models["CE"], "line in -log RBP_1": -np.log(models[1])}
    errors = []
    for N in Ns:
        y = np.log(-np.log(models[N]))
        truth = models[N].iloc[-1]
        for name, loss in ways.items():
            x = np.log(loss)
            line = np.polyfit(x[:-1], y[:-1], 1)
            predicted = np.exp(-np.exp(np.polyval(line, x.iloc[-1])))
            errors.append((N, name, predicted / truth - 1))
        errors.append((N, "Eq. 6", models[1].iloc[-1] ** N / truth - 1))
    return errors


rows = []
for (source, *_), models in every_N.groupby(["source", "corpus", "family"], sort=False):
    rows += [(source, *row) for row in errors_of(models)]
tasks = pd.DataFrame(rows, columns=["source", "N", "from", "error"])
tasks = tasks.groupby(["source", "N", "from"], sort=False)["error"]
tasks.agg(lambda error: np.sqrt((error**2).mean())).unstack("from").round(3)

# %% [markdown]
# <details><summary>Would another law do as well?</summary>
#
# A Weibull scores higher on all four models, by at most 0.006 nats per token. A log-logistic scores lower. So Figure 8c singles out no law.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Score three laws on the bars of Figure 8c
UPPER_TAIL = {
    "lognormal": lambda z: ndtr(-z),
    "Weibull": lambda z: np.exp(-np.exp(z)),
    "log-logistic": lambda z: expit(-z),
}


def best_score(tail, bins, V, cut):
    """The highest mean log probability of a rank >= 2, nats; rank k begins at k - cut."""
    share = bins["mass"] / bins["mass"].sum()
    begins, ends = np.log(bins["bin_lo"] - cut), np.log(bins["bin_hi"] - cut)
    first, last = np.log(2 - cut), np.log(V + 1 - cut)

    def loss(t):
        location, scale = t[0], np.exp(t[1])
        inside = tail(location + scale * begins) - tail(location + scale * ends)
        whole = tail(location + scale * first) - tail(location + scale * last)
        return -share @ np.log(inside / whole)

    settings = {"xatol": 1e-6, "fatol": 1e-10, "maxiter": 2000}
    starts = ((-1.0, -1.0), (1.0, -1.5))
    with np.errstate(all="ignore"):
        found = [minimize(loss, t, method="Nelder-Mead", options=settings).fun for t in starts]
    return -min(found)


V_of_paper = paper.models().set_index("model")["vocab_rows"]
columns = {}
for cut_at, cut in (("k + 1/2", 0.5), ("k", 1.0)):
    for model in printed.index:
        bins = paper.rank_density().query("model == @model")
        columns[cut_at, model] = {
            law: best_score(tail, bins, V_of_paper[model], cut) for law, tail in UPPER_TAIL.items()
        }
scores = pd.DataFrame(columns)
ahead = scores - scores.loc["lognormal"]  # nats per token ahead of the lognormal
rounding = (scores["k"] - scores["k + 1/2"]).loc["lognormal"]  # what the place of the cut is worth
print(f"moving the cuts by 1/2: {rounding.min():.4f} to {rounding.max():.4f} nats per token")
ahead.T.round(4)

# %% [markdown]
# <details><summary>Where do the 1.2 nats come from?</summary>
#
# Mostly from rank 1. Made to add up to 1, the curve gives it 41% for 12B and 16% for 14M, instead of 58% and 33%. Ranks mix sure and unsure contexts, which raises their entropy. And Appendix C uses the curve's height at a rank in place of its area there.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Split the distance of simulated and measured CE into three steps
steps = {}
for model in printed.index:
    bins = published_bins[model]
    width = bins["bin_hi"] - bins["bin_lo"]
    H_ranks = -(bins["share"] * np.log(bins["share"] / width)).sum()
    k = np.arange(1, V_of_paper[model] + 2)
    p = -np.diff(at_least(k, printed.loc[model, "mu"], printed.loc[model, "sigma"]))
    p /= p.sum()  # the fitted lognormal, from rank 1 to V
    H_curve = -(p * np.log(p)).sum()
    measured, simulated = laws.set_index("model").loc[model, ["CE", "simulated_CE"]]
    steps[model] = (H_ranks - measured, H_curve - H_ranks, simulated - H_curve, p[0])
steps = pd.DataFrame(
    steps, index=["ranks are not CE", "rank 1 is missing", "another form", "p_1"]
).T
steps.insert(3, "together", steps.iloc[:, :3].sum(axis=1))
steps.round(2)

# %% [markdown]
# <details><summary>What do other models look like?</summary>
#
# The same, but CE of pocket models is too high by 0.51 to 1.20 nats.
#
# </details>


# %% tags=["hide-input", "hide-output"]
# Draw Figure 8c for the other published models, and for the largest model of each text
def in_bins(ranks):
    """A histogram of ranks as shares of all tokens: rank 1, then bins of a tenth of a decade."""
    end = ranks.values[-1] + 1
    edges = np.geomspace(2, end, 2 + int(10 * np.log10(end)))
    edges = np.unique(np.concatenate(([1], np.round(edges).astype(int))))
    counts = np.histogram(ranks.values, edges, weights=ranks.counts)[0]
    bins = pd.DataFrame({"bin_lo": edges[:-1], "bin_hi": edges[1:], "share": counts / ranks.total})
    return bins[counts > 0].reset_index(drop=True)


more = {
    "paper: Pythia-160M": published_bins[GROUPS[1]],
    "paper: Pythia-1.4B": published_bins[GROUPS[2]],
}
ranks_of = {(one.manifest.corpus, one.manifest.model): one.ranks for one in summaries}
largest = fits.loc[fits.groupby("corpus", sort=False)["S"].idxmax()] if len(fits) else fits
for row in largest.itertuples():
    bins = in_bins(ranks_of[row.corpus, row.model])
    name = f"{plots.short(row.corpus)}: {row.model.removeprefix('pocket:')}"
    more[name] = bins.assign(fitted=curve_shares(bins, row.mu, row.sigma))
rows = -(-len(more) // 2)
with plots.style():
    figure, grid = plt.subplots(
        rows, 2, figsize=(plots.WIDTH, 2.1 * rows), sharex=True, sharey=True, layout="constrained"
    )
    for axes in grid.flat[len(more) :]:
        axes.remove()
    for axes, (name, bins) in zip(grid.flat, more.items(), strict=False):
        draw_bars(axes, bins)
        draw_curve(axes, bins)
        axes.set_title(name, fontsize=10)
        axes.set_xticks([1, 100, 10000], ["1", "100", "10,000"])
        axes.xaxis.set_tick_params(labelbottom=True)
drawn = pd.concat([bins.assign(panel=name) for name, bins in more.items()])
plots.save(
    figure, drawn[["panel", "bin_lo", "bin_hi", "share", "fitted"]], figures_dir, "figure_8c_more"
)
if len(fits):
    gap = fits["simulated_CE"] - fits["CE"]
    times = fits["simulated_neg_log_rbp1"] / fits["neg_log_rbp1"]
    print(f"{ours}: simulated minus measured CE: {gap.min():.2f} to {gap.max():.2f} nats")
    print(
        f"{ours}: simulated divided by measured -log RBP_1: {times.min():.2f} to {times.max():.2f}"
    )

# %% [markdown]
# <details><summary>How do the parameters move with S (Figure 8d)?</summary>
#
# $\mu/\sigma$, "approximately linear in S" in the ICLR version, is linear in $\ln S$ ($R^2$ 0.993), not in $S$ (0.51).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Draw Figure 8d
R2 = {
    "S": linregress(laws["S"], laws["ratio"]).rvalue ** 2,
    "ln S": linregress(np.log(laws["S"]), laws["ratio"]).rvalue ** 2,
}
print("R2 of mu / sigma:", {name: round(float(value), 3) for name, value in R2.items()})
sizes = np.geomspace(size.min(), size.max(), 99)
with plots.style():
    figure, panels = plt.subplots(
        1, 2, figsize=(plots.WIDTH, 3.2), sharey=True, layout="constrained"
    )
    for axes, name, function in zip(panels, R2, (np.asarray, np.log), strict=True):
        line = np.polyfit(function(laws["S"]), laws["ratio"], 1)
        axes.plot(sizes, np.polyval(line, function(sizes)), color=INK, linewidth=1.2)
        axes.plot(laws["S"], laws["ratio"], green.marker, color=green.colour)
        axes.set(xscale="log" if name == "ln S" else "linear", xlabel="$S$")
        axes.set_title(f"line in {name.replace('S', '$S$')}: $R^2$ = {R2[name]:.2f}")
    panels[0].set(ylabel=r"$\mu/\sigma$", xticks=[0, 5e9, 1e10])
    panels[0].set_xticklabels(["0", "5 billion", "10 billion"])
plots.save(figure, parameters, figures_dir, "figure_8d")
in_ln_S = {}
for (corpus, family), models in fits.groupby(["corpus", "family"], sort=False):
    if models["S"].nunique() >= 3:
        in_ln_S[family, corpus] = linregress(np.log(models["S"]), models["ratio"]).rvalue ** 2
if in_ln_S:
    lowest = min(in_ln_S, key=in_ln_S.get)
    print(f"{ours}: R2 on ln S at least {in_ln_S[lowest]:.2f} ({' on '.join(lowest)})")

# %% [markdown]
# ## The paper says, we get
#
# "Nearly identical" holds in part: 13 of 24 pairs of exponents in Table 1 are within 10%. The lognormal "hypothesis" holds in part. From rank 2 on it is roughly right, but a Weibull distribution fits as well. Rank 1 is not in the fit.


# %% tags=["hide-input", "hide-output"]
# The claims as a table
def span(values, form=".2f"):
    return f"{min(values):{form}} to {max(values):{form}}" if len(values) else "not measured"


def all_models(values, words):
    return words.format(span(values, ".1%")) if len(values) else "not measured"


by_CE_here = []
for _, models in points[points["source"] == "measured"].groupby("corpus"):
    if len(models) > 3:
        by_CE_here.append(misses(np.log(models["CE"]), np.log(models["neg_log_rbp1"]))[1])
V_of = {(one.manifest.corpus, one.manifest.model): one.manifest.V for one in summaries}
lead_here = []
for row in largest.itertuples():
    bins = in_bins(ranks_of[row.corpus, row.model]).rename(columns={"share": "mass"})
    bins, V = bins.query("bin_lo > 1"), V_of[row.corpus, row.model]
    weibull = best_score(UPPER_TAIL["Weibull"], bins, V, 0.5)
    lead_here.append(weibull - best_score(UPPER_TAIL["lognormal"], bins, V, 0.5))
ratios = []
for _, models in fits.groupby(["corpus", "family"]):
    if models["S"].nunique() >= 3:
        of_CE = fit_power_law(models["S"], models["simulated_CE"]).alpha
        ratios.append(fit_power_law(models["S"], models["simulated_neg_log_rbp1"]).alpha / of_CE)
eight = pairs.iloc[0]  # Figure 8a
near = abs(eight["ratio"] - 1) <= 0.1
identical = "holds" if near and within[0.1] > 21 else "holds in part" if near else "does not hold"
lead = ahead.loc["Weibull"]
simulated_ratio = exponents["simulated_neg_log_rbp1"] / exponents["simulated_CE"]
gap_here = fits["simulated_CE"] - fits["CE"]
claims_table(
    "08",
    [
        {
            "claim": "when k = 1, the decay exponents of cross-entropy (absolute-based) and \N{MINUS SIGN} log p1 (relative-based) are nearly identical",
            "where": "Section 5.2, Figure 8a",
            "test": "alpha_1 within 10% of alpha_CE",
            "published": f"Figure 8a: {eight['alpha_1']:.3f} and {eight['alpha_CE']:.3f}, yes; Table 1: {within[0.1]} of 24 cells, {within[0.2]} within 20%",
            "measured": f"alpha_1 / alpha_CE {span(of_models['ratio'])}",
            "verdict": identical,
            "main": True,
        },
        {
            "claim": "our hypothesis is that the rank distribution follows a lognormal distribution",
            "where": "Section 5.2, Figure 8c",
            "test": "lead of another law with two parameters (Weibull), ranks >= 2, same cuts, in sample",
            "published": f"{span(lead, '.4f')} nats per token; the place of the cut is worth {span(rounding, '.4f')}; rank 1 is not in the fit",
            "measured": f"largest model of each text: {span(lead_here, '.3f')}",
            "verdict": "holds in part" if lead.max() < 0.01 else "does not hold",
            "main": True,
        },
        {
            "claim": "Simulated results: CE and \N{MINUS SIGN} log RBPk show similar scaling patterns",
            "where": "Figure 8b",
            "test": "simulated alpha_1 / alpha_CE; levels",
            "published": f"both are power laws; ratio {simulated_ratio:.2f} (measured {eight['ratio']:.2f}); CE too high by {span(too_high)} nats",
            "measured": f"ratio {span(ratios)}; CE too high by {span(gap_here)} nats",
            "verdict": "holds" if abs(simulated_ratio - 1) <= 0.1 else "holds in part",
            "main": True,
        },
        {
            "claim": "if RBP1 is 30%, it means that greedy sampling works for 30% cases. Yet this cannot be deduced from the cross-entropy value.",
            "where": "Section 3.2",
            "test": "in principle: CE >= ln 2 excludes no RBP_1; in practice: a parabola in log CE, within one text",
            "published": f"in principle open for {(laws['CE'] >= np.log(2)).sum()} of 10; in practice -log RBP_1 follows to {by_CE[1]:.1%}",
            "measured": all_models(by_CE_here, "all families of a text together: to {}"),
            "verdict": "holds in part",
            "main": True,
        },
        {
            "claim": "approximately linear in S",
            "where": "Section 5.2, ICLR version (withdrawn on arXiv)",
            "test": "R2 of mu / sigma",
            "published": f"{R2['S']:.2f} on S, {R2['ln S']:.3f} on ln S",
            "measured": f"on ln S: {span(list(in_ln_S.values()))}",
            "verdict": "holds" if R2["S"] > 0.9 else "does not hold",
            "main": False,
        },
    ],
    records_dir,
    figures_dir,
)

# %% [markdown]
# **What this cannot show.** We do not know why rank 1 was left out.
#
# **Related work.** Clauset et al. ([2009](https://arxiv.org/abs/0706.1062)) compare long-tailed laws. `powerlaw` ([Alstott et al. 2014](https://arxiv.org/abs/1305.0215)) is a Python program for this.
