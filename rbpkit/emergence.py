"""Section 5.1: windows of N consecutive tokens with every rank at most k (Eqs. 6 to 8, Figure 7).

p_{N,k} is the share of such windows. Were tokens independent it would be RBP_k^N, and with the law
in S a Gumbel distribution function of ln S. What the published and the measured shares say of that
is counted here: windows, hits, how many separate runs the hits can come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import PowerLawFit, fit_power_law
from rbpkit.summary import Summary

# How far a share read from a figure can be from its fraction: half of the sixth decimal, and some.
READING = 6e-7
CLIP = 1e-12
# Scored tokens of a document truncated at 512, as in the paper: the first is never scored.
WIKI_LONGEST = 511
COLUMNS = "corpus family model S k N windows hits p p_1 p_2 shuffled".split()


# -- Eqs. 6 to 8 -------------------------------------------------------------------------------


def independent(rbp: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} = RBP_k^N, Eqs. 6 and 7: if each token hit or missed regardless of the others."""
    return np.power(np.asarray(rbp, dtype=np.float64), N)


def success_at(S: ArrayLike, N: ArrayLike, c: float, alpha: float) -> NDArray[np.float64]:
    """p_{N,k} = exp(-N c S^-alpha), Eq. 8: Eq. 7 with -log RBP_k = c S^-alpha.

    S: non-embedding parameters. In ln S this is a Gumbel distribution function with its location
    at ln(N c) / alpha and its scale 1 / alpha.
    """
    return np.exp(-np.asarray(N) * c * np.asarray(S, dtype=np.float64) ** -alpha)


def knee(N: ArrayLike, c: float, alpha: float, p: float = 0.5) -> NDArray[np.float64]:
    """ln S at which Eq. 8 passes p: (ln N + ln c - ln(-ln p)) / alpha. InputError unless 0 < p < 1.

    N enters by ln N / alpha alone: it moves the curve along ln S and leaves its shape.
    """
    if not 0 < p < 1:
        raise InputError(f"p must be between 0 and 1, not {p!r}")
    return (np.log(N) + np.log(c) - np.log(-np.log(p))) / alpha


def width(alpha: float, low: float = 0.1, high: float = 0.9) -> float:
    """How far in ln S Eq. 8 climbs from low to high: 3.08 / alpha for 10 to 90%, at every N."""
    return float(knee(1, 1.0, alpha, high) - knee(1, 1.0, alpha, low))


def markov(p_1: ArrayLike, p_2: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} of the two-state chain with the same p_1 and p_2: p_1 (p_2 / p_1)^(N - 1).

    A token then hits with a chance that depends on whether the one before it did, and on nothing
    else. p_1 must not be 0.
    """
    p_1 = np.asarray(p_1, dtype=np.float64)
    return p_1 * np.power(np.asarray(p_2) / p_1, np.asarray(N) - 1)


def effective_tokens(p_N: ArrayLike, p_1: ArrayLike) -> NDArray[np.float64]:
    """log p_{N,k} / log p_{1,k}: for how many independent tokens a window counts; N under Eq. 7.

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
    chance[some] = np.exp(_log_choose(h[some], N) - _log_choose(n[some], N))
    return float(np.average(chance, weights=n - N + 1))


def _log_choose(n: NDArray[np.float64], N: int) -> NDArray[np.float64]:
    """log n! / (n - N)!, which is log C(n, N) but for N! (it cancels)."""
    return gammaln(n + 1) - gammaln(n - N + 1)


# -- how much a share rests on ----------------------------------------------------------------


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


# -- tables -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Windows:
    """p_{N,k} and what it rests on, and a line for each thing that was asked for and is not there.

    table: corpus, family, model, S (non-embedding parameters), k, N, windows, hits, p = p_{N,k},
    p_1 = RBP_k, p_2 and shuffled (NaN where not known), independent (Eq. 7), markov, effective
    (tokens), runs_low, runs_high (see `run_bounds`). Sorted by corpus, family, S, k, N.
    """

    table: pd.DataFrame
    missing: tuple[str, ...] = ()


def published_windows() -> Windows:
    """Figure 7 (ten Pythias on Wiki) with the counts behind its shares.

    windows is not printed in the paper: it is the smallest number that the shares of an N allow,
    at the precision of the reading. Shares read below paper.EMERGENCE_ZERO are zeros.
    """
    read = paper.emergence().rename(columns={"dataset": "corpus"}).assign(family="Pythia")
    read["p"] = read["p"].where(read["p"] >= paper.EMERGENCE_ZERO, 0.0)
    return _counted(read, READING)


def gpt2_windows() -> Windows:
    """p_{N,k} of the four GPT-2 models on Wiki in the authors' full precision, with the counts.

    p_2 was not published: the Markov chain cannot be computed (NaN).
    """
    wide = paper.gpt2_wiki_metrics().drop(columns="ce")
    long = wide.melt(["model", "S", "k"], var_name="N", value_name="p")
    long["N"] = long["N"].str.removeprefix("p_N").astype(np.int64)
    return _counted(long.assign(corpus="Wiki", family="GPT2"), 1e-12)


def _counted(table: pd.DataFrame, reading: float) -> Windows:
    """Published shares of one family on Wiki, with windows and hits worked out."""
    tokens = paper.token_counts().query("dataset == 'Wiki'").set_index("family")["tokens"]
    most = int(tokens[table["family"].iloc[0]])
    windows = {N: denominator(p[p > 0], most, reading) for N, p in table.groupby("N")["p"]}
    table["windows"] = table["N"].map(windows)
    table["hits"] = np.rint(table["p"] * table["windows"]).astype(np.int64)
    for N in (1, 2):
        one = table[table["N"] == N].set_index(["model", "k"])["p"].rename(f"p_{N}")
        table = table.join(one, on=["model", "k"])
    return Windows(_derived(table.assign(shuffled=np.nan), WIKI_LONGEST))


def measured_windows(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    Ns: Sequence[int],
    ks: Sequence[int],
) -> Windows:
    """p_{N,k} of every measured model of corpora x families, for Ns x ks.

    A (corpus, family) that was not measured, and an N that is not stored or longer than every
    document, is a line of `missing`. N = 1 and 2 are always added. InputError for k < 1.
    """
    every = list(summaries)
    rows, missing = [], []
    for corpus in corpora:
        for family in families:
            name = (corpus, family)
            chosen = [s for s in every if (s.manifest.corpus, s.manifest.family) == name]
            if not chosen:
                missing.append(f"not measured: {family} on {corpus}")
            for one in chosen:
                rows += _rows(one, sorted({1, 2, *Ns}), ks, missing)
    table = pd.DataFrame(rows, columns=[*COLUMNS, "longest"])
    table = table.astype({name: np.float64 for name in COLUMNS[-4:]})
    # pandas cannot join nothing; an empty table keeps its columns
    derived = [_derived(part, int(longest)) for longest, part in table.groupby("longest")]
    joined = pd.concat(derived) if derived else _derived(table, 1)
    order = ["corpus", "family", "S", "k", "N"]
    return Windows(joined.sort_values(order, ignore_index=True), tuple(dict.fromkeys(missing)))


def _rows(one: Summary, Ns: Sequence[int], ks: Sequence[int], missing: list[str]) -> list[tuple]:
    about = one.manifest
    there = [N for N in Ns if N in one.windows and one.windows[N].total]
    for N in sorted(set(Ns) - set(there)):
        reason = "no document is that long" if N in one.windows else "not in the summaries"
        missing.append(f"no windows of N = {N}: {about.family} on {about.corpus}: {reason}")
    longest = int(one.document_tokens.max())
    rows = []
    for k in ks:
        p_1 = one.success(1, k)
        p_2 = one.success(2, k) if 2 in there else np.nan
        for N in there:
            counted = one.windows[N]
            about_it = (about.corpus, about.family, about.model, about.S, k, N)
            hits = int(counted.at_most(k))
            share, mixed = counted.share(k), shuffled(one, N, k)
            rows.append((*about_it, counted.total, hits, share, p_1, p_2, mixed, longest))
    return rows


def _derived(table: pd.DataFrame, longest: int) -> pd.DataFrame:
    """With the columns that follow from COLUMNS."""
    order = ["corpus", "family", "S", "k", "N"]
    table = table[COLUMNS].sort_values(order, ignore_index=True)
    table["independent"] = independent(table["p_1"], table["N"])
    with np.errstate(invalid="ignore"):  # 0/0 where nothing hit: NaN
        table["markov"] = markov(table["p_1"], table["p_2"], table["N"])
    table["effective"] = effective_tokens(table["p"], table["p_1"])
    bounds = {}
    for _, part in table.groupby(["corpus", "family", "model", "k"]):
        hits = dict(zip(part["N"].tolist(), part["hits"].tolist(), strict=True))
        for row, N in part["N"].items():
            bounds[row] = run_bounds(hits, N, longest)
    table["runs_low"] = pd.Series({row: low for row, (low, _) in bounds.items()}, dtype="int64")
    table["runs_high"] = pd.Series({row: high for row, (_, high) in bounds.items()}, dtype="int64")
    return table


# -- the exponents printed in Figure 7 --------------------------------------------------------


def line(table: pd.DataFrame, k: int, N: int = 1) -> PowerLawFit:
    """The law of -log p_{N,k} in S for the models of one corpus and family in a `Windows.table`.

    At N = 1 it gives Eq. 8 its alpha and its c = exp(intercept). InputError as `fit_power_law`:
    a share of 0 has no place on it.
    """
    part = table[(table["k"] == k) & (table["N"] == N)].sort_values("S")
    with np.errstate(divide="ignore"):  # the fit names the point
        return fit_power_law(part["S"], -np.log(part["p"]), labels=list(part["model"]))


def fits_by_window(table: pd.DataFrame, clip: float = CLIP) -> pd.DataFrame:
    """The line of -log p_{N,k} on S for each k and N: k, N, zeros (raised to `clip`), alpha, R2.

    A series of zeros alone is level: alpha 0, and R2 counted as 1. Both are how the printed
    numbers seem to have been made, not how one should do it.
    """
    rows = []
    for (k, N), part in table.groupby(["k", "N"]):
        zeros = int((part["p"] == 0).sum())
        alpha, r2 = 0.0, 1.0
        if zeros < len(part):
            fitted = fit_power_law(part["S"], -np.log(part["p"].clip(lower=clip)))
            alpha, r2 = fitted.alpha, fitted.r2
        rows.append((k, N, zeros, alpha, r2))
    return pd.DataFrame(rows, columns=["k", "N", "zeros", "alpha", "R2"])


def annotations(table: pd.DataFrame, clip: float = CLIP) -> pd.DataFrame:
    """Means of `fits_by_window` over N: k, alpha, R2, and alpha_printed, r2_printed of Figure 7."""
    means = fits_by_window(table, clip).groupby("k")[["alpha", "R2"]].mean()
    printed = paper.emergence_fits().set_index("k")[["alpha_printed", "r2_printed"]]
    return means.join(printed).reset_index()
