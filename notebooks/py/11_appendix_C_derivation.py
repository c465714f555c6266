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
# Appendix C of the paper gets probabilities from a curve: its height $\psi(k)$ at rank $k$ is divided by the sum $c$ of all heights. Here are three ranks, and then the same three with all heights divided by ten:

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
import sympy as sp
from scipy import special, stats

from rbpkit import paper
from rbpkit.study.params import check_parameters
from rbpkit_pocket.companions import notebook_11 as draw
from rbpkit_pocket.findings import rank_laws

check_parameters(globals())

# %%
three = np.array([0.1, 0.05, 0.05])
for heights in (three, three / 10):
    c = heights.sum()
    p = heights / c  # so that they add up to 1
    neg_log_p1 = -np.log(p[0])
    print(f"log c = {np.log(c):.2f}, -log p_1 = {neg_log_p1:.2f}")

# %% [markdown]
# **$\log c$ falls by 2.30, and $-\log p_1 = \log c - \log\psi(1)$ stays what it was**, because $\log\psi(1)$ falls as much. So a change of $\log c$ alone says nothing about the probabilities.
#
# ## What dominates?
#
# The paper's curve is a *lognormal*: $\ln k$ follows the bell of a normal distribution with mean $\mu$ and standard deviation $\sigma$. Ranks start at 1, so only $\ln k \ge 0$ counts. For Pythia-12B $\mu = -14.29$ and $\sigma = 5.76$: the middle of the bell lies far to the left of $\ln k = 0$, and only the part to the right of 0 is used. By this curve CE is a sum of four terms. For 12B they are
#
# $$\underbrace{\log c}_{-4.81} + \underbrace{\log\sqrt{2\pi}\,\sigma}_{2.67} + \underbrace{\mu^2/2\sigma^2}_{3.08} + \underbrace{\text{fraction}}_{2.23} = \underbrace{\mathrm{CE}}_{3.17}$$
#
# The last term is a long quotient over $c$ (Eq. 26 below). For now it is what CE has beyond $-\log p_1$, the sum of the first three.
#
# **Guess first.** When models grow, the paper calls one of these terms "the dominant part of CE", and another "asymptotically negligible". Which ones?
#
# The paper prints $\mu$ and $\sigma$ of four Pythias. `closed_form` computes $c$ and the fraction from them (Eqs. 20 and 26, derived in the second half):

# %%
four = paper.lognormal_params().set_index("model")  # what the paper prints
m, s = four["mu"], four["sigma"]
by_curve = rank_laws.closed_form(m, s)

root_2pi = np.sqrt(2 * np.pi)
terms = pd.DataFrame({"log c": by_curve.log_c}, four.index)
terms["log sqrt(2 pi) sigma"] = np.log(root_2pi * s)
terms["mu^2 / 2 sigma^2"] = m**2 / (2 * s**2)
terms["fraction"] = by_curve.fraction
terms["CE"] = terms.sum(axis=1)
terms.round(2)

# %%
draw.stairs(terms, figures_dir)
share = terms["fraction"] / terms["CE"]
print(f"12B: the fraction is {share['pythia-12b']:.0%} of CE")

# %% [markdown]
# *Each term begins where the one before ends.*
#
# **The "dominant" term is $\log c$, which is negative. The "negligible" one is the fraction, and at 12B it is 70% of CE.**
#
# > **The paper** wants to explain why CE and $-\log p_1$ fall almost alike when models grow. It says: "as |µ| increases, log(c) becomes the dominant part of CE", and the fraction is "asymptotically negligible compared to log(c)". (Appendix C)
#
# Here $p_1$ is the probability of rank 1. The first three terms together are $-\log p_1$ (Eq. 16 below), and the fraction is all that CE has in addition. As in the toy, $\log c$ falls together with the height at rank 1:
#
# $$-\log p_1 = \log c - \log\psi(1), \qquad \log\psi(1) = -\log\sqrt{2\pi}\,\sigma - \frac{\mu^2}{2\sigma^2}$$
#
# How much of the fall is given back?

# %%
change = terms.loc["pythia-12b"] - terms.loc["pythia-14m"]
print(change.round(1).to_string())  # from 14M to 12B

# %% [markdown]
# **From 14M to 12B $\log c$ falls by 4.4 nats, and the next two terms give back 3.0 and 0.4 of them.** So $\log c$ dominates neither $-\log p_1$ nor CE. Most of CE is the fraction, for all ten Pythias. (Their $\mu$ and $\sigma$ are recovered from Figure 8b; they give 12B a CE of 3.16, and the printed ones 3.17.)

# %%
laws = rank_laws.published_laws()  # ten Pythias
m, s = laws["mu"], laws["sigma"]
at_ten = rank_laws.closed_form(m, s)
path = laws[["model", "S"]].assign(b=-m / s**2)
path["log c"] = at_ten.log_c
path["log sqrt(2 pi) sigma"] = np.log(root_2pi * s)
path["mu^2 / 2 sigma^2"] = m**2 / (2 * s**2)
path["-log p_1"] = at_ten.neg_log_p1
path["fraction"] = at_ten.fraction
path["CE"] = at_ten.CE

# %%
share = path["fraction"] / path["CE"]
smallest, largest = share.iloc[0], share.iloc[-1]
print(f"the fraction is {smallest:.0%} (14M) to {largest:.0%} (12B) of CE")
draw.area(path, share, figures_dir)

# %% [markdown]
# The CE that is measured for 12B is 1.96 ([notebook 08](08_section_5_2_two_laws.ipynb)), and not 3.17. The curve describes the ranks of all contexts together. Real models are surer in some contexts than in others, and a mixture of contexts is less sure than most of its parts.
#
# ## The derivation
#
# This half is for readers of the appendix (arXiv version). The crosses in this map are the two steps that do not follow:

# %%
draw.steps(figures_dir)

# %% [markdown]
# **The distribution.** With the density $\varphi$ of the normal distribution,
#
# $$p_k = \frac{\psi(k)}{c}, \qquad \psi(x) = \frac{1}{x\,\sigma}\,\varphi\Big(\frac{\ln x-\mu}{\sigma}\Big), \qquad c = \sum_{k\ge1}\psi(k) \tag{10, 11, 12}$$
#
# **Both losses, exactly.** Eq. 16 is minus the logarithm of Eq. 10 at $k = 1$, where $\ln 1 = 0$. Eq. 17 is the mean of minus its logarithm over all ranks:
#
# $$-\log p_1 = \log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2} \tag{16}$$
#
# $$\mathrm{CE} = -\sum_k p_k \log p_k = \log c + \log\sqrt{2\pi}\,\sigma + \mathrm E[\ln k] + \frac{\mathrm E[(\ln k-\mu)^2]}{2\sigma^2} \tag{17}$$
#
# Subtract Eq. 16 from Eq. 17 and expand the square: $\mu^2$ drops out. The paper does not have this line:
#
# $$\boxed{\;\mathrm{CE} + \log p_1 = (1+b)\,\mathrm E[\ln k] + \frac{\mathrm E[(\ln k)^2]}{2\sigma^2}, \qquad b = -\frac{\mu}{\sigma^2}\;}$$
#
# We add up a million ranks of Pythia-12B, and the others by an integral:

# %%
m, s = -14.29, 5.76  # mu and sigma of Pythia-12B
K = 10**6  # so many ranks are added one by one
k = np.arange(1, K + 1)
log_k = np.log(k)
t = (log_k - m) / s
psi = stats.norm.pdf(t) / (k * s)  # Eq. 11
end = (np.log(K + 0.5) - m) / s
c = psi.sum() + stats.norm.sf(end)  # all larger ranks, by an integral in place of the sum
p = psi / c  # Eq. 10

# %%
neg_log_p1 = -np.log(p[0])
first_two = np.log(c) + np.log(root_2pi * s)
by_eq_16 = first_two + m**2 / (2 * s**2)
print(f"-log p_1: {neg_log_p1:.3f}, by Eq. 16 {by_eq_16:.3f}")

# %% [markdown]
# **Sums become integrals.** The paper replaces each sum by the trapezoid rule, $\sum_{k\ge1} f(k) \approx \int_1^\infty f + \tfrac12 f(1)$. It needs three integrals. With $\ln x = \mu + \sigma t$ they are, writing $P = \Phi(\mu/\sigma)$ for the bell's area and $\varphi$ for its height at $\mu/\sigma$,
#
# $$\int_1^\infty \psi = P, \quad \int_1^\infty \ln x\;\psi = \mu P + \sigma\varphi, \quad \int_1^\infty (\ln x)^2\,\psi = (\mu^2+\sigma^2)P + \mu\sigma\varphi \tag{13, 14, 15}$$
#
# The first, with $\psi(1) = \varphi/\sigma$, gives $c$. The other two, divided by $c$, are $\mathrm E[\ln k]$ and $\mathrm E[(\ln k)^2]$ of the boxed line; their $\tfrac12 f(1)$ is 0, because $\ln 1 = 0$.
#
# $$c \approx P + \frac{\varphi}{2\sigma} \tag{20}$$
#
# $$\mathrm{CE} \approx -\log p_1 + \underbrace{\frac1c\Big[P\Big(\frac{\sigma^2-\mu^2}{2\sigma^2} + \mu\Big) + \varphi\Big(\sigma - \frac{\mu}{2\sigma}\Big)\Big]}_{\text{fraction}} \tag{21, 26}$$
#
# SymPy can do the integral of the boxed line in one go. Is it the bracket of Eq. 26?

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
# Eqs. 20 and 21 are the *closed form*, which `closed_form` computes.
#
# **Exercise 1.** The trapezoid rule can fail. For $\sigma = 3$, at which $\mu$ does the closed form give $p_1 = 1$? Give two decimals.
#
# <details><summary>Hint</summary><code>scipy.optimize.brentq</code> finds a zero of <code>rank_laws.closed_form(mu, 3).neg_log_p1</code>.</details>

# %%
answer_1 = None  # a number
draw.check(1, answer_1)

# %% [markdown]
# **The limit.** Let $\mu/\sigma \to -\infty$ and $\sigma\to\infty$. The paper's steps hold in this limit: far out in the tail $P/\varphi$ is nearly $\sigma/|\mu|$ (their ratio tends to 1), so it goes to 0 (22), $\psi(1)/\varphi = 1/\sigma$ goes to 0 (23), so $c/\varphi$ goes to 0 by Eq. 20 (24), and
#
# $$-\log c > -\log\varphi = \tfrac12\log 2\pi + \frac{\mu^2}{2\sigma^2} \;\to\; \infty \tag{25}$$
#
# So $\log c \to -\infty$. But what does $-\log p_1$ do? By Eq. 20 it is
#
# $$-\log p_1 = \log\frac{c}{\psi(1)} = \log\Big(\frac12 + \sigma\,\frac P\varphi\Big) \;\to\; \log\Big(\frac12 + \frac1b\Big) \qquad\text{at fixed } b,$$
#
# because $\sigma$ times $\sigma/|\mu|$ is $1/b$. **Here the paper's conclusion does not follow: $-\log p_1$ has a finite limit while $\log c$ goes to $-\infty$.**
#
# Without the trapezoid rule, divide $\psi(k)$ by $\psi(1)$ and expand the square:
#
# $$\frac{p_k}{p_1} = k^{-(1+b)}\,e^{-(\ln k)^2/2\sigma^2}$$
#
# When $\sigma\to\infty$ the last factor goes to 1, and what is left is **Zipf's law**, $p_k \propto k^{-(1+b)}$. The sum of all $k^{-(1+b)}$ is Riemann's function $\zeta(1+b)$, `special.zeta` in SciPy. In the boxed line the part over $2\sigma^2$ goes to 0. The derivative of $\zeta(s) = \sum k^{-s}$ is $-\sum k^{-s}\ln k$, so $\mathrm E[\ln k] = -\zeta'/\zeta$ at $s = 1+b$:
#
# $$-\log p_1 \to \log\zeta(1+b), \qquad \text{fraction} \to -(1+b)\,\frac{\zeta'(1+b)}{\zeta(1+b)}$$
#
# `rank_sums` is `closed_form` with sums over all ranks in place of the trapezoid rule:

# %%
b = -m / s**2  # of 12B, 0.43
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
# On the way to the limit $-\log p_1$ changes by about 0.1. Is the fraction small compared with it?


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

# %%
b = np.geomspace(0.08, 4, 60)
limit = pd.DataFrame({"b": b})
limit["-log p_1"], limit["fraction"] = zipf(b)
limit["closed form"] = np.log(0.5 + 1 / b)
draw.limit(limit, path, figures_dir)

# %% [markdown]
# *Band: the eight Pythias with $\mu < 0$.*
#
# Compared with $\log c$ the fraction is negligible in the limit, as the paper says, because $\log c \to -\infty$. But the conclusion is about CE and $-\log p_1$. **Compared with $-\log p_1$ the fraction is not negligible: at all 400 values of $b$, from 0.01 to 20, it is more than twice as large.**
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
# <details><summary>Could another curve make CE and -log p<sub>1</sub> fall alike?</summary>
#
# Not for ever. By any curve over ranks CE is the entropy of the rank. Whether the rank is 1 is part of this uncertainty, so
#
# $$\mathrm{CE} \ge -p_1\log p_1 - (1-p_1)\log(1-p_1) \quad\Rightarrow\quad \frac{\mathrm{CE}}{-\log p_1} \to \infty \;\text{ as }\; p_1 \to 1$$
#
# because $-\log p_1$ is then about $1 - p_1$, and the last part of the bound is this times $-\log(1-p_1)$. So CE must in the end fall more slowly than $-\log p_1$. The measured CE falls faster ([notebook 08](08_section_5_2_two_laws.ipynb)), so it is not the entropy of the ranks.
#
# </details>
#
# <details><summary>Is the closed form what Figure 8b shows, and how good is the trapezoid rule?</summary>
#
# Yes: the closed form agrees with the figure to 0.003 nats, and the exact sum does not. So the figure's ten points can be turned back into ten pairs of $\mu$ and $\sigma$. At the paper's models the rule errs by up to 4%: $-\log p_1$ comes out too low and CE too high, more so for larger models.
#
# </details>

# %%
by_sum = rank_laws.rank_sums(four["mu"], four["sigma"])
over = pd.DataFrame({"CE": by_curve.CE / by_sum.CE}, four.index)
over["-log p_1"] = by_curve.neg_log_p1 / by_sum.neg_log_p1
over.round(3)  # the closed form divided by the sum

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
