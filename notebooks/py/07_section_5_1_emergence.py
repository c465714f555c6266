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
# Here a small model (the largest *pocket* Pythia; pocket models come with `rbpkit`) reads a programming exercise. The brackets hold its longest run of hits at $k$ = 10.

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

from rbpkit import load_corpus, load_model, measure, paper
from rbpkit.study.params import check_parameters
from rbpkit_pocket.companions import notebook_07 as draw
from rbpkit_pocket.families import model_folder
from rbpkit_pocket.findings.windows import MIN_RUNS, measured_windows, published_windows

check_parameters(globals())

# %%
model = load_model(model_folder("Pythia", 7), device="cpu")
exercises = load_corpus("pocket:humaneval", documents=40)
tokens = measure(model, exercises).records.to_pandas()
# Likelier tokens, and tied ones, come before the true one (Eq. 3)
tokens["R"] = tokens.n_greater + tokens.n_equal + 1


def longest_run(k):
    """The rows of the longest run of hits inside one document."""
    miss = tokens.R > k
    # The misses so far: their number stays the same during a run of hits
    run = miss.groupby(tokens.document).cumsum()
    length = (~miss).groupby([tokens.document, run]).transform("sum")
    first = length.where(~miss, 0).idxmax()
    return tokens.loc[first : first + length[first] - 1]


run = longest_run(k=10)
draw.exercise(model, tokens, run)
print(f"----- {len(run)} tokens in a row with a rank of at most 10")

# %% [markdown]
# A task that needs $N$ right tokens in a row succeeds only if every one of them is a hit. One miss spoils it:

# %%
same_document = tokens[tokens.document == run.document.iloc[0]]
draw.row_of_hits(model, same_document.head(24), 10, figures_dir)

# %% [markdown]
# *Each box is a token; a dot is a space, and an arrow ends a line. A stretch of $N$ tokens is a window; $p_{N,k}$ is the share of a text's windows that have no miss.*

# %% [markdown]
# ## A smooth law, seen through a product
#
# Some abilities seem to appear all at once: from some size on, models succeed. The paper says that nothing sudden has to happen inside the model.
#
# > **The paper.** "The sequence length $N$ acts as an amplifier: larger $N$ sharpens the transition, creating the observed sudden 'knee' in performance." (Section 5.1)
# >
# > $$p_{N,k} = (\mathrm{RBP}_k)^N \approx \exp(-C \cdot N \cdot S^{-\alpha}) \tag{6, 8}$$
#
# $\mathrm{RBP}_k$ is the share of hits. If tokens are independent, their probabilities multiply (Eq. 6): with a share of hits of 0.9, ten in a row succeed with probability $0.9^{10} = 0.35$, and a hundred with 0.00003. The law of Section 4 is $-\log \mathrm{RBP}_k = C\,S^{-\alpha}$, with the number $S$ of non-embedding parameters. Together they give Eq. 8.
#
# **Guess first.** For one token ($N = 1$, $k = 100$) success rises from 10% to 90% while $S$ grows by some factor. For $N = 1000$ tokens in a row, is this factor a thousandth of that, a tenth, or the same?
#
# We fit $\alpha$ and $C$ to single tokens (Figure 7 of the paper: ten Pythias on Wiki) and solve Eq. 8 for $S$.

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
# *Share of windows in which every token is in the top 100. Points: ten Pythias on Wikipedia, as counted. Dashed: Eq. 8 from the points of one token alone. The curve of one token would reach 10% only near $S$ = 20, far below any real model, so the points show its top alone.*
#
# **By Eq. 8 the factor is the same for every $N$: about seven million.** Since $N S^{-\alpha} = (S / N^{1/\alpha})^{-\alpha}$, a task of $N$ tokens needs $N^{1/\alpha}$ times the $S$ for the same success. So a larger $N$ moves the whole curve to the right, by $\ln N/\alpha$ in $\ln S$.
#
# **Exercise 1.** Windows overlap, so a long run of hits contains several windows. In one text, 40 windows of $N = 20$ tokens have no miss, and all of them lie in the same run. How many tokens long is the run?
#
# <details><summary>Hint</summary>How many windows of 20 fit into a run of 21 tokens?</details>

# %%
answer_1 = None  # tokens
draw.check(1, answer_1)

# %% [markdown]
# **Exercise 2.** At $k = 1$ the exponent is about 0.08. By how many decades of $S$ (factors of ten) does Eq. 8 slide if the task grows from $N = 10$ to $N = 1000$ tokens?
#
# <details><summary>Hint</summary>A slide of ln N/alpha in ln S; a decade is ln 10.</details>

# %%
answer_2 = None  # decades
draw.check(2, answer_2)

# %% [markdown]
# ## Does a larger $N$ make the step sudden?
#
# For 100 tokens the points lie above their dashed curve, because tokens in a row are not independent. So from here on we no longer derive long tasks from single tokens: we fit $\alpha$ and $C$ anew to the counted shares of each $N$. "Sharper" can mean two things. The first is relative growth:

# %%
# The success of the largest Pythia, divided by that of the smallest
for N in (1, 10, 100):
    p = at_100[at_100.N == N].p
    gain = p.iloc[-1] / p.iloc[0]
    print(N, round(gain, 1))

# %% [markdown]
# Here $N$ amplifies, as the paper says. The second meaning is "sudden": success rises from 10% to 90% over few decades of $S$. At 10% the loss $-\log p$ is 2.30, and at 90% it is 0.105: it has to fall by a factor of 21.9. A loss of $C S^{-\alpha}$ does this while $S$ grows by $21.9^{1/\alpha}$, which is $1.34/\alpha$ decades.
#
# Fix $k$ and $N$: ten models give ten points, a *series*. We fit a line to each series. We leave out a series if one of its models never succeeds, because zero has no logarithm (so $k = 1$ ends at $N = 20$).

# %%
rows = []
for (k, N), points in published.groupby(["k", "N"]):
    if points.p.min() == 0:
        continue  # zero has no logarithm
    rows.append([k, N, *fit_law(points)])
series = pd.DataFrame(rows, columns=["k", "N", "alpha", "C", "R2"])

# How much the loss falls while p rises from 10% to 90%
fall = np.log(0.1) / np.log(0.9)
series["decades"] = np.log10(fall) / series.alpha

# %%
# A gap is a series that was left out
width = series.pivot(index="k", columns="N", values="decades")
sizes = published.S
spanned = np.log10(sizes.max() / sizes.min())  # by the models themselves
draw.widths(series, spanned, figures_dir)

# %% [markdown]
# *Step width from each fitted line, for five of our eight $k$. No series goes from under 10% to over 90%, so the widths extend the lines beyond the counted points.*

# %%
print("decades of S from 10% to 90%, for each k (rows) and N")
some = width[[1, 10, 20, 100, 500]]
some.round(1).astype(object).fillna("")

# %% [markdown]
# **At $k$ = 100 the step takes 6.8 decades of $S$ for one token, and 6.8 for ten in a row.** For $k \le 500$, going from one token to ten changes the width by $-3$% to $+12$%, and a hundred tokens widen it. At no $k$ does a longer task make the step shorter by more than about a sixth.
#
# So the paper's sentence holds in part. Success at a longer task grows faster in relative terms, but the step is not more sudden.
#
# **Exercise 3.** Plot Eq. 8 against $S$ itself and not against $\ln S$. Show that its inflection (where it is steepest) lies at $p = e^{-(1+\alpha)/\alpha}$, whatever $N$ and $C$ are. (To discuss; [our proof](../docs/solutions/07_section_5_1_emergence.md).)
#
# <details><summary>Hint</summary>Write $u = N C S^{-\alpha}$. The slope in $S$ is proportional to $e^{-u}\,u^{1 + 1/\alpha}$; for which $u$ is it largest?</details>
#
# [Move N and k yourself](../docs/explorables/knee.html)
#
# ## Further questions
#
# <details><summary>How straight are the published series, and what do the shares of pocket models or yours look like?</summary>
#
# Nearly all published series are straight in $\log S$ and $\log(-\log p)$: 47 of 51 with $N > 1$ have an $R^2$ of at least 0.97.
#
# </details>

# %%
long = series[series.N > 1]
print(f"N > 1: {len(long)} series without a zero, R2 >= 0.97 in {(long.R2 >= 0.97).sum()}")
study = draw.read_study(records_dir, families, corpus_names)
measured, missing = measured_windows(study.summaries, study.corpora, study.families, Ns, ks)
print("\n".join(missing) or "Nothing is missing.")
draw.shares(published, measured, figures_dir)

# %% [markdown]
# <details><summary>Are tokens in a row independent?</summary>
#
# No: windows of ten tokens succeed as often as 5.1 to 9.0 independent tokens would. This *effective number of tokens* is $m = \log p_{N,k} / \log \mathrm{RBP}_k$.
#
# </details>

# %%
# The paper counts windows of GPT-2 as well
gpt2 = paper.gpt2_wiki_metrics()
of_gpt2 = np.log(gpt2.p_N10) / np.log(gpt2.p_N1)
of_pythia = published[published.N == 10].effective
ten = pd.concat([of_pythia, of_gpt2])
print(f"effective tokens of ten: {ten.min():.1f} to {ten.max():.1f}")

# %% [markdown]
# <details><summary>Where does the dependence come from: from easy documents, or from order?</summary>
#
# From both. If the tokens are shuffled inside each document, a third to seven tenths of the excess over Eq. 6 remain (`part`). The rest is order: a hit makes the next hits likelier.
#
# </details>

# %%
some_N = min(Ns, key=lambda N: abs(N - 10))
at_N = measured[measured.N == some_N]
enough = at_N.runs_low >= MIN_RUNS  # a share of fewer separate runs says little
gap = at_N[enough & (at_N.p < 1)]
excess = np.log(gap.p / gap.independent)  # over Eq. 6
# Shuffling keeps which documents are easy, and destroys the order
after_shuffling = np.log(gap.shuffled / gap.independent)
part = after_shuffling / excess
part = part.groupby([gap.corpus, gap.k]).mean()
part.round(2).unstack("k")

# %% [markdown]
# <details><summary>How long are the longest runs, and where are they?</summary>
#
# Pythia-12B has 428 windows of 100 tokens with every rank 1 (Eq. 6: none). A single run holds 353 of them. The longest run of the pocket model at $k = 1$ repeats a pattern of the lines before.
#
# </details>

# %%
twelve = published.query("model == 'pythia-12b' and k == 1")
twelve = twelve.set_index("N")
# At least and at most so many runs have all windows without a miss
assert twelve.runs_low[200] == twelve.runs_high[200] == 1
L = twelve.hits[200] + 200 - 1  # as in Exercise 1
print(f"one run of {L} tokens holds {L - 100 + 1} of the {twelve.hits[100]} windows of 100\n")
draw.exercise(model, tokens, longest_run(k=1))

# %% [markdown]
# ## The paper says, we get
#
# "larger N sharpens the transition" holds in part: success grows more in relative terms, but the step is narrower for all longer tasks at the largest $k$, and at no other. "The fitted power-law curves align closely with empirical data" holds in part: 47 of 51 series have an $R^2$ of at least 0.97.

# %%
own = (measured, some_N, fit_law, records_dir)
draw.claims(published, series, ten, *own, figures_dir)

# %% [markdown]
# **What this cannot show.** We give no confidence intervals: windows of one document are not independent, and the paper does not publish which windows these are. The pocket models span two decades of $S$, far less than a step needs. Whether a useful task needs $N$ right tokens in a row is another question.
#
# **Related work.** [Schaeffer et al.](https://arxiv.org/abs/2304.15004) argue that sudden steps come from all-or-nothing metrics such as exact match; Eq. 8 is that argument in terms of ranks.
