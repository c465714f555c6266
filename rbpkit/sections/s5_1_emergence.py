"""Section 5.1: windows of N consecutive tokens with every rank at most k (Eqs. 6 to 8, Figure 7).

p_{N,k} is the share of such windows. Under the paper's assumption of independent tokens it is
RBP_k^N, and with the law in S a Gumbel distribution function of ln S. A table of windows has one
row a model, k and N:

    corpus, family, model, S (non-embedding parameters), k, N, windows, hits, p = p_{N,k},
    p_1 = RBP_k, p_2 and shuffled (NaN where not known), independent (Eq. 6: RBP_k^N), markov (the
    chain of pairs, p_1 (p_2 / p_1)^(N - 1)), effective (log p / log p_1), runs_low and runs_high
    (see `run_bounds`); sorted by corpus, family, S, k, N.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import gumbel_r

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import PowerLawFit, fit_power_law
from rbpkit.plots import FAMILY_INK, corpora_of, ink_of, rows_of_panels, short, style, wrapped
from rbpkit.stats.curves import models_of
from rbpkit.summary import Summary

# How far a share read from a figure can be from its fraction: half of the sixth decimal, and some.
READING = 6e-7
CLIP = 1e-12
# Scored tokens of a document truncated at 512, as in the paper: the first is never scored.
WIKI_LONGEST = 511
COLUMNS = "corpus family model S k N windows hits p p_1 p_2 shuffled".split()
ORDER = ["corpus", "family", "S", "k", "N"]

MARKERS = "os^Dv<>pXh*dP8H"
# A share that fewer separate runs of hits may stand for is drawn hollow.
FEW_RUNS = 5
PANELS = 4  # a row


# -- Eq. 8 -------------------------------------------------------------------------------------


def _gumbel(N: ArrayLike, c: float, alpha: float):
    """Eq. 8 as a distribution of ln S: a Gumbel, location ln(N c) / alpha, scale 1 / alpha."""
    return gumbel_r(loc=np.log(np.asarray(N) * c) / alpha, scale=1 / alpha)


def success_at(S: ArrayLike, N: ArrayLike, c: float, alpha: float) -> NDArray[np.float64]:
    """p_{N,k} = exp(-N c S^-alpha), Eq. 8, where -log RBP_k = c S^-alpha.

    S: non-embedding parameters.
    """
    return _gumbel(N, c, alpha).cdf(np.log(S))


def knee(N: ArrayLike, c: float, alpha: float, p: float = 0.5) -> NDArray[np.float64]:
    """ln S at which Eq. 8 passes p: (ln(N c) - ln(-ln p)) / alpha. InputError unless 0 < p < 1.

    N enters by ln N / alpha alone: it moves the curve along ln S and leaves its shape.
    """
    if not 0 < p < 1:
        raise InputError(f"p must be between 0 and 1, not {p!r}")
    return _gumbel(N, c, alpha).ppf(p)


def width(alpha: float, low: float = 0.1, high: float = 0.9) -> float:
    """How far in ln S Eq. 8 climbs from low to high: 3.08 / alpha for 10 to 90%, at every N."""
    return float(knee(1, 1.0, alpha, high) - knee(1, 1.0, alpha, low))


def line(table: pd.DataFrame, k: int, N: int = 1) -> PowerLawFit:
    """The law of -log p_{N,k} in S for the models of one corpus and family in a table of windows.

    At N = 1 it gives Eq. 8 its alpha and its c = exp(intercept). InputError as `fit_power_law`:
    a share of 0 has no place on it.
    """
    part = table[(table["k"] == k) & (table["N"] == N)].sort_values("S")
    with np.errstate(divide="ignore"):  # the fit names the point
        return fit_power_law(part["S"], -np.log(part["p"]), labels=list(part["model"]))


def fits_by_window(table: pd.DataFrame, clip: float = CLIP) -> pd.DataFrame:
    """The line of -log p_{N,k} on S for each k and N: k, N, zeros (raised to `clip`), alpha, R2.

    A series of zeros alone is level: alpha 0, and R2 counted as 1. Both are how the printed
    numbers of Figure 7 seem to have been made, not how one should do it.
    """
    rows = []
    for (k, N), part in table.groupby(["k", "N"]):
        zeros = int((part["p"] == 0).sum())
        alpha, r2 = 0.0, 1.0
        if zeros < len(part):
            fitted = fit_power_law(part["S"], -np.log(part["p"].clip(lower=clip)))
            alpha, r2 = fitted.alpha, fitted.r2
        rows.append((k, N, zeros, alpha, r2))
    return pd.DataFrame(rows, columns=["k", "N", "zeros", "alpha", "R2"])


def annotations(table: pd.DataFrame, clip: float = CLIP) -> pd.DataFrame:
    """Means of `fits_by_window` over N: k, alpha, R2, and alpha_printed, r2_printed of Figure 7."""
    means = fits_by_window(table, clip).groupby("k")[["alpha", "R2"]].mean()
    printed = paper.emergence_fits().set_index("k")[["alpha_printed", "r2_printed"]]
    return means.join(printed).reset_index()


# -- how much a share rests on ----------------------------------------------------------------


def effective_tokens(p_N: ArrayLike, p_1: ArrayLike) -> NDArray[np.float64]:
    """log p_{N,k} / log p_{1,k}: for how many independent tokens a window counts; N under Eq. 6.

    NaN where p_{N,k} is 0, or where p_{1,k} is 1 and nothing can be told.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(p_N) / np.log(p_1)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def shuffled(summary: Summary, N: int, k: int) -> float:
    """p_{N,k} to be expected if the scored tokens of each document were shuffled.

    It keeps that documents differ and drops all order inside them. A document of n tokens and h
    hits has n - N + 1 windows, each hit with C(h, N) / C(n, N). NaN for a k without counts by
    document (see `Summary.k_grid`) and where no document has N tokens.
    """
    column = np.flatnonzero(summary.k_grid == k)
    n = summary.document_tokens.astype(np.float64)
    long = n >= N
    if not column.size or not long.any():
        return float("nan")
    n, h = n[long], summary.document_hits[long, column[0]].astype(np.float64)
    chance = np.zeros(n.size)
    some = h >= N  # fewer hits than N cannot fill a window
    # log n! / (n - N)! is log C(n, N) but for N!, which cancels
    falling = [gammaln(x[some] + 1) - gammaln(x[some] - N + 1) for x in (h, n)]
    chance[some] = np.exp(falling[0] - falling[1])
    return float(np.average(chance, weights=n - N + 1))


def denominator(shares: ArrayLike, most: int, reading: float = READING) -> int:
    """The smallest W <= most of which all shares (n,) can be whole multiples of 1/W.

    reading: how far a share may be from its fraction. InputError when no W fits.
    """
    W = np.arange(1, most + 1, dtype=np.float64)
    for share in np.asarray(shares, dtype=np.float64):
        # 1e-6: rounding of a product near 3e5 in double precision, with much to spare
        W = W[np.abs(share * W - np.rint(share * W)) <= reading * W + 1e-6]
    if not W.size:
        raise InputError(f"no number of windows up to {most} fits these {len(shares)} shares")
    return int(W[0])


def run_bounds(hits: Mapping[int, int], N: int, longest: int) -> tuple[int, int]:
    """Least and greatest number of separate runs of N or more hits, from how many windows hit.

    hits: N -> how many windows of N tokens hit throughout; longest: scored tokens of the longest
    document. A run of L holds L - N + 1 such windows, so hits(N) is the sum over n >= N of the
    runs of at least n, a number that cannot grow with n; neighbouring N bound it on both sides.
    InputError for an N that is not in `hits`.
    """
    if N not in hits:
        raise InputError(f"N = {N} was not counted (there are {sorted(hits)})")
    if not hits[N]:
        return 0, 0
    longer = min((n for n in hits if n > N), default=None)
    shorter = max((n for n in hits if n < N), default=None)
    beyond, rest = (longer, hits[longer]) if longer else (longest + 1, 0)
    low = max(1, -(-(hits[N] - rest) // (beyond - N)))
    high = hits[N] if shorter is None else (hits[shorter] - hits[N]) // (N - shorter)
    return low, min(high, hits[N])


# -- tables of windows -------------------------------------------------------------------------


def published_windows() -> pd.DataFrame:
    """Figure 7 (ten Pythias on Wiki) as a table of windows, with the counts behind its shares.

    windows is not printed in the paper: it is the smallest number that the shares of an N allow,
    at the precision of the reading. Shares read below paper.EMERGENCE_ZERO are zeros.
    """
    read = paper.emergence().rename(columns={"dataset": "corpus"}).assign(family="Pythia")
    read["p"] = read["p"].where(read["p"] >= paper.EMERGENCE_ZERO, 0.0)
    return _counted(read, READING)


def gpt2_windows() -> pd.DataFrame:
    """A table of windows of the four GPT-2 models on Wiki, in the authors' full precision.

    p_2 was not published: the Markov chain cannot be computed (NaN).
    """
    wide = paper.gpt2_wiki_metrics().drop(columns="ce")
    long = wide.melt(["model", "S", "k"], var_name="N", value_name="p")
    long["N"] = long["N"].str.removeprefix("p_N").astype(np.int64)
    return _counted(long.assign(corpus="Wiki", family="GPT2"), 1e-12)


def _counted(table: pd.DataFrame, reading: float) -> pd.DataFrame:
    """Published shares of one family on Wiki, with windows and hits worked out."""
    tokens = paper.token_counts().query("dataset == 'Wiki'").set_index("family")["tokens"]
    most = int(tokens[table["family"].iloc[0]])
    windows = {N: denominator(p[p > 0], most, reading) for N, p in table.groupby("N")["p"]}
    table["windows"] = table["N"].map(windows)
    table["hits"] = np.rint(table["p"] * table["windows"]).astype(np.int64)
    for N in (1, 2):
        one = table[table["N"] == N].set_index(["model", "k"])["p"].rename(f"p_{N}")
        table = table.join(one, on=["model", "k"])
    return _derived(table.assign(shuffled=np.nan, longest=WIKI_LONGEST))


def measured_windows(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    Ns: Sequence[int],
    ks: Sequence[int],
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table of windows of every measured model of corpora x families, and what is missing.

    Missing: a line for a (corpus, family) that was not measured, and for an N that is not stored
    or longer than every document. N = 1 and 2 are always added. InputError for k < 1.
    """
    every = list(summaries)
    rows, missing = [], []
    for corpus, family in product(corpora, families):
        chosen = models_of(every, corpus, family)
        if not chosen:
            missing.append(f"not measured: {family} on {corpus}")
        for one in chosen:
            rows += _rows(one, sorted({1, 2, *Ns}), ks, missing)
    table = pd.DataFrame(rows, columns=[*COLUMNS, "longest"])
    table = table.astype(dict.fromkeys(COLUMNS[-4:], np.float64))
    return _derived(table), tuple(dict.fromkeys(missing))


def _rows(one: Summary, Ns: Sequence[int], ks: Sequence[int], missing: list[str]) -> list[tuple]:
    about = one.manifest
    there = [N for N in Ns if N in one.windows and one.windows[N].total]
    for N in sorted(set(Ns) - set(there)):
        reason = "no document is that long" if N in one.windows else "not in the summaries"
        missing.append(f"no windows of N = {N}: {about.family} on {about.corpus}: {reason}")
    longest = int(one.document_tokens.max())
    rows = []
    for k in ks:
        p_1 = one.success(1, k)
        p_2 = one.success(2, k) if 2 in there else np.nan
        for N in there:
            counted = one.windows[N]
            about_it = (about.corpus, about.family, about.model, about.S, k, N)
            hits = int(counted.at_most(k))
            share, mixed = counted.share(k), shuffled(one, N, k)
            rows.append((*about_it, counted.total, hits, share, p_1, p_2, mixed, longest))
    return rows


def _derived(table: pd.DataFrame) -> pd.DataFrame:
    """A table of windows from its COLUMNS and `longest`, scored tokens of the longest document."""
    table = table[[*COLUMNS, "longest"]].sort_values(ORDER, ignore_index=True)
    p_1, p_2, N = table["p_1"], table["p_2"], table["N"]
    table["independent"] = p_1**N
    table["markov"] = p_1 * (p_2 / p_1) ** (N - 1)  # NaN where nothing hit
    table["effective"] = effective_tokens(table["p"], p_1)
    bounds = pd.DataFrame(index=table.index, columns=["runs_low", "runs_high"], dtype=np.float64)
    for _, part in table.groupby(["corpus", "family", "model", "k"]):
        hits = dict(zip(part["N"].tolist(), part["hits"].tolist(), strict=True))
        bounds.loc[part.index] = [run_bounds(hits, n, part["longest"].iloc[0]) for n in hits]
    return table.drop(columns="longest").join(bounds.astype(np.int64))


def largest_models(table: pd.DataFrame) -> pd.DataFrame:
    """Of a table of windows the rows of the largest model of each family on each corpus."""
    return table[table["S"] == table.groupby(["corpus", "family"])["S"].transform("max")]


def window_points(published: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """The points of these figures: a column `source`, then those of a table of windows."""
    sources = {"published": published, "measured": measured}
    tables = [table.assign(source=name) for name, table in sources.items() if len(table)]
    return pd.concat(tables, ignore_index=True)[["source", *published.columns]]


# -- figures -----------------------------------------------------------------------------------


def figure_7(
    published: pd.DataFrame, measured: pd.DataFrame, ks: Sequence[int], name: str = "measured"
) -> Figure:
    """p_{N,k} against S, a panel for each k: the paper's eight, and below those measured.

    published: of one family on one corpus; measured: the same, or empty; `name` it has in the
    titles. Points are counted shares, dashed lines Eq. 8 with alpha and c from N = 1. InputError
    for nothing to draw.
    """
    if published.empty:
        raise InputError("nothing to draw: the published table is empty")
    panels = [("published", published, k) for k in sorted(published["k"].unique())]
    panels += [(name, measured, k) for k in ks if len(measured)]
    every = sorted({*published["N"], *measured["N"]})
    inks = dict(zip(every, _inks(len(every)), strict=True))
    with style():
        figure, grid = rows_of_panels(wrapped(len(panels), PANELS), (3.1, 2.75))
        every_axes = np.concatenate(grid)
        for number, (axes, (source, table, k)) in enumerate(zip(every_axes, panels, strict=True)):
            _shares(axes, table[table["k"] == k], k, inks)
            where = f"{table['family'].iloc[0]}, {short(table['corpus'].iloc[0])}"
            axes.set_title(f"{source}: {where}, $k = {_thousands(k)}$", fontsize=9.5)
            axes.set_xlabel("$S$ (non-embedding parameters)")
            if number < PANELS:
                _as_printed(axes)
            if number % PANELS == 0:
                axes.set_ylabel("$p_{N,k}$")
        handles = [Line2D([], [], color=c, marker=m, label=f"{N}") for N, (c, m) in inks.items()]
        handles.append(Line2D([], [], color="0.3", linestyle="--", label="Eq. 8"))
        figure.tight_layout(rect=(0, 0, 0.93, 1))
        figure.legend(handles=handles, title="$N$", loc="center right", fontsize=9)
    return figure


def _shares(axes: Axes, table: pd.DataFrame, k: int, inks: dict) -> None:
    axes.set(xscale="log", ylim=(-0.04, 1.04))
    try:
        fitted = line(table, k)
    except InputError:  # fewer than three sizes, or a share of 0 or 1: the points alone
        fitted = None
    sizes = np.geomspace(table["S"].min(), table["S"].max(), 60)
    edge = {"markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
    for N, part in table.groupby("N"):
        colour, marker = inks[N]
        if fitted is not None:
            law = success_at(sizes, N, np.exp(fitted.intercept), fitted.alpha)
            axes.plot(sizes, law, "--", color=colour, linewidth=0.9, zorder=2)
        axes.plot(part["S"], part["p"], marker, ls="-", color=colour, lw=1.1, zorder=3, **edge)


def _as_printed(axes: Axes) -> None:
    """ln S along the top: what stands on the paper's x axis, there written as powers of ten."""

    def log(value):
        return np.log(np.maximum(value, 1e-300))  # matplotlib tries 0 on its way

    top = axes.secondary_xaxis("top", functions=(log, np.exp))
    top.set_xscale("linear")
    low, high = (log(limit) for limit in axes.get_xlim())
    step = 2 if high - low > 6 else 1
    ticks = np.arange(np.ceil(low / step) * step, high, step)
    top.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
    top.tick_params(labelsize=8, pad=1)
    top.set_xlabel(r"$\ln S$, labelled $10^{\ln S}$ in the paper", fontsize=8, labelpad=3)


def effective_panels(
    published: pd.DataFrame, measured: pd.DataFrame, ks: Sequence[int], name: str = "measured"
) -> Figure:
    """log p_{N,k} / log RBP_k against N: for how many independent tokens a window counts.

    Top: all published models, a panel for each of (up to four) k. Below: of what was measured
    the largest model of each family, a panel a corpus, at the first and at the last k; `name` it
    has in the titles. Its families have markers of falling size, so that none hides another. The
    diagonal is Eq. 6. A hollow point may come from fewer than FEW_RUNS separate runs of hits.
    InputError for nothing to draw.
    """
    if published.empty:
        raise InputError("nothing to draw: the published table is empty")
    models = published.drop_duplicates("model").sort_values("S")["model"].tolist()
    inks = zip(models, _inks(len(models)), strict=True)
    every = [(published[published["model"] == model], *ink, "-", 5, model) for model, ink in inks]
    shown = [k for k in ks if k in set(published["k"])][:PANELS] or [1, 10, 50, 100]
    rows = [[(f"published: $k = {_thousands(k)}$", k, every) for k in shown]]
    largest = largest_models(measured)
    for k in dict.fromkeys((ks[0], ks[-1])):
        panels = []
        for corpus in corpora_of(largest):
            part = largest[largest["corpus"] == corpus]
            drawn = []
            families = list(part.groupby("family", sort=False))
            for place, (family, one) in enumerate(families):
                ink, size = ink_of(family), 2 * (len(families) - place) + 2
                drawn.append((one, ink.colour, ink.marker, ink.line, size, family))
            panels.append((f"{name}:\n{short(corpus)}, $k = {_thousands(k)}$", k, drawn))
        rows += [panels[i : i + PANELS] for i in range(0, len(panels), PANELS)]
    with style():
        figure, grid = rows_of_panels([len(panels) for panels in rows], (3.1, 3.1))
        for panels, axes_row in zip(rows, grid, strict=True):
            handles = {"independent": Line2D([], [], color="black")}
            for axes, (title, k, drawn) in zip(axes_row, panels, strict=True):
                for part, *ink, label in drawn:
                    handles[label] = _effective(axes, part[part["k"] == k], *ink)
                top = max(part["N"].max() for part, *_ in drawn)
                axes.plot([1, top], [1, top], color="black", linewidth=1.1)
                axes.set(xscale="log", yscale="log", xlabel="$N$ (tokens of a window)")
                axes.set(ylim=(0.8, 1.4 * top), title=title)
            few = {"marker": "o", "markeredgecolor": "0.3", "markerfacecolor": "white"}
            few = Line2D([], [], linestyle="none", markersize=5, **few)
            handles[f"perhaps under {FEW_RUNS} runs"] = few
            axes_row[0].set_ylabel(r"effective: $\log p_{N,k}\,/\,\log \mathrm{RBP}_k$")
            look = {"loc": "center left", "bbox_to_anchor": (1.02, 0.5), "handlelength": 2.6}
            legend = axes_row[-1].legend(handles.values(), handles.keys(), **look)
            # In a shorter row it stands where a panel would, and must not narrow the columns.
            legend.set_in_layout(len(panels) == max(map(len, rows)))
        figure.tight_layout()
    return figure


def _effective(axes: Axes, part: pd.DataFrame, colour, marker, dash, size) -> Line2D:
    part = part[part["effective"].notna()]
    axes.plot(part["N"], part["effective"], color=colour, linestyle=dash, linewidth=1.1)
    look = {"linestyle": "none", "marker": marker, "markersize": size, "markeredgecolor": colour}
    for few, face in ((False, colour), (True, "white")):
        some = part[(part["runs_low"] < FEW_RUNS) == few]
        axes.plot(some["N"], some["effective"], markerfacecolor=face, zorder=3, **look)
    return Line2D([], [], color=colour, marker=marker, markersize=size, linestyle=dash)


def eq8_panels(published: pd.DataFrame, k: int = 1, N: int = 100) -> Figure:
    """Left: Eq. 8 at one k over sizes that no one has, for several N. Right: p_{N,k} as counted.

    published: a table of windows of one family on one corpus; alpha and c are fitted to it at
    N = 1. The band is the span of S that was measured.
    """
    fitted = line(published, k)
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.2), width_ratios=(1.35, 1))
        _over_all_sizes(left, fitted)
        left.set_title(f"Eq. 8 at $k = {k}$: $\\alpha = {fitted.alpha:.3f}$")

        part = published[(published["k"] == k) & (published["N"] == N)].sort_values("S")
        right.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
        counted = part[part["p"] > 0]
        few = counted["runs_low"] < FEW_RUNS
        right.plot(counted["S"], counted["p"], color="0.6", linewidth=0.8, zorder=1)
        look = {"color": "black", "marker": "o", "linestyle": "none", "markersize": 6}
        for some, face, what in (
            (counted[~few], "black", f"counted, {FEW_RUNS} runs or more"),
            (counted[few], "white", f"counted, perhaps under {FEW_RUNS} runs"),
        ):
            if len(some):
                right.plot(some["S"], some["p"], markerfacecolor=face, label=what, **look)
        green = FAMILY_INK["Pythia"].colour
        right.plot(part["S"], part["markov"], ":s", color=green, label="chain of pairs")
        right.plot(part["S"], part["independent"], "--^", color="#D55E00", label="Eq. 6")
        if none := ", ".join(part.loc[part["p"] == 0, "model"]):
            right.plot([], [], " ", label=f"no hit, so not shown: {none}")
        right.set(ylim=(part["independent"].min() / 1e3, 10), ylabel=f"$p_{{{N},{k}}}$")
        right.set(title=f"$N = {N}$, $k = {k}$, published ({part['corpus'].iloc[0]})")
        right.legend(loc="lower right")
        figure.tight_layout()
    return figure


def _over_all_sizes(axes: Axes, fitted: PowerLawFit) -> None:
    Ns, c, alpha = (1, 10, 100, 1000), float(np.exp(fitted.intercept)), fitted.alpha
    decades = np.log(10)
    x = np.linspace(*(knee(N, c, alpha, p) / decades for N, p in ((1, 0.02), (1000, 0.98))), 400)
    for N, (colour, _), dash in zip(Ns, _inks(len(Ns)), ("-", "--", "-.", ":"), strict=True):
        p = success_at(10.0**x, N, c, alpha)
        axes.plot(x, p, dash, color=colour, linewidth=1.8, label=f"$N = {N}$")
    span = np.log10([fitted.S_min, fitted.S_max])
    axes.axvspan(*span, color="0.75", alpha=0.6, label="published $S$")
    low, high = (knee(100, c, alpha, p) / decades for p in (0.1, 0.9))
    arrow = {"arrowstyle": "<->", "color": "black", "linewidth": 1.0}
    axes.annotate("", (low, -0.09), (high, -0.09), arrowprops=arrow)
    note = f"10 to 90% at $N = 100$: {width(alpha) / decades:.1f} decades"
    axes.text((low + high) / 2, -0.12, note, ha="center", va="top", fontsize=8)
    axes.set_ylim(-0.24, 1.05)
    axes.set_yticks(np.arange(0, 1.01, 0.2))
    axes.set(xlabel="$\\log_{10} S$ ($S$: non-embedding parameters)", ylabel="$p_{N,k}$")
    axes.legend(loc="lower right")


def _inks(count: int) -> list[tuple]:
    """A colour and a marker for each step of a scale; dark to light, none too light to see."""
    colours = sns.color_palette("viridis", count + 1)[:count]
    return [(colour, MARKERS[i % len(MARKERS)]) for i, colour in enumerate(colours)]


def _thousands(k: int) -> str:
    return f"{k:,}".replace(",", "{,}")
