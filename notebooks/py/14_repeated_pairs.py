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
# # Beyond the paper: pairs of tokens that repeat
#
# **Question.** The exponent differs between families (Table 1), changes with the training tokens, and bends at the largest sizes (notebook 15). Which tokens make it do so?
#
# **Answer.** Those that complete a pair already seen in the document: 8 to 28% of the text. On the others GPT-2, OPT and Pythia have nearly one exponent (steepest over flattest 1.09 at the median, 2.8 on pairs), Qwen's is larger by 27%, that of Mamba, without attention, larger still. There a law in size and tokens predicts twice the tokens to 3.4% and two larger models to 2.2%, where on all tokens it failed: the jump and the bend of notebook 15 are mostly the pairs'.
#
# ![The loss -log RBP_1 against S for GPT-2, OPT, Pythia and Qwen on five corpora: above on tokens that complete no pair, where the lines of GPT-2, OPT and Pythia are parallel and Qwen's is steeper, below on those that complete one, where Pythia falls far more steeply and Qwen's points lie on no line](../figures/14_pairs.png)
#
# *Above: tokens that complete no pair. Below: those that do. Models of 12 million tokens.*
#
# *Reading time: 13 minutes; no model is run, and it takes half a minute.* The models are the shipped ladders, and the Pythias of notebook 15 that read fewer tokens. $S$ leaves out token and position embeddings and the output head.

# %% tags=["parameters"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
from itertools import pairwise, product

import numpy as np
import pandas as pd

import rbpkit
from rbpkit import paper, plots
from rbpkit.fit import fit_power_law
from rbpkit.pocket import analysis
from rbpkit.pocket import analysis as analysis_figures
from rbpkit.pocket.controls import load_totals, pairs_path
from rbpkit.sections.joint_law import FORMS, KAPLAN, fit_joint, leave_out
from rbpkit.stats.curves import measured_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, close

check_parameters(globals())
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## Two kinds of token
#
# A token $t_i$ *completes a pair* where it and the token before it stood side by side earlier in the document:
#
# $$(t_{i-1}, t_i) = (t_{j-1}, t_j) \quad \text{for some } j < i.$$
#
# A model that looks up what followed $t_{i-1}$ last time gets such a token right. Olsson et al. (2022) find attention heads that do this, which they call induction heads, and which form all at once during training; Arora et al. (2023) compare architectures on such tokens. In a short text, with words for tokens:

# %%
words = "Here the rank of the token is the rank of its logit".split()
pairs = list(pairwise(words))
repeated = [pair in pairs[:i] for i, pair in enumerate(pairs)]
print(" ".join(f"[{w}]" if again else w for w, again in zip(words[1:], repeated, strict=True)))

# %% [markdown]
# (A pair that begins with a document's first token, which is not scored, does not count.) Every scored token is of one kind or the other. With $s$ for the share of tokens that complete a pair,
#
# $$\mathrm{RBP}_k = s\,\mathrm{RBP}_k^{\text{pair}} + (1 - s)\,\mathrm{RBP}_k^{\text{other}},$$
#
# and the same for CE.

# %%
ks, quantities = (1, 10, 100), ["CE", "RBP_1", "RBP_10", "RBP_100"]
corpora = ["prose", "code", "qa", "readme", "humaneval"]
totals = {"pairs": load_totals(pairs_path(True)), "others": load_totals(pairs_path(False))}
totals["all"] = [one.plus(two) for one, two in zip(*totals.values(), strict=True)]
tables = [analysis.size_and_tokens(some, ks).assign(kind=kind) for kind, some in totals.items()]
models = pd.concat(tables, ignore_index=True)
models["corpus"] = models["corpus"].str.removeprefix("pocket:")
models = models[models["seed"] == 0]  # notebook 18 has the others
tokens = {
    (one.manifest.corpus.removeprefix("pocket:"), kind): one.manifest.tokens
    for kind, some in totals.items()
    for one in some
}
tokens = pd.Series(tokens).unstack().loc[corpora]
tokens.assign(share=(tokens["pairs"] / tokens["all"]).round(2))

# %% [markdown]
# Below, a *cell* is one of CE and $-\log\mathrm{RBP}_k$, $k$ = 1, 10, 100, on one corpus. The margins stand at their tests. Before they were fixed we had looked at two corpora, prose and HumanEval, of models of 12 million tokens. We had not looked at the other corpora, at models of fewer tokens, or at any prediction.
#
# ## Families
#
# For models that read the same 12 million tokens, the paper's law fitted to one kind of token at a time:
#
# $$-\log \mathrm{RBP}_k^{\text{kind}} = c\,S^{-\alpha}.$$
#
# The table has $\alpha$, and the largest of the families over the smallest.

# %%
at_12 = models[(models["T"] == 12e6) & models["family"].isin(paper.FAMILIES)]
of_families = list(paper.FAMILIES)
names = ["kind", "quantity", "corpus", "family"]
lines = {
    cell: fit_power_law(part["S"], part["loss"]) for cell, part in at_12.groupby(names, sort=False)
}
slopes = pd.Series({cell: line.alpha for cell, line in lines.items()}).rename_axis(names)
slopes = slopes.unstack()[of_families]
slopes["steepest by flattest"] = slopes.max(axis=1) / slopes.min(axis=1)
slopes.loc[list(product(["others", "pairs"], quantities, corpora))].round(3)

# %%
rows = []
for kind, name in (("others", "other tokens"), ("pairs", "pairs")):
    some = [one for one in totals[kind] if one.manifest.model.endswith("-12m")]
    ids = [f"pocket:{corpus}" for corpus in corpora]
    found = measured_curves(some, ids, of_families, lambda one: one.rbp(1), "RBP_1")
    of_kind = plots.curve_points(name.split()[0], found.curves.values())
    rows.append(of_kind.assign(row=f"{name}, k = 1"))
points = pd.concat(rows)[["row", *of_kind.columns]]
panels = points.assign(panel=points["row"] + ": " + points["corpus"].map(plots.short))
figure = plots.law_grid(panels, panel="panel", size=(3.4, 2.5), columns=2)
plots.save(figure, points, figures_dir, "14_pairs")

# %% [markdown]
# The margin: families *agree* where the steepest exponent is at most 1.2 times the flattest in the median and at most 1.5 times in the worst of the 12 cells of `code`, `qa` and `readme`.

# %%
three = [family for family in of_families if family != "Qwen"]
judged = slopes.loc[(slice(None), slice(None), ["code", "qa", "readme"]), :]
for some in (three, of_families):
    ratio = judged[some].max(axis=1) / judged[some].min(axis=1)
    print(", ".join(some))
    print(ratio.groupby("kind").agg(["median", "max"]).round(2).to_string())
r2 = pd.Series({cell: line.r2 for cell, line in lines.items()}).rename_axis(names)
by_three = slopes["Qwen"] / slopes[three].median(axis=1)
print("Qwen's exponent over the median of the other three, 20 cells:")
print(by_three.groupby("kind").agg(["min", "median", "max"]).round(2).to_string())
steepest = slopes[of_families].idxmax(axis=1).loc["others"] == "Qwen"
print("Qwen's is the steepest on the other tokens in:", steepest.sum(), "of", steepest.size)
print("R2 in 20 cells:")
print(r2.groupby(["kind", "family"]).agg(["min", "median"]).unstack(0).round(3).to_string())

# %% [markdown]
# GPT-2, OPT and Pythia, which were trained first, meet the margin on the other tokens: 1.09 times in the median, 1.19 at worst (on all tokens 1.38 and 1.87). With Qwen, trained last, it is missed: 1.34 and 1.55.
#
# What sets Pythia apart from GPT-2 and OPT is the pairs: there its exponent is two to four times theirs. (Its losses are lower on the others too.)
#
# Qwen is apart on both. On the other tokens its exponent is the steepest in 19 of 20 cells, by 27% over the median of the three. On the pairs it lies between Pythia's and theirs, but its points lie on no line: $R^2$ is 0.67 in the median and 0.53 at worst. In percent, $\mathrm{RBP}_1$ on the pairs of prose:

# %%
of_prose = at_12[(at_12["kind"] == "pairs") & (at_12["corpus"] == "prose")]
of_prose = of_prose[of_prose["quantity"] == "RBP_1"].set_index(["family", "S"])["loss"]
for family in of_families:
    values = (100 * np.exp(-of_prose[family])).round(0).astype(int)
    print(f"{family}:", ", ".join(f"{S / 1e3:,.0f}k {value}" for S, value in values.items()))

# %% [markdown]
# No power of $S$ does this. Between $S$ = 85 and 312 thousand Pythia goes from 45 to 65%; GPT-2 with a million parameters is at 46. Qwen goes up, down and up: its second size gets more pairs right than its third and fourth, and its sixth, with 2.5 million parameters, fewer than the Pythia of 312 thousand. Some of this can be chance: with another seed the third size is far better than the second, with a third seed they are nearly level ([notebook 18](18_other_seeds.ipynb)).
#
# The tokens are the same, so it is not that pairs are easy: some models seem to use what stood before, and size alone does not say which.
#
# Why Pythia more than the others, these models do not say. GPT-2 and OPT have learned positions, and were trained at a quarter of Pythia's rate ($0.175/d$ against $0.7/d$, each the best of its family at 1.5 million tokens, when no Pythia yet gains on the pairs). Family and rate are confounded.
#
# ### Why Qwen's exponent is larger
#
# Along the ladder of Qwen not only the size changes. As in Qwen2.5, the smaller models share one matrix between embedding and output, the larger ones do not; $S$ counts neither. The two groups lie below and above $S$ = 400 thousand. On the other tokens, the exponent in each range, and between the two sizes next to the border (a line through two points); medians over the 20 cells:

# %%
others = at_12[at_12["kind"] == "others"]
below, of_one = others["S"] < 4e5, others["family"]
last = others["S"].where(below).groupby(of_one).transform("max")
first = others["S"].where(~below).groupby(of_one).transform("min")
ranges = {
    "below": below,
    "between": others["S"].between(last, first),
    "above": ~below,
    "all sizes": others["S"] > 0,
}
by_range = {
    (name, *cell): -np.polyfit(np.log(part["S"]), np.log(part["loss"]), 1)[0]
    for name, mask in ranges.items()
    for cell, part in others[mask].groupby(names[1:], sort=False)
}
pd.Series(by_range).unstack()[of_families].groupby(level=0, sort=False).median().round(3)

# %% [markdown]
# Below, Qwen's exponent is 0.078, the others' 0.067 to 0.070. Above, it is 0.040, less than OPT's 0.041 and the others'. Between the two sizes next to the border it is 0.158, where the others have 0.054 to 0.091. So much of what sets Qwen apart is one step, at which the construction changes and $S$ does not see it.
#
# The untied matrix need not be the cause, since width and depth change there too: from 64 to 96, and from 4 layers to 3. We looked at this after the margin was missed, and with three sizes on either side.
#
# ## A family without attention
#
# Mamba has no attention ([notebook 13](13_pocket_ladders.ipynb)): whatever stood before must pass through a state of 16 numbers a channel. Does it gain less from pairs? No margin was fixed for this; it is a description of five models.
#
# First the exponent, from the models of each family that are no larger than the largest Mamba ($S$ = 410 thousand): medians over the 20 cells.

# %%
read_12 = models[models["T"] == 12e6]
mamba = read_12[read_12["family"] == "Mamba"]
five = [*of_families, "Mamba"]
small = read_12[read_12["S"] <= mamba["S"].max()].groupby(names, sort=False)
alpha = {cell: -np.polyfit(np.log(one["S"]), np.log(one["loss"]), 1)[0] for cell, one in small}
alpha = pd.Series(alpha).rename_axis(names).unstack()[five]
print(alpha.loc[["others", "pairs"]].groupby("kind").median().round(3).to_string())
steepest = (alpha.idxmax(axis=1) == "Mamba").groupby("kind").sum()
print(
    f"Mamba's is the steepest of the five in {steepest['others']} of 20 cells on the other", end=" "
)
print(f"tokens and in {steepest['pairs']} on the pairs")
next_one = alpha["Mamba"] / alpha[of_families].max(axis=1)
print(
    "over the steepest of the four, median:", next_one.groupby("kind").median().round(2).to_dict()
)

# %% [markdown]
# Then the loss itself: by how many percent Mamba's $-\log \mathrm{RBP}_1$ lies above what another family has at the same $S$, read off between that family's two neighbouring models in $\log S$ and $\log$ loss; medians over the five corpora.

# %%
above = []
for (kind, corpus, quantity), part in mamba.groupby(["kind", "corpus", "quantity"]):
    same = (read_12["kind"] == kind) & (read_12["corpus"] == corpus)
    for family, curve in read_12[same & (read_12["quantity"] == quantity)].groupby("family"):
        x, y = np.log(curve["S"]), np.log(curve["loss"])
        at = np.exp(np.interp(np.log(part["S"]), x, y, left=np.nan))
        percent = 100 * (part["loss"] / at - 1)
        above += [(kind, quantity, family, *one) for one in zip(part["S"], percent, strict=True)]
above = pd.DataFrame(above, columns=["kind", "quantity", "family", "S", "above"])
at_k1 = above[(above["quantity"] == "RBP_1") & above["family"].isin(of_families)]
at_k1 = at_k1.groupby(["kind", "S", "family"])["above"].median().unstack()
at_k1.loc[["others", "pairs"]].round(1)

# %% [markdown]
# On tokens that complete no pair Mamba gains most from size: its exponent is the steepest of the five in all 20 cells, 1.2 times the next in the median. There it starts 2% above Pythia of the same $S$ and ends 5% below. On the pairs it is the other way round: Pythia's exponent is 2.2 times Mamba's in the median, and Mamba's loss lies 8% above Pythia's at the smallest size and 68% at the largest.
#
# On all tokens the two nearly cancel, which is why notebook 13 finds Mamba's exponent between Pythia's and the others'. One exponent for a whole text can hide two that differ.
#
# That models without attention recall less of what stood before is known (Arora et al. 2023). These are small models of one seed. GPT-2 and OPT have three sizes in this range and a quarter of the rate; Pythia has an output matrix of its own, which $S$ does not count, Mamba a shared one.
#
# ## Two larger models
#
# Notebook 15 found that two larger Pythias fall short of the line through the six smaller ones. The same test by kind of token. The margin: the bend is the pairs' where on the other tokens the line errs by at most 5% in the median cell and 10% in the worst, and its 95% intervals have 36 or more of the 40 losses.


# %%
def rms(errors):
    return 100 * float(np.sqrt(np.mean(np.square(errors))))


forms = (*FORMS, KAPLAN)
pythia = models[models["family"] == "Pythia"]
grid = {
    cell: part.sort_values(["T", "S"])
    for cell, part in pythia[pythia["S"] < 1e6].groupby(names[:3], sort=False)
}
rows, by_law = {}, {}
for cell, new in pythia[pythia["S"] > 1e6].groupby(names[:3], sort=False):
    S, loss, part = new["S"].to_numpy(float), new["loss"].to_numpy(), grid[cell]
    six = part[part["T"] == 12e6]
    of_line = fit_power_law(six["S"], six["loss"]).predict(S)
    rows[cell] = {
        "error, %": rms(np.log(of_line.loss / loss)),
        "inside": ((of_line.low <= loss) & (loss <= of_line.high)).sum(),
        "too low": (of_line.loss < loss).sum(),
    }
    laws = [fit_joint(part["S"], part["T"], part["loss"], form, huber=None) for form in forms]
    by_law[cell] = {law.form: rms(np.log(law.predict(S, 12e6) / loss)) for law in laws}
    by_law[cell]["copied"] = rms(np.log(six["loss"].iloc[-1] / loss))
beyond = pd.DataFrame(rows).T.rename_axis(names[:3]).groupby("kind")
beyond.agg(
    median=("error, %", "median"), worst=("error, %", "max"),
    inside=("inside", "sum"), too_low=("too low", "sum"),
).round(1)  # fmt: skip

# %% [markdown]
# So it is: on the other tokens the line predicts the two models to 1.6%, 4.1% at worst, and its intervals have 38 of 40 losses. (The error is the stronger test: on the pairs, where it is 24%, the intervals are so wide that they have all 40.) The line is still too low in 36 of 40: what is left of the bend is small, not nothing.
#
# ## From 6 to 12 million tokens
#
# The exponent of six Pythias at each number of tokens. The change from 6 to 12 million is minus the slope of $\log L(S, 12\text{M}) - \log L(S, 6\text{M})$ on $\log S$. The margin: the jump is the pairs' where the exponent of the other tokens changes by at most half as much as that of all tokens, in 15 of 20 cells.

# %%
rows, at_fixed = {}, []
for (kind, quantity, corpus), part in grid.items():
    loss_at = part.pivot(index="S", columns="T", values="loss")
    at = {T: fit_power_law(loss_at.index, loss_at[T]) for T in loss_at}
    change = fit_power_law(loss_at.index, loss_at[12e6] / loss_at[6e6])
    rows[kind, quantity, corpus] = {f"{T / 1e6:g}M": line.alpha for T, line in at.items()}
    rows[kind, quantity, corpus]["change"] = change.alpha
    for T, line in at.items() if quantity == "RBP_1" else ():
        numbers = (line.slope, *line.slope_interval, line.r2)
        at_fixed.append((corpus, kind, T, *numbers))
doubled = pd.DataFrame(rows).T.rename_axis(names[:3])
columns = ["corpus", "quantity", "tokens", "slope", "low", "high", "R2"]
at_fixed = pd.DataFrame(at_fixed, columns=columns)
at_fixed = at_fixed.sort_values("corpus", key=lambda of: of.map(corpora.index), kind="stable")
figure = analysis_figures.along_panels(at_fixed, ["others", "all", "pairs"])
plots.save(figure, at_fixed.rename(columns={"quantity": "kind"}), figures_dir, "14_exponents")

# %%
change = doubled["change"].unstack("kind")
share = change["others"] / change["all"]
print(f"at most half: {(share <= 0.5).sum()} of {len(share)};", end=" ")
print(f"the share is {share.min():.2f} to {share.max():.2f}, median {share.median():.2f}")
medians = doubled.groupby(["kind", "quantity"], sort=False).median().unstack("kind")
medians.swaplevel(axis=1)[["others", "pairs"]].round(3)

# %% [markdown]
# (The figure has the slopes for $\mathrm{RBP}_1$, with 95% intervals; the table has medians over the five corpora.) The exponent of the other tokens grows steadily. That of the pairs is 1.5 to 2 times as large at 6 million tokens, and then jumps to three to four times its value. The change of the other tokens' exponent is 0.31 of the whole change in the median, and at most half in 17 of 20 cells. The other three are of `qa`, where pairs are 8% of the tokens.
#
# ## A law in size and tokens
#
# In notebook 15 no law in $S$ and $T$ predicted the last doubling of the tokens. The same test, fitted to each kind: the sum $A\,S^{-a} + B\,T^{-b}$, with a floor, the product, Kaplan's form, and *size* alone. *Copied* is no law but the loss of the next smaller size, or of half the tokens. The margin is that of notebook 15: at most 5% in the median cell, 10% in the worst.

# %%
out = {}
for cell, part in grid.items():
    S, T, loss = (part[name].to_numpy(float) for name in ("S", "T", "loss"))
    for held, mask in (("largest S", S == S.max()), ("largest T", T == T.max())):
        errors = leave_out(S, T, loss, mask, forms, huber=None)
        copied = loss[S == np.unique(S)[-2]] if held == "largest S" else loss[T == np.unique(T)[-2]]
        errors["copied"] = np.log(copied / loss[mask])
        out[held, *cell] = {form: rms(error) for form, error in errors.items()}
    out["two larger", *cell] = by_law[cell]
missed = pd.DataFrame(out).T.rename_axis(["held out", *names[:3]])
summed_up = missed.groupby(["held out", "kind"]).agg(["median", "max"]).stack(0, future_stack=True)
summed_up["predicts"] = (summed_up["median"] <= 5) & (summed_up["max"] <= 10)
summed_up.loc[(slice(None), ["all", "others"]), :].unstack("kind").round(1)

# %% [markdown]
# On the other tokens the sum meets the margin for all three: the largest size (3.2%), twice the tokens (3.4%, 8.7% at worst) and the two larger models (2.2%; no margin had been fixed for that one). Kaplan's form is nearer still: 1.9, 2.0 and 0.9%. On all tokens both meet it for the largest size alone. For the largest size copying the next size's loss is nearer than the sum, on either set of tokens.
#
# But the losses of the other tokens also change less, so 5% asks less. As a share of copying's error, in the median cell:

# %%
relative = missed[["sum", "kaplan"]].div(missed["copied"], axis=0)
relative.groupby(["held out", "kind"]).median().loc[(slice(None), ["all", "others"]), :].round(2)

# %% [markdown]
# By this measure too the forms do better on the other tokens, by much for the two larger models, and for twice the tokens clearly in Kaplan's form only (0.45 to 0.18; the sum 0.51 to 0.38).
#
# So for what is learned gradually a smooth law in size and tokens does well. The pairs look as if a skill came late and quickly, and none of these forms has such a step.
#
# ## Size or tokens for a given compute
#
# With laws that fit, the question of notebook 15 can be asked again. For a compute $C = 6\,S\,T$ the sum, and Kaplan's form too, is least at
#
# $$S^*(C) \propto C^{\,b/(a+b)}.$$
#
# Intervals are the sum's, by bootstrap over the 24 models, 100 times. The margin of notebook 15, carried over here with the numbers above known: CE and $\mathrm{RBP}_k$ want different splits where the interval of the difference excludes 0, with one sign, in three of five corpora.

# %%
draws = np.random.default_rng(0).integers(0, 24, (100, 24))  # models, some of them twice
exponents, drawn = {}, {}
for quantity, corpus in product(quantities, corpora):
    part = grid["others", quantity, corpus]
    S, T, loss = (part[name].to_numpy(float) for name in ("S", "T", "loss"))
    law = fit_joint(S, T, loss, "sum", huber=None)
    again = [fit_joint(S[j], T[j], loss[j], "sum", huber=None, start=law) for j in draws]
    drawn[quantity, corpus] = np.array([one.b / (one.a + one.b) for one in again])
    ends = np.percentile(drawn[quantity, corpus], [2.5, 97.5])
    less = np.percentile(drawn[quantity, corpus] - drawn["CE", corpus], [2.5, 97.5])
    here = {"exponent": law.b / (law.a + law.b), "low": ends[0], "high": ends[1]}
    here |= {"less CE's: low": less[0], "less CE's: high": less[1]}
    law = fit_joint(S, T, loss, KAPLAN, huber=None)
    here["by kaplan"] = law.b / (law.a + law.b)
    exponents[quantity, corpus] = here
split = pd.DataFrame(exponents).T.rename_axis(["quantity", "corpus"])
split.round(3)

# %%
apart = (split["less CE's: low"] > 0).astype(int) - (split["less CE's: high"] < 0).astype(int)
print("above CE's less below CE's:", apart.groupby(level=0, sort=False).sum().to_dict())
by_kaplan = split["by kaplan"].unstack("quantity")
above = by_kaplan.gt(by_kaplan["CE"], axis=0).sum().sum()
print("by Kaplan's form above CE's:", above, "of 15")

# %% [markdown]
# By the sum the margin is met: the exponent for $\mathrm{RBP}_1$ is below CE's in three corpora of five, those for $k$ = 10 and 100 in all five, by up to 0.08. By Kaplan's form, which fits better, it is 0.72 to 0.90, in no such order: above CE's in 11 of 15 cells. So the answer depends on the form, and the split stays open. (These models read 1.5 to 470 tokens a parameter, and $C = 6ST$ leaves out the head.)
#
# ## What others have found
#
# - Olsson et al. (2022, arXiv 2209.11895) describe induction heads, and a bump in the training loss where they form.
# - Arora et al. (2023, arXiv 2312.04927) find that 82% of the gap in perplexity between attention and gated convolutions is explained by how well each model recalls what was mentioned in the context. Here sizes and numbers of tokens are compared, and exponents.
# - Michaud et al. (2023, arXiv 2303.13506) derive smooth laws from many skills that come one by one. Pairs would be a skill large enough to be seen.
# - Kaplan et al. (2020, arXiv 2001.08361) and Hoffmann et al. (2022, arXiv 2203.15556) fit laws in size and tokens to mean losses, of models most of which are far larger and trained for longer.
#
# ## What holds
#
# - On tokens that complete no pair, GPT-2, OPT and Pythia have nearly one exponent for each text and quantity; on the pairs Pythia's is two to four times the others'.
# - Qwen's is larger there, by 27% in the median cell: the families do not all agree, and the margin is missed.
# - On these other tokens the sum and Kaplan's form predict the largest size, the last doubling of the tokens and two larger models; on all tokens only the first.
# - The bend and the jump of notebook 15 are mostly the pairs'.
# - Without attention (Mamba) the exponent is the steepest on the other tokens, and on the pairs 0.45 of Pythia's in the median.
#
# Limits: five families, at three learning rates; one text, one seed (notebook 18 has more of four models); $S$ at most 3 million. The split looks at the right token: copying that goes wrong counts among the others, and a frequent pair counts as one that could be copied. A split by the context alone was not made, nor did we look inside a model.
#
# The paper's models are far beyond this stage, and no rank of a single token of theirs is published. Whether their families differ by their pairs is open.
#
# ## Exercises
#
# 1. On which corpus does the exponent of $\mathrm{RBP}_1$ on the pairs jump by the largest factor from 6 to 12 million tokens? (From `doubled`.)
# 2. By how many percent does the sum err, in the median cell of the pairs, where the longest training is held out? (From `missed`.)

# %%
answer_1 = None  # a corpus, as "prose"
answer_2 = None  # percent

of_pairs = doubled.sort_index().loc["pairs", "RBP_1"]
factor = of_pairs["12M"] / of_pairs["6M"]
sum_errs = missed.sort_index().loc[("largest T", "pairs"), "sum"].median()
print(check(1, answer_1, lambda given: given == factor.idxmax()))
print(check(2, answer_2, close(sum_errs, 1)))
