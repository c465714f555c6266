"""How sure an exponent is: for these models by other documents, for the family by other models.

Two kinds of interval, never mixed:

    documents   these very models on other documents like those that were scored: a bootstrap over
                documents, the same draws for every model of a corpus (paired).
    line        other models of the family on these very documents: Student's t from the scatter
                about the line, as if residuals were independent and normal with one spread.

A published point has no documents to resample, so it has the second kind only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit.audit.resampling import DRAWS, document_weights, interval
from rbpkit.curves import Curve, ce_curve, ladder, rbp_curve
from rbpkit.errors import InputError
from rbpkit.fit import PowerLawFit, fit_power_law
from rbpkit.summary import Summary

KS = (1, 10, 50, 100)


@dataclass(frozen=True, eq=False)
class Cell:
    """One law, refitted on resampled documents.

    curve: the points (n,). tokens: (n,) scored tokens. draws: (B, n), the loss (-log RBP_k or CE
    in nats) of each model on each resample; row b of all cells of a corpus is the same resample.
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


def bootstrap(
    measured: Iterable[Summary], ks: Sequence[int] = KS, draws: int = DRAWS, seed: int = 0
) -> Bootstrap:
    """CE and -log RBP_k of every (corpus, family), on `draws` resamples of the documents.

    A document is drawn for all models of its corpus at once. Raises InputError for a k that is
    not on a summary's grid, for families of one corpus that were measured on different text, and
    as `curves.points`. A law that cannot be fitted is in `missing`, with the reason.
    """
    every = list(measured)
    cells: dict[tuple[str, str, str], Cell] = {}
    missing: list[str] = []
    for corpus in dict.fromkeys(one.manifest.corpus for one in every):
        here = [one for one in every if one.manifest.corpus == corpus]
        if len({one.manifest.fingerprint for one in here}) > 1:
            raise InputError(
                f"{corpus}: its families were measured on different text; measure them alike"
            )
        numbers = np.unique(np.concatenate([one.document for one in here]))
        if numbers.size < 2:
            missing.append(f"{corpus}: one document, so none to resample")
            continue
        weights = document_weights(numbers.size, draws, seed).astype(np.float64)
        for family in dict.fromkeys(one.manifest.family for one in here):
            chosen = ladder(here, corpus, family)
            tokens = np.array([one.tokens for one in chosen])
            for curve, loss in _losses(chosen, corpus, family, ks, numbers, weights):
                cell = Cell(curve, tokens, loss)
                try:
                    _ = cell.fit
                    if not (np.isfinite(np.log(loss)).all()):
                        raise InputError("RBP_k is 0 or 1 on a resample; score more documents")
                except InputError as error:
                    missing.append(f"{family}, {corpus}, {curve.quantity}: {error}")
                else:
                    cells[corpus, family, curve.quantity] = cell
    return Bootstrap(cells, tuple(missing))


def _losses(
    chosen: Sequence[Summary],
    corpus: str,
    family: str,
    ks: Sequence[int],
    numbers: np.ndarray,
    weights: np.ndarray,
) -> Iterator[tuple[Curve, np.ndarray]]:
    """Each law's curve and its losses (B, n) on the resamples."""
    for one in chosen:
        lost = sorted(set(ks) - set(one.k_grid.tolist()))
        if lost:
            raise InputError(f"{one.manifest.model}: no hits by document at k = {lost[0]}")
    rows = [weights[:, np.searchsorted(numbers, one.document)] for one in chosen]
    pairs = list(zip(rows, chosen, strict=True))
    tokens = np.stack([row @ one.document_tokens for row, one in pairs], axis=1)
    nll = np.stack([row @ one.document_nll for row, one in pairs], axis=1)
    yield ce_curve(chosen, corpus, family), nll / tokens
    columns = [np.searchsorted(one.k_grid, ks) for one in chosen]
    hits = np.stack(
        [row @ one.document_hits[:, c] for (row, one), c in zip(pairs, columns, strict=True)],
        axis=1,
    )  # (B, n, K)
    with np.errstate(divide="ignore"):
        for place, k in enumerate(ks):
            yield rbp_curve(chosen, k, corpus, family), np.abs(np.log(hits[:, :, place] / tokens))


def slope_table(boot: Bootstrap, level: float = 0.95) -> pd.DataFrame:
    """alpha of every law with both intervals at `level`.

    Columns: corpus, family, quantity, n, alpha, documents_low, documents_high, documents_sd,
    line_low, line_high, R2, binomial_sd (of alpha, if tokens and models were all independent;
    missing for CE, which counts nothing).
    """
    rows = []
    for (corpus, family, quantity), cell in boot.cells.items():
        curve, alphas = cell.curve, cell.alphas
        fit = fit_power_law(curve.S, curve.loss, level=level, labels=curve.models)
        low, high = interval(alphas, level)
        line_low, line_high = fit.alpha_interval
        row = {"corpus": corpus, "family": family, "quantity": quantity, "n": fit.n}
        row |= {"alpha": fit.alpha, "documents_low": low, "documents_high": high}
        row |= {"documents_sd": alphas.std(ddof=1), "line_low": line_low, "line_high": line_high}
        rows.append(row | {"R2": fit.r2, "binomial_sd": binomial_sd(cell)})
    return pd.DataFrame(rows)


def line_table(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """alpha of curves without documents, such as published points: the second interval only.

    Columns: corpus, family, quantity, n, alpha, line_low, line_high, R2. InputError as
    `fit_power_law`.
    """
    rows = []
    for curve in curves:
        fit = fit_power_law(curve.S, curve.loss, level=level, labels=curve.models)
        low, high = fit.alpha_interval
        row = {"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity}
        row |= {"n": fit.n, "alpha": fit.alpha, "line_low": low, "line_high": high}
        rows.append(row | {"R2": fit.r2})
    return pd.DataFrame(rows)


def binomial_sd(cell: Cell) -> float:
    """SD of alpha if every token of every model were an independent draw; nan for CE.

    The naive way, for comparison: it leaves out that tokens of a document are alike (too narrow)
    and that the models are scored on the same tokens (too wide).
    """
    if cell.curve.quantity == "CE":
        return float("nan")
    p, dx = cell.curve.value, _centred(cell.curve.S)
    sd = np.sqrt((1 - p) / p / cell.tokens) / -np.log(p)  # of log(-log p), to first order
    return float(np.sqrt((dx * sd) @ (dx * sd)) / (dx @ dx))


def scatter_table(boot: Bootstrap) -> pd.DataFrame:
    """Is the scatter about the line more than other documents would give?

    Columns: corpus, family, quantity, n, residual_sd (of log loss about the line), documents_sd
    (what resampling documents gives it, paired: what moves all models alike along a line goes
    into the line), unpaired_sd (what it would give if each model had documents of its own), p
    (share of resamples that scatter at least as much as seen, were the models on a line exactly).
    All three by n - 2 degrees of freedom; 0.01 is 1% of the loss.
    """
    rows = []
    for (corpus, family, quantity), cell in boot.cells.items():
        fit, x = cell.fit, np.log(cell.curve.S)
        design = np.stack([np.ones(fit.n), x - x.mean()], axis=1)
        off = np.eye(fit.n) - design @ np.linalg.pinv(design)
        moved = np.log(cell.draws)
        moved = moved - moved.mean(axis=0)
        squares = ((moved @ off) ** 2).sum(axis=1)
        alone = np.diag(off) @ moved.var(axis=0)
        seen = fit.residual_sd**2 * (fit.n - 2)
        row = {"corpus": corpus, "family": family, "quantity": quantity, "n": fit.n}
        row |= {"residual_sd": fit.residual_sd}
        row |= {"documents_sd": np.sqrt(squares.mean() / (fit.n - 2))}
        row |= {"unpaired_sd": np.sqrt(alone / (fit.n - 2)), "p": np.mean(squares >= seen)}
        rows.append(row)
    return pd.DataFrame(rows)


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
    rows = []
    groups = list(dict.fromkeys((corpus, family) for corpus, family, _ in boot.cells))
    for corpus, family in groups:
        own = {q: c for (at, by, q), c in boot.cells.items() if (at, by) == (corpus, family)}
        if between == "families":
            after = [by for at, by in groups[groups.index((corpus, family)) + 1 :] if at == corpus]
            for other in after:
                for quantity in own:
                    if (corpus, other, quantity) in boot.cells:
                        names = (corpus, f"{family} - {other}", quantity)
                        pair = own[quantity], boot.cells[corpus, other, quantity]
                        rows.append((names, pair))
            continue
        by_k = sorted((q for q in own if q != "CE"), key=lambda q: int(q.removeprefix("RBP_")))
        pairs = zip(by_k[1:], by_k, strict=False)
        if between == "laws":
            pairs = [("RBP_1", "CE")] if {"RBP_1", "CE"} <= set(own) else []
        rows += [((corpus, family, f"{a} - {b}"), (own[a], own[b])) for a, b in pairs]
    names = ["corpus", "family", "quantity"]
    table = [dict(zip(names, key, strict=True)) | difference(*pair, level) for key, pair in rows]
    ends = ["difference", "documents_low", "documents_high", "line_low", "line_high"]
    return pd.DataFrame(table, columns=[*names, *ends])


def sure(table: pd.DataFrame, kind: str) -> pd.Series:
    """Where the interval of `kind` ("documents" or "line") of a difference leaves out zero."""
    return (table[f"{kind}_low"] > 0) | (table[f"{kind}_high"] < 0)


def _centred(S: np.ndarray) -> np.ndarray:
    x = np.log(S)
    return x - x.mean()
