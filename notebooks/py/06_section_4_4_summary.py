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
# A language model that has $k$ guesses for the next token (a word or a piece of one) is right if the true token is among its $k$ most probable ones. $\mathrm{RBP}_k$ is the share of a text's tokens on which this happens. The law says that the loss $-\log \mathrm{RBP}_k$ (natural logarithm) falls as a power of the model's size: as $S^{-\alpha_k}$, with $S$ the number of parameters without the embeddings. The exponent $\alpha_k$ itself depends on $k$:

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.check import check_parameters
from rbpkit.stats.curves import table1_curves
from rbpkit_notebooks import notebook_06 as draw

check_parameters(globals())
study = draw.read_study(records_dir, families, corpus_names)

# %%
figure_6 = paper.fit_by_k()  # the slope and R2 of Pythia's line at each k
slopes = figure_6[figure_6.quantity == "slope"]
wiki = slopes[slopes.dataset == "Wiki"]
alpha = -wiki.set_index("k").value  # a slope is minus an exponent
print(f"alpha at k = 1: {alpha[1]:.3f}, at k = 10,000: {alpha[10_000]:.3f}")
print(f"{alpha[10_000] / alpha[1]:.1f} times as large")

# %%
draw.exponents(figure_6, figures_dir)

# %% [markdown]
# *The exponent of ten Pythias on four texts (Figure 6b of the paper). Wikipedia is dark. The dashed line is the exponent of the cross-entropy, which is the mean of $-\log p$. Here $p$ is the probability that the model gives to the true token. The curves end at 20% of the vocabulary, as in the paper.*
#
# > **The paper.** "the scaling exponent increases as k increases". It is hard to optimise $\mathrm{RBP}_1$, "as the exponent is less than 0.1", and "optimizing RBP100 shall be easy, since the exponent is close to 0.2". (Section 4.4)
#
# On Wikipedia $\alpha_k$ is almost four times as large at $k$ = 10,000 as at $k$ = 1. Does that make success at large $k$ easier? "Easier" can mean several things. Here it means that a larger model needs fewer guesses. How many times fewer?
#
# **Guess first.** A small Pythia needs 10 guesses to be right on some share of Wiki. How many guesses does a Pythia 100 times as large need for the same share? How many does it need if the small one needs 10,000?

# %% [markdown]
# ## A map of the loss
#
# Think of a hillside. East is a larger model, north is more guesses, and the height is the logarithm of the loss $L = -\log \mathrm{RBP}_k$. The slope downhill to the east is $\alpha$. The slope downhill to the north is called $\beta$:
#
# $$\alpha = -\frac{\partial \log L}{\partial \log S}, \qquad \beta = -\frac{\partial \log L}{\partial \log k} .$$
#
# Walk from a small model to a larger one and stay at one height, so that the share of tokens that succeed stays the same. Then you walk to the south-east: the larger model needs fewer guesses. By the chain rule their number falls as
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
# East: one slope for each k, then the mean of two neighbours
alpha_at_k = -np.polyfit(log_S, log_loss.T, 1)[0]
alpha_between = (alpha_at_k[1:] + alpha_at_k[:-1]) / 2

# North: how far the loss falls from one k to the next, as a mean over the models
fall = -np.diff(log_loss, axis=0)
beta_between = fall.mean(axis=1) / np.diff(np.log(ks))

b = alpha_between / beta_between
fewer = 100**b  # for a model 100 times as large

# %%
saved = pd.DataFrame({"k from": ks[:-1], "k to": ks[1:], "alpha": alpha_between})
saved = saved.assign(beta=beta_between, b=b, fewer=fewer)
draw.hillside(log_S, log_loss, ks, saved, figures_dir)
print("alpha, beta and b between two k, and 100^b:")
saved.round(2)

# %% [markdown]
# *Ten Pythias on Wikipedia. On a grey line the share of tokens that succeed is constant (percent); from one line to the next the loss halves. The grey lines are interpolated between six values of $k$, so they have kinks there. A black line has the mean direction of the grey lines around it, and goes from a model to one 100 times as large.*
#
# **A Pythia 100 times as large needs 3.1 times fewer guesses at $k$ = 1 to 10, 5.3 times fewer from 10 to 500, and only 2.6 times fewer beyond 2,500, although the exponent $\alpha$ keeps growing.**
#
# Since $b = \alpha/\beta$, we have $\alpha = b\,\beta$: the exponent grows if $b$ grows or if $\beta$ grows. From $k$ = 10 to 500, $b$ is larger than from 1 to 10. (How much larger is not certain.) At larger $k$, $b$ falls, and $\alpha$ still grows because $\beta$ does: the loss falls faster with more guesses. So a larger exponent alone is no sign of an easier task.
#
# <details><summary>Is the first of these numbers certain?</summary>
#
# No. Since $k$ is a whole number, its logarithm makes a large step from 1 to 2, and $k - 1/2$ would serve as well as $k$ for the axis.
#
# </details>
#
# **Exercise 1.** The first figure has Pythia's exponent on Wiki at 20 values of $k$. Which is the smallest of them at which it is at least twice the exponent of cross-entropy?
#
# <details><summary>Hint</summary>The exponents are in <code>alpha</code>; that of cross-entropy is 0.087.</details>

# %%
answer_1 = None
draw.check(1, answer_1)

# %% [markdown]
# **Exercise 2.** A Pythia is right on some share of Wiki within $k$ guesses, with $k$ between 10 and 100. By which factor $f$ must $S$ grow until half as many guesses are enough? To the nearest whole number.
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
# <details><summary>Is the line straight at every k?</summary>
#
# "We can see that R2 values remain high (above 0.9) when k < 1000", says the paper of Figure 6a, which is true of its 60 lines. In Table 1 it is true of 91 of 96. It fails most clearly for GPT-2 on Github, and on the short text HumanEval at the largest $k$, where few tokens are missed (notebook 05).
#
# </details>

# %%
cells = paper.table1().query("k in ['1', '10', '100', '500']")
print(f"Table 1: {(cells['r2'] > 0.9).sum()} of {len(cells)} lines have an R2 above 0.9")
draw.straightness(figure_6, figures_dir)

# %% [markdown]
# <details><summary>Do the exponents of the pocket models, or of yours, grow too?</summary>
#
# Yes, at all of the 24 tenfold steps up to $k$ = 100. (Pocket models are the small ones that come with `rbpkit`.) Their lines are straight too: 172 of 180 have an $R^2$ above 0.9. The other eight are all pocket Qwen's on `humaneval`.
#
# </details>

# %%
fits = draw.fits_by_k(study)  # a line for each k of Figure 6
bent = fits.query("k < 1000 and R2 <= 0.9")
counts = bent.groupby(["family", "corpus"])["k"].count()
print("R2 of 0.9 or less:", counts.to_dict())
draw.measured_exponents(fits, figures_dir)

# %% [markdown]
# <details><summary>Is the exponent below 0.1 at k = 1, and close to 0.2 at k = 100?</summary>
#
# Below 0.1 at $k$ = 1: on all four texts. Close to 0.2 at $k$ = 100: on Wiki (0.196) and HumanEval (0.193), not on AusLegal (0.147) and HotpotQA (0.103).
#
# </details>

# %%
at_1_and_100 = slopes.query("k in [1, 100]")
-at_1_and_100.pivot(index="dataset", columns="k", values="value").round(3)

# %% [markdown]
# ## The paper says, we get
#
# "the scaling exponent increases as k increases" holds in part: in Figure 6 it grows at 39 of 40 steps between neighbouring $k$ up to 100, and at 72 of all 76 steps up to 10,000. The four falls are all on HumanEval. In Table 1 it grows at 46 of 48 tenfold steps. The paper also says that "optimizing RBP100 shall be easy, since the exponent is close to 0.2". The exponent alone cannot tell us that.


# %%
def growing(table, ks):
    """At how many steps from one k to the next the exponent grows, and of how many."""
    rising = table[table["k"].isin(ks)].sort_values("k")
    step = rising.groupby(["corpus", "family"])["slope"].diff().dropna()
    return (step < 0).sum(), len(step)


of_pythia = slopes.rename(columns={"dataset": "corpus", "value": "slope"})
of_pythia = of_pythia.assign(family="Pythia")
all_ks = sorted(of_pythia["k"].unique())
to_100 = [k for k in all_ks if k <= 100]
print("up to k = 100: {} of {} steps".format(*growing(of_pythia, to_100)))
print("all steps: {} of {}".format(*growing(of_pythia, all_ks)))
draw.claims(figure_6, fits, growing, b, records_dir, figures_dir)

# %% [markdown]
# **What this cannot show.** Fits at neighbouring $k$ are made of the same models and the same text, so they are not independent pieces of evidence. The pocket models are small, were trained briefly, and have a small vocabulary; any of these may change their exponents. How hard it is to optimise $\mathrm{RBP}_k$ would have to be measured by optimising it.
#
# **In other notebooks.** Notebook 17 puts cross-entropy in the place of size. Notebook 10 tests the paper's law in $k$, with one $\beta$ for each model for $k$ up to 100, and asks how much size a doubled $k$ is worth.
