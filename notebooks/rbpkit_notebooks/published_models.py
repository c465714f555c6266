"""Accuracies by model size that others published: tables of the laboratory, `data/evidence`."""

from __future__ import annotations

import pandas as pd

from rbpkit_pocket import paths

EVIDENCE = paths.DATA / "evidence"


def load(name: str) -> pd.DataFrame:
    """One table of `data/evidence` (its README.md has columns, units and sources).

    - "models": finished models
    - "pythia": LAMBADA along Pythia's training
    - "openlm": models of OpenLM
    - "shapes": widths, layers and so on, from which S follows
    - "sources": where each number is from, and its licence
    - "blind": predictions, and "pythia_lambada_zero_shot": what became of them
    - "pairs_predicted": our predictions of accuracies that are withheld
    - "real_ranks": the tokens of one function, ranked by a real model
    """
    return pd.read_csv(EVIDENCE / f"{name}.csv")
