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
# # Chapter 20: how sure the fits are, and what they predict
#
# **Question.** The paper's fits are of 4 to 10 points and have no intervals. How sure is an exponent? Does the line through small models predict a larger one?
#
# **Answer.** The exponent at $k = 1$ is known to 14% in Table 1 (median; half the 95% interval), limited by the number of models, not of tokens. The line through the smaller models has the largest one in its 95% interval for 60 of 64 published losses and all 48 shipped ones, but these intervals are wide. More than half a decade ahead they hold 38 of 80 published Pythia losses (all 80 above the line) and 25 of 84 shipped losses (77 above).
#
# ![Error of the predicted loss of the largest model, in percent, with 95% intervals, by corpus, family and k: published on top, shipped models below](../figures/figure_audit_prediction.png)
#
# *The largest model of each family, predicted from the smaller ones: published points, and the shipped models.*
#
# *Reading time: 9 minutes; running it takes half a minute.* The section on floors and bends may be skipped at a first reading. $S$ counts non-embedding parameters. This is the first of four chapters behind [notebook 12](12_claims.ipynb), which has the verdicts.

# %% tags=["parameters"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to audit of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of records of your own; empty: the summaries that ship with rbpkit
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
from itertools import pairwise

import numpy as np
import pandas as pd
from IPython.display import display
from scipy.optimize import minimize
from scipy.special import stdtrit

import rbpkit
from rbpkit import fit_power_law, load_summaries, paper, plots
from rbpkit.audit import intervals, prediction, prediction_figures, shape
from rbpkit.pocket import recipes
from rbpkit.stats import bootstrap
from rbpkit.stats.curves import in_order, models_of, published_curves
from rbpkit.stats.misses import published_misses
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, close, sealed

check_parameters(globals())
every = load_summaries(records_dir or recipes.SUMMARIES)
summaries = in_order(every, corpus_names, families)
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# Two sources stand side by side: **published**, the paper's own points and tables; and **pocket**, the models that ship with rbpkit (or the records in `records_dir`). The text quotes the shipped models.
#
# ## What $R^2$ says of an exponent
#
# For a line through $n$ points, half the 95% interval of the exponent, as a share of the exponent, depends on $R^2$ and $n$ alone:
#
# $$\frac{\Delta\alpha}{\alpha} = t_{n-2}\sqrt{\frac{1/R^2 - 1}{n - 2}}.$$
#
# So Table 1, which prints no interval, still says how well each exponent is known.

# %%
curve = paper.points("Wiki", "Pythia", 1)
S, loss = curve.S, -np.log(curve.value)
fit = fit_power_law(S, loss)
t = stdtrit(fit.n - 2, 0.975)
half = t * np.sqrt((1 / fit.r2 - 1) / (fit.n - 2))
low, high = fit.alpha_interval
assert np.isclose(half, (high - low) / 2 / fit.alpha)
assert np.isclose(half, intervals.relative_half_width(fit.r2, fit.n))
print(f"Pythia on Wiki, k = 1: alpha is known to {half:.1%}")

# %%
rows = paper.table1().query("slope != 0")  # a slope printed as 0 is no fit
n = rows["family"].map(paper.models().groupby("family").size())
half = stdtrit(n - 2, 0.975) * np.sqrt((1 / rows["r2"] - 1) / (n - 2))
groups = rows.assign(width=half, wide=half >= 1).groupby("k", sort=False)
columns = {"n": ("r2", "size"), "R2_lowest": ("r2", "min"), "R2": ("r2", "median")}
columns |= {"width": ("width", "median"), "widest": ("width", "max"), "wide": ("wide", "sum")}
groups.agg(**columns).round(3).reset_index()

# %% [markdown]
# The column `width` has the median half width over the 24 cells: 14% at $k = 1$, 18% at $k = 10$ and 100, 32% at 500, 50% at 10,000. Where it is 1 or more the interval contains zero; `wide` counts those cells.
#
# The next table uses the plotted points. `missed` is the number of tokens that the largest model ranks past $k$ (median), and `noise` the relative sampling error of its loss from that count alone: with $T$ independent tokens and $p = \mathrm{RBP}_k$,
#
# $$\frac{\Delta(-\log p)}{-\log p} = \frac{1}{-\log p} \sqrt{\frac{1 - p}{p\,T}}.$$


# %%
def by_k(trade: pd.DataFrame) -> pd.DataFrame:
    """By k: lines, how many fall with S, the lowest R2, and medians."""
    groups = trade.groupby("k")
    found = groups.agg(lines=("alpha", "size"), falling=("alpha", lambda a: int((a > 0).sum())))
    found["R2_lowest"] = groups["R2"].min()
    names = ["R2", "alpha", "width", "missed", "noise", "documents"]
    return found.join(groups[[name for name in names if name in trade]].median()).reset_index()


ks = (1, 10, 50, 100, 20_000, 30_000)
curves = [one for k in ks for one in published_curves(k).values()]
theirs_k = pd.DataFrame(intervals.trade_row(one, published_misses(one)) for one in curves)
T = paper.token_counts().query("dataset == 'Wiki' and family == 'Pythia'")["tokens"].iloc[0]
p = curve.value[-1]
noise = np.sqrt((1 - p) / (p * T)) / -np.log(p)
assert np.isclose(noise, theirs_k.query("corpus == 'Wiki' and family == 'Pythia'")["noise"].iloc[0])
print(by_k(theirs_k).round(3).to_string(index=False))

# %%
ours_k, missing = intervals.measured_trade(summaries, corpus_names, families, draws=300)
print("\n".join(missing[:8]), end="\n" if missing else "")
if len(missing) > 8:
    print(f"and {len(missing) - 8} more lines that are not there")
if not ours_k.empty:
    print("\nmeasured:")
    print(by_k(ours_k).round(3).to_string(index=False))
    for corpus, group in ours_k.groupby("corpus", sort=False):
        falling = by_k(group).query("lines == lines.max() and falling == lines")
        width = falling.set_index("k")["width"]  # medians, where every line falls
        near = width.index[width <= 1.1 * width.min()].tolist()
        print(f"{corpus}: best k = {width.idxmin()}; within 10% of its width: {near}")

# %% [markdown]
# At $k \le 100$ the published losses have a sampling error of about 1%, so noise in the counts does not set these widths. At $k$ = 20,000 it is 13%.
#
# For the shipped models, `documents` is the spread of $\alpha$ over resampled text: 2 to 3% up to $k = 100$, where the scatter about the line gives 14 to 22%. More text would hardly narrow the intervals; more models would. The $k$ with the narrowest interval is 1 for the published models, 200 for the shipped ones on prose and code, and 18 on HumanEval. Since one measurement gives the ranks for all $k$, report a small $k$ and one near 100.
#
# ## Two kinds of uncertainty
#
# The line $\log(-\log \mathrm{RBP}_k) = a - \alpha_k \log S$ can be uncertain in two ways. They stay apart in this chapter.
#
# - **Other models** of the family on the same text. Their interval comes from the scatter about the line, by Student's $t$.
# - **Other text** for the same models. Its interval comes from a bootstrap. The pocket corpora were split by source module, and documents of one module are alike. So the bootstrap draws modules with replacement, and all models of a corpus take the same draws.
#
# By hand, for one family:

# %%
boot = intervals.bootstrap(summaries)
if boot.cells:
    corpus, family, _ = next(iter(boot.cells))
    models = models_of(summaries, corpus, family)
    x = np.log([one.manifest.S for one in models])
    x -= x.mean()
    units = bootstrap.sampling_units(corpus, models[0].document)
    U = units.max() + 1
    rng = np.random.default_rng(bootstrap.SEED)
    drawn = rng.multinomial(U, np.full(U, 1 / U), 1000)
    weights = drawn[:, units]  # how often each document is in each resample
    hits = [one.document_hits[:, list(one.k_grid).index(1)] for one in models]
    tokens_drawn = [weights @ one.document_tokens for one in models]
    rbp = [weights @ h / n for h, n in zip(hits, tokens_drawn, strict=True)]
    alphas = -np.log(-np.log(np.array(rbp))).T @ x / (x @ x)

    cell = boot.cells[corpus, family, "RBP_1"]
    assert np.allclose(alphas, cell.alphas)
    print(f"{family} on {corpus}: {len(units)} documents, {U} units to draw")
    print(f"alpha_1 = {cell.fit.alpha:.3f}, SD over resampled text {alphas.std(ddof=1):.4f}")
for reason in boot.missing:
    print(reason)

# %%
published = prediction.published_losses()
measured = prediction.measured_losses(summaries)
slopes = {"published": intervals.line_table(published)}
if boot.cells:
    slopes["pocket"] = intervals.slope_table(boot)
figure, points = prediction_figures.figure_slopes(slopes)
plots.save(figure, points, figures_dir, "figure_audit_slopes")

# %% [markdown]
# Published points have no documents to draw from, so they have only the first kind of interval.
#
# Is the scatter about a line sampling noise, or do the models themselves lie off the line? In the next table, `residual_sd` is the observed scatter. `documents_sd` is the scatter that the choice of text causes when all models share the text. `unpaired_sd` is what it would be if each model had its own text. A document that is hard for one model is hard for all, so sharing the text removes most of the noise.

# %%
if boot.cells:
    scatter = intervals.scatter_table(boot)
    columns = ["residual_sd", "documents_sd", "unpaired_sd", "p"]
    scatter[columns[:3]] *= 100
    print("medians over families and k; SD in percent of the loss; p: share of resamples that")
    print("scatter as much as is seen, were the models on the line exactly")
    display(scatter.groupby("corpus", sort=False)[columns].median().round(3))
    for kind, words in (("documents", "these models"), ("line", "other models")):
        counts = []
        for between, name in (
            ("laws", "alpha_1 - alpha_CE"),
            ("k", "alpha from one k to the next"),
            ("families", "alpha between families"),
        ):
            apart = intervals.difference_table(boot, between)
            counts.append(f"{name} {intervals.excludes_zero(apart, kind).sum()} of {len(apart)}")
        print(f"beyond zero (95%), {words}:", *counts, sep="\n  ")
    naive = slopes["pocket"]["documents_sd"] / slopes["pocket"]["binomial_sd"]
    print(f"bootstrap SD of alpha / SD of independent tokens: {naive.min():.1f} to", end=" ")
    print(f"{naive.max():.1f}, median {naive.median():.1f}")

# %% [markdown]
# On all three corpora the observed scatter of the shipped models is four to six times what the text explains. The models themselves lie off the line, and more text would not bring them onto it.
#
# The last line compares the bootstrap with an error formula that counts tokens as independent. That formula is too wide where models share their text, and too narrow where documents differ in how much they gain from size; here it is mostly too narrow.
#
# ## Does the line predict a larger model?
#
# Fit the line to the smaller models. The interval for one new model is
#
# $$\log \hat L \pm t_{n-2}\, s \sqrt{1 + \frac1n + \frac{(x - \bar x)^2}{\sum_i (x_i - \bar x)^2}}, \qquad x = \log S .$$

# %%
fitted = slice(0, 6)  # Pythia on Wiki, k = 1, from 14M to 1B; predict 12B
x, y, n = np.log(S[fitted]), np.log(loss[fitted]), 6
slope, a = np.polyfit(x, y, 1)
s = np.sqrt(((y - a - slope * x) ** 2).sum() / (n - 2))
new = np.log(S[-1])
half = stdtrit(n - 2, 0.975) * s * np.sqrt(1 + 1 / n + (new - x.mean()) ** 2 / (n * x.var()))
low, middle, high = np.exp(a + slope * new + np.array([-half, 0, half]))
line = fit_power_law(S[fitted], loss[fitted]).predict(S[-1])
assert np.allclose((line.low, line.loss, line.high), (low, middle, high))
print(
    f"12B, {np.log10(S[-1] / S[5]):.2f} decades ahead: {middle:.3f} [{low:.3f}, {high:.3f}],",
    end=" ",
)
print(f"measured {loss[-1]:.3f}; the largest that was fitted has {loss[5]:.3f}")

# %%
held = {"published": prediction.held_out_all(published)}
if measured:
    held["pocket"] = prediction.held_out_all(measured)
figure, points = prediction_figures.figure_held_out(held)
plots.save(figure, points, figures_dir, "figure_audit_prediction")

# %%
for source, table in held.items():
    table = table[table["quantity"] != "CE"].assign(percent=100 * table["error"])
    rows = table.groupby(["family", "model", "n", "pooled"], as_index=False).agg(
        cells=("above", "size"),
        inside=("inside", "sum"),
        last_inside=("last_inside", "sum"),
        above=("above", "sum"),
        lowest=("percent", "min"),
        median=("percent", "median"),
        highest=("percent", "max"),
    )
    if rows.empty:
        print(f"{source}: no family of four sizes on two corpora, or of five")
        continue
    print(f"{source}: -log RBP_k, the largest model from n smaller ones; error in percent")
    display(rows.round(1))
for source, table in held.items():
    losses = table[table["quantity"] != "CE"]
    print(
        f"{source}: {losses['inside'].sum()} of {len(losses)} losses in the interval, which",
        end=" ",
    )
    print(f"also holds the largest fitted model's loss in {losses['last_inside'].sum()}")

# %% [markdown]
# "The largest model lies in the interval" is a weak test. With two to seven degrees of freedom the intervals are wide. Many also contain the loss of the largest *fitted* model (`last_inside`), so they could not tell the two models apart.
#
# The sign of the error says more. `above` counts losses above the line. The published Pythia-12B and OPT-6.7B have a higher loss than predicted in all 16 cells; Qwen2.5-14B has a lower one in 12. Of the shipped models the largest GPT2 and Pythia lie above the line in all 12 cells, OPT in 11, and Qwen below it in 9. A model misses its line on most corpora and $k$ together, so count each model once. The four published GPT2 models share pooled slopes.
#
# ## How far ahead?
#
# Each curve is fitted to its $m$ smallest models and compared with every larger one. The rows go by the distance, in decades of $S$, beyond the largest fitted model. Two baselines stand beside the law: *no gain* (the loss of the largest fitted model) and a *floor*, $L_\infty + A S^{-\alpha}$.

# %%
ahead = {}
for source, curves in (("published", published), ("pocket", measured)):
    ahead[source] = prediction.horizons(one for one in curves if one.quantity != "CE")
    if len(ahead[source]):
        print(f"{source}: median |error| in percent in the last three columns")
        rows = []
        for low, high in pairwise((0.0, 0.25, 0.5, 1.0, 2.0)):
            part = ahead[source].query("@low < decades <= @high")
            if len(part):
                counts = part[["inside", "above", "last_inside"]].sum()
                errors = 100 * part[["error", "no_gain", "floor"]].abs().median()
                rows.append((low, high, len(part), *counts, *errors))
        names = ["from", "to", "predictions", "inside", "above", "last_inside"]
        names += ["law, %", "no gain, %", "floor, %"]
        display(pd.DataFrame(rows, columns=names).round(2))
far = prediction.far_record(published)
print(
    f"Pythia from its 6 to 8 smallest, over half a decade ahead: {far['inside'].sum()} of", end=" "
)
print(f"{len(far)} inside, {far['above'].sum()} above the line; by corpus:")
display(far.groupby("corpus", sort=False)[["inside", "above"]].agg(["sum", "size"]))

# %% [markdown]
# Within a quarter of a decade, predicting no gain is about as good as the law. From half a decade on, the law's error is a third or less of that of no gain on the published points, and 0.7 of it on the shipped models. There its intervals hold too few losses: 163 of 224 published, 25 of 84 shipped. All of Pythia's published losses lie above the line.
#
# A floor predicts the published losses about as well as the law, not better. For the shipped models its error is less than half the law's up to half a decade ahead, and no smaller beyond.
#
# `rbpkit predict` makes such a prediction from records of your own, and prints this record where it extrapolates.
#
# ## A floor or a bend? (may be skipped)
#
# Lines that are too optimistic at the top can come from a floor, or from a bend: $\log L = a - \alpha z + c z^2$ with $z = \log S - \overline{\log S}$ and $c > 0$.

# %%
z, y = np.log(S) - np.log(S).mean(), np.log(loss)
c, minus_alpha, a = np.polyfit(z, y, 2)
assert np.allclose(shape.fit_bend(S, loss)[0], [a, minus_alpha, c])


def squares(p: np.ndarray) -> float:
    """Residual sum of squares of log(L_inf + exp(u - alpha z)); p = (logit of L_inf, u, alpha)."""
    L_inf = loss.min() / (1 + np.exp(-p[0]))
    return ((y - np.log(L_inf + np.exp(p[1] - p[2] * z))) ** 2).sum()


found = minimize(
    squares, [0.0, a - 0.7, 0.1], method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-14}
)
floor = shape.fit_floor(S, loss)
assert np.isclose(found.fun, floor.rss, rtol=1e-3)
print(
    f"Pythia on Wiki, k = 1: c = {c:.4f}; a floor of {floor.L_inf / loss.min():.2f} of the", end=" "
)
print(
    f"smallest loss leaves {floor.rss / ((y - np.polyval([minus_alpha, y.mean()], z)) ** 2).sum():.2f} of the line's squares"
)

# %% [markdown]
# With eight points or more AICc, a score that charges for parameters, can compare both with the line. Only Pythia has that many, published (10) and shipped (8). `floor` is $L_\infty$ as a share of the smallest loss, `floor_low` to `floor_high` the range that the points allow; `floor_wins` and `bend_wins` say by how much AICc prefers each to the line.

# %%
columns = ["corpus", "quantity", "floor", "floor_low", "floor_high", "bend", "floor_wins"]
columns += ["bend_wins", "error_line", "error_floor", "error_bend"]
for source, curves in (("published", published), ("pocket", measured)):
    shapes = shape.shape_table(curves)
    if shapes.empty:
        continue
    many = shapes["n"] >= shape.LEAST
    if many.any():
        print(f"{source}, {shape.LEAST} points or more:")
        display(shapes.loc[many, columns].round(3))
        losses = shapes[many & (shapes["quantity"] != "CE")]
        for model in ("floor", "bend"):
            gain = losses["error_line"].abs() - losses[f"error_{model}"].abs()
            near = (gain > shape.TIE).sum()  # a floor of zero is the line: a tie
            print(f"largest held out: the {model} is nearer than the line in {near}", end=" ")
            print(f"of {len(losses)}")
        said = losses.apply(shape.describe, axis=1).value_counts()
        print(f"-log RBP_k: {'; '.join(f'{name}: {count}' for name, count in said.items())}")
    said = shapes[~many].apply(shape.describe, axis=1).value_counts()
    print(f"{source}, fewer points: {'; '.join(f'{name}: {n}' for name, n in said.items())}\n")

# %% [markdown]
# AICc prefers a floor on HumanEval from $k = 10$ on and on HotpotQA at $k = 100$. Elsewhere in the published cells neither wins, and the points allow a floor of half the smallest loss and more: undecided, in either direction. Four to six models can hardly tell.
#
# The shipped Pythias bend: a floor or a bend wins in 10 of 12 cells, and with the largest model held out both come nearer than the line in all 12. The fitted floors are high, 0.67 to 0.925 of the smallest loss. All these models were trained on the same 12 million tokens, so text may be what they lack, and such a floor need not hold for size alone ([notebook 15](15_size_and_tokens.ipynb)).
#
# On three published AusLegal cells the fitted floor is zero or changes nothing, so it *is* the line. Errors that differ by less than a share of $10^{-6}$ count as equal.
#
# ## What holds, and what does not
#
# - *The exponent at small $k$ is known to 14 to 18%* in Table 1 (median half width of the 95% interval), to 50% at $k$ = 10,000.
# - *Models, not tokens, limit it.* On the shipped corpora the scatter is four to six times what the text explains.
# - *The largest model lies in the interval* for 60 of 64 published and 48 of 48 shipped losses, but in 39 and 29 the interval could not tell it from the largest fitted model.
# - *Farther ahead the line is too optimistic.* All 80 published Pythia losses more than half a decade ahead lie above it, 38 inside the interval; of 84 shipped losses 77 and 25.
# - *Whether the loss has a floor is undecided* in 12 of 16 published Pythia cells; in 4 a floor fits better than the line. The shipped Pythias bend in 10 of 12.
#
# ## Exercises
#
# 1. Table 1 prints $R^2 = 0.947$ for GPT2 on a corpus, a line through four models. How wide is half the 95% interval of its exponent, as a share of the exponent? Two decimals ($t_2 = 4.303$).
# 2. Fit the published Pythia on Wiki at $k = 1$ without its largest *two* models. By how many percent does the line miss the loss of 12B? (Negative where the prediction is too low.)

# %%
answer_1 = None  # a number
answer_2 = None  # a number of percent, such as -1.5

truth = 100 * (fit_power_law(S[:-2], loss[:-2]).predict(S[-1]).loss / loss[-1] - 1)
print(check(1, answer_1, sealed("209c9aa4", digits=2)))
print(check(2, answer_2, close(truth, 0.1)))
