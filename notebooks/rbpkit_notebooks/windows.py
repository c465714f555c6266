"""Windows of N consecutive tokens with every rank at most k (Section 5.1, Eqs. 6 to 8, Figure 7).

p_{N,k} is the share of such windows. A table of windows has one row for each model, k and N, sorted
by corpus, family, S, k and N. Its columns:

- corpus, family, model, S (non-embedding parameters), k, N
- windows: how many there are; hits: how many of them have every rank at most k
- p: p_{N,k} = hits / windows
- p_1: RBP_k
- independent: RBP_k^N, of Eq. 6
- effective: log p / log p_1 (`effective_tokens`)
- runs_low, runs_high: bounds of the number of separate runs (`run_bounds`)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Array, models_of
from rbpkit.summary import Summary

# How far a share read from a figure can be from its fraction: half of the sixth decimal, and some.
READING = 6e-7
# Scored tokens of a document truncated at 512, as in the paper: the first is never scored.
WIKI_LONGEST = 511
MIN_RUNS = 5  # fewer separate runs of hits are too few to judge a share by
_MEASURED = "corpus family model S k N windows hits p p_1".split()
_SHARES = ["p", "p_1"]
_ORDER = ["corpus", "family", "S", "k", "N"]


def effective_tokens(p_N: ArrayLike, p_1: ArrayLike) -> Array:
    """log p_{N,k} / log p_{1,k}: for how many independent tokens a window counts; N under Eq. 6.

    NaN if p_{N,k} is 0, or if p_{1,k} is 1 and nothing can be told.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(p_N) / np.log(p_1)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def effective_of_ten() -> pd.Series:
    """The effective tokens of windows of ten: of Figure 7's ten Pythias, then of four GPT-2 models.

    All are of Wikipedia, at each k that the paper has.
    """
    of_pythia = published_windows().query("N == 10")["effective"]
    gpt2 = paper.table("gpt2_wiki_metrics")
    of_gpt2 = effective_tokens(gpt2["p_N10"], gpt2["p_N1"])
    return pd.concat([of_pythia, pd.Series(of_gpt2)], ignore_index=True)


def denominator(shares: ArrayLike, most: int, reading: float = READING) -> int:
    """The smallest W <= most of which all shares (n,) can be whole multiples of 1/W.

    reading: how far a share may be from its fraction. InputError when no W fits.
    """
    shares = np.asarray(shares, dtype=np.float64)
    candidates = np.arange(1, most + 1, dtype=np.float64)
    for share in shares:
        counts = share * candidates
        off = np.abs(counts - np.rint(counts))
        # 1e-6: rounding of a product near 3e5 in double precision, with much to spare
        candidates = candidates[off <= reading * candidates + 1e-6]
    if not candidates.size:
        raise InputError(f"no number of windows up to {most} fits these {shares.size} shares")
    return int(candidates[0])


def run_bounds(hits: Mapping[int, int], N: int, longest: int) -> tuple[int, int]:
    """Least and greatest number of separate runs of N or more hits, from how many windows hit.

    hits: N -> how many windows of N tokens hit throughout. longest: scored tokens of the longest
    document. A run of L tokens holds L - N + 1 such windows, so hits(N) is the sum over n >= N of
    the runs of at least n, a number that cannot grow with n. Neighbouring N bound it on both sides.
    """
    if not hits[N]:
        return 0, 0
    longer = min((n for n in hits if n > N), default=None)
    shorter = max((n for n in hits if n < N), default=None)

    # hits(N) - hits(longer) is a sum of longer - N numbers, of which the first is the largest.
    if longer is None:
        terms, total = longest + 1 - N, hits[N]
    else:
        terms, total = longer - N, hits[N] - hits[longer]
    low = max(1, -(-total // terms))  # rounded up

    # hits(shorter) - hits(N) is a sum of N - shorter numbers, each at least the one asked for.
    high = hits[N]  # a run has a window
    if shorter is not None:
        high = min(high, (hits[shorter] - hits[N]) // (N - shorter))
    return low, high


def published_windows() -> pd.DataFrame:
    """Figure 7 (ten Pythias on Wiki) as a table of windows, with the counts behind its shares.

    windows is not printed in the paper: it is the smallest number that the shares of an N allow,
    at the precision of the reading. Shares read below paper.EMERGENCE_ZERO are zeros.
    """
    table = paper.table("emergence").rename(columns={"dataset": "corpus"})
    table["p"] = table["p"].where(table["p"] >= paper.EMERGENCE_ZERO, 0.0)
    of_pythia = paper.table("token_counts").query("dataset == 'Wiki' and family == 'Pythia'")
    most = int(of_pythia["tokens"].iloc[0])
    windows = {N: denominator(p[p > 0], most) for N, p in table.groupby("N")["p"]}
    table["windows"] = table["N"].map(windows)
    table["hits"] = np.rint(table["p"] * table["windows"]).astype(np.int64)
    single = table[table["N"] == 1].set_index(["model", "k"])
    table = table.join(single["p"].rename("p_1"), on=["model", "k"])
    return _derived(table.assign(family="Pythia", longest=WIKI_LONGEST))


def measured_windows(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    Ns: Sequence[int],
    ks: Sequence[int],
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table of windows of every measured model of corpora x families, and what is missing.

    Missing: a line for a (corpus, family) that was not measured, and for an N that is not stored
    or longer than every document. N = 1 is always added. InputError for k < 1.
    """
    summaries = list(summaries)
    Ns = sorted({1, *Ns})
    rows, missing = [], []
    for corpus, family in product(corpora, families):
        models = models_of(summaries, corpus, family)
        if not models:
            missing.append(f"not measured: {family} on {corpus}")
        for model in models:
            counted = []
            for N in Ns:
                absent = f"no windows of N = {N}: {family} on {corpus}"
                if N not in model.windows:
                    missing.append(f"{absent}: not in the summaries")
                elif not model.windows[N].total:
                    missing.append(f"{absent}: no document is that long")
                else:
                    counted.append(N)
            rows += _rows_of(model, counted, ks)
    table = pd.DataFrame(rows, columns=[*_MEASURED, "longest"])
    table = table.astype(dict.fromkeys(_SHARES, np.float64))
    each_once = tuple(dict.fromkeys(missing))  # all models of a family miss the same
    return _derived(table), each_once


def _rows_of(model: Summary, Ns: Sequence[int], ks: Sequence[int]) -> list[tuple]:
    """The rows of one model: what `_MEASURED` names, and the longest document."""
    manifest = model.manifest
    about = (manifest.corpus, manifest.family, manifest.model, manifest.S)
    longest = int(model.document_tokens.max())
    rows = []
    for k, N in product(ks, Ns):
        windows = model.windows[N]
        hits = int(windows.at_most(k))
        shares = (windows.share(k), model.success(1, k))
        rows.append((*about, k, N, windows.total, hits, *shares, longest))
    return rows


def _derived(table: pd.DataFrame) -> pd.DataFrame:
    """A table of windows from what was measured and `longest`, the tokens of the longest document.

    All of its rows of one corpus, family, model and k bound the runs of each other.
    """
    table = table[[*_MEASURED, "longest"]].sort_values(_ORDER, ignore_index=True)
    table["independent"] = table["p_1"] ** table["N"]
    table["effective"] = effective_tokens(table["p"], table["p_1"])
    bounds = pd.DataFrame(index=table.index, columns=["runs_low", "runs_high"], dtype=np.float64)
    for _, part in table.groupby(["corpus", "family", "model", "k"]):
        hits = dict(zip(part["N"].tolist(), part["hits"].tolist(), strict=True))
        longest = int(part["longest"].iloc[0])
        bounds.loc[part.index] = [run_bounds(hits, N, longest) for N in hits]
    return table.drop(columns="longest").join(bounds.astype(np.int64))
