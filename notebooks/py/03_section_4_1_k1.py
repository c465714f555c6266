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
# # Section 4.1: the law at $k = 1$
#
# A language model reads a text token by token; a token is a word or a piece of a word. Before each token, the model ranks all tokens that it knows by their probability. $\mathrm{RBP}_k$ is the share of the text's tokens with a rank of at most $k$. On Wikipedia, the smallest model of the Pythia family has $\mathrm{RBP}_1 = 0.33$: it puts the true token first in 33 of 100 cases. The next larger model has 0.37.
#
# The **size** $S$ of a model is its number of parameters without embeddings. (A model's name counts the embeddings too. The smallest Pythia is called 14M, and its $S$ is 1.2 million.) The **loss** is $-\log \mathrm{RBP}_1$, with the natural logarithm. It is 1.10 for the smallest Pythia and 0.99 for the next. Here are the two, on logarithmic axes.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_03.py).*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured; []: all
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]  # []: all
records_dir = ""  # a folder of records of your own; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy import stats

from rbpkit import fit_curves, fit_power_law, paper
from rbpkit.check import check_parameters
from rbpkit.stats.curves import published_curves
from rbpkit_notebooks import notebook_03 as draw

check_parameters(globals())

# %%
published = published_curves(1)  # (text, family) -> the points of the paper's Figure 3
pythia = published["Wiki", "Pythia"]
draw.puzzle(pythia, figures_dir)

# %% [markdown]
# **Guess first.** The largest Pythia has 9,500 times the $S$ of the smallest. Where is it: at A, B or C? By which factor is its loss smaller?
#
# Why a loss, and not $\mathrm{RBP}_1$ itself? A share cannot be larger than 1, so it cannot keep growing as a power of $S$. The loss can keep falling. It is infinite for a model that is never right, and comes close to 0 for one that is nearly always right.
#
# **Exercise 1.** A power law, loss $= C\,S^{-\alpha}$, is a straight line on logarithmic axes. Draw the line through the two points of the picture: $S = 1.19$ million with a loss of 1.1000, and $S = 4.74$ million with 0.9905. What is $\alpha$, to three decimals?
#
# <details><summary>Hint</summary>The slope is the difference of the log losses, divided by the difference of log S. The exponent alpha is minus the slope.</details>

# %%
answer_1 = None  # alpha
draw.check(1, answer_1)

# %%
ratio = pythia.S[-1] / pythia.S[0]
fall = pythia.loss[0] / pythia.loss[-1]
print(f"{ratio:,.0f} times the parameters: the loss falls by a factor of {fall:.2f}")
study = draw.read_study(records_dir, families, corpus_names)
draw.figure_3(published, study, figures_dir)

# %% [markdown]
# *The 24 models of the paper on Wikipedia, both axes logarithmic.*
#
# **B: almost ten thousand times the parameters only halve the loss.** And how straight is the curve? `pythia` has the ten points. We lay a ruler through the two smallest models.

# %%
x = np.log(pythia.S)
y = np.log(pythia.loss)
rise = y[1] - y[0]
slope = rise / (x[1] - x[0])  # of a ruler through the first two
log_of_ruler = y[0] + slope * (x - x[0])
on_ruler = np.exp(log_of_ruler)
print(f"for the largest: ruler {on_ruler[-1]:.3f}, measured {pythia.loss[-1]:.3f}")
off_ruler = 100 * (pythia.loss / on_ruler - 1)
between = off_ruler[2:-1]  # all but the first two and the largest
print(f"in between: {between.min():.1f} to {between.max():.1f}% off the ruler")

# %% [markdown]
# For the largest model the ruler gives 0.549, and the paper measured 0.547. This is partly luck: the models in between lie up to 6% below the ruler. Still, the points follow a line over four decades of $S$. (A decade is a factor of ten.)
#
# > **The paper.** "Across all model series and all datasets, RBP1 exhibits precise power-law relationship with model sizes" (Figure 3)
# >
# > $$-\log \mathrm{RBP}_1 \propto S^{-\alpha_1}$$
#
# ## The line by hand
#
# A ruler through two points uses two models. Least squares uses all ten. For model $i$, let $x_i = \log S_i$ and $y_i = \log(-\log \mathrm{RBP}_1)$; a bar means an average over the models. The slope of the line is
#
# $$b = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}{\sum_i (x_i - \bar x)^2},$$
#
# and $\alpha_1 = -b$. Model $i$ lies $e_i = y_i - \bar y - b\,(x_i - \bar x)$ above the line. The usual measure of straightness is $R^2$, which is 1 if all points are on the line:
#
# $$R^2 = 1 - \frac{\sum_i e_i^2}{\sum_i (y_i - \bar y)^2} .$$

# %%
dx = x - x.mean()
dy = y - y.mean()
b = sum(dx * dy) / sum(dx**2)
e = dy - b * dx  # how far each model is above the line
R2 = 1 - sum(e**2) / sum(dy**2)
print(f"alpha = {-b:.4f}, R2 = {R2:.4f}")

# %% [markdown]
# How sure is this slope? The paper does not say. Suppose that the $e_i$ of the $n$ models are independent and normal, all with the same variance. Then the slope has this standard error $s$ and this 95% interval:
#
# $$s = \sqrt{\frac{\sum_i e_i^2}{(n - 2) \sum_i (x_i - \bar x)^2}}, \qquad b \pm t_{0.975,\,n-2}\; s .$$

# %%
n = len(x)
variance = sum(e**2) / (n - 2)  # the line took two degrees of freedom
s = np.sqrt(variance / sum(dx**2))
t = stats.t.ppf(0.975, n - 2)  # 95% of Student's t lie within -t and t
print(f"alpha from {-b - t * s:.4f} to {-b + t * s:.4f}")

# %% [markdown]
# Figure 3 shows four families on four texts, so it has sixteen curves. `published` has all of them: the sizes `S`, the shares `value`, and the losses `loss`. `fit_curves` fits a line to each, as we did by hand. Table 1 of the paper prints the slope and the $R^2$ of these sixteen lines. It also prints them for two more texts, so for eight more lines, but no figure shows their points. So we draw 16 lines and judge the $R^2$ of 24.

# %%
lines = fit_curves(published.values()).table
lines["alpha"] = -lines["slope"]
table1 = paper.table1().query("k == '1'")
printed = table1.rename(columns={"dataset": "corpus", "slope": "printed"})
both = lines.merge(printed, on=["corpus", "family"])
off = (both["slope"] - both["printed"]).abs()
print(f"{len(both)} slopes differ from those of Table 1 by at most {off.max():.4f}")
straight = table1["r2"] >= 0.97  # our margin
print(f"R2 of 0.97 or more: {straight.sum()} of {len(table1)}; lowest {table1['r2'].min()}")

# %%
of_pythia = lines.query("corpus == 'Wiki' and family == 'Pythia'")
assert np.allclose(of_pythia["slope"], b)  # as by hand
assert np.allclose(of_pythia["high"], b + t * s)
print(f"alpha from {lines['alpha'].min():.3f} to {lines['alpha'].max():.3f}")
draw.exponents(lines, figures_dir)

# %% [markdown]
# *The sixteen lines of Figure 3. The long bar is GPT-2 on HumanEval. It has only four models, and its slope is so uncertain that the interval contains 0.*
#
# The exponents are small, but they differ. On AusLegal, Qwen's whole interval lies above Pythia's. Pythia's interval on HumanEval lies above its interval on HotpotQA. How straight are the lines? Of the 24 lines of Table 1, 22 have an $R^2$ of at least 0.97. The lowest $R^2$ is 0.895, for GPT-2 on HumanEval.
#
# **Exercise 2.** By which factor $f$ must $S$ grow until the fitted line of Pythia on Wiki is half as high? Give $\log_{10} f$, to one decimal. (The largest model lies above the line, so $f$ is less than the 9,519 above.)
#
# <details><summary>Hint</summary>Solve f^-alpha = 1/2 for f.</details>

# %%
answer_2 = None  # a power of ten
draw.check(2, answer_2)

# %% [markdown]
# **Exercise 3.** Do straight lines show that $-\log$ is the right loss? Fit the plain miss rate, $1 - \mathrm{RBP}_1$, in place of the loss. On how many of the sixteen published lines does $R^2$ rise?
#
# <details><summary>Hint</summary>For each curve of published.values(), compare fit_power_law(curve.S, curve.loss).r2 with fit_power_law(curve.S, 1 - curve.value).r2.</details>

# %%
answer_3 = None  # lines
draw.check(3, answer_3)

# %% [markdown]
# [Lay the line yourself](../docs/explorables/law.html)
#
# ## How far can the line be trusted?
#
# A law should predict models that it was not fitted to. So we leave out the largest model of a family, fit a line to the others, and see how far the largest is from this line. GPT-2 has only four models, too few for this test.


# %%
def off_others(curve):
    """How far each model is above the line through all but the largest, in percent."""
    S, loss = curve.S, curve.loss  # by rising S
    others = fit_power_law(S[:-1], loss[:-1])
    on_line = others.predict(S).loss
    return 100 * (loss / on_line - 1)


# %%
above = {}
for (corpus, family), curve in published.items():
    if len(curve.S) >= 5:  # a line through at least four others
        above[family, corpus] = off_others(curve)[-1]
draw.residuals(published, off_others, figures_dir)
pd.Series(above).rename_axis(["family", "text"]).unstack().round(1)

# %% [markdown]
# *The figure shows the ten Pythias, in percent above the line through the nine smaller ones. The table has the largest model of each family, in percent above the line through the others.*
#
# **The line promises too much: on every text the loss of the largest Pythia is 2 to 8% above it.** (The rises and dips are nearly the same on all texts. So they come from the ten models, each of which was trained once, and not from the texts.) The loss of the largest OPT is above its line, too. The largest Qwen is close to its line. Why could a loss be too high? Perhaps it cannot fall to zero. Or the largest model was trained on too few tokens for its size.
#
# ## The paper says, we get
#
# "Precise power-law relationship" holds in part. We call a line straight if its $R^2$ is at least 0.97, and 22 of 24 lines are. "An $R^2$ of approximately 0.99" holds for the median of the 24 lines. The last column has the same tests on the *pocket models*, small models that we trained.

# %%
measured = draw.with_lines(study)
measured_lines = fit_curves(measured.values()).table
draw.claims(table1, measured_lines, records_dir, figures_dir)

# %% [markdown]
# **What this cannot show.** Tokens of one document are alike, so the true sampling error is larger than the usual formula says (see *Further questions*).
#
# **Related work.** Kaplan et al. (2020, arXiv 2001.08361) and Hoffmann et al. (2022, arXiv 2203.15556) fit power laws to the cross-entropy. Michaud et al. (2023, arXiv 2303.13506) derive them from skills that are learnt one by one.
#
# ## Further questions
#
# <details><summary>What do pocket models, or yours, look like?</summary>
#
# The pocket models follow the law less closely. Pythia's points bend, and Qwen's scatter. We cannot tell whether the law itself bends, because most sizes were trained only once ([notebook 13](13_pocket_models.ipynb)).
#
# </details>

# %%
draw.measured(study, figures_dir)

# %% [markdown]
# <details><summary>Is the largest Pythia's distance only sampling error?</summary>
#
# No. The sampling error says how much the loss would change with another sample of text. If $p = \mathrm{RBP}_1$ is measured on $T$ independent tokens, its standard error is $\sqrt{p(1-p)/T}$. As a share of the loss, the standard error of the loss is
#
# $$\frac{\mathrm{sd}(-\log p)}{-\log p} \approx \frac{1}{-\log p} \sqrt{\frac{1 - p}{p\,T}} .$$
#
# HotpotQA has the fewest tokens ([notebook 01](01_appendix_A_setup.ipynb)).
#
# </details>

# %%
p, T = published["HotpotQA", "Pythia"].value[-1], 24_782  # RBP_1, and the tokens of HotpotQA
# The standard error of the loss -log p, as a share of the loss
print(f"sampling error on HotpotQA: {np.sqrt((1 - p) / (p * T)) / -np.log(p):.1%}")

# %% [markdown]
# <details><summary>Where could a power of S come from?</summary>
#
# Here is one possible world, after Michaud et al. (2023). To predict a token, a model needs skills: a word, an idiom, a rule, a fact. Each skill costs the same number of parameters, so the number $n$ of a model's skills grows as $S$. It learns the most frequent skills first. A skill that a token needs is missing with probability $n^{-\gamma}$. The number of skills that a token needs is random, with a Poisson distribution of mean $\lambda$. Then the number of missing skills is Poisson too, with mean $\lambda n^{-\gamma}$. The model is right if no skill is missing, which has the probability $\mathrm{RBP}_1 = e^{-\lambda n^{-\gamma}}$. So the loss is $\lambda\, n^{-\gamma} \propto S^{-\gamma}$, a power of the size.
#
# </details>
