"""Accuracies by size that others published, and the lines through them (notebook 16).

The tables of `rbpkit/data/evidence` as they are (see its README.md), one line a series of models,
the largest model held out, and the predictions of the blind check.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.stats.joint_law import fit_joint

DATA = Path(__file__).resolve().parents[1] / "data" / "evidence"
SUITES = {"v1": "Pythia v1", "v1-deduped": "Pythia v1, deduplicated"}
SUITES |= {"v0": "Pythia v0", "v0-deduped": "Pythia v0, deduplicated"}
FINAL = 299_892_736_000  # tokens at the end of Pythia's training


# -- the tables -------------------------------------------------------------------------------


def load(name: str) -> pd.DataFrame:
    """One table of `rbpkit/data/evidence`: models, pythia, openlm, shapes, sources or blind."""
    path = DATA / f"{name}.csv"
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in DATA.glob("*.csv")))
        raise InputError(f"no published table {name!r}: there are {there}")
    return pd.read_csv(path)


def final_models() -> pd.DataFrame:
    """One row a finished model: `models.csv`, and the last zero-shot checkpoint of each Pythia.

    Columns: group, series, source, model, S (non-embedding parameters), tokens, share (RBP_1,
    accuracy or p_{32,1}), n (positions), ce_token and ce_word (nats); NaN where not stated. Pythia
    v1 on the standard Pile is not among them: its final accuracies are withheld (see `blind`).
    """
    ended = load("pythia").query("shots == 0 and tokens == @FINAL")
    ended = ended.assign(
        group="LAMBADA", series=ended["suite"].map(SUITES), source="pythia", n=5153
    )
    return pd.concat([load("models"), ended], ignore_index=True)[load("models").columns]


def checkpoints(suite: str, shots: int = 0, least_tokens: float = 6e9) -> pd.DataFrame:
    """The checkpoints of one suite of Pythia from `least_tokens` on: model, S, tokens, share, loss.

    loss: -log of the LAMBADA accuracy. InputError where there are none.
    """
    rows = load("pythia").query("suite == @suite and shots == @shots and tokens >= @least_tokens")
    if rows.empty:
        raise InputError(f"no checkpoints of {suite!r}, {shots}-shot; suites: {', '.join(SUITES)}")
    return rows.assign(loss=-np.log(rows["share"])).reset_index(drop=True)


# -- a line a series --------------------------------------------------------------------------


def lines(table: pd.DataFrame) -> pd.DataFrame:
    """The law in S of each series of three models or more, and how it predicts the largest.

    The loss is -log of the share. Columns: group, series, n, decades (of S), slope, low, high
    (95%), R2; and, with four models or more, above (by how many percent the largest's loss lies
    above the line through the others) and inside (whether in that line's 95% interval for a new
    model).
    """
    rows = []
    for (group, series), part in table.groupby(["group", "series"], sort=False):
        if len(part) < 3:
            continue
        part = part.sort_values("S")
        S, loss = part["S"].to_numpy(float), -np.log(part["share"].to_numpy())
        fitted = fit_power_law(S, loss, labels=list(part["model"]))
        row = {"group": group, "series": series, "n": fitted.n, "decades": np.log10(S[-1] / S[0])}
        row |= {"slope": fitted.slope, "low": fitted.slope_interval[0]}
        row |= {"high": fitted.slope_interval[1], "R2": fitted.r2}
        if len(part) > 3:
            predicted = fit_power_law(S[:-1], loss[:-1]).predict(float(S[-1]))
            row["above"] = 100 * (loss[-1] / predicted.loss - 1)
            row["inside"] = predicted.low <= loss[-1] <= predicted.high
        rows.append(row)
    return pd.DataFrame(rows)


# -- the blind check --------------------------------------------------------------------------

RECORDS = [(suite, 0) for suite in SUITES] + [("v1", 5), ("v1-deduped", 5)]
LATE = 1e11  # tokens from which on the joint laws are fitted
NEAREST = 3
NORMAL = 1.96


def three_nearest(S: NDArray, log_loss: NDArray, at: float) -> float:
    """Log loss at size `at` on the line through the three sizes nearest to it in log S."""
    distance = np.abs(np.log(S / at))
    near = np.argsort(distance, kind="stable")[:NEAREST]
    return float(np.polyval(np.polyfit(np.log(S[near]), log_loss[near], 1), np.log(at)))


def predict(rows: pd.DataFrame, at: float, tokens: float) -> dict[str, float]:
    """method -> log loss of a model of size `at` after `tokens`, from `checkpoints` of other sizes.

    "line", "parabola" and "three nearest" read the last checkpoint of `rows`; "product", "sum" and
    "sum+floor" all from `LATE` tokens on; "mean" is that of "three nearest" and "sum".
    InputError where a row has the size `at`.
    """
    if (rows["S"] == at).any():
        raise InputError(f"rows of size {at:.0f} cannot predict that size; leave them out")
    last = rows[rows["tokens"] == rows["tokens"].max()].sort_values("S")
    S, y = last["S"].to_numpy(float), np.log(last["loss"].to_numpy(float))
    late = rows[rows["tokens"] >= LATE]
    found = {
        "line": float(np.polyval(np.polyfit(np.log(S), y, 1), np.log(at))),
        "parabola": float(np.polyval(np.polyfit(np.log(S), y, 2), np.log(at))),
        "three nearest": three_nearest(S, y, at),
    }
    for form in ("product", "sum", "sum+floor"):
        found[form] = float(np.log(_joint(late, form).predict(at, tokens)))
    found["mean"] = (found["three nearest"] + found["sum"]) / 2
    return found


def _joint(rows: pd.DataFrame, form: str):
    return fit_joint(rows["S"], rows["tokens"], rows["loss"], form)


def gap(sizes: Sequence[float], at: float) -> float:
    """Distance in ln S between the neighbours of `at` among other sizes; twice it at an end."""
    below = [np.log(at / S) for S in sizes if S < at]
    above = [np.log(S / at) for S in sizes if S > at]
    sides = [min(side) for side in (below, above) if side]
    return float(sum(sides) * 2 / len(sides))


@cache
def _record(suite: str, shots: int) -> tuple[pd.DataFrame, pd.Series, float]:
    """Checkpoints before the last, the accuracy at the last by size, and its tokens."""
    rows = checkpoints(suite, shots)
    rows = rows[rows.groupby("tokens")["S"].transform("nunique") == rows["S"].nunique()]
    tokens = float(rows["tokens"].max())
    ended = rows[rows["tokens"] == tokens].set_index("S")["share"].sort_index()
    return rows[rows["tokens"] < tokens], ended, tokens


def complete_records() -> list[tuple[str, int]]:
    """Suites and shots that have all eight sizes: what methods are compared on."""
    return [one for one in RECORDS if len(_record(*one)[1]) == 8]


@cache
def leave_one_size_out() -> pd.DataFrame:
    """Each method's predicted accuracy at the last checkpoint present, that size left out.

    Columns: suite, shots, S, method, predicted, share (published), error = predicted - share.
    """
    rows = []
    for suite, shots in complete_records():
        before, ended, tokens = _record(suite, shots)
        for S, share in ended.items():
            logs = predict(before[before["S"] != S], float(S), tokens)
            for method, log_loss in logs.items():
                rows.append((suite, shots, S, method, np.exp(-np.exp(log_loss)), share))
    table = pd.DataFrame(rows, columns=["suite", "shots", "S", "method", "predicted", "share"])
    return table.assign(error=table["predicted"] - table["share"])


@cache
def _pair_errors() -> dict[tuple[int, int], list[float]]:
    """(size left out, size predicted) -> log-loss errors of "mean" over gap, with both left out."""
    errors: dict[tuple[int, int], list[float]] = {}
    for suite, shots in complete_records():
        before, ended, tokens = _record(suite, shots)
        for pair in combinations(ended.index, 2):
            rest = before[~before["S"].isin(pair)]
            last = rest[rest["tokens"] == rest["tokens"].max()].sort_values("S")
            S, y = last["S"].to_numpy(float), np.log(last["loss"].to_numpy(float))
            law = _joint(rest[rest["tokens"] >= LATE], "sum")
            for out, at in (pair, pair[::-1]):
                log_loss = (three_nearest(S, y, at) + np.log(law.predict(at, tokens))) / 2
                error = float(log_loss - np.log(-np.log(ended[at])))
                errors.setdefault((out, at), []).append(error / gap(S, at))
    return errors


def spread(at: float) -> float:
    """Rms error of log loss over `gap` at all sizes but `at`, in fits that did not see `at`."""
    found = [e for (out, _), errors in _pair_errors().items() if out == at for e in errors]
    return float(np.sqrt(np.mean(np.square(found))))


def blind_predictions() -> pd.DataFrame:
    """The final zero-shot LAMBADA accuracy of the eight Pythia v1, no row of whose size is used.

    Columns: model, S, predicted, low, high (95% for one new model), as in `blind.csv`.
    """
    rows = checkpoints("v1")
    names = rows.groupby("S")["model"].first()
    table = []
    for S, model in names.items():
        others = rows[rows["S"] != S]
        centre = predict(others, float(S), FINAL)["mean"]
        half = NORMAL * spread(S) * gap(others["S"].unique(), float(S))
        shares = [np.exp(-np.exp(centre + shift)) for shift in (0.0, half, -half)]
        table.append((model, S, *shares))
    return pd.DataFrame(table, columns=["model", "S", "predicted", "low", "high"])
