"""The tables behind notebook 09: all cells, the measured ones, and their files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from rbpkit import paper
from rbpkit.fit import curves_of_all, fit_curves, models_of
from rbpkit.writing import as_csv, write_whole
from rbpkit_notebooks.choices import read_study

CELL = ["dataset", "k", "family"]
MINUS = "\N{MINUS SIGN}"
POCKET_KS = [1, 4, 8, 10, 32, 100, 410]


def all_cells(
    printed: pd.DataFrame,
    fitted: pd.DataFrame,
    source: pd.Series,
    half_width: Callable[..., pd.Series],
) -> pd.DataFrame:
    """All 168 cells: as printed, computed again, with intervals, and where their points are."""
    table = printed.add_suffix("_printed").join(fitted)
    figure_6 = paper.table("fit_by_k")  # Pythia's slopes once more, and R2 except that of CE
    figure_6 = figure_6.assign(
        k=figure_6.k.astype("string").fillna("CE").astype(str),
        family="Pythia",
        quantity=figure_6.quantity.replace("ce_slope", "slope"),
    ).pivot(index=CELL, columns="quantity", values="value")
    table["source"] = source
    table[["slope", "R2"]] = table[["slope", "R2"]].fillna(figure_6)
    in_figure_6 = table.source.isna() & table.slope.notna()
    table["source"] = table.source.mask(in_figure_6, "Figure 6").fillna("none")
    models = table.index.get_level_values("family").map(paper.table("models").family.value_counts())
    table["n"] = table.n.fillna(pd.Series(models, table.index)).astype(int)
    slope, R2 = table.slope.fillna(table.slope_printed), table.R2.fillna(table.R2_printed)
    half = half_width(slope, R2, table.n).where(R2 < 1)
    table["low"], table["high"] = slope - half, slope + half
    for name in ("slope", "R2"):
        table[f"{name}_difference"] = table[name] - table[f"{name}_printed"]
    names = "slope_printed R2_printed slope R2 n low high source".split()
    return table[[*names, "slope_difference", "R2_difference"]]


def measured_cells(
    records_dir: str, families: Sequence[str], corpus_names: Sequence[str]
) -> pd.DataFrame:
    """The measured cells in Table 1's form, with intervals; says which have no line."""
    study = read_study(records_dir, families, corpus_names)
    with_line, too_few = [], []
    for corpus, family in product(study.corpora, study.families):
        models = models_of(study.summaries, corpus, family)
        if len(models) >= 3:
            with_line += models
        elif models:
            too_few.append(f"{family} on {corpus} ({len(models)})")
    if too_few:
        print(f"A line needs three models; there are fewer of {', '.join(too_few)}.")
    fits = fit_curves(curves_of_all(with_line, (None, *POCKET_KS)))
    for reason in fits.refused:
        print(f"No line of {reason}")
    if not with_line:
        print(f"Of {study.ours} no family has three sizes on one text, so there is no line.")
    cells = fits.table.rename(columns={"corpus": "dataset"})
    cells["k"] = cells.quantity.str.removeprefix("RBP_")
    there = [one.manifest for one in with_line]
    corpora = dict.fromkeys(about.corpus for about in there)
    families = [family for family in study.families if family in {one.family for one in there}]
    rows = ["CE", *map(str, POCKET_KS)]
    index = pd.MultiIndex.from_product([corpora, rows, families], names=CELL)
    return cells.set_index(CELL).reindex(index)[["slope", "low", "high", "R2", "n"]]


def side_by_side(cells: pd.Series) -> pd.DataFrame:
    """A column for each family; rows and families are in the order of the cells."""
    rows = cells.index.droplevel("family").unique()
    families = cells.index.get_level_values("family").unique()
    return cells.unstack("family").loc[rows, families]


def write_table(points: pd.DataFrame, text: pd.DataFrame, figures_dir: str, name: str) -> None:
    """The table's numbers as NAME.csv, and its cells in the paper's layout as NAME.md, NAME.tex."""
    if not figures_dir:
        return
    both = {quantity: side_by_side(text[quantity]) for quantity in ("slope", "R2")}
    columns = list(product(both["slope"].columns, both))
    wide = pd.concat(both, axis=1).swaplevel(axis=1)[columns]
    lines = [["corpus", "k", *map(" ".join, columns)], ["---", "---", *["---:"] * len(columns)]]
    for cell, row in zip(wide.index, wide.to_numpy(), strict=True):
        lines.append([*cell, *row])
    markdown = "".join(f"| {' | '.join(line)} |\n" for line in lines)

    wide = wide.rename_axis(["corpus", "k"]).rename_axis(columns=[None, None])
    latex = wide.to_latex(
        escape=True,
        multicolumn_format="c",
        multirow=False,
        column_format="ll" + "r" * len(columns),
    )
    latex = re.sub(r"(?<!\w)-(?=\d)", "$-$", latex).replace("R2", "$R^2$").replace(" k ", " $k$ ")
    latex = f"\\resizebox{{\\linewidth}}{{!}}{{%\n{latex.rstrip()}}}\n"
    texts = {"csv": as_csv(points), "md": markdown, "tex": latex}
    files = {f"{name}.{suffix}": content.encode() for suffix, content in texts.items()}
    write_whole(Path(figures_dir), files)
