"""Figure 8 (Section 5.2): the two laws, the lognormal over ranks, what it gives for the laws."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from scipy.special import entr

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law
from rbpkit.plots import curve_points, ink_of, plain_log_ticks, short, style, whiskers
from rbpkit.sections import c_derivation
from rbpkit.sections.s5_2_rank_fits import fit_lognormal, lognormal_probability
from rbpkit.stats.curves import Curves, models_of
from rbpkit.summary import Histogram, Summary

BINS_A_DECADE = 10  # as wide as those of Figure 8c


def published_laws() -> pd.DataFrame:
    """Figures 8a and 8b, ten Pythias on Wiki by rising S, one row each.

    Columns: model, S, CE (nats) and neg_log_rbp1 as measured by the paper, simulated_CE and
    simulated_neg_log_rbp1 of 8b, and mu, sigma, ratio (mu / sigma): 8b inverted by Appendix C.
    """
    table = paper.ce_and_rbp1()
    names = {"empirical": "", "simulated": "simulated_"}
    table["column"] = table["kind"].map(names) + table["series"]
    wide = table.pivot(index=["S", "model"], columns="column", values="value").reset_index()
    wide.columns.name = None
    mu, sigma = c_derivation.invert(wide["simulated_CE"], wide["simulated_neg_log_rbp1"])
    order = ["model", "S", "CE", "neg_log_rbp1", "simulated_CE", "simulated_neg_log_rbp1"]
    return wide[order].assign(mu=mu, sigma=sigma, ratio=mu / sigma)


def law_curves(table: pd.DataFrame, prefix: str = "") -> tuple[Curve, Curve]:
    """CE and RBP_1 of `published_laws` as curves; prefix "simulated_" for those of Figure 8b."""
    models, S = tuple(table["model"]), table["S"].to_numpy(dtype=float)
    ce = table[prefix + "CE"].to_numpy()
    rbp = np.exp(-table[prefix + "neg_log_rbp1"].to_numpy())
    return tuple(
        Curve("Wiki", "Pythia", quantity, models, S, value)
        for quantity, value in (("CE", ce), ("RBP_1", rbp))
    )


def published_exponents() -> pd.DataFrame:
    """alpha_CE and alpha_1 of Table 1, 24 rows: corpus, family, alpha_CE, alpha_1, difference.

    difference is alpha_1 - alpha_CE; R2_CE and R2_1 are those of the two fits.
    """
    table = paper.table1()
    rows = table[table["k"].isin(["CE", "1"])]
    wide = rows.pivot(index=["dataset", "family"], columns="k", values=["slope", "r2"])
    found = pd.DataFrame(index=wide.index)
    found["alpha_CE"], found["alpha_1"] = -wide["slope", "CE"], -wide["slope", "1"]
    found["difference"] = found["alpha_1"] - found["alpha_CE"]
    found["R2_CE"], found["R2_1"] = wide["r2", "CE"], wide["r2", "1"]
    return found.reset_index().rename(columns={"dataset": "corpus"})


def in_order(
    measured: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Summary]:
    """Those of these corpora and families, in this order, and by rising S."""
    every = list(measured)
    asked = itertools.product(corpora, families)
    return [one for corpus, family in asked for one in models_of(every, corpus, family)]


def lognormals(
    measured: Iterable[Summary], k_mins: Sequence[int] = (1, 2), form: str = "rounded"
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A lognormal for the ranks of each model from each k_min, and a line for each without one.

    form "rounded" has no upper end, as in `powerlaw`; "discrete" ends at V. Columns: corpus,
    family, model, S, k_min, mu, mu_se, sigma, sigma_se, ratio (mu / sigma); as measured CE and
    entropy (of the ranks; both nats) and neg_log_rbp1; as the fit has it over all of 1..V,
    fitted_entropy and fitted_neg_log_p1; as Figure 8b has it, by Appendix C's closed form from mu
    and sigma, simulated_CE and simulated_neg_log_rbp1.
    """
    rows, refused = [], []
    for one, k_min in itertools.product(measured, k_mins):
        about = one.manifest
        V = about.V if form == "discrete" else None
        try:
            fit = fit_lognormal(one.ranks, V, k_min=k_min, form=form)
        except InputError as error:
            refused.append(f"{about.model} on {about.corpus}, k_min = {k_min}: {error}")
            continue
        p = lognormal_probability(np.arange(1, about.V + 1), fit.mu, fit.sigma, about.V, form=form)
        row = {"corpus": about.corpus, "family": about.family, "model": about.model}
        row |= {"S": about.S, "k_min": k_min, "mu": fit.mu, "mu_se": fit.mu_se}
        row |= {"sigma": fit.sigma, "sigma_se": fit.sigma_se, "ratio": fit.mu / fit.sigma}
        row |= {"CE": one.ce(), "entropy": entr(one.ranks.counts / one.ranks.total).sum()}
        with np.errstate(divide="ignore"):  # inf where no token is first
            row |= {"neg_log_rbp1": -np.log(one.rbp(1))}
        row |= {"fitted_entropy": entr(p).sum(), "fitted_neg_log_p1": -np.log(p[0])}
        row |= {"simulated_CE": c_derivation.entropy_approx(fit.mu, fit.sigma)}
        row |= {"simulated_neg_log_rbp1": c_derivation.neg_log_p1_approx(fit.mu, fit.sigma)}
        rows.append(row)
    return pd.DataFrame(rows), tuple(refused)


def density(ranks: Histogram, mu: float, sigma: float) -> pd.DataFrame:
    """Ranks in bins as `paper.rank_density` has them, with rank 1 as a bin of its own in front.

    Columns: bin_lo, bin_hi, mass (share of all ranks >= 2, so rank 1 has RBP_1 / (1 - RBP_1)).
    Bins without a rank are left out. mu, sigma: see `with_lognormal`, which is applied.
    """
    end = ranks.values[-1] + 1
    edges = np.geomspace(2, end, 2 + int(BINS_A_DECADE * np.log10(end)))
    edges = np.unique(np.concatenate(([1], np.round(edges).astype(int))))
    counts = np.histogram(ranks.values, edges, weights=ranks.counts)[0]
    bins = pd.DataFrame({"bin_lo": edges[:-1], "bin_hi": edges[1:]})
    bins["mass"] = counts / (ranks.total - ranks.at_most(1))
    return with_lognormal(bins[counts > 0], mu, sigma)


def largest_densities(
    measured: Sequence[Summary], fitted: pd.DataFrame
) -> list[tuple[str, pd.DataFrame]]:
    """`density` of the largest model of each corpus, with the title of its panel.

    fitted: rows of `lognormals` of `measured` at k_min = 2.
    """
    if fitted.empty:
        return []
    ranks = {(one.manifest.corpus, one.manifest.model): one.ranks for one in measured}
    largest = fitted.loc[fitted.groupby("corpus", sort=False)["S"].idxmax()]
    return [
        (
            f"measured: {short(row.corpus)}\n{row.model}",
            density(ranks[row.corpus, row.model], row.mu, row.sigma),
        )
        for row in largest.itertuples()
    ]


def published_density(model: str, rbp1: float, mu: float, sigma: float) -> pd.DataFrame:
    """`density` of one of the four Pythias of Figure 8c; rank 1 is from RBP_1 of Figure 8a."""
    bins = paper.rank_density().query("model == @model")[["bin_lo", "bin_hi", "mass"]]
    first = pd.DataFrame({"bin_lo": [1], "bin_hi": [2], "mass": [rbp1 / (1 - rbp1)]})
    return with_lognormal(pd.concat([first, bins]), mu, sigma)


def with_lognormal(bins: pd.DataFrame, mu: float, sigma: float) -> pd.DataFrame:
    """With `fitted`, the mass that the rounded lognormal over ranks >= 2 has in each bin.

    On rank 1 it is the extension of the same curve. Divide by the bin's width for a density.
    """
    top = int(bins["bin_hi"].max())
    p = lognormal_probability(np.arange(1, top), mu, sigma, None, form="rounded")
    below = lognormal_probability(1, mu, sigma, None, form="rounded")
    upto = np.concatenate(([0.0, 0.0], np.cumsum(p))) / (1 - below)
    fitted = upto[bins["bin_hi"]] - upto[bins["bin_lo"]]
    return bins.assign(fitted=fitted).reset_index(drop=True)


# -- figures -----------------------------------------------------------------------------------

S_LABEL = "$S$ (non-embedding parameters)"
LOSS_1 = r"$-\log\,\mathrm{RBP}_1$"
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.6}
COLUMNS = 4  # of a grid; the published panels share the width of its first row
Density = tuple[str, pd.DataFrame]  # title of a panel and its bins, as `density`


def figure_8a(
    published: tuple[Curve, Curve], table: pd.DataFrame, ce: Curves, rbp: Curves, own: pd.DataFrame
) -> Figure:
    """Both laws on twin axes, and the exponents of each pair.

    published: CE and RBP_1 of ten Pythias. table: `published_exponents`. ce, rbp: as measured, a
    panel a corpus. own: their exponents, a row a (corpus, family): alpha_CE and alpha_1 with 95%
    intervals (_low, _high). The three may be empty.
    """
    corpora = list(dict.fromkeys(corpus for corpus, family in ce if (corpus, family) in rbp))
    with style():
        figure, (left, right), below = _grid(2, len(corpora))
        _twin(left, [published], "published: Pythia, Wiki")
        _exponents(right, table, own)
        for number, (axes, corpus) in enumerate(zip(below, corpora, strict=True)):
            pairs = [(ce[at], rbp[at]) for at in ce if at[0] == corpus and at in rbp]
            last = number % COLUMNS == COLUMNS - 1 or corpus == corpora[-1]
            sides = (number % COLUMNS == 0, last)
            _twin(axes, pairs, f"measured: {short(corpus)}", sides)
        figure.tight_layout()
    return figure


def figure_8b(simulated: tuple[Curve, Curve], published: pd.DataFrame, own: pd.DataFrame) -> Figure:
    """What the lognormals give for both laws, and how far that is from what was measured.

    simulated: CE and RBP_1 of Figure 8b. published: `published_laws`. own: the table of
    `lognormals` at one k_min, may be empty.
    """
    with style():
        figure, axes_row = plt.subplots(1, 3, figsize=(12, 3.9))
        _twin(axes_row[0], [simulated], "published: simulated (8b)")
        for axes, name, label in (
            (axes_row[1], "CE", "CE in nats"),
            (axes_row[2], "neg_log_rbp1", LOSS_1),
        ):
            look = {"linestyle": "none", **EDGE}
            axes.plot(
                published[name], published[f"simulated_{name}"], marker="*", color="black",
                markersize=9, zorder=4, label="published: Pythia, Wiki", **look,
            )  # fmt: skip
            for family, rows in [] if own.empty else own.groupby("family", sort=False):
                ink = ink_of(family)
                look |= {"marker": ink.marker, "color": ink.colour, "label": family}
                axes.plot(rows[name], rows[f"simulated_{name}"], markersize=5.5, zorder=3, **look)
            every = pd.concat([published, own])[name]
            ends = [every.min(), every.max()]
            axes.plot(ends, ends, color="black", linewidth=1.2, label="simulated = measured")
            axes.set(xlabel=f"{label}, measured", ylabel=f"{label}, from the lognormal")
            axes.legend(loc="upper left")
            axes.margins(y=0.12)
            axes.set_ylim(top=axes.get_ylim()[1] + 0.3 * np.ptp(axes.get_ylim()))
        figure.tight_layout()
    return figure


def figure_8c(published: Sequence[Density], measured: Sequence[Density]) -> Figure:
    """How the ranks are spread, over ranks >= 2, with the lognormal fitted to them, and rank 1.

    published: the four of the paper. measured: may be empty.
    """
    with style():
        figure, top, below = _grid(COLUMNS, len(measured), first_row=2.9)
        panels = zip([*top, *below], [*published, *measured], strict=True)
        for number, (axes, (title, bins)) in enumerate(panels):
            width = bins["bin_hi"] - bins["bin_lo"]
            middle = np.sqrt(bins["bin_lo"] * (bins["bin_hi"] - 1))
            seen, fitted = bins["mass"] / width, bins["fitted"] / width
            rest = bins["bin_lo"] >= 2
            first = ~rest
            blue, red = {"color": "#0072B2"}, {"color": "#D55E00"}
            axes.plot(middle[rest], seen[rest], "o", markersize=4, label="ranks, binned", **blue)
            label = "lognormal, $R \\geq 2$"
            axes.plot(middle[rest], fitted[rest], label=label, zorder=3, **red)
            axes.plot(middle[first], seen[first], "*", ms=11, label="rank 1", **blue)
            hollow = {"markerfacecolor": "none", "markeredgecolor": "#D55E00", "markersize": 7}
            axes.plot(middle[:2], fitted[:2], ":", linewidth=1.2, **red)
            label = "lognormal at rank 1"
            axes.plot(middle[first], fitted[first], "D", linestyle="none", label=label, **hollow)
            axes.set(xscale="log", yscale="log")
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("rank $R$")
            if number % COLUMNS == 0:
                axes.set_ylabel(r"$\Pr(R=k)\,/\,(1-\mathrm{RBP}_1)$")
            if number == 0:
                axes.legend(loc="lower left")
        figure.tight_layout()
    return figure


def figure_8d(published: pd.DataFrame, printed: pd.DataFrame, own: pd.DataFrame) -> Figure:
    """mu / sigma against S and against ln S.

    published: `published_laws`. printed: mu, sigma and S of Figure 8c. own: the table of
    `lognormals` at one k_min, a panel a corpus, may be empty.
    """
    corpora = [] if own.empty else list(dict.fromkeys(own["corpus"]))
    with style():
        figure, top, below = _grid(2, len(corpora))
        for axes, log in zip(top, (False, True), strict=True):
            x = np.log(published["S"]) if log else published["S"]
            line = np.polyfit(x, published["ratio"], 1)
            r2 = np.corrcoef(x, published["ratio"])[0, 1] ** 2
            axes.plot(published["S"], published["ratio"], "^", color="#009E73", label="inverted 8b")
            ratio = printed["mu"] / printed["sigma"]
            ring = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": "black"}
            axes.plot(printed["S"], ratio, "o", linestyle="none", label="printed in 8c", **ring)
            S = (np.geomspace if log else np.linspace)(published["S"].min(), published["S"].max())
            name = r"$\ln S$" if log else "$S$"
            label = f"line in {name}: $R^2$ = {r2:.3f}"
            axes.plot(S, np.polyval(line, np.log(S) if log else S), "k-", lw=1.2, label=label)
            _ratio_axes(axes, "published: Pythia, Wiki", log)
            axes.legend(loc="upper right")
        for axes, corpus in zip(below, corpora, strict=True):
            for family, rows in own[own["corpus"] == corpus].groupby("family", sort=False):
                ink = ink_of(family)
                style_of = {"color": ink.colour, "marker": ink.marker, "linestyle": ink.line}
                look = {"markersize": 5.5, "label": family, **style_of, **EDGE}
                axes.plot(rows["S"], rows["ratio"], **look)
            _ratio_axes(axes, f"measured: {short(corpus)}", True)
        if below:
            below[0].legend()
        figure.tight_layout()
    return figure


def points_8a(
    published: tuple[Curve, Curve], table: pd.DataFrame, ce: Curves, rbp: Curves, own: pd.DataFrame
) -> pd.DataFrame:
    """The points of `figure_8a`: `plots.curve_points`, then a row an exponent, without S."""
    every = [curve_points("published", published)]
    every.append(curve_points("measured", [*ce.values(), *rbp.values()]))
    for source, rows in (("published", table), ("measured", own)):
        names = [name for name in ("alpha_CE", "alpha_1") if name in rows]
        if names:
            long = rows.melt(["corpus", "family"], names, "quantity", "value")
            every.append(long.assign(source=source))
    return pd.concat(every).astype({"S": "Int64"})


def points_8b(published: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """The points of `figure_8b` and of `figure_8d`: a row a model and corpus."""
    named = published.assign(source="published", corpus="Wiki", family="Pythia")
    names = ["source", "corpus", "family", *published.columns]
    return pd.concat([named, own.assign(source="measured")])[names].astype({"S": "Int64"})


def points_8c(published: Sequence[Density], measured: Sequence[Density]) -> pd.DataFrame:
    """The bins of `figure_8c`, by the title of their panel."""
    every = [bins.assign(panel=" ".join(title.split())) for title, bins in [*published, *measured]]
    return pd.concat(every)[["panel", *every[0].columns[:-1]]]


def _ratio_axes(axes: Axes, title: str, log: bool) -> None:
    if log:
        axes.set_xscale("log")
    else:
        axes.ticklabel_format(axis="x", useMathText=True)
    axes.set(title=title, xlabel=S_LABEL, ylabel=r"$\mu/\sigma$")


def _grid(first: int, below: int, first_row: float = 3.4) -> tuple[Figure, list[Axes], list[Axes]]:
    """A figure, the `first` panels of its first row, and the `below` panels of the rows below."""
    rows = -(-below // COLUMNS)
    heights = [first_row, *[3.0] * rows]
    figure = plt.figure(figsize=(12, sum(heights)))
    grid, wide = GridSpec(1 + rows, COLUMNS, figure, height_ratios=heights), COLUMNS // first
    top = [figure.add_subplot(grid[0, n * wide : (n + 1) * wide]) for n in range(first)]
    rest = [figure.add_subplot(grid[1 + n // COLUMNS, n % COLUMNS]) for n in range(below)]
    return figure, top, rest


def _twin(
    axes: Axes,
    pairs: Sequence[tuple[Curve, Curve]],
    title: str,
    sides: tuple[bool, bool] | None = None,
) -> None:
    """CE on the left axis, filled, -log RBP_1 on the right, hollow: equal slopes are parallel.

    Both axes span the same factor, with the points of CE in the upper half and those of RBP_1 in
    the lower. sides: whether to label the left and the right axis; None: both, and the slopes.
    """
    right = axes.twinx()
    losses = [np.concatenate([pair[i].loss for pair in pairs]) for i in (0, 1)]
    span = max(np.log(loss.max() / loss.min()) for loss in losses)
    margin = 0.12 * span
    halves = (  # room below and above the points; where the slope is written
        (axes, "CE", (span + margin, 0.0), (0.97, 0.94), ("right", "top")),
        (right, LOSS_1, (0.0, span + margin), (0.03, 0.06), ("left", "bottom")),
    )
    for number, (side, name, (under, over), at, (ha, va)) in enumerate(halves):
        loss = losses[number]
        middle = (np.log(loss.max()) + np.log(loss.min())) / 2
        low = np.exp(middle - span / 2 - margin - under)
        high = np.exp(middle + span / 2 + margin + over)
        side.set(xscale="log", yscale="log", ylim=(low, high))
        plain_log_ticks(side, low, high)
        for pair in pairs:
            curve, ink = pair[number], ink_of(pair[number].family)
            fit = fit_power_law(curve.S, curve.loss, labels=curve.models)
            line = np.geomspace(curve.S.min(), curve.S.max(), 50)
            side.plot(line, fit.predict(line).loss, ink.line, color=ink.colour, linewidth=1.1)
            face = ink.colour if number == 0 else "white"
            edge = {"markeredgecolor": ink.colour, "markerfacecolor": face}
            side.plot(curve.S, curve.loss, ink.marker, markersize=5, **edge)
            if sides is None:
                slope = f"{fit.slope:.3f}".replace("-", "\N{MINUS SIGN}")
                text = f"{name}: slope {slope}, $R^2$ {fit.r2:.3f}"
                side.text(*at, text, ha=ha, va=va, transform=axes.transAxes, fontsize=8)
    right.grid(False)
    axes.set_ylabel("CE in nats (filled)" if sides is None or sides[0] else "")
    right.set_ylabel(f"{LOSS_1} (hollow)" if sides is None or sides[1] else "")
    axes.set(xlabel=S_LABEL, title=title)


def _exponents(axes: Axes, table: pd.DataFrame, own: pd.DataFrame) -> None:
    """alpha_1 against alpha_CE: filled as printed, hollow with intervals as measured."""
    for source, rows in (("published", table), ("measured", own)):
        for family, cells in [] if rows.empty else rows.groupby("family", sort=False):
            ink = ink_of(family)
            face = ink.colour if source == "published" else "white"
            if source == "measured":
                x, y = whiskers(cells, "alpha_CE"), whiskers(cells, "alpha_1")
                bars = {"fmt": "none", "ecolor": ink.colour, "elinewidth": 0.8, "alpha": 0.6}
                axes.errorbar(cells["alpha_CE"], cells["alpha_1"], xerr=x, yerr=y, **bars)
            edge = {"markerfacecolor": face, "markeredgecolor": ink.colour}
            label = f"{family}, {source}"
            axes.plot(cells["alpha_CE"], cells["alpha_1"], ink.marker, ms=5.5, label=label, **edge)
    ends = [min(table["alpha_CE"]), max(table["alpha_CE"])]
    axes.plot(ends, ends, color="black", linewidth=1, label="equal")
    axes.set(xlabel=r"$\alpha$ of CE", ylabel=r"$\alpha_1$ of $-\log\,\mathrm{RBP}_1$")
    axes.set(title="exponents by family and corpus")
    axes.legend(ncols=2, fontsize=7, loc="lower right")
