"""How sure an exponent is, and at which k it is best known.

Two kinds of interval, never mixed:

    documents   these very models on other text like that which was scored: the bootstrap of
                `sections.bootstrap`, the same draws for every model of a corpus (paired).
    line        other models of the family on this very text: Student's t from the scatter about
                the line, as if residuals were independent and normal with one spread.

A published point has no documents to resample, so it has the second kind only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit.errors import InputError
from rbpkit.fit import Curve, PowerLawFit, ce_curve, fit_curves, fit_power_law, rbp_curve
from rbpkit.sections.b_table1 import relative_half_width
from rbpkit.stats.bootstrap import DRAWS, interval, resample
from rbpkit.stats.curves import measured_curves, models_of
from rbpkit.stats.misses import Misses, measured_misses
from rbpkit.summary import Summary

KS = (1, 10, 50, 100)
MEASURED_KS = (1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100, 200, 410, 886, 1438, 2500)


@dataclass(frozen=True, eq=False)
class Cell:
    """One law and its losses on resampled text.

    curve: the points (n,). tokens: (n,) scored tokens. draws: (B, n), the loss
    (-log RBP_k or CE in nats) on each resample; row b of all cells of a corpus is one resample.
    """

    curve: Curve
    tokens: np.ndarray
    draws: np.ndarray

    @property
    def fit(self) -> PowerLawFit:
        """The line through the points as measured."""
        return fit_power_law(self.curve.S, self.curve.loss, labels=self.curve.models)

    @property
    def alphas(self) -> np.ndarray:
        """(B,) exponents, one a resample."""
        dx = _centred(self.curve.S)
        return -np.log(self.draws) @ dx / (dx @ dx)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """cells: (corpus, family, quantity) -> its `Cell`. missing: a line for each without one."""

    cells: dict[tuple[str, str, str], Cell]
    missing: tuple[str, ...]


def bootstrap(measured: Iterable[Summary], ks: Sequence[int] = KS, draws: int = DRAWS) -> Bootstrap:
    """CE and -log RBP_k of every (corpus, family) on resamples of its text.

    Raises InputError as `sections.bootstrap.resample` and `fit.curve_of`. A law that cannot be
    fitted, or not on a resample, is in `missing`, with the reason.
    """
    every = list(measured)
    cells: dict[tuple[str, str, str], Cell] = {}
    missing: list[str] = []
    for corpus in dict.fromkeys(one.manifest.corpus for one in every):
        here = [one for one in every if one.manifest.corpus == corpus]
        families = dict.fromkeys(one.manifest.family for one in here)
        ladders = {family: models_of(here, corpus, family) for family in families}
        try:  # all families at once: their draws are the same
            drawn = resample([one for models in ladders.values() for one in models], ks, draws)
        except InputError as error:
            missing.append(f"{corpus}: {error}")
            continue
        first = 0
        for family, models in ladders.items():
            columns = slice(first, first + len(models))
            first += len(models)
            tokens = np.array([one.tokens for one in models])
            laws = [(ce_curve(models, corpus, family), drawn.ce[:, columns])]
            laws += [
                (rbp_curve(models, k, corpus, family), drawn.loss[:, columns, place])
                for place, k in enumerate(ks)
            ]
            for curve, loss in laws:
                cell = Cell(curve, tokens, loss)
                try:
                    _ = cell.fit
                    if not (np.isfinite(loss) & (loss > 0)).all():
                        raise InputError("RBP_k is 0 or 1 on a resample; score more documents")
                except InputError as error:
                    missing.append(f"{family}, {corpus}, {curve.quantity}: {error}")
                else:
                    cells[corpus, family, curve.quantity] = cell
    return Bootstrap(cells, tuple(missing))


def slope_table(boot: Bootstrap) -> pd.DataFrame:
    """alpha of every law with both intervals, 95%.

    Columns: corpus, family, quantity, n, alpha, documents_low, documents_high, documents_sd,
    line_low, line_high, R2, binomial_sd (of alpha, if tokens and models were all independent;
    missing for CE, which counts nothing).
    """
    rows = []
    for cell in boot.cells.values():
        rows.append((*interval(cell.alphas), cell.alphas.std(ddof=1), binomial_sd(cell)))
    names = ["documents_low", "documents_high", "documents_sd", "binomial_sd"]
    lines = line_table(cell.curve for cell in boot.cells.values())
    table = lines.join(pd.DataFrame(rows, columns=names))
    return table[[*lines.columns[:5], *names[:3], *lines.columns[5:], names[3]]]


def line_table(curves: Iterable[Curve]) -> pd.DataFrame:
    """alpha of curves without documents, such as published points: the second interval only.

    Columns: corpus, family, quantity, n, alpha, line_low, line_high, R2. InputError for a curve
    that cannot be fitted.
    """
    found = fit_curves(curves)
    if found.refused:
        raise InputError("; ".join(found.refused))
    table = found.table.assign(alpha=-found.table["slope"], line_low=-found.table["high"])
    table["line_high"] = -found.table["low"]
    return table[["corpus", "family", "quantity", "n", "alpha", "line_low", "line_high", "R2"]]


def binomial_sd(cell: Cell) -> float:
    """SD of alpha if every token of every model were an independent draw; nan for CE.

    For comparison: it leaves out that tokens of a document are alike (too narrow), and that the
    models are scored on the same tokens (too wide).
    """
    if cell.curve.quantity == "CE":
        return float("nan")
    p, dx = cell.curve.value, _centred(cell.curve.S)
    sd = np.sqrt((1 - p) / p / cell.tokens) / -np.log(p)  # of log(-log p), to first order
    return float(np.sqrt((dx * sd) @ (dx * sd)) / (dx @ dx))


def scatter_table(boot: Bootstrap) -> pd.DataFrame:
    """The scatter about each line beside the scatter that other text would give.

    Columns: corpus, family, quantity, n, residual_sd (of log loss about the line), documents_sd
    (what resampling documents gives it, paired: what moves all models alike along a line goes
    into the line), unpaired_sd (what it would give if each model had documents of its own), p
    (share of resamples that scatter at least as much as seen, were the models on a line exactly).
    All three by n - 2 degrees of freedom; 0.01 is 1% of the loss.
    """
    rows = []
    for about, cell in boot.cells.items():
        fit, x = cell.fit, np.log(cell.curve.S)
        free = fit.n - 2
        design = np.stack([np.ones(fit.n), x - x.mean()], axis=1)
        off = np.eye(fit.n) - design @ np.linalg.pinv(design)
        moved = np.log(cell.draws)
        moved = moved - moved.mean(axis=0)
        squares = ((moved @ off) ** 2).sum(axis=1)
        alone = np.diag(off) @ moved.var(axis=0)
        p = np.mean(squares >= fit.residual_sd**2 * free)
        spread = np.sqrt(squares.mean() / free), np.sqrt(alone / free)
        rows.append((*about, fit.n, fit.residual_sd, *spread, p))
    names = "corpus family quantity n residual_sd documents_sd unpaired_sd p"
    return pd.DataFrame(rows, columns=names.split())


def difference(first: Cell, second: Cell, level: float = 0.95) -> dict[str, float]:
    """alpha of `first` less alpha of `second`, two laws on one corpus, with both intervals.

    documents_low, documents_high: of the paired resamples. line_low, line_high: of the same
    models, the t interval of the line through the ratio of the losses (what disturbs a model
    disturbs both); of two families, Welch's. Raises InputError for cells of two corpora.
    """
    if first.curve.corpus != second.curve.corpus:
        raise InputError("exponents on two corpora share no documents: they are not paired")
    low, high = interval(first.alphas - second.alphas, level)
    one, other = first.fit, second.fit
    apart = one.alpha - other.alpha
    if first.curve.models == second.curve.models:
        ratio = first.curve.loss / second.curve.loss
        line_low, line_high = fit_power_law(first.curve.S, ratio, level=level).alpha_interval
    else:
        parts = np.array([one.slope_se, other.slope_se]) ** 2
        free = parts.sum() ** 2 / (parts**2 / [one.n - 2, other.n - 2]).sum()
        half = stdtrit(free, (1 + level) / 2) * np.sqrt(parts.sum())
        line_low, line_high = apart - half, apart + half
    found = {"difference": apart, "documents_low": low, "documents_high": high}
    return found | {"line_low": float(line_low), "line_high": float(line_high)}


def difference_table(boot: Bootstrap, between: str, level: float = 0.95) -> pd.DataFrame:
    """`difference` of every pair of exponents of one kind.

    between: "laws" (-log RBP_1 less CE, same models), "k" (each k less the one before it, same
    models) or "families" (each pair on a corpus, same quantity). Columns: corpus, family,
    quantity, then those of `difference`. Raises InputError for another kind.
    """
    if between not in ("laws", "k", "families"):
        raise InputError(f"between must be laws, k or families, not {between!r}")
    groups = list(dict.fromkeys((corpus, family) for corpus, family, _ in boot.cells))
    if between == "families":
        pairs = [(a, b) for a, b in combinations(boot.cells, 2) if a[::2] == b[::2]]
    elif between == "laws":
        pairs = [((*group, "RBP_1"), (*group, "CE")) for group in groups]
    else:
        pairs = []
        for group in groups:
            own = (q for *at, q in boot.cells if tuple(at) == group and q != "CE")
            ks = sorted(int(q.removeprefix("RBP_")) for q in own)
            pairs += [((*group, f"RBP_{b}"), (*group, f"RBP_{a}")) for a, b in pairwise(ks)]
    rows = []
    for a, b in pairs:
        if a in boot.cells and b in boot.cells:
            both = zip(a, b, strict=True)
            names = (one if one == other else f"{one} - {other}" for one, other in both)
            rows.append((*names, *difference(boot.cells[a], boot.cells[b], level).values()))
    ends = ["difference", "documents_low", "documents_high", "line_low", "line_high"]
    return pd.DataFrame(rows, columns=["corpus", "family", "quantity", *ends])


def excludes_zero(table: pd.DataFrame, kind: str) -> pd.Series:
    """Whether the interval of `kind` ("documents" or "line") of each difference excludes zero."""
    return (table[f"{kind}_low"] > 0) | (table[f"{kind}_high"] < 0)


def _centred(S: np.ndarray) -> np.ndarray:
    x = np.log(S)
    return x - x.mean()


# -- which k ---------------------------------------------------------------------------------

_TRADE = ["corpus", "family", "k", "n", "alpha", "R2", "width", "missed", "noise", "documents"]


def measured_trade(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    ks: Sequence[int] = MEASURED_KS,
    draws: int = DRAWS,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """`trade_row` of every (corpus, family, k) measured, and a line for each that is missing.

    Besides, `documents`: standard deviation of alpha over that many resamples of the text, over
    alpha; missing where k is not in the summaries' `k_grid` or a resample has no line.
    """
    every, rows, missing = list(summaries), [], []
    found = {
        k: measured_curves(every, corpora, families, lambda one, k=k: one.rbp(k), f"RBP_{k}")
        for k in ks
    }
    grid = set.intersection(*(set(one.k_grid.tolist()) for one in every)) if every else set()
    boot = bootstrap(every, [k for k in ks if k in grid], draws)
    for curves in found.values():
        missing += curves.missing
        for curve in curves.curves.values():
            row = trade_row(curve, measured_misses(every, curve))
            cell = boot.cells.get((curve.corpus, curve.family, curve.quantity))
            sd = np.nan if cell is None else cell.alphas.std(ddof=1)
            rows.append(row | {"documents": sd / abs(row["alpha"])})
    return pd.DataFrame(rows, columns=_TRADE), tuple(dict.fromkeys(missing))


def trade_row(curve: Curve, misses: Misses) -> dict[str, object]:
    """What a curve of RBP_k says of its k.

    corpus, family, k, n, alpha, R2, width (`relative_half_width`), missed (tokens that the largest
    model ranks past k), noise (standard error of that model's -log RBP_k over itself, as if its
    tokens were independent).
    """
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
