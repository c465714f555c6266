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
# # Appendix C: a sum of four terms
#
# A model gives every token a probability. The cross-entropy (CE) is the mean of $-\log p$, where $p$ is the probability of the true token. If two true tokens have probabilities 0.5 and 0.1, CE is $(0.69 + 2.30)/2 = 1.50$ nats (all logarithms are natural). A token's *rank* $k$ is its place when all tokens are sorted, the most probable first.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_11.py).*
#
# Appendix C of the paper takes the probability of each rank from a curve, the *lognormal*. In it, $\ln k$ follows the bell of a normal distribution. The bell has the mean $\mu$ and the standard deviation $\sigma$. The paper fits such a curve to the ranks that Pythia-12B gives to the true tokens of Wikipedia:

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
import sympy as sp
from scipy import special, stats

from rbpkit import paper
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_11 as draw
from rbpkit_notebooks import rank_laws

check_parameters(globals())

# %%
m, s = -14.29, 5.76  # mu and sigma of Pythia-12B
used = stats.norm.sf(0, m, s)  # the area to the right of ln k = 0
draw.bell(m, s, used, figures_dir)

# %% [markdown]
# Why is $\mu$ negative? Most tokens that Pythia-12B reads have rank 1, and each further rank is rarer. So the curve has to fall from rank 1 on. A bell falls to the right of its centre, so the centre lies to the left of rank 1.
#
# From the bell to a probability there are two steps. First, take the height of the bell at $\ln k$, and divide it by $k$. This gives $\psi(k)$, the height of the curve at rank $k$. Second, divide each height by the sum $c$ of all heights: $p_k = \psi(k)/c$. What happens to $c$ and to $p_1$ if all heights become ten times smaller? Here are three ranks:

# %%
three = np.array([0.1, 0.05, 0.05])
for heights in (three, three / 10):
    c = heights.sum()
    p = heights / c  # so that they add up to 1
    neg_log_p1 = -np.log(p[0])
    print(f"log c = {np.log(c):.2f}, -log p_1 = {neg_log_p1:.2f}")

# %% [markdown]
# **$\log c$ falls by 2.30, and $-\log p_1 = \log c - \log\psi(1)$ stays the same**, because $\log\psi(1)$ falls as much. So a change of $\log c$ alone says nothing about the probabilities.
#
# ## What dominates?
#
# By this curve CE is a sum of four terms. For Pythia-12B they are
#
# $$\underbrace{\log c}_{-4.81} + \underbrace{\log\sqrt{2\pi}\,\sigma}_{2.67} + \underbrace{\mu^2/2\sigma^2}_{3.08} + \underbrace{\text{fraction}}_{2.23} = \underbrace{\mathrm{CE}}_{3.17}$$
#
# The first three add up to $-\log p_1$. The last, called the fraction, is what CE has beyond $-\log p_1$.
#
# **Guess first.** When models grow, the paper calls one of these terms "the dominant part of CE", and another "asymptotically negligible". Which ones?
#
# The paper prints $\mu$ and $\sigma$ of four Pythias. `closed_form` computes $\log c$ and the fraction from them; its formulas follow in the second half.

# %%
root_2pi = np.sqrt(2 * np.pi)


def four_terms(mu, sigma):
    """A row for each model: the four terms, and their sum."""
    by_curve = rank_laws.closed_form(mu, sigma)
    terms = pd.DataFrame({"log c": by_curve.log_c}, mu.index)
    terms["log sqrt(2 pi) sigma"] = np.log(root_2pi * sigma)
    terms["mu^2 / 2 sigma^2"] = mu**2 / (2 * sigma**2)
    terms["fraction"] = by_curve.fraction
    terms["CE"] = terms.sum(axis=1)
    return terms


four = paper.lognormal_params().set_index("model")  # what the paper prints
terms = four_terms(four["mu"], four["sigma"])
draw.stairs(terms.loc["pythia-12b"], figures_dir)
terms.round(2)

# %% [markdown]
# **The "dominant" term is $\log c$, which is negative. The "negligible" one is the fraction, and at 12B it is 70% of CE.**
#
# > **The paper** wants to explain why CE and $-\log p_1$ fall almost alike when models grow. It says: "as |µ| increases, log(c) becomes the dominant part of CE", and the fraction is "asymptotically negligible compared to log(c)". (Appendix C)
#
# But as with the three ranks, $\log c$ falls together with $\log\psi(1)$, the height at rank 1. Of the three terms of $-\log p_1$, the first is $\log c$. The second and the third together are $-\log\psi(1)$:
#
# $$-\log p_1 = \log c - \log\psi(1), \qquad -\log\psi(1) = \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2}$$
#
# When $\log c$ falls, $\log\psi(1)$ falls too, so the second and third terms rise. By how much?

# %%
change = terms.loc["pythia-12b"] - terms.loc["pythia-14m"]
print(change.round(1).to_string())  # from 14M to 12B

# %% [markdown]
# **From 14M to 12B $\log c$ falls by 4.4 nats, and the next two terms rise by 0.4 and 3.0.** So $\log c$ dominates neither $-\log p_1$ nor CE. Is the fraction most of CE for other models, too? The paper's Figure 8b has ten Pythias, and their $\mu$ and $\sigma$ can be computed from it. (For 12B these give a CE of 3.16; the rounded ones, which are printed, give 3.17.)

# %%
laws = rank_laws.published_laws()  # ten Pythias
m, s = laws["mu"], laws["sigma"]
path = laws[["model", "S"]].assign(b=-m / s**2)  # b is used in the second half
path = path.join(four_terms(m, s))
path["-log p_1"] = path["CE"] - path["fraction"]

share = path["fraction"] / path["CE"]
print(f"the fraction is {share.iloc[0]:.0%} (14M) to {share.iloc[-1]:.0%} (12B) of CE")
draw.area(path, share, figures_dir)

# %% [markdown]
# The CE that is measured for 12B is 1.96, and not 3.17 ([notebook 08](08_section_5_2_two_laws.ipynb)). Pythia-12B gives every context its own probabilities, and in many contexts it is sure. The curve has one set of probabilities for all contexts. It is less sure than the model is in most of them, so its CE is larger.
#
# ## The derivation
#
# This half is for readers of the appendix (arXiv version). All of its steps are right, except for the conclusion.
#
# **The distribution.** With the density $\varphi$ of the normal distribution,
#
# $$p_k = \frac{\psi(k)}{c}, \qquad \psi(x) = \frac{1}{x\,\sigma}\,\varphi\Big(\frac{\ln x-\mu}{\sigma}\Big), \qquad c = \sum_{k\ge1}\psi(k) \tag{10, 11, 12}$$
#
# **Both losses, exactly.** Eq. 16 is $-\log p_k$ at $k = 1$, where $\ln k = 0$. Eq. 17 is the mean of $-\log p_k$ over all ranks. $\mathrm E$ stands for such a mean:
#
# $$-\log p_1 = \log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2} \tag{16}$$
#
# $$\mathrm{CE} = -\sum_k p_k \log p_k = \log c + \log\sqrt{2\pi}\,\sigma + \mathrm E[\ln k] + \frac{\mathrm E[(\ln k-\mu)^2]}{2\sigma^2} \tag{17}$$
#
# Their difference is the fraction. If we expand the square, $\mu^2$ cancels. (The paper does not have this line.)
#
# $$\boxed{\;\text{fraction} = \mathrm{CE} - (-\log p_1) = (1+b)\,\mathrm E[\ln k] + \frac{\mathrm E[(\ln k)^2]}{2\sigma^2}, \qquad b = -\frac{\mu}{\sigma^2}\;}$$
#
# **Sums become integrals.** The paper replaces each sum by an integral and half of the first term (the trapezoid rule): $\sum_{k\ge1} f(k) \approx \int_1^\infty f + \tfrac12 f(1)$. Let $P = \Phi(\mu/\sigma)$ be the area of the bell to the right of 0, which is black in the first figure. From here on, let $\varphi$ be $\varphi(\mu/\sigma)$. Then
#
# $$\int_1^\infty \psi = P, \quad \int_1^\infty \ln x\;\psi = \mu P + \sigma\varphi, \quad \int_1^\infty (\ln x)^2\,\psi = (\mu^2+\sigma^2)P + \mu\sigma\varphi \tag{13, 14, 15}$$
#
# The first integral gives $c$, with $\psi(1) = \varphi/\sigma$. The other two, divided by $c$, are $\mathrm E[\ln k]$ and $\mathrm E[(\ln k)^2]$. (For these two $\tfrac12 f(1)$ is 0, because $\ln 1 = 0$.) Put them into the boxed line:
#
# $$c \approx P + \frac{\varphi}{2\sigma} \tag{20}$$
#
# $$\text{fraction} \approx \frac1c\Big[P\Big(\frac{\sigma^2-\mu^2}{2\sigma^2} + \mu\Big) + \varphi\Big(\sigma - \frac{\mu}{2\sigma}\Big)\Big] \tag{21, 26}$$
#
# `closed_form` computes these two. SymPy can integrate the boxed line at once. Does it find the bracket of Eq. 26?

# %%
mu = sp.symbols("mu", real=True)
sigma, L = sp.symbols("sigma L", positive=True)  # L is ln x
root = sp.sqrt(2 * sp.pi)
T = (L - mu) / sigma
bell = sp.exp(-(T**2) / 2) / (root * sigma)  # psi(x) dx, as a density of L
b = -mu / sigma**2
boxed = (1 + b) * L + L**2 / (2 * sigma**2)
integral = sp.integrate(boxed * bell, (L, 0, sp.oo))

# %%
ratio = mu / sigma
phi = sp.exp(-(ratio**2) / 2) / root
P = (1 + sp.erf(ratio / sp.sqrt(2))) / 2  # SymPy writes Phi with the error function
with_P = P * ((1 - ratio**2) / 2 + mu)
with_phi = phi * (sigma - ratio / 2)
difference = integral - with_P - with_phi
difference = difference.rewrite(sp.erf)
print("difference from Eq. 26:", sp.simplify(difference))

# %% [markdown]
# **Exercise 1.** The trapezoid rule can fail. For $\sigma = 3$, at which $\mu$ does the closed form give $p_1 = 1$? Give two decimals.
#
# <details><summary>Hint</summary><code>scipy.optimize.brentq</code> finds a zero of <code>rank_laws.closed_form(mu, 3).neg_log_p1</code>.</details>

# %%
answer_1 = None  # a number
draw.check(1, answer_1)

# %% [markdown]
# **The limit.** Let $\mu/\sigma \to -\infty$ and $\sigma\to\infty$. Far out in the tail of a bell, $P/\varphi$ is nearly $\sigma/|\mu|$ (*Mills' ratio*). So it goes to 0 (Eq. 22). $\psi(1)/\varphi = 1/\sigma$ goes to 0, too (23). So by Eq. 20 $c/\varphi$ goes to 0 (24). In the end $c < \varphi$, and
#
# $$-\log c > -\log\varphi = \tfrac12\log 2\pi + \frac{\mu^2}{2\sigma^2} \;\to\; \infty \tag{25}$$
#
# So $\log c \to -\infty$. But what does $-\log p_1$ do? By Eq. 20 it is
#
# $$-\log p_1 = \log\frac{c}{\psi(1)} = \log\Big(\frac12 + \sigma\,\frac P\varphi\Big) \;\to\; \log\Big(\frac12 + \frac1b\Big) \qquad\text{at fixed } b,$$
#
# because $P/\varphi$ is nearly $\sigma/|\mu|$, and $\sigma^2/|\mu|$ is $1/b$. **Here the paper's conclusion does not follow: $-\log p_1$ has a finite limit while $\log c$ goes to $-\infty$.**
#
# This is the limit by the trapezoid rule. For the exact one, divide $\psi(k)$ by $\psi(1)$ and expand the square:
#
# $$\frac{p_k}{p_1} = k^{-(1+b)}\,e^{-(\ln k)^2/2\sigma^2}$$
#
# When $\sigma\to\infty$ the last factor goes to 1. What is left is **Zipf's law**, $p_k \propto k^{-(1+b)}$. The sum of all $k^{-(1+b)}$ is Riemann's function $\zeta(1+b)$, `special.zeta` in SciPy, so $p_1 \to 1/\zeta(1+b)$. In the boxed line the second part goes to 0. What is left there is $\mathrm E[\ln k]$, which goes to $\sum_k k^{-(1+b)}\ln k\,/\,\zeta(1+b)$. The derivative of $k^{-s}$ in $s$ is $-k^{-s}\ln k$, so this sum is $-\zeta'(1+b)$:
#
# $$-\log p_1 \to \log\zeta(1+b), \qquad \text{fraction} \to -(1+b)\,\frac{\zeta'(1+b)}{\zeta(1+b)}$$
#
# `rank_sums` is `closed_form` with sums over all ranks in place of the trapezoid rule:

# %%
b = path["b"].iloc[-1]  # of 12B, 0.43
rows = {}
for sigma in (5.76, 30, 300):  # that of 12B, and larger ones at the same b
    mu = -b * sigma**2
    by_sum = rank_laws.rank_sums(mu, sigma)
    closed = rank_laws.closed_form(mu, sigma)
    rows[f"sigma = {sigma}"] = (by_sum.neg_log_p1.item(), closed.neg_log_p1)
in_closed_form = np.log(0.5 + 1 / b)
rows["limit"] = (np.log(special.zeta(1 + b)), in_closed_form)
by_both = pd.DataFrame(rows, index=["-log p_1, sum", "-log p_1, closed form"])
by_both.T.astype(float).round(2)

# %% [markdown]
# On the way to the limit $-\log p_1$ changes by about 0.1. Is the fraction small compared with $-\log p_1$?


# %%
def zipf(b, h=1e-5):
    """-log p_1 and the fraction of Zipf's law, in nats."""
    above = np.log(special.zeta(1 + b + h))
    below = np.log(special.zeta(1 + b - h))
    slope = (above - below) / (2 * h)  # of log zeta, which is zeta' / zeta
    neg_log_p1 = np.log(special.zeta(1 + b))
    return neg_log_p1, -(1 + b) * slope


neg_log_p1, zipf_fraction = zipf(np.geomspace(0.01, 20, 400))
least = (zipf_fraction / neg_log_p1).min()
print(f"fraction over -log p_1, in the limit: at least {least:.2f}")

# %% [markdown]
# **Compared with $-\log p_1$ the fraction is not negligible: at all 400 values of $b$, from 0.01 to 20, it is more than twice as large.** It is negligible compared with $\log c$, as the paper says, because $\log c \to -\infty$. But the paper's conclusion is about CE and $-\log p_1$.
#
# **Exercise 2.** What is $-\log p_1$ for Zipf's law with $b = 1$? Give two decimals.
#
# <details><summary>Hint</summary><code>special.zeta</code>, or the known sum of 1/k².</details>

# %%
answer_2 = None  # nats
draw.check(2, answer_2)

# %% [markdown]
# **Exercise 3, to discuss** (no check; see [the solutions](../docs/solutions/11_appendix_C_derivation.md)). $\mu/\sigma\to-\infty$ alone does not fix the limit. Use `rank_laws.rank_sums` on three paths: $\sigma = 6$ and $\mu = -6w$; $\sigma = w$ and $\mu = -0.4\,w^2$; $\sigma = w$ and $\mu = -w^{1.5}$. Let $w$ grow. Where does $-\log p_1$ go on each, and why?
#
# <details><summary>Hint</summary>Work out b on each path.</details>
#
# ## Further questions
#
# <details><summary>How good is the trapezoid rule?</summary>
#
# For the paper's models it makes CE up to 3% too high, more so for larger models.
#
# </details>

# %%
by_sum = rank_laws.rank_sums(four["mu"], four["sigma"])
(terms["CE"] / by_sum.CE).round(3)  # CE by the trapezoid rule, divided by CE by the sum

# %% [markdown]
# ## The paper says, we get
#
# "log(c) becomes the dominant part of CE" does not hold: at 12B $\log c$ is $-4.81$, and $\mu^2/2\sigma^2$ gives 3.08 of it back. "Asymptotically negligible compared to log(c)" holds in part: compared with $\log c$ the fraction is negligible, compared with $-\log p_1$ it is not.

# %%
draw.claims(path, least, figures_dir)

# %% [markdown]
# **What this cannot show.** Whether token probabilities within one context are lognormal is not tested here. Nearly any CE and $-\log p_1$ can be turned into a $\mu$ and a $\sigma$. So the ten pairs describe the models and test nothing.
#
# **Related work.** Piantadosi ([2014](https://doi.org/10.3758/s13423-014-0585-6)) reviews why the frequencies of words follow their ranks nearly by Zipf's law.
#
# [Glossary](../docs/glossary.md)
