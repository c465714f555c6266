"""What notebook 16 (published models) reads, and a check of its blind predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rbpkit.fit import root_mean_square
from rbpkit_pocket.findings.published_models import load

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


def tokens_of(series: pd.DataFrame) -> str:
    """What is known of a series's training tokens."""
    if series.tokens.isna().any():
        return "not stated"
    return "grow with S" if series.tokens.nunique() > 1 else "one number"


def held_out_tests(along: Along, openlm: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, Any]]:
    """The seven tests: a table, and which of its rows are held out."""
    tests = {}
    for name, rows in pythias(along, short=False):
        tests[f"{name}: 12B along training"] = rows, rows.S == rows.S.max()
    for corpus, rows in openlm.groupby("corpus"):
        tests[f"OpenLM on {corpus}: models above 1B"] = rows, rows.S > 1e9
    return tests


def pythias(along: Along, short: bool = True) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each version of Pythia and its checkpoints, without examples in the prompt."""
    for suite, name in SUITES.items():
        yield name.removeprefix("Pythia ") if short else name, along[suite, 0]


def load_blind() -> pd.DataFrame:
    """Our predictions, with a row for each size."""
    return load("blind").set_index("S")


def load_truth() -> pd.DataFrame:
    """The final accuracies of Pythia v1, with a row for each size."""
    return load("pythia_lambada_zero_shot").set_index("S")


def check_rule(blind: pd.DataFrame, along: Along, rule: Callable[..., float]) -> None:
    """Whether the rule gives the predictions and intervals that were written down.

    rule(table, S, T): the log loss of a size. The intervals come from a rehearsal, in which the
    rule predicts the last checkpoint of each size from the others.
    """
    v1 = along["v1", 0]
    centres = {S: rule(v1[v1.S != S], S, END) for S in blind.index}
    assert np.allclose(blind.predicted, np.exp(-np.exp(pd.Series(centres))), atol=2e-4)
    each: list[float] = []
    spread: dict[Any, list[float]] = {S: [] for S in blind.index}
    for rows in along.values():
        rows = rows[rows.groupby("tokens").S.transform("nunique") == rows.S.nunique()]
        T = rows.tokens.max()
        at_end = np.log(rows[rows.tokens == T].set_index("S").loss)
        if len(at_end) < 8:
            continue
        before = rows[rows.tokens < T]
        each += [rule(before[before.S != S], S, T) - at_end[S] for S in at_end.index]
        for pair in combinations(at_end.index, 2):  # the interval of a size does not see that size
            rest = before[~before.S.isin(pair)]
            for out, S in (pair, pair[::-1]):
                error = rule(rest, S, T) - at_end[S]
                spread[out].append(error / _gap(rest.S.unique(), S))
    for S in blind.index:
        half = 1.96 * root_mean_square(spread[S]) * _gap(blind.index.drop(S), S)
        ends = np.exp(-np.exp(centres[S] + np.array([half, -half])))
        assert np.allclose(blind.loc[S, ["low", "high"]].astype(float), ends, atol=2e-4)
    print("the rule gives the predictions and intervals as they were written down")
    print(f"rehearsal: rms error of the log loss {root_mean_square(each):.3f}")


def _gap(sizes: Any, S: float) -> float:
    """Distance in log S between the neighbours of S; twice that to the only one at an end."""
    away = np.log(np.asarray(sizes) / S)
    sides = [np.abs(side).min() for side in (away[away < 0], away[away > 0]) if side.size]
    return 2 * float(np.mean(sides))
