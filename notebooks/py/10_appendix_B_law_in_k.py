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
# # Appendix B: the law in $k$
#
# A contest on Wikipedia: two models guess each next token (a word or a piece of one). The large model is Pythia-12B, and it has one guess. The small model is Pythia-14M, and it may name several tokens, its most probable ones. It is right 33 times in 100 with one guess, 42 times with two, and 52 times with five. The large model has 9,500 times as many parameters, not counting embeddings.
#
# **Guess first.** How many guesses does the small model need to be right as often as the large one: about 10, 100, or 1,000?
#
# *[Glossary](../docs/glossary.md)*

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
from rbpkit_notebooks import notebook_10 as draw
from rbpkit_notebooks.rank_laws import like_a_lognormal

check_parameters(globals())

# %% [markdown]
# $\mathrm{RBP}_k$ is the share of tokens that $k$ guesses get right: the true token is among the model's $k$ most probable ones. Figure 9 of the paper's ICLR version shows it for eleven $k$ and sixteen models on four texts. Our loss is $-\log\mathrm{RBP}_k$ (natural logarithm). The size $S$ is the number of parameters without embeddings.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_10.py).*

# %%
published = paper.rbp_by_k()
published = published.rename(columns={"dataset": "corpus"})
published["loss"] = -np.log(published["rbp"])

published[["corpus", "family", "model", "S", "k", "rbp", "loss"]].head(3)

# %%
# The figure has k = 1, 2, 3, 5, 7 and 10
on_wiki = published.query("corpus == 'Wiki' and k <= 10")
on_wiki = on_wiki.pivot(index="k", columns="model", values="rbp")
steps = on_wiki["pythia-14m"]
goal = on_wiki.loc[1, "pythia-12b"]
print(f"Pythia-14M with ten guesses: {steps.loc[10]:.3f}; Pythia-12B with one: {goal:.3f}")
draw.stairs(steps, goal, figures_dir)

# %% [markdown]
# *$\mathrm{RBP}_k$ on Wikipedia (Wiki), for the $k$ of the paper's figure.*
#
# The small model needs about ten guesses. More exactly: join its points by straight lines on logarithmic axes. Read off where these lines reach the large model's loss:


# %%
def guesses_needed(small, loss):
    """The k at which a model, with a row for each k, has this loss."""
    small = small.sort_values("k")
    log_k = np.log(small["k"])
    height = -np.log(small["loss"])  # rises with k, as np.interp wants
    goal = -np.log(loss)
    needed = np.interp(goal, height, log_k, right=np.nan)  # unknown beyond k = 100
    return np.exp(needed)


for corpus in published["corpus"].unique():
    pythia = published.query("corpus == @corpus and family == 'Pythia'")
    small = pythia.query("model == 'pythia-14m'")
    large = pythia.query("model == 'pythia-12b' and k == 1")
    needed = guesses_needed(small, large["loss"].item())
    print(f"{corpus}: {needed:.1f} guesses")

# %% [markdown]
# **With 7 to 12 guesses, depending on the text, Pythia-14M is right as often as Pythia-12B with one guess.**
#
# ## A line for each model
#
# > **The paper.** "The fits are highly accurate (all $R^2 \geq 0.99$)", and "the slopes with respect to $k$ are considerably steeper than those with respect to model size $S$" (Appendix B of the ICLR version, $k$ from 1 to 100). Small steps $\Delta k$ and $\Delta S$ together leave the loss unchanged if
# >
# > $$\frac{\Delta S}{S} \approx -\frac{\alpha_k}{\alpha_S}\,\frac{\Delta k}{k}$$
#
# So more guesses can replace size. Here $\alpha_S$ is the exponent in $S$, our $\alpha$, and $\alpha_k$ is the exponent in $k$, our $\beta$. (In Section 4.2 the paper writes $\alpha_k$ for the exponent in $S$.) The loss of one model goes as $k^{-\beta}$. On logarithmic axes such a law is a line with slope $-\beta$. $R^2$ is 1 if all points lie on it. Fit a line to each model:


# %%
def line_in_k(points):
    """The line of log loss on log k through one model's points."""
    line = fit_power_law(points["k"], points["loss"])  # alpha is minus the slope
    values = [line.alpha, line.intercept, line.r2]  # the intercept: log of the loss at k = 1
    return pd.Series(values, index=["beta", "log_c", "R2"])


def lines_of(points):
    """The line of each model on each text."""
    of_model = points.groupby(["corpus", "family", "model", "S"], sort=False)
    return of_model[["k", "loss"]].apply(line_in_k).reset_index()


lines = lines_of(published)
lines.query("corpus == 'Wiki' and family == 'Pythia'").round(3)

# %%
# The paper prints the lines of more models than it shows points of
printed = paper.table_k_law().rename(columns={"dataset": "corpus"})
both = printed.merge(lines, on=["corpus", "family", "model"])
off = (both["slope"] + both["beta"]).abs()  # the paper prints slopes, which are minus beta
print(f"The paper prints {len(printed)} lines, and the points of {len(both)} of them.")
print(f"Our slopes differ by at most {off.max():.4f}. Printed R2: at least {printed['r2'].min()}.")

# %%
pythia = published.query("corpus == 'Wiki' and family == 'Pythia'")
draw.fan(pythia, lines, goal, figures_dir)

# %% [markdown]
# *Four Pythias on Wiki (green: the two of the contest). The arrow joins equal losses: one guess of the large model, and ten of the small one.*
#
# **Exercise 1.** If the largest OPT, `opt-6.7b`, has one guess on Wiki, `guesses_needed` gives 1.9 for the smallest, `opt-125m`. Now let the largest have ten guesses. How many does the smallest need? Why is that more than ten times as many as before?
#
# <details><summary>Hint</summary>Give <code>guesses_needed</code> the largest model's loss at k = 10. Which of the two lines is steeper? Parallel lines would give 19.</details>

# %%
answer_1 = None  # a whole number
draw.check(1, answer_1)

# %% [markdown]
# ## What is a guess worth?
#
# Why does the paper's formula hold, and for which $k$? Let $L$ be the loss, $\kappa = \log k$ and $s = \log(S/S_0)$. Here $S_0$ is a typical size of the family, the geometric mean of its sizes.
#
# 1. A law with two fixed exponents is $\log L = a - \alpha s - \beta \kappa$. To let each exponent change with the other quantity, add a product: $\log L = a - \alpha s - \beta \kappa - \gamma s \kappa$. *Why:* Section 4.4 finds that the exponent in $S$ grows with $k$, and the lines above fan out.
# 2. The exponent in $S$ is $\alpha + \gamma\kappa$. *Why:* it is minus the derivative in $s$.
# 3. The exponent in $k$ is $\beta + \gamma s$. *Why:* it is minus the derivative in $\kappa$.
# 4. If small changes $ds$ and $d\kappa$ leave the loss unchanged, then $(\alpha + \gamma\kappa)\,ds + (\beta + \gamma s)\,d\kappa = 0$. *Why:* the left side is the fall of $\log L$.
# 5. So $\dfrac{ds}{d\kappa} = -\dfrac{\beta + \gamma s}{\alpha + \gamma\kappa}$. This is the paper's formula. *Why:* $ds = \Delta S/S$ and $d\kappa = \Delta k/k$ for small steps, and the fraction is the exponent in $k$ over that in $S$.
# 6. For a model of size $S_0$, doubling $k$ is worth a model $2^{\beta/(\alpha + \gamma\kappa)}$ times as large, exactly. *Why:* at $s = 0$ doubling lowers $\log L$ by $\beta\log 2$, and a larger model with the old $k$ lowers it by $(\alpha + \gamma\kappa)\,s$. These are equal if $s = \beta\log 2/(\alpha + \gamma\kappa)$, and $S/S_0 = e^s$.
#
# So doubling $k$ is worth the same for all $k$ only if $\gamma$ is 0. We fit the law of step 1 by least squares to each family on each text:


# %%
def exponents(points):
    """alpha, beta and gamma of step 1, by least squares."""
    log_S = np.log(points["S"])
    s = log_S - log_S.mean()  # so S_0 is the geometric mean of the sizes
    kappa = np.log(points["k"])
    constant = np.ones(len(s))
    design = np.column_stack([constant, s, kappa, s * kappa])
    log_L = np.log(points["loss"])
    # The unknowns of step 1: a, -alpha, -beta and -gamma
    solution = np.linalg.lstsq(design, log_L)[0]
    names = ["alpha", "beta", "gamma"]  # the terms of step 1 have minus signs
    return pd.Series(-solution[1:], names)


def add_worth(rates):
    """Step 6 for k = 1, 10 and 50: a model how many times as large is as good as doubling k?"""
    for k in (1, 10, 50):
        alpha_here = rates["alpha"] + rates["gamma"] * np.log(k)
        rates[f"at k = {k}"] = 2 ** (rates["beta"] / alpha_here)
    return rates


def rates_of(points):
    """Exponents and worth of each family on each text."""
    of_family = points.groupby(["corpus", "family"], sort=False)
    return add_worth(of_family[["S", "k", "loss"]].apply(exponents))


rates = rates_of(published)
rates.loc["Wiki"].round(3)

# %% [markdown]
# How many times $S_0$ is each family's largest model?


# %%
def reach(points):
    """S_0, and how many times as large the largest model is."""
    S = points["S"].unique()
    S_0 = np.exp(np.log(S).mean())
    return pd.Series([S_0 / 1e6, S.max() / S_0], ["S_0, millions", "largest / S_0"])


of_family = published.groupby(["corpus", "family"], sort=False)
reaches = of_family[["S"]].apply(reach)
reaches.loc["Wiki"].round(1)

# %%
worth = [f"at k = {k}" for k in (1, 10, 50)]
# Beyond the largest model the law is not tested
is_beyond = rates[worth].gt(reaches["largest / S_0"], axis=0)
others = is_beyond.drop("Pythia", level="family")
print("beyond the largest model, of 12:", others.sum().to_dict())
of_pythia = is_beyond.xs("Pythia", level="family")
print("Pythia's values beyond it:", of_pythia.sum().sum())
pythia_worth = rates[worth].xs("Pythia", level="family").median()
print("doubling k is worth, Pythia's median:", pythia_worth.round(1).to_dict())
gamma = rates["gamma"]
print("smallest gamma:", gamma.idxmin(), gamma.min().round(4))

# %%
saved = rates.join(reaches).reset_index()
draw.worth(rates, pythia_worth, saved, figures_dir)

# %% [markdown]
# *How many times as large must a model of size $S_0$ become to gain what doubling $k$ gains? Green: Pythia on four texts (thick: median). Grey: the others.*
#
# The worth falls as $k$ grows, because $\gamma$ is positive in every family on every text (for GPT-2 on HumanEval only just: 0.0003). **On Wiki, to a Pythia of 174 million parameters ($S_0$), a second guess is worth about 53 times the size. Going from 50 to 100 guesses is worth about 6 times the size.** (The medians of four texts are 34 and 7.)
#
# Pythia's values are within the data. Most others are not. The other three families have twelve values at each $k$. All twelve at $k=1$, and nine at $k=50$, ask for a model that is larger than the family's largest.
#
# **Exercise 2 (to discuss).** Section 4.4 finds that the exponent in $S$ grows with $k$. Figure 9 shows that the exponent in $k$ grows with $S$. Why is neither possible without the other? ([Our answer](../docs/solutions/10_appendix_B_law_in_k.md).)
#
# <details><summary>Hint</summary>Which letter do steps 2 and 3 share?</details>
#
# ## Where it ends
#
# The vocabulary has $V$ tokens. At $k = V$ every token is among the $k$ most probable, so the loss is 0. But no power of $k$ is zero, so the line must fail before $V$. Larger $k$ are in the paper's Figure 7, which is about emergence ([notebook 07](07_section_5_1_emergence.ipynb)). `paper.emergence()` reads it, for Pythia on Wiki and $k$ up to 10,000. Its column `p` is $\mathrm{RBP}_k$ if $N=1$. We fit each line to $k \leq 100$, and divide the counted loss by the loss on the line:


# %%
def over_line(points):
    """One model's loss over that of its line, which is fitted to k up to 100."""
    line = line_in_k(points[points["k"] <= 100])
    # The line goes on beyond the points that it was fitted to
    log_k = np.log(points["k"])
    on_line = line["log_c"] - line["beta"] * log_k
    ratio = points["loss"] / np.exp(on_line)
    return points.assign(ratio=ratio)


# One token in a row is a token, so p is RBP_k
counted = paper.emergence().query("N == 1")
counted = counted.assign(loss=-np.log(counted["p"]))
of_each = counted.groupby("model", group_keys=False)
ratios = of_each[["k", "loss"]].apply(over_line)
ratios.groupby("k")["ratio"].median().round(2)

# %% [markdown]
# The same for what was measured:

# %%
study = draw.read_study(records_dir, families, corpus_names)
found = draw.with_lines(study)
beyond = draw.far_points(counted, found, study.ours)
# Each model has a line on each text
each = beyond.groupby(["source", "corpus", "model"], sort=False, group_keys=False)
beyond["ratio"] = each[["k", "loss"]].apply(over_line)["ratio"]
of_text = beyond.groupby(["source", "corpus", "V", "k"], sort=False)
far = of_text["ratio"].median()  # over models
draw.beyond(far.reset_index(), study.ours, figures_dir)

# %% [markdown]
# *Median over models. Green: the paper's Pythias. Grey: pocket models (small models that we trained), one line for each of three texts.*
#
# **At $k=2{,}500$ the published Pythias have about a third of the loss that their lines promise.** The law describes $k$ from 1 to 100 and then ends.
#
# **Exercise 3.** Fit Pythia-12B on Wiki again with $k \leq 10$ only. What is $\beta$?
#
# <details><summary>Hint</summary>Choose the rows with <code>query</code>, and give them to <code>line_in_k</code>.</details>

# %%
answer_3 = None  # three decimals
draw.check(3, answer_3)

# %% [markdown]
# ## Further questions
#
# <details><summary>Do pocket models, or yours, have steeper lines if they are larger?</summary>
#
# Pocket models do, as the paper's models on Wikipedia.
#
# </details>

# %%
measured = draw.measured_points(found, published["k"].unique())
draw.slopes(lines, lines_of(measured), study.ours, figures_dir)

# %% [markdown]
# <details><summary>Does an R2 of 0.99 prove that it is a line?</summary>
#
# No: every smooth curve is close to some line. Lognormals fitted to the models' points are no power laws, but their lines have an $R^2$ of at least 0.986.
#
# </details>

# %%
lowest_R2 = lines_of(like_a_lognormal(published))["R2"].min()
print(f"R2 of lognormals like the published points: at least {lowest_R2:.3f}")

# %% [markdown]
# ## The paper says, we get
#
# "The fits are highly accurate (all $R^2 \geq 0.99$)" holds: all are at least 0.993. The slopes in $k$ are also steeper than those in $S$: each is 1.5 to 4.1 times the steepest slope in $S$ (at $k=1$, 10 or 100) of the same family on the same text.

# %%
own = (measured, lines_of, rates_of, records_dir)
draw.claims(printed, pythia_worth, lowest_R2, *own, figures_dir)

# %% [markdown]
# **What this cannot show.** $k=100$ is 2% of the pocket models' vocabulary of 4,096 tokens, and 0.2% of Pythia's 50,304. The eleven $k$ of one model are counted on the same tokens, so the usual interval of a fitted slope does not say how $\beta$ would differ on other tokens. We print no intervals.
#
# **Related work.** For whole answers, too, success grows regularly with the number of attempts ([Brown et al. 2024](https://arxiv.org/abs/2407.21787)). [Schaeffer et al. (2025)](https://arxiv.org/abs/2502.17578) explain it by a few tasks that are very hard.
