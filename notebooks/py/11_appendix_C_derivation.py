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
# # Appendix C: two laws from one lognormal?
#
# **Claim**, as we read it. If the rank $R$ of the correct token follows a discrete lognormal with parameters $\mu, \sigma$, then $-\log \mathrm{RBP}_1$ and the cross-entropy CE are both functions of $\mu$ and $\sigma$, and as models grow one term comes to dominate both, so that the two laws have the same exponent.
#
# Every step is computed twice here: by the **sum** over all ranks, with a bound on its error, and by the paper's **closed form**, which replaces sums by integrals. Then the limit argument is taken in each of its three texts. Each claim ends with "holds", "holds when ..." or "does not hold", and the number.
#
# No model is run and nothing is measured here: notebook 08 fits $\mu$ and $\sigma$ to ranks. It takes less than a minute. $S$ counts non-embedding parameters; logarithms are natural.
#
# **What we worked from.** The closed form is ours, derived below. It is the paper's, because it gives Figure 8b to all its digits. Of the wording and the equation numbers of the appendix we know only part; section 4 says which, and what is inferred.

# %% tags=["parameters"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
import scipy
import sympy as sp

import rbpkit
from rbpkit import explorers, figures, figures_theory, paper, theory
from rbpkit.exercises import check
from rbpkit.fit import fit_power_law

pd.set_option("display.max_colwidth", None)
print("rbpkit", rbpkit.__version__, "| scipy", scipy.__version__, "| sympy", sp.__version__)

# %% [markdown]
# ## 1. The distribution
#
# **Steps 1 to 3.** For ranks $k = 1, 2, \dots$
#
# $$p_k = \frac{\psi(k)}{c}, \qquad \psi(x) = \frac{1}{x\,\sigma\sqrt{2\pi}}\,\exp\!\Big(-\frac{(\ln x-\mu)^2}{2\sigma^2}\Big), \qquad c = \sum_{k\ge1}\psi(k).$$
#
# $\mu$ and $\sigma$ belong to the density before it is cut off at 1 and made discrete: a negative $\mu$ is no mean of anything one could measure. The paper prints four pairs (Figure 8c). `rank_sums` adds the first $2^{14} - 1$ terms one by one and takes the rest from an integral with its correction; `bound` is the largest share of the sums that this can miss.

# %%
four = paper.lognormal_params()
sums = theory.rank_sums(four["mu"], four["sigma"])
table = four[["model", "S", "mu", "sigma"]].assign(
    c=theory.normaliser(four["mu"], four["sigma"]),
    p_1=np.exp(-sums.log_ratio),
    **{"E[ln R]": sums.mean_log},
)
print(f"relative error of the sums at most {sums.bound.max():.1e}")
table.round(4)

# %% [markdown]
# ## 2. A sum as an integral
#
# **Step 4.** The trapezoid rule, the first term of Euler and Maclaurin's formula:
#
# $$\sum_{k\ge1} f(k) \approx \int_1^\infty f(x)\,dx + \tfrac12 f(1).$$
#
# **Step 5.** With $f = \psi$ and $\varphi, \Phi$ the normal density and distribution,
#
# $$c \approx P + \tfrac12\psi(1), \qquad P = \int_1^\infty \psi = \Phi(\mu/\sigma), \qquad \psi(1) = \varphi(\mu/\sigma)/\sigma.$$
#
# **Step 6.** From $p_1 = \psi(1)/c$, with no approximation but that of $c$,
#
# $$-\log p_1 = \log c + \log(\sqrt{2\pi}\,\sigma) + \frac{\mu^2}{2\sigma^2}.$$

# %%
mu, sigma = four["mu"], four["sigma"]
by_sum = (
    theory.log_normaliser(mu, sigma) + np.log(np.sqrt(2 * np.pi) * sigma) + mu**2 / (2 * sigma**2)
)
print(
    "step 6, largest difference from log(c / psi(1)):",
    f"{(by_sum - sums.log_ratio).abs().max():.0e}",
)
pd.DataFrame(
    {
        "model": four["model"],
        "c": theory.normaliser(mu, sigma),
        "c approx": theory.normaliser_approx(mu, sigma),
        "-log p_1": theory.neg_log_p1(mu, sigma),
        "-log p_1 approx": theory.neg_log_p1_approx(mu, sigma),
    }
).round(4)

# %% [markdown]
# ## 3. The cross-entropy
#
# **Step 7.** The CE of Appendix C is the entropy of the rank,
#
# $$\mathrm{CE} = -\sum_k p_k \ln p_k = \log c + \log(\sqrt{2\pi}\,\sigma) + \mathrm{E}[\ln R] + \frac{\mathrm{E}[(\ln R-\mu)^2]}{2\sigma^2}.$$
#
# It is a model's cross-entropy if the model gives its $k$-th token the probability $p_k$ in every context. Real models do not: they are sure here and unsure there, and CE falls below the entropy of $R$ by what they know about that.
#
# **Steps 8 to 10.** Three integrals, by $L = \ln x$, with $a = \mu/\sigma$:
#
# $$\int_1^\infty \ln x\,\psi = \mu\Phi(a) + \sigma\varphi(a), \qquad \int_1^\infty (\ln x-\mu)^2\,\psi = \sigma^2\big(\Phi(a) - a\varphi(a)\big), \qquad \int_1^\infty (\ln x)^2\,\psi = (\mu^2+\sigma^2)\Phi(a) + \mu\sigma\varphi(a).$$

# %%
m = sp.symbols("mu", real=True)
s, L = sp.symbols("sigma L", positive=True)
density = sp.exp(-((L - m) ** 2) / (2 * s**2)) / (s * sp.sqrt(2 * sp.pi))  # psi(x) dx, L = ln x
a = m / s
Phi = (1 + sp.erf(a / sp.sqrt(2))) / 2
phi = sp.exp(-(a**2) / 2) / sp.sqrt(2 * sp.pi)

identities = {
    "5: integral of psi": (1, Phi),
    "8: of ln x psi": (L, m * Phi + s * phi),
    "9: of (ln x - mu)^2 psi": ((L - m) ** 2, s**2 * (Phi - a * phi)),
    "10: of (ln x)^2 psi": (L**2, (m**2 + s**2) * Phi + m * s * phi),
}
for name, (weight, stated) in identities.items():
    difference = sp.integrate(weight * density, (L, 0, sp.oo)) - stated
    print(f"step {name}:", sp.simplify(difference.rewrite(sp.erf)) == 0)

# %% [markdown]
# **Step 11.** Put into step 7, with half of the first term where it is not zero ($\ln 1 = 0$, but $(\ln 1 - \mu)^2 = \mu^2$):
#
# $$\mathrm{CE} \approx \log c + \log(\sqrt{2\pi}\,\sigma) + \frac1c\Big[\mu P + \sigma\varphi + \frac{P - a\varphi}{2} + \frac{\mu^2}{4\sigma^2}\psi(1)\Big].$$
#
# **Step 12.** The same, with $-\log p_1$ taken out:
#
# $$\mathrm{CE} \approx -\log p_1 + \frac{P\big(\tfrac12 + \mu - \tfrac{\mu^2}{2\sigma^2}\big) + \varphi\big(\sigma - \tfrac{\mu}{2\sigma}\big)}{c}.$$
#
# The last fraction is the one that Eq. 26 calls "negligible".

# %%
P, f = sp.symbols("P varphi", positive=True)  # Phi(a) and phi(a), as two free symbols
c = P + f / (2 * s)
common = sp.log(c) + sp.log(sp.sqrt(2 * sp.pi) * s)
step_11 = common + (m * P + s * f + (P - a * f) / 2 + m**2 * f / (4 * s**3)) / c
fraction = (P * (sp.Rational(1, 2) + m - a**2 / 2) + f * (s - m / (2 * s))) / c
step_12 = common + m**2 / (2 * s**2) + fraction
print("step 11 = step 12:", sp.simplify(step_11 - step_12) == 0)

point = {m: -14.29, s: 5.76}
value = step_12.subs({P: Phi, f: phi}).subs(point).evalf()
print(f"step 12 at Pythia-12B: {value:.4f}; rbpkit: {theory.entropy_approx(-14.29, 5.76):.4f}")

# %% [markdown]
# Both quantities at any pair: $p_k$, and $-\log p_1$ and CE (nats) by the sum and by the closed form. Sliders for $\mu$ and $\sigma$ in JupyterLab or Jupyter Notebook, a still picture elsewhere: Pythia-12B as printed, then two pairs of ours.

# %%
stills = [(-14.29, 5.76), (-5.0, 2.0), (2.0, 3.0)]
still = explorers.explore_lognormal(stills)  # None where the sliders are shown
if still is not None:
    figures.save(still, explorers.lognormal_points(stills), figures_dir, "figure_C_slider")

# %% [markdown]
# ## 4. Crosswalk of equation numbers
#
# The derivation exists in three texts: Appendix C of the arXiv version, Eqs. 10 to 26; Appendix D of a draft, Eqs. 11 to 27; and B.4 of the ICLR submission.
#
# **Known**: where the numbers begin and end, and that Eq. 26, the last, holds the fraction. **Inferred**: that Eqs. 14 and 15, which are to be checked by algebra, are integrals, and that Eqs. 19 and 21, which are to be equal, are the two forms of CE; that a draft's number is the arXiv number plus one, for both texts have seventeen. **Not known**: all other numbers, and every number of B.4.

# %%
unknown = "not known"
integral_numbers = ("14, 15 are among 5, 8, 9, 10 (inferred)", "15, 16 likewise (inferred)")
form_numbers = ("19, 21 are 11, 12 (inferred)", "20, 22 likewise (inferred)")
crosswalk = pd.DataFrame(
    [
        (1, "p_k = psi(k) / c", unknown, unknown, "definition"),
        (2, "psi, the lognormal density", unknown, unknown, "definition"),
        (3, "c = sum psi(k)", unknown, unknown, "definition"),
        (4, "sum f = integral + f(1) / 2", unknown, unknown, "section 6"),
        (5, "c = P + psi(1) / 2, P = Phi(mu / sigma)", *integral_numbers, "exact integral"),
        (6, "-log p_1 in three terms", unknown, unknown, "exact"),
        (7, "CE = -sum p_k ln p_k", unknown, unknown, "exact"),
        (8, "integral of ln x psi", *integral_numbers, "exact"),
        (9, "integral of (ln x - mu)^2 psi", *integral_numbers, "exact"),
        (10, "integral of (ln x)^2 psi", *integral_numbers, "exact"),
        (11, "CE, the integrals put in", *form_numbers, "= step 12"),
        (12, "CE = -log p_1 + fraction", *form_numbers, "= step 11"),
        (13, "the fraction is negligible", "26", "27 (inferred)", "section 7"),
    ],
    columns=["step", "what", "arXiv C", "draft D", "checked here"],
)
crosswalk["ICLR B.4"] = unknown
crosswalk.set_index("step")

# %% [markdown]
# Steps 5 and 8 to 10 hold as integrals whichever of them carry the numbers 14 and 15, and steps 11 and 12 are one expression. So these identities **hold**, as far as they are what we infer; no algebra stands in the way. What is left to test is the trapezoid rule and the limit.
#
# ## 5. The closed form is Figure 8b
#
# From $\mu, \sigma$ as printed, with two decimals, the closed form must give the simulated CE and $-\log\mathrm{RBP}_1$ of Figure 8b.

# %%
simulated = paper.ce_and_rbp1().query("kind == 'simulated'")
figure_8b = simulated.pivot(index=["S", "model"], columns="series", values="value").sort_index()
at_four = figure_8b.loc[list(zip(four["S"], four["model"], strict=True))]
compared = pd.DataFrame(
    {
        "model": four["model"],
        "CE, Figure 8b": at_four["CE"].to_numpy(),
        "CE, closed form": theory.entropy_approx(mu, sigma),
        "CE, sum": theory.entropy(mu, sigma),
        "-log p_1, Figure 8b": at_four["neg_log_rbp1"].to_numpy(),
        "-log p_1, closed form": theory.neg_log_p1_approx(mu, sigma),
        "-log p_1, sum": theory.neg_log_p1(mu, sigma),
    }
)
off = 100 * (compared.filter(like="closed").to_numpy() / at_four.to_numpy() - 1)
print(f"closed form against Figure 8b: off by at most {np.abs(off).max():.2f}%")
compared.round(4)

# %% [markdown]
# The closed form fits; the sum does not. So Figure 8b shows the closed form, and its two values can be turned back into $\mu$ and $\sigma$ for all ten models (`theory.invert`; at fixed $-\log p_1$ the closed form's CE rises with $\sigma$, so there is one answer).

# %%
S = figure_8b.index.get_level_values("S").to_numpy(float)
path = figures_theory.terms(*theory.invert(figure_8b["CE"], figure_8b["neg_log_rbp1"]))
path.insert(0, "model", figure_8b.index.get_level_values("model"))
path.insert(1, "S", S.astype(int))
path["mu / sigma"] = path["mu"] / path["sigma"]

both = path.merge(four, on="model", suffixes=("", " printed"))
rounding = np.abs(both[["mu", "sigma"]] - both[["mu printed", "sigma printed"]].to_numpy()).max()
print(f"off the four printed pairs by at most {rounding.max():.4f}")
path[["model", "S", "mu", "sigma", "mu / sigma", "b"]].round(3)

# %% [markdown]
# They round to the four printed pairs. ($b = -\mu/\sigma^2$ will be needed below.)
#
# The ICLR text takes $\mu/\sigma$ to be "approximately linear in $S$". The ten values say:


# %%
def line(x: np.ndarray, y: pd.Series) -> tuple[float, float, float]:
    """Slope, intercept and R2 of a straight line."""
    slope, intercept = np.polyfit(x, y, 1)
    return slope, intercept, 1 - np.var(y - slope * x - intercept) / np.var(y)


r2_S, r2_log_S = (line(x, path["mu / sigma"])[2] for x in (S, np.log(S)))
print(f"mu / sigma, n = {len(S)}: R2 = {r2_S:.3f} on S, {r2_log_S:.3f} on ln S")

# %% [markdown]
# ## 6. How good is the trapezoid rule?
#
# Error of each approximated quantity, (closed form - sum) / sum in percent: at the ten models, then over a grid of $\mu$ from $-30$ to 9 and $\sigma$ from 2 to 8.

# %%
at_ten = figures_theory.step_errors(path["mu"], path["sigma"])
at_ten.insert(0, "model", path["model"])
at_ten.round(2)

# %%
grid = figures_theory.error_grid(np.linspace(-30, 9, 40), np.linspace(2, 8, 25))
usable = grid["mu"] > -0.5 * grid["sigma"] ** 2
steps = figures_theory.step_errors(grid["mu"][usable], grid["sigma"][usable]).drop(
    columns=["mu", "sigma"]
)
below = (grid["neg_log_p1_approx"] <= grid["neg_log_p1"]).mean()
impossible = grid["neg_log_p1_approx"] < 0
print(f"grid: {len(grid)} pairs; {impossible.sum()} of them with p_1 > 1 by the closed form")
print(
    f"all of those have |mu| > {(-grid['mu'] / grid['sigma'] ** 2)[impossible].min():.2f} sigma^2"
)
print(f"closed form of -log p_1 below the sum in {100 * below:.1f}% of the grid")
print(f"where mu > -sigma^2 / 2 ({usable.sum()} pairs), errors in percent:")
pd.DataFrame({"lowest": steps.min(), "highest": steps.max()}).T.round(2)

# %% [markdown]
# ### Figure C1
#
# Ours; the paper has no such figure. Size of the error in each of the two quantities, with the four printed pairs.

# %%
figure, points = figures_theory.figure_C1(grid, four)
figures.save(figure, points, figures_dir, "figure_C1")

# %% [markdown]
# Where $p_1 > 1$: by steps 5 and 6 the closed form is $-\log p_1 = \log\big(\tfrac12 + P/\psi(1)\big)$, and $P/\psi(1) = \sigma\Phi(a)/\varphi(a) < \sigma^2/|\mu|$ for $\mu < 0$ (Mills' ratio). Beyond $|\mu| = 2\sigma^2$ that is less than 1/2, so $p_1 > 1$ always. The exact border lies a little before it:

# %%
from scipy.optimize import brentq

for one in (1, 2, 5, 10):
    border = brentq(theory.neg_log_p1_approx, -3 * one**2 - 3, 5, args=(one,))
    print(f"sigma = {one:2d}: p_1 > 1 from |mu| = {-border / one**2:.3f} sigma^2")
print(f"the ten models: |mu| / sigma^2 up to {path['b'].max():.3f}")

# %% [markdown]
# The error at the ten models is small, but it has a direction: $-\log p_1$ too low and more so for larger models, CE too high and more so. It goes into the exponents of Figure 8b:

# %%
series = {
    ("closed form", "CE"): path["CE"],
    ("closed form", "-log p_1"): path["-log p_1"],
    ("sum", "CE"): theory.entropy(path["mu"], path["sigma"]),
    ("sum", "-log p_1"): theory.neg_log_p1(path["mu"], path["sigma"]),
}
fits = {key: fit_power_law(S, values) for key, values in series.items()}
slopes = pd.DataFrame(
    [(*key, one.alpha, *one.alpha_interval, one.r2) for key, one in fits.items()],
    columns=["by", "quantity", "alpha", "low", "high", "R2"],
)
gaps = {by: fits[by, "-log p_1"].alpha - fits[by, "CE"].alpha for by in ("closed form", "sum")}
print("difference of the exponents:", {by: f"{gap:.4f}" for by, gap in gaps.items()})
slopes.round(4)

# %% [markdown]
# A third of the difference between the two exponents is the trapezoid rule's. What remains is the lognormal's own: the two exponents are not the same, and their intervals (95%, by the regression's residuals) are apart.
#
# ## 7. The limit argument
#
# **ICLR B.4**: $\mu^2/2\sigma^2$ dominates. **The draft's Appendix D and arXiv's C**: $\log c$ dominates. Both are terms of step 6; here they are, at the ten models, with what they add up to.

# %%
names = ["log c", "log sqrt(2 pi) sigma", "mu^2 / 2 sigma^2", "-log p_1", "fraction", "CE"]
shares = path[["model", *names]].assign(
    **{"fraction / -log p_1": path["fraction"] / path["-log p_1"]}
)
shares.round(3)

# %% [markdown]
# ### Figure C2
#
# Ours as well. Left and middle: the table. Right: where both quantities go when $\sigma\to\infty$ at fixed $b = |\mu|/\sigma^2$ (below).

# %%
far = figures_theory.limits(np.geomspace(0.08, 4, 60))
figure, points = figures_theory.figure_C2(path, simulated[["series", "model", "S", "value"]], far)
figures.save(figure, points, figures_dir, "figure_C2")

# %% [markdown]
# **Neither term can dominate, because they cancel.** For $a = \mu/\sigma \to -\infty$ we have $\Phi(a) \approx \varphi(a)/|a|$, so
#
# $$\log c \approx \log\varphi(a) + \log\Big(\frac{1}{|a|} + \frac{1}{2\sigma}\Big) = -\frac{\mu^2}{2\sigma^2} - \log\sqrt{2\pi} + \log\Big(\frac{\sigma}{|\mu|} + \frac1{2\sigma}\Big).$$
#
# $\log c$ *contains* $-\mu^2/2\sigma^2$. In step 6 the two large terms go, and what is left is
#
# $$-\log p_1 \to \log\Big(\frac12 + \frac{\sigma^2}{|\mu|}\Big),$$
#
# a function of $b = |\mu|/\sigma^2$ alone, not of $\mu/\sigma$. To say that $\log c$ dominates a positive CE while it goes to $-\infty$ says nothing of CE. An example with $a = -10$:

# %%
example = figures_theory.terms([-100.0], [10.0])
print(f"log c = {example['log c'][0]:.1f}, mu^2 / 2 sigma^2 = {example['mu^2 / 2 sigma^2'][0]:.0f}")
print(
    f"-log p_1 = {example['-log p_1'][0]:.3f} by the closed form, log(1/2 + 1) = {np.log(1.5):.3f}"
)
print(f"-log p_1 = {theory.neg_log_p1(-100, 10):.3f} by the sum")
print(f"CE = {theory.entropy(-100, 10):.3f} by the sum, {example['CE'][0]:.3f} by the closed form")

# %% [markdown]
# **The exact limit.** $\psi(k)/\psi(1) = k^{-1 + \mu/\sigma^2}\, e^{-(\ln k)^2/2\sigma^2}$. At fixed $b$ and $\sigma\to\infty$ the last factor goes to 1: the lognormal becomes Zipf's law $k^{-(1+b)}$, so
#
# $$-\log p_1 \to \log\zeta(1+b), \qquad \mathrm{CE} \to \log\zeta(1+b) + (1+b)\,\mathrm{E}[\ln R].$$

# %%
b = np.array([0.1, 0.43, 1.0])
rows = [
    (one, width, theory.neg_log_p1(-one * width**2, width), theory.entropy(-one * width**2, width))
    for one in b
    for width in (5.0, 30.0, 300.0)
]
rows += [(one, np.inf, *theory.limit(one)) for one in b]
approach = pd.DataFrame(rows, columns=["b", "sigma", "-log p_1", "CE"])
approach.sort_values(["b", "sigma"], ignore_index=True).round(3)

# %% [markdown]
# **The fraction is never negligible there.** The ratio of what is dropped to what is kept, in the limit, and over that part of the grid where $\mu \le 0$ (by the sum):

# %%
wide = figures_theory.limits(np.geomspace(0.01, 20, 400))
smallest = wide.loc[wide["ratio"].idxmin()]
negative = grid[grid["mu"] <= 0]
on_grid = (negative["CE"] / negative["neg_log_p1"] - 1).min()
print(f"limit: at least {smallest['ratio']:.2f} (at b = {smallest['b']:.2f})")
print(f"grid, {len(negative)} pairs: at least {on_grid:.2f}")
print(
    "ten models, closed form:",
    f"{shares['fraction / -log p_1'].iloc[0]:.2f} (14M) to",
    f"{shares['fraction / -log p_1'].iloc[-1]:.2f} (12B): it grows with S",
)

# %% [markdown]
# **No lognormal is needed to see it.** Whatever the distribution, an entropy is at least that of the question "is it rank 1?":
#
# $$\mathrm{CE} \ge -p_1\log p_1 - (1-p_1)\log(1-p_1) \quad\Rightarrow\quad \frac{\mathrm{CE}}{-\log p_1} \to \infty \;\text{ as }\; p_1 \to 1.$$
#
# So if models become perfect, CE in this sense falls more slowly than $-\log p_1$: both cannot be power laws of $S$ with one exponent.

# %%
p1 = np.array([0.4, 0.9, 0.99, 0.999])
least = -p1 * np.log(p1) - (1 - p1) * np.log1p(-p1)
pd.DataFrame({"p_1": p1, "CE / -log p_1, at least": least / -np.log(p1)}).round(3)

# %% [markdown]
# **And $\mu/\sigma \to -\infty$ does not say where one goes.** Three paths on which it does, with three different ends (by the sum):

# %%
widths = np.array([6.0, 20.0, 60.0, 200.0])
paths = {
    "sigma = 6, mu = -6 w": (-6 * widths, np.full(4, 6.0)),
    "sigma = w, mu = -0.4 w^2": (-0.4 * widths**2, widths),
    "sigma = w, mu = -w^1.5": (-(widths**1.5), widths),
}
rows = [
    (name, w, m_ / s_, theory.neg_log_p1(m_, s_), theory.entropy(m_, s_))
    for name, (ms, ss) in paths.items()
    for w, m_, s_ in zip(widths, ms, ss, strict=True)
]
ends = pd.DataFrame(rows, columns=["path", "w", "mu / sigma", "-log p_1", "CE"])
ends["CE / -log p_1"] = ends["CE"] / ends["-log p_1"]
ends.round(3)

# %% [markdown]
# On the first path $-\log p_1 \to 0$ and the ratio grows; on the second both stop at a constant; on the third both grow. The ten models rather follow a fourth: $\mu$ and $\sigma$ each near a line in $\ln S$. Drawn on beyond the data (an illustration, not a forecast), it has no power law at its end:

# %%
lines = {name: line(np.log(S), path[name]) for name in ("mu", "sigma")}
print("R2 on ln S:", {name: f"{one[2]:.3f}" for name, one in lines.items()})
decades = np.array([7, 9, 11, 13, 15, 20])
m_, s_ = (one[0] * decades * np.log(10) + one[1] for one in lines.values())
onward = pd.DataFrame({"log10 S": decades, "mu": m_, "sigma": s_, "b": -m_ / s_**2})
onward["-log p_1"], onward["CE"] = theory.neg_log_p1(m_, s_), theory.entropy(m_, s_)
onward.round(3)

# %% [markdown]
# $b$ rises, passes a maximum and falls, and $-\log p_1$ turns with it: on this path larger models would get worse.
#
# ## What holds, and what does not

# %%
last = path.iloc[-1]
printed_last = figures_theory.terms([-14.29], [5.76]).iloc[0]
empirical = (
    paper.ce_and_rbp1().query("kind == 'empirical' and series == 'CE'").set_index("S")["value"]
)
above = figure_8b["CE"].to_numpy() - empirical.loc[S.astype(int)].to_numpy()
low, high = (slopes.loc[slopes["quantity"] == q].iloc[0] for q in ("CE", "-log p_1"))
claims = [
    ("integrals (Eqs. 14, 15, inferred)", "holds", "symbolic, difference 0"),
    ("two forms of CE (Eqs. 19 = 21, inferred)", "holds", "symbolic, difference 0"),
    ("closed form gives Figure 8b", "holds", f"off by {np.abs(off).max():.2f}% at most"),
    (
        "c = P + psi(1) / 2",
        "holds when |mu| is far below 2 sigma^2",
        f"c off {at_ten['c'].min():.1f} to {at_ten['c'].max():.1f}% at the ten models",
    ),
    (
        "p_1 is a probability",
        "holds when |mu| < 1.57 sigma^2 (sigma >= 1)",
        f"ten models: up to {path['b'].max():.2f}",
    ),
    (
        "CE is the entropy of R",
        "holds when p_k is the same in every context",
        f"Wiki: {above.min():.2f} to {above.max():.2f} nats above the measured",
    ),
    (
        "mu / sigma is linear in S (ICLR)",
        "does not hold",
        f"R2 {r2_S:.2f}; on ln S {r2_log_S:.3f}",
    ),
    (
        "mu^2 / 2 sigma^2 dominates (ICLR B.4)",
        "does not hold",
        f"it rises {path['mu^2 / 2 sigma^2'].iloc[0]:.2f} to {last['mu^2 / 2 sigma^2']:.2f},"
        f" -log p_1 falls {path['-log p_1'].iloc[0]:.2f} to {last['-log p_1']:.2f}",
    ),
    (
        "log c dominates (draft D, arXiv C)",
        "does not hold",
        f"12B: log c {last['log c']:.2f}, CE {last['CE']:.2f}; (-100, 10): {example['log c'][0]:.1f}"
        f" and -log p_1 {example['-log p_1'][0]:.2f}",
    ),
    (
        "the fraction of Eq. 26 is negligible",
        "does not hold",
        f"12B: {printed_last['fraction']:.2f} of {printed_last['CE']:.2f};"
        f" in the limit at least {smallest['ratio']:.2f} times -log p_1",
    ),
    (
        "near-identical exponents (Figure 8b)",
        "does not hold",
        f"{low['alpha']:.3f} and {high['alpha']:.3f} (printed 0.061, 0.080)",
    ),
]
pd.DataFrame(claims, columns=["claim", "verdict", "number"])

# %% [markdown]
# **What is left of it.** One distribution with two parameters does give both quantities, and the algebra is right. That is a description: any two numbers, CE and $-\log p_1$, in its range can be turned into a $\mu$ and a $\sigma$. That both fall as power laws of $S$, with one exponent, does not follow; it needs a statement about how $\mu$ and $\sigma$ move with $S$, and the one that the ten models suggest (lines in $\ln S$) does not give it. What the lognormal gets right is the sign: as $b$ grows, both fall.
#
# What we cannot tell: whether the printed text uses the words of the claims as we have them, and which printed number most steps carry.
#
# ## Exercises
#
# 1. For $\sigma = 3$, at which $\mu$ does the closed form give $p_1 = 1$? (To two decimals.)
# 2. If the fraction of Eq. 26 were negligible, CE at Pythia-12B would be $-\log p_1$. Which share of the closed form's CE is that? (Printed $\mu, \sigma$; two decimals.)
# 3. Find a pair $(\mu, \sigma)$ where the fraction *is* smaller than $-\log p_1$, by the sum. What does $R$ look like there?

# %%
answer_1 = None  # a number
answer_2 = None  # a number between 0 and 1
answer_3 = None  # for example (-14.29, 5.76)

share = printed_last["-log p_1"] / printed_last["CE"]
print(check(1, answer_1, lambda x: abs(theory.neg_log_p1_approx(x, 3)) < 1e-3))
print(check(2, answer_2, lambda x: abs(x - share) <= 0.006))
print(check(3, answer_3, lambda x: theory.entropy(*x) < 2 * theory.neg_log_p1(*x)))
