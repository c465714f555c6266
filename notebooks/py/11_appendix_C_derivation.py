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
# A model gives every token a probability. A token's *rank* $k$ is its place when all tokens are sorted, the most probable first. In Appendix C the paper assumes a curve that gives rank $k$ the probability $p_k$. By this curve, the cross-entropy (CE) is a sum of four terms. For Pythia-12B they are, in nats (the unit of natural logarithms),
#
# $$-4.81 \;+\; 2.67 \;+\; 3.08 \;+\; 2.23 \;=\; 3.17 .$$
#
# (The measured CE is 1.96: see [notebook 08](08_section_5_2_two_laws.ipynb).) The paper calls one of the terms "the dominant part of CE" as models grow, and another "asymptotically negligible".
#
# **Guess first.** Which one is called dominant, and which negligible?
#
# *[Glossary](../docs/glossary.md). All logarithms are natural.*

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Import what is needed
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
from matplotlib.patches import FancyBboxPatch
from matplotlib.patheffects import withStroke
from scipy.special import zeta
from scipy.stats import norm

from rbpkit import fit_power_law, paper, plots
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.study.params import check_parameters
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.findings.rank_laws import closed_form, published_laws, rank_sums

check_parameters(globals())

# %% [markdown]
# The curve is a *lognormal*: $\ln k$ follows the bell of a normal distribution with mean $\mu$ and standard deviation $\sigma$. The paper prints $\mu$ and $\sigma$ for four Pythias. $\mu$ may be negative. Then only the right tail of the bell is used, from $\ln k = 0$ on:

# %%
four = paper.lognormal_params().set_index("model")  # what the paper prints
four[["mu", "sigma"]]

# %% [markdown]
# We divide the curve by a number $c$, so that all $p_k$ add up to 1. The four terms are $\log c$, $\log(\sqrt{2\pi}\,\sigma)$, $\mu^2/2\sigma^2$, and a fraction with the denominator $c$, which we call *the fraction*. (The formulas are derived below.)

# %%
m, s = four["mu"], four["sigma"]  # one of each for each model

mu_term = m**2 / (2 * s**2)
below = norm.cdf(m / s)  # the share of a normal distribution below m / s
height = norm.pdf(m / s)  # the height of its bell there
c = below + height / (2 * s)  # Eq. 20
with_below = below * (0.5 - mu_term + m)
with_height = height * (s - m / (2 * s))
fraction = (with_below + with_height) / c  # Eq. 26

# %%
root_2pi = np.sqrt(2 * np.pi)
terms = pd.DataFrame({"log c": np.log(c)})
terms["log sqrt(2 pi) sigma"] = np.log(root_2pi * s)
terms["mu^2 / 2 sigma^2"] = mu_term
terms["fraction"] = fraction
terms["CE"] = terms.sum(axis=1)
terms.round(2)

# %% tags=["hide-input"]
# Draw the four terms as stairs, for the smallest and the largest model
NAMES = [r"$\log\,c$", r"$\log\sqrt{2\pi}\,\sigma$", r"$\mu^2/2\sigma^2$", "fraction"]
SHADES = [INK, "#8A94A0", "#8A94A0", "#57626E"]
with plots.style():
    figure, panels = plt.subplots(
        1, 2, figsize=(plots.WIDTH, 4.2), sharey=True, layout="constrained"
    )
    for axes, model in zip(panels, ("pythia-14m", "pythia-12b"), strict=True):
        steps = terms.loc[model]
        level = 0.0
        for place, (value, shade) in enumerate(zip(steps.iloc[:4], SHADES, strict=True)):
            axes.bar(place, value, 0.92, bottom=level, color=shade)
            axes.plot([place - 0.46, place + 1.46], [level + value] * 2, color=OTHER, linewidth=0.8)
            words = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
            if value > 0.7:
                axes.text(
                    place,
                    level + value / 2,
                    words,
                    ha="center",
                    va="center",
                    color="white",
                    fontsize=10,
                )
            else:
                below = level + min(value, 0) - 0.15
                axes.text(place, below, words, ha="center", va="top", fontsize=10)
            level += value
        axes.bar(4, level, 0.92, color=CONTEXT)
        axes.text(4, level / 2, f"{level:.2f}", ha="center", va="center")
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xticks(range(5), [*NAMES, "CE"], rotation=35, ha="right")
        axes.set_title(model.replace("pythia-", "Pythia-").replace("m", "M").replace("b", "B"))
    panels[0].set(ylabel="nats", ylim=(-5.7, 6))
    panels[1].text(-0.4, 0.2, "“dominant”", fontsize=10)
    panels[1].text(3, 3.4, "“negligible”", ha="center", fontsize=10)
    figure.suptitle(
        "One term is negative, and another is most of CE", x=0.02, ha="left", fontsize=12
    )
plots.save(figure, terms.reset_index(), figures_dir, "figure_C_stairs")
last = terms.loc["pythia-12b"]
print(f"12B: the fraction is {last['fraction'] / last['CE']:.0%} of CE")

# %% [markdown]
# *Each term begins where the one before ends.*
#
# **The "dominant" term is $\log c$, which is negative. The "negligible" one is the fraction, and at 12B it is 70% of CE.**
#
# > **The paper** wants to explain why CE and $-\log p_1$ fall almost alike when models grow. It says: "as |µ| increases, log(c) becomes the dominant part of CE", and the fraction is "asymptotically negligible compared to log(c)".
#
# ($p_1$ is the probability of rank 1: the curve's value for $\mathrm{RBP}_1$, the share of tokens with rank 1.)
#
# ## What went wrong
#
# Two equations of the appendix are needed. The first is the curve at whole ranks:
#
# $$p_k = \frac{\psi(k)}{c}, \qquad \psi(x) = \frac{1}{x\,\sigma\sqrt{2\pi}}\,e^{-(\ln x-\mu)^2/2\sigma^2}, \qquad c = \sum_{k\ge1}\psi(k) \tag{10, 11}$$
#
# The second is minus the logarithm of the first at $k = 1$, where $\ln 1 = 0$:
#
# $$-\log p_1 = \log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2} \tag{16}$$
#
# So the first three terms together are $-\log p_1$, and the fraction is all that CE has in addition. But $\log c$ contains the second and the third term of Eq. 16 with a minus sign. To see this, write $c$ as $\psi(1)$ times $c/\psi(1)$:
#
# $$\log c = \log\psi(1) + \log\frac{c}{\psi(1)}, \qquad \log\psi(1) = -\log\sqrt{2\pi}\,\sigma - \frac{\mu^2}{2\sigma^2}$$
#
# *Why:* the second equation is the logarithm of Eq. 11 at $x = 1$.
#
# Put this into Eq. 16. Then $\log\psi(1)$ cancels its second and third term, and the large number $\mu^2/2\sigma^2$ is gone:
#
# $$-\log p_1 = \log\frac{c}{\psi(1)}, \qquad \frac{c}{\psi(1)} = \sum_{k\ge1} k^{-(1+b)}\,e^{-(\ln k)^2/2\sigma^2}, \qquad b = -\frac{\mu}{\sigma^2}$$
#
# *Why:* divide $\psi(k)$ by $\psi(1)$, and expand the square.

# %%
change = terms.loc["pythia-12b"] - terms.loc["pythia-14m"]
print(change.round(1).to_string())  # from 14M to 12B

# %% [markdown]
# **From 14M to 12B $\log c$ falls by 4.4 nats. But $\mu^2/2\sigma^2$ gives 3.0 of them back, two thirds, and $\log\sqrt{2\pi}\,\sigma$ gives back 0.4, another tenth.** So $\log c$ dominates neither $-\log p_1$ nor CE. Most of CE is the fraction:

# %% tags=["hide-input"]
# Draw what CE is made of, for the ten Pythias
laws = published_laws()  # with mu and sigma of ten Pythias, from Figure 8b
at_ten = closed_form(laws["mu"], laws["sigma"])
path = laws[["model", "S"]].assign(b=-laws["mu"] / laws["sigma"] ** 2)
path["log c"] = at_ten.log_c
path["log sqrt(2 pi) sigma"] = np.log(np.sqrt(2 * np.pi) * laws["sigma"])
path["mu^2 / 2 sigma^2"] = laws["mu"] ** 2 / (2 * laws["sigma"] ** 2)
path["-log p_1"] = path[["log c", "log sqrt(2 pi) sigma", "mu^2 / 2 sigma^2"]].sum(axis=1)
path["fraction"] = at_ten.fraction
path["CE"] = path["-log p_1"] + path["fraction"]

simulated = paper.ce_and_rbp1().query("kind == 'simulated'").rename(columns={"series": "quantity"})
parts = [
    simulated.assign(source="published"),
    path.melt(["S", "b"], list(path)[3:], "quantity", "value").assign(source="closed form"),
]
drawn = pd.concat(parts).astype({"S": "Int64"})
drawn = drawn[["source", "model", "S", "b", "quantity", "value"]]

with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.5), layout="constrained")
    axes.fill_between(path["S"], path["-log p_1"], color="#8A94A0", linewidth=0)
    axes.fill_between(path["S"], path["-log p_1"], path["CE"], color=CONTEXT, linewidth=0)
    axes.plot(path["S"], path["-log p_1"], "o-", color=INK, markersize=4)
    axes.plot(path["S"], path["CE"], "o-", color=INK, markersize=4)
    axes.set(xscale="log", ylim=(0, None), ylabel="nats", xlabel="$S$ (non-embedding parameters)")
    axes.set_title("The “negligible” fraction is most of CE")
    axes.text(1e8, 2.5, "fraction", ha="center")
    axes.text(1e8, 0.5, r"$-\log p_1$", ha="center")
    share = path["fraction"] / path["CE"]
    axes.text(1e8, 4.5, "CE")
    top, bottom = path["CE"].iloc[-1], path["-log p_1"].iloc[-1]
    bracket = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (1.6e10, bottom), (1.6e10, top), arrowprops=bracket, annotation_clip=False)
    axes.text(2e10, 2, f"{share.iloc[-1]:.0%} of CE", va="center")
terms_of_four = closed_form(m, s)  # the package's formulas are those of the first cell
assert np.allclose(terms["CE"], terms_of_four.CE) and np.allclose(fraction, terms_of_four.fraction)
print(f"the fraction is {share.iloc[0]:.0%} (14M) to {share.iloc[-1]:.0%} (12B) of CE")
plots.save(figure, drawn, figures_dir, "figure_C2")

# %% [markdown]
# *The ten Pythias, with the $\mu$ and $\sigma$ behind Figure 8b.*
#
# In this map the two crossed arrows are the steps that do not follow. All other steps of the appendix are right in its limit:

# %% tags=["hide-input"]
# Draw the idea: what follows from what in Appendix C
BOXES = {
    "top": (0.5, 0.9, r"one lognormal $p_k$ with $\mu$, $\sigma$", "Eqs. 10 to 12"),
    "left": (0.24, 0.62, r"$-\log p_1 = \log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2}$", "Eq. 16"),
    "right": (0.76, 0.62, r"CE = $-\log p_1$ + fraction", "Eqs. 17 to 21, 26"),
    "c": (0.24, 0.36, r"$\log c \to -\infty$", "Eqs. 22 to 25: true"),
    "fraction": (0.76, 0.36, r"fraction / $\log c$ $\to$ 0", "Eq. 26: true"),
    "end": (0.5, 0.08, "“log c dominates, so both fall alike”", "does not follow"),
}  # fmt: skip
ARROWS = [
    ("top", "left"),
    ("top", "right"),
    ("left", "c"),
    ("right", "fraction"),
    ("c", "end"),
    ("fraction", "end"),
]
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.6), layout="constrained")
    axes.set(xlim=(0, 1), ylim=(-0.02, 1))
    axes.set_axis_off()
    for name, (x, y, words, source) in BOXES.items():
        dashes = "--" if name == "end" else "-"
        frame = FancyBboxPatch((x - 0.2, y - 0.06), 0.4, 0.12, boxstyle="round,pad=0.02",
                               facecolor="white", edgecolor=INK, linestyle=dashes)  # fmt: skip
        axes.add_patch(frame)
        axes.text(x, y + 0.025, words, ha="center", va="center", fontsize=10)
        axes.text(x, y - 0.04, source, ha="center", va="center", fontsize=10, color=OTHER)
    for start, end in ARROWS:
        (x0, y0, *_), (x1, y1, *_) = BOXES[start], BOXES[end]
        look = {"arrowstyle": "->", "color": INK}
        axes.annotate(
            "",
            (x1 + 0.3 * (x0 - x1), y1 + 0.085),
            (x0 + 0.2 * (x1 - x0), y0 - 0.085),
            arrowprops=look,
        )
        if end == "end":
            axes.plot(
                (x0 + x1) / 2, (y0 + y1) / 2, "x", color=INK, markersize=14, markeredgewidth=3
            )
boxes = pd.DataFrame(ARROWS, columns=["from", "to"])
plots.save(figure, boxes, figures_dir, "figure_C_map")

# %% [markdown]
# ## The derivation, equation by equation
#
# This section is for readers of the appendix (arXiv version). Below each equation is the reason. After each group a cell checks it.
#
# In Section 5.2 the lognormal describes the rank of the true token, over all contexts. Appendix C uses it also in a single context, for the probability of the $k$-th most probable token. Both can be true only of a model that is calibrated (its probabilities match frequencies) and equally sure in every context. Real models are surer in some contexts, which may be why their measured CE is below the curve's.
#
# **The distribution.**
#
# $$p_k = \frac{\psi(k)}{c}, \quad k = 1, 2, \dots \tag{10}$$
#
# *Why:* the shape $\psi$ is divided by its sum, so that probabilities add up to 1.
#
# $$\psi(x) = \frac{1}{x\,\sigma\sqrt{2\pi}}\,e^{-(\ln x-\mu)^2/2\sigma^2}, \qquad c = \sum_{k\ge1}\psi(k) \tag{11}$$
#
# *Why:* $\psi$ is the lognormal's density, taken at whole ranks.
#
# $$\varphi(x) = \tfrac1{\sqrt{2\pi}}\,e^{-x^2/2}, \qquad \Phi(x) = \int_{-\infty}^x \varphi \tag{12}$$
#
# *Why:* with $t = (\ln x - \mu)/\sigma$, $\psi(x)\,dx$ becomes $\varphi(t)\,dt$.

# %%
m_12b, s_12b = -14.29, 5.76  # mu and sigma of Pythia-12B
K = 10**6  # the ranks that are added one by one
k = np.arange(1, K + 1)
log_k = np.log(k)

t = (log_k - m_12b) / s_12b
psi = norm.pdf(t) / (k * s_12b)  # Eq. 11, with the bell of Eq. 12
end = (np.log(K + 0.5) - m_12b) / s_12b
beyond = norm.sf(end)  # the larger ranks, by an integral in place of the sum
c_12b = psi.sum() + beyond
p = psi / c_12b  # Eq. 10
total = p.sum() + beyond / c_12b
print(f"Eqs. 10 to 12: all p together are {total:.6f}")

# %% [markdown]
# **Three integrals.**
#
# $$P = \int_1^\infty \psi(x)\,dx = \Phi\Big(\frac\mu\sigma\Big) \tag{13}$$
#
# *Why:* $x > 1$ means $t > -\mu/\sigma$, and the bell is symmetric.
#
# $$I_1 = \int_1^\infty \ln x\;\psi = \mu P + \sigma\varphi, \qquad \varphi = \varphi\Big(\frac\mu\sigma\Big) \text{ from here on} \tag{14}$$
#
# *Why:* $\ln x = \mu + \sigma t$, and $\int t\,\varphi(t)\,dt = -\varphi(t)$.
#
# $$I_2 = \int_1^\infty (\ln x)^2\,\psi = (\mu^2+\sigma^2)P + \mu\sigma\varphi \tag{15}$$
#
# *Why:* the same with $(\mu + \sigma t)^2$, by parts.
#
# SymPy checks the integrals. From here on `mu`, `sigma`, `Phi`, `phi` and `L` (for $\ln x$) are symbols, and names with `_12b` are numbers of Pythia-12B:

# %%
mu = sp.symbols("mu", real=True)
sigma, L = sp.symbols("sigma L", positive=True)
root = sp.sqrt(2 * sp.pi)
T = (L - mu) / sigma  # t as a symbol
bell = sp.exp(-(T**2) / 2) / (root * sigma)  # psi(x) dx, as a density of L

start = mu / sigma
phi = sp.exp(-(start**2) / 2) / root
z = start / sp.sqrt(2)
Phi = (1 + sp.erf(z)) / 2  # SymPy writes Phi with the error function erf


def agrees(weight, stated):
    """Is the integral of weight times psi from x = 1 on what is stated?"""
    integral = sp.integrate(weight * bell, (L, 0, sp.oo))
    difference = (integral - stated).rewrite(sp.erf)
    return sp.simplify(difference) == 0


squares = mu**2 + sigma**2
print("Eq. 13:", agrees(1, Phi))
print("Eq. 14:", agrees(L, mu * Phi + sigma * phi))
print("Eq. 15:", agrees(L**2, squares * Phi + mu * sigma * phi))

# %% [markdown]
# **Both losses, exactly.**
#
# $$-\log p_1 = \log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2} \tag{16}$$
#
# *Why:* $p_1 = \psi(1)/c$, and $\ln 1 = 0$ in Eq. 11.
#
# $$\mathrm{CE} = -\sum_k p_k \log p_k = \log c + \log\sqrt{2\pi}\,\sigma + \mathrm E[\ln k] + \frac{\mathrm E[(\ln k-\mu)^2]}{2\sigma^2} \tag{17}$$
#
# *Why:* take the logarithm of Eq. 10 and then the mean over $k$.
#
# $$\boxed{\;\mathrm{CE} + \log p_1 = (1+b)\,\mathrm E[\ln k] + \frac{\mathrm E[(\ln k)^2]}{2\sigma^2}, \qquad b = -\frac{\mu}{\sigma^2}\;}$$
#
# *Why:* subtract Eq. 16 from Eq. 17, and expand the square: $\mu^2$ drops out. The paper does not have this *boxed line*. We use it for Eq. 26 and for the limit.

# %%
# Eqs. 16 and 17 as numbers, with p and t of the first group
common = np.log(c_12b) + np.log(root_2pi * s_12b)
neg_log_p = -np.log(p)
eq_16 = common + m_12b**2 / (2 * s_12b**2)
print("Eq. 16:", np.isclose(neg_log_p[0], eq_16))
in_eq_17 = common + log_k + t**2 / 2  # t is (ln k - mu) / sigma
print("Eq. 17:", np.allclose(neg_log_p, in_eq_17))  # for each k, so for the mean, too

# %%
# The boxed line, with symbols
square = mu**2 / (2 * sigma**2)
left = L + T**2 / 2 - square  # Eq. 17 at one k (L is ln k), minus Eq. 16
b = -mu / sigma**2
right = (1 + b) * L + L**2 / (2 * sigma**2)
print("boxed:", sp.expand(left - right) == 0)

# %% [markdown]
# **Sums become integrals.** The paper replaces each sum by the trapezoid rule, $\sum_{k\ge1} f(k) \approx \int_1^\infty f(x)\,dx + \tfrac12 f(1)$.
#
# $$\mathrm{CE} \approx \log c + \log\sqrt{2\pi}\,\sigma + \frac1c\Big[\frac{I_2 - 2\mu I_1 + \mu^2 c}{2\sigma^2} + I_1\Big] \tag{18}$$
#
# *Why:* $\mathrm E[\ln k] \approx I_1/c$ and $\mathrm E[(\ln k)^2] \approx I_2/c$; the half of the first term is 0 in both, because $\ln 1 = 0$.
#
# $$\mathrm{CE} \approx \log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2} + \frac1c\Big[P\Big(\frac{\mu^2+\sigma^2}{2\sigma^2}+\mu\Big) + \varphi\Big(\frac{\mu}{2\sigma}+\sigma\Big) - \frac{\mu}{\sigma^2}\,(\mu P + \sigma\varphi)\Big] \tag{19}$$
#
# *Why:* Eqs. 14 and 15 are put in.
#
# $$c \approx P + \tfrac12\psi(1) = P + \frac{\varphi}{2\sigma} \tag{20}$$
#
# *Why:* the trapezoid rule for $\psi$, and $\psi(1) = \varphi/\sigma$ by Eq. 11.
#
# $$\mathrm{CE} \approx \underbrace{\log c + \log\sqrt{2\pi}\,\sigma + \frac{\mu^2}{2\sigma^2}}_{-\log p_1} + \underbrace{\frac1c\Big[P\Big(\frac{\sigma^2-\mu^2}{2\sigma^2} + \mu\Big) + \varphi\Big(\sigma - \frac{\mu}{2\sigma}\Big)\Big]}_{\text{fraction}} \tag{21, 26}$$
#
# *Why:* collect $P$ and $\varphi$ in Eq. 19. Eq. 26 is the fraction alone. By the boxed line it is also $\big[(1+b)\,I_1 + I_2/2\sigma^2\big]/c$.
#
# Only the algebra is checked, so `P` and `f` are free symbols for $P$ and $\varphi$. `square` and `b` are those of the boxed line.

# %%
P, f = sp.symbols("P varphi", positive=True)
c_20 = P + f / (2 * sigma)
I1 = mu * P + sigma * f
I2 = (mu**2 + sigma**2) * P + mu * sigma * f

# What follows log c + log sqrt(2 pi) sigma in Eqs. 18, 19 and 21
spread = I2 - 2 * mu * I1 + mu**2 * c_20
eq_18 = (spread / (2 * sigma**2) + I1) / c_20
half = sp.Rational(1, 2)
with_P = P * (square + half + mu)
with_f = f * (mu / (2 * sigma) + sigma)
eq_19 = square + (with_P + with_f - mu / sigma**2 * I1) / c_20
print("Eq. 18 is Eq. 19:", sp.simplify(eq_18 - eq_19) == 0)

# %%
phi_12b = norm.pdf(m_12b / s_12b)
print("Eq. 20:", np.isclose(psi[0], phi_12b / s_12b))  # psi(1) is phi / sigma

with_P = P * (half - square + mu)
with_f = f * (sigma - mu / (2 * sigma))
eq_26 = (with_P + with_f) / c_20
eq_21 = square + eq_26
print("Eq. 19 is Eq. 21:", sp.simplify(eq_19 - eq_21) == 0)
numerator = (1 + b) * I1 + I2 / (2 * sigma**2)
boxed = numerator / c_20
print("Eq. 26 is the boxed line:", sp.simplify(boxed - eq_26) == 0)

# %% [markdown]
# We call Eqs. 20 and 21, by the trapezoid rule, the *closed form*. It is off by at most 4.2% at the paper's models. `closed_form` computes it, and calls the results `log_c`, `neg_log_p1`, `fraction` and `CE`.
#
# **Exercise 1.** The trapezoid rule can fail. For $\sigma = 3$, at which $\mu$ does the closed form give $p_1 = 1$? Give two decimals.
#
# <details><summary>Hint</summary><code>scipy.optimize.brentq</code> finds a zero of <code>closed_form(mu, 3).neg_log_p1</code>.</details>

# %%
answer_1 = None  # a number
print(check(1, answer_1, sealed("bd4fd00c", digits=2)))

# %% [markdown]
# **The limit.** The paper lets $\mu/\sigma \to -\infty$, and for Eq. 23 also $\sigma\to\infty$.
#
# $$\Phi(x) = o(\varphi(x)) \quad\text{as } x \to -\infty \tag{22}$$
#
# *Why:* $o$ means that the ratio goes to 0. By L'Hôpital's rule it goes to 0 as $-1/x$ does.
#
# $$\psi(1) = \frac{\varphi}{\sigma} = o(\varphi) \quad\text{"as } \sigma\to\infty\text{"} \tag{23}$$
#
# *Why:* the ratio is $1/\sigma$. At fixed $\sigma$ this fails.
#
# $$c = o(\varphi) \tag{24}$$
#
# *Why:* by Eq. 20, $c/\varphi = P/\varphi + 1/2\sigma$, and both parts go to 0 if **both** conditions hold. At fixed $\sigma = 6$ it goes to $1/12$.
#
# $$-\log c > -\log\varphi = \tfrac12\log 2\pi + \frac{\mu^2}{2\sigma^2} \tag{25}$$
#
# *Why:* $c$ is below $\varphi$ as soon as the ratio in Eq. 24 is below 1, and for the seven largest Pythias it is. So $\log c \to -\infty$.

# %%
x = sp.symbols("x", positive=True)
upper = sp.erfc(x / sp.sqrt(2)) / 2  # Phi(-x)
density = sp.exp(-(x**2) / 2) / root
print("Eq. 22: x times the ratio goes to", sp.limit(x * upper / density, x, sp.oo))
print("Eq. 23: the ratio goes to", sp.limit(1 / sigma, sigma, sp.oo))

far = closed_form(-600, 6)  # sigma is 6, mu / sigma is -100
c_over_phi = np.exp(far.log_c - norm.logpdf(-100))
print(f"Eq. 24, at fixed sigma: {c_over_phi:.3f}, and 1/100 + 1/12 is 0.093")

laws = published_laws()  # with mu and sigma of ten Pythias, the smallest first
at_ten = closed_form(laws["mu"], laws["sigma"])
neg_log_phi = -norm.logpdf(laws["ratio"])  # ratio: mu / sigma
is_true = -at_ten.log_c > neg_log_phi
print("Eq. 25: true of the largest", is_true.sum())
assert is_true[3:].all()

# %% [markdown]
# **And $-\log p_1$?** By the closed form it is the logarithm of Eq. 20 divided by $\psi(1) = \varphi/\sigma$:
#
# $$-\log p_1 = \log\frac{c}{\psi(1)} = \log\Big(\frac12 + \sigma\,\frac P\varphi\Big) \;\to\; \log\Big(\frac12 + \frac1b\Big)$$
#
# *Why:* by Eq. 22, $P/\varphi$ goes as $\sigma/|\mu|$. Multiplied by $\sigma$ this is $1/b$, and we keep $b$ fixed.
#
# **Here the paper's conclusion does not follow:** $-\log p_1$ has a finite limit while $\log c$ goes to $-\infty$.

# %%
ratio = norm.cdf(m_12b / s_12b) / phi_12b
without_mu = np.log(0.5 + s_12b * ratio)
by_eq_16 = closed_form(m_12b, s_12b).neg_log_p1
print("the line above:", np.isclose(without_mu, by_eq_16))

# %% [markdown]
# ## What the limit is
#
# We have $p_k/p_1 = k^{-(1+b)}\,e^{-(\ln k)^2/2\sigma^2}$. Let $\sigma\to\infty$ at fixed $b$: the last factor goes to 1, and what is left is **Zipf's law**, $p_k \propto k^{-(1+b)}$. The sum of all $k^{-(1+b)}$ is Riemann's function $\zeta(1+b)$, `zeta` in SciPy:
#
# $$-\log p_1 \to \log\zeta(1+b), \qquad \text{fraction} \to (1+b)\,\mathrm E[\ln k] = -(1+b)\,\frac{\zeta'(1+b)}{\zeta(1+b)}$$
#
# *Why:* the fraction is the left side of the boxed line. On the right the second term vanishes. The derivative of $k^{-(1+b)}$ in $b$ is $-\ln k$ times itself. Summed over $k$ it is $\zeta'(1+b)$, and divided by $\zeta(1+b)$ it is $-\mathrm E[\ln k]$.

# %%
b_12b = -m_12b / s_12b**2  # 0.43
last_factor = -(log_k**2) / (2 * s_12b**2)  # its logarithm
log_ratio = np.log(p / p[0])
by_formula = -(1 + b_12b) * log_k + last_factor
print("p_k / p_1:", np.allclose(log_ratio, by_formula))

# %% [markdown]
# `rank_sums` is `closed_form` with sums over all ranks in place of the trapezoid rule:

# %%
rows = {}
for width in (5.76, 30, 300):  # sigma of 12B, and larger ones at the same b
    mean = -b_12b * width**2
    by_sum = rank_sums(mean, width).neg_log_p1.item()
    rows[f"sigma = {width}"] = (by_sum, closed_form(mean, width).neg_log_p1)
limit_by_sum = np.log(zeta(1 + b_12b))
limit_in_closed_form = np.log(0.5 + 1 / b_12b)
rows["limit"] = (limit_by_sum, limit_in_closed_form)
by_both = pd.DataFrame(rows, index=["-log p_1, sum", "-log p_1, closed form"])
by_both.T.astype(float).round(2)

# %% [markdown]
# On the way to the limit $-\log p_1$ changes by about 0.1. Is the fraction small compared with it?


# %%
def zipf(b, h=1e-5):
    """-log p_1 and the fraction of Zipf's law, in nats."""
    above = np.log(zeta(1 + b + h))
    below = np.log(zeta(1 + b - h))
    slope = (above - below) / (2 * h)  # of log zeta, which is zeta' / zeta
    neg_log_p1 = np.log(zeta(1 + b))
    return neg_log_p1, -(1 + b) * slope


many_b = np.geomspace(0.01, 20, 400)
neg_log_p1, zipf_fraction = zipf(many_b)
least = (zipf_fraction / neg_log_p1).min()
print(f"fraction over -log p_1, in the limit: at least {least:.2f}")

# %% [markdown]
# Compared with $\log c$ the fraction is negligible in the limit, as the paper says, because $\log c \to -\infty$. But the paper's conclusion is about CE and $-\log p_1$. **Compared with $-\log p_1$ the fraction is not negligible in the limit: at all 400 values of $b$, from 0.01 to 20, it is more than twice as large.**
#
# **Exercise 2.** What is $-\log p_1$ for Zipf's law with $b = 1$? Give two decimals.
#
# <details><summary>Hint</summary><code>zeta</code>, or the sum of 1/k², which is known in closed form.</details>

# %%
answer_2 = None  # nats
print(check(2, answer_2, sealed("d2cbad71", digits=2)))

# %% [markdown]
# **Exercise 3, to discuss** (no check; see [the solutions](../docs/solutions/11_appendix_C_derivation.md)). $\mu/\sigma\to-\infty$ alone does not fix the limit. Use `rank_sums` on three paths: $\sigma = 6$ and $\mu = -6w$; $\sigma = w$ and $\mu = -0.4\,w^2$; $\sigma = w$ and $\mu = -w^{1.5}$. Let $w$ grow. Where does $-\log p_1$ go on each, and why?
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
# *Why:* $-\log p_1$ is then about $1 - p_1$, and the last part of the bound is this times $-\log(1-p_1)$.
#
# So CE must in the end fall more slowly than $-\log p_1$. The measured CE falls faster ([notebook 08](08_section_5_2_two_laws.ipynb)), so it is not the entropy of the ranks.
#
# </details>
#
# <details><summary>Is the closed form what Figure 8b shows?</summary>
#
# Yes: it agrees with the figure to 0.003 nats, and the exact sum does not. So the figure's ten points can be turned back into ten pairs of $\mu$ and $\sigma$.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Compare Figure 8b with the closed form and with the sum
pairs = paper.lognormal_params()
compared = pairs[["model"]].merge(laws[["model", "simulated_CE", "simulated_neg_log_rbp1"]])
compared.columns = ["model", "CE, Figure 8b", "-log p_1, Figure 8b"]
for name, two in (("closed form", closed_form), ("sum", rank_sums)):
    by = two(pairs["mu"], pairs["sigma"])
    compared[f"CE, {name}"], compared[f"-log p_1, {name}"] = by.CE, by.neg_log_p1
p_1 = np.exp(-compared["-log p_1, sum"])
bound = -p_1 * np.log(p_1) - (1 - p_1) * np.log(1 - p_1)
compared = compared.set_index("model")
print(compared.T.sort_index(ascending=False).round(3).to_string())
print(
    f"12B: CE is at least {bound.iloc[-1]:.2f}; by the sum it is {compared['CE, sum'].iloc[-1]:.2f}"
)

# %% [markdown]
# <details><summary>How good is the trapezoid rule?</summary>
#
# At the paper's models it errs by up to 4%: $-\log p_1$ comes out too low and CE too high, more so for larger models.
#
# </details>


# %% tags=["hide-input", "hide-output"]
# Compute and draw the error of the trapezoid rule
def errors(mu, sigma):
    """Sum, closed form and relative error in percent of both quantities."""
    by_sum, closed = rank_sums(mu, sigma), closed_form(mu, sigma)
    table = pd.DataFrame({"mu": mu, "sigma": sigma})
    for name in ("neg_log_p1", "CE"):
        table[name], table[f"{name}_approx"] = getattr(by_sum, name), getattr(closed, name)
    for name in ("neg_log_p1", "CE"):
        table[f"{name}_error"] = 100 * (table[f"{name}_approx"] / table[name] - 1)
    return table


mu_axis, sigma_axis = np.linspace(-30, 9, 40), np.linspace(2, 8, 25)
mu_grid, sigma_grid = np.meshgrid(mu_axis, sigma_axis)
grid = errors(mu_grid.ravel(), sigma_grid.ravel())
marked = errors(pairs["mu"], pairs["sigma"]).assign(model=pairs["model"])

LEVELS = [0.3, 1, 3, 10, 30, 100]
HALO = [withStroke(linewidth=2.5, foreground="white")]
with plots.style():
    figure, column = plt.subplots(2, 1, figsize=(plots.WIDTH, 7), sharex=True, layout="constrained")
    for axes, name, symbol in zip(
        column, ("neg_log_p1", "CE"), (r"$-\log p_1$", "CE"), strict=True
    ):
        approx = grid["neg_log_p1_approx"].to_numpy().reshape(mu_grid.shape)
        size = grid[f"{name}_error"].abs().to_numpy().reshape(mu_grid.shape)
        size = np.where(approx > -0.3, np.maximum(size, 1e-6), np.nan)
        at = (mu_axis, sigma_axis)
        axes.contourf(*at, size, levels=LEVELS, cmap="Greys", extend="both", alpha=0.55, norm="log")
        lines = axes.contour(*at, size, levels=LEVELS, colors=INK, linewidths=0.6)
        places = []  # a label near the top of each line, or on the left edge
        for level in LEVELS:
            top = np.flatnonzero(np.diff(np.sign(size[-3] - level)))
            left = np.flatnonzero(np.diff(np.sign(size[:, 3] - level)))
            if top.size and np.isfinite(size[-3, top[-1]]):
                places.append((mu_axis[top[-1]], sigma_axis[-3]))
            elif left.size and np.isfinite(size[left[-1], 3]):
                places.append((mu_axis[3], sigma_axis[left[-1]]))
        axes.clabel(lines, fmt=lambda level: f"{level:g}%", fontsize=10, manual=places)
        axes.contourf(*at, -approx, levels=[0, np.inf], colors="white", hatches=["///"], zorder=2.5)
        axes.text(
            -24, 2.35, "$p_1$ > 1", bbox={"facecolor": "white", "edgecolor": "none"}, zorder=4
        )
        axes.plot(marked["mu"], marked["sigma"], "o", color=INK, markeredgecolor="white")
        for one in marked.itertuples():
            label = f"{one.model.removeprefix('pythia-').upper()}: {getattr(one, name + '_error'):+.1f}%"
            axes.annotate(label, (one.mu, one.sigma), (0, 7), textcoords="offset points",
                          ha="center", path_effects=HALO)  # fmt: skip
        title = f"{symbol}: error of the closed form"
        axes.set(title=title, ylabel=r"$\sigma$", xlim=(-30, 9), ylim=(2, 8))
    column[1].set_xlabel(r"$\mu$")
columns = ["source", "model", *grid.columns]
both = pd.concat([marked.assign(source="published"), grid.assign(source="grid", model="")])
plots.save(figure, both[columns], figures_dir, "figure_C1")

rows = []
for name, two in (("closed form", closed_form), ("sum", rank_sums)):
    by = two(laws["mu"], laws["sigma"])
    of_CE = fit_power_law(laws["S"], by.CE).alpha
    of_p1 = fit_power_law(laws["S"], by.neg_log_p1).alpha
    rows.append((name, of_CE, of_p1, of_p1 - of_CE))
slopes = pd.DataFrame(rows, columns=["by", "alpha of CE", "alpha of -log p_1", "gap"])
slopes.set_index("by").round(4)

# %% [markdown]
# <details><summary>How do the terms move with size, and towards the limit?</summary>
#
# $\log c$ and $\mu^2/2\sigma^2$ move against each other. In the limit the fraction stays above $-\log p_1$. (The band holds the eight Pythias with $\mu < 0$.)
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Draw the terms of Eq. 16 at the ten Pythias, and the limit
limit = pd.DataFrame({"b": np.geomspace(0.08, 4, 60)})
limit["-log p_1"], limit["fraction"] = zipf(limit["b"])
limit["closed form"] = np.log(0.5 + 1 / limit["b"])
LOOKS = {
    "log c": (r"$\log\,c$", "-"),
    "log sqrt(2 pi) sigma": (r"$\log\sqrt{2\pi}\,\sigma$", ":"),
    "mu^2 / 2 sigma^2": (r"$\mu^2/2\sigma^2$", "--"),
    "-log p_1": (r"$-\log p_1$", "-"),
}
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
    axes.axhline(0, color=CONTEXT, linewidth=1.5)
    ends = []
    for name, (label, dashes) in LOOKS.items():
        axes.plot(
            path["S"], path[name], dashes, color=INK, linewidth=2.4 if name == "-log p_1" else 1.4
        )
        ends.append((path["S"].iloc[-1], path[name].iloc[-1], label, INK))
    axes.set(
        xscale="log",
        xlabel="$S$",
        ylabel="nats",
        title=r"What $\log c$ loses, $\mu^2/2\sigma^2$ gives back",
    )
    plots.label_ends(axes, ends)
plots.save(figure, path, figures_dir, "figure_C2_terms")

with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
    positive = path["b"][path["b"] > 0]
    axes.axvspan(positive.min(), positive.max(), color=CONTEXT, linewidth=0)
    axes.text(0.15, 14.3, "eight Pythias")
    for name, dashes in (("fraction", "--"), ("-log p_1", "-"), ("closed form", ":")):
        axes.plot(limit["b"], limit[name], dashes, color=INK, linewidth=1.6)
    axes.set(xscale="log", ylim=(-1, 16), xlabel=r"$b = -\mu/\sigma^2$", ylabel="nats")
    axes.set_title(r"In the limit, too, the fraction is above $-\log p_1$")
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 4], ["0.1", "0.2", "0.5", "1", "2", "4"])
    axes.minorticks_off()
    names = {
        "fraction": "fraction",
        "-log p_1": r"$-\log p_1$",
        "closed form": r"$-\log p_1$, closed form",
    }
    ends = [
        (limit["b"].iloc[-1], limit[name].iloc[-1], label, INK) for name, label in names.items()
    ]
    plots.label_ends(axes, ends)
plots.save(figure, limit, figures_dir, "figure_C2_limit")
path.drop(columns=["S", "b"]).round(2)

# %% [markdown]
# ## The paper says, we get
#
# "log(c) becomes the dominant part of CE" does not hold: at 12B $\log c$ is $-4.81$, and $\mu^2/2\sigma^2$ gives 3.08 of it back. "Asymptotically negligible compared to log(c)" holds in part: compared with $\log c$ the fraction is negligible, compared with $-\log p_1$ it is not.

# %% tags=["hide-input", "hide-output"]
# The claims as a table
last = path.iloc[-1]
shares = path["fraction"] / path["log c"].abs()
to_p1 = path["fraction"] / path["-log p_1"]
print(
    f"fraction over -log p_1, ten Pythias: {to_p1.iloc[0]:.2f} (14M) to {to_p1.iloc[-1]:.2f} (12B)"
)
claims_table(
    "11",
    [
        {
            "claim": "as |µ| increases, log(c) becomes the dominant part of CE",
            "where": "Appendix C (arXiv), D (draft)",
            "test": "log c next to CE; what the other terms of Eq. 16 do",
            "published": f"in neither CE nor -log p_1: at 12B log c {last['log c']:.2f}, mu^2 / 2 sigma^2 {last['mu^2 / 2 sigma^2']:.2f}, CE {last['CE']:.2f}; the first two largely offset each other",
            "measured": "mathematics",
            "verdict": "does not hold",
            "main": True,
        },
        {
            "claim": "asymptotically negligible compared to log(c)",
            "where": "Appendix C, Eq. 26",
            "test": "fraction over |log c|; fraction over -log p_1, which the conclusion needs",
            "published": f"times |log c|: {shares.iloc[0]:.1f} (14M) down to {shares.iloc[-1]:.1f} (12B); times -log p_1: at least {least:.1f} in the limit",
            "measured": "mathematics",
            "verdict": "holds in part",
            "main": True,
        },
    ],
    "",
    figures_dir,
)

# %% [markdown]
# **What this cannot show.** Whether token probabilities within one context are lognormal is not tested here. Nearly any CE and $-\log p_1$ can be turned into a $\mu$ and a $\sigma$. So the ten pairs describe the models and test nothing.
#
# **Related work.** Piantadosi ([2014](https://doi.org/10.3758/s13423-014-0585-6)) reviews why the frequencies of words follow their ranks nearly by Zipf's law.
