"""The paper's curves and the measured ones in one form, by corpus and family."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured, curve_of, fit_power_law

Curves = dict[tuple[str, str], Curve]
"""(corpus, family) -> its curve, in the order in which they are to be shown."""

Cell = tuple[str, str, str]
"""(dataset, row, family); a row is "CE" or a k, as text."""


def published_curves(k: int) -> Curves:
    """RBP_k against S as the paper plots it (Figures 3 to 5, and 9), by (corpus, family).

    What it does not plot at this k is left out. Raises InputError for a k that is in no figure.
    """
    found: Curves = {}
    for corpus in paper.PLOTTED_CORPORA:
        for family in paper.FAMILIES:
            try:
                found[corpus, family] = paper.points(corpus, family, k)
            except InputError as error:
                refusal = error
    if not found:
        raise refusal
    return found


def table1_curves() -> dict[Cell, tuple[Curve, str]]:
    """The points behind cells of Table 1, each with the source that shows them.

    Figures 3 and 4 plot 48 cells; the authors' results for GPT-2 on Wiki have CE and k = 10,000;
    for Pythia on Wiki Figure 8a has CE, and Figure 7, at N = 1, k = 500, 2,500 and 10,000.
    """
    found: dict[Cell, tuple[Curve, str]] = {}
    for cell in itertools.product(paper.PLOTTED_CORPORA, ("1", "10", "100"), paper.FAMILIES):
        curve = paper.points(cell[0], cell[2], int(cell[1]))
        found[cell] = curve, f"Figure {curve.figure}"

    gpt2 = paper.gpt2_wiki_metrics().query("k == 10000")
    ce = paper.ce_and_rbp1().query("kind == 'empirical' and series == 'CE'")
    windows = paper.emergence().query("N == 1")
    others = [("CE", "GPT2", gpt2, "ce", "authors' results")]
    others += [("10000", "GPT2", gpt2, "p_N1", "authors' results")]
    others += [("CE", "Pythia", ce, "value", "Figure 8a")]
    for k in (500, 2500, 10000):
        others.append((str(k), "Pythia", windows[windows["k"] == k], "p", "Figure 7"))
    for row, family, table, column, source in others:
        table = table.sort_values("S")
        quantity = "CE" if row == "CE" else f"RBP_{row}"
        S, value = table["S"].to_numpy(np.float64), table[column].to_numpy()
        curve = Curve("Wiki", family, quantity, tuple(table["model"]), S, value)
        found["Wiki", row, family] = curve, source
    return found


@dataclass(frozen=True)
class MeasuredCurves:
    """The curves that were asked for and measured.

    curves: (corpus, family) -> curve, each with points enough for a fit. missing: a line for each
    (corpus, family) that is not there or that no line can be fitted to, with the reason.
    """

    curves: Curves
    missing: tuple[str, ...]


def measured_curves(
    measured: Iterable[Measured],
    corpora: Sequence[str],
    families: Sequence[str],
    quantity: Callable[[Measured], float],
    name: str,
) -> MeasuredCurves:
    """The curves of `quantity` (called `name`: "RBP_10", "CE") for corpora x families.

    Raises InputError as `fit.curve_of` does, except for what was not measured.
    """
    every = list(measured)
    there = {(one.manifest.corpus, one.manifest.family) for one in every}
    curves: Curves = {}
    missing = []
    for corpus in corpora:
        for family in families:
            if (corpus, family) not in there:
                missing.append(f"not measured: {family} on {corpus}")
                continue
            curve = curve_of(every, corpus, family, quantity, name)
            try:
                fit_power_law(curve.S, curve.loss, labels=curve.models)
            except InputError as error:
                missing.append(f"no fit: {family}, {corpus}, {name}: {error}")
            else:
                curves[corpus, family] = curve
    return MeasuredCurves(curves, tuple(missing))


def models_of(measured: Iterable[Measured], corpus: str, family: str) -> list[Measured]:
    """What was measured of one family on one corpus, ascending in S; empty if nothing was."""
    chosen = [
        one for one in measured if (one.manifest.corpus, one.manifest.family) == (corpus, family)
    ]
    return sorted(chosen, key=lambda one: (one.manifest.S, one.manifest.model))


def in_order(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str]
) -> list[Measured]:
    """Those of these corpora and families, in this order, and by rising S."""
    every = list(measured)
    asked = itertools.product(corpora, families)
    return [one for corpus, family in asked for one in models_of(every, corpus, family)]
