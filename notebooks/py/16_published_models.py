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
# # Beyond the paper: models that others published
#
# **Question.** The paper shows on four families and six corpora that $-\log \mathrm{RBP}_1$ falls as a power of $S$. Others have published accuracies of more than a hundred finished models, from 1 million to 175 billion parameters, and of hundreds of checkpoints; some of these accuracies are shares of tokens of rank 1. Does the law hold for them? Does it predict a larger model? And how does the loss depend on the number of training tokens, which the law leaves out?
#
# **Answer.** For single tokens, protein residues and memorised windows the law holds, and it predicts the largest model to about 5%. On LAMBADA it fails at the top: the largest models do worse than their line, by a tenth in the median and by a third at worst, except where the training tokens grow with the size. A law in size *and* tokens predicts Pythia-12B there to 3 to 6% where size alone misses by 30 to 34%.
#
# ![The loss -log of the share of right predictions against S for every series of published models, by what the share is of](../figures/16_all.png)
#
# *Every series of finished models: a straight line is the law.*
#
# *Reading time: 17 minutes; no model is run, and it takes seconds.* The sections "Cross-entropy beside accuracy" and "Other architectures" may be skipped at a first reading. $S$ leaves out token and position embeddings and the output head. The numbers, with source, commit and licence, are in `rbpkit/data/evidence`.

# %% tags=["parameters"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import stdtrit

import rbpkit
from rbpkit import plots
from rbpkit.audit.shape import fit_bend, fit_floor
from rbpkit.fit import fit_power_law
from rbpkit.sections import published_figures
from rbpkit.sections import published_models as published
from rbpkit.stats.joint_law import FORMS, fit_joint, leave_out
from rbpkit.stats.windows import published_windows
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, close

check_parameters(globals())
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## What each number is
#
# A token has rank 1 when the greedy prediction is right, so an accuracy of greedy predictions is the share of tokens of rank 1. The groups below differ in the positions that are counted.
#
# - *Next token*: $\mathrm{RBP}_1$ proper, on OpenWebText.
# - *Last sub-token*: $\mathrm{RBP}_1$ at one position of each passage of LAMBADA, the end of its last word.
# - *LAMBADA*: right when **every** token of the last word is greedy. With $N$ tokens in the word it is $p_{N,1}$ of Section 5.1, so at most $\mathrm{RBP}_1$ there. Its 5,153 passages were chosen so that people need the whole passage: they are not a random sample of text.
# - *Memorised windows*: $p_{32,1}$ on training text, duplicates included.
# - *Masked residues*: top-1 accuracy at masked positions of proteins, which are not next tokens.
#
# Multiple-choice accuracies are left out. They compare a few given answers, so they say nothing about ranks.

# %%
table = published.final_models()
by_group = table.groupby("group", sort=False).agg(
    series=("series", "nunique"), models=("model", "size"), least=("S", "min"), most=("S", "max")
)
by_group

# %%
sources = published.load("sources")
print(sources[["source", "where", "commit", "licence"]].fillna("").to_string(index=False))

# %% [markdown]
# ## One line a series
#
# The law of Section 4.1, $-\log \mathrm{RBP}_1 = c\,S^{-\alpha}$, is a line in logarithms. For the five Fairseq models on OpenWebText, by least squares:

# %%
one = table[table["series"] == "Fairseq on OpenWebText"].sort_values("S")
x, y = np.log(one["S"].to_numpy(float)), np.log(-np.log(one["share"].to_numpy()))
slope = ((x - x.mean()) @ (y - y.mean())) / ((x - x.mean()) @ (x - x.mean()))
residual = y - y.mean() - slope * (x - x.mean())
r2 = 1 - residual @ residual / ((y - y.mean()) @ (y - y.mean()))
print(f"slope {slope:.3f}, R2 {r2:.3f}")

law = published.lines(table)
row = law.set_index("series").loc["Fairseq on OpenWebText"]
assert np.allclose([slope, r2], row[["slope", "R2"]].to_numpy(float))

# %% [markdown]
# The same for every series. `low` and `high` are the 95% interval of the slope. Then the largest model is held out: `above` is by how many percent its loss lies above the line through the others, and `inside` says whether it lies in that line's 95% interval for a new model.

# %%
law.drop(columns="group").round(3).round({"above": 1})

# %%
tried = law.dropna(subset="above")
lambada = law[law["group"] == "LAMBADA"]
print(f"R2: {law['R2'].min():.3f} to {law['R2'].max():.4f}, median {law['R2'].median():.3f}")
print(f"slopes on LAMBADA: {lambada['slope'].min():.3f} to {lambada['slope'].max():.3f}")
worse = tried[tried["group"] == "LAMBADA"]["above"]
print(f"LAMBADA's largest model above its line: {(worse > 0).sum()} of {len(worse)} series")
print(f"inside the interval, all series: {tried['inside'].astype(bool).sum()} of {len(tried)}")

# %% [markdown]
# On $\mathrm{RBP}_1$ proper, on proteins and on memorised windows the law predicts the largest model to about 5% or better, over 1.2 to 2.8 decades, on corpora and a modality that the paper did not use. On proteins $R^2$ is 0.9997 and more, though with four models in each series.
#
# On LAMBADA an $R^2$ of 0.92 or more hides what happens at the top: the largest model does worse than its line in 12 of 14 series, GPT-3 and BLOOM by half. The two that do better are those of Cerebras, whose training tokens grow with size. (That 18 of 20 lie inside their interval says little, since intervals from three or four points are very wide.)
#
# In the figures a line is fitted to all models but the largest, and its dotted end is the prediction for the largest; slope and $R^2$ in the legend are those of all models.

# %%
panels = {
    "next token; last sub-token": table[table["group"].isin(["next token", "last sub-token"])],
    "masked residues of proteins": table[table["group"] == "masked residues"],
    "memorised windows of 32": table[table["group"] == "memorised windows"],
}
figure = published_figures.law_panels(panels, r"$-\log$ of the share")
points = pd.concat(panels.values())[["group", "series", "model", "S", "share", "n"]]
plots.save(figure, points, figures_dir, "16_ranks")

# %%
growing = ["Cerebras-GPT", "Cerebras-GPT-muP"]
beside = ["Mamba", "Mamba-2", "RWKV-4", "Pythia v1, deduplicated"]
pythias = [name for name in law["series"] if name.startswith("Pythia v")]
tests = table[table["group"] == "LAMBADA"]
families = [name for name in tests["series"].unique() if name not in beside + growing + pythias]
panels = {
    "GPT-3, OPT, BLOOM, Pythia": tests[tests["series"].isin(["GPT-3", "OPT", "BLOOM", *pythias])],
    "other families": tests[tests["series"].isin(set(families) - {"GPT-3", "OPT", "BLOOM"})],
    "20 tokens a parameter": tests[tests["series"].isin(growing)],
}
figure = published_figures.law_panels(panels, r"$-\log$ accuracy on LAMBADA")
points = pd.concat(panels.values())[["series", "model", "S", "tokens", "share", "source"]]
plots.save(figure, points, figures_dir, "16_lambada")

# %% [markdown]
# ## A bend, and a floor
#
# Five models or more allow two tests of curvature. The first is the parabola $\log L = a - \alpha z + c z^2$, where $z$ is $\log S$ minus its mean; $c > 0$ means that the line bends upwards, so larger models gain less.
#
# The second is the floor $L = A S^{-a} + E$, with $E$ shown as a share of the smallest loss. `line` and `floored` are the errors, in percent of the loss, when each predicts the largest model from the others (negative: predicted too low).

# %%
rows = []
for series, part in table.groupby("series", sort=False):
    part = part.sort_values("S")
    S, loss = part["S"].to_numpy(float), -np.log(part["share"].to_numpy())
    if len(S) < 5:
        continue
    found, _, error = fit_bend(S, loss)
    line = fit_power_law(S[:-1], loss[:-1]).predict(S[-1]).loss
    floored = fit_floor(S[:-1], loss[:-1]).predict(S[-1])
    half = stdtrit(len(S) - 3, 0.975) * error
    bend = found[2], found[2] - half, found[2] + half
    floor = fit_floor(S, loss).L_inf / loss.min()
    missed = (100 * (predicted / loss[-1] - 1) for predicted in (line, floored))
    rows.append((series, len(S), *bend, floor, *missed))
names = ["series", "n", "c", "low", "high", "E / least loss", "line", "floored"]
bent = pd.DataFrame(rows, columns=names).set_index("series")
print(
    f"bends at 95%: {(bent['low'] > 0).sum()} of {len(bent)} upwards, {(bent['high'] < 0).sum()} downwards"
)
bent.round(3).round({"E / least loss": 2, "line": 1, "floored": 1})

# %% [markdown]
# In seven of fourteen series the line bends upwards at the 95% level, Fairseq's on OpenWebText among them, though by little. With a floor, GPT-3 is predicted to 1% and BLOOM to 7%, where the line misses by a third; their fitted floors are almost nine tenths of the smallest loss. The two series of Cerebras do not bend upwards, nor do the memorised windows.
#
# Two causes could make a floor: the text (words that nobody can guess, wrong answers), or a number of training tokens that is the same for all models. A family trained on one number of tokens cannot separate them.

# %% [markdown]
# ## Size and tokens
#
# Hoffmann et al. (2022) write a loss as a sum of a term in size and a term in tokens $T$. For $-\log$ of an accuracy the same form is in arXiv 2512.08894 (there with all parameters as the size):
#
# $$-\log p = A\,S^{-a} + B\,T^{-b}.$$
#
# At a fixed $T$ the second term is a floor, and the line in $S$ bends. Where $T$ grows with $S$ that term falls too, and the line need not bend. Under the *product* $A S^{-a} T^{-b}$ a change of $T$ shifts the line, which stays straight. Checkpoints, which vary $T$ at each $S$, can therefore distinguish sum and product.
#
# The sum is fitted here by least squares of the logarithms to deduplicated Pythia v1 from step 3,000 on, without its 12B:

# %%
rows = published.checkpoints("v1-deduped")
S, T, loss = (rows[name].to_numpy(float) for name in ("S", "tokens", "loss"))
held = S == S.max()
s, t = np.log(S / np.exp(np.log(S[~held]).mean())), np.log(T / np.exp(np.log(T[~held]).mean()))


def log_sum(p, s, t):
    return np.log(np.exp(p[0] - p[1] * s) + np.exp(p[2] - p[3] * t))


start = [-1, 0.3, -1.5, 0.5]
found = least_squares(lambda p: log_sum(p, s[~held], t[~held]) - np.log(loss[~held]), start).x
missed = log_sum(found, s[held], t[held]) - np.log(loss[held])
print(f"a = {found[1]:.3f}, b = {found[3]:.3f}")
print(
    f"12B's {held.sum()} checkpoints, rms error of the loss: {100 * np.sqrt((missed**2).mean()):.1f}%"
)

joint = fit_joint(S[~held], T[~held], loss[~held], "sum")
errors = leave_out(S, T, loss, held)
assert np.allclose([found[1], found[3]], [joint.a, joint.b], atol=1e-4)
assert np.allclose(missed, errors["sum"], atol=1e-4)

# %% [markdown]
# The sum implies a local slope in $\log S$: at a fixed $T$ it is $-a$ times the first term's share of the loss; where $T = 20 S$, $-b$ times the second term's share is added. For Pythia's 300 billion tokens, and for 20 tokens a parameter:

# %%
sizes = np.array([1e8, 1e9, 1e10, 1e11])
first = joint.A * (sizes / joint.S_unit) ** -joint.a
second = joint.B * (np.array([np.full(4, 3e11), 20 * sizes]) / joint.T_unit) ** -joint.b
fixed, growing_too = first / (first + second)
slopes = pd.DataFrame({"S": sizes, "slope, T = 3e11": -joint.a * fixed})
slopes["slope, T = 20 S"] = -joint.a * growing_too - joint.b * (1 - growing_too)
slopes.set_index("S").round(3)

# %% [markdown]
# One law describes both cases. At a fixed number of tokens, as for GPT-3 and Pythia, the slope shrinks threefold, so the line bends; where tokens grow with size, the slope hardly changes. (The $-0.36$ is too steep: Cerebras-GPT's is $-0.29$.)

# %% [markdown]
# Four forms are compared on the data that they were not fitted to: a line in size alone, the product, the sum, and the sum with a floor. Three parts are held out: the largest size; each size in turn; the second half of training (from 150 billion tokens on). The table shows the root mean square error of $\log(-\log p)$, times 100, which is close to percent of the loss; LAMBADA, zero-shot.


# %%
def rms(errors):
    return 100 * float(np.sqrt(np.mean(np.square(errors))))


def held_out_errors(S, T, loss, ways):
    """A row a way of holding out (name -> list of masks): rms errors in percent by form."""
    table = {}
    for name, masks in ways.items():
        found = [leave_out(S, T, loss, mask) for mask in masks]
        table[name] = {form: rms(np.concatenate([e[form] for e in found])) for form in FORMS}
    return pd.DataFrame(table).T


along = {}
for suite, title in published.SUITES.items():
    for least in (2e9, 6e9) if suite.startswith("v1") else (6e9,):
        rows = published.checkpoints(suite, least_tokens=least)
        S, T, loss = (rows[name].to_numpy(float) for name in ("S", "tokens", "loss"))
        ways = {
            "the largest size": [S == S.max()],
            "each size": [S == size for size in np.unique(S)],
            "the second half": [T > 1.5e11],
        }
        label = f"{title}, from step {1000 if least < 6e9 else 3000:,}"
        label = label.replace("deduplicated", "dedup.")
        along[label] = held_out_errors(S, T, loss, ways)
along = pd.concat(along, names=["checkpoints of", "held out"])
along.round(1)

# %%
panels = {}
for suite in ("v1-deduped", "v0"):
    rows = published.checkpoints(suite)
    most = rows["S"].max()
    seen = rows[rows["S"] < most]
    law_of = fit_joint(seen["S"], seen["tokens"], seen["loss"], "sum")
    panels[f"{published.SUITES[suite]}: 12B held out"] = rows, law_of, most
figure = published_figures.token_panels(panels, r"$-\log$ accuracy on LAMBADA")
points = pd.concat(
    rows.assign(predicted=law.predict(rows["S"], rows["tokens"]))
    for rows, law, _ in panels.values()
)
columns = ["suite", "model", "S", "tokens", "share", "loss", "predicted"]
plots.save(figure, points[columns], figures_dir, "16_training")

# %% [markdown]
# Along training there is no single exponent of $S$: size alone misses 12B by 30 to 34%, the product by 14 to 20%, the sum by 3 to 6% (from step 3,000 on), in all four suites, and the sum has the smaller error whichever part is held out.
#
# With step 1,000 included, the sum misses 12B by 14 to 15%, the product by 27 to 30%: neither describes training so early. From step 3,000 on, a floor beside the sum changes little. In the figure, the size held out is hollow and its predicted curve dotted.
#
# So the floor of the finished models need not come from the text. One thing no law of these forms can describe: 70M and 160M of v1 get worse late in training.
#
# ### Models that were trained to their end
#
# A checkpoint inside a learning-rate schedule is not a finished model. The 104 models of arXiv 2403.08540 are finished: six sizes, three corpora, 5 to 640 tokens a parameter (embeddings counted), each with its own schedule. Models with fewer than 30 right answers are left out of the fits to accuracy, because their $-\log p$ is mostly noise, or infinite. Held out are the three models above a billion parameters, and each size in turn.

# %%
openlm = published.load("openlm")
out = {}
for corpus, rows in openlm.groupby("corpus"):
    for quantity in ("lambada", "ce_c4"):
        part = rows[rows["lambada"] * 5153 >= 30] if quantity == "lambada" else rows
        loss = part[quantity].to_numpy()
        loss = -np.log(loss) if quantity == "lambada" else loss
        S, T = part["S"].to_numpy(float), part["tokens"].to_numpy(float)
        ways = {"above 1B": [S > 1e9], "each size": [S == size for size in np.unique(S)]}
        name = "accuracy" if quantity == "lambada" else "CE on C4"
        out[name, f"{corpus}, n = {len(S)}"] = held_out_errors(S, T, loss, ways)
openlm_errors = pd.concat(out, names=["loss", "corpus", "held out"])
openlm_errors.round(1)

# %% [markdown]
# Size alone, at 20 tokens a parameter (one model a size):

# %%
counted = openlm[(openlm["ratio"] == 1) & (openlm["lambada"] * 5153 >= 30)].sort_values("corpus")
counted = counted.assign(group="OpenLM", series=counted["corpus"], share=counted["lambada"])
at_twenty = published.lines(counted).rename(
    columns={"series": "corpus", "above": "largest above, %"}
)
at_twenty = at_twenty.set_index("corpus").drop(columns=["group", "decades", "inside"])
at_twenty.round(3).round({"largest above, %": 1})

# %% [markdown]
# arXiv 2403.08540 predicts the CE first, and from it the top-1 error averaged over many tasks: error $= \epsilon - k\,e^{-\gamma\,\mathrm{CE}}$. Here that error law is fitted to LAMBADA alone, and it is given the *measured* CE on C4 of the models above a billion parameters. The table shows root mean square errors of the accuracy of these models. The error law is fitted to the same models as the other forms, and (second column) to all, those with fewer than 30 right answers included.


# %%
def accuracy(p, ce):
    return 1 - p[0] + np.exp(p[1] - p[2] * ce)


rows = []
for corpus, part in openlm.groupby("corpus"):
    row = {"corpus": corpus}
    counted = part[part["lambada"] * 5153 >= 30]
    for name, rows_fitted in (("error law, CE known", counted), ("the same, all models", part)):
        ce, share, S = (rows_fitted[key].to_numpy() for key in ("ce_c4", "lambada", "S"))
        small, big = S < 1e9, S > 1e9
        p = least_squares(lambda p: accuracy(p, ce[small]) - share[small], [1.0, 2.0, 1.0]).x  # noqa: B023
        row[name] = rms(accuracy(p, ce[big]) - share[big]) / 100
    big, share = counted["S"].to_numpy() > 1e9, counted["lambada"].to_numpy()
    found = leave_out(counted["S"], counted["tokens"], -np.log(share), big)
    row |= {form: rms(share[big] ** np.exp(found[form]) - share[big]) / 100 for form in FORMS}
    rows.append(row)
by_way = pd.DataFrame(rows).set_index("corpus")
by_way.round(3)

# %%
panels = {}
for corpus, rows in openlm.groupby("corpus"):
    rows = rows[rows["lambada"] * 5153 >= 30].assign(loss=lambda rows: -np.log(rows["lambada"]))
    seen = rows[rows["S"] < 1e9]
    panels[corpus] = rows, fit_joint(seen["S"], seen["tokens"], seen["loss"], "sum"), 1e9
figure = published_figures.token_panels(panels, r"$-\log$ accuracy on LAMBADA")
points = pd.concat(
    rows.assign(predicted=law.predict(rows["S"], rows["tokens"]))
    for rows, law, _ in panels.values()
)
columns = ["corpus", "model", "S", "tokens", "ratio", "lambada", "ce_c4", "predicted"]
plots.save(figure, points[columns], figures_dir, "16_openlm")

# %% [markdown]
# Across token budgets size alone fails as before, by 24 to 36%. At one ratio of tokens to size the law in $S$ is a line again, as arXiv 2512.08894 finds for log accuracy on several tasks. The finished models do not decide between product and sum: above a billion parameters the product is nearer in accuracy (6 to 10% against 10 to 15%) and the sum in CE; with each size left out in turn it is the reverse. Three large models a corpus are few.
#
# So the checkpoints of Pythia may favour the sum partly because they lie inside a schedule. Where the CE is known, the error law is nearest in all three corpora: 0.007 to 0.019 in accuracy, against 0.022 to 0.031 for the product. With the models near zero accuracy in its fit this is so in one corpus only. It was not tested here with a predicted CE; arXiv 2512.08894 finds on its models that one direct fit extrapolates better than two stages.
#
# In the figure the sizes above a billion are held out: hollow points, with dotted curves of the sum (a cross where a size has one model).
#
# ## Cross-entropy beside accuracy (may be skipped)
#
# The paper calls the exponents of CE and of $-\log\mathrm{RBP}_1$ "nearly identical", for all tokens of its corpora. Here accuracy and CE were measured on the same models, and in twelve series at the same positions: the words of LAMBADA, the residues of ESM-2. `difference` is the slope of $\log(-\log p \,/\, \mathrm{CE})$ with its 95% interval; deviations that both share cancel in it.

# %%
rows = []
for column, words in (("ce_word", "LAMBADA's words"), ("ce_token", "the Pile's tokens")):
    for series, part in table.dropna(subset=column).groupby("series", sort=False):
        if len(part) >= 3:
            of = "the residues" if (part["group"] == "masked residues").all() else words
            S, acc, ce = part["S"], -np.log(part["share"].astype(float)), part[column].astype(float)
            slopes = fit_power_law(S, acc).slope, fit_power_law(S, ce).slope
            ratio = fit_power_law(S, acc / ce)
            rows.append((series, of, len(part), *slopes, ratio.slope, *ratio.slope_interval))
columns = ["series", "CE of", "n", "acc", "CE", "difference", "low", "high"]
exponents = pd.DataFrame(rows, columns=columns)
exponents.round(3)

# %%
same = exponents[exponents["CE of"] == "LAMBADA's words"]
ratio = same["acc"] / same["CE"]
print(
    f"same words: accuracy steeper in {(same['difference'] < 0).sum()} of {len(same)} series,",
    end=" ",
)
print(f"surely in {(same['high'] < 0).sum()}; slopes' ratio {ratio.min():.2f} to {ratio.max():.2f}")
figure = published_figures.beside_ce(table)
points = table.dropna(subset="ce_word")[["series", "model", "S", "share", "ce_word"]]
plots.save(figure, points, figures_dir, "16_accuracy_and_ce")

# %% [markdown]
# On these data the two exponents differ. On the same words $-\log$ accuracy is steeper than CE in all ten series, by 5 to 30%, and at the 95% level in nine. They differ least for GPT-2 (5%), and by 11% (BLOOM) to 21% (Mamba) for the series of five models and more.
#
# At the same residues accuracy is 2.4 times as steep as CE. Against the CE of *other* text, the Pile's, the slopes differ 2.9- to 3.5-fold, which is no test of the paper's claim.
#
# All series but GPT-2's, whose text was prepared differently, lie on almost one curve, steeper than a slope of 1: in any family the same CE of these words goes with nearly the same accuracy. An error law in the loss relies on such a curve.
#
# ## Emergence: windows of 32
#
# Eq. 8 says $p_{N,k} = \exp(-N c S^{-\alpha})$: with $\mathrm{RBP}_1$ of the same eight Pythias on Wiki (the paper's points), $N = 32$. `eq8` is its $-\log p_{32,1}$, from the power law fitted to these eight $\mathrm{RBP}_1$. The share of memorised windows is the $p_{32,1}$ that was counted, and `effective` is the number of independent tokens that would give this share, $N_{\text{eff}} = \log p_{32,1} / \log \mathrm{RBP}_1$.

# %%
windows = published_windows().query("k == 1")
wiki = windows[windows["N"] == 1].set_index("S")["p"]
memorised = table[table["group"] == "memorised windows"].copy()
memorised["RBP_1 on Wiki"] = memorised["S"].map(wiki)
eight = wiki.loc[sorted(memorised["S"].unique())]
tokens_law = fit_power_law(eight.index, -np.log(eight))
memorised["eq8"] = 32 * tokens_law.predict(memorised["S"].to_numpy(float)).loss
memorised["effective"] = np.log(memorised["share"]) / np.log(memorised["RBP_1 on Wiki"])
of_paper = windows.pivot(index="S", columns="N", values="effective")[[20, 50]].loc[eight.index]
memorised["-log share / 32"] = -np.log(memorised["share"]) / 32
shown = memorised.set_index(["series", "S"])
shown[["share", "-log share / 32", "RBP_1 on Wiki", "eq8", "effective"]].round(4)

# %%
low, high = memorised["effective"].min(), memorised["effective"].max()
print(f"effective tokens of 32: {low:.1f} to {high:.1f}; ", end="")
print(f"of the paper's 20: {of_paper[20].min():.1f} to {of_paper[20].max():.1f}, ", end="")
print(f"of its 50: {of_paper[50].min():.1f} to {of_paper[50].max():.1f}")
print(f"exponents: {tokens_law.alpha:.3f} of RBP_1 on Wiki;", end=" ")
print(
    ", ".join(
        f"{-row.slope:.3f} [{-row.high:.3f}, {-row.low:.3f}]"
        for row in law[law["group"] == "memorised windows"].itertuples()
    )
)
bands = of_paper.rename(columns={20: "low", 50: "high"}).reset_index()
figure = published_figures.window_panels(memorised, bands)
points = memorised[["series", "model", "S", "share", "RBP_1 on Wiki", "eq8", "effective"]]
plots.save(figure, points, figures_dir, "16_windows")

# %% [markdown]
# $-\log p_{32,1}$ is a power of $S$ with $R^2$ of 0.999 and 0.995; arXiv 2310.03262 finds this form for success rates of tasks. But it is not the power of Eq. 8. Eq. 8 gives $-\log p$ of 28 to 17 where the counted shares give 6 to 4, so its shares are too small by five to ten orders of magnitude; and it gives an exponent of 0.077, where 0.047 and 0.053 are found.
#
# A window of 32 counts for 6 to 8 independent tokens, more for larger models. The paper's windows of 20 count for about 8, of 50 for 9 to 10: there too the tokens of a window are far from independent, and in training text, with its duplicates, they are further from it. (RBP$_1$ was measured on Wiki and the windows on the Pile, so these numbers are rough.)
#
# ## Other architectures (may be skipped)
#
# Mamba and Mamba-2 are state spaces, RWKV-4 a recurrent network; none has attention. All saw about as many tokens of the Pile as Pythia. The table has the slope of each, and the loss on its line at $S = 10^9$.

# %%
architectures = law.set_index("series").loc[beside, ["n", "slope", "low", "high"]]
for series in beside:
    part = table[table["series"] == series]
    at = fit_power_law(part["S"], -np.log(part["share"])).predict(1e9)
    architectures.loc[series, "loss at 1e9"] = at.loss
pythia = table[(table["series"] == beside[-1]) & (table["S"] > 8e7) & (table["S"] < 3e9)]
fitted = fit_power_law(pythia["S"], -np.log(pythia["share"]))
print(
    f"deduplicated Pythia from 85M to 2.5B, about Mamba's range: slope {fitted.slope:.3f}", end=" "
)
print(
    f"[{fitted.slope_interval[0]:.3f}, {fitted.slope_interval[1]:.3f}], loss at 1e9 {fitted.predict(1e9).loss:.3f}"
)
architectures.round(3)

# %%
panels = {"LAMBADA": tests[tests["series"].isin(beside)]}
figure = published_figures.law_panels(panels, r"$-\log$ accuracy", columns=1)
points = panels["LAMBADA"][["series", "model", "S", "share", "ce_word", "ce_token"]]
plots.save(figure, points, figures_dir, "16_architectures")

# %% [markdown]
# The form holds without attention, on public sizes: $R^2$ of 0.991 and 0.997, and the largest Mamba and Mamba-2 are predicted to 5%. Their exponents lie within Pythia's interval; at a billion parameters their loss is 13 to 14% lower than that of Pythia's five models of about the same sizes. How much of this is due to architecture cannot be said: Pythia here is the deduplicated suite, and Mamba saw the standard Pile, with its own context length and learning rate.
#
# ## A blind check
#
# The zero-shot accuracies of the eight *final* Pythia v1 models on the standard Pile were withheld from this study. Each is to be predicted from the other seven sizes, using no result for a model of its own size (no earlier step, no other suite, no five-shot). The method is the one with the least error on six complete suites: each size is left out in turn, and its last checkpoint is predicted from the earlier checkpoints of the other sizes.

# %%
tried = published.leave_one_size_out()
tried["squared"] = tried["error"] ** 2
by_size = tried.pivot_table(index="S", columns="method", values="squared") ** 0.5
order = tried.groupby("method")["squared"].mean().pow(0.5).sort_values()
by_size.loc["all"] = order
print(
    f"{tried.groupby(['suite', 'shots']).ngroups} suites; rms error of the accuracy, by the size left out"
)
by_size[order.index].round(3)

# %% [markdown]
# *Line* and *parabola* are fitted to one checkpoint of each other size, the last of those earlier ones; *three nearest* is a line through the three sizes nearest in $\log S$. *Product*, *sum* and *sum+floor* are fitted to all checkpoints from 100 billion tokens on. The best is *mean*, the mean in log loss of *sum* and *three nearest*, whose errors partly cancel. For the 1.4B:

# %%
size = 1_208_602_624
rows = published.checkpoints("v1")
rows = rows[rows["S"] != size]
last = rows[rows["tokens"] == rows["tokens"].max()]
near = last.iloc[np.argsort(np.abs(np.log(last["S"] / size)))[:3]]
by_line = np.polyval(np.polyfit(np.log(near["S"]), np.log(near["loss"]), 1), np.log(size))
late = rows[rows["tokens"] >= 1e11]
by_sum = np.log(
    fit_joint(late["S"], late["tokens"], late["loss"], "sum").predict(size, published.FINAL)
)
predicted = np.exp(-np.exp((by_line + by_sum) / 2))
print(
    f"three nearest {np.exp(-np.exp(by_line)):.3f}, sum {np.exp(-np.exp(by_sum)):.3f}, mean {predicted:.3f}"
)

blind = published.blind_predictions()
assert np.isclose(predicted, blind.set_index("S")["predicted"].loc[size], atol=1e-6)

# %% [markdown]
# Errors grow with the gap $g$ in $\log S$ between the two sizes on either side of the one left out (at an end, twice the distance to the only neighbour).
#
# To set the interval of a size, that size and one other are left out together, and the other is predicted; the root mean square of its error in $\log(-\log p)$ divided by its $g$ among the six sizes left, over the seven others and the six suites, is the error for each unit of gap. The half width is 1.96 times this, times the $g$ of the size itself.

# %%
written = published.load("blind")
assert np.allclose(
    written[["predicted", "low", "high"]], blind[["predicted", "low", "high"]], atol=2e-4
)
mean = tried[tried["method"] == "mean"]
figure = published_figures.blind_panels(mean, blind)
plots.save(figure, blind, figures_dir, "16_blind")
blind.round(3)

# %% [markdown]
# The 0.020 is the best of some fifty variants (`rbpkit/data/evidence/README.md`), so it is somewhat optimistic, and the 48 predictions are not independent: there are only eight sizes. 70M, 160M and 410M have the widest intervals, because their neighbours are far. The sum alone is almost as good; the error of a line in $S$ alone is twice as large.
#
# ## All of it

# %%
figure = published_figures.all_series(table)
columns = ["group", "series", "model", "S", "tokens", "share", "n", "source"]
plots.save(figure, table[columns], figures_dir, "16_all")

# %% [markdown]
# ## Does the law hold, by how much does size alone fail, what to use instead
#
# Each row has the error in percent of the loss held out, without sign: for the line in $S$ (size alone) and for a law with a smaller error (instead). The law in $S$ *holds* where size alone is within 10% in the median and 15% at worst; these margins were set with the numbers known.
#
# A floor can be tested in nine of the twelve other families, those of five models and more, where the line misses 13.3% in the median. Eq. 8 is compared with all 16 counted shares, none of which is in its fit.

# %%
law["missed"] = 100 * np.abs(1 / (1 + law["above"] / 100) - 1)
of = law.dropna(subset="missed").set_index("series")["missed"]
in_group = law.dropna(subset="missed").groupby("group")["missed"]
fixed = of[[name for name in of.index if name in set(lambada["series"]) - set(growing)]]
late = along.xs("the largest size", level="held out").filter(like="3,000", axis=0)
large = openlm_errors.xs("above 1B", level="held out")
eq8 = 100 * (memorised["eq8"] / -np.log(memorised["share"]) - 1)
nothing = pd.Series([np.nan])
verdicts = []


def say(data, n, size_alone, instead="", other=nothing):
    median, worst = size_alone.median(), size_alone.max()
    verdict = "holds" if median <= 10 and worst <= 15 else "fails"
    better = other.abs().median(), other.abs().max()
    verdicts.append((data, n, verdict, median, worst, instead, *better))


with_size = 100 * np.abs(1 / (1 + at_twenty["largest above, %"] / 100) - 1)
with_size = pd.concat([of[growing], with_size])
floors = bent["floored"].reindex(fixed.index).dropna()
accuracy_large, ce_large = large.loc["accuracy"], large.loc["CE on C4"]
windows_line = in_group.get_group("memorised windows")
say("next tokens of OpenWebText, Fairseq", 1, in_group.get_group("next token"))
say("last sub-token of LAMBADA, GPT-2", 1, in_group.get_group("last sub-token"))
say("masked residues of proteins, ESM-2", 2, in_group.get_group("masked residues"))
say("memorised windows of 32, Pythia", 2, windows_line)
say("LAMBADA, tokens grow with size (Cerebras, OpenLM)", len(with_size), with_size)
say("LAMBADA, all other families", len(fixed), fixed, "a floor under the line", floors)
say("LAMBADA along training, Pythia", len(late), late["size"], "sum", late["sum"])
say(
    "LAMBADA at any budget, OpenLM", 3, accuracy_large["size"], "product", accuracy_large["product"]
)
say("CE on C4 at any budget, OpenLM", 3, ce_large["size"], "sum", ce_large["sum"])
say("windows of 32 from RBP_1 by Eq. 8", 2, eq8, "a line of its own", windows_line)
names = [
    "data",
    "n",
    "verdict",
    "size alone, median",
    "worst",
    "instead",
    "instead, median",
    "instead, worst",
]
verdicts = pd.DataFrame(verdicts, columns=names)
if figures_dir:
    text = verdicts.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    plots.write_whole(Path(figures_dir), {"16_verdicts.csv": text.encode()})
verdicts.round(1)

# %% [markdown]
# ($n$: series, suites or corpora.) Beyond the paper's corpora, families and modality:
#
# - The law in $S$ holds for single tokens, residues and windows, and on LAMBADA where training tokens grow with size.
# - On LAMBADA it fails for the largest models of the other families, by a third at worst.
# - Across token budgets it fails as well, by a third; there both size and tokens are needed.
# - Which form of a law in both is better is open: checkpoints favour the sum, finished models neither.
# - The law of single tokens does not give the shares of whole windows.
#
# Limits: most of the evidence is one set of passages, chosen to be hard; the evaluation code differs between series, and text and training recipe between families; and with 5,153 passages the standard error of an accuracy is up to 0.7 points.
#
# ## Exercises
#
# 1. By how many percent does the loss of OPT-175B lie above the line through the eight smaller models? (In `law`.)
# 2. At how many billion training tokens does the token term of `joint` equal its size term, for $S = 10^9$?

# %%
answer_1 = None  # percent, one decimal
answer_2 = None  # billions of tokens, to 1

opt = law.set_index("series").loc["OPT", "above"]
ratio = joint.B / (joint.A * (1e9 / joint.S_unit) ** -joint.a)
balance = joint.T_unit * ratio ** (1 / joint.b) / 1e9
print(check(1, answer_1, close(opt, 0.051)))
print(check(2, answer_2, close(balance, 1.01)))
