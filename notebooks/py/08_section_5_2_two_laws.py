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
# # Section 5.2: one curve for two laws
#
# Next to a curve in the paper's Figure 8c are two numbers: $\mu=-14.29$ and $\sigma=5.76$. The curve says how often each *rank* occurs when the model Pythia-12B reads Wikipedia. The rank $R$ of a token (a piece of text) is its place if the model sorts all tokens, the most probable first.
#
# The curve is a *lognormal*: the natural logarithm $\ln R$ follows the bell of a normal distribution with mean $\mu$ and standard deviation $\sigma$. Half of a bell is below its middle, so by this curve half of all ranks are below $e^{-14.29}=0.0000006$. But ranks are 1, 2, 3 and so on.
#
# **Guess first.** The curve was fitted to tokens of rank 2 and more (checked below). Which part of its area lies there: a half, a tenth, one in thirty, or one in two hundred?
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
from scipy.stats import norm

from rbpkit import fit_power_law, paper
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_08 as draw
from rbpkit_notebooks import other_laws, rank_laws

check_parameters(globals())

# %% [markdown]
# Ranks are whole numbers. So rank $k$ gets the area between $k-\tfrac12$ and $k+\tfrac12$, as in the authors' program.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_08.py).*


# %%
def at_least(k, mu, sigma):
    """The share of the curve's area above k - 1/2, which is that of the ranks k, k + 1, ..."""
    distance = (np.log(k - 0.5) - mu) / sigma  # from the middle, in standard deviations
    return norm.sf(distance)  # the bell's area to the right of it


printed = paper.lognormal_params().set_index("model")  # as written in Figure 8c
mu, sigma = printed.loc["pythia-12b", ["mu", "sigma"]]
at_any_rank = at_least(1, mu, sigma)
at_fitted_ranks = at_least(2, mu, sigma)
parts = (1 - at_any_rank, at_any_rank - at_fitted_ranks, at_fitted_ranks)
draw.bell(mu, sigma, parts, figures_dir)

# %%
print(f"the middle of the curve: rank {np.exp(mu):.7f}")  # the logarithm undone
for name, share in zip(
    ("below every rank", "at rank 1", "at ranks of 2 and more"), parts, strict=True
):
    print(f"{name}: {share:.1%}")

# %% [markdown]
# **Half of the curve lies below a rank of 0.0000006, and only 0.5% of it at the ranks to which it was fitted.**
#
# **Exercise 1.** For Pythia-14M the paper prints $\mu=1.19$ and $\sigma=3.69$. Which share of that curve lies at ranks of 2 and more?
#
# <details><summary>Hint</summary>Use <code>at_least</code>.</details>

# %%
answer_1 = None  # a share, two decimals
draw.check(1, answer_1)

# %% [markdown]
# ## What the curve is for
#
# > **The paper.** "when k = 1, the decay exponents of cross-entropy (absolute-based) and $-\log p_1$ (relative-based) are nearly identical". To explain this, "our hypothesis is that the rank distribution follows a lognormal distribution" (Section 5.2, Eq. 9).
#
# Cross-entropy (CE) is the mean of $-\log p$ in nats (natural logarithms), where $p$ is the probability that a model gives the true token. It is *absolute-based*: it uses $p$ itself. $\mathrm{RBP}_k$, the share of tokens of rank $k$ or less, is *relative-based*: it uses only the order of the tokens. The paper's $p_1$ is $\mathrm{RBP}_1$.
#
# Let $S$ be the number of parameters without embeddings. CE and $-\log\mathrm{RBP}_1$ are two losses. Both fall as $S^{-\alpha}$: on logarithmic axes, a line with slope $-\alpha$. Here are the exponents of ten Pythias on Wikipedia (Wiki):

# %%
laws = rank_laws.published_laws()  # the points of Figures 8a and 8b, a row for each model
size = laws["S"]
rank_loss = laws["neg_log_rbp1"]  # -log RBP_1
law_of_CE = fit_power_law(size, laws["CE"])
law_of_rank = fit_power_law(size, rank_loss)
print(f"alpha of CE: {law_of_CE.alpha:.4f}")
print(f"alpha of -log RBP_1: {law_of_rank.alpha:.4f}")

# The ratio of two powers of S is a power, too. Its exponent is the difference of theirs.
law_of_ratio = fit_power_law(size, laws["CE"] / rank_loss)
low, high = law_of_ratio.alpha_interval  # of 95%
print(f"difference of the two: {law_of_ratio.alpha:.4f}, between {low:.4f} and {high:.4f}")

# %% [markdown]
# The exponents are close but not equal: the 95% interval of their difference, 0.006 to 0.008, leaves out zero.
#
# Why are they so close? The paper assumes that one curve gives the share $p_k$ of tokens of each rank $k$. Then $\mu$ and $\sigma$ decide $-\log p_1$. They also decide the entropy of the rank, $-\sum_k p_k\log p_k$, which the paper puts in place of CE. (CE and this entropy are equal if in every context the model gives its $k$-th most probable token the probability $p_k$.)
#
# **Exercise 2.** If $S$ grows a thousandfold, by which factor does $\mathrm{CE}/(-\log\mathrm{RBP}_1)$ change?
#
# <details><summary>Hint</summary>It is a power of S, too.</details>

# %%
answer_2 = None  # a factor, two decimals
draw.check(2, answer_2)

# %% [markdown]
# ## From ranks to a curve
#
# Figure 8c of the paper shows how often each rank occurs. Its bars begin at rank 2. A bar has ranks `bin_lo` to `bin_hi` - 1, and `mass` is its share:

# %%
paper.rank_density().head(3)

# %% [markdown]
# Is rank 1 left out, or only not drawn? If it is left out, the bar of rank 2 is a share of the other tokens only. Figure 9 of the paper's ICLR version has $\mathrm{RBP}_1$ and $\mathrm{RBP}_2$ for three models:

# %%
on_wiki = paper.rbp_by_k().query("dataset == 'Wiki'")
RBP = on_wiki.query("k in [1, 2]")
RBP = RBP.pivot(index="model", columns="k", values="rbp")
rank_2 = RBP[2] - RBP[1]
other_than_1 = 1 - RBP[1]
expected = rank_2 / other_than_1

bars = paper.rank_density().query("bin_lo == 2").set_index("model")
table = pd.DataFrame({"bar of rank 2": bars["mass"], "if rank 1 is left out": expected})
table.dropna().round(4)  # without the models that only one of the two figures has

# %% [markdown]
# They agree, so rank 1 is left out of the figure. Is it left out of the fit, too? Suppose that it is. Then by the curve a bar's share is the area over its ranks, divided by the whole area from rank 2 on. The best curve has the highest `score`:


# %%
def score(bins, mu, sigma):
    """The mean log probability of a token in these bars, by the curve from rank 2 on."""
    from_first = at_least(bins["bin_lo"], mu, sigma)
    beyond_last = at_least(bins["bin_hi"], mu, sigma)
    probability = (from_first - beyond_last) / at_least(2, mu, sigma)
    return (bins["mass"] * np.log(probability)).sum()


largest = paper.rank_density().query("model == 'pythia-12b'")
print(f"12B, as printed: {score(largest, -14.29, 5.76):.4f}")
print(f"12B, with a sigma of 5.5: {score(largest, -14.29, 5.5):.4f}")

# %% [markdown]
# `fit_lognormal` searches for that curve:

# %%
refits = {}
for model, bins in paper.rank_density().groupby("model"):
    fit = rank_laws.fit_lognormal(bins["bin_lo"], bins["mass"], upto=bins["bin_hi"], k_min=2)
    refits[model] = {"mu, refitted": fit.mu, "sigma, refitted": fit.sigma}
refits = pd.DataFrame(refits).T  # a row for each model
printed[["mu", "sigma"]].join(refits).round(2)

# %% [markdown]
# They differ from the printed ones by at most 0.03. **So rank 1 is neither in the figure nor in the fit.** The curve was fitted only to tokens at which the model's first guess is wrong. It is then used to say how often the first guess is right. Continue it to rank 1:

# %%
RBP_1 = np.exp(-laws.set_index("model")["neg_log_rbp1"])
drawn = {}
for model, (mu, sigma) in printed[["mu", "sigma"]].iterrows():
    bins = draw.with_rank_1(model, RBP_1[model])
    from_first = at_least(bins["bin_lo"], mu, sigma)
    beyond_last = at_least(bins["bin_hi"], mu, sigma)
    inside = from_first - beyond_last
    share_of_others = bins["share"][1:].sum()  # the curve is scaled to these
    bins["fitted"] = share_of_others * inside / at_least(2, mu, sigma)
    drawn[model] = bins
draw.curve_and_bars(drawn, figures_dir)

# %%
last = drawn["pythia-12b"].iloc[-1]
print(f"12B, last bin: the curve is {last['fitted'] / last['share']:.0f} times as high as the bar")
rank_1 = pd.concat(drawn).xs(0, level=1)
of_100 = 100 * rank_1[["share", "fitted"]]  # tokens of rank 1 among 100, and by the curve
of_100.round(0).astype(int)

# %% [markdown]
# *In the figure, the line is the printed lognormal, scaled so that its area from rank 2 on is that of the bars.*
#
# **Of 100 tokens that Pythia-12B reads, 58 have rank 1. The curve through the other 42, continued to rank 1, leaves room for 30.** From rank 2 on it follows the bars roughly, but in the last bin it is 8 times too high.
#
# **Exercise 3 (to discuss).** Keep rank 1 in the fit. `rank_laws.lognormals(study.summaries, k_min=1)[0]` has a row for each of our small *pocket models* and each text (`study` is made in the next cells). Compare `fitted_neg_log_p1` with `neg_log_rbp1`, and `fitted_entropy` with `entropy`. What is gained at rank 1, and what is lost? ([Our answer](../docs/solutions/08_section_5_2_two_laws.md).)
#
# <details><summary>Hint</summary>Do the same with k_min=2.</details>
#
# ## From the curve back to the laws
#
# Does a curve that is wrong at rank 1 give both laws? From $\mu$ and $\sigma$, the paper's Appendix C computes $-\log p_1$ and the entropy of the ranks, the *simulated* losses of Figure 8b.

# %%
exponents = {}
for name in ("CE", "neg_log_rbp1", "simulated_CE", "simulated_neg_log_rbp1"):
    exponents[name] = fit_power_law(size, laws[name]).alpha
print(pd.Series(exponents).round(3).to_string())

too_high = laws["simulated_CE"] - laws["CE"]
too_large = laws["simulated_neg_log_rbp1"] / rank_loss
print(f"CE, simulated minus measured: {too_high.min():.2f} to {too_high.max():.2f} nats")
print(f"-log p_1, simulated divided by measured: {too_large.min():.2f} to {too_large.max():.2f}")

# %%
study = draw.read_study(records_dir, families, corpus_names)
fits, refused = rank_laws.lognormals(study.shown(), k_min=2)  # as the authors
for reason in refused:
    print(f"No lognormal for {reason}.")
draw.laws(laws, fits, figures_dir)

# %% [markdown]
# The simulated losses are power laws too ("similar scaling patterns"). But $-\log p_1$ is too high by a factor of 1.7, and CE by 1.2 nats. A constant factor does not change an exponent: $-\log p_1$ has 0.080 in place of 0.079. An added constant makes it smaller: CE has 0.061 in place of 0.087. So by the curve CE falls more slowly than $-\log p_1$. As measured, it falls faster.
#
# The lognormal roughly describes the ranks of wrong guesses. It is worst in the far tail. It does not explain why CE and $\mathrm{RBP}_1$ fall almost alike.
#
# ## Further questions
#
# <details><summary>Are the exponents near each other on other texts?</summary>
#
# Of Table 1's 24 pairs, 13 are within 10%. $-\log\mathrm{RBP}_1$ is steeper in all 4 pairs of HotpotQA, CE in 17 of the other 20. (For pocket models see [notebook 09](09_appendix_B_table1.ipynb).)
#
# </details>

# %%
slopes = paper.table1().set_index(["k", "dataset", "family"])["slope"]
(slopes["1"] / slopes["CE"]).unstack().round(2)  # alpha_1 / alpha_CE

# %% [markdown]
# <details><summary>Does CE decide RBP_1?</summary>
#
# Not in principle: if each true token gets $e^{-2}=0.135$ and every other token less, CE is 2, but $\mathrm{RBP}_1$ is 1. Within one text, nearly: a parabola in $\log\mathrm{CE}$ gives $-\log\mathrm{RBP}_1$ of the Pythias to 0.6%.
#
# </details>

# %%
off_CE = rank_laws.off_parabola(laws["CE"], laws["neg_log_rbp1"])
print(f"largest distance from the parabola: {off_CE:.1%}")

# %% [markdown]
# <details><summary>Would another law do as well?</summary>
#
# A Weibull scores higher on all four models, by at most 0.006 nats per token. A log-logistic scores lower. So Figure 8c singles out no law.
#
# </details>

# %%
scores = other_laws.scores_of_laws()  # the mean log probability of a token, nats
(scores - scores.loc["lognormal"]).T.round(4)

# %% [markdown]
# ## The paper says, we get
#
# "Nearly identical" holds in part: 13 of 24 pairs of exponents in Table 1 are within 10%. The lognormal "hypothesis" holds in part. From rank 2 on it is roughly right, but a Weibull distribution fits as well. Rank 1 is not in the fit.

# %%
draw.claims(laws, scores, fits, study.summaries, records_dir, figures_dir)

# %% [markdown]
# **What this cannot show.** We do not know why rank 1 was left out.
#
# **Related work.** Clauset et al. ([2009](https://arxiv.org/abs/0706.1062)) compare long-tailed laws. `powerlaw` ([Alstott et al. 2014](https://arxiv.org/abs/1305.0215)) is a Python program for this.
