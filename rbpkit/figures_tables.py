"""Figures and files of Appendix B: Table 1 as heat maps, the law in k, and the errors of its slope.

`save_table` is to a table what `figures.save` is to a figure: it writes only where it is told.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK, save, style, write_whole
from rbpkit.fit import fit_rbp_law

MINUS = "\N{MINUS SIGN}"
MARKERS = "os^Dv<>P*X"


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
                axes.set_title(f"{source}: {corpus.removeprefix('pocket:')}", fontsize=10)
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


def k_panels(points: pd.DataFrame, source: str) -> Figure:
    """Figure 9: -log RBP_k against k, a row a family, a panel a corpus, a line a model.

    points: corpus, family, model, S, k, rbp, loss, in the order to be shown. The legend gives S,
    and the slope and R2 of each line. Raises InputError where there are none.
    """
    if points.empty:
        raise InputError("nothing to draw: no model has points of the law in k")
    corpora, families = (list(dict.fromkeys(points[name])) for name in ("corpus", "family"))
    size = (3.5 * len(corpora), 3.3 * len(families))
    with style():
        figure, grid = plt.subplots(
            len(families), len(corpora), figsize=size, squeeze=False, sharex=True
        )
        for axes_row, family in zip(grid, families, strict=True):
            for axes, corpus in zip(axes_row, corpora, strict=True):
                chosen = (points["corpus"] == corpus) & (points["family"] == family)
                axes.set_visible(bool(chosen.any()))
                if chosen.any():
                    _k_lines(axes, points[chosen], FAMILY_INK.get(family, OTHER_INK).colour)
                    axes.set_title(f"{source}: {corpus.removeprefix('pocket:')}, {family}")
            axes_row[0].set_ylabel(r"$-\log\,\mathrm{RBP}_k$")
        for axes in grid[-1]:
            axes.set_xlabel("$k$ (rank threshold)")
        figure.tight_layout()
    return figure


def _k_lines(axes: Axes, points: pd.DataFrame, colour: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    models = list(dict.fromkeys(points["model"]))
    shades = sns.light_palette(colour, len(models) + 2)[2:]  # larger models are darker
    for number, model in enumerate(models):
        line = points[points["model"] == model]
        fit = fit_rbp_law(line["k"], line["rbp"])
        name = f"{_short(line['S'].iloc[0])}: {fit.slope:.3f}, {fit.r2:.3f}".replace("-", MINUS)
        axes.plot(line["k"], fit.predict(line["k"]).loss, color=shades[number], linewidth=1)
        axes.plot(
            *(line["k"], line["loss"], MARKERS[number % len(MARKERS)]),
            color=shades[number],
            markersize=4.5,
            markeredgecolor="0.25",
            markeredgewidth=0.4,
            label=name,
        )
    low, high = points["loss"].min(), points["loss"].max()
    span = np.log(high / low)
    # Room for the legend, below the points: they fall to the right.
    axes.set_ylim(low * np.exp(-(0.05 + 0.07 * len(models)) * span), high * np.exp(0.07 * span))
    axes.set_xticks([1, 10, 100], ["1", "10", "100"])
    ticks = [step * 10**power for power in (-3, -2, -1, 0) for step in (1, 2, 5)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(
        title="$S$: slope, $R^2$", title_fontsize=7, fontsize=7, loc="lower left",
        alignment="left", handletextpad=0.1, borderpad=0.3, labelspacing=0.2,
    )  # fmt: skip


def _short(S: int) -> str:
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if S >= unit:
            return f"{S / unit:.3g}{name}"
    return str(S)


def slope_errors(errors: pd.DataFrame) -> Figure:
    """The slope in k of each measured model with two intervals: the regression's (grey, wide bar)
    and that of drawing the documents anew (in the family's colour).

    errors: from `klaw.sampling`. A panel a corpus; families are moved apart by 8% (in order: 0,
    -8, 8, 17%). Raises InputError where there are none.
    """
    if errors.empty:
        raise InputError("nothing to draw: no model was measured")
    corpora = list(dict.fromkeys(errors["corpus"]))
    entries: dict[str, Line2D] = {}
    with style():
        figure, row = plt.subplots(
            1, len(corpora), figsize=(3.3 * len(corpora), 3.4), squeeze=False, sharey=True
        )
        for axes, corpus in zip(row[0], corpora, strict=True):
            axes.set_xscale("log")
            here = errors[errors["corpus"] == corpus]
            for number, (family, models) in enumerate(here.groupby("family", sort=False)):
                ink = FAMILY_INK.get(family, OTHER_INK)
                # Beside one another: families share sizes, or nearly.
                S = models["S"] * 1.08 ** (number - 1 if number > 1 else -number)
                for name, drawn in (
                    ("regression", {"ecolor": "0.75", "elinewidth": 5}),
                    ("bootstrap", {"ecolor": ink.colour, "elinewidth": 1.5, "capsize": 3}),
                ):
                    ends = models["slope"] - models[f"{name}_low"]
                    ends = np.array([ends, models[f"{name}_high"] - models["slope"]])
                    axes.errorbar(S, models["slope"], ends, fmt="none", **drawn)
                axes.plot(
                    *(S, models["slope"], ink.marker),
                    color=ink.colour,
                    markersize=5,
                    zorder=3,
                    label=family,
                )
                entries[family] = axes.lines[-1]
            axes.set_title(f"measured: {corpus.removeprefix('pocket:')}")
            axes.set_xlabel("$S$ (non-embedding parameters)")
        row[0][0].set_ylabel(rf"slope in $k$ (${MINUS}\beta$), 95% intervals")
        entries["regression"] = Line2D([], [], color="0.75", linewidth=5)
        entries["documents drawn anew (colour)"] = Line2D([], [], color="0.25", linewidth=1.5)
        figure.tight_layout()
        # Outside of the panels: with several families no corner of them is free.
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="lower center",
            bbox_to_anchor=(0.5, 1),
            ncols=3 if len(corpora) == 1 else len(entries),
        )
    return figure


def save_table(
    figure: Figure, table: pd.DataFrame, wide: pd.DataFrame, figures_dir: str, name: str
) -> None:
    """Show the figure; write name.png, name.csv (`table`), name.md, name.tex (`wide`), if asked.

    wide: from `tables.to_wide`, cells as text. Each file is renamed into place when it is whole.
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
    """A wide table as a LaTeX tabular (packages booktabs, graphicx), a rule between corpora."""
    families = list(dict.fromkeys(family for family, _ in wide.columns))
    pair = len(wide.columns) // len(families)
    heads = [rf"\multicolumn{{{pair}}}{{c}}{{{_tex(family)}}}" for family in families]
    columns = [_tex(heading) for _, heading in wide.columns]
    body, before = [], None
    for (corpus, row), cells in zip(wide.index, wide.to_numpy(), strict=True):
        if before not in (None, corpus):
            body.append(r"\midrule")
        shown = [_tex(corpus) if corpus != before else "", _tex(row), *map(_tex, cells)]
        body.append(" & ".join(shown) + r" \\")
        before = corpus
    return "\n".join(
        [
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}",
            r"\toprule",
            " & ".join(["", "", *heads]) + r" \\",
            " & ".join(["corpus", "$k$", *columns]) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            "",
        ]
    )


def _tex(cell: object) -> str:
    text = str(cell)
    if text == "R2":
        return "$R^2$"
    for mark in ("\\", "&", "%", "$", "#", "_", "{", "}"):
        text = text.replace(mark, {"\\": r"\textbackslash "}.get(mark, "\\" + mark))
    return re.sub(r"-(?=\d)", "$-$", text)
