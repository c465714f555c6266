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
# # Section 5.1: emergence
#
# **Claim.** "Assuming independence and stationarity across positions", the probability that $N$ tokens in a row all have rank at most $k$ is $p_{N,k} = (\mathrm{RBP}_k)^N$ (Eq. 6). From this the paper concludes that "sequence-level log-error scales smoothly with model size" and that "larger $N$ sharpens the transition" (Figure 7: ten Pythias on Wiki, eight $k$, nine $N$).
#
# **Answer.** The first conclusion holds: 59 of Figure 7's 72 series (by $k$ and $N$) contain no zero, and in 55 $-\log p_{N,k}$ is a power of $S$ with $R^2 \ge 0.97$. Independence, which the paper assumes, fails: in the authors' GPT-2 shares, ten tokens in a row rank within $k$ as often as 6.6 to 8.8 independent ones. In the paper's law (Eq. 8) a larger $N$ makes the rise no steeper; in the published shares it does somewhat, at $k \ge 2500$ up to $N$ about 20.
#
# ![Left: Eq. 8 at k = 1 for N = 1 to 1,000, curves of one shape shifted to the right. Right: counted shares at N = 100 far above those of independent tokens](../figures/figure_7_eq8.png)
#
# *Eq. 8 for the published Pythias (left): a larger N shifts the curve and does not change its width. At N = 100 the counted shares (right) lie far above those of independent tokens (Eq. 6). Pythia-14m has no hit there, and zero has no place on a logarithmic axis.*
#
# *Reading time: 17 minutes; 23 with the two sections marked *may be skipped*. It runs in seconds, and no model is run.*
#
# *Published* shares are the 720 values of Figure 7 (10 Pythias, 8 $k$, 9 $N$), and those of four GPT-2 models on Wiki. A window of $N$ tokens is a *hit* if all of them rank within $k$. The *shipped models* are the small ones that come with `rbpkit`; with `records_dir` your own measurements take their place, and tables and figures call them *measured*. A *cell* is one family on one corpus at one $k$. $S$ leaves out token and position embeddings and the output head.

# %% tags=["parameters"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of the measured half
Ns = [1, 2, 5, 10, 20, 50, 100]  # N of the measured half
records_dir = ""  # a folder of records of your own; empty: the summaries that ship with rbpkit
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy.special import comb
from scipy.stats import linregress

import rbpkit
from rbpkit import paper, plots
from rbpkit.fit import fit_curves
from rbpkit.pocket import recipes
from rbpkit.records import load_summaries
from rbpkit.sections import s5_1_emergence
from rbpkit.stats.curves import success_curve
from rbpkit.study.params import check_parameters
from rbpkit.tools import explorers
from rbpkit.tools.exercises import check, sealed

check_parameters(globals())
ours = "measured" if records_dir else "shipped models"
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## What is counted
#
# Take every window of $N$ consecutive scored tokens that lies inside one document. A token *hits* if its rank is at most $k$, and a window hits if **every** token in it hits. $p_{N,k}$ is the share of windows that hit. With $N = 1$ it is $\mathrm{RBP}_k$ itself. A document of ten tokens, $k = 1$, $N = 3$:

# %%
R = np.array([1, 1, 1, 1, 7, 1, 2, 1, 1, 1])
every = np.lib.stride_tricks.sliding_window_view(R <= 1, 3).all(axis=1)
print(f"{every.sum()} of {every.size} windows of 3 hit; RBP_1^3 = {(R <= 1).mean() ** 3:.3f}")

# %% [markdown]
# Figure 7 shows shares, not counts. Each share is the number of windows that hit divided by the number of all windows. The number of all windows is not published, but we can find it.
#
# For each $N$ we try all numbers up to the number of scored tokens. We keep those by which all 80 shares (10 models, 8 $k$) can be multiplied to give whole numbers. A larger $N$ must also have fewer windows. Exactly one number passes for each $N$, except for $N = 500$: there several pass, and we take the smallest.

# %%
published = s5_1_emergence.published_windows()
windows = published.groupby("N")["windows"].first().rename("windows").to_frame()
windows["zeros of 80"] = published.groupby("N")["p"].agg(lambda p: int((p == 0).sum()))
windows["hits of Pythia-12B, k = 1"] = published.query("model == 'pythia-12b' and k == 1")[
    "hits"
].to_numpy()
windows

# %% [markdown]
# From $N = 1$ to $N = 2$ the number of windows falls by exactly 1,000, and by 1,000 more with each further token up to $N = 10$: one for each of the 1,000 documents. So the windows stay inside documents, as they should. At $N = 500$ there are at least 4,549 windows. A document cut at 512 tokens has 511 scored tokens and gives at most 12 such windows, so at least 380 documents have 500 scored tokens or more.
#
# ## Eq. 6: from tokens to windows
#
# If each token hit or missed independently of the others, the probabilities would multiply:
#
# $$p_{N,k} = \prod_{i=1}^{N} \Pr(R_i \le k) = \mathrm{RBP}_k^{\,N}.$$
#
# We call this power Eq. 6. (The paper's Eq. 7 is the same power.) The paper says that independence is an assumption. To test it we compute the *effective* number of tokens $m$, for which $\mathrm{RBP}_k^{\,m} = p_{N,k}$. So $m = \log p_{N,k} / \log \mathrm{RBP}_k$, which under Eq. 6 is $N$. The table has the Wiki shares of the smallest of the four GPT-2 models (the authors published them in full precision); the text printed below it covers all four.

# %%
authors = paper.gpt2_wiki_metrics().query("model == 'gpt2'").set_index("k")
RBP = authors["p_N1"]
product = pd.DataFrame({N: RBP**N for N in (5, 10)})
effective = pd.DataFrame({N: np.log(authors[f"p_N{N}"]) / np.log(RBP) for N in (5, 10)})

gpt2 = s5_1_emergence.gpt2_windows()
small = gpt2.query("model == 'gpt2' and N in (5, 10)")
assert np.allclose(small.pivot(index="k", columns="N", values="independent"), product)
assert np.allclose(small.pivot(index="k", columns="N", values="effective"), effective)
shown = small[["k", "N", "hits", "p", "independent", "effective"]].copy()
shown["p / independent"] = shown["p"] / shown["independent"]
shown = shown.reset_index(drop=True)
shown.round({"p": 4, "independent": 5, "effective": 1, "p / independent": 1})

# %%
ten = gpt2.query("N == 10")
for name, part in (("k = 1", ten.query("k == 1")), ("k > 1", ten.query("k > 1"))):
    low, high = part["effective"].min(), part["effective"].max()
    print(
        f"four GPT-2 models, {name}: ten in a row hit like {low:.1f} to {high:.1f} independent tokens"
    )

# %% [markdown]
# In the smallest GPT-2 at $k = 1$ five tokens in a row hit 1.9 times as often as Eq. 6 says, and ten in a row 19 times. Hits come in clusters. In the four models ten tokens hit as often as 6.6 to 7.1 independent ones. For larger $k$ the tokens are closer to independent: ten in a row hit as often as 8.4 to 8.8 independent tokens would.
#
# Can the clusters be explained by pairs alone, that is, by a hit that makes the *next* hit more likely? A Markov chain with the two states hit and miss, fitted to pairs, has
#
# $$p_{N,k} = p_1 \Big(\frac{p_2}{p_1}\Big)^{N-1}, \qquad p_1 = \mathrm{RBP}_k, \quad p_2 = p_{2,k}.$$
#
# Figure 7 gives $p_1$ and $p_2$. The table is for its largest model.

# %%
largest = published.query("model == 'pythia-12b' and k in (1, 10, 100) and N in (5, 10, 20)")
p_1, p_2, N = largest["p_1"], largest["p_2"], largest["N"]
chain_of_pairs = p_1 * (p_2 / p_1) ** (N - 1)
assert np.allclose(largest["markov"], chain_of_pairs)
largest[["k", "N", "p", "independent", "markov", "effective"]].reset_index(drop=True).round(4)

# %% [markdown]
# Pairs alone cannot explain the clusters. For Pythia-12B at $k = 1$ and ten tokens the chain gives 0.0075, and the count is 0.0378, five times as much. Either the dependence reaches further than one token, or some documents are easy throughout. Figure 7 cannot separate these two explanations; the records below can.
#
# ## The shipped models
#
# We now count the same shares for the shipped models, and print what is missing. Their documents are cut at 256 tokens, so there are few long windows. $\mathrm{RBP}_k$ is the share over all tokens, but a window of $N$ fits only into a document of $N$ tokens or more. The last table that the code prints has the share of the tokens that stand in such documents.

# %%
summaries = load_summaries(records_dir or recipes.SUMMARIES)
measured, missing = s5_1_emergence.measured_windows(summaries, corpus_names, families, Ns, ks)
print("\n".join(missing) or "nothing is missing")

# %%
if measured.empty:
    print("nothing was measured: the published half goes on alone")
else:
    counts = measured.pivot_table(index="corpus", columns="N", values="windows", aggfunc="max")
    print("windows")
    print(counts.fillna(0).astype(int).to_string())
    for k in (ks[0], ks[-1]):
        hit = measured[measured["k"] == k]
        hit = hit.pivot_table(index=["corpus", "family"], columns="N", values="hits", aggfunc="max")
        print(f"\nwindows that hit, k = {k} (the model of each family with most hits)")
        print(hit.fillna(0).astype(int).to_string())
    lengths = {one.manifest.corpus: one.document_tokens for one in summaries}
    inside = {
        corpus: {N: n[n >= N].sum() / n.sum() for N in counts.columns}
        for corpus, n in lengths.items()
        if corpus in counts.index
    }
    print("\nshare of the tokens in documents of N tokens or more")
    print(pd.DataFrame(inside).T.sort_index().round(2).to_string())

# %% [markdown]
# Up to $N = 20$ practically every token stands in a document that is long enough, so $p_{10,k}$ and $\mathrm{RBP}_k$ are measured on the same documents. On `code` 86% of the tokens stand in documents of 100 tokens or more. There $p_{100,k}$ may differ from Eq. 6 in part because only long documents are left.
#
# Neighbouring windows share most of their tokens, so their hits are not independent evidence. A *run* is a stretch of $L$ consecutive hits; it contains $L - N + 1$ windows that hit. What counts as evidence is the number of separate runs, not of windows.
#
# Runs are not stored. But counts of windows bound the number of runs: from below with the next larger $N$ of our list (`runs_low`), from above with the next smaller $N$ (`runs_high`). Let $r(n)$ be the number of runs of at least $n$ tokens, which cannot increase with $n$. The number of windows of $N$ that hit is $h(N) = \sum_{n \ge N} r(n)$: a run of $L$ tokens has $L - N + 1$ such windows, and is counted once for each $n$ from $N$ to $L$.
#
# For the next larger $N'$ of the list, $h(N) - h(N')$ is a sum of $N' - N$ terms, none larger than $r(N)$; so $r(N) \ge (h(N) - h(N'))/(N' - N)$. For the next smaller $N''$, $h(N'') - h(N)$ is a sum of $N - N''$ terms, none smaller than $r(N)$; so $r(N) \le (h(N'') - h(N))/(N - N'')$. Where both bounds are 1, there is one run.
#
# `shuffled` is the average $p_{N,k}$ after the tokens of each document are put in random order. Shuffling keeps the differences between easy and hard documents and removes the effect of order. If document $d$ has $n_d$ tokens and $h_d$ hits,
#
# $$\mathrm{shuffled} = \sum_d (n_d - N + 1) \binom{h_d}{N} \Big/ \binom{n_d}{N} \;\Big/ \sum_d (n_d - N + 1).$$
#
# The code computes it by hand for one model. The table has the largest model of each family on each corpus, at $N = 10$ or the nearest to it.

# %%
some_N = min(Ns, key=lambda N: abs(N - 10))
top = s5_1_emergence.largest_models(measured)
for s in [s for s in summaries if s.manifest.model in set(top["model"])][:1]:
    long = s.document_tokens >= some_N
    n, h = s.document_tokens[long], s.document_hits[long, s.k_grid == 1]
    by_hand = np.average(comb(h, some_N) / comb(n, some_N), weights=n - some_N + 1)
    assert np.isclose(by_hand, s5_1_emergence.shuffled(s, some_N, 1))
names = ["corpus", "family", "k", "hits", "runs_low", "runs_high"]
shares = ["p", "independent", "markov", "shuffled"]
at_ten = top[(top["N"] == some_N) & top["k"].isin((ks[0], ks[-1]))].copy()
at_ten[shares] *= 1000
print(f"N = {some_N}; p, independent, markov and shuffled are per 1,000 windows")
at_ten[names + shares + ["effective"]].reset_index(drop=True).round(3)

# %% [markdown]
# In every row of the table the chain of pairs gives more than Eq. 6, and less than the count. So pairs explain only a part of the clusters, here as in Pythia-12B.
#
# How much of the gap between Eq. 6 and the count is due to differences between documents? In logarithms this part is $\log(\text{shuffled}/\text{independent}) \,/\, \log(p/\text{independent})$: 0 if differences between documents explain nothing of the gap, 1 if they explain all of it. We compute it only where there are at least five separate runs.

# %%
sound = top[(top["N"] == some_N) & (top["runs_low"] >= 5)].copy()
sound["share"] = np.log(sound["shuffled"] / sound["independent"])
sound["share"] /= np.log(sound["p"] / sound["independent"])
if len(sound):
    by_k = sound.groupby("k")[["effective", "share"]].agg(["min", "max"])
    print(by_k.round(2).to_string())

# %% [markdown]
# ## Figure 7
#
# Put the law of Section 4, $-\log \mathrm{RBP}_k = c\, S^{-\alpha}$, into Eq. 6. The result is Eq. 8:
#
# $$p_{N,k} = \exp(-N c\, S^{-\alpha}).$$
#
# First the regression and the curve for Pythia at $k = 100$, then the figure. Top: the paper's eight panels. The paper plots against $\ln S$ but prints its ticks as powers of ten ($\ln S = 14$ appears as $10^{14}$). Here the lower axis shows $S$, and the upper one, drawn on the first row, $\ln S$. Bottom: one family of the shipped models on one corpus. The dashed curves are Eq. 8 with $c$ and $\alpha$ fitted at $N = 1$.

# %%
at_one = published.query("k == 100 and N == 1")
S = at_one["S"].to_numpy()
regression = linregress(np.log(S), np.log(-np.log(at_one["p"])))
alpha, c = -regression.slope, np.exp(regression.intercept)
eq_8 = np.exp(-10 * c * S**-alpha)  # N = 10

fitted = s5_1_emergence.line(published, 100)
assert np.allclose([fitted.alpha, np.exp(fitted.intercept)], [alpha, c])
assert np.allclose(s5_1_emergence.success_at(S, 10, c, alpha), eq_8)
counted = published.query("k == 100 and N == 10").set_index("model")["p"]
print(f"alpha {alpha:.3f}, R2 {regression.rvalue**2:.3f}; N = 10, smallest and largest model:")
print(
    f"Eq. 8 {eq_8[0]:.3f} and {eq_8[-1]:.3f}, counted {counted.iloc[0]:.3f} and {counted.iloc[-1]:.3f}"
)

# %%
shown = measured.iloc[:0]
if len(measured):
    first = "Pythia" if "Pythia" in set(measured["family"]) else measured["family"].iloc[0]
    of_first = measured[measured["family"] == first]
    corpus = next(name for name in corpus_names if name in set(of_first["corpus"]))
    shown = of_first[of_first["corpus"] == corpus]
figure = s5_1_emergence.figure_7(published, shown, ks, ours)
points = s5_1_emergence.window_points(published, measured)
plots.save(figure, points, figures_dir, "figure_7")

# %%
for name, table in (("published", published), (ours, shown)):
    if table["S"].nunique() < 3:
        continue  # no line
    table = table[table.groupby("k")["p"].transform("max") < 1]  # nor where every window hits
    hit = table[(table["N"] > 1) & (table["p"] > 0)].copy()
    for k in hit["k"].unique():
        law = s5_1_emergence.line(table, k)
        here = hit["k"] == k
        c_k = np.exp(law.intercept)
        hit.loc[here, "Eq. 8"] = np.exp(-hit["N"] * c_k * hit["S"] ** -law.alpha)[here]
    for some, of in (("N = 2", hit[hit["N"] == 2]), ("N of 5 or more", hit[hit["N"] >= 5])):
        below = int((of["Eq. 8"] < of["p"]).sum())
        above = max(0, (of["Eq. 8"] - of["p"]).max())
        print(
            f"{name}, {some}: Eq. 8 below {below} of {len(of)} points, above by {above:.3f} at most"
        )

# %% [markdown]
# At $N \ge 5$ the dashed curves lie below all points that are not zero, because Eq. 8 contains the independence of Eq. 6. At $N = 2$ dependence changes little, and the scatter about the fitted line puts some points below the curve, by 0.007 at most in the published shares and by 0.011 in ours.
#
# The next figure shows `effective`, the number of independent tokens that hit as often as a window, for every published model and the largest shipped one of each family. The diagonal is Eq. 6. A hollow point may rest on fewer than five runs.
#
# The families have markers of falling size, so that none hides another; the published models go from dark (smallest) to light.

# %%
figure = s5_1_emergence.effective_panels(published, measured, ks, ours)
plots.save(figure, points, figures_dir, "figure_7_effective")

# %% [markdown]
# ## The smooth power law of long windows
#
# Figure 7's main point does not need independence: $-\log p_{N,k}$ falls as a power of $S$ for $N > 1$ too.
#
# The code fits one series by hand and then all 72 (8 $k$, 9 $N$). The values were read off the figure's coordinates, where a zero comes out as up to $2 \cdot 10^{-10}$. So we take shares below $10^{-9}$ as zero; all others are far above that. Zero has no logarithm, so a series with a zero is left out. This leaves 59 series; in each of the other 13 at least one model has no hit.

# %%
one = published.query("k == 100 and N == 20")
regression = linregress(np.log(one["S"]), np.log(-np.log(one["p"])))
by_window = s5_1_emergence.fits_by_window(published)
same = by_window.query("k == 100 and N == 20").iloc[0]
assert np.allclose([-regression.slope, regression.rvalue**2], same[["alpha", "R2"]].astype(float))
print(f"k = 100, N = 20: alpha {-regression.slope:.3f}, R2 {regression.rvalue**2:.3f}")

free = by_window[by_window["zeros"] == 0]
for name, some in (("all N", free), ("N > 1", free[free["N"] > 1])):
    straight = (some["R2"] >= 0.97).sum()
    print(f"{name}: {len(some)} series without a zero, R2 of 0.97 or more in {straight}")
print(
    "the others:",
    ", ".join(f"k = {r.k}, N = {r.N}: {r.R2:.3f}" for r in free.itertuples() if r.R2 < 0.97),
)
free.pivot(index="k", columns="N", values="alpha").round(3).astype(object).fillna("")

# %% [markdown]
# The power law holds, with $R^2 \ge 0.97$ in 55 of 59 series, and in 47 of the 51 with $N > 1$. By Eq. 8 the exponent would be the same along each row of the table.
#
# For $k$ from 5 to 500 the exponent changes by at most about 11% from $N = 1$ to $N = 10$. From $N = 50$ on it is lower than at $N = 1$. For $k \ge 2500$ it rises up to $N$ about 20 and then falls, at $k = 10{,}000$ to a value still above that at $N = 1$. At $k = 1$ it stays between 0.072 and 0.079. So windows follow a power law, but its exponent depends on $N$.
#
# ## Where the printed exponents come from (may be skipped)
#
# Figure 7 prints one $\alpha$ and one $R^2$ in each panel, although each panel has nine lines. The table compares the printed values with the exponent at $N = 1$, which is that of Section 4, and with the means over all nine $N$ (columns `alpha` and `R2`), in which zeros were replaced as explained below.

# %%
at_ten = published[published["k"] == 10]
nine = []
for _, one in at_ten.groupby("N"):
    log_loss = np.log(-np.log(one["p"].clip(lower=1e-12)))
    level = (one["p"] == 0).all()  # a series of zeros alone
    nine.append((0, 1) if level else linregress(np.log(one["S"]), log_loss)[:3:2])
slope, r = np.mean(np.abs(nine) ** [1, 2], axis=0)

made = s5_1_emergence.annotations(published)
assert np.allclose(made.loc[made["k"] == 10, ["alpha", "R2"]], [slope, r])
made.insert(1, "alpha at N = 1", [s5_1_emergence.line(published, k).alpha for k in made["k"]])
made.round(4)

# %%
alpha_gap = (made["alpha"] - made["alpha_printed"]).abs().max()
r2_gap = (made["R2"] - made["r2_printed"]).abs().max()
print(f"mean of nine fits, off the printed by at most {alpha_gap:.4f} (alpha), {r2_gap:.4f} (R2)")
for clip in (1e-10, 1e-11, 1e-12, 1e-13, 1e-14):
    other = s5_1_emergence.annotations(published, clip)
    gap = (other["alpha"] - other["alpha_printed"]).abs().max()
    print(f"zeros replaced by {clip:.0e}: alpha off by at most {gap:.4f}")

# %% [markdown]
# The following recipe gives all sixteen printed numbers to their three decimals. For each of the nine $N$, fit $\log(-\log p_{N,k})$ on $\log S$, with $p$ replaced by $10^{-12}$ where no window hit. Count a series of only zeros as slope 0 and $R^2 = 1$. Average the nine fits. The paper does not state this recipe; we infer it, and no other replacement that we tried fits. The nine fits at $k = 1$:

# %%
by_window[by_window["k"] == 1].round(3)

# %% [markdown]
# At $k = 1$ five of the nine exponents ($N \le 20$) lie between 0.072 and 0.079. Three ($N$ = 50, 100, 200) lie between 0.119 and 0.185; in these, one to six zeros were replaced. The ninth series ($N$ = 500) has no hit at all and adds a slope of 0 and an $R^2$ of 1. The replacement decides the result: $-\log 10^{-12} = 27.6$ is far above the values of the neighbouring models.
#
# In Eq. 8 $\alpha$ is the same for every $N$, hence equal to the exponent at $N = 1$. At $k = 1$ the printed exponent is larger than the one at $N = 1$; from $k = 5$ to 500 it is smaller; at 2500 it is about equal, and at 10,000 larger.
#
# ## Does a larger $N$ sharpen the transition?
#
# Put $x = \ln S$ into Eq. 8:
#
# $$p_{N,k} = \exp\!\big(-e^{-\alpha (x - \ln (N c)/\alpha)}\big).$$
#
# This is the distribution function of a Gumbel variable with location $\ln(Nc)/\alpha$ and scale $1/\alpha$. A larger $N$ shifts the curve along $\ln S$ by $\ln N/\alpha$ and **does not change its width**: it does not get steeper. The curve reaches the value $p$ at
#
# $$\ln S = \frac{\ln(Nc) - \ln(-\ln p)}{\alpha},$$
#
# so the rise from 10 to 90% takes $\big(\ln \ln 10 - \ln \ln \tfrac{10}{9}\big)/\alpha = 3.08/\alpha$ in $\ln S$, whatever $N$ is. This is a property of Eq. 8.
#
# **The data.** The exponents fitted to the published shares do depend on $N$, and a larger exponent means a sharper transition. At $k = 10{,}000$ they rise from 0.306 ($N = 1$) to 0.369 ($N = 20$): the transition becomes somewhat sharper. At $k = 2500$ they rise less (0.292 to 0.316) and fall below 0.292 from $N = 200$ on. For $k$ from 5 to 500 they are lower at large $N$: it becomes less sharp. At $k = 1$ they hardly change.
#
# **The verdict for the data:** a larger $N$ does not sharpen the transition in general; it does so somewhat at $k \ge 2500$.


# %%
def passes(p: float, N: int) -> float:
    """ln S at which Eq. 8 reaches p."""
    return (np.log(N * c) - np.log(-np.log(p))) / alpha


x = np.linspace(10, 30, 5)
gumbel = np.exp(-np.exp(-alpha * (x - np.log(10 * c) / alpha)))  # N = 10
assert np.allclose(s5_1_emergence.success_at(np.exp(x), 10, c, alpha), gumbel)
assert np.isclose(s5_1_emergence.knee(10, c, alpha, 0.9), passes(0.9, 10))
assert np.isclose(s5_1_emergence.width(alpha), passes(0.9, 10) - passes(0.1, 10))
for N in (1, 10, 1000):
    low, high = passes(0.1, N) / np.log(10), passes(0.9, N) / np.log(10)
    print(
        f"k = 100, N = {N}: 10% is reached at S = 10^{low:.1f}, 90% {high - low:.1f} decades later"
    )

# %%
sharpness = []
for k in sorted(published["k"].unique()):
    alpha = s5_1_emergence.line(published, k).alpha
    spread = np.log([published["S"].min(), published["S"].max()])
    sharpness.append(
        {
            "k": k,
            "alpha at N = 1": alpha,
            "10 to 90%, decades of S": s5_1_emergence.width(alpha) / np.log(10),
            "moved by N = 100, decades": np.log(100) / alpha / np.log(10),
            "decades published": (spread[1] - spread[0]) / np.log(10),
        }
    )
print(f"alpha = 0.08: {s5_1_emergence.width(0.08) / np.log(10):.1f} decades from 10 to 90%")
pd.DataFrame(sharpness).round(2)

# %% [markdown]
# The next figure is the one at the top of this notebook. Left: Eq. 8, drawn far beyond the published sizes (grey band). Right: the shares at $k = 1$, $N = 100$ as counted, beside Eq. 6 and the chain of pairs. Pythia-14m is missing from the counted points: it has no hit, and zero has no place on a logarithmic axis.

# %%
figure = s5_1_emergence.eq8_panels(published, k=1, N=100)
plots.save(figure, points, figures_dir, "figure_7_eq8")

# %% [markdown]
# The knee of Eq. 8 is where $p_{N,k} = \tfrac12$. The next picture shows the curve and its knee for several $N$ and $k$; where $N > 1$, the curve of $N = 1$ is drawn in grey. $N$ shifts the curve; only $k$ changes its width, through $\alpha$. In Jupyter you can choose $N$ and $k$; elsewhere a few examples are shown.

# %%
stills = [(1, 1), (100, 1), (100, 100)]  # (N, k)
still = explorers.explore_eq8(published, stills)  # None where the sliders are shown
if still is not None:
    knees = explorers.eq8_points(published, stills)
    plots.save(still, knees, figures_dir, "figure_7_slider")

# %% [markdown]
# ## $N = 100$ at $k = 1$
#
# If hits appear suddenly anywhere, it should be here: a hundred tokens in a row, each the model's first choice. By Eq. 6 none of these models should hit such a window even once: with 225,086 windows, the expected number of hits is below $10^{-18}$. For every model with at least one hit, the share is at least $10^{20}$ times what Eq. 6 gives. But the shares do not form a smooth curve:

# %%
hundred = published.query("k == 1 and N in (50, 100, 200)")
table = hundred.pivot(index="S", columns="N", values="hits").add_prefix("hits, N = ")
only = hundred.query("N == 100").set_index("S")
table["runs of 100 or more"] = [
    f"{low} to {high}" for low, high in zip(only["runs_low"], only["runs_high"], strict=True)
]
table["p"] = only["p"].map("{:.1e}".format)
table["Eq. 6"] = only["independent"].map("{:.1e}".format)
table.insert(0, "model", only["model"])
table.reset_index(drop=True)


# %%
def single_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Rows whose hits all lie in one run, and its length: hits + N - 1."""
    one = table.query("k == 1 and runs_low == 1 and runs_high == 1").copy()
    one["length of the run"] = one["hits"] + one["N"] - 1
    return one[["family", "model", "N", "hits", "length of the run"]].reset_index(drop=True)


single_runs(pd.concat([gpt2, published]).query("N >= 100"))

# %%
run = single_runs(published.query("model == 'pythia-12b' and N == 200"))["length of the run"][0]
hits = int(published.query("model == 'pythia-12b' and k == 1 and N == 100")["hits"].iloc[0])
print(f"Pythia-12B: {run - 99} of the {hits} windows of 100 lie in one run of {run} tokens")
bound = published.query("k == 1 and N == 100")["independent"].max()
p_100 = published.query("model == 'pythia-12b' and k == 1 and N == 100")["p"].iloc[0]
print(f"share of Pythia-12B: {p_100:.1e}; by Eq. 6: {bound:.1e}")
count = published.query("N == 100")["windows"].iloc[0]
print(f"hits expected by Eq. 6 among {count:,} windows: {bound * count:.1e}")

# %% [markdown]
# Each of the four GPT-2 models hits 16 windows of 100, and all 16 lie in a single run of 115 tokens. Each of the four largest Pythias hits windows of 200 in one run only: 319 tokens long for the two smaller of them, 452 for the two larger.
#
# For Pythia-12B that run also contains 353 of its 428 windows of 100. Such a run is probably text that a model can copy or has memorised. So at $k = 1$ and $N \ge 100$ Figure 7 rests on a handful of passages of text.
#
# ## The four shipped families (may be skipped)
#
# We ask the same questions of the shipped models. First: does $p_{N,k}$ rise from one size of a family to the next? The table counts steps between neighbouring sizes, where both shares rest on at least five separate runs.

# %%
steps, falls = [], []
for _, part in measured.groupby(["corpus", "family", "k", "N"]):
    part = part.sort_values("S")
    sound_here = part["runs_low"] >= 5
    both = sound_here & sound_here.shift(fill_value=False)
    rises = (part["p"].diff() > 0) & both
    falls += list(part.loc[both & ~rises & (part["N"] == 1), "model"])
    steps.append((part["k"].iloc[0], part["N"].iloc[0], int(rises.sum()), int(both.sum())))
steps = pd.DataFrame(steps, columns=["k", "N", "rises", "steps"]).groupby(["k", "N"]).sum()
if len(steps):
    steps["what"] = [f"{rises} of {of}" for rises, of in zip(steps.rises, steps.steps, strict=True)]
    print(steps["what"].unstack("k").to_string())
    where = pd.Series(falls, dtype=str).value_counts().items()
    print("\nno rise at N = 1:", ", ".join(f"to {model} in {n}" for model, n in where) or "none")

# %% [markdown]
# Second: in Eq. 8 the exponent is the same for all $N$. Is it? The table compares the exponent at $N = 1$ with that at $N = 10$ (or the nearest), at the largest $k$, where enough windows hit for a fit.
#
# `low` and `high` bound the 95% interval of each exponent, computed from the residuals (Student's $t$, $n - 2$ degrees of freedom; $n$ is the number of models). `climb` is the number of decades of $S$ that Eq. 8 needs to rise from 10 to 90%, with the exponent at $N = 1$; `decades` is the range of $S$ of the family.

# %%
there = measured.loc[measured["N"] == some_N, ["corpus", "family"]].drop_duplicates()
both = there
for N, suffix in ((1, ""), (some_N, f", N = {some_N}")):
    fitted = fit_curves(
        success_curve(summaries, N, ks[-1], corpus, family)
        for corpus, family in there.itertuples(index=False)
    )
    print("".join(f"no fit: {line}\n" for line in fitted.refused), end="")
    laws = fitted.table[["corpus", "family", "n"]].copy()
    laws["alpha" + suffix] = -fitted.table["slope"]
    laws["low" + suffix], laws["high" + suffix] = -fitted.table["high"], -fitted.table["low"]
    both = both.merge(laws.drop(columns="n") if suffix else laws, on=["corpus", "family"])
span = measured.groupby(["corpus", "family"])["S"].agg(lambda S: np.log10(S.max() / S.min()))
both = both.join(span.rename("decades"), on=["corpus", "family"])
both["climb"] = s5_1_emergence.width(1.0) / np.log(10) / both["alpha"].astype(float)
print(f"k = {ks[-1]}")
both.round(3)

# %%
if len(both):
    other = both[f"alpha, N = {some_N}"] / both["alpha"]
    apart = (both["low"] > both[f"high, N = {some_N}"]) | (
        both["high"] < both[f"low, N = {some_N}"]
    )
    print(f"alpha at N = {some_N} over alpha at N = 1: {other.min():.2f} to {other.max():.2f}")
    print(f"intervals that do not meet: {apart.sum()} of {len(both)}")
    print(f"lower at N = {some_N}: {(other < 1).sum()} of {len(both)}")
    print(f"climb: {both['climb'].min():.1f} to {both['climb'].max():.1f} decades", end="; ")
    print(f"families span: {both['decades'].min():.1f} to {both['decades'].max():.1f}")
    at = measured[measured["N"] == some_N].copy()
    at = at[at["runs_low"] >= 5]
    print(f"\nrange of `effective` at N = {some_N}; in brackets the number of cases,")
    print("one for each model and corpus, with five runs or more")
    by_family = at.groupby(["k", "family"], sort=False)["effective"].agg(
        lambda part: f"{part.min():.1f} to {part.max():.1f} ({len(part)})"
    )
    print(by_family.unstack("family").fillna("").sort_index().to_string())

# %% [markdown]
# In the shipped models windows hit more often in larger models, as the paper says: at $N = 1$ in 242 of 252 steps between sizes (all $k$ together), at $N = 10$ in 214 of 225, at $N = 50$ in 90 of 97. Nine of the ten steps without a rise at $N = 1$ lead to Qwen's third size. The others may be chance.
#
# None of the shipped families agrees with independence (Eq. 6). Ten tokens in a row hit as often as 5.4 to 7.1 independent tokens at $k = 1$ (6.6 to 7.1 in the published GPT-2 models), and 7.3 to 8.3 at $k = 100$ (8.4 to 8.8 in GPT-2 at $k > 1$). At $k = 1$ this counts 45 of the 75 models and corpora; the others have fewer than five runs.
#
# Shuffling separates the two explanations of the clusters: that dependence reaches over several tokens, or that some documents are easy throughout. In the largest models 0.37 to 0.74 of the gap at $k = 1$ (of `humaneval` only Pythia has five runs) is due to differences between documents, and 0.33 to 0.51 at $k = 100$. By definition of this split, the rest is due to order inside a document.
#
# At $k = 100$, divide the exponent at $N = 10$ by that at $N = 1$. The ratio is 0.90 to 1.13, and below 1 in 7 of the 12 cells of the shipped models. In every cell the 95% intervals of the two exponents overlap.
#
# So the shipped models do not contradict the single exponent of Eq. 8. Each family has only five to eight models, the intervals are wide, and both fits use the same tokens. So we cannot say more.
#
# The shipped models cannot show emergence: by Eq. 8 the rise takes 8.6 to 13.9 decades of $S$, and they span 1.6 to 2.1. At $k = 1$ no model hits any window of 50, and the most that one model hits on one corpus is 32 windows of 20. At $k = 1$, $N = 10$ on `humaneval`, the largest GPT-2 hits one window and the largest OPT four.
#
# ## What holds, and what does not

# %%
ours_too = []
if len(both):
    for k, part in at.groupby("k")["effective"]:
        name = f"{ours}: effective, N = {some_N}, k = {k}"
        ours_too.append((name, f"{some_N}", f"{part.min():.1f} to {part.max():.1f}"))
row = gpt2.query("model == 'gpt2' and k == 1").set_index("N")
chain = published.query("model == 'pythia-12b' and k == 1 and N == 10").iloc[0]
pd.DataFrame(
    [
        ("GPT-2, k = 1, N = 5", f"{row['independent'][5]:.4f}", f"{row['p'][5]:.4f}"),
        ("GPT-2, k = 1, N = 10", f"{row['independent'][10]:.5f}", f"{row['p'][10]:.5f}"),
        ("12B, k = 1, N = 10", f"{chain['independent']:.4f}", f"{chain['p']:.4f}"),
        ("12B, k = 1, N = 100", f"{bound:.1e}", f"{p_100:.1e}"),
        *ours_too,
    ],
    columns=["", "Eq. 6 gives", "counted"],
)

# %%
by_k = made.set_index("k")
exponents = [
    (
        f"alpha, k = {k}",
        f"{by_k['alpha_printed'][k]:.3f} (printed)",
        f"{by_k['alpha at N = 1'][k]:.3f}",
    )
    for k in (1, 10, 100)
]
if len(both):
    ratio = f"{other.min():.2f} to {other.max():.2f}"
    exponents.append((f"{ours}: alpha, N = {some_N} over N = 1, k = {ks[-1]}", "1 (Eq. 8)", ratio))
pd.DataFrame(exponents, columns=["", "paper says", "we get"])

# %% [markdown]
# **What these numbers cannot show.** First, how much $p_{N,k}$ would vary on other text: the summaries do not store windows by document, so $p_{N,k}$ has no interval here (notebook 21 has intervals). Second, what the shipped families would do over more than 2.1 decades of $S$. Third, whether tasks that people care about need $N$ correct tokens in a row at all.
#
# **In short.**
#
# - *The smooth power law holds.* $-\log p_{N,k}$ is a power of $S$ with $R^2$ of 0.97 or more in 55 of the 59 published series without a zero (72 in all).
# - *Tokens are not independent.* Ten tokens in a row hit 19 times as often as Eq. 6 says (GPT-2, $k = 1$).
# - *The printed exponents are means of nine fits*, in some of which zeros were replaced by $10^{-12}$. The law's own exponent at $k = 1$ is 0.079, where the figure prints 0.090.
# - *That "larger $N$ sharpens the transition"* is not so in general. In Eq. 8 a larger $N$ shifts the curve and does not change its width; at $k = 1$ the width is 17 decades of $S$. In the published shares the transition becomes somewhat sharper at $k \ge 2500$ (up to $N$ about 20), less sharp for large $N$ at $k$ from 5 to 500, and hardly changes at $k = 1$.
# - *At $k = 1$, $N = 100$ there is no curve to see.* Of the 428 windows that Pythia-12B hits, 353 lie in one run.
#
# ## Exercises
#
# 1. Under Eq. 8 with $\alpha = 0.08$, by how many decades of $S$ does going from $N = 10$ to $N = 1{,}000$ move the curve?
# 2. A model's 40 windows of $N = 20$ that hit come from a single run. How long is it, in tokens?
# 3. Under Eq. 8, which $\alpha$ would let $p_{N,k}$ climb from 10 to 90% within one decade of $S$? To two digits.

# %%
answer_1 = None  # decades, to one decimal
answer_2 = None  # tokens
answer_3 = None  # an exponent

print(check(1, answer_1, sealed("b7a56873", digits=1)))
print(check(2, answer_2, sealed("3e1e967e", digits=0, within=0)))
print(check(3, answer_3, sealed("a9e7e963", digits=2, within=5)))
