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
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_06.py).*
#
# Two teams ask for a larger language model. The first writes the next word for you, so its model has one guess. The second shows a long list and lets you choose, so its model has a hundred. You can pay for one larger model. Which team gains more?
#
# A model reads tokens (words or pieces of words). With $k$ guesses it is right if the true token is among its $k$ most probable ones. $\mathrm{RBP}_k$ is the share of a text's tokens on which this happens. The law says that the loss $-\log \mathrm{RBP}_k$ (natural logarithm) falls as a power of the model's size: as $S^{-\alpha_k}$, with $S$ the number of parameters without the embeddings. The exponent $\alpha_k$ itself depends on $k$:

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy import stats

from rbpkit import paper
from rbpkit.check import check_parameters
from rbpkit.curves import published_curves, table1_curves
from rbpkit_notebooks import notebook_06 as draw
from rbpkit_notebooks.claims import Verdicts, counted, span

check_parameters(globals())
study = draw.read_study(records_dir, families, corpus_names)

# %%
figure_6 = paper.table("fit_by_k")  # the slope and R2 of Pythia's line at each k
slopes = figure_6[figure_6["quantity"] == "slope"]
wiki = slopes[slopes["dataset"] == "Wiki"]
alpha = -wiki.set_index("k")["value"]  # a slope is minus an exponent
print(f"alpha on Wiki: {alpha[1]:.3f} at k = 1, {alpha[100]:.3f} at k = 100")
draw.exponents(figure_6, figures_dir)

# %% [markdown]
# *The exponent of ten Pythias on four texts (Figure 6b of the paper). Wikipedia is dark. The dashed line is the exponent of the cross-entropy, which is the mean of $-\log p$. Here $p$ is the probability that the model gives to the true token. The curves end at 20% of the vocabulary, as in the paper.*
#
# > **The paper.** "According to the right figure, the scaling exponent increases as k increases. A higher exponent means that the performance increases faster when the model is scaled up. Therefore, the result indicates that optimizing RBP100 shall be easy, since the exponent is close to 0.2. Yet it is hard to optimize RBP1, as the exponent is less than 0.1." (Section 4.4)
#
# So the paper measures an improvement by the factor by which the loss falls. The second team seems to gain more.
#
# **Guess first.** From the smallest Pythia to the largest, $\mathrm{RBP}_1$ on Wiki rises from 0.33 to 0.58, so 25 more of 100 tokens are right. With 100 guesses, is the gain larger, equal or smaller?
#
# ## The same models, two measures
#
# For each of the paper's sixteen lines we compare the smallest model with the largest.

# %%
gains = []
for k in (1, 100):
    for (corpus, family), curve in published_curves(k).items():
        factor = curve.loss[0] / curve.loss[-1]  # by which the loss falls
        points = 100 * (curve.value[-1] - curve.value[0])  # more tokens right, of 100
        gains.append((corpus, family, k, factor, points))
gains = pd.DataFrame(gains, columns=["text", "family", "k", "factor", "points"])
gain = gains.pivot(index=["text", "family"], columns="k", values=["factor", "points"])
more_by_factor = gain["factor", 100] > gain["factor", 1]
more_by_points = gain["points", 100] > gain["points", 1]
print("at k = 100 larger factor:", counted(more_by_factor))
print("at k = 100 more points:", counted(more_by_points))
smallest = published_curves(100)["Wiki", "Pythia"].value[0]
print(f"smallest Pythia on Wiki: RBP_100 = {smallest:.2f}")
draw.two_measures(gain, figures_dir)
gain.loc["Wiki"].round(1)

# %% [markdown]
# *A line for each family and text. The table has Wiki.*
#
# **With 100 guesses the loss falls by a larger factor on 15 of 16 lines, and yet fewer tokens are gained, also on 15 of 16.** (The exceptions are GPT-2 on HumanEval and Pythia on HotpotQA.) The two do not contradict each other. With 100 guesses even the smallest Pythia is right on 77% of Wiki, so there is less to gain. By the paper's measure the second team gains more, and by counting tokens the first one does.
#
# A third measure keeps the share of right tokens as it is, and asks how many guesses a larger model needs for it.
#
# **Guess again.** A Pythia needs 10 guesses to be right on some share of Wiki. How many does one 100 times as large need for the same share? And how many if the smaller one needs 10,000?
#
# ## A map of the loss
#
# Think of a hillside. East is a larger model, north is more guesses, and the height is the logarithm of the loss $L = -\log \mathrm{RBP}_k$. The slope downhill to the east is $\alpha$. The slope downhill to the north is called $\beta$:
#
# $$\alpha = -\frac{\partial \log L}{\partial \log S}, \qquad \beta = -\frac{\partial \log L}{\partial \log k} .$$
#
# Walk from a small model to a larger one and stay at one height, so that the share of right tokens stays the same. Then you walk to the south-east, because the larger model needs fewer guesses. By the chain rule their number falls as
#
# $$k \propto S^{-b}, \qquad b = \frac{\alpha}{\beta} .$$
#
# The paper gives the points for this map: ten Pythias on Wikipedia at six values of $k$.

# %%
ks = [1, 10, 100, 500, 2_500, 10_000]
curves = table1_curves()  # the published points behind Table 1

log_loss = []  # a row for each k, a column for each model
for k in ks:
    curve, source = curves["Wiki", str(k), "Pythia"]  # the source is not needed
    log_loss.append(np.log(curve.loss))
log_loss = np.array(log_loss)
log_S = np.log(curve.S)  # the same models at each k


# %%
def slopes_of_hill(models):
    """alpha and beta between each two neighbouring k, for some of the ten models."""
    here = log_loss[:, models]
    # East: one slope for each k, then the mean of two neighbours
    alpha_at_k = -np.polyfit(log_S[models], here.T, 1)[0]
    alpha = (alpha_at_k[1:] + alpha_at_k[:-1]) / 2
    # North: how far the loss falls from one k to the next, as a mean over the models
    fall = -np.diff(here, axis=0)
    return alpha, fall.mean(axis=1) / np.diff(np.log(ks))


# %%
steps = pd.DataFrame({"k from": ks[:-1], "k to": ks[1:]})
steps["alpha"], steps["beta"] = slopes_of_hill(slice(None))
steps["b"] = steps["alpha"] / steps["beta"]
steps["fewer"] = 100 ** steps["b"]  # for a model 100 times as large
for name, models in {"five smallest": slice(0, 5), "five largest": slice(5, 10)}.items():
    alpha_of, beta_of = slopes_of_hill(models)
    steps[name] = 100 ** (alpha_of / beta_of)
draw.hillside(log_S, log_loss, ks, steps, figures_dir)
steps.round(2)

# %% [markdown]
# *The map: ten Pythias on Wikipedia. On a grey line the share of right tokens is constant (percent); from one line to the next the loss halves. The grey lines are interpolated between six values of $k$, so they have kinks there. A black line has the mean direction of the grey lines around it. In the table,* fewer *is $100^b$ for all ten models; the last two columns have it for five models each.*
#
# **A Pythia 100 times as large saves most guesses in the middle: it needs about 5 times fewer at $k$ = 10 to 500, and about 3 times fewer below 10 and beyond 2,500.** The order holds in both halves of the ten models. The numbers do not: in the middle it is 7 times fewer among the five smallest, and 3 times fewer among the five largest.
#
# Why can the exponent go on growing, if $b$ falls beyond 500? Since $\alpha = b\,\beta$, the exponent also grows if $\beta$ does. There each further guess lowers the loss by more.
#
# **Exercise 1.** The first figure has Pythia's exponent on Wiki at 20 values of $k$. Which is the smallest of them at which it is at least twice the exponent of cross-entropy?
#
# <details><summary>Hint</summary>The exponents are in <code>alpha</code>; that of cross-entropy is 0.087.</details>

# %%
answer_1 = None
draw.check(1, answer_1)

# %% [markdown]
# **Exercise 2.** A Pythia is right on some share of Wiki within $k$ guesses, with $k$ between 10 and 100. By which factor $f$ must $S$ grow until half as many guesses are enough? Use $b$ of all ten models, and give the nearest whole number.
#
# <details><summary>Hint</summary>Solve $f^{-b} = 1/2$.</details>

# %%
answer_2 = None  # a factor, to the nearest whole number
draw.check(2, answer_2)

# %% [markdown]
# **Exercise 3.** Suppose that a model $f$ times as large has every rank divided by $f^b$, with the same $b$ for all ranks. Then $\mathrm{RBP}_k$ depends on $k\,S^{b}$ only. If $-\log \mathrm{RBP}_k$ is an exact power of $S$ at every $k$, can $\alpha_k$ depend on $k$? (To discuss; [our answer](../docs/solutions/06_section_4_4_summary.md).)
#
# <details><summary>Hint</summary>Write the loss as $g(\log k + b \log S)$, and use that its logarithm is linear in $\log S$.</details>
#
# ## Further questions
#
# <details><summary>Does the exponent ever fall with k?</summary>
#
# Not surely. Figure 6 has 76 steps between neighbouring $k$, and four falls of at most 2%, all on HumanEval. On the sixteen lines with points, compare the losses at two $k$ model by model: if the exponent rises, their ratio grows with $S$. It grows at 31 of 32 tenfold steps, at 26 of them with $p < 0.05$. The one fall has $p = 0.13$.
#
# </details>

# %%
tenfold = []
for k in (1, 10):
    ten = published_curves(10 * k)
    for cell, curve in published_curves(k).items():
        x, low, high = np.log([curve.S, curve.loss, ten[cell].loss])
        rise = stats.linregress(x, low - high)  # of the ratio of the two losses
        alpha_mean = -(np.polyfit(x, low, 1)[0] + np.polyfit(x, high, 1)[0]) / 2
        tenfold.append((*cell, k, rise.slope, rise.pvalue, alpha_mean, (low - high).mean()))
tenfold = pd.DataFrame(tenfold, columns=["text", "family", "k", "rise", "p", "alpha", "fall"])
up = tenfold["rise"] > 0
print(f"rises: {counted(up)}, of which {(tenfold[up]['p'] < 0.05).sum()} have p < 0.05")
print(tenfold[~up].round(3).to_string(index=False))

# %% [markdown]
# <details><summary>Is b larger from k = 10 to 100 than from 1 to 10 on other lines, too?</summary>
#
# With $k$ as the axis on all sixteen. But $k$ is a whole number, and its logarithm makes a large step from 1 to 2. With $k - 1/2$, which would serve as well, $b$ is larger on eleven of the sixteen.
#
# </details>

# %%
for shift in (0, 0.5):
    north = np.log((10 * tenfold["k"] - shift) / (tenfold["k"] - shift))
    b = tenfold["alpha"] / (tenfold["fall"] / north)
    b = tenfold.assign(b=b).pivot(index=["text", "family"], columns="k", values="b")
    print(f"k - {shift}: b is larger on {counted(b[10] > b[1])}")

# %% [markdown]
# <details><summary>Is the line straight at every k?</summary>
#
# For Pythia up to some thousand guesses. Of the 96 lines of Table 1 with $k$ below 1,000, 91 have an $R^2$ above 0.9. The others are GPT-2 on Github, and on HumanEval GPT-2 at $k$ = 1 and OPT at $k$ = 500.
#
# </details>

# %%
table1 = paper.table("table1")
cells = table1[table1["k"].isin(["1", "10", "100", "500"])]
print(cells[cells["r2"] <= 0.9][["dataset", "family", "k", "r2"]].to_string(index=False))
draw.straightness(figure_6, figures_dir)

# %% [markdown]
# <details><summary>Do the exponents of the pocket models, or of yours, grow too?</summary>
#
# Yes, at all of the 24 tenfold steps up to $k$ = 100. (Pocket models are the small ones that come with `rbpkit`.) Of their lines 172 of 180 have an $R^2$ above 0.9; the other eight are pocket Qwen's on `humaneval`.
#
# </details>

# %%
fits = draw.fits_by_k(study)  # a line for each k of Figure 6
draw.measured_exponents(fits, figures_dir)

# %% [markdown]
# ## What to keep
#
# The exponent of $-\log \mathrm{RBP}_k$ grows with $k$. Whether this makes success with many guesses easier depends on what you count: the factor of the loss says yes, tokens say no, and guesses say only in the middle. None of the three is about training. How hard it is to optimise $\mathrm{RBP}_k$ would have to be measured by optimising it. [Notebook 10](10_appendix_B_law_in_k.ipynb) asks how much size a doubled $k$ is worth.
#
# ## The paper says, we get
#
# Sentences about Figure 6 are judged by the figure; Table 1 stands beside it.

# %%
verdicts = Verdicts("06", records_dir, figures_dir)
R2_6 = figure_6[figure_6["quantity"] == "R2"].pivot(index="dataset", columns="k", values="value")
alpha_6 = -slopes.pivot(index="dataset", columns="k", values="value")
low = R2_6.loc[:, R2_6.columns < 1000].stack()
own_R2 = fits[fits["k"] < 1000]["R2"]
verdicts.add(
    "06.1",
    holds=(low > 0.9).all(),
    count=(low > 0.9).sum(),
    of=len(low),
    published=f"lowest {low.min():.3f}; Table 1: {counted(cells['r2'] > 0.9)}",
    measured=counted(own_R2 > 0.9),
    turns_if={"the lines of Table 1 count": (cells["r2"] > 0.9).all()},
)

# %%
at_1, at_10, at_100 = alpha_6[1], alpha_6[10], alpha_6[100]
tens = pd.concat([at_10 > at_1, at_100 > at_10])
narrow = alpha_6.diff(axis=1).iloc[:, 1:].stack() > 0
own = -fits.pivot(index=["corpus", "family"], columns="k", values="slope")
own_tens = [own[10] > own[1], own[100] > own[10]] if len(own) else [pd.Series()]
verdicts.add(
    "06.2",
    holds=tens.all(),
    count=tens.sum(),
    of=len(tens),
    published=f"tenfold steps; all steps of the figure: {counted(narrow)}",
    measured=counted(pd.concat(own_tens)),
    turns_if={"every step of the figure counts": narrow.all()},
)

# %%
below = paper.table("table1").query("k == '1'")["slope"] > -0.1
verdicts.add(
    "06.3",
    holds=(at_1 < 0.1).all(),
    count=(at_1 < 0.1).sum(),
    of=len(at_1),
    published=f"{span(at_1, '.3f')}; Table 1: {counted(below)}",
    measured=span(own[1], ".3f") if len(own) else "not measured",
    turns_if={"the lines of Table 1 count": below.all()},
)

# %%
close = abs(at_100 - 0.2) <= 0.05  # our margin
verdicts.add(
    "06.5",
    holds=close.all() and (at_100 > at_1).all(),
    part=(at_100 > at_1).all(),  # faster in the paper's sense, but not close to 0.2
    count=close.sum(),
    of=len(close),
    published=f"alpha {span(at_100, '.3f')}; more points of RBP on {counted(more_by_points)} lines",
    measured=span(own[100], ".3f") if len(own) else "not measured",
    turns_if={"only the order of the two exponents counts": (at_100 > at_1).all()},
)

# %%
FALL = 0.01  # of R2, from k = 1 to k = 500, which is 1% of the vocabulary
fall = R2_6[1] - R2_6[500]
in_table = table1.pivot(index=["dataset", "family"], columns="k", values="r2")
falls = (in_table["1"] - in_table["500"]).round(3)
verdicts.add(
    "06.6",
    holds=(fall <= FALL).all(),
    part=(fall <= FALL).any(),  # on some of the four texts
    count=(fall <= FALL).sum(),
    of=len(fall),
    published=f"not {', '.join(fall.index[fall > FALL])}; Table 1: {counted(falls <= FALL)}",
    turns_if={"a fall of 0.02 is allowed": (fall <= 2 * FALL).all()},
)
verdicts.table()

# %% [markdown]
# **Related work.** Schaeffer et al. (2023, arXiv 2304.15004) show that a choice of measure can make the same improvement look sudden or smooth. [Notebook 17](17_one_axis.ipynb) puts cross-entropy in the place of size.
