"""What notebook 09 (Appendix B, Table 1) draws and tabulates, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

from rbpkit import paper, plots
from rbpkit.fit import Curve, fit_power_law
from rbpkit.palette import CONTEXT, INK
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.tables_09 import CELL, MINUS, side_by_side, write_table
from rbpkit_notebooks.tables_09 import all_cells as all_cells
from rbpkit_notebooks.tables_09 import measured_cells as measured_cells

check = check_of("09")


def _page(cells: pd.Series) -> str:
    """The cells as an HTML table, with the families side by side; cells: HTML by `CELL`."""
    wide = side_by_side(cells).rename(columns=plots.name_of)
    wide = wide.rename(lambda k: k if k == "CE" else f"k = {k}", level="k")
    return str(wide.rename_axis(columns=None).to_html(escape=False))


def _cells(slope: pd.Series, R2: pd.Series) -> pd.Series:
    """Each cell as HTML: the slope, and below it R2, bold if it is 0.9 or less."""
    small = R2.map("<small>{:.3f}</small>".format)
    small = small.mask(R2 <= 0.9, "<b>" + small + "</b>")
    cells = slope.map("{:.3f}<br>".format) + small
    return cells.str.replace("-", MINUS).where(slope.notna(), "not measured")


def block(table: pd.DataFrame, corpus: str, blank: tuple[str, str]) -> HTML:
    """The block of one text; blank: the k and family of a cell that is not told."""
    cells = _cells(table["slope"], table["R2"]).loc[[corpus]]
    cells[(corpus, *blank)] = "<b>?</b>"
    return HTML(_page(cells))


def growth(alpha: pd.DataFrame, corpus: str, ratio: float, figures_dir: str) -> None:
    """Each family's exponent over that at k = 1, with an arrow to the blank cell at `ratio`."""
    of_k = alpha.loc[corpus].drop("CE")
    relative = of_k / of_k.loc["1"]
    relative = relative.set_axis(relative.index.astype(int)).sort_index()
    line = f"exponents on {corpus}, divided by that at $k$ = 1"
    with plots.panel("Four families grow alike to $k$ = 100", line, 3.6) as axes:
        ends = []
        for family in paper.FAMILIES:
            ink = plots.ink_of(family)
            axes.plot(relative.index, relative[family], ink.marker + "-", color=ink.colour)
            end = relative[family].iloc[-1]
            ends.append((relative.index[-1], end, plots.name_of(family), ink.colour))
        axes.set(xscale="log", xlabel="$k$", ylabel=r"$\alpha_k\,/\,\alpha_1$")
        axes.set_xticks([1, 10, 100, 1000, 10000], ["1", "10", "100", "1,000", "10,000"])
        arrow = {"arrowstyle": "->", "color": INK, "shrinkB": 5}
        axes.annotate("the blank cell", (10, ratio), (13, 1.2), arrowprops=arrow)
        plots.label_ends(axes, ends)
    long = alpha.stack().rename("alpha").rename_axis(CELL).reset_index()
    plots.save(axes, long, figures_dir, "table_1_exponents")


def lines(opened: Mapping[str, Curve], figures_dir: str) -> None:
    """The line of each family's cell, and all slopes in its 95% interval."""
    with plots.panels(3.6, ncols=len(opened), sharex=True, sharey=True) as (figure, panels):
        for axes, (family, curve) in zip(panels, opened.items(), strict=True):
            line = fit_power_law(curve.S, curve.loss)
            centre = np.exp(line.mean_log_S)
            height = line.predict(centre).loss
            reach = np.geomspace(6e5, 2e10, 50)
            ends = [height * (reach / centre) ** slope for slope in line.slope_interval]
            axes.fill_between(reach, *ends, color=CONTEXT, linewidth=0)
            axes.plot(reach, height * (reach / centre) ** line.slope, color=INK, linewidth=1.2)
            ink = plots.ink_of(family)
            axes.plot(curve.S, curve.loss, ink.marker, color=ink.colour)
            axes.set(xscale="log", yscale="log", title=plots.name_of(family))
            words = f"slope {MINUS}{-line.slope:.3f}\n$R^2$ = {line.r2:.3f}"
            axes.text(0.97, 0.97, words, ha="right", va="top", transform=axes.transAxes)
        panels[0].set_ylabel(r"$-\log\,\mathrm{RBP}_1$")
        panels[0].set_xticks([1e6, 1e8, 1e10])
        plots.log_ticks(panels[0])
        figure.supxlabel(plots.SIZE, fontsize=11)
        title = "Two high $R^2$, but one slope is unsure"
        plots.headed_row(figure, title, "loss on Wiki at $k$ = 1; grey: slopes in the 95% interval")
    points = plots.curve_points("published", opened.values())
    plots.save(figure, points, figures_dir, "table_1_cells")


def whole_table(table: pd.DataFrame, figures_dir: str) -> HTML:
    """All cells to unfold; written as table_1.csv, .md and .tex."""
    text = {}
    for name in ("slope", "R2"):
        again = table[name].map(" ({:.3f})".format).where(table[name].notna(), "")
        text[name] = table[f"{name}_printed"].map("{:.3f}".format) + again
    write_table(table.reset_index(), pd.DataFrame(text), figures_dir, "table_1")
    cells = _cells(table["slope_printed"], table["R2_printed"])
    cells = cells.mask(table["slope"].notna(), cells + " •")
    return _unfold("All 168 cells", cells)


def _unfold(title: str, cells: pd.Series) -> HTML:
    legend = "Upper number: slope. Lower: R² (bold: 0.9 or less)."
    legend += " Dot: other published numbers give the same."
    return HTML(f"<details><summary>{title}</summary><p>{legend}</p>{_page(cells)}</details>")


def measured_table(pocket: pd.DataFrame, figures_dir: str) -> HTML | None:
    """The measured cells to unfold; written as pocket_table_1.csv, .md and .tex."""
    if pocket.empty:
        return None
    three = pocket.map("{:.3f}".format)
    interval = three.slope + " [" + three.low + ", " + three.high + "]"
    fit = pocket.slope.notna()
    text = {"slope": interval.where(fit, "-"), "R2": three.R2.where(fit, "-")}
    write_table(pocket.reset_index(), pd.DataFrame(text), figures_dir, "pocket_table_1")
    return _unfold("The measured cells", _cells(pocket["slope"], pocket["R2"]))
