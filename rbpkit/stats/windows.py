"""Windows of N consecutive tokens with every rank at most k (Section 5.1, Eqs. 6 to 8, Figure 7).

p_{N,k} is the share of such windows. A table of windows has one row a model, k and N:

    corpus, family, model, S (non-embedding parameters), k, N, windows, hits, p = p_{N,k},
    p_1 = RBP_k, p_2 and shuffled (NaN if not known), independent (Eq. 6: RBP_k^N), markov (the
    chain of pairs, p_1 (p_2 / p_1)^(N - 1)), effective (log p / log p_1), runs_low and runs_high
    (see `run_bounds`); sorted by corpus, family, S, k, N.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

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
    # log n! / (n - N)! is log C(n, N) without N!, which cancels
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
