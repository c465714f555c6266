"""What the paper says of its fits (Sections 4 and 5.2), cell by cell: R2, alpha and its growth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.audit.prediction import placed
from rbpkit.audit.uncertainty import KS, Bootstrap, bootstrap, difference_table, slope_table, sure
from rbpkit.audit.verdicts import Finding
from rbpkit.curves import Curve, fit_curves, fits
from rbpkit.fit import fit_rbp_law
from rbpkit.largek import k_at_share
from rbpkit.summary import PAPER_K, Summary
from rbpkit.two_laws import law_curves, published_exponents, published_laws

STEPS = tuple(k for k in PAPER_K if k <= 100)  # the k of Figure 9, 1 to 100
BELOW = 1000
_CELL = ["corpus", "family", "k", "n", "alpha", "R2", "read"]


def published_cells() -> pd.DataFrame:
    """Every fit over all models of a family that the paper gives, k < 1000, once.

    Columns: corpus, family, k, n (models), alpha, R2, read: "points" where we refit what is
    plotted, else "Figure 6" (Pythia), else "Table 1" (three decimals).
    """
    models = paper.models()["family"].value_counts()
    cells: dict[tuple[str, str, int], tuple] = {}
    plotted = pd.concat([paper.rbp_by_size(), paper.rbp_by_k()]).query("k < @BELOW")
    for (corpus, family, k), rows in plotted.groupby(["dataset", "family", "k"]):
        rows = rows.drop_duplicates("S")  # both figures show k = 1, 10, 50, 100
        if len(rows) == models[family]:
            fit = fit_rbp_law(rows["S"], rows["rbp"])
            cells[corpus, family, int(k)] = (fit.alpha, fit.r2, "points")
    six = paper.fit_by_k().query("quantity != 'ce_slope' and k < @BELOW")
    for (corpus, k), rows in six.groupby(["dataset", "k"]):
        found = rows.set_index("quantity")["value"]
        cells.setdefault((corpus, "Pythia", int(k)), (-found["slope"], found["R2"], "Figure 6"))
    for row in paper.table1().query("k != 'CE'").itertuples():
        if int(row.k) < BELOW:
            key = row.dataset, row.family, int(row.k)
            cells.setdefault(key, (-row.slope, row.r2, "Table 1"))
    table = [(c, f, k, models[f], *rest) for (c, f, k), rest in cells.items()]
    return pd.DataFrame(table, columns=_CELL).sort_values(_CELL[:3], ignore_index=True)


def measured_cells(measured: Sequence[Summary], ks: Iterable[int]) -> pd.DataFrame:
    """The same of what was measured, at `ks`. InputError as `curves.fits`."""
    table = fits(measured, tuple(ks)).table
    table = table[table["quantity"] != "CE"]
    k = table["quantity"].str.removeprefix("RBP_").astype(int)
    return table.assign(k=k, alpha=-table["slope"], read="records")[_CELL].reset_index(drop=True)


def steps(cells: pd.DataFrame, ks: Sequence[int] = STEPS) -> pd.DataFrame:
    """How alpha changes from each k of a (corpus, family) to the next that is there.

    Columns: corpus, family, k, to, change (alpha at `to` less alpha at k).
    """
    rows = []
    for (corpus, family), group in cells[cells["k"].isin(ks)].groupby(["corpus", "family"]):
        line = group.sort_values("k")
        k, alpha = line["k"].tolist(), line["alpha"].to_numpy()
        rows += [(corpus, family, *one) for one in zip(k, k[1:], np.diff(alpha), strict=False)]
    return pd.DataFrame(rows, columns=["corpus", "family", "k", "to", "change"])


def findings_laws(measured: Iterable[Summary] = (), boot: Bootstrap | None = None) -> list[Finding]:
    """The claims on R2, alpha, its growth, the range of S, and the exponents of CE and RBP_1.

    boot: that of `bootstrap(measured)`, computed where it is not given. Without anything measured
    only the published findings.
    """
    every = list(measured)
    found = _published()
    boot = boot or bootstrap(every)
    if boot.cells:
        found += _pocket(every, boot)
    return found


def _published() -> list[Finding]:
    cells = published_cells()
    printed = paper.table1().query("k in ['1', '10', '100', '500']")
    high = ((printed["r2"] > 0.9) & (printed["slope"] < 0)).sum()
    note = f"as printed in Table 1 (k = 1, 10, 100, 500) {high} of {len(printed)}; C4 and Github"
    found = _on_fits(cells, "published", note + " have no other source")
    found.append(_orders(paper.models()["S"].to_numpy(), "published"))
    exponents = published_exponents()
    ratio = exponents["alpha_1"] / exponents["alpha_CE"]
    ce, rbp = law_curves(published_laws())
    apart = fit_curves([Curve("Wiki", "Pythia", "CE", ce.models, ce.S, rbp.loss / ce.loss)]).table
    (row,) = apart.itertuples()
    note = (
        f"alpha_1 / alpha_CE {ratio.min():.2f} to {ratio.max():.2f}; only Pythia/Wiki has points of"
        f" both at n = {row.n}: alpha_1 - alpha_CE = {-row.slope:.4f}, 95% t interval"
        f" {-row.high:.4f} to {-row.low:.4f}, so beyond zero"
    )
    found.append(_share("near-identical-exponents", "published", exponents, _near(ratio), note))
    return found


def _pocket(every: list[Summary], boot: Bootstrap) -> list[Finding]:
    V = min(one.manifest.V for one in every)
    grid = sorted(set.intersection(*(set(one.k_grid.tolist()) for one in every)))
    cells = measured_cells(every, [k for k in grid if k < BELOW])
    like = k_at_share(BELOW, V)
    small = cells[cells["k"] <= like]
    held = _falls(small, 0.9, strict=True)
    note = f"V is {V:,}: k < 1,000 is up to a quarter of it; at k <= {like}, the paper's share of V"
    note += f", {held.sum()} of {len(small)}"
    found = _on_fits(cells, "pocket", note, slope_table(boot), difference_table(boot, "k"))
    sizes = {one.manifest.model: one.manifest.S for one in every}
    found.append(_orders(np.array([*sizes.values()]), "pocket"))
    apart = difference_table(boot, "laws")
    table = slope_table(boot).pivot(index=["corpus", "family"], columns="quantity", values="alpha")
    ratio = (table["RBP_1"] / table["CE"]).reset_index(name="ratio")
    note = (
        f"alpha_1 / alpha_CE {ratio['ratio'].min():.2f} to {ratio['ratio'].max():.2f};"
        f" alpha_1 - alpha_CE is surely beyond zero in {sure(apart, 'documents').sum()} of"
        f" {len(apart)} for these models (documents), in {sure(apart, 'line').sum()} for other"
        " models of the family (t)"
    )
    found.append(_share("near-identical-exponents", "pocket", ratio, _near(ratio["ratio"]), note))
    return found


def _on_fits(
    cells: pd.DataFrame,
    source: str,
    note: str,
    sure_of: pd.DataFrame | None = None,
    apart: pd.DataFrame | None = None,
) -> list[Finding]:
    """The claims that are counts of cells. sure_of, apart: `slope_table`, and the steps in k of
    `difference_table`, where there are documents to resample.
    """
    found = []
    for name, ks, least, strict in (
        ("law-at-1", (1,), 0.9, False),
        ("law-at-moderate-k", (10, 50, 100), 0.97, False),
        ("law-below-1000", range(1, BELOW), 0.9, True),
    ):
        part = cells[cells["k"].isin(ks)]
        said = f"lowest R2 {part['R2'].min():.3f}; k = {_listed(part['k'])}; "
        said += f"n = {part['n'].min()} to {part['n'].max()} models a cell"
        said += f"; {note}" if name == "law-below-1000" or source == "published" else ""
        found.append(_share(name, source, part, _falls(part, least, strict), said))
    change = steps(cells)
    coarse = steps(cells, KS)["change"] > 0
    said = f"k = {_listed(change['k'])} to 100, not all of them in every family; from k = 1 to 10"
    said += f" to 50 to 100 alone it grows in {coarse.sum()} of {len(coarse)}"
    if source == "published":
        printed = (cells["read"] == "Table 1").sum()
        said += f"; {printed} cells have three decimals, and no change counts as no growth"
    if apart is not None:
        rises = (apart["documents_low"] > 0).sum()
        falls = (apart["documents_high"] < 0).sum()
        said += f" (for these models surely in {rises}, surely falls in {falls})"
    found.append(
        _share("alpha-grows-with-k", source, change, change["change"] > 0, said, of="steps")
    )
    for name, k, low, high in (("alpha-1", 1, -math.inf, 0.1), ("alpha-100", 100, 0.15, 0.25)):
        part = cells[cells["k"] == k]
        good = part["alpha"].between(low, high, inclusive="left" if k == 1 else "both")
        said = f"alpha_{k} {part['alpha'].min():.3f} to {part['alpha'].max():.3f}"
        if sure_of is not None:
            rows = sure_of[sure_of["quantity"] == f"RBP_{k}"]
            for kind, words in (("documents", "for these models"), ("line", "for the family")):
                within = (rows[f"{kind}_low"] >= low) & (rows[f"{kind}_high"] <= high)
                outside = (rows[f"{kind}_high"] < low) | (rows[f"{kind}_low"] > high)
                said += f"; {words} surely within {within.sum()}, surely not {outside.sum()}"
        found.append(_share(name, source, part, good, said))
    return found


def _falls(cells: pd.DataFrame, least: float, strict: bool = False) -> pd.Series:
    enough = cells["R2"] > least if strict else cells["R2"] >= least
    return enough & (cells["alpha"] > 0)


def _near(ratio: pd.Series) -> pd.Series:
    return (ratio - 1).abs() <= 0.1


def _orders(S: np.ndarray, source: str) -> Finding:
    note = f"S from {S.min():,.0f} to {S.max():,.0f}"
    decades = float(np.log10(S.max() / S.min()))
    return Finding("five-orders", source, decades, S.size, "models", note=note)


def _share(
    name: str, source: str, table: pd.DataFrame, good: pd.Series, note: str, of: str = "cells"
) -> Finding:
    """A share of rows; those that fail are its condition, or in its note."""
    bad = table[~good]
    parts = []
    for (corpus, family), rows in bad.groupby(["corpus", "family"], sort=True):
        text = f"{family} on {corpus}"
        if "k" in rows:
            text += f" (k = {_listed(rows['k'])})"
        parts.append(text)
    if len(parts) > 8:  # too many to name
        by = bad["family"].value_counts()
        parts = [f"{count} {of} of {family}" for family, count in by.items()]
    share = float(good.mean())
    when, more = placed(name, share, "; ".join(parts))
    return Finding(name, source, share, len(table), of, when=when, note=note + more)


def _listed(ks: pd.Series) -> str:
    values = sorted(set(ks.tolist()))
    shown = values if len(values) <= 5 else [*values[:2], "...", values[-1]]
    return ", ".join(map(str, shown))
