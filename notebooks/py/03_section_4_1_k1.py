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
# A text is a sequence of tokens (words or pieces of words). Before each token a model ranks all tokens it knows by their probability. On Wikipedia the smallest model of the Pythia family gives rank 1 to the token that really comes next in 33 of 100 cases, and the next larger one in 37. We write $\mathrm{RBP}_1$ for this share, and $\mathrm{RBP}_k$ for the share with a rank of at most $k$. $S$ is a model's number of parameters without embeddings; the names of models count these too, so 14M has $S$ = 1.2 million. The **loss** is $-\log \mathrm{RBP}_1$ ($\log$ is natural): 1.10 and 0.99 for these two models. Here they are, on logarithmic axes.

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
from rbpkit.stats.curves import published_curves
from rbpkit.study.params import check_parameters
from rbpkit_pocket.companions import notebook_03 as draw

check_parameters(globals())

# %%
published = published_curves(1)  # (text, family) -> the points of the paper's Figure 3
pythia = published["Wiki", "Pythia"]
draw.puzzle(pythia, figures_dir)

# %% [markdown]
# **Guess first.** The largest Pythia has 9,500 times the $S$ of the smallest. Where is it: at A, B or C? By which factor is its loss smaller?
#
# Why a loss, and not $\mathrm{RBP}_1$ itself? A share stops at 1, so it cannot follow a power of $S$ to ever larger models. Its $-\log$ can: it runs from infinity (never right) down to 0 (always right).
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
# **B: almost ten thousand times the parameters only halve the loss.** And how straight is the curve? `pythia` has the ten points: $S$ and the loss. We lay a ruler through the two smallest models.

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
# At the largest model the ruler is at 0.549, and the paper measured 0.547. This is partly luck, because the models in between lie up to 6% below the ruler. Still, over four decades (factors of ten) of $S$ the points follow a line:
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
# and $\alpha_1 = -b$. Model $i$ is $e_i = y_i - \bar y - b\,(x_i - \bar x)$ above the line. The usual measure of straightness is 1 for points on a line:
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
# How sure is this slope? The paper does not say. If the $e_i$ of the $n$ models are independent and normal with one variance, the standard error $s$ of the slope and its 95% interval are
#
# $$s = \sqrt{\frac{\sum_i e_i^2}{(n - 2) \sum_i (x_i - \bar x)^2}}, \qquad b \pm t_{0.975,\,n-2}\; s .$$

# %%
n = len(x)
variance = sum(e**2) / (n - 2)  # the line took two degrees of freedom
s = np.sqrt(variance / sum(dx**2))
t = stats.t.ppf(0.975, n - 2)  # 95% of Student's t lie within -t and t
print(f"alpha from {-b - t * s:.4f} to {-b + t * s:.4f}")

# %% [markdown]
# Figure 3 has four texts and four families of models, so sixteen curves. `published` has them all, each with the sizes `S`, the shares `value`, and the losses `loss`. `fit_curves` fits a line to each, as we did by hand. The paper's Table 1 prints these sixteen lines, and eight of two more texts whose points are in no figure. So we can draw 16 lines, and judge the $R^2$ of $16 + 8 = 24$.

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
# *The sixteen lines of Figure 3. The long bar is GPT-2 on HumanEval: with only four models its slope is so uncertain that the interval contains 0.*
#
# The exponents are small, but they are not one number: on AusLegal all of Qwen's interval is at larger exponents than Pythia's, and Pythia's own on HumanEval is at larger ones than on HotpotQA. How straight are the lines? On 22 of the 24 lines of Table 1 $R^2$ is at least 0.97; the lowest, 0.895, is that of GPT-2 on HumanEval.
#
# **Exercise 2.** By which factor $f$ must $S$ grow until the fitted line of Pythia on Wiki is half as high? Give $\log_{10} f$, to one decimal. (It is less than the 9,519 above, because the largest model lies above the line.)
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
# A law should predict. So we fit a line to all models of a family but the largest, and look at how far the largest is from it. GPT-2 is left out, because it has only four models.


# %%
def off_others(curve):
    """How far each model is above the line through all but the largest, in percent."""
    S, loss = curve.S, curve.loss  # by rising S
    others = fit_power_law(S[:-1], loss[:-1])
    on_line = others.predict(S).loss
    return 100 * (loss / on_line - 1)


# %%
def of_largest(curves):
    """The same for the largest model alone, a row for each family of five models or more."""
    rows = []
    for (corpus, family), curve in curves.items():
        if len(curve.S) >= 5:  # a line through at least four others
            of_last = off_others(curve)[-1]
            rows.append((family, corpus, of_last))
    if not rows:
        return "no family has five models on one text"
    table = pd.DataFrame(rows, columns=["family", "text", "above"])
    table = table.set_index(["family", "text"])["above"]
    return table.unstack().round(1)


# %%
draw.residuals(published, off_others, figures_dir)
of_largest(published)

# %% [markdown]
# *Green: each Pythia against the line of the nine smaller ones. Table: the largest model of each family, in percent above the line of the others.*
#
# **The line promises too much: on every text the loss of the largest Pythia is 2 to 8% higher.** (The rises and dips are nearly the same on all texts. So they come from the ten models, each of which was trained once, and not from the texts.) The loss of the largest OPT is higher, too. The largest Qwen does about as well as predicted. Two things would do this: a loss that cannot fall to zero, or a large model that was trained on too few tokens for its size.
#
# ## The paper says, we get
#
# "Precise power-law relationship" holds in part. We call a line straight if its $R^2$ is at least 0.97, and 22 of 24 lines are. "An $R^2$ of approximately 0.99" holds for the median of the 24 lines. The last column repeats each test on the *pocket models*, small ones that we trained and ship.

# %%
measured = draw.with_lines(study)
measured_lines = fit_curves(measured.values()).table
draw.claims(table1, measured_lines, records_dir, figures_dir)

# %% [markdown]
# **What this cannot show.** Four points prove little: the interval of GPT-2's exponent on HumanEval contains zero. Tokens of one document are alike, so the true sampling error is larger than that of the usual formula (under *Further questions*).
#
# **Related work.** Kaplan et al. (2020, arXiv 2001.08361) and Hoffmann et al. (2022, arXiv 2203.15556) fit power laws to the cross-entropy. Michaud et al. (2023, arXiv 2303.13506) derive them from skills that are learnt one by one.
#
# ## Further questions
#
# <details><summary>What do pocket models, or yours, look like?</summary>
#
# The pocket models, small ones that we trained on 12 million tokens each, follow the law less closely: Pythia's points bend and Qwen's scatter. Whether the law bends cannot be told, because most sizes were trained only once ([notebook 13](13_pocket_models.ipynb)). The largest Pythia, OPT and GPT-2 lie above the line of the others, the largest Qwen below it.
#
# </details>

# %%
draw.measured(study, figures_dir)
of_largest(measured)

# %% [markdown]
# <details><summary>Is the largest Pythia's distance only sampling error?</summary>
#
# No. The sampling error is what another sample of text would change. If $p = \mathrm{RBP}_1$ is measured on $T$ independent tokens, it is $\sqrt{p(1-p)/T}$ for $p$, and for the loss, as a share of it,
#
# $$\frac{\mathrm{sd}(-\log p)}{-\log p} \approx \frac{1}{-\log p} \sqrt{\frac{1 - p}{p\,T}} .$$
#
# HotpotQA has the fewest tokens ([notebook 01](01_appendix_A_setup.ipynb)).
#
# </details>

# %%
p, T = published["HotpotQA", "Pythia"].value[-1], 24_782
error = np.sqrt((1 - p) / (p * T)) / -np.log(p)
print(f"sampling error on HotpotQA: {error:.1%}")

# %% [markdown]
# <details><summary>Where could a power of S come from?</summary>
#
# Here is one possible world, after Michaud et al. (2023). To get a token right, a model needs some skills: a word, an idiom, a rule, a fact. A model knows the $n$ most frequent skills. Whenever a skill is needed, it is one that the model lacks with probability $n^{-\gamma}$. Each skill costs the same number of parameters, so $n \propto S$. How many skills a token needs is random, with a Poisson distribution of mean $\lambda$. The number of lacking skills is then Poisson too, with mean $\lambda n^{-\gamma}$. The model is right if this number is 0, which has the probability $\mathrm{RBP}_1 = e^{-\lambda n^{-\gamma}}$. Hence $-\log \mathrm{RBP}_1 = \lambda\, n^{-\gamma} \propto S^{-\gamma}$: the power law of the skills has become one in the size. (If each token needs exactly one skill, $1 - \mathrm{RBP}_1$ is an exact power law and the loss is not.) This is a possible explanation, not a proof.
#
# </details>
