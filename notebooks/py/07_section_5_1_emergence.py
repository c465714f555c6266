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
# # Section 5.1: do abilities emerge suddenly?
#
# A language model reads a text token by token; a token is a word or a piece of one. Before each token it ranks its vocabulary by probability. The **rank** $R$ of the token that really comes next is its place in this ranking. Call the token a **hit** if $R \le k$.
#
# Below, a small model reads a programming exercise. (It is the largest *pocket* Pythia; pocket models are small models that come with `rbpkit`.) The brackets enclose the longest run of hits at $k$ = 10.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_07.py).*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of the measured models
Ns = [1, 2, 5, 10, 20, 50, 100]  # N of the measured models
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy.stats import linregress

from rbpkit import load_corpus, load_model, measure
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_07 as draw
from rbpkit_notebooks.windows import effective_of_ten, published_windows
from rbpkit_pocket.families import model_folder

check_parameters(globals())

# %%
model = load_model(model_folder("Pythia", 7), device="cpu")
exercises = load_corpus("pocket:humaneval", documents=40)
tokens = measure(model, exercises).records.to_pandas()
# Likelier tokens, and tied ones, come before the true one (Eq. 3)
tokens["R"] = tokens.n_greater + tokens.n_equal + 1

# The misses so far: their number stays the same during a run of hits
miss = tokens.R > 10
misses = miss.groupby(tokens.document).cumsum()
length = (~miss).groupby([tokens.document, misses]).transform("sum")
first = length.where(~miss, 0).idxmax()  # where the longest run begins
run = tokens.loc[first : first + length[first] - 1]
draw.exercise(model, tokens, run)
print(f"----- {len(run)} tokens in a row with a rank of at most 10")

# %% [markdown]
# A task that needs $N$ right tokens in a row succeeds only if every one of them is a hit. One miss spoils it:

# %%
same_document = tokens[tokens.document == run.document.iloc[0]]
draw.row_of_hits(model, same_document.head(24), 10, figures_dir)

# %% [markdown]
# *Each box is a token; a dot is a space, and an arrow ends a line.* $N$ tokens in a row are a **window**. $p_{N,k}$ is the share of a text's windows that have no miss.

# %% [markdown]
# ## A smooth law, seen through a product
#
# Some abilities seem to appear suddenly: small models fail at a task, and larger ones succeed. The paper says that nothing sudden has to happen inside the model.
#
# > **The paper.** "The sequence length $N$ acts as an amplifier: larger $N$ sharpens the transition, creating the observed sudden 'knee' in performance." (Section 5.1)
# >
# > $$p_{N,k} = (\mathrm{RBP}_k)^N \approx \exp(-C \cdot N \cdot S^{-\alpha}) \tag{6, 8}$$
#
# $\mathrm{RBP}_k$ is the share of hits. If tokens are independent, their probabilities multiply (Eq. 6): with a share of hits of 0.9, ten in a row succeed with probability $0.9^{10} = 0.35$, and a hundred with 0.00003. The law of Section 4 is $-\log \mathrm{RBP}_k = C\,S^{-\alpha}$, with the number $S$ of non-embedding parameters. Together they give Eq. 8.
#
# **Guess first.** Let $k = 100$. By Eq. 8, success at one token rises from 10% to 90% while $S$ grows by some factor. For $N = 1000$ tokens in a row, too, success rises from 10% to 90%. Is the factor then a thousandth as large, a tenth as large, or the same?
#
# Figure 7 of the paper has the success of ten Pythias on Wikipedia. We fit $\alpha$ and $C$ to single tokens ($N = 1$), and solve Eq. 8 for $S$.

# %%
published = published_windows()  # 10 models, 8 values of k, 9 of N
at_100 = published[published.k == 100]


def fit_law(points):
    """alpha, C and R2 of -log p = C S^-alpha, by least squares on logarithms."""
    log_S = np.log(points.S)
    log_loss = np.log(-np.log(points.p))
    fit = linregress(log_S, log_loss)
    alpha = -fit.slope
    C = np.exp(fit.intercept)
    return alpha, C, fit.rvalue**2


# Eq. 8 gives all longer tasks from single tokens
alpha, C, R2 = fit_law(at_100[at_100.N == 1])


# %%
def size_at(p, N):
    """The S at which Eq. 8, p = exp(-N C S^-alpha), gives the success p."""
    loss = -np.log(p)
    return (N * C / loss) ** (1 / alpha)


# By which factor does S grow while success rises from 10% to 90%?
for N in (1, 1000):
    factor = size_at(0.9, N) / size_at(0.1, N)
    print(N, f"{factor:.1e}")


# %%
def success(S, N):
    """Eq. 8."""
    return np.exp(-N * C * S**-alpha)


draw.slide(at_100, success, figures_dir)

# %% [markdown]
# *Points: ten Pythias on Wikipedia, as counted. Dashed: Eq. 8, with $\alpha$ and $C$ of one token. An arrow goes from 10% to 90%. For one token 10% lies near $S$ = 20, far below any real model, so its points show only the top of the curve.*
#
# **By Eq. 8 the factor is the same for every $N$: about seven million.** Why? By Eq. 8 success depends on $N S^{-\alpha}$ alone. If $N$ grows to $N$ times one token, $S$ has to grow to $N^{1/\alpha}$ times its size to keep this product. So $N$ tokens need a model $N^{1/\alpha}$ times as large as one token does, for the same success. In $\ln S$ the whole curve moves to the right by $\ln N/\alpha$, and keeps its shape.
#
# **Exercise 1.** Windows overlap, so a long run of hits contains several windows. In one text, 40 windows of $N = 20$ tokens have no miss, and all of them lie in the same run. How many tokens long is the run?
#
# <details><summary>Hint</summary>How many windows of 20 fit into a run of 21 tokens?</details>

# %%
answer_1 = None  # tokens
draw.check(1, answer_1)

# %% [markdown]
# **Exercise 2.** At $k = 1$ the exponent is about 0.08. By how many decades of $S$ (factors of ten) does the curve move if the task grows from $N = 10$ to $N = 1000$ tokens?
#
# <details><summary>Hint</summary>The curve moves by ln N/alpha in ln S; a decade is ln 10.</details>

# %%
answer_2 = None  # decades
draw.check(2, answer_2)

# %% [markdown]
# ## Does a larger $N$ make the step sudden?
#
# For 100 tokens the points lie above the dashed curve, because tokens in a row are not independent. So from here on we fit $\alpha$ and $C$ to the counted shares of each $N$ itself.
#
# "Sharpens" can mean two things. The first is relative growth:

# %%
# The success of the largest Pythia, divided by that of the smallest
for N in (1, 10, 100):
    p = at_100[at_100.N == N].p
    gain = p.iloc[-1] / p.iloc[0]
    print(N, round(gain, 1))

# %% [markdown]
# This growth is larger for a larger $N$, as the paper says. The second meaning is a sudden step: success rises from 10% to 90% over few decades of $S$. At 10% the loss $-\log p$ is 2.30, and at 90% it is 0.105. So it has to become 21.9 times smaller. For a loss of $C S^{-\alpha}$, $S$ has to become $21.9^{1/\alpha}$ times larger. Since $\log_{10} 21.9 = 1.34$, these are $1.34/\alpha$ decades.
#
# For each $k$ and $N$ the ten models give ten points, a *series*. We fit a line to each. We leave out a series in which some model never succeeds, because zero has no logarithm. (So $k = 1$ ends at $N = 20$.)

# %%
rows = []
for (k, N), points in published.groupby(["k", "N"]):
    if points.p.min() == 0:
        continue  # zero has no logarithm
    rows.append([k, N, *fit_law(points)])
series = pd.DataFrame(rows, columns=["k", "N", "alpha", "C", "R2"])
long = series[series.N > 1]
print(f"{(long.R2 >= 0.97).sum()} of {len(long)} series with N > 1 have an R2 of at least 0.97")

# How much the loss falls while p rises from 10% to 90%
fall = np.log(0.1) / np.log(0.9)
series["decades"] = np.log10(fall) / series.alpha

# %%
sizes = published.S
spanned = np.log10(sizes.max() / sizes.min())  # decades, by the models themselves
draw.widths(series, spanned, figures_dir)

# %% [markdown]
# *The width of the step by each fitted line, for five of our eight $k$. No series goes from under 10% to over 90%, so the lines are extended beyond the counted points.*

# %%
width = series.pivot(index="k", columns="N", values="decades")
at_k_100 = width.loc[100, [1, 10]]
print("decades at k = 100, for N = 1 and 10:", at_k_100.round(1).tolist())
change = width.div(width[1], axis=0) - 1  # compared with one token
print(f"The largest decrease: {change.min().min():.0%}. For N = 10 and 100, by k:")
# A gap is a series that was left out
percent = change[[10, 100]].map("{:+.0%}".format)
percent.where(change.notna(), "")

# %% [markdown]
# **At $k$ = 100 the step takes 6.8 decades of $S$ for one token, and 6.8 for ten in a row.** For $k \le 500$ a task of ten tokens has a step that is between 3% shorter and 12% longer than that of one token. For a hundred tokens it is longer. At no $k$ does a longer task shorten the step by more than 17%.
#
# So the paper's sentence holds in part. For a longer task success grows by a larger factor, but not more suddenly.
#
# **Exercise 3.** Plot Eq. 8 against $S$ itself and not against $\ln S$. Show that its inflection (where it is steepest) lies at $p = e^{-(1+\alpha)/\alpha}$, whatever $N$ and $C$ are. (To discuss; [our proof](../docs/solutions/07_section_5_1_emergence.md).)
#
# <details><summary>Hint</summary>Write $u = N C S^{-\alpha}$. The slope in $S$ is proportional to $e^{-u}\,u^{1 + 1/\alpha}$; for which $u$ is it largest?</details>
#
# [Move N and k yourself](../docs/explorables/knee.html)
#
# ## Further questions
#
# <details><summary>What do the shares of pocket models, or of yours, look like?</summary>
#
# Like the published ones: they rise smoothly with size, and fall with $N$.
#
# </details>

# %%
measured = draw.measured(records_dir, families, corpus_names, Ns, ks)
draw.shares(published, measured, figures_dir)

# %% [markdown]
# <details><summary>How far are tokens in a row from independent?</summary>
#
# Ten tokens in a row succeed as often as 5.1 to 9.0 independent tokens would. This *effective number of tokens* is $m = \log p_{N,k} / \log \mathrm{RBP}_k$.
#
# </details>

# %%
# As many independent tokens would succeed as often as ten in a row
ten = effective_of_ten()  # ten Pythias and four GPT-2 models on Wikipedia
print(f"effective tokens of ten: {ten.min():.1f} to {ten.max():.1f}")

# %% [markdown]
# ## The paper says, we get
#
# "larger N sharpens the transition" holds in part. For a larger $N$ success grows by a larger factor. But the step is shorter for every longer task only at $k = 10{,}000$, the largest. "The fitted power-law curves align closely with empirical data" holds in part: 47 of 51 series have an $R^2$ of at least 0.97.

# %%
draw.claims(published, series, ten, measured, fit_law, records_dir, figures_dir)

# %% [markdown]
# **What this cannot show.** We give no confidence intervals, because windows of one document are not independent. The paper does not publish which windows share a document. The pocket models span two decades of $S$, far less than a step needs. Whether a useful task needs $N$ right tokens in a row is another question.
#
# **Related work.** [Schaeffer et al.](https://arxiv.org/abs/2304.15004) argue that sudden steps come from all-or-nothing metrics such as exact match; Eq. 8 is that argument in terms of ranks.
