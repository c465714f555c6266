"""The cells of the audit: every fit of a family on a corpus, published and measured.

And how a finding counts and names them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.fit import fit_all, fit_rbp_law
from rbpkit.summary import PAPER_K, Summary

STEPS = tuple(k for k in PAPER_K if k <= 100)  # the k of Figure 9
BELOW = 1000


def published_cells() -> pd.DataFrame:
    """Every fit over all models of a family that the paper gives, once, and of CE.

    Columns: corpus, family, k (0 for CE), n (models), alpha, R2, read: "points" where we refit what
    is plotted, else "Figure 6" (Pythia), else "Table 1" (three decimals).
    """
    models = paper.models()["family"].value_counts()
    cells: dict[tuple[str, str, int], tuple] = {}
    plotted = pd.concat([paper.rbp_by_size(), paper.rbp_by_k()])
    for (corpus, family, k), rows in plotted.groupby(["dataset", "family", "k"]):
        rows = rows.drop_duplicates("S")  # both figures show k = 1, 10, 50, 100
        if len(rows) == models[family]:
            fit = fit_rbp_law(rows["S"], rows["rbp"])
            cells[corpus, family, int(k)] = (fit.alpha, fit.r2, "points")
    six = paper.fit_by_k().query("quantity != 'ce_slope'")
    for (corpus, k), rows in six.groupby(["dataset", "k"]):
        found = rows.set_index("quantity")["value"]
        if {"slope", "R2"} <= set(found.index):
            cells.setdefault((corpus, "Pythia", int(k)), (-found["slope"], found["R2"], "Figure 6"))
    for row in paper.table1().itertuples():
        key = row.dataset, row.family, 0 if row.k == "CE" else int(row.k)
        cells.setdefault(key, (-row.slope, row.r2, "Table 1"))
    table = [(c, f, k, models[f], *rest) for (c, f, k), rest in cells.items()]
    names = ["corpus", "family", "k", "n", "alpha", "R2", "read"]
    return pd.DataFrame(table, columns=names).sort_values(names[:3], ignore_index=True)


def measured_cells(measured: Sequence[Summary]) -> pd.DataFrame:
    """As `published_cells`, of what was measured, at the k of the summaries' grid."""
    grid = sorted(set.intersection(*(set(one.k_grid.tolist()) for one in measured)))
    table = fit_all(measured, [k for k in grid if k < BELOW]).table
    k = table["quantity"].replace("CE", "RBP_0").str.removeprefix("RBP_").astype(int)
    return table.assign(k=k, alpha=-table["slope"], read="records")


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


def of_study(table: pd.DataFrame, corpora: Sequence[str], families: Sequence[str]) -> pd.DataFrame:
    """The rows of these corpora and families."""
    kept = table["corpus"].isin(corpora) & table["family"].isin(families)
    return table[kept].reset_index(drop=True)


def tally(*tests: pd.Series) -> tuple[tuple[int, int], ...]:
    """(cases, n) of each test, one for each margin."""
    return tuple((int(test.sum()), len(test)) for test in tests)


def list_cells(table: pd.DataFrame) -> str:
    """The cells of a table in words: "GPT2 on HumanEval (k = 1, 10); OPT on Wiki (k = 1)"."""
    parts = []
    for (corpus, family), rows in table.groupby(["corpus", "family"], sort=True):
        ks = f" (k = {', '.join(map(str, sorted(set(rows['k']))))})" if "k" in rows else ""
        parts.append(f"{family} on {corpus.removeprefix('pocket:')}{ks}")
    return "; ".join(parts) or "none"


def least_and_most(values: pd.Series) -> dict[str, float]:
    """The two ends of some values, under the names that sentences use."""
    return {"least": values.min(), "most": values.max()}
