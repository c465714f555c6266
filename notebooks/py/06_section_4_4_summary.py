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
# # Section 4.4: does a larger exponent mean an easier task?
#
# A language model that has $k$ guesses for the next token (a word or a piece of one) is right if the true token is among its $k$ most probable ones. $\mathrm{RBP}_k$ is the share of a text's tokens on which this happens. The law says that the loss $-\log \mathrm{RBP}_k$ (natural logarithm) falls as a power of the model's size: as $S^{-\alpha_k}$, with $S$ the number of parameters without the embeddings. The exponent $\alpha_k$ itself depends on $k$:

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Import what is needed, and say what the checks of the exercises recognise
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rbpkit import fit_curves, load_summaries, paper, plots
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.stats.curves import measured_curves, published_curves, table1_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.choices import asked_and_there
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.paths import SUMMARIES

check_parameters(globals())
ours = "your models" if records_dir else "pocket models"

# For each exercise: how to undo a common mistake, and what to say if that gives the right answer
MISTAKES = {
    1: [(lambda a: a + 20, "At this k it is still a little less than twice.")],
    2: [
        (lambda a: 1 / a, "You have the inverse: S must grow."),
        (lambda a: 2 ** (1 / np.log2(a)), "You raised 2 to b. Solve the equation for f."),
        (lambda a: np.exp(a), "This is the natural logarithm of the factor."),
        (lambda a: 10**a, "This is the factor in powers of ten."),
    ],
}


# %%
figure_6 = paper.fit_by_k()  # the slope and R2 of Pythia's line at each k
slopes = figure_6[figure_6.quantity == "slope"]
wiki = slopes[slopes.dataset == "Wiki"]
alpha = -wiki.set_index("k").value
print(f"alpha at k = 1: {alpha[1]:.3f}, at k = 10,000: {alpha[10_000]:.3f}")
print(f"{alpha[10_000] / alpha[1]:.1f} times as large")

# %% tags=["hide-input"]
# Draw the exponent against k
names = {"dataset": "corpus"}
points = figure_6.rename(columns=names).assign(source="published", family="Pythia")
points = points[["source", "corpus", "family", "quantity", "k", "value"]]
ce_on_wiki = -points.query("quantity == 'ce_slope' and corpus == 'Wiki'")["value"].iloc[0]


def draw_exponents(axes, points, dark):
    """A curve of alpha against k for each corpus, named at its end; x: R2 below 0.9."""
    ends = []
    for corpus, part in points.groupby("corpus", sort=False):
        curve = part[part.quantity == "slope"].sort_values("k")
        R2 = part[part.quantity == "R2"].set_index("k")["value"].reindex(curve.k)
        ink, width = (INK, 2.2) if corpus == dark else (OTHER, 1)
        axes.plot(curve.k, -curve.value, color=ink, linewidth=width)
        low = R2.to_numpy() < 0.9
        axes.plot(curve.k[low], -curve.value[low], "x", color=ink, markersize=8)
        ends.append((curve.k.iloc[-1], -curve.value.iloc[-1], plots.short(corpus), ink))
    axes.set(xscale="log", xlabel="$k$")
    return ends


with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.0), layout="constrained")
    ends = draw_exponents(axes, points[~(points.k > 10_000).fillna(False)], "Wiki")
    axes.axhline(ce_on_wiki, color=INK, linestyle="--", linewidth=1)
    axes.text(1_000, ce_on_wiki - 0.005, "cross-entropy on Wiki", va="top")
    axes.text(1, 0.35, r"$\times$: $R^2$ of the line below 0.9", color=OTHER)
    axes.set_title(r"Pythia's exponent $\alpha_k$ grows with $k$")
    axes.set_ylabel(r"$\alpha_k$")
    axes.set_xticks([1, 10, 100, 1_000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    axes.set_ylim(0, 0.38)
    plots.label_ends(axes, ends)
plots.save(figure, points, figures_dir, "figure_6")

# %% [markdown]
# *The exponent of ten Pythias on four texts (Figure 6b of the paper). Wikipedia is dark. The dashed line is the exponent of the cross-entropy, which is the mean of $-\log p$. Here $p$ is the probability that the model gives to the true token. The curves end at 20% of the vocabulary, as in the paper.*
#
# > **The paper.** "the scaling exponent increases as k increases". It is hard to optimise $\mathrm{RBP}_1$, "as the exponent is less than 0.1", and "optimizing RBP100 shall be easy, since the exponent is close to 0.2". (Section 4.4)
#
# On Wikipedia $\alpha_k$ is almost four times as large at $k$ = 10,000 as at $k$ = 1. Does that make success at large $k$ easier? "Easier" can mean several things. We take one: how many times fewer guesses a larger model needs.
#
# **Guess first.** A small Pythia needs 10 guesses to be right on some share of Wiki. How many guesses does a Pythia 100 times as large need for the same share? How many does it need if the small one needs 10,000?

# %% [markdown]
# ## A map of the loss
#
# Think of a hillside. East is a larger model, north is more guesses, and the height is the logarithm of the loss $L = -\log \mathrm{RBP}_k$. The slope downhill to the east is $\alpha$. The slope downhill to the north is called $\beta$:
#
# $$\alpha = -\frac{\partial \log L}{\partial \log S}, \qquad \beta = -\frac{\partial \log L}{\partial \log k} .$$
#
# Walk from a small model to a larger one and stay at one height, which means at one share of tokens that succeed. You then walk to the south-east: the larger model needs fewer guesses. By the chain rule their number falls as
#
# $$k \propto S^{-b}, \qquad b = \frac{\alpha}{\beta} .$$
#
# The paper has the points for this map: ten Pythias on Wikipedia at six values of $k$.

# %%
ks = [1, 10, 100, 500, 2_500, 10_000]
curves = table1_curves()  # the published points behind Table 1

log_loss = []
for k in ks:
    curve, source = curves["Wiki", str(k), "Pythia"]  # the source is not needed
    log_loss.append(np.log(curve.loss))
log_loss = np.array(log_loss)  # a row for each k, a column for each model
log_S = np.log(curve.S)  # the same models at each k

# %%
# East: one slope for each k, then the mean of two neighbours
alpha_at_k = -np.polyfit(log_S, log_loss.T, 1)[0]
alpha_between = (alpha_at_k[1:] + alpha_at_k[:-1]) / 2

# North: how far the loss falls from one k to the next, as a mean over the models
fall = -np.diff(log_loss, axis=0)
beta_between = fall.mean(axis=1) / np.diff(np.log(ks))

b = alpha_between / beta_between
fewer = 100**b  # for a model 100 times as large

# %% tags=["hide-input"]
# Draw the map
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.4), layout="constrained")
    levels = np.log(0.5 ** np.arange(12.0, -1, -1))  # each contour halves the loss
    S = np.exp(log_S)
    look = {"colors": OTHER, "linewidths": 1, "linestyles": "solid"}
    axes.contour(S, ks, log_loss, levels=levels, **look)
    axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
    for place, south in ((0, 8), (1, 70), (4, 9_000)):
        start, end = (2e7, 2e9), (south, south / fewer[place])
        axes.plot(start, end, color=INK, linewidth=2.5)
        middle = (2e8, np.sqrt(end[0] * end[1]) * 1.15)
        note = f"guesses ÷ {fewer[place]:.1f}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        axes.annotate(note, middle, (0, 3), textcoords="offset points", bbox=box)
    axes.set_yticks(ks, [f"{k:,}" for k in ks])
    axes.minorticks_off()
    axes.set(ylabel="$k$", title="100 times the size saves fewer guesses at large $k$")
    # Name each contour at the largest model: the share of tokens that succeed
    by_rising_loss = np.argsort(log_loss[:, -1])
    heights = log_loss[by_rising_loss, -1]
    named = levels[(levels > heights[0]) & (levels < heights[-1])]
    log_k = np.interp(named, heights, np.log(ks)[by_rising_loss])
    success = np.exp(-np.exp(named))
    names = [f"{p:.2%}" if p > 0.999 else f"{p:.1%}" for p in success]
    ends = [(S[-1], np.exp(k), name, OTHER) for k, name in zip(log_k, names, strict=True)]
    plots.label_ends(axes, ends)
saved = pd.DataFrame({"k from": ks[:-1], "k to": ks[1:], "alpha": alpha_between})
saved = saved.assign(beta=beta_between, b=b, fewer=fewer)
plots.save(figure, saved, figures_dir, "figure_6_map")
print("alpha, beta and b between two k, and 100^b:")
saved.round(2)

# %% [markdown]
# *Ten Pythias on Wikipedia. On a grey line the share of tokens that succeed is constant (percent); from one line to the next the loss halves. The grey lines are interpolated between six values of $k$, so they have kinks there. A black line has the mean direction of the grey lines around it, and goes from a model to one 100 times as large.*
#
# **A Pythia 100 times as large needs 3.1 times fewer guesses at $k$ = 1 to 10, 5.3 times fewer from 10 to 500, and only 2.6 times fewer beyond 2,500, although the exponent $\alpha$ keeps growing.**
#
# Since $b = \alpha/\beta$, we have $\alpha = b\,\beta$: the exponent grows if $b$ grows or if $\beta$ grows. From $k$ = 10 to 500, $b$ is larger than from 1 to 10, although how much larger is not certain. At larger $k$, $b$ falls, and $\alpha$ still grows because $\beta$ does: the loss falls faster with more guesses. So a larger exponent alone is no sign of an easier task.
#
# <details><summary>Is the first of these numbers certain?</summary>
#
# No. Since $k$ is a whole number, its logarithm makes a large step from 1 to 2, and $k - 1/2$ would serve as well as $k$ for the axis. With $k - 1/2$ the 3.1 becomes 4.3, and the others hardly change.
#
# </details>
#
# **Exercise 1.** The first figure has Pythia's exponent on Wiki at 20 values of $k$. Which is the smallest of them at which it is at least twice the exponent of cross-entropy?
#
# <details><summary>Hint</summary>The exponents are in <code>alpha</code>; that of cross-entropy is 0.087.</details>

# %%
answer_1 = None
print(check(1, answer_1, sealed("1a656259", digits=0, within=0), MISTAKES[1]))

# %% [markdown]
# **Exercise 2.** A Pythia is right on some share of Wiki within $k$ guesses, with $k$ between 10 and 100. By which factor $f$ must $S$ grow until half as many guesses are enough? To the nearest whole number.
#
# <details><summary>Hint</summary>Solve $f^{-b} = 1/2$.</details>

# %%
answer_2 = None
print(check(2, answer_2, sealed("7902699b", digits=0, within=0), MISTAKES[2]))

# %% [markdown]
# **Exercise 3.** Suppose that a model $f$ times as large has every rank divided by $f^b$, with the same $b$ for all ranks. Then $\mathrm{RBP}_k$ depends on $k\,S^{b}$ only. If $-\log \mathrm{RBP}_k$ is an exact power of $S$ at every $k$, can $\alpha_k$ depend on $k$? (To discuss; [our answer](../docs/solutions/06_section_4_4_summary.md).)
#
# <details><summary>Hint</summary>Write the loss as $g(\log k + b \log S)$, and use that its logarithm is linear in $\log S$.</details>
#
# ## Further questions
#
# <details><summary>Is the line straight at every k?</summary>
#
# "We can see that R2 values remain high (above 0.9) when k < 1000", says the paper of Figure 6a, which is true of its 60 lines. In Table 1 it is true of 91 of 96. It fails most clearly for GPT-2 on Github, and on the short text HumanEval at the largest $k$, where few tokens are missed (notebook 05).
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Draw Figure 6a, and count in Table 1
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.4), layout="constrained")
    axes.axhline(0.9, color=CONTEXT, linewidth=3)
    ends = []
    for corpus, curve in points[points.quantity == "R2"].groupby("corpus", sort=False):
        ink = INK if corpus == "Wiki" else OTHER
        axes.plot(curve.k, curve.value, color=ink)
        ends.append((curve.k.iloc[-1], curve.value.iloc[-1], corpus, ink))
    axes.set(
        xscale="log", xlabel="$k$", ylabel="$R^2$", title="Straight up to $k$ of some thousands"
    )
    axes.text(1, 0.89, "0.9", va="top")
    plots.label_ends(axes, ends)
plots.save(figure, points[points.quantity == "R2"], figures_dir, "figure_6a")

table1 = paper.table1().rename(columns={"dataset": "corpus", "r2": "R2"})
cells = table1[table1["k"].isin(["1", "10", "100", "500"])]
print(f"Table 1: {(cells['R2'] > 0.9).sum()} of {len(cells)} lines have an R2 above 0.9; not so:")
cells[cells["R2"] <= 0.9].reset_index(drop=True)

# %% tags=["hide-input", "hide-output"]
# Check: Figure 6, Table 1 and the points of Figures 3 and 4 agree
printed = table1.query("family == 'Pythia' and k != 'CE'").astype({"k": int})
of_k = points.dropna(subset="k")
drawn = of_k.pivot(index=["corpus", "k"], columns="quantity", values="value").reset_index()
both = drawn.merge(printed, on=["corpus", "k"], suffixes=("", " printed"))
assert len(both) == 24
for what in ("slope", "R2"):
    assert (both[what] - both[f"{what} printed"]).abs().max() < 6e-4
for k in (1, 10, 50, 100):
    at_k = fit_curves(published_curves(k).values()).table.query("family == 'Pythia'").assign(k=k)
    again = drawn.merge(at_k, on=["corpus", "k"], suffixes=("", " of points"))
    for what in ("slope", "R2"):
        assert (again[what] - again[f"{what} of points"]).abs().max() < 1e-3
print("Figure 6, Table 1 and the points of Figures 3 and 4 agree.")

# %% [markdown]
# <details><summary>Do the exponents of the pocket models, or of yours, grow too?</summary>
#
# Yes, at all of the 24 tenfold steps up to $k$ = 100. (Pocket models are the small ones that come with `rbpkit`.) Their lines are straight too, with one exception: 172 of 180 have an $R^2$ above 0.9, and the other eight are all pocket Qwen's on `humaneval`.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Fit the pocket models, or your records, at the k of Figure 6
summaries = load_summaries(records_dir or SUMMARIES, checkpoint="last", say=print)
there = [one.manifest for one in summaries]
shown_corpora = asked_and_there(
    corpus_names, sorted({one.corpus for one in there}), "corpus", bool(records_dir)
)
shown_families = asked_and_there(
    families, sorted({one.family for one in there}), "family", bool(records_dir)
)
V = {one.family: one.V for one in there}
ks_of_figure_6 = [int(k) for k in figure_6["k"].dropna().unique()]

tables = []
for k in [None, *ks_of_figure_6]:
    if k is None:
        found = measured_curves(
            summaries, shown_corpora, shown_families, lambda one: one.ce(), "CE"
        )
        print("\n".join(found.missing) or "All that was asked for was measured.")
    else:
        found = measured_curves(
            summaries, shown_corpora, shown_families, lambda one, k=k: one.rbp(k), f"RBP_{k}"
        )
    table = fit_curves(found.curves.values()).table
    tables.append(table.assign(k=pd.array([k] * len(table), dtype="Int64")))
fits = pd.concat(tables, ignore_index=True)
of_V = fits["k"].astype(float) / fits["family"].map(V).astype(float)
fits = fits[~(of_V > 0.6)]  # where Figure 6 ends, too
at_k = fits.dropna(subset="k")
if len(at_k):
    print("Fits at k:", ", ".join(f"{k:,}" for k in sorted(at_k["k"].unique())))
    small = at_k[at_k["k"] < 1000]
    low = small[small["R2"] <= 0.9]
    print(f"R2 above 0.9 at k < 1,000: {len(small) - len(low)} of {len(small)} lines")
    for (family, corpus), part in low.groupby(["family", "corpus"]):
        print(f"not {family} on {plots.short(corpus)} at k =", *part["k"])

# %% tags=["hide-input", "hide-output"]
# Draw their exponents against k, up to 20% of the vocabulary
slopes_of_k = fits.assign(
    quantity=np.where(fits["k"].isna(), "ce_slope", "slope"), value=fits["slope"]
)
straight = at_k.assign(quantity="R2", value=at_k["R2"])
measured = pd.concat([straight, slopes_of_k]).assign(source="measured")
up_to = 0.2 * measured["family"].map(V).astype(float)
within = measured[~(measured["k"].astype(float) > up_to)]
shown = [family for family in shown_families if family in set(at_k["family"])]
if shown:
    rows = -(-len(shown) // 2)
    size = (plots.WIDTH, 2.7 * rows)
    with plots.style():
        figure, grid = plt.subplots(
            rows, min(2, len(shown)), figsize=size, sharex=True, sharey=True, squeeze=False,
            layout="constrained",
        )  # fmt: skip
        ends = []
        for axes, family in zip(grid.flat, shown, strict=False):
            ends.append(draw_exponents(axes, within[within["family"] == family], ""))
            axes.set(ylabel=r"$\alpha_k$", title=plots.name_of(family))
        for axes in grid.flat[len(shown) :]:
            axes.remove()
        grid[0, 0].set_ylim(bottom=0)
        for axes, of_axes in zip(grid.flat, ends, strict=False):
            plots.label_ends(axes, of_axes)
    columns = ["source", "corpus", "family", "quantity", "k", "value"]
    plots.save(figure, measured[columns], figures_dir, "figure_6_measured")
else:
    print("No family was measured at three sizes: there is no exponent to draw.")

# %% [markdown]
# <details><summary>Is the exponent below 0.1 at k = 1, and close to 0.2 at k = 100?</summary>
#
# Below 0.1 at $k$ = 1: on all four texts. Close to 0.2 at $k$ = 100: on Wiki (0.196) and HumanEval (0.193), not on AusLegal (0.147) and HotpotQA (0.103). Over all families the exponents differ more.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Exponents at k = 1 and 100
of_pythia = points[points.quantity == "slope"].rename(columns={"value": "slope"})
in_table1 = table1[table1["k"] != "CE"].astype({"k": int})
sets = {
    "Figure 6: Pythia, 4 corpora": of_pythia.drop(columns="source"),
    "Table 1: 4 families, 6 corpora": in_table1,
    ours: at_k,
}
alphas = pd.concat(sets, names=["source"]).reset_index("source").astype({"k": int})
alphas = -alphas[alphas["k"].isin([1, 100])].set_index(["source", "k"])["slope"].astype(float)
alphas.groupby(["source", "k"], sort=False).agg(["min", "median", "max"]).unstack("k").round(3)

# %% [markdown]
# ## The paper says, we get
#
# "the scaling exponent increases as k increases" holds in part: in Figure 6 it grows at 39 of 40 steps between neighbouring $k$ up to 100, and at 72 of all 76 steps up to 10,000. The four falls are all on HumanEval. In Table 1 it grows at 46 of 48 tenfold steps. The paper also says that "optimizing RBP100 shall be easy, since the exponent is close to 0.2". The exponent alone cannot tell us that.

# %% tags=["hide-input", "hide-output"]
# The claims as a table
low = points[(points.quantity == "R2") & (points.k < 1000).fillna(False)]["value"]
low_ours = at_k[at_k["k"] < 1000]["R2"]
high = f"{(low > 0.9).sum()} of {len(low)} in Figure 6 (Pythia), smallest {low.min():.3f}; "
high += f"{(cells['R2'] > 0.9).sum()} of {len(cells)} in Table 1"
none = "not measured"


def growing(table, ks):
    """At how many steps from one k to the next the exponent grows: (how many, of how many)."""
    table = table[table["k"].isin(ks)].sort_values("k")
    step = table.groupby(["corpus", "family"])["slope"].diff().dropna()
    return (step < 0).sum(), len(step)


def span(alphas):
    return f"{alphas.min():.3f} to {alphas.max():.3f}" if len(alphas) else none


tens = (1, 10, 100)
fine = [k for k in ks_of_figure_6 if k <= 100]
grows = "{} of {} tenfold steps, ".format(*growing(of_pythia, tens))
grows += "{} of {} narrower ones (Figure 6); ".format(*growing(of_pythia, fine))
grows += "{} of {} tenfold steps in Table 1".format(*growing(in_table1, tens))
at_1 = -of_pythia[of_pythia.k == 1]["slope"]
at_100 = -of_pythia[of_pythia.k == 100]["slope"]
close = (at_100 - 0.2).abs() <= 0.05
claims_table(
    "06",
    [
        {
            "claim": "We can see that R2 values remain high (above 0.9) when k < 1000",
            "where": "Section 4.4, Figure 6a",
            "test": "lines at k < 1,000 with R2 above 0.9",
            "published": high,
            "measured": f"{(low_ours > 0.9).sum()} of {len(low_ours)}" if len(low_ours) else none,
            "verdict": "holds" if (low > 0.9).all() else "holds in part",
            "main": True,
        },
        {
            "claim": "the scaling exponent increases as k increases",
            "where": "Section 4.4, Figure 6b",
            "test": "does the exponent grow from k = 1 to 10, and to 100?",
            "published": grows,
            "measured": "{} of {} tenfold steps".format(*growing(at_k, tens))
            if len(at_k)
            else none,
            "verdict": "holds" if growing(of_pythia, fine) == (40, 40) else "holds in part",
            "main": True,
        },
        {
            "claim": "it is hard to optimize RBP1, as the exponent is less than 0.1",
            "where": "Section 4.4",
            "test": "the number only: alpha at k = 1 below 0.1 in Figure 6",
            "published": span(at_1),
            "measured": span(-at_k[at_k["k"] == 1]["slope"]),
            "verdict": "holds" if (at_1 < 0.1).all() else "holds in part",
            "main": False,
        },
        {
            "claim": "optimizing RBP100 shall be easy, since the exponent is close to 0.2",
            "where": "Section 4.4",
            "test": "the number only: alpha at k = 100 within 0.05 of 0.2 (our margin) in Figure 6",
            "published": f"{close.sum()} of {len(close)} corpora; {span(at_100)}",
            "measured": span(-at_k[at_k["k"] == 100]["slope"]),
            "verdict": "holds" if close.all() else "holds in part",
            "main": False,
        },
        {
            "claim": "optimizing RBP100 shall be easy, since the exponent is close to 0.2",
            "where": "Section 4.4",
            "test": "the inference: does a larger model save guesses faster at larger k? Exponent in S of the number of guesses (Pythia on Wiki)",
            "published": f"{b[0]:.2f} from k = 1 to 10; {b[2]:.2f} from 100 to 500; "
            f"{b[-1]:.2f} from 2,500 to 10,000",
            "measured": "not tested",
            "verdict": "cannot be told",
            "main": True,
        },
    ],
    records_dir,
    figures_dir,
)

# %% [markdown]
# **What this cannot show.** Fits at neighbouring $k$ are made of the same models and the same text, so they are not independent pieces of evidence. The pocket models are small, were trained briefly, and have a small vocabulary; any of these may change their exponents. How hard it is to optimise $\mathrm{RBP}_k$ would have to be measured by optimising it.
#
# **In other notebooks.** Notebook 17 fits one law to all $k$. Notebook 10 tests the paper's law in $k$, with one $\beta$ for all $k$ up to 100, and follows $b$ for more models.
