"""The number that tests each claim on large k, windows, laws of ranks, CE and ties.

`findings.all_findings` puts them beside those of the law itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rbpkit.audit import bounds, emergence, noise, precision, rank_laws
from rbpkit.audit import windows as window_tables
from rbpkit.audit.cells import least_and_most, list_cells, tally
from rbpkit.audit.verdicts import Finding
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.paper import EMERGENCE_ZERO
from rbpkit.sections import s5_1_emergence
from rbpkit.summary import Summary

BROKEN_R2 = 0.9  # a line at large k with less is broken


def large_k(
    measured: Sequence[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Finding]:
    """large-k-is-noise and more-random-at-30000. measured empty: the published ones."""
    source = "pocket" if measured else "published"
    misses = noise.published_large_k()
    if measured:
        misses = noise.pocket_large_k(measured, corpora, families)
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


def windows(measured: Sequence[Summary], windows: pd.DataFrame | None) -> list[Finding]:
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
        p = part["p"]
        if (p <= EMERGENCE_ZERO).any() or (p >= 1).any() or part["S"].nunique() < 3:
            zeros += 1
            continue
        fitted.append(fit_power_law(part["S"], -np.log(p)).r2)
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


def lognormal(models: pd.DataFrame | None, levels: pd.DataFrame | None) -> list[Finding]:
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
        errors = levels[levels["candidate"].isin(rank_laws.FORMS)] if levels is not None else None
        keys, source, of = ["corpus", "model"], "pocket", "models x corpora"
        numbers = {}
    behind = (-lead["lead"]).clip(lower=0)  # 0 where the lognormal is the best
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


def simulated(measured: Sequence[Summary]) -> list[Finding]:
    """The recipe of Appendix C: simulated-exponents, log-c, mu / sigma, lognormal-gives-ce.

    Of the published models and of what was measured.
    """
    laws = rank_laws.simulated_laws(measured)
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


def from_ce(measured: Sequence[Summary]) -> list[Finding]:
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


def ties(table: pd.DataFrame | None) -> list[Finding]:
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
