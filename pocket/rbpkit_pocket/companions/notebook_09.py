"""What notebook 09 (Appendix B, Table 1) draws and tabulates, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML

from rbpkit import paper, plots
from rbpkit.fit import Curve, fit_power_law
from rbpkit.palette import CONTEXT, INK
from rbpkit_pocket.companions.choices import Study
from rbpkit_pocket.companions.choices import read_study as read_study
from rbpkit_pocket.companions.exercises import checker, sealed
from rbpkit_pocket.companions.tables_09 import CELL, MINUS, write_points, write_texts
from rbpkit_pocket.companions.tables_09 import all_cells as all_cells
from rbpkit_pocket.companions.tables_09 import claims as claims
from rbpkit_pocket.companions.tables_09 import in_table_form as in_table_form
from rbpkit_pocket.companions.tables_09 import measured_cells as measured_cells

check = checker({1: sealed("b6319965", digits=2), 2: sealed("8139b339", digits=2)})

EDGE = "border:2px solid"


def _cell(slope: float, R2: float, known: bool = False) -> str:
    """The HTML of a cell: slope, R2, and a dot if it was computed again."""
    if np.isnan(slope):
        return "<td>not measured</td>"
    words = f"{slope:.3f}<br><small>{R2:.3f}</small>{' •' if known else ''}"
    look = f' style="{EDGE}"' if R2 <= 0.9 else ""
    return f"<td{look}>{words.replace('-', MINUS)}</td>"


def _block(table: pd.DataFrame, blank: tuple[str, str] | None = None) -> str:
    """The rows of one text as HTML; `table`: slope, R2, known by k and family."""
    rows = []
    for k, cells in table.groupby("k", sort=False):
        row = f"<tr><th>{k if k == 'CE' else f'k = {k}'}</th>"
        for (_, family), cell in cells.iterrows():
            if (k, family) == blank:
                row += f'<td style="{EDGE}; text-align:center"><b>?</b></td>'
            else:
                row += _cell(cell["slope"], cell["R2"], cell.get("known", False))
        rows.append(row + "</tr>")
    return "".join(rows)


def _head(title: str, columns: list[str]) -> str:
    names = "".join(f"<th>{plots.name_of(family)}</th>" for family in columns)
    return f"<tr><th>{title}</th>{names}</tr>"


def block(table: pd.DataFrame, corpus: str, blank: tuple[str, str]) -> HTML:
    """The block of one text; blank: the k and family of a cell that is not told."""
    families = list(paper.FAMILIES)
    return HTML(f"<table>{_head(corpus, families)}{_block(table.loc[corpus], blank)}</table>")


def growth(alpha: pd.DataFrame, corpus: str, ratio: float, figures_dir: str) -> None:
    """Each family's exponent over that at k = 1, with an arrow to the blank cell at `ratio`."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.4), layout="constrained")
        of_k = alpha.loc[corpus].drop("CE")
        relative = of_k / of_k.loc["1"]
        relative = relative.set_axis(relative.index.astype(int)).sort_index()
        ends = []
        for family in paper.FAMILIES:
            ink = plots.ink_of(family)
            axes.plot(relative.index, relative[family], ink.marker + "-", color=ink.colour)
            end = relative[family].iloc[-1]
            ends.append((relative.index[-1], end, plots.name_of(family), ink.colour))
        axes.set(xscale="log", xlabel="$k$", ylabel=r"$\alpha_k\,/\,\alpha_1$")
        axes.set_xticks([1, 10, 100, 1000, 10000], ["1", "10", "100", "1,000", "10,000"])
        axes.set_title(f"On {corpus} the four exponents grow alike up to $k$ = 100")
        arrow = {"arrowstyle": "->", "color": INK, "shrinkB": 5}
        axes.annotate("the blank cell", (10, ratio), (13, 1.25), arrowprops=arrow)
        plots.label_ends(axes, ends)
    long = alpha.stack().rename("alpha").rename_axis(CELL).reset_index()
    plots.save(figure, long, figures_dir, "table_1_exponents")


def lines(opened: Mapping[str, Curve], figures_dir: str) -> None:
    """The line of each family's cell, and all slopes in its 95% interval."""
    with plots.style():
        figure, panels = plt.subplots(
            1, len(opened), figsize=(plots.WIDTH, 3.4), sharex=True, sharey=True
        )
        figure.set_layout_engine("constrained")
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
            axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
            words = f"{plots.name_of(family)}: {MINUS}{-line.slope:.3f}, $R^2$ {line.r2:.3f}"
            axes.set_title(words)
        title = "Both $R^2$ are high, but only one slope is sure"
        figure.suptitle(title, x=0.02, ha="left")
        panels[0].set_ylabel(r"$-\log\,\mathrm{RBP}_1$")
        panels[0].set_xticks([1e6, 1e8, 1e10])
        plots.log_ticks(panels[0])
    points = plots.curve_points("published", opened.values())
    plots.save(figure, points, figures_dir, "table_1_cells")


def whole_table(table: pd.DataFrame, figures_dir: str) -> HTML:
    """All cells to unfold; written as table_1.csv, .md and .tex."""
    write_points(table.reset_index(), figures_dir, "table_1")
    text = {}
    for name in ("slope", "R2"):
        again = table[name].map(" ({:.3f})".format).where(table[name].notna(), "")
        text[name] = table[f"{name}_printed"].map("{:.3f}".format) + again
    write_texts(pd.DataFrame(text), figures_dir, "table_1")
    printed = table[["slope_printed", "R2_printed"]].set_axis(["slope", "R2"], axis=1)
    printed = printed.assign(known=table["slope"].notna())
    blocks = []
    for corpus in paper.CORPORA:
        blocks.append(_head(corpus, list(paper.FAMILIES)) + _block(printed.loc[corpus]))
    legend = (
        "Upper number: slope. Lower: R². Framed: R² of 0.9 or less."
        " Dot: other published numbers give the same."
    )
    return _unfold("All 168 cells", f"<caption>{legend}</caption>{''.join(blocks)}")


def _unfold(title: str, rows: str) -> HTML:
    return HTML(f"<details><summary>{title}</summary><table>{rows}</table></details>")


def measured_table(pocket: pd.DataFrame, study: Study, figures_dir: str) -> HTML | None:
    """The measured cells to unfold; written as pocket_table_1.csv, .md and .tex."""
    if pocket.empty:
        return None
    V = {(one.manifest.corpus, one.manifest.family): one.manifest.V for one in study.summaries}
    saved = pocket.reset_index()
    vocabulary = [V.get(pair, np.nan) for pair in zip(saved.dataset, saved.family, strict=True)]
    saved["share_of_V"] = pd.to_numeric(saved.k, errors="coerce") / vocabulary
    saved["paper_k_of_same_share"] = saved.share_of_V * paper.PAPER_V
    names = "dataset k share_of_V paper_k_of_same_share family slope low high R2 n".split()
    write_points(saved[names], figures_dir, "pocket_table_1")
    three = pocket.map("{:.3f}".format)
    interval = three.slope + " [" + three.low + ", " + three.high + "]"
    fit = pocket.slope.notna()
    text = {"slope": interval.where(fit, "-"), "R2": three.R2.where(fit, "-")}
    write_texts(pd.DataFrame(text), figures_dir, "pocket_table_1")
    families = list(dict.fromkeys(saved.family))
    blocks = []
    for corpus in dict.fromkeys(saved.dataset):
        blocks.append(_head(plots.short(corpus), families) + _block(pocket.loc[corpus]))
    return _unfold(f"The table of {study.ours}", "".join(blocks))
