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
# # GPT-3 off its line
#
# GPT-3 came in eight sizes. Its makers tested each on LAMBADA, 5,153 passages whose last word has to be guessed. The share of right guesses is the *accuracy*, and $-\ln$ of it is the *loss*.
#
# The figure shows the eight losses, and a line through the seven smaller models. $S$ counts a model's parameters without its *embeddings*, the tables that turn *tokens* (words or parts of words) into numbers. Both axes are logarithmic, so the line is a *power law*, $\text{loss} = C\,S^{-\alpha}$, with the *exponent* $\alpha$.

# %% tags=["parameters", "hide-input"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Import what the notebook needs
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import linregress

from rbpkit import plots
from rbpkit.fit import fit_power_law
from rbpkit.palette import CONTEXT, INK, OTHER, ordered_greys
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.findings.joint_law import fit_joint, leave_out
from rbpkit_pocket.findings.published_models import load

check_parameters(globals())

# %% tags=["hide-input"]
# Load what others published: `models` has a row for each finished model
END = 299_892_736_000  # tokens at the end of Pythia's training
suites = {
    "v0": "Pythia v0",
    "v0-deduped": "Pythia v0, deduplicated",
    "v1": "Pythia v1",
    "v1-deduped": "Pythia v1, deduplicated",
}
pythia = load("pythia").assign(loss=lambda t: -np.log(t.share))
ended = pythia.query("shots == 0 and tokens == @END")
ended = ended.assign(group="LAMBADA", series=ended.suite.map(suites), source="pythia")

openlm = load("openlm").assign(group="LAMBADA", source="openlm", share=lambda t: t.lambada)
openlm = openlm[openlm.share * 5153 >= 30]  # of fewer right answers -log is mostly noise
twenty = openlm[openlm.ratio == 1].assign(series=lambda t: "OpenLM on " + t.corpus)

models = pd.concat([load("models"), ended, twenty], ignore_index=True)
models["loss"] = -np.log(models.share)

# %% tags=["hide-input"]
# Draw GPT-3 and its line


def draw_series(axes, name, colour, marker="o"):
    """A series, the line through all but its largest model, dotted where it predicts."""
    series = models[models.series == name].sort_values("S")
    S = series.S.to_numpy(float)
    line = fit_power_law(S[:-1], series.loss[:-1])
    axes.plot(S[:-1], line.predict(S[:-1]).loss, color=colour, lw=1.2)
    axes.plot(S[-2:], line.predict(S[-2:]).loss, ":", color=colour, lw=1.2)
    axes.plot(S[:-1], series.loss[:-1], marker, color=colour, ms=6, mec="white", mew=0.6)
    axes.plot(S[-1], series.loss.iloc[-1], marker, color=colour, mfc="white", ms=7)
    return S[-1], series.loss.iloc[-1], line.predict(S[-1])


with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
S, loss, promised = draw_series(axes, "GPT-3", INK)
above = 100 * (loss / promised.loss - 1)
axes.plot([S, S], [promised.low, promised.high], color=CONTEXT, lw=9, zorder=0)
axes.annotate(
    "", (S * 1.3, loss), (S * 1.3, promised.loss), arrowprops={"arrowstyle": "->", "color": INK}
)
axes.text(S * 1.45, np.sqrt(loss * promised.loss), f"+{above:.0f}%", va="center")
axes.text(S * 0.8, promised.low * 1.02, "95% interval", ha="right", va="bottom", color=OTHER)
axes.set(xscale="log", yscale="log", xlim=(5e7, 6e11), ylim=(0.12, 0.95))
plots.log_ticks(axes)
axes.set(xlabel="$S$ (parameters)", ylabel="$-\\ln$ accuracy on LAMBADA")
axes.set_title("The largest GPT-3 is far above the line of the others", loc="left")
plots.show(figure)

# %% [markdown]
# *The line is fitted without the hollow mark.*
#
# `models` has a row for each published model: its series, its task (`group`), its size `S` and its loss. `fit_power_law` fits a line. `predict` gives the line's loss at a size, and a 95% interval for a new model there. `high` is its upper end.


# %%
def above_line(series):
    """How far the largest model is above the line through the others, in percent."""
    series = series.sort_values("S")
    smaller = series[:-1]
    largest = series.iloc[-1]
    line = fit_power_law(smaller.S, smaller.loss)
    promised = line.predict(largest.S)
    above = 100 * (largest.loss / promised.loss - 1)
    # The upper end of the interval: chance alone can put a model this far above
    by_chance = 100 * (promised.high / promised.loss - 1)
    return above, by_chance


# %%
gpt3 = models[models.series == "GPT-3"]
above, by_chance = above_line(gpt3)
print(f"The largest GPT-3 is {above:.0f}% above the line.")
print(f"By chance it could be {by_chance:.0f}% above.")

# %% [markdown]
# ## 1. Does the law hold elsewhere?
#
# > **The paper.** "Across all model series and all datasets, RBP1 exhibits precise power-law relationship with model sizes" (Figure 3)
#
# In the paper ([Yue et al.](https://arxiv.org/abs/2510.20387)) $\mathrm{RBP}_1$ is the share of true next tokens that are the model's first guess. Its loss is $-\log \mathrm{RBP}_1$. Others published four kinds of similar shares (models in brackets):
#
# - *next token* on web text (Fairseq)
# - *last sub-token*: the last token of each LAMBADA passage (GPT-2)
# - *masked residues*: hidden parts of proteins (ESM-2)
# - *memorised windows*: pieces of training text whose next 32 tokens are all guessed right (Pythia).

# %%
rows = []
elsewhere = models[models.group != "LAMBADA"]
for name, series in elsewhere.groupby("series"):
    above, by_chance = above_line(series)
    line = fit_power_law(series.S, series.loss)
    row = (name, line.n, line.r2, above, by_chance)
    rows.append(row)

# %%
columns = ["series", "models", "R2", "above", "chance"]
table = pd.DataFrame(rows, columns=columns)
decimals = {"R2": 3, "above": 1, "chance": 0}
print(table.round(decimals).to_string(index=False))

# %% [markdown]
# *R2: 1 if all models are on the line. above and chance: the two percentages, as for GPT-3.*
#
# **In all six series the largest model is within 5.1% of its line.** Each series has only four to eight models, so this is weak support.
#
# ## 2. Did the largest GPT-3 read too little?
#
# Cerebras-GPT has seven sizes, up to 13 billion parameters (13B). Pythia has four versions: v0 and v1, each trained on the full text or on text without duplicates (*deduplicated*).
#
# **Guess first.** How far is the largest Cerebras-GPT above its own line: 50%, 20% or not at all?

# %%
compared = {}
for name in ["GPT-3", "BLOOM", "Pythia v1, deduplicated", "Cerebras-GPT"]:
    compared[name] = models[models.series == name]
# Without its largest model, GPT-3 ends at 13B, as Cerebras-GPT does
compared["GPT-3 up to 13B"] = gpt3[gpt3.S < 1e11]

# %%
rows = []
for name, series in compared.items():
    above, by_chance = above_line(series)
    sizes = np.sort(series.S)
    step = sizes[-1] / sizes[-2]
    rows.append((name, step, above, by_chance))

# %%
columns = ["series", "step", "above", "chance"]
table = pd.DataFrame(rows, columns=columns)
decimals = {"step": 1, "above": 0, "chance": 0}
print(table.round(decimals).to_string(index=False))

# %% tags=["hide-input"]
# Draw three families on LAMBADA
rows = []
lambada = models[models.group == "LAMBADA"].sort_values("S")
for name, part in lambada.groupby("series", sort=False):
    if len(part) < 4:
        continue
    above, by_chance = above_line(part)
    line = fit_power_law(part.S, part.loss)
    tokens = "not stated" if part.tokens.isna().any() else "one number"
    if part.tokens.nunique() > 1:
        tokens = "grow with S"
    decades = np.log10(part.S.max() / part.S.min())
    rows.append((name, line.n, decades, line.alpha, line.r2, above, by_chance, tokens))
names = ["series", "models", "decades", "alpha", "R2", "above", "chance", "tokens"]
law = pd.DataFrame(rows, columns=names).sort_values(["tokens", "above"])

markers = {"GPT-3": "o", "BLOOM": "s", "Cerebras-GPT": "D"}
# Cerebras first, so that it hides no mark of BLOOM
labels = {"Cerebras-GPT": "Cerebras", "GPT-3": "GPT-3", "BLOOM": "BLOOM"}
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.0), layout="constrained")
axes.set(xscale="log", yscale="log", ylim=(0.16, 2.1), xlim=(5e7, 4e11))
ends = []
for name, label in labels.items():
    colour = INK if name == "Cerebras-GPT" else OTHER
    S, loss, _ = draw_series(axes, name, colour, markers[name])
    above = law.set_index("series").above[name]
    if name == "Cerebras-GPT":  # at its left end, since BLOOM's line passes the right one
        start = models[models.series == name].sort_values("S").iloc[0]
        axes.text(start.S * 1.15, start.loss, f"{label} {above:+.0f}%", va="bottom", color=colour)
        continue
    ends.append((S, loss, f"{label} {above:+.0f}%", colour))
plots.log_ticks(axes)
axes.set(xlabel="$S$ (parameters)", ylabel="$-\\ln$ accuracy on LAMBADA")
axes.set_title("Cerebras keeps to its line, over a shorter step", loc="left")
plots.label_ends(axes, ends)
points = models[models.series.isin(law.series)].merge(law[["series", "decades", "above"]])
names = ["series", "model", "S", "tokens", "share", "source", "decades", "above"]
plots.save(figure, points[names], figures_dir, "16_lambada")

# %% [markdown]
# *step: the size of the largest model over that of the one before it. Hollow marks are not fitted.*
#
# Cerebras-GPT's largest model is 3% below its line, and GPT-3's is 48% above. But GPT-3's step is 14, and Cerebras-GPT's only 2, so this comparison is not fair. Up to 13B, GPT-3 has a step of 2, and ends 11% above. Pythia, with a step of 1.8, ends 20% above. Both are within chance.
#
# Are training tokens the reason? Each GPT-3 model read 300 billion tokens. Larger Cerebras-GPT models read more: 20 tokens for each parameter. We have 17 series on LAMBADA. In five, the larger models read more, and all five end below their line. But these are only two families. The other twelve end above: six with equal tokens, and six, BLOOM included, whose tokens our sources do not state. And only GPT-3 and BLOOM are off by more than chance. This is no proof.
#
# Perhaps the loss is a sum of two parts, as in [notebook 15](15_size_and_tokens.ipynb). One is there because the model is too small, the other because it has read too little.

# %% tags=["hide-input"]
# Draw the idea: a floor that stays, or falls with size
size = np.linspace(0, 3, 50)
too_small = 10 ** (-0.35 * size)
floors = {"all sizes read the same": 0.25 + 0 * size, "larger models read more": 0.25 * too_small}
with plots.style():
    figure, grid = plt.subplots(1, 2, figsize=(plots.WIDTH, 2.6), sharey=True, layout="constrained")
for axes, (title, floor) in zip(grid, floors.items(), strict=True):
    loss = floor + too_small
    axes.plot(size, too_small, "--", color=OTHER, lw=1.5)
    axes.plot(size, floor, ":", color=OTHER, lw=1.5)
    axes.plot(size, loss, color=INK, lw=2)
    axes.text(1.5, 1.25 * loss[25], "loss: the sum", va="bottom")
    axes.text(0.08, 0.8 * floor[18], "read too little", color=OTHER, va="top")
    axes.text(2.95, 0.8 * too_small[-1], "too small", color=OTHER, ha="right", va="top")
    axes.set(yscale="log", xlim=(0, 3), ylim=(0.012, 2.2), xlabel="$\\log$ size")
    axes.set_xticks([])
    axes.set_yticks([], minor=False)
    axes.yaxis.set_minor_locator(plt.NullLocator())
    axes.set_title(title, loc="left")
grid[0].set_ylabel("$\\log$ loss")
plots.show(figure)

# %% [markdown]
# *A sketch. On the left one part does not shrink with size, so the loss leaves its line.*
#
# Let $T$ be the training tokens and $p$ the accuracy. We compare three forms of $-\ln p$:
#
# - *size*: $A\,S^{-a}$, without tokens
# - *product*: $A\,S^{-a}\,T^{-b}$
# - *sum*: $A\,S^{-a} + B\,T^{-b}$, the two parts.
#
# Pythia has *checkpoints*, models saved during training. OpenLM trained each size on three texts, with several numbers of tokens.

# %% tags=["hide-input"]
# Collect the seven tests: a table, and which of its rows are held out
from_3000 = pythia[pythia.tokens >= 6e9]  # earlier steps follow none of these forms
along = dict(iter(from_3000.groupby(["suite", "shots"])))
tests = {}
for suite, name in suites.items():
    rows = along[suite, 0]
    tests[f"{name}: 12B along training"] = rows, rows.S == rows.S.max()
for corpus, rows in openlm.groupby("corpus"):
    rows = rows.assign(loss=-np.log(rows.share))
    tests[f"OpenLM on {corpus}: models above 1B"] = rows, rows.S > 1e9

# %% [markdown]
# There are seven tests, four with Pythia and three with OpenLM. Can a form predict the largest models from the smaller ones? For each test, `tests` has a table, and a mask `held` that is true for its largest models. `leave_out` fits each form to the other rows. It returns the errors $\ln(\text{predicted}/\text{measured})$ of the largest.

# %%
forms = ["size", "product", "sum"]
rows = []
for name, (table, held) in tests.items():
    by_form = leave_out(table.S, table.tokens, table.loss, held, forms)
    for form, error in by_form.items():
        percent = 100 * np.sqrt(np.mean(error**2))  # root mean square
        rows.append((name, form, percent))

# %%
errors = pd.DataFrame(rows, columns=["held out", "form", "percent"])
errors = errors.pivot(index="held out", columns="form", values="percent")
errors = errors.round(0).astype(int)
print("error of the models that were held out, % of the loss")
print(errors.to_string())

# %% [markdown]
# **With tokens in the law, the error for the largest models is 3 to 20%**. (Pythia's checkpoints below 6 billion tokens are left out, because they follow none of the forms.) *Size* predicts one loss for all $T$ at a size, so it must fail: by 24 to 36%.
#
# At equal $T$, as in GPT-3, the sum bends and the product is straight. So of the three only the sum could explain GPT-3. The tests do not agree on it: Pythia favours the sum, and OpenLM the product.
#
# `fit_joint` fits the sum, here to Pythia v1 (deduplicated) without 12B. It divides $S$ by `S_unit` and $T$ by `T_unit`.

# %%
table, held = tests["Pythia v1, deduplicated: 12B along training"]
fitted = table[~held]
joint = fit_joint(fitted.S, fitted.tokens, fitted.loss, "sum")
print(f"A = {joint.A:.3f}, a = {joint.a:.3f}, B = {joint.B:.3f}, b = {joint.b:.3f}")
print(f"S_unit = {joint.S_unit:.3g} parameters, T_unit = {joint.T_unit:.3g} tokens")

# %% tags=["hide-input"]
# Draw one suite along its training
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.2), layout="constrained")
ends = []
sizes = ["70M", "160M", "410M", "1B", "1.4B", "2.8B", "6.9B", "12B"]
for label, colour, (S, part) in zip(sizes, ordered_greys(8), table.groupby("S"), strict=True):
    part = part.sort_values("tokens")
    last = S == table.S.max()
    face, dash = ("white", ":") if last else (colour, "-")
    curve = joint.predict(S, part.tokens)
    axes.plot(part.tokens, curve, dash, color=colour, lw=1.2)
    axes.plot(part.tokens, part.loss, "^", color=colour, mfc=face, ms=4)
    ends.append((part.tokens.max(), part.loss.iloc[-1], label, colour))
axes.set(xscale="log", yscale="log", xlabel="training tokens")
axes.set_ylabel("$-\\ln$ accuracy on LAMBADA")
plots.log_ticks(axes)
axes.set_title("The sum, fitted without 12B (hollow), predicts it", loc="left")
plots.label_ends(axes, ends)
points = table.assign(predicted=joint.predict(table.S, table.tokens))
names = ["suite", "model", "S", "tokens", "share", "loss", "predicted"]
plots.save(figure, points[names], figures_dir, "16_training")

# %% [markdown]
# *Curves: the sum. Dotted: its prediction of 12B. Late in training 70M and 160M get worse, which no sum can show.*
#
# This sum has seen no GPT-3. Give it GPT-3's sizes, with 300 billion tokens each. How far is the largest above the line through the seven smaller ones?

# %%
sizes = gpt3.S.to_numpy()
loss_by_sum = joint.predict(sizes, 300e9)
gpt3_by_sum = pd.DataFrame({"S": sizes, "loss": loss_by_sum})
above, _ = above_line(gpt3_by_sum)
print(f"By the sum, the largest is {above:.0f}% above the line.")

# %% tags=["hide-input"]
# The same by the other versions of Pythia, and with other choices
choices = {
    "as above, without 12B": ("sum", lambda rows: rows[rows.S < rows.S.max()]),
    "all sizes": ("sum", lambda rows: rows),
    "from 100 billion tokens on": ("sum", lambda rows: rows[rows.tokens >= 1e11]),
    "without 70M and 160M": ("sum", lambda rows: rows[rows.S > 2e8]),
    "with a constant": ("sum+floor", lambda rows: rows),
}
by_choice = {}
for choice, (form, keep) in choices.items():
    for suite, name in suites.items():
        kept = keep(along[suite, 0])
        law_of_suite = fit_joint(kept.S, kept.tokens, kept.loss, form)
        by_suite = pd.DataFrame({"S": sizes, "loss": law_of_suite.predict(sizes, 300e9)})
        by_choice[choice, name.removeprefix("Pythia ")] = above_line(by_suite)[0]
print("by the sum, the largest GPT-3 is above its line by, in percent:")
print(pd.Series(by_choice).unstack(sort=False).round(0).astype(int).to_string())

# %% [markdown]
# **Fitted to deduplicated Pythia v1, the sum puts the largest GPT-3 38% above its line; the real one is 48% above.** Fitted to the other three versions, it gives 15, 19 and 37%, and with other choices 14 to 49% (least without 70M and 160M). So the sum bends as GPT-3 does, but we cannot say how much of the 48% it explains. (We did not plan this check beforehand.)
#
# **Exercise 1.** For $S = 10^9$, at how many billion training tokens are the two terms of `joint` equal?
#
# <details><summary>Hint</summary>`joint` also has `S_unit` and `T_unit`, the units of $S$ and $T$.</details>

# %%
answer_1 = None  # billions of tokens

# %% tags=["hide-input"]
# Check exercise 1
mistakes = [
    (lambda answer: answer / 1e9, "Nearly: give it in billions."),
    (lambda answer: answer * joint.T_unit / 1e9, "Nearly: this is in units of T_unit."),
]
print(check(1, answer_1, sealed("5316ca1c", digits=0), mistakes))

# %% [markdown]
# **Exercise 2, to discuss.** Let the loss be the sum, and $T = 20\,S$. Why can a line in $S$ still fit well? Use the two printed exponents.
#
# <details><summary>Hint</summary>Put $T = 20\,S$ into the sum.</details>
#
# ## 3. Were the blind predictions right?
#
# Pythia v1 has eight sizes. Before we saw their final accuracies, we wrote down a prediction and a 95% interval for each. Each prediction used only v1's seven other sizes, up to 279 billion tokens.
#
# Our rule averages two predictions of $\ln(-\ln p)$: from a line through the three nearest sizes, and from the sum. Of some fifty rules it was the best in a *rehearsal* on other checkpoints of Pythia. The errors there set the widths of the intervals.


# %%
def by_line(table, S, nearest):
    """log loss at S, on the line through the nearest sizes at the last checkpoint in `table`."""
    last = table[table.tokens == table.tokens.max()]
    distance = np.abs(np.log(last.S / S))
    near = last.loc[distance.nsmallest(nearest).index]
    log_S = np.log(near.S)
    log_loss = np.log(near.loss)
    line = linregress(log_S, log_loss)  # least squares
    return line.intercept + line.slope * np.log(S)


# %%
def by_sum(table, S, T):
    """log loss at size S and T tokens, by the sum."""
    late = table[table.tokens >= 1e11]  # from 100 billion tokens on
    law = fit_joint(late.S, late.tokens, late.loss, "sum")
    return np.log(law.predict(S, T))


def by_both(table, S, T):
    """The rule: the mean of the two."""
    from_line = by_line(table, S, 3)
    from_sum = by_sum(table, S, T)
    return (from_line + from_sum) / 2


# %% tags=["hide-input"]
# Check that the rule gives the predictions as they were written down; repeat the rehearsal
blind = load("blind").set_index("S")
v1 = along["v1", 0]
again = {S: np.exp(-np.exp(by_both(v1[v1.S != S], S, END))) for S in blind.index}
assert np.allclose(blind.predicted, pd.Series(again), atol=2e-4)

rehearsals = []  # checkpoints before the last, and the log loss at the last by size
for rows in along.values():
    rows = rows[rows.groupby("tokens").S.transform("nunique") == rows.S.nunique()]
    T = rows.tokens.max()
    at_end = np.log(rows[rows.tokens == T].set_index("S").loss)
    if len(at_end) == 8:
        rehearsals.append((rows[rows.tokens < T], at_end, T))


def gap(sizes, S):
    """Distance in log S between the neighbours of S; twice that to the only one at an end."""
    away = np.log(np.asarray(sizes) / S)
    sides = [np.abs(side).min() for side in (away[away < 0], away[away > 0]) if side.size]
    return 2 * np.mean(sides)


each, spread = [], {S: [] for S in blind.index}
for rows, at_end, T in rehearsals:
    each += [by_both(rows[rows.S != S], S, T) - at_end[S] for S in at_end.index]
    for pair in combinations(at_end.index, 2):  # the interval of a size does not see that size
        rest = rows[~rows.S.isin(pair)]
        for out, S in (pair, pair[::-1]):
            error = by_both(rest, S, T) - at_end[S]
            spread[out].append(error / gap(rest.S.unique(), S))
for S in blind.index:
    centre = np.log(-np.log(again[S]))
    half = 1.96 * np.sqrt(np.mean(np.square(spread[S]))) * gap(blind.index.drop(S), S)
    ends = np.exp(-np.exp(centre + np.array([half, -half])))
    assert np.allclose(blind.loc[S, ["low", "high"]].astype(float), ends, atol=2e-4)
print("the rule gives the predictions and intervals as they were written down")
print(f"rehearsal: rms error of the log loss {np.sqrt(np.mean(np.square(each))):.3f}")

# %% [markdown]
# **Guess again.** Seven of the eight final accuracies are known. How many are inside their intervals: seven, five or three?
#
# `load` reads a table. `blind` has our predictions, and `truth` the accuracies (`acc`). An error is the predicted $\ln(-\ln p)$ minus the true one.

# %%
truth = load("pythia_lambada_zero_shot")
truth = truth.set_index("S")  # as in `blind`: the row of a size is found by S
scored = blind.join(truth[["acc", "acc_stderr"]])  # with its standard error
scored = scored.dropna()  # 1B has no known truth
shares = scored[["predicted", "low", "high", "acc"]]
log_loss = np.log(-np.log(shares))
scored["error"] = log_loss.predicted - log_loss.acc
rms = np.sqrt(np.mean(scored.error**2))  # root mean square
above_low = scored.acc > scored.low
below_high = scored.acc < scored.high
inside = (above_low & below_high).sum()

# %%
print(f"inside: {inside} of {len(scored)}; error of ln(-ln p), root mean square: {rms:.3f}")
columns = ["predicted", "low", "high", "acc", "error"]
table = scored.set_index("model")[columns]
print(table.round(3).to_string())

# %% tags=["hide-input"]
# Draw the predictions and the truth
line = pd.Series({S: by_line(v1[v1.S != S], S, 7) for S in blind.index})
points = blind.assign(share=truth.acc, line=np.exp(-np.exp(line)))
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.8), layout="constrained")
axes.vlines(points.index, points.low, points.high, color=CONTEXT, lw=9)
axes.plot(points.index, points.predicted, "_", color=OTHER, ms=12, mew=2)
axes.plot(points.index, points.share, "o", color=INK, ms=6)
S, row = points.index[1], points.iloc[1]
axes.annotate("truth", (S, row.share), (10, -3), textcoords="offset points", va="center")
axes.annotate(
    "predicted, 95%",
    (S, row.predicted),
    (-10, 6),
    textcoords="offset points",
    color=OTHER,
    ha="right",
)
for row in points.itertuples():
    size = row.model.replace("pythia-", "").upper()
    axes.text(row.Index, row.high + 0.015, size, ha="center", va="bottom")
axes.set(xscale="log", ylim=(0, 0.83), xlabel="$S$ (parameters)", ylabel="accuracy on LAMBADA")
axes.set_title("All seven are inside; 160M is the farthest off", loc="left")
columns = ["model", "S", "predicted", "low", "high", "share", "line"]
plots.save(figure, points.reset_index()[columns], figures_dir, "16_blind")

# %% [markdown]
# **All seven are inside, with an error of 0.07 in $\ln(-\ln p)$**. A line through all other sizes has 0.14. But without 70M and 12B, the line through three sizes alone (0.083) nearly equals our rule (0.079).
#
# **Exercise 3.** If seven correct 95% intervals were independent, how probable would it be that all seven contain the truth?
#
# <details><summary>Hint</summary>Probabilities of independent events multiply.</details>

# %%
answer_3 = None  # a probability, two decimals

# %% tags=["hide-input"]
# Check exercise 3
mistakes = [
    (lambda answer: 1 - answer, "Nearly: this is the probability that at least one misses."),
]
print(check(3, answer_3, sealed("973b372a", digits=2), mistakes))

# %% [markdown]
# ## Further questions
#
# <details><summary>What do the lines of the four kinds look like?</summary>
#
# In the upper two panels the points curve.</details>

# %% tags=["hide-input", "hide-output"]
# Figure: four kinds of accuracy against size
kinds = {
    "next token": {"Fairseq on OpenWebText": ("Fairseq", "Fairseq")},
    "last sub-token": {"GPT-2, last sub-token": ("GPT-2", "GPT2")},
    "masked residues": {
        "ESM-2, validation": ("validation", "ESM-2"),
        "ESM-2, test": ("test", "ESM-2"),
    },
    "memorised windows": {
        "Pythia, memorised": ("standard", "Pythia"),
        "Pythia-deduped, memorised": ("deduplicated", "Pythia"),
    },
}
with plots.style():
    figure, grid = plt.subplots(2, 2, figsize=(plots.WIDTH, 5.2), sharex=True, layout="constrained")
for axes, (kind, series_of_kind) in zip(grid.flat, kinds.items(), strict=True):
    axes.set(xscale="log", yscale="log", xlim=(5e6, 2e12))
    axes.set_title(kind, loc="left")
    ends = []
    for series, (label, family) in series_of_kind.items():
        part = models[models.series == series].sort_values("S")
        ink = plots.ink_of(family)
        fitted_loss = fit_power_law(part.S, part.loss).predict(part.S).loss
        axes.plot(part.S, fitted_loss, color=ink.colour, lw=1.2)
        axes.plot(part.S, part.loss, ink.marker, color=ink.colour, ms=5)
        ends.append((part.S.iloc[-1], part.loss.iloc[-1], label, ink.colour))
    plots.log_ticks(axes)
    plots.label_ends(axes, ends)
for axes in grid[:, 0]:
    axes.set_ylabel(r"$-\ln$ of the share")
for axes in grid[1]:
    axes.set_xlabel("$S$ (parameters)")
names = ["group", "series", "model", "S", "share", "n"]
points = models[models.group.isin(kinds)]
plots.save(figure, points[names], figures_dir, "16_ranks")

# %% [markdown]
# <details><summary>How do all 17 series on LAMBADA behave?</summary>
#
# Series with a wider range of $S$ tend to end farther above their line.</details>

# %% tags=["hide-input", "hide-output"]
# Table and figure: how far the largest model is above the line, for every series
shown = {"decades": 1, "alpha": 3, "R2": 3, "above": 1, "chance": 0}
print(law.round(shown).to_string(index=False))
marks = {"one number": "o", "not stated": "s", "grow with S": "^"}
colours = {"one number": INK, "not stated": OTHER, "grow with S": INK}
named = ["GPT-3", "BLOOM", "OPT", "CodeGen-nl", "GPT-NeoX", "Cerebras-GPT-muP"]
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.8), layout="constrained")
axes.axhline(0, color=CONTEXT, lw=1)
for tokens, part in law.groupby("tokens"):
    axes.plot(part.decades, part.above, marks[tokens], color=colours[tokens], ms=6, label=tokens)
for row in law[law.series.isin(named)].itertuples():
    axes.annotate(
        row.series, (row.decades, row.above), (8, 0), textcoords="offset points", va="center"
    )
axes.set(
    xlim=(1, 4), xlabel="decades of $S$ in the series", ylabel="largest model above the line (%)"
)
axes.legend(title="training tokens", loc="upper left")
axes.set_title("Longer series end farther above the line, unless tokens grow", loc="left")
plots.save(figure, law, figures_dir, "16_decades")

# %% [markdown]
# <details><summary>How good were other ways to predict?</summary>
#
# The model's own last checkpoint and its deduplicated twin have a third to half of the rule's error.</details>

# %% tags=["hide-input", "hide-output"]
# Table: errors of other ways; figure: the errors of the rule
own = np.log(v1[v1.tokens == v1.tokens.max()].set_index("S").loss)
twin = ended[ended.suite == "v1-deduped"]
twin = np.log(twin.set_index("S").loss)
through_three = {S: by_line(v1[v1.S != S], S, 3) for S in scored.index}
through_two = {S: by_line(v1[v1.S != S], S, 2) for S in scored.index}
sums = {S: by_sum(v1[v1.S != S], S, END) for S in scored.index}
parabolas = {}
for S in scored.index:
    others = own.drop(S)
    curve = np.polyfit(np.log(others.index.to_numpy(float)), others, 2)
    parabolas[S] = np.polyval(curve, np.log(S))
ways = {
    "the blind rule": log_loss.predicted,
    "its line through three sizes": pd.Series(through_three),
    "its sum": pd.Series(sums),
    "a line through the two nearest sizes": pd.Series(through_two),
    "a parabola through the other sizes": pd.Series(parabolas),
    "a line in size alone": line,
    "not allowed: the model's own last checkpoint": own,
    "not allowed: the deduplicated twin": twin,
}
inner = scored.index[1:-1]
for way, predicted in ways.items():
    error = predicted[scored.index] - log_loss.acc
    at_inner = np.sqrt(np.mean(error[inner] ** 2))
    rms, worst = np.sqrt(np.mean(error**2)), error.abs().max()
    print(f"{way:45} rms {rms:.3f}, worst {worst:.3f}; five inner sizes {at_inner:.3f}")
sampling = scored.acc_stderr / (scored.acc * -np.log(scored.acc))
claimed = (log_loss.low - log_loss.high) / 2 / 1.96
print(f"sampling error of one accuracy: {np.sqrt(np.mean(sampling**2)):.3f}")
ratio = np.sqrt(np.mean((scored.error / claimed) ** 2))
print(f"error over what the interval claims, rms: {ratio:.1f}")

low, high = log_loss.high - log_loss.acc, log_loss.low - log_loss.acc
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.2), layout="constrained")
axes.axhline(0, color=INK, lw=1)
axes.vlines(scored.index, low, high, color=CONTEXT, lw=9)
axes.plot(scored.index, scored.error, "_", color=INK, ms=12, mew=2)
line_error = line[scored.index] - log_loss.acc
axes.plot(scored.index, line_error, "x", color=OTHER, ms=6)
offset = {"textcoords": "offset points", "va": "center"}
axes.annotate("the rule", (scored.index[-1], scored.error.iloc[-1]), (10, 0), **offset)
axes.annotate(
    "line in size", (scored.index[-1], line_error.iloc[-1]), (10, 0), color=OTHER, **offset
)
axes.set(xscale="log", xlim=(1.2e7, 8e10), xlabel="$S$ (parameters)")
axes.set_ylabel(r"predicted less true $\ln(-\ln p)$")
axes.set_title("Above zero the predicted loss is too high", loc="left")
points = pd.DataFrame({"S": scored.index, "rule": scored.error, "line": line_error})
plots.save(figure, points, figures_dir, "16_blind_errors")

# %% [markdown]
# ## The paper says, and we get
#
# In the six short series of section 1 the largest model is near its line. Of the 17 series on LAMBADA, six are known to have equal tokens at all sizes. In all six the largest model is above its line, in GPT-3 by more than chance. At equal tokens, a sum of a term in size and one in tokens bends in this way. The sources are in `pocket/rbpkit_pocket/data/evidence`.
#
# **Related.** [Hoffmann et al.](https://arxiv.org/abs/2203.15556) fit such a sum, with a constant, to cross-entropy. [Gadre et al.](https://arxiv.org/abs/2403.08540) made the models of OpenLM.
#
# [Glossary](../docs/glossary.md)
