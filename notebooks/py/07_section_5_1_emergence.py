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
# Your small model writes code, and every test that needs many right tokens in a row fails. Would a larger model pass them all of a sudden, or can you see it coming?
#
# A language model reads a text token by token; a token is a word or a piece of one. Before each token it ranks its vocabulary by probability. The **rank** $R$ of the token that really comes next is its place in this ranking. Call the token a **hit** if $R \le k$.
#
# Below, one of the *pocket models*, small models that come with this project, reads a programming exercise. The brackets enclose the longest run of hits at $k$ = 10.
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
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.stats import linregress

from rbpkit import load_corpus, load_model, measure
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_07 as draw
from rbpkit_notebooks.claims import Verdicts, counted, span
from rbpkit_notebooks.windows import effective_of_ten, published_windows
from rbpkit_pocket.families import model_folder

check_parameters(globals())

# %%
model = load_model(model_folder("Pythia", 7), device="cpu")
exercises = load_corpus("pocket:humaneval", documents=40)
tokens = measure(model, exercises).records.to_pandas()
# Likelier tokens, and tied ones, come before the true one (Eq. 3)
tokens["R"] = tokens.n_greater + tokens.n_equal + 1
run = draw.longest_run(tokens, 10)
draw.exercise(model, tokens, run)
print(f"----- {len(run)} tokens in a row with a rank of at most 10")

# %% [markdown]
# A task that needs $N$ hits in a row succeeds only if every token is a hit. One miss spoils it:

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
# **Guess first.** Let $k = 100$. By Eq. 8 a model of some size $S_{10}$ is a hit at 10% of all single tokens, and a larger one, of size $S_{90}$, at 90%. Now each task asks for 1000 hits in a row and not for one. Both sizes grow. Does the ratio $S_{90}/S_{10}$ become smaller (a sudden step), larger, or does it stay?
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


for N in (1, 1000):
    ratio = size_at(0.9, N) / size_at(0.1, N)
    print(f"N = {N}: S_90 / S_10 = {ratio:.1e}")


# %%
def success(S, N):
    """Eq. 8."""
    return np.exp(-N * C * S**-alpha)


draw.slide(at_100, success, figures_dir)

# %% [markdown]
# *Points: ten Pythias on Wikipedia, as counted. Dashed: Eq. 8, with $\alpha$ and $C$ of one token. An arrow goes from 10% to 90%. (We take $k=100$ because at $k=1$ hardly any run is long.)*
#
# **By Eq. 8 the ratio is the same for every $N$: about seven million.** Why? In Eq. 8, $N$ and $S$ occur only as $N S^{-\alpha}$. Make the task a hundred times longer. A model that is $100^{1/\alpha}$ times as large has the same $N S^{-\alpha}$, so the same success. This holds at 10% and at 90% alike. On a logarithmic axis of $S$ the curve slides to the right by $\ln N/\alpha$, and keeps its shape.
#
# **Where does the knee come from?** Ten models are a window of four decades (factors of ten) of $S$. A short task shows the flat top of its curve in this window. A long one shows its foot, where the curve leaves zero. We see another part of the same curve.
#
# **Exercise 1.** Windows overlap, so a long run of hits contains several windows. In one text, 40 windows of $N = 20$ tokens have no miss, and all of them lie in the same run. How many tokens long is the run?
#
# <details><summary>Hint</summary>How many windows of 20 fit into a run of 21 tokens?</details>

# %%
answer_1 = None  # tokens
draw.check(1, answer_1)

# %% [markdown]
# **Exercise 2.** At $k = 1$ the exponent is about 0.08. By how many decades of $S$ does the curve move if the task grows from $N = 10$ to $N = 1000$ tokens?
#
# <details><summary>Hint</summary>The curve moves by ln N/alpha in ln S; a decade is ln 10.</details>

# %%
answer_2 = None  # decades
draw.check(2, answer_2)

# %% [markdown]
# ## Is the step of a longer task shorter?
#
# That was Eq. 8. For 100 tokens the points lie above the dashed curve, so let us ask the counted shares themselves. No task of any length goes from under 10% to over 90% within the ten models. But two tasks often reach the same two shares, say 20% and 40%. How many decades of $S$ does each need from one to the other? We join the points by straight lines, on axes on which Eq. 8 is straight. For each $k$ and each two neighbouring $N$ we take the round shares (10%, 20%, ...) that are furthest apart and that both tasks reach.


# %%
def sizes_reaching(points, shares):
    """log10 of the S at which these shares are reached; NaN beyond the points."""
    height = -np.log(-np.log(points.p))  # a straight line in log S, by Eq. 8
    height = np.maximum.accumulate(height)  # np.interp wants rising heights
    goals = -np.log(-np.log(shares))
    return np.interp(goals, height, np.log10(points.S), left=np.nan, right=np.nan)


# %%
def compare(points):
    """Decades of S between the same two shares, for each two neighbouring N of each k."""
    shares = np.arange(0.1, 0.95, 0.1)
    rows = []
    inside = points.query("0 < p < 1")  # other shares have no height
    for (_, _, k), at_k in inside.groupby(["corpus", "family", "k"]):
        lengths = at_k.N.unique()
        for N, longer in pairwise(lengths):
            sizes = [sizes_reaching(at_k[at_k.N == n], shares) for n in (N, longer)]
            by_both = np.array(sizes)[:, np.isfinite(sum(sizes))]
            if by_both.shape[1] > 1:
                rows.append([k, N, longer, *np.ptp(by_both, axis=1)])
    return pd.DataFrame(rows, columns=["k", "N", "longer", "decades", "decades_longer"])


# %%
pairs = compare(published)
ratio = pairs.decades_longer / pairs.decades
draw.pairs(pairs, figures_dir)
print(f"shorter for the longer task: {counted(ratio < 1)} pairs")
print(f"ratio: median {ratio.median():.2f}, {span(ratio)}")

# %% [markdown]
# *A point for each two tasks, of $N$ tokens and of the next larger $N$, at one $k$. On the line both steps are equally long.*
#
# **Between shares that both tasks reach, the longer task needs as many decades of $S$ as the shorter one: 1.02 times as many in the median pair, and fewer in 10 of 23.** The pairs share models and text, so they are no independent trials. One thing speaks for the shorter task: at larger $S$ all lines are flatter (the exponent at $k=100$ is 0.20 in the smaller five Pythias and 0.15 in the larger five), and the longer task reaches the same shares at larger $S$.
#
# "Sharpens" can also mean growth:

# %%
single = at_100[at_100.N == 1]
print("alpha of the smaller and the larger five:")
print(round(fit_law(single.head(5))[0], 2), round(fit_law(single.tail(5))[0], 2))

# The success of the largest Pythia, divided by that of the smallest
for N in (1, 10, 100):
    p = at_100[at_100.N == N].p
    gain = p.iloc[-1] / p.iloc[0]
    print(N, round(gain, 1))

# %% [markdown]
# From the smallest model to the largest, success grows 1.2 times for one token, and 31 times for a hundred in a row. In this sense a larger $N$ does sharpen.
#
# **Exercise 3.** Plot Eq. 8 against $S$ itself and not against $\ln S$. Show that its inflection (where it is steepest) lies at $p = e^{-(1+\alpha)/\alpha}$, whatever $N$ and $C$ are. (To discuss; [our proof](../docs/solutions/07_section_5_1_emergence.md).)
#
# <details><summary>Hint</summary>Write $u = N C S^{-\alpha}$. The slope in $S$ is proportional to $e^{-u}\,u^{1 + 1/\alpha}$; for which $u$ is it largest?</details>
#
# Move $N$ and $k$ yourself:

# %%
draw.explorable("knee")

# %% [markdown]
# ## Further questions
#
# ### What do the shares of pocket models, or of yours, look like?
#
# Like the published ones: they rise smoothly with size, and fall with $N$.

# %%
measured = draw.measured(records_dir, families, corpus_names, Ns, ks)
draw.shares(published, measured, figures_dir)

# %% [markdown]
# ### And by fitted lines?
#
# A line through each series of ten points (one $k$, one $N$) can be extended to 10% and 90%. At $k=100$ it gives 6.8 decades for one token and 6.8 for ten in a row. For ten tokens the step is up to 12% longer at $k\le50$, and 3 to 16% shorter at $k\ge500$. But at $k=10{,}000$ one token's step from 10% does not exist: a random order of the 50,304 tokens already has 20% hits.

# %%
rows = []
for (k, N), points in published.groupby(["k", "N"]):
    if points.p.min() > 0:  # zero has no logarithm
        rows.append([k, N, *fit_law(points)])
series = pd.DataFrame(rows, columns=["k", "N", "alpha", "C", "R2"])
fall = np.log(0.1) / np.log(0.9)  # how much the loss falls while p rises from 10% to 90%
series["decades"] = np.log10(fall) / series.alpha

# %%
table = series.pivot(index="k", columns="N", values="decades")[[1, 10]]
table["ten over one"] = table[10] / table[1]
table["by chance"] = table.index / 50_304  # hits of a random order
table.round({1: 1, 10: 1, "ten over one": 2, "by chance": 3})

# %% [markdown]
# ### How far are tokens in a row from independent?
#
# Ten tokens in a row succeed as often as 5.1 to 9.0 independent tokens would. This *effective number of tokens* is $m = \log p_{N,k} / \log \mathrm{RBP}_k$. A hundred succeed as often as 9.6 to 80.7. Dependence of neighbours alone is not enough. At $k=100$ a chain in which each token depends on the one before, as $p_{2,100}$ shows, would give 9.3 to 9.8 of ten; counted are 8.5. So some stretches of text are easier than others.

# %%
# As many independent tokens would succeed as often as N in a row
ten = effective_of_ten()  # ten Pythias and four GPT-2 models on Wikipedia
hundred = published[published.N == 100].effective.dropna()
print(f"effective tokens of ten: {span(ten, '.1f')}; of a hundred: {span(hundred, '.1f')}")
p = at_100.pivot(index="S", columns="N", values="p")
chain = 1 + 9 * np.log(p[2] / p[1]) / np.log(p[1])
print(f"of ten at k = 100, by the chain: {span(chain, '.1f')}")

# %% [markdown]
# ## What to keep
#
# **A longer task is harder, not more sudden. Its curve of success slides to larger models, and a step between two shares takes as many decades of $S$ as before.**
#
# **What stays open.** The pairs compare parts of steps. A whole step from 10% to 90% is longer than the four decades of the models, and the two decades of the pocket models. The paper does not publish which windows share a document, so we give no intervals. Whether a useful task needs $N$ hits in a row is another question.
#
# ## The paper says, we get

# %%
verdicts = Verdicts("07", records_dir, figures_dir)

R2 = series[series.N > 1].R2
straight = R2 >= 0.97
n, of = straight.sum(), len(straight)
lowest = f"lowest R2 {R2.min():.2f}"
every = {"every curve counts": n == of}
verdicts.add("07.1", holds=n / of > 0.9, count=n, of=of, published=lowest, turns_if=every)

# %%
ratio_here = compare(measured).eval("decades_longer / decades")
shorter = ratio < 1
verdicts.add(
    "07.2",
    holds=shorter.mean() > 0.5,  # of most pairs
    count=shorter.sum(),
    of=len(ratio),
    published=f"ratio {span(ratio)}, median {ratio.median():.2f}",
    measured=counted(ratio_here < 1),
    turns_if={"growth from the smallest model to the largest is meant": gain > 2},
)

# %%
independent = abs(ten - 10) <= 1  # of ten tokens in a row
effective_here = measured[(measured.N == 10) & (measured.p < 1)].effective
verdicts.add(
    "07.3",
    holds=independent.all(),
    count=independent.sum(),
    of=len(ten),
    published=f"{span(ten, '.1f')}, median {ten.median():.1f}",
    measured=span(effective_here, ".1f"),
    turns_if="",
)

# %%
alphas = series.pivot(index="k", columns="N", values="alpha")
alike = abs(alphas.div(alphas[1], axis=0) - 1)[[5, 10, 20]].stack() <= 0.1
n, of = alike.sum(), len(alike)
ten_only = {"only N = 10 counts": alike.xs(10, level="N").all()}
found = "exponents of N = 5, 10 and 20"
verdicts.add("07.4", holds=n == of, count=n, of=of, published=found, turns_if=ten_only)

# %%
shares = published.groupby(["k", "N"]).p
whole = (shares.min() < 0.1) & (shares.max() > 0.9)
found = f"Eq. 8 is S-shaped in ln S; from under 10% to over 90%: {counted(whole)} series"
whole_step = {"the points have to show it": whole.any()}
verdicts.add("07.5", holds=True, published=found, turns_if=whole_step)
verdicts.table()

# %% [markdown]
# **Related work.** [Schaeffer et al.](https://arxiv.org/abs/2304.15004) argue that sudden steps come from all-or-nothing metrics such as exact match; Eq. 8 is that argument in terms of ranks.
#
# Next: [the list of all notebooks](../docs/notebooks.md).
