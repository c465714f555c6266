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
# # Appendix C: do two laws follow from one lognormal?
#
# **The question.** Appendix C derives both $-\log \mathrm{RBP}_1$ and the cross-entropy from one lognormal over ranks. It then argues that one term comes to dominate both as models grow, so that both laws have one exponent. Does that follow?
#
# > **The paper.** "as |µ| increases, log(c) becomes the dominant part of CE". What is left of CE is, in the closed form,
# >
# > $$\mathrm{CE} + \log p_1 \approx \frac1c\Big[P\Big(\frac{\sigma^2-\mu^2}{2\sigma^2} + \mu\Big) + \varphi\Big(\frac\mu\sigma\Big)\Big(\sigma - \frac{\mu}{2\sigma}\Big)\Big], \tag{26}$$
# >
# > "asymptotically negligible compared to log(c)".
#
# **Guess first.** For Pythia-12B the closed form has $\log c = -4.8$ nats. If $\log c$ is the dominant part of CE, what does that make CE?
#
# A cross-entropy is positive, so other terms must be larger than $-\log c$. That is what this notebook finds. What to believe of Appendix C: **its algebra is right, and its closed form gives Figure 8b. Its last step is wrong: $\log c$ does not dominate, because another large term grows with it and offsets most of it. In the limit the lognormal becomes Zipf's law.**
#
# *[Glossary](../docs/glossary.md). Logarithms are natural, $S$ counts non-embedding parameters, and equation numbers are the arXiv version's. No model is run here; [notebook 08](08_section_5_2_two_laws.ipynb) fits $\mu$ and $\sigma$ to ranks.*

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
from matplotlib.patheffects import withStroke
from scipy.special import zeta

from rbpkit import fit_power_law, paper, plots
from rbpkit.stats.rank_laws import closed_form, published_laws, rank_sums
from rbpkit.study.params import check_parameters
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed

check_parameters(globals())

# %% [markdown]
# ## The distribution
#
# For ranks $k = 1, 2, \dots$ (Eqs. 10 and 11)
#
# $$p_k = \frac{\psi(k)}{c}, \qquad \psi(x) = \frac{1}{x\,\sigma\sqrt{2\pi}}\,\exp\!\Big(-\frac{(\ln x-\mu)^2}{2\sigma^2}\Big), \qquad c = \sum_{k\ge1}\psi(k).$$
#
# Two different lognormals meet here. Eq. 9 in Section 5.2 speaks of the **rank** $R$ of the correct token, over all contexts. Eq. 10 gives the **probability of the $k$-th token**, and a model's CE is computed from such probabilities in each context. The appendix uses one $p_k$ for both. They are the same only if the model predicts the same sorted distribution in every context and is calibrated. Real models are sure in some contexts and unsure in others, so their CE is below the entropy of $R$. We follow the paper from here on: $-\log p_1$ stands for $-\log\mathrm{RBP}_1$ and the entropy $-\sum_k p_k \ln p_k$ for CE.
#
# ## A sum as an integral
#
# The paper replaces each sum by an integral and half of the first term, $\sum_{k\ge1} f(k) \approx \int_1^\infty f(x)\,dx + \tfrac12 f(1)$. This is the trapezoid rule. With $P = \Phi(\mu/\sigma)$ (Eqs. 13, 16, 20)
#
# $$c \approx P + \tfrac12\psi(1), \qquad -\log p_1 = \log c + \log(\sqrt{2\pi}\,\sigma) + \frac{\mu^2}{2\sigma^2},$$
#
# and CE is $-\log p_1$ plus the fraction of Eq. 26. SymPy confirms the three integrals, and that the three forms of CE in the paper (Eqs. 18, 19 and 21) are one:

# %%
m = sp.symbols("mu", real=True)
s, L = sp.symbols("sigma L", positive=True)
density = sp.exp(-((L - m) ** 2) / (2 * s**2)) / (s * sp.sqrt(2 * sp.pi))  # psi(x) dx, L = ln x
Phi = (1 + sp.erf(m / s / sp.sqrt(2))) / 2
phi = sp.exp(-((m / s) ** 2) / 2) / sp.sqrt(2 * sp.pi)
moments = {13: (1, Phi), 14: (L, m * Phi + s * phi), 15: (L**2, (m**2 + s**2) * Phi + m * s * phi)}
for number, (weight, stated) in moments.items():
    difference = sp.integrate(weight * density, (L, 0, sp.oo)) - stated
    print(f"Eq. {number}:", sp.simplify(difference.rewrite(sp.erf)) == 0)

P, f = sp.symbols("P varphi", positive=True)  # P and phi(mu / sigma), as two free symbols
c = P + f / (2 * s)
I1, I2 = m * P + s * f, (m**2 + s**2) * P + m * s * f
common = sp.log(sp.sqrt(2 * sp.pi) * s) + sp.log(c)
eq_18 = common + ((I2 - 2 * m * I1 + m**2 * c) / (2 * s**2) + I1) / c
bracket = P * ((m**2 + s**2) / (2 * s**2) + m) + f * (m / (2 * s) + s) - m / s**2 * I1
eq_19 = common + m**2 / (2 * s**2) + bracket / c
fraction = (P * ((s**2 - m**2) / (2 * s**2) + m) + f * (s - m / (2 * s))) / c  # Eq. 26
eq_21 = common + m**2 / (2 * s**2) + fraction
print("Eqs. 18, 19, 21:", sp.simplify(eq_18 - eq_19) == 0, sp.simplify(eq_19 - eq_21) == 0)

# %% [markdown]
# Eqs. 10 to 12 are definitions, Eqs. 16 and 17 are exact, and the limits of Eqs. 22 to 25 come below. So the algebra of all seventeen equations holds. Two things remain to be tested: how good the trapezoid rule is, and the limit.
#
# ## The closed form is Figure 8b
#
# Figure 8c prints $(\mu, \sigma)$ of four models. `closed_form` evaluates the equations above. `rank_sums` adds up the terms over all ranks; from rank 4,096 on it takes the integral, where that is exact to nine digits.

# %%
four = paper.lognormal_params()
laws = published_laws()  # Figure 8b, and the mu and sigma at which the closed form gives it
compared = four[["model"]].merge(laws[["model", "simulated_CE", "simulated_neg_log_rbp1"]])
compared.columns = ["model", "CE, Figure 8b", "-log p_1, Figure 8b"]
for name, two in (("closed form", closed_form), ("sum", rank_sums)):
    values = two(four["mu"], four["sigma"])
    compared[f"CE, {name}"], compared[f"-log p_1, {name}"] = values.CE, values.neg_log_p1
compared[sorted(compared, reverse=True)].round(3)

# %% [markdown]
# The closed form agrees with the figure to 0.003 nats, and the sum does not. So Figure 8b shows the closed form, and its ten points can be turned back into ten pairs $(\mu, \sigma)$; the paper prints four of them.
#
# How large is the error of the trapezoid rule elsewhere?


# %%
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
marked = errors(four["mu"], four["sigma"]).assign(model=four["model"])

# %% tags=["hide-input"]
LEVELS = [0.3, 1, 3, 10, 30, 100]
with plots.style():
    figure, row = plt.subplots(1, 2, figsize=(7.2, 3.5), sharey=True, layout="constrained")
    for axes, name, symbol in zip(row, ("neg_log_p1", "CE"), (r"$-\log p_1$", "CE"), strict=True):
        negative = grid["neg_log_p1_approx"].to_numpy().reshape(mu_grid.shape)
        size = grid[f"{name}_error"].abs().to_numpy().reshape(mu_grid.shape)
        size = np.where(negative > -0.3, np.maximum(size, 1e-6), np.nan)
        at = (mu_axis, sigma_axis)
        axes.contourf(*at, size, levels=LEVELS, cmap="Greys", extend="both", alpha=0.55, norm="log")
        lines = axes.contour(*at, size, levels=LEVELS, colors="black", linewidths=0.6)
        places = []  # a label near the top of each line, or on the left edge
        for level in LEVELS:
            for cut, line in ((-3, size[-3]), (None, size[:, 3])):
                crossed = np.flatnonzero(np.diff(np.sign(line - level)))
                if crossed.size and np.isfinite(line[crossed[-1]]):
                    there = (mu_axis[crossed[-1]], sigma_axis[-3])
                    places.append(there if cut else (mu_axis[3], sigma_axis[crossed[-1]]))
                    break
        axes.clabel(lines, fmt=lambda level: f"{level:g}%", fontsize=8, manual=places)
        axes.contourf(
            *at, -negative, levels=[0, np.inf], colors="white", hatches=["///"], zorder=2.5
        )
        axes.plot(-2 * sigma_axis**2, sigma_axis, "--", color="#0072B2", zorder=3)
        axes.plot(marked["mu"], marked["sigma"], "o", color="#D55E00", markeredgecolor="white")
        for one in marked.itertuples():
            label = f"{one.model.removeprefix('pythia-')}: {getattr(one, name + '_error'):+.1f}%"
            axes.annotate(
                label,
                (one.mu, one.sigma),
                (-4, 6),
                textcoords="offset points",
                fontsize=8,
                ha="center",
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )
        axes.set(title=f"error of {symbol}", xlabel=r"$\mu$", xlim=(-30, 9), ylim=(2, 8))
        axes.grid(False)
    row[0].set_ylabel(r"$\sigma$")
columns = ["source", "model", *grid.columns]
both = pd.concat([marked.assign(source="published"), grid.assign(source="grid", model="")])
plots.save(figure, both[columns], figures_dir, "figure_C1")

# %% [markdown]
# *Size of the closed form's error against the sum. Dots: the four printed pairs. Hatched: the closed form gives $p_1 > 1$. Dashed: $|\mu| = 2\sigma^2$, from where on that is certain.*
#
# At the paper's models the error is at most about 4%. It has a direction, though: $-\log p_1$ comes out too low and CE too high, and both more so for larger models. That changes the exponents of Figure 8b:

# %%
rows = []
for name, two in (("closed form", closed_form), ("sum", rank_sums)):
    values = two(laws["mu"], laws["sigma"])
    CE, one = (fit_power_law(laws["S"], loss).alpha for loss in (values.CE, values.neg_log_p1))
    rows.append((name, CE, one, one - CE))
slopes = pd.DataFrame(rows, columns=["by", "alpha of CE", "alpha of -log p_1", "gap"]).set_index(
    "by"
)
slopes.round(4)

# %% [markdown]
# **A third of the gap between the two exponents comes from the trapezoid rule.** The other two thirds belong to the lognormal itself, so even the exact sums do not give one exponent.
#
# **Exercise 1.** For $\sigma = 3$, at which $\mu$ does the closed form give $p_1 = 1$? Give two decimals.
#
# <details><summary>Hint</summary>`scipy.optimize.brentq` finds a zero of `closed_form(mu, 3).neg_log_p1`.</details>

# %%
answer_1 = None  # a number
print(check(1, answer_1, sealed("bd4fd00c", digits=2)))

# %% [markdown]
# ## The limit argument
#
# The paper lets $\mu/\sigma \to -\infty$. Then $\Phi(\mu/\sigma) = o(\varphi(\mu/\sigma))$ and $\psi(1) = \varphi(\mu/\sigma)/\sigma = o(\varphi(\mu/\sigma))$ (Eqs. 22 and 23), so $c = o(\varphi(\mu/\sigma))$ and
#
# $$-\log c > \tfrac12\log 2\pi + \frac{\mu^2}{2\sigma^2} \tag{24, 25}$$
#
# in the end. All four are right. So $\log c$ goes to $-\infty$ at least as fast as $-\mu^2/2\sigma^2$. But Eq. 16 adds $\mu^2/2\sigma^2$ to it again. Here are the terms at the ten Pythias, from small to large.

# %%
values = closed_form(laws["mu"], laws["sigma"])
path = laws[["model", "S"]].assign(b=-laws["mu"] / laws["sigma"] ** 2)
path["log c"] = values.log_c
path["log sqrt(2 pi) sigma"] = np.log(np.sqrt(2 * np.pi) * laws["sigma"])
path["mu^2 / 2 sigma^2"] = laws["mu"] ** 2 / (2 * laws["sigma"] ** 2)
path["-log p_1"] = path[["log c", "log sqrt(2 pi) sigma", "mu^2 / 2 sigma^2"]].sum(axis=1)
path["fraction"] = values.fraction
path["CE"] = path["-log p_1"] + path["fraction"]
path.drop(columns=["S", "b"]).round(2)

# %% [markdown]
# From the smallest model to the largest, $\log c$ falls by 4.4 nats while $\mu^2/2\sigma^2$ rises by 3.0. So two thirds of the fall are offset, and the third term offsets another tenth. No term dominates. Why the two offset each other can be seen from Eq. 22 with its next factor, $\Phi(-x) \approx \varphi(x)/x$:
#
# $$\log c \approx -\frac{\mu^2}{2\sigma^2} - \log\sqrt{2\pi} + \log\Big(\frac{\sigma}{|\mu|} + \frac1{2\sigma}\Big) \quad\Rightarrow\quad -\log p_1 \to \log\Big(\frac12 + \frac1b\Big), \qquad b = \frac{|\mu|}{\sigma^2}.$$
#
# $\log c$ *contains* $-\mu^2/2\sigma^2$. What remains depends on $b$ alone, not on $\mu/\sigma$. The exact sum shows which law it is. Since
#
# $$\frac{\psi(k)}{\psi(1)} = k^{-(1+b)}\, e^{-(\ln k)^2/2\sigma^2},$$
#
# the lognormal becomes **Zipf's law** $k^{-(1+b)}$ as $\sigma\to\infty$ at fixed $b$, and
#
# $$-\log p_1 \to \log\zeta(1+b), \qquad \text{fraction} \to (1+b)\,\mathrm{E}[\ln R] = -(1+b)\,\frac{\zeta'(1+b)}{\zeta(1+b)} .$$


# %%
def zipf(b, h=1e-5):
    """-log p_1 and the fraction (nats) of the law k^-(1 + b)."""
    slope = (np.log(zeta(1 + b + h)) - np.log(zeta(1 + b - h))) / (2 * h)
    return np.log(zeta(1 + b)), -(1 + b) * slope


limit = pd.DataFrame({"b": np.geomspace(0.08, 4, 60)})
limit["-log p_1"], limit["fraction"] = zipf(limit["b"])
limit["closed form"] = np.log(0.5 + 1 / limit["b"])
for width in (5, 30, 300):
    wide = rank_sums(-0.43 * width**2, width)
    print(f"b = 0.43, sigma = {width}: -log p_1 = {wide.neg_log_p1[0]:.3f}")
print(f"b = 0.43, Zipf: -log p_1 = {zipf(0.43)[0]:.3f}")

# %% tags=["hide-input"]
LOOK = {
    "mu^2 / 2 sigma^2": (r"$\mu^2 / 2\sigma^2$", "--", "#E69F00"),
    "log sqrt(2 pi) sigma": (r"$\log\sqrt{2\pi}\,\sigma$", ":", "#009E73"),
    "log c": (r"$\log c$", "-.", "#0072B2"),
    "-log p_1": (r"$-\log p_1$", "-", "black"),
    "fraction": ('fraction of Eq. 26, "negligible"', "--", "#D55E00"),
    "CE": (r"CE = $-\log p_1$ + fraction", "-", "#CC79A7"),
    "closed form": (r"$-\log p_1$ by the closed form", ":", "black"),
}
with plots.style():
    figure, axs = plt.subplots(2, 2, figsize=(7.2, 6.4), layout="constrained")
    left, middle, right, blank = axs.flat
    blank.axis("off")
    names = list(LOOK)
    for axes, what, table, x in (
        (left, names[:4], path, "S"),
        (middle, names[3:6], path, "S"),
        (right, ["fraction", "-log p_1", "closed form"], limit, "b"),
    ):
        for name in what:
            label, line, colour = LOOK[name]
            axes.plot(table[x], table[name], line, color=colour, label=label, linewidth=1.8)
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set(xscale="log", ylabel="nats", xlabel="$S$")
    for axes in (left, middle):
        axes.plot(laws["S"], laws["simulated_neg_log_rbp1"], "ko", ms=5, label="Figure 8b")
    middle.plot(laws["S"], laws["simulated_CE"], "s", color="#CC79A7", ms=5)
    right.axvspan(
        path["b"][path["b"] > 0].min(),
        path["b"].max(),
        color="grey",
        alpha=0.25,
        label="the Pythias",
    )
    right.set_xticks([0.1, 0.2, 0.5, 1, 2, 4], ["0.1", "0.2", "0.5", "1", "2", "4"])
    right.minorticks_off()
    right.set(xlabel=r"$b = |\mu| / \sigma^2$", title=r"limit $\sigma\to\infty$ at fixed $b$")
    left.set_title(r"terms of $-\log p_1$")
    middle.set(title="terms of CE", ylim=(0, None))
    shown = {}
    for axes in (left, middle, right):
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    blank.legend(shown.values(), shown, loc="center", frameon=False)
simulated = paper.ce_and_rbp1().query("kind == 'simulated'").rename(columns={"series": "quantity"})
terms = [name for name in path if name not in ("model", "S", "b")]
parts = [
    simulated.assign(source="published"),
    path.melt(["S", "b"], terms, "quantity", "value").assign(source="closed form"),
    limit.melt("b", ["-log p_1", "fraction", "closed form"], "quantity").assign(source="limit"),
]
drawn = pd.concat(parts).astype({"S": "Int64"})
plots.save(
    figure, drawn[["source", "model", "S", "b", "quantity", "value"]], figures_dir, "figure_C2"
)

# %% [markdown]
# *Top left: the terms of Eq. 16 at the ten Pythias. The two that grow largely offset each other. Top right: the "negligible" fraction is most of CE. Below: in the limit, too, the fraction stays above $-\log p_1$.*
#
# **Exercise 2.** If the fraction of Eq. 26 were negligible, CE would equal $-\log p_1$. Which share of the closed form's CE is that for Pythia-12B, with the printed $\mu, \sigma$? Give two decimals.
#
# <details><summary>Hint</summary>`closed_form(-14.29, 5.76)` has both.</details>

# %%
answer_2 = None  # a number between 0 and 1
print(check(2, answer_2, sealed("22176497", digits=2)))

# %% [markdown]
# ## Is the fraction negligible?
#
# In the limit it is, compared with $\log c$, as the paper says, because $\log c$ goes to $-\infty$. But in CE the growth of $\log c$ cancels. The comparison that decides is with $-\log p_1$. Over all $b$ of the limit:

# %%
b = np.geomspace(0.01, 20, 400)
neg_log_p1, rest = zipf(b)
print(f"fraction / -log p_1, in the limit: at least {(rest / neg_log_p1).min():.2f}")
ratio = path["fraction"] / path["-log p_1"]
print(f"at the ten Pythias: {ratio.iloc[0]:.2f} (14M) to {ratio.iloc[-1]:.2f} (12B)")

# %% [markdown]
# In the limit it is more than twice as large. At the ten Pythias it is about twice as large, and the ratio grows with size.
#
# One can see without any lognormal that the exponents must part. The entropy of a rank is at least the entropy of the question "is it 1?":
#
# $$\mathrm{CE} \ge -p_1\log p_1 - (1-p_1)\log(1-p_1) \quad\Rightarrow\quad \frac{\mathrm{CE}}{-\log p_1} \to \infty \;\text{ as }\; p_1 \to 1.$$
#
# So as models become perfect, CE, in the sense of the appendix, falls more slowly than $-\log p_1$. Then both cannot be power laws of $S$ with one exponent all the way.
#
# **Exercise 3.** $\mu/\sigma\to-\infty$ alone does not fix the limit. Use `rank_sums` on three paths: $\sigma = 6$ and $\mu = -6w$; $\sigma = w$ and $\mu = -0.4\,w^2$; $\sigma = w$ and $\mu = -w^{1.5}$. Let $w$ grow. Where does $-\log p_1$ go on each, and why?
#
# <details><summary>Hint</summary>Work out b on each path.</details>
#
# ## What the paper says, and what we get

# %% tags=["hide-input"]
last = path.iloc[-1]
shares = path["fraction"] / path["log c"].abs()
claims_table(
    "11",
    [
        {
            "claim": "as |µ| increases, log(c) becomes the dominant part of CE",
            "where": "Appendix C (arXiv), D (draft)",
            "test": "log c next to CE; what the other terms of Eq. 16 do",
            "published": f"12B: log c {last['log c']:.2f}, mu^2 / 2 sigma^2 {last['mu^2 / 2 sigma^2']:.2f}, CE {last['CE']:.2f}; the first two largely offset each other",
            "measured": "mathematics",
            "verdict": "does not hold",
            "main": True,
        },
        {
            "claim": "asymptotically negligible compared to log(c)",
            "where": "Appendix C, Eq. 26",
            "test": "fraction over |log c|; fraction over -log p_1, which the conclusion needs",
            "published": f"times |log c|: {shares.iloc[0]:.1f} (14M) down to {shares.iloc[-1]:.1f} (12B); times -log p_1: at least {(rest / neg_log_p1).min():.1f} in the limit",
            "measured": "mathematics",
            "verdict": "holds in part",
            "main": True,
        },
    ],
    "",
    figures_dir,
)

# %% [markdown]
# **What this cannot show.** Whether token probabilities within one context are lognormal (Eq. 10) is not tested here or in notebook 08, which look at ranks over all contexts. Any pair of CE and $-\log p_1$ within the closed form's range can be turned into a $\mu$ and a $\sigma$, so the ten pairs are a description. A law in $S$ needs a reason for how $\mu$ and $\sigma$ move with $S$, and the appendix gives none.
#
# **Related work.** That ranks of words and tokens are close to Zipf's law, and why mixtures produce it, is reviewed by Piantadosi ([2014](https://doi.org/10.3758/s13423-014-0585-6)).
