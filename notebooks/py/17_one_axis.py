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
# # Beyond the paper: size or cross-entropy?
#
# A language model gives every *token* (a word or part of one) a probability to come next. Its *cross-entropy*, CE, is the mean of $-\log p$ in nats (natural logarithms), with $p$ the probability of the true token. $\mathrm{RBP}_k$ is the share of true tokens among the model's $k$ most probable ones. Its size $S$ counts parameters without embeddings (tables from tokens to numbers).
#
# Here are two *pocket models* (small models that we trained), measured on `pocket:prose`, descriptions inside Python programs.
#
# | | $S$ | CE | $\mathrm{RBP}_{10}$ |
# |---|---|---|---|
# | OPT | 991,616 | 3.85 | 59.8% |
# | Pythia | 84,912 | 3.87 | **?** |
#
# **Guess.** The OPT is almost twelve times as large. How large is the Pythia's $\mathrm{RBP}_{10}$: 50%, 55% or 59%?
#
# *[Glossary](../docs/glossary.md). [What this notebook draws](../notebooks/rbpkit_notebooks/notebook_17.py).*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd

from rbpkit import fit_power_law, paper
from rbpkit.check import check_parameters
from rbpkit.fit import root_mean_square
from rbpkit_notebooks import notebook_17 as draw
from rbpkit_notebooks.blind import covered, errors_by_text, judged_rows, log_errors
from rbpkit_pocket import paths

check_parameters(globals())
models = draw.read_models(records_dir, families, corpus_names)

# %% [markdown]
# ## All models in one picture
#
# We have 69 small models, all with one tokenizer:
#
# - 25 *ordinary* ones, of the four families of the paper ([Yue et al.](https://arxiv.org/abs/2510.20387))
# - five of another design, Mamba
# - 18 Pythias with fewer training tokens
# - 21 *ablations*, with one thing changed: learning rate, depth, random seed or targets (what the model is trained to predict).
#
# We call $-\log \mathrm{RBP}_k$ the *rank loss*. `models` has pairs: a model's kind, and what was measured of it on a text.

# %%
KS = (1, 5, 10, 100)
rows = []
# One row for each model on each text
for kind, model in models:
    about = model.manifest  # the names of text, family and model, and the size
    row = {"corpus": about.corpus, "kind": kind}
    row.update(family=about.family, model=about.model)
    row.update(S=about.S, CE=model.ce())
    for k in KS:
        row[f"loss_{k}"] = -np.log(model.rbp(k))
    rows.append(row)

# Your own records may have texts with too few models for a line
points = draw.with_lines(pd.DataFrame(rows))

# %% [markdown]
# For each text and $k$ we fit two lines to the 25 ordinary models: log rank loss against $\log S$, and against $\log \mathrm{CE}$. How far are all 69 models from each line?


# %%
def distances(models, x, loss):
    """log(loss / the line), for a line in log x that is fitted to the ordinary models."""
    fitted = models[models["kind"] == "ordinary"]
    line = fit_power_law(fitted[x], fitted[loss])
    # The others are judged by a line that has not seen them
    on_line = line.predict(models[x]).loss
    return np.log(models[loss] / on_line)


# %%
# Prose, if it was measured
for text, shown in draw.main_text(points):
    from_size = distances(shown, "S", "loss_10")
    from_CE = distances(shown, "CE", "loss_10")
    print(f"{text}, {len(shown)} models, k = 10")
    print(f"distance from the line in S:  {root_mean_square(from_size):.1%}")
    print(f"distance from the line in CE: {root_mean_square(from_CE):.1%}")
    draw.collapse(shown, from_size, from_CE, figures_dir)

# %% [markdown]
# *Grey lines join the two places of a ringed model. [Move the models yourself](../docs/explorables/line.html).*
#
# **The answer: 59.3%. On prose, a line in CE misses the 69 models by 1.5%, and a line in size by 21%** (root mean square).
#
# This is unfair to size, because most of the 44 others have another design or training. So we also count the ordinary models alone.

# %%
rows = {}
for text, on_text in points.groupby("corpus"):
    is_ordinary = on_text["kind"] == "ordinary"
    for k in (1, 10, 100):
        for x in ("S", "CE"):
            off = 100 * distances(on_text, x, f"loss_{k}")
            rows["all", text, k, x] = root_mean_square(off)
            rows["ordinary", text, k, x] = root_mean_square(off[is_ordinary])
if rows:  # your own records may have no line
    table = pd.Series(rows).unstack([2, 3])
    print(table.round(1).to_string())

# %% [markdown]
# *Distance from the line, in percent (root mean square).*
#
# **For the ordinary models alone, a line in size misses by 9 to 13%, and a line in CE by 1 to 2%.** For all 69 it is 14 to 28%, and 1 to 4%.
#
# ## Is it a line, and is CE special?
#
# In the right panel, the points at both ends are above the line. So we compare the line with a parabola. We also put the rank losses of $k$ = 5 and 10 in the place of CE.


# %%
def off_curve(CE, loss, degree=1):
    """Distance of models from a polynomial through them, log against log; degree 1: a line."""
    log_CE = np.log(CE)
    log_loss = np.log(loss)
    curve = np.polynomial.Polynomial.fit(log_CE, log_loss, degree)
    return root_mean_square(log_loss - curve(log_CE))


# %%
ordinary = points[points["kind"] == "ordinary"]
rows = {}
for text, on_text in ordinary.groupby("corpus"):
    # A parabola has one more number to fit than a line, so it is nearer; by how much?
    by_line = off_curve(on_text["CE"], on_text["loss_10"])
    by_parabola = off_curve(on_text["CE"], on_text["loss_10"], degree=2)
    print(f"{text}, k = 10: line {by_line:.2%}, parabola {by_parabola:.2%}")
    # An axis cannot be compared with itself, so k = 1 and 100
    for k in (1, 100):
        for axis in ("CE", "loss_5", "loss_10"):
            off = off_curve(on_text[axis], on_text[f"loss_{k}"])
            rows[f"{text}, k = {k}", axis] = 100 * off
if rows:
    table = pd.Series(rows).unstack()
    print(table.round(2).to_string())

# %% [markdown]
# *Distance of the ordinary models from a line in each of three axes, in percent.*
#
# **The curve bends a little**: on prose, a parabola brings the ordinary models from 0.92 to 0.61%. **And CE is not special.** For the rank loss of $k = 1$, a line in that of $k = 5$ does about as well. For $k = 100$, a line in that of $k = 10$ is as good or better.
#
# **Exercise 1.** On one text, $-\log \mathrm{RBP}_{10} = 0.38$ at CE = 3.2, and 0.50 at CE = 3.8. A model has CE = 3.4. Which $\mathrm{RBP}_{10}$ do you expect, to two decimals?
#
# <details><summary>Hint</summary>The line is straight in logarithms. Turn the loss into an RBP.</details>

# %%
answer_1 = None  # an RBP_10, between 0 and 1
draw.check(1, answer_1)

# %% [markdown]
# ## The paper's models
#
# Can CE predict a real model? We fit lines to nine Pythias of the paper on Wiki, and predict the rank loss of the tenth and largest, with 12 billion parameters.

# %%
# Figure 7 has p for N tokens in a row; for one token, p is RBP_k
wiki = paper.emergence().query("N == 1 and k in [1, 10, 100]")
figure_8a = paper.ce_and_rbp1().query("kind == 'empirical'")
CE = figure_8a[figure_8a["series"] == "CE"].set_index("model")["value"]
wiki = wiki.assign(loss=-np.log(wiki["p"]))
wiki = wiki.assign(CE=wiki["model"].map(CE))
wiki = wiki.sort_values("S")  # so the largest is the last
# Is its size or its CE the better guide to its ranks?
for k, pythias in wiki.groupby("k"):
    nine = pythias[:-1]
    largest = pythias.iloc[-1]
    for x in ("S", "CE"):
        line = fit_power_law(nine[x], nine["loss"])
        promised = line.predict(largest[x]).loss
        # Positive: the prediction is too high
        miss = np.log(promised / largest["loss"])
        print(f"k = {k:3}, from {x:2}: {miss:+.1%}")

# %% [markdown]
# **The rank loss of Pythia-12B, predicted from its size, is 5, 8 and 9% too low ($k$ = 1, 10, 100). From its CE it is off by 0, 0.5 and 2.5%.**
#
# The paper's families have different tokenizers, so their CEs cannot share a line. But we can compare exponents. With size, the rank loss falls as $S^{-\alpha_k}$, and CE as $S^{-\alpha_{\mathrm{CE}}}$. Let the rank loss be $c\,\mathrm{CE}^p$ on one text, with the same $p$ for all families. Then the ratio $\varepsilon_k = \alpha_k / \alpha_{\mathrm{CE}}$ is $p$:
#
# $$-\log \mathrm{RBP}_k \propto \mathrm{CE}^p \propto \big(S^{-\alpha_{\mathrm{CE}}}\big)^p, \quad\text{so}\quad \alpha_k = p\,\alpha_{\mathrm{CE}}.$$
#
# The paper's Table 1 (`paper.table1`) has both exponents. By how many percent do the four families differ in each (standard deviation)?

# %%
table1 = paper.table1()
slopes = table1.pivot(index=["dataset", "family"], columns="k", values="slope")
exponents = -slopes
# The column CE has the exponents of cross-entropy, and the others those of RBP_k
alpha_CE = exponents["CE"]
alpha_k = exponents[["1", "10", "100"]]
epsilon_k = alpha_k.div(alpha_CE, axis=0)

# %%
# Families differ by factors, so we take the standard deviation of logarithms
ratios = pd.concat({"alpha_k": alpha_k, "epsilon_k": epsilon_k}, axis=1)
percent = 100 * np.log(ratios)
percent.groupby("dataset").std().round(1)

# %% [markdown]
# **On four texts the families differ by 11 to 21% in $\alpha_k$. In $\varepsilon_k$ they differ by 3 to 9% at $k = 1$, 1 to 3% at $k = 10$ and 2 to 5% at $k = 100$.** On the two texts of code they do not agree. Our own families agree on HumanEval:

# %%
# Families with three sizes or more, as a line needs
ours = {}
for family, part in draw.families_on_humaneval(ordinary):
    of_loss = fit_power_law(part["S"], part["loss_1"])
    of_CE = fit_power_law(part["S"], part["CE"])
    ours[family] = of_loss.alpha / of_CE.alpha
epsilon_1 = {
    "published": epsilon_k.loc["HumanEval", "1"],
    "ours": pd.Series(ours, dtype=float),
}
pd.DataFrame(epsilon_1).round(2)

# %% [markdown]
# **On HumanEval $\varepsilon_1$ is 1.33 to 1.38 for our families and 0.74 to 1.02 for the paper's. So our curve is not shown to carry over to large models.**
#
# **Exercise 2.** On a text, one family has $\alpha_{\mathrm{CE}} = 0.08$ and $\alpha_{100} = 0.18$. Another has $\alpha_{\mathrm{CE}} = 0.10$. Which $\alpha_{100}$ do you expect for the other, to three decimals?
#
# <details><summary>Hint</summary>On one text both families have the same ratio.</details>

# %%
answer_2 = None  # an exponent
draw.check(2, answer_2)

# %% [markdown]
# ## A blind test
#
# Others published cross-entropies and accuracies (RBP$_k$) of models on Wikipedia in other languages, of a damaged model, and of networks that play Go. 334 of the accuracies were withheld from us. [Rule, margin and intervals](../docs/margins.md) were fixed and the predictions committed before we saw them. To predict an accuracy, the rule starts from the text's published pairs with a similar CE, and goes along a slope.

# %%
predictions = judged_rows()
judged = predictions[~predictions["excluded"]]
errors = errors_by_text(judged)
# The rival, a straight line of accuracy in CE, needs three published pairs of the text
comparable = errors[errors["line_ce"].notna()]
# Both errors are of the accuracy itself, as the margin was written
rule = root_mean_square(comparable["rule"])
rival = root_mean_square(comparable["line_ce"])
print(f"error of accuracy: rule {rule:.4f}, straight line {rival:.4f}")
inside = covered(judged)
print(f"in the 95% interval: {inside.sum()} of {len(judged)} rows, {judged['run'].nunique()} runs")
for between, part in judged.groupby("inside"):  # between the losses that were shown, or beyond
    by_rule = root_mean_square(log_errors(part))
    by_nearest = root_mean_square(log_errors(part, "nearest").dropna())
    print(f"between {between!s:5}: rule {by_rule:.3f}, nearest pair {by_nearest:.3f}")
draw.predictions_and_truth(predictions, figures_dir)

# %% [markdown]
# *Hollow: excluded beforehand, since the model is overfitted.*
#
# **By the margin the rule holds: its error is 0.62 of the straight line's, and 92% of the accuracies are in their intervals.** Accuracies of one run share errors; if we resample runs, the 92% may be 86 to 97%. Tamil's third fit is the one failure: its published accuracies are multiples of 1/70, so they were counted on 70 tokens (noticed afterwards). A part of the success is easy. Where the text has published pairs on both sides, the nearest of them misses by 4.2% of the loss, and the rule by 2.7%. Beyond them, they miss by 15.0 and 6.6%.
#
# ## Is it more than arithmetic?
#
# What changes CE, but not the ranks? A *temperature* divides all logits: it changes CE and keeps every rank. A cap on the largest probability keeps nearly all of them. `calibration` has the 25 ordinary models with such changes.

# %%
calibration = draw.changed_predictions()
on_prose = calibration[calibration["corpus"] == "pocket:prose"]
# A temperature of 1 changes nothing, so these are the models as they are
unchanged = on_prose.query("change == 'temperature' and value == 1")
loss_10 = -np.log(unchanged["RBP_10"])
line = fit_power_law(unchanged["CE"], loss_10)
# By how much each changed model is off the line of the unchanged ones
on_line = line.predict(on_prose["CE"]).loss
off = np.log(-np.log(on_prose["RBP_10"]) / on_line)
by_change = off.groupby([on_prose["change"], on_prose["value"]])
percent = 100 * by_change.agg(["mean", "std"])
print(percent.round(1).to_string())
# What a model expects of itself is the mean entropy of its predictions
surplus = np.log(unchanged["expected_CE"] / unchanged["CE"])
print(f"CE expected / CE - 1: {surplus.mean():.1%}, standard deviation {surplus.std():.1%}")

# %% [markdown]
# *Distance from the line in percent, $k = 10$: mean and standard deviation of the 25 models. unigram: token frequencies mixed in.*
#
# **At a temperature of 0.5 or 2, models with the same ranks are 47% off the line.** So the axis needs models that are about equally sure of themselves, and these are: they expect a CE 6% above the one that they get (standard deviation 0.8%).
#
# **Exercise 3, to discuss.** On the line, two models with the same CE have the same $\mathrm{RBP}_{10}$. Does this show that CE *causes* the ranks?
#
# ## What we found
#
# **On one text, the CE of one of our small models gives its rank losses at $k$ = 1, 10 and 100 to within 1 to 4%, and published accuracies that we had not seen followed such curves.** The paper's exponents agree with such an axis on four texts, and not on its two texts of code.
#
# Very short training (1.5 million tokens) moves models off the axis by 6 to 9% at $k = 100$. [Notebook 20](20_beyond_cross_entropy.ipynb) asks what else does.
#
# ## Further questions

# %% [markdown]
# <details><summary>Do shared tokens make the line?</summary>
#
# No. CE and $\mathrm{RBP}_k$ are counted on the same tokens, so we split the files of each text into random halves, five times, and take the two from different halves. The ordinary models are 9 to 27% farther from their line, and still within 1.6%.</details>

# %%
halves = pd.read_csv(paths.TABLES / "halves.csv")
# To each half, the same model's CE on the other half
both = halves.groupby(["corpus", "split", "model"])["CE"].transform("sum")
halves["CE_other"] = both - halves["CE"]
off = {}
for key, half in halves.groupby(["corpus", "split", "half"]):
    by_same_half = off_curve(half["CE"], half["loss_10"])
    by_other_half = off_curve(half["CE_other"], half["loss_10"])
    off[key] = 100 * by_same_half, 100 * by_other_half
table = pd.DataFrame(off, index=["same half", "other half"]).T
table = table.groupby(level=0).mean()  # by text
table["farther"] = table["other half"] / table["same half"] - 1
print(table.round(2))

# %% [markdown]
# <details><summary>What became of the test that was fixed beforehand?</summary>
#
# [The first margin](../docs/margins.md) asked whether $\varepsilon_k$ of ablations is within 8% of that of GPT-2 and OPT, and differs at most a third as much as $\alpha_k$. With 12 models it failed, and with seven more, as planned, it was undecided. Pythia and Qwen miss 8%, too.</details>
#
# **Related.** A shifted power law gives the loss on one text from that on another ([Brandfonbrener et al.](https://arxiv.org/abs/2411.12925)), whatever the size and architecture ([Mayilvahanan et al.](https://arxiv.org/abs/2502.12120)).
