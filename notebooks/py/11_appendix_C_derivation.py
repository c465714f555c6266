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
# **Claim**, as we read it. If the rank $R$ of the correct token follows a discrete lognormal with parameters $\mu, \sigma$, then $-\log \mathrm{RBP}_1$ and the cross-entropy CE are both functions of $\mu$ and $\sigma$. As models grow one term comes to dominate both, so that the two laws have the same exponent.
#
# **Answer.** The algebra is right, and its closed form is what Figure 8b shows. But the limit argument fails: one version says that $\mu^2/2\sigma^2$ dominates, the others $\log c$, and these two terms cancel. As models become perfect, CE falls more slowly than $-\log p_1$, so the two laws cannot keep one exponent.
#
# ![Terms of -log p_1 and of CE for ten Pythias, and their limit: the dominant terms cancel](../figures/figure_C2.png)
#
# *The terms of both laws at the sizes of the ten Pythias, and in the limit.*
#
# *Reading time: 14 minutes; it runs in under a minute.* Sections 4 and 6 may be skipped at a first reading. Every step is computed twice: by the **sum** over all ranks, with a bound on its error, and by the paper's **closed form**, which replaces sums by integrals. No model is run; notebook 08 fits $\mu$ and $\sigma$ to ranks. $S$ counts non-embedding parameters; logarithms are natural.
#
# **Equation numbers** are those of the arXiv version, 10 to 26. The ICLR version's B.1 to B.3 print 10 to 21 alike; in the draft's Appendix D each number is one higher. Section 4 lists all seventeen with what was checked.

# %% tags=["parameters"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
import scipy
import sympy as sp
from scipy.optimize import brentq
from scipy.special import zeta
from scipy.stats import norm

import rbpkit
from rbpkit import paper, plots
from rbpkit.fit import fit_power_law
from rbpkit.sections import c_derivation, c_derivation_figures
from rbpkit.study.params import check_parameters
from rbpkit.tools import explorers
from rbpkit.tools.exercises import check

check_parameters(globals())
pd.set_option("display.max_colwidth", None)
print("rbpkit", rbpkit.__version__, "| scipy", scipy.__version__, "| sympy", sp.__version__)

# %% [markdown]
# ## 1. The distribution
#
# **Eqs. 10 and 11.** For ranks $k = 1, 2, \dots$
#
# $$p_k = \frac{\psi(k)}{c}, \qquad \psi(x) = \frac{1}{x\,\sigma\sqrt{2\pi}}\,\exp\!\Big(-\frac{(\ln x-\mu)^2}{2\sigma^2}\Big), \qquad c = \sum_{k\ge1}\psi(k).$$
#
# For Pythia-12B, whose $\mu$ and $\sigma$ the paper prints, we add the first million terms one by one. The rest is an integral, and **Eq. 12**, the normal density $\varphi$ and distribution $\Phi$, gives it in closed form.


# %%
def psi(x):
    return np.exp(-((np.log(x) - MU) ** 2) / (2 * SIGMA**2)) / (x * SIGMA * np.sqrt(2 * np.pi))


MU, SIGMA, K = -14.29, 5.76, 10**6
k = np.arange(1, K + 1)
beyond = (MU - np.log(K + 0.5)) / SIGMA  # the integral of psi from K + 1/2 on is Phi(beyond)
c_12b = psi(k).sum() + norm.cdf(beyond)
p_k = psi(k) / c_12b
assert np.isclose(np.log(c_12b), c_derivation.log_normaliser(MU, SIGMA), rtol=0, atol=1e-9)
assert np.isclose(-np.log(p_k[0]), c_derivation.neg_log_p1(MU, SIGMA))
print(f"Pythia-12B: c = {c_12b:.4f}, p_1 = psi(1) / c = {p_k[0]:.4f}")

# %% [markdown]
# $\mu$ and $\sigma$ belong to the density before it is cut off at 1 and made discrete: a negative $\mu$ is no mean of anything one could measure. The paper prints four pairs (Figure 8c). `rank_sums` does the same for all of them, with a correction to the integral; `bound` is an upper limit on the relative error of its sums.

# %%
four = paper.lognormal_params()
sums = c_derivation.rank_sums(four["mu"], four["sigma"])
table = four[["model", "S", "mu", "sigma"]].assign(
    c=np.exp(c_derivation.log_normaliser(four["mu"], four["sigma"])),
    p_1=np.exp(-sums.log_ratio),
    **{"E[ln R]": sums.mean_log},
)
print(f"relative error of the sums at most {sums.bound.max():.1e}")
table.round(4)

# %% [markdown]
# ## 2. A sum as an integral
#
# The paper replaces each sum by an integral plus half of the first term, $\sum_{k\ge1} f(k) \approx \int_1^\infty f(x)\,dx + \tfrac12 f(1)$. This is the trapezoid rule, the beginning of Euler and Maclaurin's formula.
#
# **Eqs. 13 and 20.** With $f = \psi$ and $a = -\mu/\sigma$,
#
# $$P = \int_1^\infty \psi = \Phi(\mu/\sigma), \qquad c \approx P + \tfrac12\psi(1), \qquad \psi(1) = \varphi(a)/\sigma.$$

# %%
a_12b = -MU / SIGMA
P_12b = norm.cdf(MU / SIGMA)  # Eq. 13
c_20 = P_12b + psi(1) / 2  # Eq. 20
assert np.isclose(psi(1), norm.pdf(a_12b) / SIGMA)
assert np.isclose(np.log(c_20), c_derivation.log_normaliser_approx(MU, SIGMA))
print(f"Pythia-12B: c = {c_20:.4f} by Eq. 20, {c_12b:.4f} by the sum")

# %% [markdown]
# **Eq. 16.** From $p_1 = \psi(1)/c$, with no approximation but that of $c$,
#
# $$-\log p_1 = \log c + \log(\sqrt{2\pi}\,\sigma) + \frac{\mu^2}{2\sigma^2}.$$


# %%
def eq_16(log_c, mu, sigma):
    return log_c + np.log(np.sqrt(2 * np.pi) * sigma) + mu**2 / (2 * sigma**2)


assert np.isclose(eq_16(np.log(c_20), MU, SIGMA), c_derivation.neg_log_p1_approx(MU, SIGMA))

mu, sigma = four["mu"], four["sigma"]
log_c = c_derivation.log_normaliser(mu, sigma)
assert np.allclose(eq_16(log_c, mu, sigma), sums.log_ratio, rtol=0, atol=1e-12)
print("Eq. 16 with c by the sum is log(c / psi(1)), to 1e-12")
pd.DataFrame(
    {
        "model": four["model"],
        "c": np.exp(log_c),
        "c approx": np.exp(c_derivation.log_normaliser_approx(mu, sigma)),
        "-log p_1": c_derivation.neg_log_p1(mu, sigma),
        "-log p_1 approx": c_derivation.neg_log_p1_approx(mu, sigma),
    }
).round(4)

# %% [markdown]
# ## 3. The cross-entropy
#
# **Eq. 17.** The CE of Appendix C is the entropy of the rank,
#
# $$\mathrm{CE} = -\sum_k p_k \ln p_k = \log c + \log(\sqrt{2\pi}\,\sigma) + \mathrm{E}[\ln R] + \frac{\mathrm{E}[(\ln R-\mu)^2]}{2\sigma^2}.$$
#
# It is a model's cross-entropy if the model gives its $k$-th token the probability $p_k$ in every context. Real models do not: they are sure in some contexts and unsure in others, which puts their CE below the entropy of $R$.

# %%
# Of E[ln R] and E[(ln R)^2], what lies beyond K: integrals like those of Eqs. 14 and 15 below.
Phi, phi, end = norm.cdf(beyond), norm.pdf(beyond), np.log(K + 0.5)
mean = (p_k * np.log(k)).sum() + (MU * Phi + SIGMA * phi) / c_12b
square = (p_k * np.log(k) ** 2).sum()
square += ((MU**2 + SIGMA**2) * Phi + SIGMA * (MU + end) * phi) / c_12b

about_mu = square - 2 * MU * mean + MU**2  # E[(ln R - mu)^2]
eq_17 = np.log(c_12b) + np.log(np.sqrt(2 * np.pi) * SIGMA) + mean + about_mu / (2 * SIGMA**2)
assert np.isclose(eq_17, c_derivation.entropy(MU, SIGMA), rtol=1e-8)
print(f"Pythia-12B: CE = {eq_17:.4f} by the sum")

# %% [markdown]
# **Eqs. 14 and 15.** The two moments, by $t = \ln x$:
#
# $$I_1 = \int_1^\infty \ln x\,\psi = \mu P + \sigma\varphi(a), \qquad I_2 = \int_1^\infty \ln^2 x\,\psi = (\mu^2+\sigma^2)P + \mu\sigma\varphi(a).$$
#
# SymPy confirms these integrals, and that of Eq. 13:

# %%
m = sp.symbols("mu", real=True)
s, L = sp.symbols("sigma L", positive=True)
density = sp.exp(-((L - m) ** 2) / (2 * s**2)) / (s * sp.sqrt(2 * sp.pi))  # psi(x) dx, L = ln x
a = m / s
Phi = (1 + sp.erf(a / sp.sqrt(2))) / 2
phi = sp.exp(-(a**2) / 2) / sp.sqrt(2 * sp.pi)

I1 = m * Phi + s * phi
I2 = (m**2 + s**2) * Phi + m * s * phi
for name, weight, stated in (("13", 1, Phi), ("14", L, I1), ("15", L**2, I2)):
    difference = sp.integrate(weight * density, (L, 0, sp.oo)) - stated
    print(f"Eq. {name}:", sp.simplify(difference.rewrite(sp.erf)) == 0)

# %% [markdown]
# **Eq. 18.** Put the moments into Eq. 17 and write $c$ for the sum of $\psi$:
#
# $$\mathrm{CE} \approx \log(\sqrt{2\pi}\,\sigma) + \log c + \frac1c\Big[\frac{I_2 - 2\mu I_1 + \mu^2 c}{2\sigma^2} + I_1\Big].$$
#
# **Eq. 19.** $I_1$ and $I_2$ written out:
#
# $$\mathrm{CE} \approx \log(\sqrt{2\pi}\,\sigma) + \log c + \frac{\mu^2}{2\sigma^2} + \frac1c\Big[P\Big(\frac{\mu^2+\sigma^2}{2\sigma^2}+\mu\Big) + \varphi(a)\Big(\frac{\mu}{2\sigma}+\sigma\Big) - \frac{\mu}{\sigma^2}\big(\mu P + \sigma\varphi(a)\big)\Big].$$
#
# **Eq. 21.** Simplified; by Eq. 16 the first three terms are $-\log p_1$, and the last one is the fraction of **Eq. 26**:
#
# $$\mathrm{CE} \approx \log(\sqrt{2\pi}\,\sigma) + \log c + \frac{\mu^2}{2\sigma^2} + \frac1c\Big[P\Big(\frac{\sigma^2-\mu^2}{2\sigma^2} + \mu\Big) + \varphi(a)\Big(\sigma - \frac{\mu}{2\sigma}\Big)\Big].$$

# %%
P, f = sp.symbols("P varphi", positive=True)  # P and phi(a), as two free symbols
c = P + f / (2 * s)  # Eq. 20
I1, I2 = m * P + s * f, (m**2 + s**2) * P + m * s * f
common = sp.log(sp.sqrt(2 * sp.pi) * s) + sp.log(c)
half = sp.Rational(1, 2)
eq_18 = common + ((I2 - 2 * m * I1 + m**2 * c) / (2 * s**2) + I1) / c
bracket = P * ((m**2 + s**2) / (2 * s**2) + m) + f * (m / (2 * s) + s) - m / s**2 * I1
eq_19 = common + m**2 / (2 * s**2) + bracket / c
eq_26 = (P * (half - m**2 / (2 * s**2) + m) + f * (s - m / (2 * s))) / c
eq_21 = common + m**2 / (2 * s**2) + eq_26
print("Eq. 18 = Eq. 19:", sp.simplify(eq_18 - eq_19) == 0)
print("Eq. 19 = Eq. 21:", sp.simplify(eq_19 - eq_21) == 0)

point = {m: MU, s: SIGMA, P: P_12b, f: norm.pdf(a_12b)}
value, fraction = float(eq_21.subs(point)), float(eq_26.subs(point))
assert np.isclose(value, c_derivation.entropy_approx(MU, SIGMA))
assert np.isclose(fraction, c_derivation.fraction_approx(MU, SIGMA))
print(f"Pythia-12B: CE = {value:.4f} by Eq. 21, of which the fraction {fraction:.4f}")

# %% [markdown]
# For any pair $(\mu, \sigma)$ the next figure shows $p_k$, and $-\log p_1$ and CE (nats) by the sum and by the closed form. Sliders for $\mu$ and $\sigma$ in JupyterLab or Jupyter Notebook, a still picture elsewhere: Pythia-12B as printed, then two pairs of ours.

# %%
stills = [(-14.29, 5.76), (-5.0, 2.0), (2.0, 3.0)]
still = explorers.explore_lognormal(stills)  # None where the sliders are shown
if still is not None:
    plots.save(still, explorers.lognormal_points(stills), figures_dir, "figure_C_slider")

# %% [markdown]
# ## 4. The seventeen equations (may be skipped)
#
# Numbers of the arXiv version, and what this notebook finds for each.

# %%
rows = [
    (10, "p_k = psi(k) / c", "definition"),
    (11, "c = sum psi(k)", "definition"),
    (12, "phi and Phi", "definition"),
    (13, "a = -mu / sigma; P = Phi(mu / sigma)", "exact (symbols)"),
    (14, "I_1, integral of ln x psi", "exact (symbols)"),
    (15, "I_2, integral of (ln x)^2 psi", "exact (symbols)"),
    (16, "-log p_1 in three terms", "exact"),
    (17, "CE = -sum p_k ln p_k", "exact"),
    (18, "CE by I_1, I_2 and c", "approximation: section 6"),
    (19, "I_1 and I_2 written out", "= Eq. 18 (symbols)"),
    (20, "c = P + psi(1) / 2", "approximation: section 6"),
    (21, "simplified", "= Eq. 19 (symbols)"),
    (22, "Phi(x) = o(phi(x))", "holds: section 7"),
    (23, "psi(1) = o(phi(a))", "holds: section 7"),
    (24, "c = o(phi(mu / sigma))", "holds where both limits do: section 7"),
    (25, "-log c > mu^2 / 2 sigma^2 + log(2 pi) / 2", "holds: section 7"),
    (26, "the fraction", "section 7"),
]
equations = pd.DataFrame(rows, columns=["arXiv C", "what", "found here"])
equations["ICLR B.1 to B.3"] = [n if n <= 21 else "" for n in equations["arXiv C"]]
equations["draft D"] = equations["arXiv C"] + 1
equations.set_index("arXiv C")

# %% [markdown]
# The algebra is right: all identities hold. What is left to test is the trapezoid rule and the limit.
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
        "CE, closed form": c_derivation.entropy_approx(mu, sigma),
        "CE, sum": c_derivation.entropy(mu, sigma),
        "-log p_1, Figure 8b": at_four["neg_log_rbp1"].to_numpy(),
        "-log p_1, closed form": c_derivation.neg_log_p1_approx(mu, sigma),
        "-log p_1, sum": c_derivation.neg_log_p1(mu, sigma),
    }
)
off = 100 * (compared.filter(like="closed").to_numpy() / at_four.to_numpy() - 1)
print(f"closed form against Figure 8b: off by at most {np.abs(off).max():.2f}%")
compared.round(4)

# %% [markdown]
# The closed form fits; the sum does not. So Figure 8b shows the closed form. Its two values at each of the ten models can then be turned back into $\mu$ and $\sigma$ (`c_derivation.invert`). The answer is unique: at fixed $-\log p_1$ the closed form's CE rises with $\sigma$.


# %%
def terms(mu, sigma):
    """The closed form taken apart: the terms of Eq. 16, and the fraction of Eq. 26."""
    log_c = c_derivation.log_normaliser_approx(mu, sigma)
    table = pd.DataFrame({"mu": mu, "sigma": sigma, "b": -mu / sigma**2, "log c": log_c})
    table["log sqrt(2 pi) sigma"] = np.log(np.sqrt(2 * np.pi) * sigma)
    table["mu^2 / 2 sigma^2"] = mu**2 / (2 * sigma**2)
    table["-log p_1"] = eq_16(log_c, mu, sigma)
    table["fraction"] = c_derivation.fraction_approx(mu, sigma)
    return table.assign(CE=table["-log p_1"] + table["fraction"])


S = figure_8b.index.get_level_values("S").to_numpy(float)
path = terms(*c_derivation.invert(figure_8b["CE"], figure_8b["neg_log_rbp1"]))
path.insert(0, "model", figure_8b.index.get_level_values("model"))
path.insert(1, "S", S.astype(int))
path["mu / sigma"] = path["mu"] / path["sigma"]

assert np.allclose(path[["CE", "-log p_1"]], figure_8b[["CE", "neg_log_rbp1"]])
both = path.merge(four, on="model", suffixes=("", " printed"))
rounding = np.abs(both[["mu", "sigma"]] - both[["mu printed", "sigma printed"]].to_numpy()).max()
print(f"off the four printed pairs by at most {rounding.max():.4f}")
path[["model", "S", "mu", "sigma", "mu / sigma", "b"]].round(3)

# %% [markdown]
# Four models have printed pairs, and these four round to them. ($b = -\mu/\sigma^2$ will be needed below.)
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
# ## 6. How good is the trapezoid rule? (may be skipped)
#
# Error of each approximated quantity, (closed form - sum) / sum in percent: at the ten models, then over a grid of $\mu$ from $-30$ to 9 and $\sigma$ from 2 to 8.


# %%
def step_errors(mu: np.ndarray, sigma: np.ndarray) -> pd.DataFrame:
    """Relative error in percent of each approximated quantity, for pairs of shape (n,)."""
    sums = c_derivation.rank_sums(mu, sigma)
    P, phi = norm.cdf(mu / sigma), norm.pdf(mu / sigma)
    c = P + phi / (2 * sigma)  # Eq. 20
    I1, I2 = mu * P + sigma * phi, (mu**2 + sigma**2) * P + mu * sigma * phi
    both = c_derivation_figures.errors(mu, sigma)
    return pd.DataFrame(
        {
            "c": 100 * (c / np.exp(c_derivation.log_normaliser(mu, sigma)) - 1),
            "E[ln R]": 100 * (I1 / c / sums.mean_log - 1),
            "E[(ln R)^2]": 100 * (I2 / c / sums.mean_log_sq - 1),
            "-log p_1": both["neg_log_p1_error"],
            "CE": both["CE_error"],
        }
    )


at_ten = step_errors(path["mu"].to_numpy(), path["sigma"].to_numpy())
at_ten = pd.concat([path[["model", "mu", "sigma"]], at_ten], axis=1)
at_ten.round(2)

# %%
mu_grid, sigma_grid = np.meshgrid(np.linspace(-30, 9, 40), np.linspace(2, 8, 25))
grid = c_derivation_figures.errors(mu_grid.ravel(), sigma_grid.ravel())
usable = grid["mu"] > -0.5 * grid["sigma"] ** 2
steps = step_errors(*grid.loc[usable, ["mu", "sigma"]].to_numpy().T)
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
figure, points = c_derivation_figures.figure_C1(grid, four)
plots.save(figure, points, figures_dir, "figure_C1")

# %% [markdown]
# When does the closed form give $p_1 > 1$? By Eqs. 16 and 20 it is $-\log p_1 = \log\big(\tfrac12 + P/\psi(1)\big)$, and $P/\psi(1) = \sigma\,\Phi(\mu/\sigma)/\varphi(\mu/\sigma) < \sigma^2/|\mu|$ for $\mu < 0$ (Mills' ratio). Beyond $|\mu| = 2\sigma^2$ that is less than 1/2, so $p_1 > 1$ always. The exact border lies below $2\sigma^2$ and nears it as $\sigma$ grows:

# %%
for one in (1, 2, 5, 10):
    border = brentq(c_derivation.neg_log_p1_approx, -3 * one**2 - 3, 5, args=(one,))
    print(f"sigma = {one:2d}: p_1 > 1 from |mu| = {-border / one**2:.3f} sigma^2")
print(f"the ten models: |mu| / sigma^2 up to {path['b'].max():.3f}")

# %% [markdown]
# The error at the ten models is small, but it has a direction: $-\log p_1$ too low and more so for larger models, CE too high and more so. It goes into the exponents of Figure 8b:

# %%
series = {
    ("closed form", "CE"): path["CE"],
    ("closed form", "-log p_1"): path["-log p_1"],
    ("sum", "CE"): c_derivation.entropy(path["mu"], path["sigma"]),
    ("sum", "-log p_1"): c_derivation.neg_log_p1(path["mu"], path["sigma"]),
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
# The ICLR version's B.4 lets $\mu^2/2\sigma^2$ dominate. The draft and the arXiv version argue from Eqs. 22 to 25 that "log(c) becomes the dominant part of CE", and that the fraction of Eq. 26 is "asymptotically negligible compared to log(c)". One equation at a time.
#
# **Eq. 22**: $\Phi(x) = o(\varphi(x))$ as $x\to-\infty$. **Eq. 23**: $\psi(1) = \varphi(a)/\sigma = o(\varphi(a))$ as $\sigma\to\infty$. With Eq. 20 they give **Eq. 24**, $c = o(\varphi(\mu/\sigma))$, and so **Eq. 25**,
#
# $$-\log c > -\log\varphi(a) = \tfrac12\log 2\pi + \frac{\mu^2}{2\sigma^2}.$$

# %%
x = np.array([-2.0, -5.0, -20.0, -100.0])
mills = np.exp(norm.logcdf(x) - norm.logpdf(x))
print(
    "Eq. 22, Phi(x) / phi(x):",
    {float(at): f"{ratio:.4f}" for at, ratio in zip(x, mills, strict=True)},
)

at_limit = path[["model", "mu", "sigma"]].copy()
log_c = c_derivation.log_normaliser(path["mu"], path["sigma"])
right = np.log(2 * np.pi) / 2 + path["mu"] ** 2 / (2 * path["sigma"] ** 2)  # -log phi(a)
assert np.allclose(right, -norm.logpdf(path["mu"] / path["sigma"]))
at_limit["Eq. 23: psi(1) / phi(a)"] = 1 / path["sigma"]
at_limit["Eq. 24: c / phi(a)"] = np.exp(log_c + right)
at_limit["Eq. 25: left - right"] = -log_c - right
at_limit.round(3)

# %% [markdown]
# Eqs. 22 to 25 **hold**. The ratio of Eq. 22 goes to zero as $1/|x|$, that of Eq. 23 as $1/\sigma$, that of Eq. 24 as $1/|a| + 1/2\sigma$. Eq. 25 follows where the last is below 1: "eventually", as the paper says, and here for the seven largest models.
#
# But Eq. 25's margin, $-\log(1/|a| + 1/2\sigma)$, grows only as a logarithm. So $\log c$ is $-\mu^2/2\sigma^2$ and a small rest, and Eq. 16 adds $\mu^2/2\sigma^2$ to it again. These are the terms of Eq. 16 at the ten models, with what they add up to.

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
b = np.geomspace(0.08, 4, 60)
log_zeta, ce = c_derivation.limit(b)
far = pd.DataFrame({"b": b, "-log p_1": log_zeta, "fraction": ce - log_zeta})
far["closed form"] = np.log(0.5 + 1 / b)
figure, points = c_derivation_figures.figure_C2(
    path, simulated[["series", "model", "S", "value"]], far
)
plots.save(figure, points, figures_dir, "figure_C2")

# %% [markdown]
# **Neither term can dominate, because they cancel.** For $\mu/\sigma \to -\infty$ we have $\Phi(\mu/\sigma) \approx \varphi(a)/|a|$ (Eq. 22), so
#
# $$\log c \approx \log\varphi(a) + \log\Big(\frac{1}{|a|} + \frac{1}{2\sigma}\Big) = -\frac{\mu^2}{2\sigma^2} - \log\sqrt{2\pi} + \log\Big(\frac{\sigma}{|\mu|} + \frac1{2\sigma}\Big).$$
#
# $\log c$ *contains* $-\mu^2/2\sigma^2$. In Eq. 16 the two large terms cancel, and what is left of the closed form is
#
# $$-\log p_1 \to \log\Big(\frac12 + \frac{\sigma^2}{|\mu|}\Big),$$
#
# a function of $b = |\mu|/\sigma^2$ alone, not of $\mu/\sigma$. And CE is positive while $\log c$ goes to $-\infty$: that $\log c$ is large says nothing of CE. An example, $\mu = -100$ and $\sigma = 10$:

# %%
m_, s_ = np.array([-100.0]), np.array([10.0])
rest = np.log(s_ / abs(m_) + 1 / (2 * s_))
log_c = -(m_**2) / (2 * s_**2) - np.log(np.sqrt(2 * np.pi)) + rest
left = np.log(1 / 2 + s_**2 / abs(m_))
example = terms(m_, s_)
assert np.allclose(example["log c"], log_c, rtol=0, atol=0.01)
assert np.allclose(example["-log p_1"], left, rtol=0, atol=0.01)
print(f"log c = {example['log c'][0]:.1f}, mu^2 / 2 sigma^2 = {example['mu^2 / 2 sigma^2'][0]:.0f}")
print(f"-log p_1 = {example['-log p_1'][0]:.3f} by the closed form, log(1/2 + 1) = {left[0]:.3f}")
print(f"-log p_1 = {c_derivation.neg_log_p1(-100, 10):.3f} by the sum")
print(
    f"CE = {c_derivation.entropy(-100, 10):.3f} by the sum, {example['CE'][0]:.3f} by the closed form"
)

# %% [markdown]
# **The exact limit** replaces the trapezoid rule by the sum. $\psi(k)/\psi(1) = k^{-1 + \mu/\sigma^2}\, e^{-(\ln k)^2/2\sigma^2}$. At fixed $b$ and $\sigma\to\infty$ the last factor goes to 1: the lognormal becomes Zipf's law $k^{-(1+b)}$, so
#
# $$-\log p_1 \to \log\zeta(1+b), \qquad \mathrm{CE} \to \log\zeta(1+b) + (1+b)\,\mathrm{E}[\ln R].$$

# %%
b = 0.43  # Pythia-12B; again the terms one by one, and an integral from K + 1/2 on
tail = (K + 0.5) ** -b * (end / b + 1 / b**2)
mean_log = ((k ** -(1 + b) * np.log(k)).sum() + tail) / zeta(1 + b)  # E[ln R]
in_the_limit = np.log(zeta(1 + b)) + np.array([0, (1 + b) * mean_log])
assert np.allclose(in_the_limit, c_derivation.limit(b))

b = np.array([0.1, 0.43, 1.0])
rows = [
    (
        one,
        width,
        c_derivation.neg_log_p1(-one * width**2, width),
        c_derivation.entropy(-one * width**2, width),
    )
    for one in b
    for width in (5.0, 30.0, 300.0)
]
rows += [(one, np.inf, *c_derivation.limit(one)) for one in b]
approach = pd.DataFrame(rows, columns=["b", "sigma", "-log p_1", "CE"])
approach.sort_values(["b", "sigma"], ignore_index=True).round(3)

# %% [markdown]
# **The fraction of Eq. 26.** Beside $\log c$ alone it does become negligible, as the paper says, because $\log c \to -\infty$. (The paper's reason, a denominator that "shrinks super-exponentially", would make the fraction larger; but $P$ and $\varphi(a)$ in the numerator shrink alike.) The comparison that decides is with $-\log p_1$, in which $\log c$ has cancelled. The ratio of the fraction to $-\log p_1$, in the limit, and over that part of the grid where $\mu \le 0$ (by the sum):

# %%
b = np.geomspace(0.01, 20, 400)
log_zeta, ce = c_derivation.limit(b)
ratio = (ce - log_zeta) / log_zeta
negative = grid[grid["mu"] <= 0]
on_grid = (negative["CE"] / negative["neg_log_p1"] - 1).min()
print(f"limit: at least {ratio.min():.2f} (at b = {b[ratio.argmin()]:.2f})")
print(f"grid, {len(negative)} pairs: at least {on_grid:.2f}")
to_log_c = shares["fraction"] / shares["log c"].abs()
print(
    f"ten models, fraction / |log c|: {to_log_c.iloc[0]:.2f} (14M) to {to_log_c.iloc[-1]:.2f} (12B)"
)
print(
    "ten models, fraction / -log p_1:",
    f"{shares['fraction / -log p_1'].iloc[0]:.2f} (14M) to",
    f"{shares['fraction / -log p_1'].iloc[-1]:.2f} (12B): it grows with S",
)

# %% [markdown]
# **No lognormal is needed to see it.** The entropy of any distribution of ranks is at least the entropy of the answer, yes or no, to "is the rank 1?":
#
# $$\mathrm{CE} \ge -p_1\log p_1 - (1-p_1)\log(1-p_1) \quad\Rightarrow\quad \frac{\mathrm{CE}}{-\log p_1} \to \infty \;\text{ as }\; p_1 \to 1.$$
#
# So if models become perfect, CE in this sense falls more slowly than $-\log p_1$: both cannot be power laws of $S$ with one exponent.


# %%
def yes_or_no(p1):
    return -p1 * np.log(p1) - (1 - p1) * np.log1p(-p1)


assert (grid["CE"] >= yes_or_no(np.exp(-grid["neg_log_p1"]))).all()
p1 = np.array([0.4, 0.9, 0.99, 0.999])
pd.DataFrame({"p_1": p1, "CE / -log p_1, at least": yes_or_no(p1) / -np.log(p1)}).round(3)

# %% [markdown]
# **$\mu/\sigma \to -\infty$ alone does not determine the limits.** Three paths along which $\mu/\sigma$ goes there, with three different ends (by the sum):

# %%
widths = np.array([6.0, 20.0, 60.0, 200.0])
paths = {
    "sigma = 6, mu = -6 w": (-6 * widths, np.full(4, 6.0)),
    "sigma = w, mu = -0.4 w^2": (-0.4 * widths**2, widths),
    "sigma = w, mu = -w^1.5": (-(widths**1.5), widths),
}
rows = [
    (name, w, m_ / s_, c_derivation.neg_log_p1(m_, s_), c_derivation.entropy(m_, s_))
    for name, (ms, ss) in paths.items()
    for w, m_, s_ in zip(widths, ms, ss, strict=True)
]
ends = pd.DataFrame(rows, columns=["path", "w", "mu / sigma", "-log p_1", "CE"])
ends["CE / -log p_1"] = ends["CE"] / ends["-log p_1"]
ends.round(3)

# %% [markdown]
# On the first path $-\log p_1 \to 0$ and the ratio grows; on the second both stop at a constant; on the third both grow. The ten models rather follow a fourth: $\mu$ and $\sigma$ each near a line in $\ln S$. Extrapolated beyond the data (an illustration, not a forecast), this path does not end in a power law:

# %%
lines = {name: line(np.log(S), path[name]) for name in ("mu", "sigma")}
print("R2 on ln S:", {name: f"{one[2]:.3f}" for name, one in lines.items()})
decades = np.array([7, 9, 11, 13, 15, 20])
m_, s_ = (one[0] * decades * np.log(10) + one[1] for one in lines.values())
onward = pd.DataFrame({"log10 S": decades, "mu": m_, "sigma": s_, "b": -m_ / s_**2})
onward["-log p_1"], onward["CE"] = c_derivation.neg_log_p1(m_, s_), c_derivation.entropy(m_, s_)
onward.round(3)

# %% [markdown]
# $b$ rises, passes a maximum and falls, and $-\log p_1$ turns with it: on this path larger models would get worse.
#
# ## What holds, and what does not

# %%
last = path.iloc[-1]
printed_last = terms(np.array([MU]), np.array([SIGMA])).iloc[0]
empirical = (
    paper.ce_and_rbp1().query("kind == 'empirical' and series == 'CE'").set_index("S")["value"]
)
above = figure_8b["CE"].to_numpy() - empirical.loc[S.astype(int)].to_numpy()
low, high = (slopes.loc[slopes["quantity"] == q].iloc[0] for q in ("CE", "-log p_1"))
claims = [
    ("integrals (Eqs. 13, 14, 15)", "holds", "symbolic, difference 0"),
    ("three forms of CE (Eqs. 18 = 19 = 21)", "holds", "symbolic, difference 0"),
    (
        "limits (Eqs. 22 to 25)",
        "holds",
        f"Eq. 25 in {(at_limit['Eq. 24: c / phi(a)'] < 1).sum()} of the ten models;"
        f" c / phi(a) falls {at_limit['Eq. 24: c / phi(a)'].iloc[0]:.2f}"
        f" to {at_limit['Eq. 24: c / phi(a)'].iloc[-1]:.2f}",
    ),
    ("closed form gives Figure 8b", "holds", f"off by {np.abs(off).max():.2f}% at most"),
    (
        "c = P + psi(1) / 2 (Eq. 20)",
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
        "mu / sigma is linear in S (ICLR, withdrawn on arXiv)",
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
        "log(c) becomes the dominant part of CE (draft, arXiv)",
        "does not hold",
        f"12B: log c {last['log c']:.2f}, CE {last['CE']:.2f}; (-100, 10): {example['log c'][0]:.1f}"
        f" and -log p_1 {example['-log p_1'][0]:.2f}",
    ),
    (
        "the fraction of Eq. 26 is negligible compared to log(c)",
        "holds when |mu| / sigma grows without bound",
        f"ten models: {to_log_c.iloc[0]:.2f} to {to_log_c.iloc[-1]:.2f} of |log c|",
    ),
    (
        "the fraction is negligible beside -log p_1 (what the conclusion needs)",
        "does not hold",
        f"12B (printed mu, sigma): {printed_last['fraction']:.2f} of {printed_last['CE']:.2f};"
        f" in the limit at least {ratio.min():.2f} times -log p_1",
    ),
    (
        "near-identical exponents (Figure 8b)",
        "does not hold",
        f"{low['alpha']:.3f} and {high['alpha']:.3f} (printed 0.061, 0.080)",
    ),
]
pd.DataFrame(claims, columns=["claim", "verdict", "number"])

# %% [markdown]
# **What is left of it.** One distribution with two parameters gives both quantities. That is a description: any two numbers, CE and $-\log p_1$, in its range can be turned into a $\mu$ and a $\sigma$. A law in $S$ needs a statement about how $\mu$ and $\sigma$ move with $S$, and the one that the ten models suggest, lines in $\ln S$, gives no power law.
#
# **In short.**
#
# - *The algebra holds.* Eqs. 13 to 15, 19 and 21 are identities, with a symbolic difference of 0.
# - *Figure 8b shows the closed form*, to 0.11%.
# - *The closed form is not the sum.* A third of the difference between the two exponents of Figure 8b comes from the trapezoid rule.
# - *No term dominates.* In Eq. 16 the two large terms cancel: for Pythia-12B $\log c$ is $-4.81$, and what is left is positive.
# - *Equal exponents do not follow.* In the limit the fraction of Eq. 26 is at least 2.26 times $-\log p_1$, not negligible beside it.
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
print(check(1, answer_1, lambda x: abs(c_derivation.neg_log_p1_approx(x, 3)) < 1e-3))
print(check(2, answer_2, lambda x: abs(x - share) <= 0.006))
print(check(3, answer_3, lambda x: c_derivation.entropy(*x) < 2 * c_derivation.neg_log_p1(*x)))
