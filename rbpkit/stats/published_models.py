"""Accuracies by model size that others published: the tables of `rbpkit/data/evidence`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rbpkit.errors import InputError

EVIDENCE = Path(__file__).resolve().parents[1] / "data" / "evidence"


def load(name: str) -> pd.DataFrame:
    """One table of `rbpkit/data/evidence` (its README.md has columns, units and sources).

    name: "models" (finished models), "pythia" (LAMBADA along Pythia's training), "openlm",
    "shapes", "sources", "blind" (predictions), "pythia_lambada_zero_shot" (their outcome).
    InputError for any other.
    """
    path = EVIDENCE / f"{name}.csv"
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in EVIDENCE.glob("*.csv")))
        raise InputError(f"no published table {name!r}: there are {there}")
    return pd.read_csv(path)
