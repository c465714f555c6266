"""Figures 4, 5 and 6: the law at moderate and large k, and its slope and R2 by k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from rbpkit import figures, paper
from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK, Ink
from rbpkit.largek import Misses, k_at_share
from rbpkit.sources import Curves, panels

# A pocket corpus looks like the paper's corpus that it stands for.
_CORPUS_INK = (
    Ink("#0072B2", "o", "-"),
    Ink("#D55E00", "s", "--"),
    Ink("#009E73", "^", "-."),
    Ink("#CC79A7", "D", (0, (1, 1.2))),
    Ink("#56B4E9", "v", (0, (5, 1.5))),
    Ink("#444444", "P", (0, (3, 1, 1, 1, 1, 1))),
)
_CORPUS_PLACE = {"Wiki": 0, "HumanEval": 1, "HotpotQA": 2, "AusLegal": 3, "C4": 4, "Github": 5}
_CORPUS_PLACE |= {"pocket:prose": 0, "pocket:code": 1, "pocket:qa": 2, "pocket:legal": 3}

PLAIN_SPAN = 4  # from this ratio of a loss axis's ends on, ticks go by factors and not by steps
_MANTISSAS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
SLOPES_TO = 10_000  # where Figure 6b ends

QUANTITIES = {"R2": "$R^2$", "slope": r"slope of $\log(-\log\,\mathrm{RBP}_k)$ on $\log S$"}


def figure_4(rows: Mapping[str, Curves]) -> tuple[Figure, pd.DataFrame]:
    """-log RBP_k against S: a row for each name ("published, k = 10"), a panel a corpus.

    Returns the figure and its points: row, then the columns of `figures.curve_points`, whose
    source is the name's first word. Raises InputError where no row has a curve.
    """
    drawn = {name: curves for name, curves in rows.items() if curves}
    if not drawn:
        raise InputError("nothing to draw: no corpus was measured with enough models")
    figure = figures.law_panels(
        [(name, panels(curves)) for name, curves in drawn.items()],
        r"$-\log\,\mathrm{RBP}_k$",
    )
    for axes in figure.axes:
        low, high = axes.get_ylim()
        if high / low > PLAIN_SPAN and axes.get_visible():
            _log_ticks(axes)
    figure.tight_layout()
    return figure, _points({name: list(curves.values()) for name, curves in drawn.items()})


def row_name(source: str, curves: Curves) -> str:
    """ "measured, k = 1,628"; where the curves do not share their k: "measured, various k"."""
    ks = {curve.quantity.removeprefix("RBP_") for curve in curves.values()}
    return f"{source}, " + (f"k = {int(ks.pop()):,}" if len(ks) == 1 else "various k")


def figure_5(rows: Mapping[str, Sequence[Misses]]) -> tuple[Figure, pd.DataFrame]:
    """-log RBP_k against S where k is large, with the chance error of each point.

    rows: a row of panels for each name, a panel a corpus. The bars are exact 95% binomial
    intervals of the count of missed tokens. Returns the figure and its points: as `figure_4`, and
    tokens and missed. Raises InputError where no row has anything.
    """
    drawn = {name: list(every) for name, every in rows.items() if every}
    if not drawn:
        raise InputError("nothing to draw: no corpus was measured with enough models")
    corpora = {
        name: list(dict.fromkeys(one.curve.corpus for one in every))
        for name, every in drawn.items()
    }
    columns = max(map(len, corpora.values()))
    with figures.style():
        figure, grid = plt.subplots(
            len(drawn), columns, figsize=(3.3 * columns + 0.6, 3.4 * len(drawn)), squeeze=False
        )
        for axes_row, (name, every) in zip(grid, drawn.items(), strict=True):
            for axes in axes_row[len(corpora[name]) :]:
                axes.set_visible(False)
            for axes, corpus in zip(axes_row, corpora[name], strict=False):
                chosen = [one for one in every if one.curve.corpus == corpus]
                _large_k_panel(axes, chosen)
                axes.set_title(f"{name}: {_short(corpus)}")
            axes_row[0].set_ylabel(r"$-\log\,\mathrm{RBP}_k$")
        figure.tight_layout()
    points = _points({name: [one.curve for one in every] for name, every in drawn.items()})
    flat = [one for every in drawn.values() for one in every]
    points["tokens"] = np.concatenate([one.tokens for one in flat])
    points["missed"] = np.concatenate([one.missed for one in flat])
    return figure, points


def _large_k_panel(axes: Axes, chosen: Sequence[Misses]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for one in chosen:
        ink = FAMILY_INK.get(one.curve.family, OTHER_INK)
        figures.draw_law(axes, one.curve)
        # A point without a miss has no place on the axis, and no fit took it: none gets here.
        low, high = (-np.log1p(-end) for end in one.interval())
        axes.errorbar(
            one.curve.S,
            one.curve.loss,
            yerr=np.maximum([one.curve.loss - low, high - one.curve.loss], 0),
            fmt="none",
            ecolor=ink.colour,
            elinewidth=0.9,
            capsize=2,
            alpha=0.8,
            zorder=2.5,
        )
    ends = -np.log1p(-np.concatenate([one.interval() for one in chosen], axis=None))
    ends = ends[ends > 0]
    span = np.log(ends.max() / ends.min())
    # Room below the points for the legend, as in `figures.law_panels`.
    floor = ends.min() * np.exp(-(0.25 + 0.12 * len(chosen)) * span)
    axes.set_ylim(floor, ends.max() * np.exp(0.06 * span))
    _log_ticks(axes)
    axes.set_xlabel("$S$ (non-embedding parameters)")
    _legend(axes, "slope, $R^2$", "lower left")


def figure_6(
    quantity: str, ours: pd.DataFrame, corpora: Sequence[str], families: Sequence[str]
) -> tuple[Figure, pd.DataFrame]:
    """R2 (6a) or slope (6b) against k: the published Pythia first, then a panel a family of ours.

    quantity: "R2" or "slope". ours: as `largek.FitsByK.table`, may be empty. In 6b a horizontal
    line shows the slope of log CE, in its corpus's ink; ours end, as the paper's do, at the share
    of V that 10,000 is of the paper's. In 6a a grey line is at R2 = 0.9. Returns the figure and
    its points: source, corpus, family, quantity ("R2", "slope", "ce_slope"), k (missing for CE),
    value. Raises InputError for another quantity.
    """
    if quantity not in QUANTITIES:
        raise InputError(f"quantity must be {' or '.join(QUANTITIES)}, not {quantity!r}")
    points = pd.concat([_published_6(quantity), _ours_6(quantity, ours, corpora, families)])
    points = points.reset_index(drop=True)
    shown = list(dict.fromkeys(zip(points["source"], points["family"], strict=True)))
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    with figures.style():
        figure, grid = plt.subplots(
            lines, columns, figsize=(4.2 * columns + 0.3, 3.6 * lines), squeeze=False
        )
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        for axes, (source, family) in zip(grid.flat, shown, strict=False):
            panel = points[(points["source"] == source) & (points["family"] == family)]
            _panel_6(axes, panel, quantity)
            axes.set_title(f"{source}: {family}")
        for row in grid:
            row[0].set_ylabel(QUANTITIES[quantity])
        figure.tight_layout()
    return figure, points


def _panel_6(axes: Axes, panel: pd.DataFrame, quantity: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    corpora = list(dict.fromkeys(panel["corpus"]))
    for number, corpus in enumerate(corpora):
        place = _CORPUS_PLACE.get(corpus, number)
        ink = _CORPUS_INK[place % len(_CORPUS_INK)]
        here = panel[panel["corpus"] == corpus]
        by_k = here[here["quantity"] == quantity].sort_values("k")
        axes.plot(
            by_k["k"].astype(float),
            by_k["value"],
            marker=ink.marker,
            linestyle=ink.line,
            color=ink.colour,
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.4,
            linewidth=1.2,
            label=_short(corpus),
        )
        for value in here.loc[here["quantity"] == "ce_slope", "value"]:
            axes.axhline(value, color=ink.colour, linestyle=ink.line, linewidth=0.9, alpha=0.8)
    axes.set_xlabel("$k$ (rank threshold)")
    if quantity == "R2":
        axes.axhline(0.9, color="#888888", linewidth=0.9, zorder=1)
        axes.set_ylim(top=1.02)
        _legend(axes, None, "lower left")
    else:
        _legend(axes, "horizontal: CE", "lower left")


def _published_6(quantity: str) -> pd.DataFrame:
    table = paper.fit_by_k().rename(columns={"dataset": "corpus"})
    wanted = [quantity] if quantity == "R2" else [quantity, "ce_slope"]
    table = table[table["quantity"].isin(wanted)].assign(source="published", family="Pythia")
    return table[["source", "corpus", "family", "quantity", "k", "value"]]


def _ours_6(
    quantity: str, ours: pd.DataFrame, corpora: Sequence[str], families: Sequence[str]
) -> pd.DataFrame:
    """The same columns of `largek.FitsByK.table`, in the order of families and corpora."""
    parts = []
    for family in families:
        for corpus in corpora:
            here = ours[(ours["corpus"] == corpus) & (ours["family"] == family)]
            if quantity == "R2":  # 6a is of RBP_k alone
                here = here[here["k"].notna()]
            elif len(here):  # 6b ends where few tokens are left
                end = k_at_share(SLOPES_TO, int(here["V"].iloc[0]))
                here = here[here["k"].isna() | (here["k"] <= end)]
            name = np.where(here["k"].isna(), "ce_slope", quantity)
            part = here.assign(source="measured", quantity=name, value=here[quantity])
            parts.append(part[["source", "corpus", "family", "quantity", "k", "value"]])
    empty = pd.DataFrame({"k": pd.array([], dtype="Int64")})
    return pd.concat([part for part in parts if len(part)] or [empty])


def _points(rows: Mapping[str, Sequence]) -> pd.DataFrame:
    parts = []
    for name, curves in rows.items():
        part = figures.curve_points(name.split(",")[0].split()[0], curves)
        part.insert(0, "row", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _legend(axes: Axes, title: str | None, place: str) -> None:
    axes.legend(
        title=title,
        title_fontsize=8,
        alignment="left",
        loc=place,
        handletextpad=0.3,
        borderpad=0.3,
        labelspacing=0.25,
    )


def _short(corpus: str) -> str:
    return corpus.removeprefix("pocket:")


def _log_ticks(axes: Axes) -> None:
    """Four ticks or more at round numbers of a log axis, whatever its span."""
    low, high = axes.get_ylim()
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for mantissas in _MANTISSAS:
        ticks = np.sort(np.outer(10.0**decades, mantissas).ravel())
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if ticks.size >= 4:
            break
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(_power_of_ten))
    axes.yaxis.set_minor_locator(NullLocator())


def _power_of_ten(value: float, _position: int | None = None) -> str:
    """0.002 as it is, 2e-4 as a product: below a thousandth plain numbers get long."""
    if value >= 0.00099:
        return f"{value:.10g}"
    exponent = int(np.floor(np.log10(value) + 1e-9))
    digits = f"{value / 10.0**exponent:.3g}"
    power = rf"10^{{{exponent}}}"
    return rf"${power}$" if digits == "1" else rf"${digits}\times{power}$"
