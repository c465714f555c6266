"""All findings of the audit, gathered: what the verdicts are given on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from rbpkit import two_laws
from rbpkit.audit import (
    bounds,
    gumbel,
    independence,
    laws,
    noise,
    prediction,
    setup_claims,
    shape,
    two_exponents,
)
from rbpkit.audit.verdicts import Finding
from rbpkit.summary import Summary

# Claims on what the paper itself measured: other models say nothing about them.
OF_THE_PAPER_ALONE = ("sample-size", "five-orders")


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
    chosen = two_laws.in_order(summaries, corpora, families)
    own = {name: _of(table, corpora, families) for name, table in tables.items()}
    found = [
        *setup_claims.findings_setup(chosen, corpora, families, own.get("precision")),
        *laws.findings_laws(chosen),
        *prediction.findings_prediction(chosen),
        *shape.findings_shape(),
        *noise.findings_noise(chosen, corpora, families),
        *independence.findings_independence(chosen, own.get("windows")),
        *gumbel.findings_gumbel(chosen),
        *two_exponents.findings_rank_models(own.get("rank_models"), own.get("rank_levels")),
        *two_exponents.findings_simulated(two_exponents.simulated_laws(chosen)),
        *bounds.findings_bounds(chosen),
    ]
    return [
        one for one in found if one.source == "published" or one.claim not in OF_THE_PAPER_ALONE
    ]


def _of(table: pd.DataFrame, corpora: Sequence[str], families: Sequence[str]) -> pd.DataFrame:
    kept = table["corpus"].isin(corpora) & table["family"].isin(families)
    return table[kept].reset_index(drop=True)
