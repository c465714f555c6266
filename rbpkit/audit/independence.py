"""Are the tokens of a window independent (Section 5.1, Eq. 6), and if not, where is the bond?

Two tables of one job's records: p_{N,k} against RBP_k^N with intervals and how few documents the
hits come from, and the correlation of ranks and hits by lag, in a part between documents (what is
left if each document's tokens are shuffled) and a part within them (what goes by order).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from rbpkit import emergence
from rbpkit.audit.resampling import DRAWS, document_weights, interval
from rbpkit.audit.verdicts import Finding
from rbpkit.records import Records
from rbpkit.summary import Summary, document_index, window_maxima

WINDOW_N = (1, 2, 5, 10, 20, 50)
KS = (1, 10, 100)
LAGS = (1, 2, 3, 4, 5, 10, 20, 50)
JUDGED = 10  # the N of the claim; the hits of longer windows come from single documents
ALL_RANKS = "rank"  # the quantity of a Spearman correlation, beside "hit 1", "hit 10", ...
PARTS = ("total", "within", "within_low", "within_high")
PARTS += ("between", "between_low", "between_high")
MEDIANS_OF_ENDS = "; interval: medians of the cells' ends (documents resampled, these models)"
JOB = ["corpus", "family", "model"]


# -- one job -----------------------------------------------------------------------------------


def windows_table(
    records: Records,
    Ns: Sequence[int] = WINDOW_N,
    ks: Sequence[int] = KS,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """p_{N,k} of one job and what it rests on, a row for each N that a document has, and k.

    Columns: N, k, windows and documents (with at least one window), hits and hit_documents (with
    at least one hit), half_documents (the fewest that hold half of the hits), p, p_low, p_high,
    ratio = log p_{N,k} / (N log RBP_k), ratio_low, ratio_high. The ratio is 1 under Eq. 6; it is
    inf where nothing hits, NaN where RBP_k is 0 or 1. Intervals: 95%, bootstrap over documents,
    p_{N,k} and RBP_k of the same draw; for this model and text like this one. NaN where a draw has
    no window.
    """
    numbers, index = document_index(records.document)
    weights = document_weights(numbers.size, draws, seed).astype(np.float64)
    singles = _per_document(records, index, numbers.size, 1, ks)
    rows = []
    for N in Ns:
        windows, hits = _per_document(records, index, numbers.size, N, ks)
        if not windows.any():
            continue
        for j, k in enumerate(ks):
            one = (windows, hits[:, j], singles[0], singles[1][:, j])
            p, ratio = (float(value[0]) for value in _ratio(np.ones((1, numbers.size)), N, *one))
            p_ends, ratio_ends = (_ends(value) for value in _ratio(weights, N, *one, inverse=True))
            counts = _concentration(windows, hits[:, j])
            # inf is the ratio of no hits at all: it is bounded through its inverse
            low, high = (np.inf if end == 0 else 1 / end for end in reversed(ratio_ends))
            rows.append((N, k, *counts, p, *p_ends, ratio, low, high))
    names = "N k windows documents hits hit_documents half_documents p p_low p_high"
    return pd.DataFrame(rows, columns=[*names.split(), "ratio", "ratio_low", "ratio_high"])


def _per_document(
    records: Records, index: np.ndarray, D: int, N: int, ks: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Windows of N (D,) and those that hit at each k (D, K), by document."""
    ((_, largest),) = window_maxima(records.rank(), records.document, records.position, (N,))
    at = index[: max(index.size - N + 1, 0)][_adjacent(records, N - 1)]
    hits = [np.bincount(at[largest <= k], minlength=D) for k in ks]
    return np.bincount(at, minlength=D), np.stack(hits, axis=1)


def _adjacent(records: Records, lag: int) -> np.ndarray:
    """(T - lag,) whether token i + lag is that far behind token i, in the same document."""
    first = slice(0, max(records.tokens - lag, 0))
    same = records.document[first] == records.document[lag:]
    return same & (records.position[lag:] - records.position[first] == lag)


def _ratio(
    weights: np.ndarray,
    N: int,
    windows: np.ndarray,
    hits: np.ndarray,
    tokens: np.ndarray,
    token_hits: np.ndarray,
    inverse: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """p_{N,k} and the ratio (or 1 / ratio) of each row of weights (draws, D)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (weights @ hits) / (weights @ windows)
        up, down = np.log(p), N * np.log((weights @ token_hits) / (weights @ tokens))
        return p, down / up if inverse else up / down


def _ends(values: np.ndarray) -> tuple[float, float]:
    return interval(values) if np.isfinite(values).all() else (np.nan, np.nan)


def _concentration(windows: np.ndarray, hits: np.ndarray) -> tuple[int, int, int, int, int]:
    """Windows, documents that have one, hits, documents that have one, documents for half."""
    total, most_first = int(hits.sum()), np.sort(hits)[::-1]
    half = int(np.searchsorted(2 * np.cumsum(most_first), total)) + 1 if total else 0
    return int(windows.sum()), int((windows > 0).sum()), total, int((hits > 0).sum()), half


def lags_table(
    records: Records,
    lags: Sequence[int] = LAGS,
    ks: Sequence[int] = KS,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlation of a token with the one `lag` further on, inside documents: where it comes from.

    Columns: quantity ("rank": of R by ranks, Spearman's; "hit k": of R <= k), lag, pairs,
    documents (with a pair), total, then within and between with _low and _high; to four decimals.

    between: what would be left on average if each document's tokens were shuffled. It keeps that
    documents differ, without the noise of a short document's mean. within = total - between: about
    the document's own mean, and 0 on average when order says nothing. Order counts as between by
    its mean over all pairs of a document: 2 r / n for neighbours that correlate by r in n tokens.

    Documents weigh as they have pairs. Intervals: 95%, bootstrap over documents. NaN where nothing
    varies.
    """
    numbers, index = document_index(records.document)
    D, rank = numbers.size, records.rank()
    weights = document_weights(D, draws, seed).astype(np.float64)
    every = np.vstack([np.ones((1, D)), weights])
    quantities = {ALL_RANKS: rankdata(rank) / records.tokens}  # once: the draws keep these ranks
    quantities |= {f"hit {k}": (rank <= k).astype(np.float64) for k in ks}
    rows = []
    for name, x in quantities.items():
        x = x - x.mean()
        for lag in lags:
            both = np.flatnonzero(_adjacent(records, lag))
            if not both.size:
                continue
            pairs = np.bincount(index[both], minlength=D)
            total, *parts = _parts(every @ _sums(x, index, both, lag, pairs))
            values = [total[0], *(value for part in parts for value in (part[0], *_ends(part[1:])))]
            counts = both.size, int((pairs > 0).sum())
            rows.append((name, lag, *counts, *(round(float(value), 4) for value in values)))
    return pd.DataFrame(rows, columns=["quantity", "lag", "pairs", "documents", *PARTS])


def _sums(
    x: np.ndarray, index: np.ndarray, both: np.ndarray, lag: int, pairs: np.ndarray
) -> np.ndarray:
    """(D, 6) by document: pairs; times mean, second moment, mean of shuffled products of x; then
    over pairs of x_t + x_{t+lag} and of x_t x_{t+lag}. All add up over documents."""
    D = pairs.size
    n = np.bincount(index, minlength=D).astype(np.float64)
    s, s2 = (np.bincount(index, weights=v, minlength=D) for v in (x, x * x))
    # Of all ordered pairs of different tokens of the document; one token alone has no pair
    mixed = (s * s - s2) / np.maximum(n * (n - 1), 1)
    here, there = x[both], x[both + lag]
    added, product = (
        np.bincount(index[both], weights=v, minlength=D) for v in (here + there, here * there)
    )
    return np.stack([pairs, pairs * s / n, pairs * s2 / n, pairs * mixed, added, product], axis=1)


def _parts(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """total, within, between of rows of added-up `_sums`, (draws, 6)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, second, mixed, added, product = (sums[:, 1:] / sums[:, :1]).T
        variance = second - mean**2
        total = (product - mean * added + mean**2) / variance
        between = (mixed - mean**2) / variance
    return total, total - between, between


TABLES = {"windows": windows_table, "lags": lags_table}


# -- all jobs ----------------------------------------------------------------------------------


def published_ratios(Ns: Sequence[int] = WINDOW_N) -> pd.DataFrame:
    """Figure 7 (Pythia) and the authors' GPT-2 shares on Wiki: corpus, family, model, S, k, N, p,
    p_1, hits, runs_low, runs_high, effective and ratio = effective / N (inf where nothing hit)."""
    both = (emergence.published_windows().table, emergence.gpt2_windows().table)
    return with_ratio(pd.concat(both, ignore_index=True), Ns)


def with_ratio(table: pd.DataFrame, Ns: Sequence[int] = WINDOW_N) -> pd.DataFrame:
    """`emergence.Windows.table` at some N, with ratio = log p_{N,k} / (N log RBP_k)."""
    table = table[table["N"].isin(Ns)].reset_index(drop=True)
    ratio = table["effective"] / table["N"]
    none = (table["p"] == 0) & (table["p_1"] > 0)
    return table.assign(ratio=ratio.where(~none, np.inf))


def ratio_medians(windows: pd.DataFrame, by: Sequence[str] = ("corpus", "k", "N")) -> pd.DataFrame:
    """Medians over jobs of the table `windows`: by, jobs, ratio, low, high, half_documents, hits.

    low and high are medians of the jobs' interval ends: the interval of the median if all jobs
    moved together from draw to draw, and wider than it if they do not.
    """
    columns = {"ratio": "ratio", "low": "ratio_low", "high": "ratio_high"}
    columns |= {"half_documents": "half_documents", "hits": "hits"}
    # a missing interval counts as one without an end
    open_ended = windows.fillna({"ratio_low": 0.0, "ratio_high": np.inf})
    groups = open_ended.groupby(list(by), sort=False)
    found = groups.agg(**{name: (column, "median") for name, column in columns.items()})
    found.insert(0, "jobs", groups.size())
    return found.reset_index()


def lag_medians(lags: pd.DataFrame) -> pd.DataFrame:
    """Medians over the models of a corpus of the table `lags`: corpus, quantity, lag,
    models, then total, within, between and the medians of their ends (see `ratio_medians`)."""
    groups = lags.groupby(["corpus", "quantity", "lag"], sort=False)
    found = groups[list(PARTS)].median()
    found.insert(0, "models", groups.size())
    return found.reset_index()


def findings_independence(
    summaries: Iterable[Summary], windows: pd.DataFrame | None = None
) -> list[Finding]:
    """windows-are-independent on both sources, at N = 10.

    windows: the table of all jobs. It gives the pocket finding an interval, wider than the 95% one
    of the median for these models (see `ratio_medians`); without the table there is none.
    """
    ten = published_ratios((JUDGED,))
    found = [_finding("published", ten, None)]
    every = list(summaries)
    corpora = list(dict.fromkeys(one.manifest.corpus for one in every))
    families = list(dict.fromkeys(one.manifest.family for one in every))
    table = emergence.measured_windows(every, corpora, families, (JUDGED,), KS).table
    ours = with_ratio(table, (JUDGED,))
    # Infinite where no window of ten hits; with too many of them there is no median.
    if len(ours) and np.isfinite(float(ours["ratio"].median())):
        found.append(_finding("pocket", ours, windows))
    return found


def _finding(source: str, ten: pd.DataFrame, windows: pd.DataFrame | None) -> Finding:
    some = ten[ten["ratio"].notna()]
    value, within = float(some["ratio"].median()), some["ratio"].between(0.95, 1.05)
    low = high = None
    if windows is not None and len(windows):
        part = windows[windows["N"] == JUDGED].merge(some[[*JOB, "k"]], on=[*JOB, "k"])
        if len(part) == len(some):
            (ends,) = ratio_medians(part, ["N"]).itertuples()
            if np.isfinite(ends.high):
                low, high = float(ends.low), float(ends.high)
    where = "; ".join(f"k = {k}: {r:.2f}" for k, r in some.groupby("k")["ratio"].median().items())
    spread = f"{some['ratio'].min():.2f} to {some['ratio'].replace(np.inf, np.nan).max():.2f}"
    return Finding(
        claim="windows-are-independent",
        source=source,
        value=value,
        n=len(some),
        of="(model, k), Wiki" if source == "published" else "(corpus, model, k)",
        low=low,
        high=high,
        when=f"in {within.sum()} of {len(some)} cells",
        note=f"from {spread}; medians at {where}" + (MEDIANS_OF_ENDS if low is not None else ""),
    )
