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
# # Beyond the paper: size and training tokens
#
# **Question.** Q
#
# **Answer.** A
#
# ![alt](../figures/16_grid.png)
#
# *caption*
#
# *Reading time: 10 minutes; no model is run, and it takes half a minute.*

# %% tags=["parameters"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere
# The other keys of params/pocket.yaml, of no use here:
source = "pocket"
families = ["GPT2", "OPT", "Pythia", "Qwen"]
corpus_names = ["pocket:prose", "pocket:code", "pocket:qa", "pocket:legal"]
max_length = 256
device = "cpu"
threads = 1

# %%
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import stdtrit

import rbpkit
from rbpkit import plots
from rbpkit.fit import fit_power_law
from rbpkit.pocket import analysis, analysis_figures
from rbpkit.pocket.controls import grid_path, load_totals
from rbpkit.sections import published_figures
from rbpkit.sections.joint_law import FORMS, KAPLAN, fit_joint, leave_out
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, close

check_parameters(globals())
print("rbpkit", rbpkit.__version__)
grid = analysis.size_and_tokens(load_totals(grid_path()), (1, 10, 100))
grid["corpus"] = grid["corpus"].str.removeprefix("pocket:")
corpora = ["prose", "code", "qa", "readme", "humaneval"]
quantities = ["CE", "RBP_1", "RBP_10", "RBP_100"]
cells = {
    (c, q): grid[(grid["corpus"] == c) & (grid["quantity"] == q)]
    for c in corpora
    for q in quantities
}

# %% [markdown]
# ## The grid

# %%
shown = {"CE (nats)": cells["prose", "CE"]["loss"], "RBP_1": np.exp(-cells["prose", "RBP_1"]["loss"])}
pd.concat(
    {
        name: cells["prose", "CE"][["S", "T"]]
        .assign(value=values.to_numpy())
        .pivot(index="S", columns="T", values="value")
        .rename(columns=lambda T: f"{T / 1e6:g}M")
        for name, values in shown.items()
    },
    axis=1,
).round(3)

# %% [markdown]
# ## The exponent at a fixed number of tokens
#
# $$\log L(S, T) = \log c_T - \alpha_T \log S$$

# %%
most = grid["T"].max()
part = cells["prose", "RBP_1"].query("T == @most")
x, y = np.log(part["S"].to_numpy(float)), np.log(part["loss"].to_numpy())
x, y = x - x.mean(), y - y.mean()
slope = (x @ y) / (x @ x)
error = np.sqrt(((y - slope * x) ** 2).sum() / (len(x) - 2) / (x @ x))
half = stdtrit(len(x) - 2, 0.975) * error
print(f"alpha_1 at T = {most / 1e6:g}M: {-slope:.3f} +- {half:.3f}")
law = fit_power_law(part["S"], part["loss"])
assert np.allclose([slope, slope - half], [law.slope, law.slope_interval[0]])

rows = []
for (corpus, quantity, T), part in grid.groupby(["corpus", "quantity", "T"]):
    if len(part) < 3:
        continue
    law = fit_power_law(part["S"], part["loss"])
    rows.append((corpus, quantity, T, law.n, law.slope, *law.slope_interval, law.r2))
at_fixed = pd.DataFrame(rows, columns=["corpus", "quantity", "tokens", "n", "slope", "low", "high", "R2"])
order = at_fixed["corpus"].map(corpora.index)
at_fixed = at_fixed.iloc[np.argsort(order, kind="stable")]
at_fixed.pivot(index=["corpus", "quantity"], columns="tokens", values="slope").reindex(cells).round(3)

# %%
figure = analysis_figures.along_panels(at_fixed, quantities)
plots.save(figure, at_fixed, figures_dir, "16_exponents")

# %%
# %% [markdown]
# ## A law in size and tokens

# %%
part = cells["prose", "RBP_1"]
S, T, loss = (part[name].to_numpy(float) for name in ("S", "T", "loss"))
s, t = np.log(S) - np.log(S).mean(), np.log(T) - np.log(T).mean()


def log_sum(p):
    return np.logaddexp(p[0] - p[1] * s, p[2] - p[3] * t)


starts = product((0, -1, -2), (0.1, 0.3, 1), (0, -1, -2), (0.1, 0.3, 1))
found = [
    least_squares(lambda p: log_sum(p) - np.log(loss), start, loss="huber", f_scale=0.001)
    for start in starts
]
best = min(found, key=lambda one: one.cost).x
print(f"of {len(found)} starts: a = {best[1]:.3f}, b = {best[3]:.3f}")

joint = fit_joint(S, T, loss, "sum", huber=0.001)
assert np.allclose([best[1], best[3]], [joint.a, joint.b], atol=1e-3)

# %%
draws = np.random.default_rng(0).integers(0, len(part), (200, len(part)))  # models, with repeats


def resampled(part, whole):
    """The sum's exponents (a, b) in each of `draws`."""
    S, T, loss = (part[name].to_numpy(float) for name in ("S", "T", "loss"))
    found = [fit_joint(S[j], T[j], loss[j], "sum", huber=0.001, start=whole) for j in draws]
    return np.array([(one.a, one.b) for one in found])


sums = {
    cell: fit_joint(part["S"], part["T"], part["loss"], "sum", huber=0.001)
    for cell, part in cells.items()
}
exponents = {cell: resampled(part, sums[cell]) for cell, part in cells.items()}
rows = {}
for cell, law in sums.items():
    part = cells[cell]
    floored = fit_joint(part["S"], part["T"], part["loss"], "sum+floor", huber=0.001)
    (a_low, b_low), (a_high, b_high) = np.percentile(exponents[cell], [2.5, 97.5], axis=0)
    rows[cell] = {"a": law.a, "a low": a_low, "a high": a_high}
    rows[cell] |= {"b": law.b, "b low": b_low, "b high": b_high, "rms, %": 100 * law.rms}
    rows[cell] |= {"a, floor": floored.a, "b, floor": floored.b, "E": floored.E}
    rows[cell] |= {"E / smallest loss": floored.E / part["loss"].min()}
parameters = pd.DataFrame(rows).T
parameters.round(2)

# %%
panels = {}
for quantity in quantities:
    part = cells["prose", quantity].rename(columns={"T": "tokens"})
    seen = part[part["S"] < part["S"].max()]
    law = fit_joint(seen["S"], seen["tokens"], seen["loss"], "sum", huber=0.001)
    name = "CE (nats)" if quantity == "CE" else rf"$-\log$ {quantity}"
    panels[name] = part.assign(predicted=law.predict(part["S"], part["tokens"])), law, part["S"].max()
figure = published_figures.token_panels(panels, "loss on prose")
points = pd.concat(rows for rows, _, _ in panels.values())
plots.save(figure, points.drop(columns="corpus"), figures_dir, "16_grid")

# %% [markdown]
# ### What each form foretells


# %%
def rms(errors):
    return 100 * float(np.sqrt(np.mean(np.square(errors))))


forms = (*FORMS, KAPLAN)
out = {}
for cell, part in cells.items():
    S, T, loss = (part[name].to_numpy(float) for name in ("S", "T", "loss"))
    for held, mask in (("largest S", S == S.max()), ("largest T", T == T.max())):
        errors = leave_out(S, T, loss, mask, forms, huber=0.001)
        out[held, *cell] = {form: rms(errors[form]) for form in forms}
missed = pd.DataFrame(out).T.rename_axis(["held out", "corpus", "quantity"])
median = missed.groupby(["held out", "quantity"], sort=False).median()
worst = missed.groupby("held out").max()
print(missed.groupby("held out").median().round(1))
print(worst.round(1))
median.round(1)

# %%
for held, part in missed.groupby("held out"):
    for form in forms:
        foretells = part[form].median() <= 5 and part[form].max() <= 10
        nearer = (part[form] < part["size"]).sum()
        print(f"{held}: {form}: {foretells}, nearer than size alone in {nearer} of {len(part)}")

# %% [markdown]
# ## From 6 to 12 million tokens
#
# $$\log L(S, 2T) - \log L(S, T) = \text{const} - (\alpha_{2T} - \alpha_T) \log S$$

# %%
rows = {}
for (corpus, quantity), part in cells.items():
    wide = part.pivot(index="S", columns="T", values="loss")
    change = fit_power_law(wide.index, wide[12e6] / wide[6e6])
    seen = part[part["T"] <= 6e6]
    law = fit_joint(seen["S"], seen["T"], seen["loss"], "sum", huber=0.001)
    predicted = fit_power_law(wide.index, law.predict(wide.index, 12e6))
    then, now = (fit_power_law(wide.index, wide[T]) for T in (6e6, 12e6))
    low, high = sorted(-x for x in change.slope_interval)
    rows[corpus, quantity] = {
        "alpha, 6M": then.alpha, "alpha, 12M": now.alpha, "foretold": predicted.alpha,
        "change": change.alpha, "low": low, "high": high,
        "inside": now.slope_interval[0] <= predicted.slope <= now.slope_interval[1],
    }  # fmt: skip
doubled = pd.DataFrame(rows).T
doubled

# %% [markdown]
# ## Size or tokens for a given compute

# %%
S, b, a = 1e6, joint.b, joint.a
budgets = np.array([1e13, 1e15])
sizes = np.geomspace(1e2, 1e12, 200_001)
best_S = [sizes[np.argmin(joint.predict(sizes, C / 6 / sizes))] for C in budgets]
measured = np.log(best_S[1] / best_S[0]) / np.log(budgets[1] / budgets[0])
print(f"S* grows as C to the {measured:.3f}; b / (a + b) = {b / (a + b):.3f}")
assert np.isclose(measured, b / (a + b), atol=1e-3)

# %%
rows = {}
for corpus, quantity in cells:
    of = {q: exponents[corpus, q] for q in ("CE", quantity)}
    share = {q: ab[:, 1] / ab.sum(axis=1) for q, ab in of.items()}
    law = sums[corpus, quantity]
    low, high = np.percentile(share[quantity], [2.5, 97.5])
    less, more = np.percentile(share[quantity] - share["CE"], [2.5, 97.5])
    rows[corpus, quantity] = {"split": law.b / (law.a + law.b), "low": low, "high": high}
    rows[corpus, quantity] |= {"minus CE, low": less, "minus CE, high": more}
split = pd.DataFrame(rows).T
split.round(3)

# %% [markdown]
# ## At equal cross-entropy
#
# $$\log(-\log \mathrm{RBP}_k) = g_0 + g_1 x + g_2 x^2 + \gamma \log S, \qquad x = \log \mathrm{CE}$$

# %%
rows = {}
for corpus, quantity in cells:
    if quantity == "CE":
        continue
    x = np.log(cells[corpus, "CE"]["loss"].to_numpy())
    part = cells[corpus, quantity]
    design = np.stack([np.ones_like(x), x, x**2, np.log(part["S"].to_numpy(float))], axis=1)
    y = np.log(part["loss"].to_numpy())
    solved = np.linalg.lstsq(design, y, rcond=None)[0]
    left = y - design @ solved
    variance = left @ left / (len(y) - 4)
    half = stdtrit(len(y) - 4, 0.975) * np.sqrt(variance * np.linalg.inv(design.T @ design)[3, 3])
    rows[corpus, quantity] = {"gamma": solved[3], "low": solved[3] - half, "high": solved[3] + half, "rms, %": rms(left)}
at_equal_ce = pd.DataFrame(rows).T
at_equal_ce.round(4)

# %% [markdown]
# ## What one doubling buys

# %%
rows = {}
for corpus in corpora:
    part, law = cells[corpus, "RBP_1"], sums[corpus, "RBP_1"]
    S, T = part["S"].max(), part["T"].max()
    rbp = part.assign(rbp=np.exp(-part["loss"])).pivot(index="S", columns="T", values="rbp")
    here, larger, longer = np.exp(-law.predict([S, 2 * S, S], [T, T, 2 * T]))
    rows[corpus] = {"RBP_1": rbp.loc[S, T], "last doubling of T": 100 * (rbp.loc[S, T] - rbp.loc[S, T / 2])}
    rows[corpus] |= {"next of T": 100 * (longer - here), "next of S": 100 * (larger - here)}
pd.DataFrame(rows).T.round(2)
