"""Windows of N consecutive tokens with every rank at most k (Section 5.1, Eqs. 6 to 8, Figure 7).

p_{N,k} is the share of such windows. A table of windows has one row a model, k and N:

    corpus, family, model, S (non-embedding parameters), k, N, windows, hits, p = p_{N,k},
    p_1 = RBP_k, p_2 and shuffled (NaN if not known), independent (Eq. 6: RBP_k^N), markov (the
    chain of pairs, p_1 (p_2 / p_1)^(N - 1)), effective (log p / log p_1), runs_low and runs_high
    (see `run_bounds`); sorted by corpus, family, S, k, N.

The laws at the end are fitted to windows of at most five tokens and predict longer ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, least_squares
from scipy.special import comb, gammaln
from scipy.stats import betabinom

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.stats.curves import models_of
from rbpkit.summary import Summary

# How far a share read from a figure can be from its fraction: half of the sixth decimal, and some.
READING = 6e-7
# Scored tokens of a document truncated at 512, as in the paper: the first is never scored.
WIKI_LONGEST = 511
MIN_RUNS = 5  # fewer separate runs of hits are too few to judge a share by
COLUMNS = "corpus family model S k N windows hits p p_1 p_2 shuffled".split()
ORDER = ["corpus", "family", "S", "k", "N"]


def effective_tokens(p_N: ArrayLike, p_1: ArrayLike) -> NDArray[np.float64]:
    """log p_{N,k} / log p_{1,k}: for how many independent tokens a window counts; N under Eq. 6.

    NaN where p_{N,k} is 0, or where p_{1,k} is 1 and nothing can be told.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(p_N) / np.log(p_1)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def shuffled(summary: Summary, N: int, k: int) -> float:
    """p_{N,k} to be expected if the scored tokens of each document were shuffled.

    It keeps that documents differ and drops all order inside them. A document of n tokens and h
    hits has n - N + 1 windows, each hit with C(h, N) / C(n, N). NaN for a k without counts by
    document (see `Summary.k_grid`) and where no document has N tokens.
    """
    column = np.flatnonzero(summary.k_grid == k)
    n = summary.document_tokens.astype(np.float64)
    long = n >= N
    if not column.size or not long.any():
        return float("nan")
    n, h = n[long], summary.document_hits[long, column[0]].astype(np.float64)
    chance = np.zeros(n.size)
    some = h >= N  # fewer hits than N cannot fill a window
    # log n! / (n - N)! is log C(n, N) but for N!, which cancels
    falling = [gammaln(x[some] + 1) - gammaln(x[some] - N + 1) for x in (h, n)]
    chance[some] = np.exp(falling[0] - falling[1])
    return float(np.average(chance, weights=n - N + 1))


def denominator(shares: ArrayLike, most: int, reading: float = READING) -> int:
    """The smallest W <= most of which all shares (n,) can be whole multiples of 1/W.

    reading: how far a share may be from its fraction. InputError when no W fits.
    """
    W = np.arange(1, most + 1, dtype=np.float64)
    for share in np.asarray(shares, dtype=np.float64):
        # 1e-6: rounding of a product near 3e5 in double precision, with much to spare
        W = W[np.abs(share * W - np.rint(share * W)) <= reading * W + 1e-6]
    if not W.size:
        raise InputError(f"no number of windows up to {most} fits these {len(shares)} shares")
    return int(W[0])


def run_bounds(hits: Mapping[int, int], N: int, longest: int) -> tuple[int, int]:
    """Least and greatest number of separate runs of N or more hits, from how many windows hit.

    hits: N -> how many windows of N tokens hit throughout; longest: scored tokens of the longest
    document. A run of L holds L - N + 1 such windows, so hits(N) is the sum over n >= N of the
    runs of at least n, a number that cannot grow with n; neighbouring N bound it on both sides.
    InputError for an N that is not in `hits`.
    """
    if N not in hits:
        raise InputError(f"N = {N} was not counted (there are {sorted(hits)})")
    if not hits[N]:
        return 0, 0
    longer = min((n for n in hits if n > N), default=None)
    shorter = max((n for n in hits if n < N), default=None)
    beyond, rest = (longer, hits[longer]) if longer else (longest + 1, 0)
    low = max(1, -(-(hits[N] - rest) // (beyond - N)))
    high = hits[N] if shorter is None else (hits[shorter] - hits[N]) // (N - shorter)
    return low, min(high, hits[N])


def published_windows() -> pd.DataFrame:
    """Figure 7 (ten Pythias on Wiki) as a table of windows, with the counts behind its shares.

    windows is not printed in the paper: it is the smallest number that the shares of an N allow,
    at the precision of the reading. Shares read below paper.EMERGENCE_ZERO are zeros.
    """
    table = paper.emergence().rename(columns={"dataset": "corpus"})
    table["p"] = table["p"].where(table["p"] >= paper.EMERGENCE_ZERO, 0.0)
    tokens = paper.token_counts().query("dataset == 'Wiki' and family == 'Pythia'")["tokens"]
    most = int(tokens.iloc[0])
    windows = {N: denominator(p[p > 0], most) for N, p in table.groupby("N")["p"]}
    table["windows"] = table["N"].map(windows)
    table["hits"] = np.rint(table["p"] * table["windows"]).astype(np.int64)
    for N in (1, 2):
        one = table[table["N"] == N].set_index(["model", "k"])["p"].rename(f"p_{N}")
        table = table.join(one, on=["model", "k"])
    return _derived(table.assign(family="Pythia", shuffled=np.nan, longest=WIKI_LONGEST))


def measured_windows(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    Ns: Sequence[int],
    ks: Sequence[int],
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table of windows of every measured model of corpora x families, and what is missing.

    Missing: a line for a (corpus, family) that was not measured, and for an N that is not stored
    or longer than every document. N = 1 and 2 are always added. InputError for k < 1.
    """
    every, Ns = list(summaries), sorted({1, 2, *Ns})
    rows, missing = [], []
    for corpus, family in product(corpora, families):
        chosen = models_of(every, corpus, family)
        if not chosen:
            missing.append(f"not measured: {family} on {corpus}")
        for one in chosen:
            there = [N for N in Ns if N in one.windows and one.windows[N].total]
            for N in sorted(set(Ns) - set(there)):
                why = "no document is that long" if N in one.windows else "not in the summaries"
                missing.append(f"no windows of N = {N}: {family} on {corpus}: {why}")
            about = (corpus, family, one.manifest.model, one.manifest.S)
            longest = int(one.document_tokens.max())
            for k, N in product(ks, there):
                counted, p_2 = one.windows[N], one.success(2, k) if 2 in there else np.nan
                shares = (counted.share(k), one.success(1, k), p_2, shuffled(one, N, k))
                hits = int(counted.at_most(k))
                rows.append((*about, k, N, counted.total, hits, *shares, longest))
    table = pd.DataFrame(rows, columns=[*COLUMNS, "longest"])
    table = table.astype(dict.fromkeys(COLUMNS[-4:], np.float64))
    return _derived(table), tuple(dict.fromkeys(missing))


def _derived(table: pd.DataFrame) -> pd.DataFrame:
    """A table of windows from its COLUMNS and `longest`, scored tokens of the longest document."""
    table = table[[*COLUMNS, "longest"]].sort_values(ORDER, ignore_index=True)
    p_1, p_2, N = table["p_1"], table["p_2"], table["N"]
    table["independent"] = p_1**N
    table["markov"] = p_1 * (p_2 / p_1) ** (N - 1)  # NaN where nothing hit
    table["effective"] = effective_tokens(table["p"], p_1)
    bounds = pd.DataFrame(index=table.index, columns=["runs_low", "runs_high"], dtype=np.float64)
    for _, part in table.groupby(["corpus", "family", "model", "k"]):
        hits = dict(zip(part["N"].tolist(), part["hits"].tolist(), strict=True))
        bounds.loc[part.index] = [run_bounds(hits, n, part["longest"].iloc[0]) for n in hits]
    return table.drop(columns="longest").join(bounds.astype(np.int64))


# -- laws of windows, fitted at N <= 5 ---------------------------------------------------------

FITTED_N = (1, 2, 5)
LAWS = {
    "independent": "Eq. 6",
    "power_5": "N^gamma tokens",
    "documents": "beta-binomial of documents",
    "chained": "documents and a chain",
    "both": "beta-binomial and a chain, from windows",
    "reinforced": "reinforced runs",
}
"""Columns of `law_predictions`. chained takes the documents' own spread, where it is known."""


def fixed_chance(p_1: ArrayLike, p_2: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} = E[theta^N] for a chance theta that is beta distributed and stays for the window.

    E[theta] = p_1 and E[theta^2] = p_2, so N hits of N in a beta-binomial with the correlation
    rho = (p_2 - p_1^2) / (p_1 (1 - p_1)); p_1^N at rho = 0. NaN for rho < 0, which no chance gives.
    Shapes broadcast.
    """
    p_1, p_2, N = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (p_1, p_2, N)))
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = (p_2 - p_1**2) / (p_1 * (1 - p_1))
        size = (1 - rho) / rho  # of the beta, a + b
        found = betabinom.pmf(N, N, p_1 * size, (1 - p_1) * size)
    return np.where(np.abs(rho) < 1e-12, p_1**N, np.where(rho > 0, found, np.nan))


def tokens_exponent(Ns: ArrayLike, p: ArrayLike, p_1: float) -> float:
    """gamma of log p_N = N^gamma log p_1 by least squares of log(log p_N / log p_1) on log N."""
    x, y = np.log(np.asarray(Ns, float)), np.log(np.log(np.asarray(p)) / np.log(p_1))
    return float(x @ y / (x @ x))


def chain_in_documents(p_1: float, pair: float, stay: float, N: int) -> float:
    """p_{N,k} = E[theta (theta + stay (1 - theta))^(N - 1)]: a document has a chance theta of a
    hit, beta with E[theta] = p_1 and E[theta^2] = pair, and a hit follows a hit with the chance
    theta + stay (1 - theta).

    stay = 0: a beta-binomial; pair = p_1^2: a chain of pairs. NaN unless p_1^2 <= pair < p_1.
    """
    if not (0 < p_1 < 1 and p_1**2 * (1 - 1e-12) <= pair < p_1):
        return float("nan")
    rho = max((pair - p_1**2) / (p_1 * (1 - p_1)), 1e-9)
    size = (1 - rho) / rho
    at = np.arange(N)
    moments = np.cumprod((p_1 * size + at) / (size + at))  # E[theta^(j + 1)]
    return float(np.sum(comb(N - 1, at) * stay ** (N - 1 - at) * (1 - stay) ** at * moments))


def stay_of(p_1: float, pair: float, p_2: float) -> float:
    """`stay` of `chain_in_documents` that gives p_2 of two tokens: (p_2 - pair) / (p_1 - pair)."""
    return (p_2 - pair) / (p_1 - pair)


def pair_of(p_1: float, p_2: float, p_N: float, N: int = 5) -> float:
    """`pair` of `chain_in_documents` that gives both p_2 and p_N of N tokens; NaN if none does.

    Between pair = p_1^2 (a chain alone) and pair = p_2 (documents alone) the share of N rises.
    """

    def off(pair: float) -> float:
        return chain_in_documents(p_1, pair, stay_of(p_1, pair, p_2), N) - p_N

    low, high = p_1**2, p_2 * (1 - 1e-12)
    if not (low < high and off(low) < 0 < off(high)):
        return float("nan")
    return float(brentq(off, low, high))


def reinforced(p_1: float, a: float, b: float, N: int) -> float:
    """p_{N,k} = p_1 prod_{n=1}^{N-1} (a + n) / (a + b + n): the longer a run of hits, the likelier
    the next hit, as in Polya's urn. For large N it falls as N^-b, not exponentially."""
    n = np.arange(1, N)
    return float(p_1 * np.prod((a + n) / (a + b + n)))


def reinforced_of(p_1: float, p_2: float, p_5: float) -> tuple[float, float]:
    """(a, b) of `reinforced` that give p_2 and p_5; the nearest with a > -1 where none does."""
    aims = np.log([p_2 / p_1, p_5 / p_1])

    def off(t: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b = np.expm1(t[0]), np.exp(t[1])
        return np.log([reinforced(1.0, a, b, N) for N in FITTED_N[1:]]) - aims

    found = least_squares(off, [0.0, 0.0]).x
    return float(np.expm1(found[0])), float(np.exp(found[1]))


def law_predictions(table: pd.DataFrame, Ns: Sequence[int] = (10, 20, 50, 100)) -> pd.DataFrame:
    """LAWS fitted to each model at N <= 5 and held against longer windows.

    table: windows with N = 1, 2 and 5 (`measured_windows`). A row a (model, k, N, law): corpus,
    family, model, S, k, N, p, law, predicted, ratio = log predicted / log p (1 is right). Left out:
    shares from fewer than MIN_RUNS separate runs of hits, and what a law cannot be fitted to.
    """
    keys, rows = ["corpus", "family", "model", "k"], []
    for about, part in table.groupby(keys, sort=False):
        at = part.set_index("N")
        p = at["p"].to_dict()
        if not set(FITTED_N) <= set(p) or at["runs_low"][5] < MIN_RUNS or p[1] >= 1:
            continue
        p_1, p_2, p_5 = (p[N] for N in FITTED_N)
        mixed, pair = float(at["shuffled"][2]), pair_of(p_1, p_2, p_5)
        gamma, (a, b) = tokens_exponent((2, 5), (p_2, p_5), p_1), reinforced_of(p_1, p_2, p_5)
        for N in Ns:
            if N not in p or at["runs_low"][N] < MIN_RUNS:
                continue
            found = {
                "independent": p_1**N,
                "power_5": p_1 ** (N**gamma),
                "documents": float(fixed_chance(p_1, mixed, N)),
                "chained": chain_in_documents(p_1, mixed, stay_of(p_1, mixed, p_2), N),
                "both": chain_in_documents(p_1, pair, stay_of(p_1, pair, p_2), N),
                "reinforced": reinforced(p_1, a, b, N),
            }
            one = dict(zip(keys, about, strict=True)) | {"S": at["S"][N], "N": N, "p": p[N]}
            rows += [one | {"law": law, "predicted": q} for law, q in found.items() if q > 0]
    long = pd.DataFrame(rows)
    long["ratio"] = np.log(long["predicted"]) / np.log(long["p"])
    return long
