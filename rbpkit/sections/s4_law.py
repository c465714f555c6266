"""Figures 4, 5 and 6: the law at moderate and at large k, and its slope and R2 by k."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogFormatterSciNotation, LogLocator, NullLocator

from rbpkit import paper, plots
from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, Measured, fit_all
from rbpkit.plots import Ink, draw_law, ink_of, rows_of_panels, short, wrapped
from rbpkit.sections.panels import law_panels
from rbpkit.stats.curves import Curves, by_corpus, models_of
from rbpkit.stats.misses import Misses, k_at_share

# A pocket corpus looks like the paper's corpus that it stands for.
_CORPUS_INK = (
    Ink("#0072B2", "o", "-"),
    Ink("#D55E00", "s", "--"),
    Ink("#009E73", "^", "-."),
    Ink("#CC79A7", "D", (0, (1, 1.2))),
    Ink("#56B4E9", "v", (0, (5, 1.5))),
    Ink("#444444", "P", (0, (3, 1, 1, 1, 1, 1))),
)
_CORPUS_PLACE = {corpus: place for place, corpus in enumerate(paper.CORPORA)}
_CORPUS_PLACE |= {"pocket:prose": 0, "pocket:code": 5, "pocket:humaneval": 1}
_CORPUS_PLACE |= {"pocket:qa": 2, "pocket:readme": 4}

PLAIN_SPAN = 4  # from this ratio of a loss axis's ends on, ticks go by factors and not by steps
_FACTORS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
SLOPES_TO = 10_000  # where Figure 6b ends

QUANTITIES = {"R2": "$R^2$", "slope": r"slope of $\log(-\log\,\mathrm{RBP}_k)$ on $\log S$"}


# -- fits by k --------------------------------------------------------------------------------


def k_grid(V: int) -> tuple[int, ...]:
    """The k of Figure 6 for an output matrix of V rows, up to 30,000's share of V.

    The paper's own k, and the shares of V that they are of the paper's, less those that come
    within 5% of one of its k. Raises InputError for V < 1.
    """
    published = paper.fit_by_k()["k"].dropna().unique()
    shares = {k_at_share(k, V) for k in published}
    own = {int(k) for k in published if k <= max(shares)}
    near = {share for share in shares for k in own if abs(share / k - 1) < 0.05}
    return tuple(sorted(own | shares - near))


def fits_by_k(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str]
) -> pd.DataFrame:
    """Slope and R2 at every k of `k_grid`, and of CE, for corpora x families (Figure 6).

    Columns: corpus, family, quantity ("RBP_10", "CE"), V (smallest of the family), k (missing for
    CE), n, slope, low, high (t interval, 95%), R2. A (corpus, family) of fewer than three models is
    left out, and a k at which RBP_k is 1 for some model: its loss has no logarithm.
    """
    every = list(measured)
    names = ["corpus", "family", "quantity", "V", "k", "n", "slope", "low", "high", "R2"]
    found = [pd.DataFrame(columns=names)]
    for corpus, family in product(corpora, families):
        chosen = models_of(every, corpus, family)
        if len(chosen) >= MIN_POINTS:
            V = min(one.manifest.V for one in chosen)
            table = fit_all(chosen, k_grid(V)).table.assign(V=V)
            k = table["quantity"].str.removeprefix("RBP_").replace("CE", None)
            found.append(table.assign(k=k)[names])
    table = pd.concat(found[1:] or found, ignore_index=True)
    return table.astype(
        {"V": "int64", "k": "Int64", "n": "int64"} | dict.fromkeys(names[6:], float)
    )


# -- figures ----------------------------------------------------------------------------------


def figure_4(rows: Mapping[str, Curves]) -> tuple[Figure, pd.DataFrame]:
    """-log RBP_k against S: a row for each name ("published, k = 10"), a panel a corpus.

    Returns the figure and its points: row, then the columns of `plots.curve_points`, whose source
    is the name's first word. Raises InputError where no row has a curve.
    """
    drawn = _drawn(rows)
    figure = law_panels(
        [(name, by_corpus(curves)) for name, curves in drawn.items()],
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
    drawn = _drawn(rows)
    by_corpus: dict[str, dict[str, list[Misses]]] = {name: {} for name in drawn}
    for name, every in drawn.items():
        for one in every:
            by_corpus[name].setdefault(one.curve.corpus, []).append(one)
    with plots.style():
        figure, grid = rows_of_panels([len(of) for of in by_corpus.values()], (3.3, 3.4), (0.6, 0))
        for axes_row, (name, corpora) in zip(grid, by_corpus.items(), strict=True):
            for axes, (corpus, chosen) in zip(axes_row, corpora.items(), strict=True):
                _large_k_panel(axes, chosen)
                axes.set_title(f"{name}: {short(corpus)}")
            axes_row[0].set_ylabel(r"$-\log\,\mathrm{RBP}_k$")
        figure.tight_layout()
    points = _points({name: [one.curve for one in every] for name, every in drawn.items()})
    flat = [one for every in drawn.values() for one in every]
    points["tokens"] = np.concatenate([one.tokens for one in flat])
    points["missed"] = np.concatenate([one.missed for one in flat])
    return figure, points


def _large_k_panel(axes: Axes, chosen: Sequence[Misses]) -> None:
    axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
    intervals = [-np.log1p(-np.array(one.interval())) for one in chosen]
    for one, (low, high) in zip(chosen, intervals, strict=True):
        S, loss = one.curve.S, one.curve.loss
        draw_law(axes, one.curve)
        # A point without a miss has no place on the axis, and no fit took it: none gets here.
        bars = np.maximum([loss - low, high - loss], 0)
        ink = ink_of(one.curve.family).colour
        look = {"ecolor": ink, "elinewidth": 0.9, "capsize": 2, "alpha": 0.8, "zorder": 2.5}
        axes.errorbar(S, loss, yerr=bars, fmt="none", **look)
    ends = np.concatenate(intervals, axis=None)
    ends = ends[ends > 0]
    span = np.log(ends.max() / ends.min())
    # Room below the points for the legend, as in `law_panels`.
    floor = ends.min() * np.exp(-(0.25 + 0.12 * len(chosen)) * span)
    axes.set_ylim(floor, ends.max() * np.exp(0.06 * span))
    _log_ticks(axes)
    _legend(axes, "slope, $R^2$")


def figure_6(
    quantity: str, ours: pd.DataFrame, corpora: Sequence[str], families: Sequence[str]
) -> tuple[Figure, pd.DataFrame]:
    """R2 (6a) or slope (6b) against k: the published Pythia first, then a panel a family of ours.

    quantity: "R2" or "slope". ours: of `fits_by_k`, may be empty. In 6b a horizontal line shows the
    slope of log CE; ours end, as the paper's do, at the share of V that 10,000 is of the paper's.
    In 6a a grey line is at R2 = 0.9. Returns the figure and its points: source, corpus, family,
    quantity ("R2", "slope", "ce_slope"), k (missing for CE), value. Raises InputError for another
    quantity.
    """
    if quantity not in QUANTITIES:
        raise InputError(f"quantity must be {' or '.join(QUANTITIES)}, not {quantity!r}")
    points = _points_6(quantity, ours, corpora, families)
    shown = list(points.groupby(["source", "family"], sort=False))
    with plots.style():
        figure, grid = rows_of_panels(wrapped(len(shown), 3), (4.2, 3.6), (0.3, 0))
        for axes, ((source, family), panel) in zip(np.concatenate(grid), shown, strict=True):
            _panel_6(axes, panel, quantity)
            axes.set_title(f"{source}: {family}")
        for row in grid:
            row[0].set_ylabel(QUANTITIES[quantity])
        figure.tight_layout()
    return figure, points


def _points_6(
    quantity: str, ours: pd.DataFrame, corpora: Sequence[str], families: Sequence[str]
) -> pd.DataFrame:
    published = paper.fit_by_k().rename(columns={"dataset": "corpus"})
    published = published.assign(source="published", family="Pythia")
    chosen = ours[ours["corpus"].isin(corpora) & ours["family"].isin(families)]
    if len(chosen):
        end = chosen["V"].map(lambda V: k_at_share(SLOPES_TO, V))
        chosen = chosen[(quantity == "R2") | ~(chosen["k"] > end).fillna(False).astype(bool)]
    chosen = chosen.sort_values("family", key=lambda f: f.map(families.index), kind="stable")
    name = np.where(chosen["k"].isna(), "ce_slope", quantity)
    ours = chosen.assign(source="measured", quantity=name, value=chosen[quantity])
    table = pd.concat([published, ours] if len(ours) else [published])
    wanted = [quantity] if quantity == "R2" else [quantity, "ce_slope"]
    table = table[table["quantity"].isin(wanted)].reset_index(drop=True)
    return table[["source", "corpus", "family", "quantity", "k", "value"]]


def _panel_6(axes: Axes, panel: pd.DataFrame, quantity: str) -> None:
    axes.set(xscale="log", xlabel="$k$ (rank threshold)")
    for number, (corpus, here) in enumerate(panel.groupby("corpus", sort=False)):
        ink = _CORPUS_INK[_CORPUS_PLACE.get(corpus, number) % len(_CORPUS_INK)]
        look = {"color": ink.colour, "linestyle": ink.line}
        dots = {"markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
        by_k = here[here["quantity"] == quantity].sort_values("k")
        k, label = by_k["k"].astype(float), short(corpus)
        axes.plot(k, by_k["value"], marker=ink.marker, linewidth=1.2, label=label, **look, **dots)
        for value in here.loc[here["quantity"] == "ce_slope", "value"]:
            axes.axhline(value, linewidth=0.9, alpha=0.8, **look)
    if quantity == "R2":
        axes.axhline(0.9, color="#888888", linewidth=0.9, zorder=1)
        axes.set_ylim(top=1.02)
    _legend(axes, None if quantity == "R2" else "horizontal: CE", loc="best")


def _drawn(rows: Mapping[str, Curves | Sequence[Misses]]) -> dict:
    drawn = {name: of for name, of in rows.items() if of}
    if not drawn:
        raise InputError("nothing to draw: no corpus was measured with enough models")
    return drawn


def _points(rows: Mapping[str, Sequence]) -> pd.DataFrame:
    parts = []
    for name, curves in rows.items():
        part = plots.curve_points(name.split(",")[0].split()[0], curves)
        part.insert(0, "row", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _legend(axes: Axes, title: str | None, loc: str = "lower left") -> None:
    tight = {"handletextpad": 0.3, "borderpad": 0.3, "labelspacing": 0.25}
    axes.legend(title=title, title_fontsize=8, alignment="left", loc=loc, **tight)


def _log_ticks(axes: Axes) -> None:
    """Four ticks or more at round numbers of a log axis, whatever its span."""
    low, high = axes.get_ylim()
    for factors in _FACTORS:
        ticks = LogLocator(subs=factors, numticks=99).tick_values(low, high)
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if ticks.size >= 4:
            break
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)))
    axes.yaxis.set_minor_locator(NullLocator())
