"""Table 1: slope and R2 of every fit on S, as printed, as recomputed, and as measured.

arXiv 2510.20387, Appendix B. A cell belongs to a corpus, a row ("CE" or a k, as text) and a
family; its fit is that of log CE or log(-log RBP_k) on log S, S non-embedding parameters.
`figures_tables.save_table` writes a table to files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit import paper
from rbpkit.curves import Curve, Measured, ce_curve, rbp_curve
from rbpkit.errors import InputError
from rbpkit.fit import PowerLawFit, fit_power_law

Cell = tuple[str, str, str]
"""(dataset, row, family); a row is "CE" or a k, as text."""

PAPER_ROWS = ("CE", "1", "10", "100", "500", "2500", "10000")
# The paper's k, and its k as shares of V: 50,304 rows in Pythia's output matrix, 4,096 here.
POCKET_ROWS = ("CE", "1", "4", "8", "10", "32", "100", "410")
PAPER_V = 50304


def published_curves() -> dict[Cell, tuple[Curve, str]]:
    """The points behind cells of Table 1, each with the source that shows them.

    Figures 3 and 4 plot 48 cells; the authors' results for GPT-2 on Wiki have CE and k = 10,000;
    for Pythia on Wiki Figure 8a has CE, and Figure 7, at N = 1, k = 500, 2,500 and 10,000.
    """
    found: dict[Cell, tuple[Curve, str]] = {}
    for dataset in paper.PLOTTED_CORPORA:
        for family in paper.FAMILIES:
            for k in (1, 10, 100):
                points = paper.points(dataset, family, k)
                found[dataset, str(k), family] = (
                    Curve.of_published(points),
                    f"Figure {points.figure}",
                )

    def add(row: str, family: str, table: pd.DataFrame, column: str, source: str) -> None:
        table = table.sort_values("S")
        found["Wiki", row, family] = (
            Curve(
                corpus="Wiki",
                family=family,
                quantity="CE" if row == "CE" else f"RBP_{row}",
                models=tuple(table["model"]),
                S=table["S"].to_numpy(np.float64),
                value=table[column].to_numpy(),
            ),
            source,
        )

    gpt2 = paper.gpt2_wiki_metrics()
    at_10000 = gpt2[gpt2["k"] == 10000]
    add("CE", "GPT2", at_10000, "ce", "authors' results")
    add("10000", "GPT2", at_10000, "p_N1", "authors' results")
    ce = paper.ce_and_rbp1()
    add(
        "CE",
        "Pythia",
        ce[(ce["kind"] == "empirical") & (ce["series"] == "CE")],
        "value",
        "Figure 8a",
    )
    windows = paper.emergence()
    for k in (500, 2500, 10000):
        one = windows[(windows["N"] == 1) & (windows["k"] == k)]
        add(str(k), "Pythia", one, "p", "Figure 7")
    return found


def table1_recomputed() -> pd.DataFrame:
    """All 168 printed cells beside what other published numbers give for them.

    Columns: dataset, k (text, or "CE"), family, slope_printed, R2_printed; slope, R2 (recomputed,
    missing where nothing is published; of CE for Pythia outside Wiki Figure 6 has the slope only);
    n (models of the family, those of the fit); low, high (95% t interval of the slope); source
    ("Figure 3", "Figure 4", "Figure 7", "Figure 8a", "authors' results": fitted from points;
    "Figure 6": read from the paper's own fit; "none": the printed cell stands alone);
    slope_difference, R2_difference (recomputed - printed).

    Where there are no points, the interval follows from slope, R2 and n alone (`slope_interval`),
    with the printed three decimals where there is nothing better; n is then taken for granted.
    """
    curves = published_curves()
    figure6 = paper.fit_by_k()
    read = {
        (quantity, dataset, "CE" if pd.isna(k) else str(k)): value
        for quantity, dataset, k, value in figure6[
            ["quantity", "dataset", "k", "value"]
        ].itertuples(index=False)
    }
    models = paper.models()["family"].value_counts()
    rows = []
    printed = paper.table1()
    order = [
        (c, row, family) for c in paper.CORPORA for row in PAPER_ROWS for family in paper.FAMILIES
    ]
    printed = printed.set_index(["dataset", "k", "family"]).loc[order].reset_index()
    for cell in printed.itertuples(index=False):
        slope = r2 = math.nan
        source, n = "none", int(models[cell.family])
        interval = slope_interval(cell.slope, cell.r2, n)
        at = (cell.dataset, cell.k, cell.family)
        if at in curves:
            curve, source = curves[at]
            fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
            slope, r2, n, interval = fitted.slope, fitted.r2, fitted.n, fitted.slope_interval
        elif cell.family == "Pythia" and cell.dataset in paper.PLOTTED_CORPORA:
            name = "ce_slope" if cell.k == "CE" else "slope"
            source, slope = "Figure 6", read[name, cell.dataset, cell.k]
            r2 = read.get(("R2", cell.dataset, cell.k), math.nan)
            interval = slope_interval(slope, cell.r2 if math.isnan(r2) else r2, n)
        rows.append(
            (
                *(cell.dataset, cell.k, cell.family, cell.slope, cell.r2, slope, r2, n),
                *(*interval, source, slope - cell.slope, r2 - cell.r2),
            )
        )
    names = "dataset k family slope_printed R2_printed slope R2 n low high source"
    return pd.DataFrame(rows, columns=[*names.split(), "slope_difference", "R2_difference"])


def slope_interval(slope: float, r2: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The t interval of a least-squares slope, from what a paper prints of it.

    se = |slope| sqrt((1 / R2 - 1) / (n - 2)) is exact for one regressor; rounded digits give it
    to their rounding. Missing (nan) where R2 is printed as 0 or 1, which leaves no error to see.
    """
    if not 0 < r2 < 1 or slope == 0 or n < 3:
        return math.nan, math.nan
    half = float(stdtrit(n - 2, (1 + level) / 2)) * abs(slope) * math.sqrt((1 / r2 - 1) / (n - 2))
    return slope - half, slope + half


def measured_curves(
    measured: Iterable[Measured],
    rows: Sequence[str | int] = POCKET_ROWS,
    corpora: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
) -> dict[Cell, Curve]:
    """The curve of every cell that was measured, fit or no fit; None stands for all there are.

    Raises InputError for a row that is neither "CE" nor a whole number >= 1, and as
    `curves.points` does for models that cannot stand on one line.
    """
    every = list(measured)
    there = {(one.manifest.corpus, one.manifest.family) for one in every}
    found = {}
    for dataset in corpora or sorted({corpus for corpus, _ in there}):
        for row in map(str, rows):
            if row != "CE" and not (row.isascii() and row.isdigit()):
                raise InputError(f'a row of Table 1 is "CE" or a whole k, not {row!r}')
            for family in families or sorted({family for _, family in there}):
                if (dataset, family) not in there:
                    continue
                found[dataset, row, family] = (
                    ce_curve(every, dataset, family)
                    if row == "CE"
                    else rbp_curve(every, int(row), dataset, family)
                )
    return found


def pocket_table1(
    summaries: Iterable[Measured],
    rows: Sequence[str | int] = POCKET_ROWS,
    corpora: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Table 1 of measured models, in the paper's form: one row a cell, with its interval.

    Columns: dataset, k (text, or "CE"), share_of_V (k / V), paper_k_of_same_share (that share of
    PAPER_V, the rows of most Pythias' output matrix), family, slope, low, high (95% t interval of
    the slope), R2, n, reason (why there is no fit, else empty). V is that of the family's smallest
    model: in the paper's families it differs by less than 1%. Corpora and families that are named
    but were not measured have their cells, with the reason. Raises InputError as `measured_curves`.
    """
    every = list(summaries)
    curves = measured_curves(every, rows, corpora, families)
    smallest = {}
    for one in sorted(every, key=lambda one: -one.manifest.S):
        smallest[one.manifest.corpus, one.manifest.family] = one.manifest.V
    table = []
    for dataset in corpora or sorted({corpus for corpus, _ in smallest}):
        for row in map(str, rows):
            for family in families or sorted({family for _, family in smallest}):
                share = math.nan
                if row != "CE" and (dataset, family) in smallest:
                    share = int(row) / smallest[dataset, family]
                fit: tuple = (math.nan, math.nan, math.nan, math.nan, 0)
                reason = "not measured"
                if curve := curves.get((dataset, row, family)):
                    try:
                        fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
                    except InputError as error:
                        fit, reason = (*fit[:4], curve.S.size), str(error)
                    else:
                        fit = (fitted.slope, *fitted.slope_interval, fitted.r2, fitted.n)
                        reason = ""
                table.append((dataset, row, share, share * PAPER_V, family, *fit, reason))
    names = "dataset k share_of_V paper_k_of_same_share family slope low high R2 n reason"
    return pd.DataFrame(table, columns=names.split())


def slope_difference(one: Curve, other: Curve) -> PowerLawFit:
    """The slope of `one` less that of `other`, two losses of the same models, with its interval.

    It is the slope of log(loss / loss): residuals that both share drop out, which two intervals
    side by side do not see. Raises InputError for other models, and as `fit_power_law`.
    """
    if one.models != other.models:
        raise InputError(f"{one.quantity} and {other.quantity} are not of the same models")
    with np.errstate(divide="ignore", invalid="ignore"):  # refused by the fit, which names it
        ratio = one.loss / other.loss
    return fit_power_law(one.S, ratio, labels=one.models)


def steps(table: pd.DataFrame, curves: Mapping[Cell, Curve], slope: str = "slope") -> pd.DataFrame:
    """How the slope changes from each row of a table to the next one, for corpus and family.

    table: `table1_recomputed` (slope="slope_printed") or `pocket_table1`; its first row is CE, so
    the first step is from CE to the least k. curves: the points where there are some.
    Columns: dataset, family, step ("1 to 10"), change (of the slope; negative is steeper), low,
    high (95%, missing without points); from the points by `slope_difference` where there are
    some. A step from or to a cell without a slope is left out.
    """
    found = []
    for (dataset, family), cells in table.groupby(["dataset", "family"], sort=False):
        named = list(zip(cells["k"], cells[slope], strict=True))
        for (row, before), (next_row, after) in itertools.pairwise(named):
            if math.isnan(before) or math.isnan(after):
                continue
            change, interval = after - before, (math.nan, math.nan)
            pair = [curves.get((dataset, name, family)) for name in (next_row, row)]
            if None not in pair:
                try:
                    paired = slope_difference(*pair)
                except InputError:
                    pass  # all ratios equal: no interval to give, the change stands
                else:
                    change, interval = paired.slope, paired.slope_interval
            found.append((dataset, family, f"{row} to {next_row}", change, *interval))
    return pd.DataFrame(found, columns=["dataset", "family", "step", "change", "low", "high"])


def to_wide(table: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """The paper's layout: a row for each corpus and row of Table 1, a group of columns a family.

    columns: name in `table` -> heading under each family, in order. Orders are those of `table`.
    Raises InputError for a column that is not there, and for a cell that is there twice.
    """
    absent = [name for name in columns if name not in table]
    if absent:
        raise InputError(f"the table has no column {', '.join(absent)}")
    keys = ["dataset", "k", "family"]
    if table.duplicated(keys).any():
        raise InputError("the table has a cell twice")
    wide = table.set_index(keys)[list(columns)].rename(columns=columns).unstack("family")
    families = list(dict.fromkeys(table["family"]))
    wide = wide.swaplevel(axis=1)[[(f, heading) for f in families for heading in columns.values()]]
    order = list(dict.fromkeys(zip(table["dataset"], table["k"], strict=True)))
    return wide.reindex(order).rename_axis(columns=[None, None])


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Either table with its cells as text, for `to_wide`: adds "slope text" and "R2 text".

    Published: the printed value, in brackets the recomputed one where there is one. Measured: the
    slope with its interval, and a dash where nothing could be fitted.
    """

    def number(value: float) -> str:
        return "-" if math.isnan(value) else f"{value:.3f}"

    text = table.copy()
    if "slope_printed" in table:
        for name in ("slope", "R2"):
            text[f"{name} text"] = [
                number(printed) + ("" if math.isnan(ours) else f" ({number(ours)})")
                for printed, ours in zip(table[f"{name}_printed"], table[name], strict=True)
            ]
        return text
    text["R2 text"] = table["R2"].map(number)
    text["slope text"] = [
        number(slope) + ("" if math.isnan(slope) else f" [{number(low)}, {number(high)}]")
        for slope, low, high in zip(table["slope"], table["low"], table["high"], strict=True)
    ]
    return text
