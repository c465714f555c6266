"""The paper's curves and the measured ones in one form, by corpus and family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured, curve_of, models_of, with_lines

Curves = dict[tuple[str, str], Curve]
"""(corpus, family) -> its curve, in the order in which they are to be shown."""

Cell = tuple[str, str, str]
"""(dataset, row, family) of Table 1; a row is "CE" or a k, as text."""


def published_curves(k: int) -> Curves:
    """RBP_k against S as the paper plots it (Figures 3 to 5, and 9), by (corpus, family).

    What it does not plot at this k is left out: Figure 9 of the ICLR version (k = 2, 3, 5, 7, 18,
    30, 78) has four models of a family, the others have all. Raises InputError for a k that is in
    no figure.
    """
    plotted = pd.concat([paper.table("rbp_by_size"), paper.table("rbp_by_k")])
    at_k = plotted[plotted["k"] == k]
    if at_k.empty:
        there = ", ".join(map(str, sorted(set(plotted["k"]))))
        raise InputError(f"the paper plots no RBP_k at k = {k}; it plots k = {there}")
    curves: Curves = {}
    for corpus, family in product(paper.PLOTTED_CORPORA, paper.FAMILIES):
        points = at_k[(at_k["dataset"] == corpus) & (at_k["family"] == family)]
        if not points.empty:
            # Figure 9 repeats some k of the others.
            points = points.drop_duplicates("model")
            curves[corpus, family] = _curve(points, corpus, family, f"RBP_{k}", "rbp")
    return curves


def _curve(points: pd.DataFrame, corpus: str, family: str, quantity: str, column: str) -> Curve:
    """The curve of a table's rows, with the columns model, S and the one named."""
    points = points.sort_values("S")
    S = points["S"].to_numpy(float)
    models = tuple(points["model"])
    return Curve(corpus, family, quantity, models, S, points[column].to_numpy())


def table1_curves() -> dict[Cell, tuple[Curve, str]]:
    """The points behind cells of Table 1, each with the source that shows them.

    - Figures 3 and 4 plot 48 cells.
    - The authors' results for GPT-2 on Wiki have CE and k = 10,000.
    - For Pythia on Wiki Figure 8a has CE, and Figure 7, at N = 1, has k = 500, 2,500 and 10,000.
    """
    curves: dict[Cell, tuple[Curve, str]] = {}
    plotted = {row: published_curves(int(row)) for row in ("1", "10", "100")}
    for corpus, row, family in product(paper.PLOTTED_CORPORA, plotted, paper.FAMILIES):
        figure = "Figure 3" if row == "1" else "Figure 4"
        curves[corpus, row, family] = plotted[row][corpus, family], figure

    gpt2 = paper.table("gpt2_wiki_metrics").query("k == 10000")  # its CE is the same at every k
    pythia_ce = paper.table("ce_and_rbp1").query("kind == 'empirical' and series == 'CE'")
    on_wiki = [
        ("CE", "GPT2", gpt2, "ce", "authors' results"),
        ("10000", "GPT2", gpt2, "p_N1", "authors' results"),
        ("CE", "Pythia", pythia_ce, "value", "Figure 8a"),
    ]
    for k in (500, 2500, 10000):
        one_token = paper.table("emergence").query("N == 1 and k == @k")  # p_{1,k} is RBP_k
        on_wiki.append((str(k), "Pythia", one_token, "p", "Figure 7"))
    for row, family, points, column, source in on_wiki:
        quantity = "CE" if row == "CE" else f"RBP_{row}"
        curves["Wiki", row, family] = _curve(points, "Wiki", family, quantity, column), source
    return curves


def measured_curves(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str], k: int | None
) -> tuple[Curves, list[str]]:
    """The measured curves of RBP_k, or of CE if k is None, for corpora x families.

    With a line for each (corpus, family) that was not measured, or through which no law can be
    fitted. Raises InputError as `fit.curve_of` does.
    """
    measured = list(measured)
    curves, missing = [], []
    for corpus, family in product(corpora, families):
        models = models_of(measured, corpus, family)
        if models:
            curves.append(curve_of(models, k))
        else:
            missing.append(f"not measured: {family} on {corpus}")
    fitted, refused = with_lines(curves)
    missing += [f"no fit: {reason}" for reason in refused]
    return {(curve.corpus, curve.family): curve for curve, _ in fitted}, missing
