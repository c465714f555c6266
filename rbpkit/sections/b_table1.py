"""Table 1: slope and R2 of every fit on S, as printed, as recomputed, and as measured.

arXiv 2510.20387, Appendix B. A cell belongs to a corpus, a row ("CE" or a k, as text) and a
family; its fit is that of log CE or log(-log RBP_k) on log S, S non-embedding parameters.
`save_table` writes a table to files.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from scipy.special import stdtrit

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.files.writing import write_whole
from rbpkit.fit import Curve, Measured, PowerLawFit, ce_curve, fit_power_law, rbp_curve
from rbpkit.plots import save, short, style
from rbpkit.stats.curves import Cell, table1_curves

PAPER_ROWS = ("CE", "1", "10", "100", "500", "2500", "10000")
# The paper's k, and its k as shares of V: 50,304 rows in Pythia's output matrix, 4,096 here.
POCKET_ROWS = ("CE", "1", "4", "8", "10", "32", "100", "410")

MINUS = "\N{MINUS SIGN}"


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
    curves = table1_curves()
    drawn = paper.fit_by_k()
    drawn["k"] = ["CE" if pd.isna(k) else str(k) for k in drawn["k"]]
    figure6 = drawn.set_index(["quantity", "dataset", "k"])["value"]
    models = paper.models()["family"].value_counts()
    printed = paper.table1().set_index(["dataset", "k", "family"])
    rows = []
    for at in itertools.product(paper.CORPORA, PAPER_ROWS, paper.FAMILIES):
        dataset, row, family = at
        slope_printed, r2_printed = printed.loc[at, ["slope", "r2"]]
        slope = r2 = math.nan
        source, n = "none", int(models[family])
        interval = slope_interval(slope_printed, r2_printed, n)
        if at in curves:
            curve, source = curves[at]
            fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
            slope, r2, n, interval = fitted.slope, fitted.r2, fitted.n, fitted.slope_interval
        elif family == "Pythia" and dataset in paper.PLOTTED_CORPORA:
            source, name = "Figure 6", "ce_slope" if row == "CE" else "slope"
            slope = figure6[name, dataset, row]
            r2 = figure6.get(("R2", dataset, row), math.nan)
            interval = slope_interval(slope, r2_printed if math.isnan(r2) else r2, n)
        rows.append((*at, slope_printed, r2_printed, slope, r2, n, *interval, source))
    names = "dataset k family slope_printed R2_printed slope R2 n low high source"
    table = pd.DataFrame(rows, columns=names.split())
    for name in ("slope", "R2"):
        table[f"{name}_difference"] = table[name] - table[f"{name}_printed"]
    return table


def relative_half_width(r2: float | np.ndarray, n: int | np.ndarray, level: float = 0.95):
    """Half the t interval of an exponent over the exponent, from R2 and the n of the line.

    t sqrt((1 / R2 - 1) / (n - 2)), exact for one regressor. 1 or more: the interval holds zero.
    Floats or arrays. Raises InputError for n < 3, or R2 outside 0 to 1 (0 gives inf, 1 gives 0).
    """
    r2, n = np.asarray(r2, dtype=np.float64), np.asarray(n)
    if n.size == 0 or n.min() < 3 or not ((r2 >= 0) & (r2 <= 1)).all():
        raise InputError("R2 must be 0 to 1, and n at least 3")
    with np.errstate(divide="ignore"):
        found = stdtrit(n - 2, (1 + level) / 2) * np.sqrt((1 / r2 - 1) / (n - 2))
    return float(found) if found.ndim == 0 else found


def slope_interval(slope: float, r2: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The t interval of a least-squares slope, from what a paper prints of it, to its rounding.

    Missing (nan) where R2 is printed as 0 or 1, which leaves no error to see.
    """
    if not 0 < r2 < 1 or slope == 0 or n < 3:
        return math.nan, math.nan
    half = abs(slope) * relative_half_width(r2, n, level)
    return slope - half, slope + half


def measured_curves(
    measured: Iterable[Measured],
    corpora: Sequence[str],
    families: Sequence[str],
    rows: Sequence[str | int] = POCKET_ROWS,
) -> dict[Cell, Curve]:
    """The curve of every cell that was measured, fit or no fit.

    Raises InputError for a row that is neither "CE" nor a whole number >= 1, and as
    `fit.curve_of` does for models that cannot stand on one line.
    """
    every = list(measured)
    there = {(one.manifest.corpus, one.manifest.family) for one in every}
    found = {}
    for dataset, row, family in itertools.product(corpora, map(str, rows), families):
        if row != "CE" and not (row.isascii() and row.isdigit()):
            raise InputError(f'a row of Table 1 is "CE" or a whole k, not {row!r}')
        if (dataset, family) in there and row == "CE":
            found[dataset, row, family] = ce_curve(every, dataset, family)
        elif (dataset, family) in there:
            found[dataset, row, family] = rbp_curve(every, int(row), dataset, family)
    return found


def pocket_table1(
    curves: Mapping[Cell, Curve],
    V: Mapping[tuple[str, str], int],
    corpora: Sequence[str],
    families: Sequence[str],
    rows: Sequence[str | int] = POCKET_ROWS,
) -> pd.DataFrame:
    """Table 1 of measured models, in the paper's form: one row a cell, with its interval.

    curves: from `measured_curves`. V: (corpus, family) -> rows of the output matrix (of the
    smallest model: in the paper's families it differs by less than 1%).
    Columns: dataset, k (text, or "CE"), share_of_V (k / V), paper_k_of_same_share (that share of
    `paper.PAPER_V`), family, slope, low, high (95% t interval of the slope), R2, n, reason (why
    there is no fit, else empty). What is named but was not measured has its cells, with the reason.
    """
    table = []
    for dataset, row, family in itertools.product(corpora, map(str, rows), families):
        share = math.nan
        if row != "CE" and (dataset, family) in V:
            share = int(row) / V[dataset, family]
        fit: tuple = (math.nan, math.nan, math.nan, math.nan, 0)
        reason = "not measured"
        if curve := curves.get((dataset, row, family)):
            try:
                fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
            except InputError as error:
                fit, reason = (*fit[:4], curve.S.size), str(error)
            else:
                fit, reason = (fitted.slope, *fitted.slope_interval, fitted.r2, fitted.n), ""
        table.append((dataset, row, share, share * paper.PAPER_V, family, *fit, reason))
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
    """
    cells = table.set_index(["dataset", "k", "family"])[list(columns)].rename(columns=columns)
    wide = cells.unstack("family")
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


# -- pictures and files ------------------------------------------------------------------------


def heat_maps(table: pd.DataFrame, source: str, slope: str = "slope", r2: str = "R2") -> Figure:
    """Slopes (top) and R2 (bottom) by row and family, a panel a corpus; cells without fit grey.

    table: dataset, k, family and the columns named `slope` and `r2`, in the order to be shown.
    A dot marks a cell whose recomputed slope stands in another column, "slope": the rest of the
    published table is print alone. Raises InputError for a table without a single fit.
    """
    if table.empty or table[slope].isna().all():
        raise InputError("nothing to draw: the table has no fit")
    corpora, rows, families = (list(dict.fromkeys(table[n])) for n in ("dataset", "k", "family"))
    steepest = float(table[slope].abs().max())
    scales = {
        slope: {"cmap": "RdBu", "vmin": -steepest, "vmax": steepest},
        r2: {"cmap": "viridis", "vmin": max(0.0, np.floor(table[r2].min() * 10) / 10), "vmax": 1},
    }
    labels = {slope: rf"slope (${MINUS}\alpha$)", r2: "$R^2$"}
    size = (1.2 + len(corpora) * (0.8 + 0.56 * len(families)), 1.4 + 0.6 * len(rows))
    with style():
        figure, grid = plt.subplots(
            2, len(corpora), figsize=size, squeeze=False, sharey=True, layout="constrained"
        )
        for axes_row, (name, scale) in zip(grid, scales.items(), strict=True):
            for axes, corpus in zip(axes_row, corpora, strict=True):
                cells = table[table["dataset"] == corpus]
                values = cells.pivot(index="k", columns="family", values=name)
                values = values.reindex(index=rows, columns=families)
                text = values.map(lambda value: f"{value:.3f}".replace("-", MINUS))
                axes.set_facecolor("0.85")
                sns.heatmap(
                    values, ax=axes, annot=text, fmt="", annot_kws={"fontsize": 7.5},
                    mask=values.isna(), cbar=False, linewidths=0.6, **scale,
                )  # fmt: skip
                axes.grid(False)
                axes.set_title(f"{source}: {short(corpus)}", fontsize=10)
                axes.set(xlabel="", ylabel="")
                axes.tick_params(rotation=0, labelsize=8)
                if name == slope != "slope":
                    known = cells.pivot(index="k", columns="family", values="slope")
                    known = known.reindex(index=rows, columns=families).notna().to_numpy()
                    y, x = np.nonzero(known)
                    axes.plot(x + 0.9, y + 0.15, "ko", markersize=2.6, markeredgecolor="white")
            axes_row[0].set_ylabel("$k$")
            bar = figure.colorbar(axes_row[-1].collections[0], ax=axes_row, pad=0.01, aspect=25)
            bar.set_label(labels[name])
    return figure


def save_table(
    figure: Figure, table: pd.DataFrame, wide: pd.DataFrame, figures_dir: str, name: str
) -> None:
    """Show the figure; write name.png, name.csv (`table`), name.md, name.tex (`wide`), if asked.

    wide: from `to_wide`, cells as text. Each file is renamed into place when it is whole.
    """
    save(figure, table, figures_dir, name)
    if figures_dir:
        texts = {f"{name}.md": markdown(wide), f"{name}.tex": latex(wide)}
        write_whole(Path(figures_dir), {path: text.encode() for path, text in texts.items()})


def markdown(wide: pd.DataFrame) -> str:
    """A wide table as Markdown: one line a row, headings "family slope"."""
    heading = ["corpus", "k", *(" ".join(column) for column in wide.columns)]
    rule = ["---", "---", *("---:" for _ in wide.columns)]
    rows = [[*index, *cells] for index, cells in zip(wide.index, wide.to_numpy(), strict=True)]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in [heading, rule, *rows])


def latex(wide: pd.DataFrame) -> str:
    """A wide table as a LaTeX tabular (packages booktabs, graphicx)."""

    def plain(name: object) -> str:
        return re.sub(r"([&%#_{}$])", r"\\\1", str(name))

    text = wide.map(lambda cell: re.sub(r"-(?=\d)", "$-$", str(cell)))
    text = text.rename(plain, axis="index").rename(plain, axis="columns")
    text = text.rename_axis(["corpus", "$k$"]).rename({"R2": "$R^2$"}, axis="columns", level=1)
    tabular = text.to_latex(
        multicolumn_format="c", multirow=False, column_format="ll" + "r" * wide.shape[1]
    )
    return f"\\resizebox{{\\linewidth}}{{!}}{{%\n{tabular.rstrip()}}}\n"
