"""Windows of N tokens (Section 5.1): are their tokens independent, and does emergence sharpen?

From one job's records, two tables: p_{N,k} against RBP_k^N with intervals, and the correlation of
ranks and hits by lag, in a part between documents (what is left if each document's tokens are
shuffled) and a part within them (what goes by order).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.stats import rankdata

from rbpkit.errors import InputError
from rbpkit.plots import FAMILY_INK, corpora_of, family_marks, ink_of, short, style, whiskers
from rbpkit.records import Records
from rbpkit.sections import s5_1_emergence
from rbpkit.stats.bootstrap import DRAWS, finite_interval, resample_weights, sampling_units
from rbpkit.summary import document_index, window_maxima

WINDOW_N = (1, 2, 5, 10, 20, 50)
KS = (1, 10, 100)
LAGS = (1, 2, 3, 4, 5, 10, 20, 50)
CLAIM_N = 10  # the hits of longer windows come from single documents
ALL_RANKS = "rank"  # the quantity of a Spearman correlation, beside "hit 1", "hit 10", ...
PARTS = ("total", "within", "within_low", "within_high")
PARTS += ("between", "between_low", "between_high")


# -- one job -----------------------------------------------------------------------------------


def windows_table(
    records: Records,
    Ns: Sequence[int] = WINDOW_N,
    ks: Sequence[int] = KS,
    draws: int = DRAWS,
) -> pd.DataFrame:
    """p_{N,k} of one job and what it rests on, a row for each N that a document has, and k.

    Columns: N, k, windows and documents (with at least one window), hits and hit_documents (with
    at least one hit), half_documents (the fewest that hold half of the hits), p, p_low, p_high,
    ratio = log p_{N,k} / (N log RBP_k), ratio_low, ratio_high. The ratio is 1 under Eq. 6; it is
    inf where nothing hits, NaN where RBP_k is 0 or 1. Intervals: 95%, bootstrap of the text,
    p_{N,k} and RBP_k of the same draw; for this model and text like this one. NaN where a draw has
    no window.
    """
    numbers, index = document_index(records.document)
    weights = _weights(records, numbers, draws)
    singles = _per_document(records, index, numbers.size, 1, ks)
    rows = []
    for N in Ns:
        windows, hits = _per_document(records, index, numbers.size, N, ks)
        if not windows.any():
            continue
        for j, k in enumerate(ks):
            one = (windows, hits[:, j], singles[0], singles[1][:, j])
            p, ratio = (float(value[0]) for value in _ratio(np.ones((1, numbers.size)), N, *one))
            p_ends, ratio_ends = map(finite_interval, _ratio(weights, N, *one, inverse=True))
            counts = _concentration(windows, hits[:, j])
            # inf is the ratio of no hits at all: it is bounded through its inverse
            low, high = (np.inf if end == 0 else 1 / end for end in reversed(ratio_ends))
            rows.append((N, k, *counts, p, *p_ends, ratio, low, high))
    names = "N k windows documents hits hit_documents half_documents p p_low p_high"
    return pd.DataFrame(rows, columns=[*names.split(), "ratio", "ratio_low", "ratio_high"])


def _weights(records: Records, documents: np.ndarray, draws: int) -> np.ndarray:
    return resample_weights(sampling_units(records.manifest.corpus, documents), draws)


def _per_document(
    records: Records, index: np.ndarray, D: int, N: int, ks: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Windows of N (D,) and those that hit at each k (D, K), by document."""
    ((_, largest),) = window_maxima(records.rank(), records.document, records.position, (N,))
    at = index[: max(index.size - N + 1, 0)][_adjacent(records, N - 1)]
    hits = [np.bincount(at[largest <= k], minlength=D) for k in ks]
    return np.bincount(at, minlength=D), np.stack(hits, axis=1)


def _adjacent(records: Records, lag: int) -> np.ndarray:
    """(T - lag,) whether token i + lag is that far behind token i, in the same document."""
    first = slice(0, max(records.tokens - lag, 0))
    same = records.document[first] == records.document[lag:]
    return same & (records.position[lag:] - records.position[first] == lag)


def _ratio(
    weights: np.ndarray,
    N: int,
    windows: np.ndarray,
    hits: np.ndarray,
    tokens: np.ndarray,
    token_hits: np.ndarray,
    inverse: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """p_{N,k} and the ratio (or 1 / ratio) of each row of weights (draws, D)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (weights @ hits) / (weights @ windows)
        up, down = np.log(p), N * np.log((weights @ token_hits) / (weights @ tokens))
        return p, down / up if inverse else up / down


def _concentration(windows: np.ndarray, hits: np.ndarray) -> tuple[int, int, int, int, int]:
    """Windows, documents that have one, hits, documents that have one, documents for half."""
    total, most_first = int(hits.sum()), np.sort(hits)[::-1]
    half = int(np.searchsorted(2 * np.cumsum(most_first), total)) + 1 if total else 0
    return int(windows.sum()), int((windows > 0).sum()), total, int((hits > 0).sum()), half


def lags_table(
    records: Records,
    lags: Sequence[int] = LAGS,
    ks: Sequence[int] = KS,
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Correlation of a token with the one `lag` further on, inside documents: where it comes from.

    Columns: quantity ("rank": of R by ranks, Spearman's; "hit k": of R <= k), lag, pairs,
    documents (with a pair), total, then within and between with _low and _high; to four decimals.

    between: what would be left on average if each document's tokens were shuffled. It keeps that
    documents differ, without the noise of a short document's mean. within = total - between: about
    the document's own mean, and 0 on average when order says nothing. Order counts as between by
    its mean over all pairs of a document: 2 r / n for neighbours that correlate by r in n tokens.

    Documents weigh as they have pairs. Intervals: 95%, bootstrap of the text. NaN where nothing
    varies.
    """
    numbers, index = document_index(records.document)
    D, rank = numbers.size, records.rank()
    weights = _weights(records, numbers, draws)
    every = np.vstack([np.ones((1, D)), weights])
    quantities = {ALL_RANKS: rankdata(rank) / records.tokens}  # once: the draws keep these ranks
    quantities |= {f"hit {k}": (rank <= k).astype(np.float64) for k in ks}
    rows = []
    for name, x in quantities.items():
        x = x - x.mean()
        for lag in lags:
            both = np.flatnonzero(_adjacent(records, lag))
            if not both.size:
                continue
            pairs = np.bincount(index[both], minlength=D)
            total, *parts = _parts(every @ _sums(x, index, both, lag, pairs))
            ends = ((part[0], *finite_interval(part[1:])) for part in parts)
            values = [total[0], *chain.from_iterable(ends)]
            counts = both.size, int((pairs > 0).sum())
            rows.append((name, lag, *counts, *(round(float(value), 4) for value in values)))
    return pd.DataFrame(rows, columns=["quantity", "lag", "pairs", "documents", *PARTS])


def _sums(
    x: np.ndarray, index: np.ndarray, both: np.ndarray, lag: int, pairs: np.ndarray
) -> np.ndarray:
    """(D, 6) by document: pairs; times mean, second moment, mean of shuffled products of x; then
    over pairs of x_t + x_{t+lag} and of x_t x_{t+lag}. All add up over documents."""
    D = pairs.size
    n = np.bincount(index, minlength=D).astype(np.float64)
    s, s2 = (np.bincount(index, weights=v, minlength=D) for v in (x, x * x))
    # Of all ordered pairs of different tokens of the document; one token alone has no pair
    mixed = (s * s - s2) / np.maximum(n * (n - 1), 1)
    here, there = x[both], x[both + lag]
    added, product = (
        np.bincount(index[both], weights=v, minlength=D) for v in (here + there, here * there)
    )
    return np.stack([pairs, pairs * s / n, pairs * s2 / n, pairs * mixed, added, product], axis=1)


def _parts(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """total, within, between of rows of added-up `_sums`, (draws, 6)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, second, mixed, added, product = (sums[:, 1:] / sums[:, :1]).T
        variance = second - mean**2
        total = (product - mean * added + mean**2) / variance
        between = (mixed - mean**2) / variance
    return total, total - between, between


# -- all jobs ----------------------------------------------------------------------------------


def published_ratios(Ns: Sequence[int] = WINDOW_N) -> pd.DataFrame:
    """Figure 7 (Pythia) and the authors' GPT-2 shares on Wiki: corpus, family, model, S, k, N, p,
    p_1, hits, runs_low, runs_high, effective and ratio = effective / N (inf where nothing hit)."""
    both = (s5_1_emergence.published_windows(), s5_1_emergence.gpt2_windows())
    return with_ratio(pd.concat(both, ignore_index=True), Ns)


def with_ratio(table: pd.DataFrame, Ns: Sequence[int] = WINDOW_N) -> pd.DataFrame:
    """Windows of `s5_1_emergence` at some N, with ratio = log p_{N,k} / (N log RBP_k)."""
    table = table[table["N"].isin(Ns)].reset_index(drop=True)
    ratio = table["effective"] / table["N"]
    none = (table["p"] == 0) & (table["p_1"] > 0)
    return table.assign(ratio=ratio.where(~none, np.inf))


def ratio_medians(windows: pd.DataFrame, by: Sequence[str] = ("corpus", "k", "N")) -> pd.DataFrame:
    """Medians over jobs of the table `windows`: by, jobs, ratio, low, high, half_documents, hits.

    low and high are medians of the jobs' interval ends: the interval of the median if all jobs
    moved together from draw to draw, and wider than it if they do not.
    """
    columns = {"ratio": "ratio", "low": "ratio_low", "high": "ratio_high"}
    columns |= {"half_documents": "half_documents", "hits": "hits"}
    # a missing interval counts as one without an end
    open_ended = windows.fillna({"ratio_low": 0.0, "ratio_high": np.inf})
    groups = open_ended.groupby(list(by), sort=False)
    found = groups.agg(**{name: (column, "median") for name, column in columns.items()})
    found.insert(0, "jobs", groups.size())
    return found.reset_index()


# -- figures ---------------------------------------------------------------------------------

PANEL_COLUMNS = 3
NAMES = {"rank": "rank (Spearman)", "hit 1": "hit, $k = 1$", "hit 10": "hit, $k = 10$"}
NAMES |= {"hit 100": "hit, $k = 100$"}
LAG_LOOK = {"rank": ("o", "-"), "hit 1": ("s", "--"), "hit 10": ("^", "-."), "hit 100": ("D", ":")}


def window_points(
    published: pd.DataFrame, windows: pd.DataFrame | None, Ns: Sequence[int], ks: Sequence[int]
) -> pd.DataFrame:
    """What `figure_windows` draws: source, corpus, family, model, S, k, N, hits, rbp (RBP_k),
    independent (RBP_k^N), p, p_low, p_high (95%, text resampled; NaN where published).

    published: `published_ratios`; windows: the table of that name, or None.
    """
    columns = "corpus family model S k N hits rbp independent p p_low p_high".split()
    one = published.rename(columns={"p_1": "rbp"}).assign(p_low=np.nan, p_high=np.nan)
    parts = [one[columns].assign(source="published")]
    if windows is not None and len(windows):
        keys = ["corpus", "family", "model", "k"]
        singles = windows.loc[windows["N"] == 1, [*keys, "p"]].rename(columns={"p": "rbp"})
        ours = windows.merge(singles, on=keys)
        ours["independent"] = ours["rbp"] ** ours["N"]
        parts.append(ours[columns].assign(source="pocket"))
    every = pd.concat(parts, ignore_index=True)
    every = every[every["N"].isin(Ns) & every["k"].isin(ks)]
    return every[["source", *columns]].reset_index(drop=True)


def figure_windows(points: pd.DataFrame) -> Figure:
    """Measured p_{N,k} against RBP_k^N of `window_points`, a panel a corpus, on log axes.

    On the line tokens are independent. Fill goes by N, colour and marker by family. A cross is a
    share whose interval reaches 0: its hits come from very few documents. Shares of 0 are left
    out. InputError for nothing to draw.
    """
    shown = points[points["p"] > 0]
    panels = [
        part
        for corpus in corpora_of(shown)
        for _, part in shown[shown["corpus"] == corpus].groupby("source", sort=False)
    ]
    if not panels:
        raise InputError("nothing to draw: no share of windows is above 0")
    Ns = sorted(shown["N"].unique())
    rows = -(-(len(panels) + 1) // PANEL_COLUMNS)  # one place is for the legend
    left, low = (10 ** np.floor(np.log10(shown[name].min())) for name in ("independent", "p"))
    with style():
        figure, grid = plt.subplots(
            rows, PANEL_COLUMNS, figsize=(3.5 * PANEL_COLUMNS, 3.1 * rows), squeeze=False
        )
        for place, (axes, part) in enumerate(zip(grid.flat, panels, strict=False)):
            axes.set(xscale="log", yscale="log", xlim=(left, 3), ylim=(low, 3))
            axes.plot([low, 1], [low, 1], color="black", linewidth=1, zorder=1)
            for (family, N), some in part.groupby(["family", "N"], sort=False):
                _shares(axes, some, family, _fill(Ns, N))
            corpus = short(part["corpus"].iloc[0])
            axes.set(title=f"{part['source'].iloc[0]}: {corpus}", xlabel="$\\mathrm{RBP}_k^{\\,N}$")
            if place % PANEL_COLUMNS == 0:
                axes.set_ylabel("$p_{N,k}$")
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        there = set(shown["family"])
        families = [name for name in FAMILY_INK if name in there] + sorted(there - set(FAMILY_INK))
        grid.flat[len(panels)].legend(
            handles=_handles(families, Ns), loc="center left", fontsize=9, frameon=False
        )
        figure.tight_layout()
    return figure


def _fill(Ns: Sequence[int], N: int) -> float:
    """0 (hollow) for the shortest window up to 1 (full) for the longest."""
    return Ns.index(N) / max(len(Ns) - 1, 1)


def _face(colour: str, fill: float) -> tuple:
    return tuple(1 - fill * (1 - value) for value in to_rgb(colour))


def _shares(axes: Axes, some: pd.DataFrame, family: str, fill: float) -> None:
    ink = ink_of(family)
    few = (some["p_low"] <= 0).to_numpy()
    axes.plot(some["independent"][few], some["p"][few], "x", color=ink.colour, markersize=5)
    some = some[~few]
    if some["p_low"].notna().any():
        look = {"fmt": "none", "ecolor": ink.colour, "elinewidth": 0.8, "zorder": 2}
        axes.errorbar(some["independent"], some["p"], whiskers(some, "p"), **look)
    look = {"color": ink.colour, "marker": ink.marker, "linestyle": "none", "markersize": 4.5}
    look |= {"markerfacecolor": _face(ink.colour, fill), "markeredgewidth": 0.7}
    axes.plot(some["independent"], some["p"], zorder=3, **look)


def _handles(families: Sequence[str], Ns: Sequence[int]) -> list[Line2D]:
    none = {"linestyle": "none", "markersize": 6}
    handles = family_marks(families, **none)
    for N in Ns:
        face = _face("black", _fill(Ns, N))
        look = {"color": "black", "marker": "o", "markerfacecolor": face, **none}
        handles.append(Line2D([], [], label=f"$N = {N}$", **look))
    few = Line2D([], [], color="black", marker="x", label="interval reaches 0", **none)
    return [
        *handles,
        few,
        Line2D([], [], color="black", label="$p_{N,k} = \\mathrm{RBP}_k^{\\,N}$"),
    ]


def figure_lags(medians: pd.DataFrame) -> Figure:
    """Correlation by lag: within documents, and between them.

    medians: over the models of a corpus, of the table `lags`: corpus, quantity, lag and PARTS. A
    column a corpus; bars from the median of the intervals' lower ends to that of the upper ends.
    InputError for nothing to draw.
    """
    corpora = corpora_of(medians) if len(medians) else []
    if not corpora:
        raise InputError("nothing to draw: the table of lags is empty")
    quantities = list(dict.fromkeys(medians["quantity"]))
    colours = sns.color_palette("viridis", len(quantities) + 1)
    with style():
        figure, grid = plt.subplots(
            2, len(corpora), figsize=(3.0 * len(corpora), 5.6), squeeze=False, sharey="row"
        )
        for row, (part, title) in zip(
            grid, (("within", "within documents"), ("between", "between documents")), strict=True
        ):
            for axes, corpus in zip(row, corpora, strict=True):
                axes.set_xscale("log")
                axes.axhline(0, color="black", linewidth=0.8)
                for number, quantity in enumerate(quantities):
                    rows = medians["corpus"].eq(corpus) & medians["quantity"].eq(quantity)
                    _by_lag(axes, medians[rows], part, quantity, number, colours[number])
                lags = sorted(medians["lag"].unique())
                axes.set_xticks(lags, [str(lag) for lag in lags])
                axes.minorticks_off()
                axes.set_title(f"{short(corpus)}, {title}", fontsize=9.5)
                axes.set_xlabel("lag (tokens)")
            row[0].set_ylabel("correlation")
        figure.tight_layout(rect=(0, 0.06, 1, 1))
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncol=len(labels), fontsize=9)
    return figure


def _by_lag(
    axes: Axes, table: pd.DataFrame, part: str, quantity: str, number: int, colour: tuple
) -> None:
    marker, dash = LAG_LOOK.get(quantity, ("v", "-"))
    look = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4.5}
    look |= {"linewidth": 1.1, "elinewidth": 0.8, "label": NAMES.get(quantity, quantity)}
    x = table["lag"] * 1.04 ** (number - 1.5)  # side by side: bars must not hide one another
    axes.errorbar(x, table[part], whiskers(table, part), **look)


TABLES = {"windows": windows_table, "lags": lags_table}
"""Tables of one job's records: name -> function."""
