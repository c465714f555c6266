"""What notebook 16 (published models) reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rbpkit_notebooks.published_models import load

END = 299_892_736_000  # tokens at the end of Pythia's training
SUITES = {
    "v0": "Pythia v0",
    "v0-deduped": "Pythia v0, deduplicated",
    "v1": "Pythia v1",
    "v1-deduped": "Pythia v1, deduplicated",
}
Along = Mapping[tuple[str, int], pd.DataFrame]  # version and number of shots -> checkpoints


def load_tables() -> tuple[pd.DataFrame, Along, pd.DataFrame]:
    """A row for each finished model; the checkpoints of each Pythia; all models of OpenLM."""
    pythia = load("pythia").assign(loss=lambda table: -np.log(table.share))
    ended = pythia.query("shots == 0 and tokens == @END")
    ended = ended.assign(group="LAMBADA", series=ended.suite.map(SUITES), source="pythia")
    openlm = load("openlm").assign(group="LAMBADA", source="openlm", share=lambda t: t.lambada)
    openlm = openlm[openlm.share * 5153 >= 30]  # of fewer right answers -log is mostly noise
    openlm["loss"] = -np.log(openlm.share)
    twenty = openlm[openlm.ratio == 1].assign(series=lambda table: "OpenLM on " + table.corpus)
    models = pd.concat([load("models"), ended, twenty], ignore_index=True)
    models["loss"] = -np.log(models.share)
    late = pythia[pythia.tokens >= 6e9]  # earlier steps follow none of the laws
    return models, dict(iter(late.groupby(["suite", "shots"]))), openlm


def tokens_of(tokens: pd.Series) -> str:
    """What is known of the training tokens of a series of models."""
    if tokens.isna().any():
        return "not stated"
    return "grow with S" if tokens.nunique() > 1 else "one number"


def held_out_tests(along: Along, openlm: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, Any]]:
    """The seven tests: a table, and which of its rows are held out."""
    tests = {}
    for name, rows in pythias(along):
        tests[f"{name}: 12B along training"] = rows, rows.S == rows.S.max()
    for corpus, rows in openlm.groupby("corpus"):
        tests[f"OpenLM on {corpus}: models above 1B"] = rows, rows.S > 1e9
    return tests


def pythias(along: Along) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each version of Pythia and its checkpoints, without examples in the prompt."""
    for suite, name in SUITES.items():
        yield name, along[suite, 0]
