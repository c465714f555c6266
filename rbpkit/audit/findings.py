"""The number that tests each claim of the paper: one function for each of its sections."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.audit import (
    bounds,
    emergence,
    intervals,
    noise,
    precision,
    prediction,
    rank_laws,
    shape,
    sizes,
)
from rbpkit.audit import windows as window_tables
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
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.sections import a_setup, b_law_in_k, s4_3_large_k, s5_1_emergence, s5_2_lognormal
from rbpkit.summary import Summary

ZERO = 1e-9  # a plotted share of this or less stands for none
BROKEN_R2 = 0.9  # a line at large k with less is broken
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
    found += [*_large_k(noise.published_large_k(), "published"), *_in_k(None), *_line("published")]
    found += [*_windows((), None), *_rank_laws(None, None), *_size("published")]
    found += [*_simulated(rank_laws.simulated_laws(chosen)), *_from_ce(())]
    if not chosen:
        return found
    fitted = measured_cells(chosen)
    found += [*_law(fitted, "pocket", boot), *_exponents(boot)] if len(fitted) else []
    misses = noise.pocket_large_k(chosen, corpora, families)
    found += [*_large_k(misses, "pocket"), *_in_k(chosen), *_line("pocket", chosen)]
    found += [*_windows(chosen, own.get("windows")), *_size("pocket", chosen, corpora, families)]
    if "rank_models" in own:
        found += _rank_laws(own["rank_models"], own.get("rank_levels"))
    return [*found, *_from_ce(chosen), *_ties(own.get("precision"))]


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


def _large_k(misses: Sequence[s4_3_large_k.Misses], source: str) -> list[Finding]:
    if not misses:
        return []
    table = noise.mechanisms(misses)
    table["k"] = table["quantity"].str.removeprefix("RBP_").astype(int)
    rising = table["trend z"] >= noise.TREND_Z
    broken = table[(table["R2 seen"] < BROKEN_R2) | rising]
    suffices = (broken["R2 seen"] >= broken["noise low"]) & ~rising[broken.index]
    gpt2 = table.query("corpus == 'Wiki' and family == 'GPT2'")["trend z"]
    numbers = {"lines": len(table), "n": len(broken), "named": list_cells(broken[suffices])}
    numbers |= (by_k := {"k_before": table["k"].min(), "k_after": table["k"].max()})
    if len(gpt2):
        numbers |= {"z_low": gpt2.min(), "z_high": gpt2.max()}
    found = []
    if len(broken):
        name = "large-k-is-noise"
        found.append(Finding(name, source, "broken lines", tally(suffices), numbers=numbers))
    # One k of the two for each family, so the order of k within a cell tells them apart.
    pairs = table.sort_values("k").groupby(["corpus", "family"])["R2 seen"].agg(["first", "last"])
    numbers = {"before": pairs["first"].median(), "after": pairs["last"].median()}
    numbers |= by_k
    falls = pairs["last"] < pairs["first"]
    return [
        *found,
        Finding("more-random-at-30000", source, "lines", tally(falls), numbers=numbers),
    ]


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
        numbers |= {"pooled": int(held.loc[held["pooled"], "inside"].sum())}
        numbers |= {"pooled_n": int(held["pooled"].sum())}
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


def _windows(measured: Sequence[Summary], windows: pd.DataFrame | None) -> list[Finding]:
    """The claims of Section 5.1. measured empty: the published ones."""
    source = "pocket" if measured else "published"
    if measured:
        corpora = list(dict.fromkeys(one.manifest.corpus for one in measured))
        families = list(dict.fromkeys(one.manifest.family for one in measured))
        table, _ = s5_1_emergence.measured_windows(
            measured, corpora, families, (1, 2, 5, 10), (1, 10, 100)
        )
        ten = window_tables.with_ratio(table, (window_tables.CLAIM_N,))
    else:
        table = s5_1_emergence.published_windows()
        ten = window_tables.published_ratios((window_tables.CLAIM_N,))
    found = _independence(source, ten, windows)
    fitted, zeros = [], 0
    for _, part in table[table["N"] > 1].groupby(["corpus", "family", "k", "N"]):
        if (part["p"] <= ZERO).any() or part["S"].nunique() < 3 or (part["p"] >= 1).any():
            zeros += 1
            continue
        fitted.append(fit_power_law(part["S"], -np.log(part["p"])).r2)
    r2 = pd.Series(fitted, dtype=float)
    if len(r2):
        numbers = {"zeros": zeros, "series": zeros + len(r2)}
        counts = tally(r2 >= 0.9, r2 >= 0.95, r2 >= 0.97)
        found.append(Finding("figure-7-power-laws", source, "series", counts, numbers=numbers))
    if measured:
        try:
            ours = emergence.measured_widths(measured)
        except InputError:  # no ladder
            return found
        finite = np.isfinite([ours.low, ours.high]).all()
        ends = {"low": ours.low, "high": ours.high} if finite else {}
        of, value, widths = "cells", ours.median, ours.table["width"]
    else:
        ends, of, widths = {}, "cells of Table 1", emergence.table1_widths()["width"]
        value = float(widths.median())
        found.append(_figure_7(table))
    about = {"value": value, "n": len(widths), "numbers": least_and_most(widths)}
    return [*found, Finding("larger-n-sharpens", source, of, **about, **ends)]


def _independence(source: str, ten: pd.DataFrame, windows: pd.DataFrame | None) -> list[Finding]:
    some = ten[ten["ratio"].notna()]
    # Infinite where no window of ten hits; with too many of them there is no median.
    if some.empty or not np.isfinite(value := float(some["ratio"].median())):
        return []
    ends = {}
    if windows is not None and len(windows):
        job = ["corpus", "family", "model", "k"]
        part = windows[windows["N"] == window_tables.CLAIM_N].merge(some[job], on=job)
        if len(part) == len(some):
            (medians,) = window_tables.ratio_medians(part, ["N"]).itertuples()
            if np.isfinite(medians.high):
                ends = {"low": float(medians.low), "high": float(medians.high)}
    by_k = "; ".join(f"k = {k}: {r:.2f}" for k, r in some.groupby("k")["ratio"].median().items())
    span = least_and_most(some["ratio"].replace(np.inf, np.nan)) | {"by_k": by_k}
    of = "(model, k), Wiki" if source == "published" else "(corpus, model, k)"
    about = {"value": value, "n": len(some), "numbers": span}
    return [Finding("windows-are-independent", source, of, **about, **ends)]


def _figure_7(table: pd.DataFrame) -> Finding:
    printed = s5_1_emergence.annotations(table)
    ones = s5_1_emergence.fits_by_window(table).query("N == 1").set_index("k")["alpha"]
    off = (printed["k"].map(ones) - printed["alpha_printed"]).abs()
    means = (printed["alpha"] - printed["alpha_printed"]).abs().max()
    numbers = least_and_most(off) | {"means": means, "n": len(off)}
    counts = tally(*(off <= margin for margin in (0.02, 0.01, 0.005)))
    return Finding("figure-7-exponents", "published", "k", counts, numbers=numbers)


def _rank_laws(models: pd.DataFrame | None, levels: pd.DataFrame | None) -> list[Finding]:
    """ranks-are-lognormal and lognormal-gives-rbp; models None: the published ones."""
    found = []
    if models is None:
        lead = rank_laws.lognormal_lead(rank_laws.published_models(), ["model"])
        errors = rank_laws.published_errors()
        errors = errors[errors["fit"] != "as printed"]
        keys, source, of = ["model"], "published", "models"
        shift = rank_laws.rounding_shift()
        numbers = {"shift_low": shift.min(), "shift_high": shift.max()}
    else:
        lead = rank_laws.lognormal_lead(models[models["k_min"] == 2], ["corpus", "model"])
        errors = (
            levels[levels["candidate"].isin(rank_laws.LOGNORMAL)] if levels is not None else None
        )
        keys, source, of = ["corpus", "model"], "pocket", "models x corpora"
        numbers = {}
    behind = -lead["lead"]
    others = lead["other"].value_counts()
    named = ", ".join(f"{name} ({count})" for name, count in others.items())
    near = [behind <= margin for margin in (0.01, 0.005, rank_laws.EQUAL)]
    numbers |= least_and_most(behind) | {"other": named}
    found.append(Finding("ranks-are-lognormal", source, of, tally(*near), numbers=numbers))
    if errors is not None and len(errors):
        off = errors[[f"error_{k}" for k in rank_laws.CLAIM_K]].abs().max(axis=1)
        off = off.groupby([errors[key] for key in keys]).min()
        tests = tally(*(off <= margin for margin in (0.1, 0.05, 0.02)))
        numbers = least_and_most(errors["error_1"].abs())
        found.append(Finding("lognormal-gives-rbp", source, of, tests, numbers=numbers))
    return found


def _simulated(laws: pd.DataFrame) -> list[Finding]:
    """The recipe of Appendix C: simulated-exponents, log-c, mu / sigma, lognormal-gives-ce."""
    found, cells = [], rank_laws.simulated_cells(laws)
    for source, models in laws.groupby("source", sort=False):
        about = {"n": len(models)}
        of = "models" if source == "published" else "models x corpora"
        surplus = least_and_most(models["surplus_CE"])
        value = float((models["simulated_CE"] / models["CE"]).median())
        found.append(
            Finding("lognormal-gives-ce", source, of, value=value, numbers=surplus, **about)
        )
        by_size = models.sort_values("S")["rest"]
        ends = {"first": by_size.iloc[0], "last": by_size.iloc[-1]} | least_and_most(by_size)
        value = float(by_size.median())
        found.append(Finding("log-c-dominates", source, of, value=value, numbers=ends, **about))
        own = cells[cells["source"] == source] if len(cells) else cells
        if own.empty:
            continue
        quotient = own["quotient"]
        numbers = {"alpha_1": own["simulated_alpha_1"].median()} | least_and_most(quotient)
        numbers["alpha_ce"] = own["simulated_alpha_CE"].median()
        about = {"value": float(quotient.median()), "n": len(own), "numbers": numbers}
        found.append(Finding("simulated-exponents", source, "cells", **about))
        if source == "published":
            numbers = {"on_S": own["R2_S"].median(), "on_log_S": own["R2_log_S"].median()}
            about = {"value": float(own["R2_S"].median()), "n": len(own), "numbers": numbers}
            found.append(Finding("mu-over-sigma-linear", source, "cells", **about))
    return found


def _from_ce(measured: Sequence[Summary]) -> list[Finding]:
    """not-from-ce, at the paper's k = 1, and the bound that CE gives at k = 100."""
    source = "pocket" if measured else "published"
    table = bounds.measured_bounds(measured, (1, 100)) if measured else bounds.published_bounds()
    of = "models x corpora" if measured else "models"
    one, hundred = (table[table["k"] == k] for k in (1, 100))
    first = np.expm1(one["CE"])
    numbers = {"from_low": np.ceil(first.min()), "from_high": np.ceil(first.max())}
    if measured:
        corpora = dict.fromkeys(one.manifest.corpus for one in measured)
        ladders = ([m for m in measured if m.manifest.corpus == corpus] for corpus in corpora)
        pairs = [bounds.equal_pairs(models) for models in ladders if len(models) >= 3]
        numbers |= {"pairs": sum(map(len, pairs))}
        numbers["apart"] = sum(int(found["apart"].sum()) for found in pairs)
    free = {"value": float(hundred["free"].median()), "n": len(hundred)}
    free["numbers"] = {"slack": (hundred["RBP"] - hundred["bound"]).median()}
    free["numbers"] |= least_and_most(hundred["free"])
    return [
        Finding("not-from-ce", source, of, tally(one["free"] == 1), numbers=numbers),
        Finding("ce-bounds-rbp-100", source, of, **free),
    ]


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


def _ties(table: pd.DataFrame | None) -> list[Finding]:
    """ties, from the table `precision`; none without it: published points keep no ties."""
    if table is None or table.empty:
        return []
    by = precision.by_setting(table).set_index("setting")
    most = by.loc[by["tied_most"].idxmax()]
    shift = precision.fitted(table)
    numbers = {"tied": by.loc["float32", "tied_most"], "worst": most.name, "change": most["rule"]}
    numbers |= {"least": most["tied_least"], "most": most["tied_most"], "at": most["at"]}
    numbers["shift"] = shift.loc[shift["setting"] == most.name, "shift"].abs().max()
    tested = {"value": float(by.loc["float32", "rule"]), "n": int(by.loc["float32", "models"])}
    return [Finding("ties", "pocket", "models x corpora", **tested, numbers=numbers)]
