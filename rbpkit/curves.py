"""The paper's curves and the measured ones in one form, by corpus and family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured, ce_curve, fit_power_law, models_of, rbp_curve

Curves = dict[tuple[str, str], Curve]
"""(corpus, family) -> its curve, in the order in which they are to be shown."""

Cell = tuple[str, str, str]
"""(dataset, row, family) of Table 1; a row is "CE" or a k, as text."""


def published_curves(k: int) -> Curves:
    """RBP_k against S as the paper plots it (Figures 3 to 5, and 9), by (corpus, family).

    What it does not plot at this k is left out. Raises InputError for a k that is in no figure.
    """
    curves: Curves = {}
    refusals = []
    for corpus, family in product(paper.PLOTTED_CORPORA, paper.FAMILIES):
        try:
            curves[corpus, family] = paper.points(corpus, family, k)
        except InputError as error:
            refusals.append(error)
    if not curves:
        raise refusals[-1]
    return curves


def table1_curves() -> dict[Cell, tuple[Curve, str]]:
    """The points behind cells of Table 1, each with the source that shows them.

    - Figures 3 and 4 plot 48 cells.
    - The authors' results for GPT-2 on Wiki have CE and k = 10,000.
    - For Pythia on Wiki Figure 8a has CE, and Figure 7, at N = 1, has k = 500, 2,500 and 10,000.
    """
    curves: dict[Cell, tuple[Curve, str]] = {}
    for corpus, row, family in product(paper.PLOTTED_CORPORA, ("1", "10", "100"), paper.FAMILIES):
        curve = paper.points(corpus, family, int(row))
        curves[corpus, row, family] = curve, f"Figure {curve.figure}"

    def add_wiki(row: str, family: str, table: pd.DataFrame, column: str, source: str) -> None:
        table = table.sort_values("S")
        curve = Curve(
            corpus="Wiki",
            family=family,
            quantity="CE" if row == "CE" else f"RBP_{row}",
            models=tuple(table["model"]),
            S=table["S"].to_numpy(np.float64),
            value=table[column].to_numpy(),
        )
        curves["Wiki", row, family] = curve, source

    gpt2 = paper.gpt2_wiki_metrics().query("k == 10000")  # its CE is the same at every k
    add_wiki("CE", "GPT2", gpt2, "ce", "authors' results")
    add_wiki("10000", "GPT2", gpt2, "p_N1", "authors' results")

    pythia_ce = paper.ce_and_rbp1().query("kind == 'empirical' and series == 'CE'")
    add_wiki("CE", "Pythia", pythia_ce, "value", "Figure 8a")
    for k in (500, 2500, 10000):
        one_token = paper.emergence().query("N == 1 and k == @k")  # p_{1,k} is RBP_k
        add_wiki(str(k), "Pythia", one_token, "p", "Figure 7")
    return curves


def measured_curves(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str], k: int | None
) -> tuple[Curves, list[str]]:
    """The measured curves of RBP_k, or of CE if k is None, for corpora x families.

    With a line for each (corpus, family) that was not measured, or through which no law can be
    fitted. Raises InputError as `fit.curve_of` does.
    """
    measured = list(measured)
    curves: Curves = {}
    missing = []
    for corpus, family in product(corpora, families):
        if not models_of(measured, corpus, family):
            missing.append(f"not measured: {family} on {corpus}")
            continue
        if k is None:
            curve = ce_curve(measured, corpus, family)
        else:
            curve = rbp_curve(measured, k, corpus, family)
        try:
            fit_power_law(curve.S, curve.loss, labels=curve.models)
        except InputError as error:
            missing.append(f"no fit: {curve.title}: {error}")
        else:
            curves[corpus, family] = curve
    return curves, missing
