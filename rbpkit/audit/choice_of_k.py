"""Which k to take: straightness, a narrow exponent, tokens enough, and what one more k costs.

The relative width of an exponent's t interval follows from R2 and n alone,
t sqrt((1 / R2 - 1) / (n - 2)), so the straightest line also has the best-known exponent, and
Table 1 says how wide each of its intervals is though it prints none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit import paper
from rbpkit.audit.resampling import document_weights
from rbpkit.curves import Curve, ladder, points
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.largek import measured_misses, published_misses
from rbpkit.sources import measured_curves, published_curves
from rbpkit.summary import Summary

PUBLISHED_KS = (1, 10, 50, 100, 20_000, 30_000)
KS = (1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100, 200, 410, 886, 1438, 2500)
DRAWS = 300

_COLUMNS = ["corpus", "family", "k", "n", "alpha", "R2", "width", "missed", "noise"]


def relative_half_width(r2: float | np.ndarray, n: int | np.ndarray, level: float = 0.95):
    """Half the t interval of an exponent over the exponent, from R2 and the n of the line.

    1 or more: the interval holds zero. Floats or arrays. Raises InputError for n < 3, or R2
    outside 0 to 1 (0 gives inf, 1 gives 0).
    """
    r2, n = np.asarray(r2, dtype=np.float64), np.asarray(n)
    if n.size == 0 or n.min() < 3 or not ((r2 >= 0) & (r2 <= 1)).all():
        raise InputError("R2 must be 0 to 1, and n at least 3")
    with np.errstate(divide="ignore"):
        found = stdtrit(n - 2, (1 + level) / 2) * np.sqrt((1 / r2 - 1) / (n - 2))
    return float(found) if found.ndim == 0 else found


def published_trade() -> pd.DataFrame:
    """The points of Figures 3 to 5: a row a (corpus, family, k).

    Columns: corpus, family, k, n, alpha, R2, width (`relative_half_width`), missed (tokens that
    the largest model ranks past k, by the inferred token counts), noise (standard error of the
    largest model's -log RBP_k over itself, as if its tokens were independent).
    """
    curves = [curve for k in PUBLISHED_KS for curve in published_curves(k).values()]
    return pd.DataFrame(
        [_row(curve, published_misses(curve)) for curve in curves], columns=_COLUMNS
    )


def measured_trade(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    ks: Sequence[int] = KS,
    draws: int = 0,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The same of what was measured, and a line for each that is missing, with the reason.

    With draws > 0 also `documents`: standard deviation of alpha over resampled documents (the same
    for all models of a line), over alpha; missing where k is not in the summaries' `k_grid` or a
    resample leaves no line.
    """
    every, rows, missing = list(summaries), [], []
    spread = {
        (corpus, family): _document_sds(every, corpus, family, ks, draws) if draws else {}
        for corpus in corpora
        for family in families
    }
    for k in ks:
        found = measured_curves(every, corpora, families, lambda one, k=k: one.rbp(k), f"RBP_{k}")
        missing += found.missing
        for curve in found.curves.values():
            row = _row(curve, measured_misses(every, curve))
            if draws:
                sd = spread[curve.corpus, curve.family].get(k, np.nan)
                row["documents"] = sd / abs(row["alpha"])
            rows.append(row)
    names = [*_COLUMNS, "documents"] if draws else _COLUMNS
    return pd.DataFrame(rows, columns=names), tuple(dict.fromkeys(missing))


def _row(curve: Curve, misses) -> dict[str, object]:
    line = fit_power_law(curve.S, curve.loss, labels=curve.models)
    share, T = curve.value[-1], misses.tokens[-1]
    return {
        "corpus": curve.corpus,
        "family": curve.family,
        "k": int(curve.quantity.removeprefix("RBP_")),
        "n": line.n,
        "alpha": line.alpha,
        "R2": line.r2,
        "width": relative_half_width(line.r2, line.n),
        "missed": int(misses.missed[-1]),
        # The error of log p is sqrt((1 - p) / (p T)).
        "noise": float(np.sqrt((1 - share) / (share * T)) / curve.loss[-1]),
    }


def _document_sds(
    summaries: list[Summary], corpus: str, family: str, ks: Sequence[int], draws: int
) -> dict[int, float]:
    """k -> standard deviation of the slope over resampled documents, the same for each model."""
    models = ladder(summaries, corpus, family)
    if not models:
        return {}
    known = [k for k in ks if all(k in one.k_grid for one in models)]
    # As floats, exact here, the products go through BLAS.
    weights = document_weights(models[0].document.size, draws).astype(np.float64)
    losses = []
    for one in models:
        hits = one.document_hits[:, np.searchsorted(one.k_grid, known)].astype(np.float64)
        tokens = weights @ one.document_tokens.astype(np.float64)
        with np.errstate(divide="ignore"):
            losses.append(-np.log(weights @ hits / tokens[:, None]))
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(np.array(losses))  # (models, draws, k); not finite where a share is 0 or 1
        dx = np.log([one.manifest.S for one in models])
        dx -= dx.mean()
        slopes = np.tensordot(dx, y, axes=1) / (dx @ dx)
        spread = np.where(np.isfinite(slopes).all(axis=0), slopes.std(axis=0, ddof=1), np.nan)
    return dict(zip(known, spread.tolist(), strict=True))


def table1_trade() -> pd.DataFrame:
    """Table 1 by its rows: k ("CE" or a number), n (cells), R2_lowest, R2, width, widest, wide.

    R2, width: medians of the cells; widest: the widest; wide: cells whose interval holds zero.
    Printed R2 have three decimals, so a width below 0.05 is rough, and a cell with slope 0 is left
    out: it is no fit.
    """
    table = paper.table1()
    sizes = paper.models().groupby("family").size()
    table = table[table["slope"] != 0]
    width = relative_half_width(table["r2"].to_numpy(), table["family"].map(sizes).to_numpy())
    groups = table.assign(width=width).groupby("k", sort=False)
    return groups.agg(
        n=("r2", "size"),
        R2_lowest=("r2", "min"),
        R2=("r2", "median"),
        width=("width", "median"),
        widest=("width", "max"),
        wide=("width", lambda column: int((column >= 1).sum())),
    ).reset_index()


def by_k(trade: pd.DataFrame) -> pd.DataFrame:
    """A `*_trade` table summed up by k: lines, falling (alpha > 0), R2_lowest, and medians.

    Medians over lines of R2, alpha, width, missed, noise, and documents where the table has it.
    """
    groups = trade.groupby("k")
    found = groups.agg(lines=("alpha", "size"), falling=("alpha", lambda a: int((a > 0).sum())))
    found["R2_lowest"] = groups["R2"].min()
    for name in ("R2", "alpha", "width", "missed", "noise", "documents"):
        if name in trade:
            found[name] = groups[name].median()
    return found.reset_index()


def best_k(trade: pd.DataFrame, within: float = 1.1) -> tuple[int, list[int]]:
    """The k with the least median width, and all k whose median is within a factor of it.

    Only k at which every line of the table is there and falls. Raises InputError where none is.
    """
    table = by_k(trade)
    full = table[(table["lines"] == table["lines"].max()) & (table["falling"] == table["lines"])]
    if full.empty:
        raise InputError("at no k does every line fall: there is no best k")
    least = full.loc[full["width"].idxmin()]
    near = full[full["width"] <= within * least["width"]]
    return int(least["k"]), near["k"].astype(int).tolist()


def every_k(summary: Summary) -> np.ndarray:
    """RBP_k at k = 1, ..., V, (V,), from the summary's histogram of ranks: no model, no records."""
    return np.asarray(summary.rbp(np.arange(1, summary.manifest.V + 1)))


def cost_table(summaries: Iterable[Summary], corpus: str, family: str) -> pd.DataFrame:
    """What is kept to have RBP at every k: model, tokens, ranks (distinct ones seen), k (V), bytes.

    bytes: of the summary as a file, windows and documents included. InputError as `points`.
    """
    every = list(summaries)
    models = points(every, corpus, family, lambda one: one.rbp(1), "RBP_1").models
    rows = [
        (name, one.tokens, one.ranks.values.size, every_k(one).size, len(one.to_bytes()))
        for name in models
        for one in every
        if (one.manifest.model, one.manifest.corpus) == (name, corpus)
    ]
    return pd.DataFrame(rows, columns=["model", "tokens", "ranks", "k", "bytes"])
