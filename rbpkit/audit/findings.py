"""The number that tests each claim of the paper: `all_findings`, and the functions on fitted lines.

A function gives the findings of one section. `rank_findings` has those that need windows, laws of
ranks, ties or single tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from rbpkit import paper
from rbpkit.audit import intervals, prediction, shape, sizes
from rbpkit.audit import rank_findings as ranks
from rbpkit.audit.cells import (
    BELOW,
    STEPS,
    least_and_most,
    list_cells,
    measured_cells,
    of_study,
    published_cells,
    steps,
    tally,
)
from rbpkit.audit.verdicts import Finding
from rbpkit.fit import fit_power_law
from rbpkit.sections import a_setup, b_law_in_k, s5_2_lognormal
from rbpkit.summary import Summary

OPEN_FLOOR = 0.1  # a cell that leaves a higher floor open, of its smallest loss, cannot tell


def all_findings(
    summaries: Iterable[Summary],
    tables: Mapping[str, pd.DataFrame],
    corpora: Sequence[str],
    families: Sequence[str],
) -> list[Finding]:
    """Every finding that the points of the paper and what was measured allow.

    summaries: those of `corpora` and `families` are taken, none leaves the published findings.
    tables: as `audit.tables.load_tables`; a finding whose table is missing is left out.
    """
    chosen = s5_2_lognormal.in_order(summaries, corpora, families)
    own = {name: of_study(table, corpora, families) for name, table in tables.items()}
    boot = intervals.bootstrap(chosen)
    found = [*_setup(), *_law(published_cells(), "published"), *_exponents(None)]
    found += [*ranks.large_k((), corpora, families), *_in_k(None), *_line("published")]
    found += [*ranks.windows((), None), *ranks.lognormal(None, None), *_size("published")]
    found += [*ranks.simulated(chosen), *ranks.from_ce(())]
    if not chosen:
        return found
    fitted = measured_cells(chosen)
    found += [*_law(fitted, "pocket", boot), *_exponents(boot)] if len(fitted) else []
    found += [*ranks.large_k(chosen, corpora, families), *_in_k(chosen), *_line("pocket", chosen)]
    windows = ranks.windows(chosen, own.get("windows"))
    found += [*windows, *_size("pocket", chosen, corpora, families)]
    if "rank_models" in own:
        found += ranks.lognormal(own["rank_models"], own.get("rank_levels"))
    return [*found, *ranks.from_ce(chosen), *ranks.ties(own.get("precision"))]


def _setup() -> list[Finding]:
    S = paper.models()["S"]
    decades = {"value": math.log10(S.max() / S.min()), "n": S.size, "numbers": least_and_most(S)}
    k = pd.concat([paper.fit_by_k()["k"].dropna(), paper.rbp_by_size()["k"]]).astype(int)
    tokens = paper.token_counts()
    larger, smaller = (tokens[["tokens", "also_admissible"]].agg(f, axis=1) for f in ("max", "min"))
    short = larger < a_setup.AT_LEAST
    by_footnote = paper.vocabularies()
    off = (by_footnote["footnote"] / by_footnote["V"] - 1).abs()
    named = by_footnote[off == 0].groupby("family", sort=False)["model"]
    every = by_footnote.groupby("family").size()
    right = [f"all {f}" if len(m) == every[f] else ", ".join(m) for f, m in named]
    printed = paper.table1()
    flat = printed[printed["slope"] == 0]
    names = "; ".join(f"{r.dataset}, {r.family}, k = {r.k}" for r in flat.itertuples())
    return [
        Finding("five-orders", "published", "models", **decades),
        Finding("over-four-orders", "published", "models", **decades),
        Finding(
            "k-over-five-orders", "published", "values of k", value=math.log10(k.max() / k.min()),
            n=k.nunique(), numbers=least_and_most(k),
        ),
        Finding(
            "sample-size", "published", "(corpus, family)",
            tally(larger >= 0.8 * a_setup.AT_LEAST, larger >= a_setup.AT_LEAST),
            numbers=least_and_most(larger[short]) | {
                "short": ", ".join(tokens.loc[short, "dataset"].unique()), "n": len(tokens),
                "smaller": int((smaller >= a_setup.AT_LEAST).sum()),
            },
        ),
        Finding(
            "vocabularies", "published", "models", tally(off < 0.01, off == 0),
            numbers={"right": ", ".join(right), "off": off.max()},
        ),
        Finding(
            "cells-are-fits", "published", "cells", tally(printed["slope"] != 0),
            numbers={"names": names, "r2": flat["r2"].iloc[0]},
        ),
    ]  # fmt: skip


def _law(
    cells: pd.DataFrame, source: str, boot: intervals.Bootstrap | None = None
) -> list[Finding]:
    """The claims on R2 and on alpha's growth, which are counts of cells."""

    def reach(part: pd.DataFrame, *least: float) -> tuple[tuple[int, int], ...]:
        return tally(*((part["R2"] >= r) & (part["alpha"] > 0) for r in least))

    one = cells[cells["k"] == 1].set_index(["corpus", "family"])
    ce = cells[cells["k"] == 0].set_index(["corpus", "family"])["R2"].reindex(one.index)
    some = cells[cells["k"].isin((10, 50, 100))]
    below = cells[(cells["k"] > 0) & (cells["k"] < BELOW)]
    good = (below["R2"] > 0.9) & (below["alpha"] > 0)
    pythia = below["family"] == "Pythia"
    worst = one["R2"].idxmin()
    both = [steps(cells, ks) for ks in (STEPS, intervals.KS)]
    six = both[0][both[0]["family"] == "Pythia"]["change"] > 0
    grows = {"pythia": int(six.sum()), "pythia_n": len(six)}
    if boot is not None:
        apart = intervals.difference_table(boot, "k")
        grows |= {"rises": int((apart["documents_low"] > 0).sum()), "steps": len(apart)}
        grows["falls"] = int((apart["documents_high"] < 0).sum())
    found = [
        Finding(
            "law-at-1", source, "cells", reach(one, 0.9, 0.95, 0.98),
            numbers={"lowest": one["R2"].min(), "worst": f"{worst[1]} on {worst[0]}",
                     "models": f"{one['n'].min()} to {one['n'].max()}"},
        ),
        Finding(
            "r2-like-ce", source, "cells", value=float(one["R2"].median()), n=len(one),
            # As printed, equal is equal.
            numbers={"above": int((one["R2"].round(3) >= ce.round(3)).sum()), "n": len(one),
                     "ce": ce.median()},
        ),
        Finding(
            "law-at-moderate-k", source, "cells", reach(some, 0.9, 0.95, 0.97),
            numbers={"bad": list_cells(some[(some["R2"] < 0.97) | (some["alpha"] <= 0)])},
        ),
        Finding(
            "law-below-1000", source, "cells", tally(good),
            numbers={"bad": list_cells(below[~good]), "pythia": int(good[pythia].sum()),
                     "pythia_n": int(pythia.sum())},
        ),
        Finding(
            "alpha-grows-with-k", source, "steps", tally(*(t["change"] > 0 for t in both[::-1])),
            numbers=grows,
        ),
    ]  # fmt: skip
    if source == "published":
        found += _figure_6(cells)
    return found


def _figure_6(cells: pd.DataFrame) -> list[Finding]:
    """alpha-1 and alpha-100: what Section 4.4 reads off Figure 6, Pythia on four corpora."""
    every = cells[cells["corpus"].isin(paper.table1()["dataset"].unique())]
    alpha = {k: every[every["k"] == k].set_index(["corpus", "family"])["alpha"] for k in (1, 100)}
    plotted = [(corpus, "Pythia") for corpus in paper.PLOTTED_CORPORA]
    first, last = (alpha[k].loc[plotted] for k in (1, 100))
    near = [(last - 0.2).abs() <= margin for margin in (0.1, 0.05)]
    return [
        Finding(
            "alpha-1", "published", "corpora", tally(first < 0.1),
            numbers=least_and_most(first)
            | {"every": int((alpha[1] < 0.1).sum()), "every_n": len(alpha[1])},
        ),
        Finding(
            "alpha-100", "published", "corpora", tally(*near),
            numbers={"listed": ", ".join(f"{a:.3f} on {c}" for (c, _), a in last.items()),
                     "every_least": alpha[100].min(), "every_most": alpha[100].max()},
        ),
    ]  # fmt: skip


def _exponents(boot: intervals.Bootstrap | None) -> list[Finding]:
    """near-identical-exponents: of Table 1, or of what was measured."""
    if boot is None:
        exponents = s5_2_lognormal.published_exponents()
        ratio = exponents["alpha_1"] / exponents["alpha_CE"]
        ce, rbp = s5_2_lognormal.law_curves(s5_2_lognormal.published_laws())
        apart = fit_power_law(ce.S, rbp.loss / ce.loss)
        low, high = sorted(abs(end) for end in apart.alpha_interval)
        numbers = {"difference": abs(apart.alpha), "low": low, "high": high}
        numbers["percent"] = 100 * abs(apart.alpha) / fit_power_law(ce.S, ce.loss).alpha
    elif not boot.cells:
        return []
    else:
        table = intervals.slope_table(boot)
        alpha = table.pivot(index=["corpus", "family"], columns="quantity", values="alpha")
        ratio = alpha["RBP_1"] / alpha["CE"]
        apart = intervals.difference_table(boot, "laws")
        kinds = ("documents", "line")
        numbers = {kind: int(intervals.excludes_zero(apart, kind).sum()) for kind in kinds}
        numbers["n"] = len(apart)
    near = [(ratio - 1).abs() <= margin for margin in (0.2, 0.15, 0.1)]
    source = "published" if boot is None else "pocket"
    name = "near-identical-exponents"
    return [Finding(name, source, "cells", tally(*near), numbers=least_and_most(ratio) | numbers)]


def _in_k(measured: Sequence[Summary] | None) -> list[Finding]:
    """law-in-k and steeper-in-k."""
    if measured is None:
        lines = paper.table_k_law().rename(columns={"dataset": "corpus", "r2": "R2"})
        alphas = published_cells()
    else:
        corpora, families = (
            {getattr(m.manifest, key) for m in measured} for key in ("corpus", "family")
        )
        points, _ = b_law_in_k.measured_points(measured, sorted(corpora), sorted(families))
        if points.empty:
            return []
        lines, alphas = b_law_in_k.lines(points), measured_cells(measured)
    steepest = alphas[alphas["k"].isin(intervals.KS)].groupby(["corpus", "family"])["alpha"].max()
    own = steepest.reindex(pd.MultiIndex.from_frame(lines[["corpus", "family"]])).to_numpy()
    ratio = -lines["slope"] / own
    source = "published" if measured is None else "pocket"
    numbers = {"ratio_low": ratio.min(), "ratio_high": ratio.max()}
    lowest = {"lowest": lines["R2"].min()}
    return [
        Finding("law-in-k", source, "lines", tally(lines["R2"] >= 0.99), numbers=lowest),
        Finding("steeper-in-k", source, "lines", tally(ratio > 1, ratio > 2), numbers=numbers),
    ]


def _line(source: str, measured: Sequence[Summary] = ()) -> list[Finding]:
    """no-floor, predicts-larger and no-bias, of -log RBP_k at k = 1, 10, 50, 100."""
    losses = prediction.measured_losses(measured) if measured else prediction.published_losses()
    curves = [one for one in losses if one.quantity != "CE"]
    held = prediction.held_out_all(curves)
    found = []
    if len(held):
        numbers = {"last": int(held["last_inside"].sum()), "held": len(held)}
        numbers["limit"] = len(held) // 2 + 1  # so many blind cases are more than half
        tests = [held["inside"]]
        if source == "published":
            far = prediction.far_record(curves)
            code = far["corpus"] == "HumanEval"
            numbers |= {"above": int(far["above"].sum()), "far": len(far)}
            numbers["code_n"] = int(code.sum())
            numbers["code"] = int(far.loc[code, "inside"].sum())
            tests.append(far["inside"])
        about = {"counts": tally(*tests), "numbers": numbers, "blind": numbers["last"]}
        found.append(Finding("predicts-larger", source, "losses", **about))
        parts = held.groupby("family", sort=False)["above"].agg(["sum", "size"])
        by = ", ".join(f"{family} {r['sum']} of {r['size']}" for family, r in parts.iterrows())
        error = 100 * held["error"].median()
        too = f"{abs(error):.1f}% too {'low' if error < 0 else 'high'}"
        numbers = {"by_family": by, "median": too}
        found.append(Finding("no-bias", source, "losses", tally(held["above"]), numbers=numbers))
    long = [one for one in curves if one.S.size >= shape.LEAST]
    if long:
        table = shape.shape_table(long)
        words = [table.apply(shape.describe, axis=1, margin=m) for m in (6, 4, 2)]
        wins = words[-1] != "neither wins"
        table["k"] = table["quantity"].str.removeprefix("RBP_").astype(int)
        open_to = table.loc[~wins, "floor_high"]
        numbers = {"bad": list_cells(table[wins]), "open_low": open_to.min(), "n": len(table)}
        about = {"numbers": numbers | {"open_high": open_to.max()}}
        about["blind"] = int((open_to > OPEN_FLOOR).sum())
        counts = tally(*(word == "neither wins" for word in words))
        found.append(Finding("no-floor", source, "cells", counts, **about))
    return found


def _size(
    source: str,
    measured: Sequence[Summary] = (),
    corpora: Sequence[str] = (),
    families: Sequence[str] = (),
) -> list[Finding]:
    if source == "published":
        lines, counted = sizes.published_lines(), sizes.published_sizes()
    else:
        lines = sizes.measured_lines(measured, corpora, families)
        counted = sizes.pocket_sizes(measured)
    table = sizes.by_size(lines, counted, draws=sizes.DRAWS)
    if table.empty:
        return []
    *by, total = sizes.wins(table, "all").to_dict("records")
    numbers = {"expected": total["wins if S"], "won": total["S_wins"] / total["lines"]}
    numbers["by_family"] = ", ".join(f"{o['family']} {o['S_wins']} of {o['lines']}" for o in by)
    won = total["S_wins"], total["lines"]
    return [Finding("size-is-S", source, "lines", (won,), numbers=numbers)]
