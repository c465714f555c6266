"""The pocket models as an experiment: controls, training tokens, losses along training.

Works on the totals of models that ship without weights (`pocket.controls`) and on logs of runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.fit import Measured, fit_power_law
from rbpkit.pocket.controls import CONTROLS, Totals, control_named

GRID = re.compile(r"(?P<model>.+)-(?P<millions>[\d.]+)m(-seed(?P<seed>\d+))?")
MARKS = "os^Dv<>p"


def _losses(one: Measured, ks: Sequence[int]) -> dict[str, float]:
    """CE (nats) and -log RBP_k by the name of the quantity."""
    return {"CE": one.ce()} | {f"RBP_{k}": -float(np.log(one.rbp(k))) for k in ks}


def controls_table(
    grid: Iterable[Totals], controls: Iterable[Totals], ks: Sequence[int]
) -> pd.DataFrame:
    """Each control next to its model of the grid and the grid's line: a row per (corpus, control,
    quantity).

    A control may have any seed, as its name says (`control_named`). The line goes through the
    grid's models of as many tokens. Columns: corpus, control, changes, quantity, loss, base (the
    loss of the model that it differs from), against base and against line (percent by which the
    control's loss is above that model's, and above the line at the control's own S). Raises
    InputError if a name is not a control's, or if the grid does not have a control's model.
    """
    alike: dict[tuple[str, str], list[Totals]] = {}
    for one in grid:
        if match := GRID.fullmatch(one.manifest.model):
            alike.setdefault((one.manifest.corpus, match["millions"]), []).append(one)
    order = {control.run.name: place for place, control in enumerate(CONTROLS)}
    rows = []
    for one in sorted(
        controls, key=lambda c: (c.manifest.corpus, order.get(c.manifest.model, len(order)))
    ):
        control, corpus = control_named(one.manifest.model), one.manifest.corpus
        models = alike.get((corpus, f"{control.run.recipe.tokens / 1e6:g}"), [])
        base = [other for other in models if other.manifest.model == control.against]
        if not base or base[0].manifest.fingerprint != one.manifest.fingerprint:
            raise InputError(f"{control.run.name} on {corpus}: {control.against} is not there")
        S, losses = [s.manifest.S for s in models], pd.DataFrame(_losses(s, ks) for s in models)
        for (quantity, loss), before in zip(
            _losses(one, ks).items(), _losses(base[0], ks).values(), strict=True
        ):
            line = float(fit_power_law(S, losses[quantity]).predict(one.manifest.S).loss)
            row = {"corpus": corpus, "control": control.run.name, "changes": control.changes}
            row |= {"quantity": quantity, "loss": loss, "base": before}
            row |= {
                "against base": 100 * (loss / before - 1),
                "against line": 100 * (loss / line - 1),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def size_and_tokens(grid: Iterable[Totals], ks: Sequence[int]) -> pd.DataFrame:
    """The losses by size and training tokens: a row per (corpus, quantity, model).

    grid: totals of models called NAME-Mm or NAME-Mm-seedN, each trained on M million tokens to the
    end of its own schedule. Columns: corpus, family, model (NAME), S, T (tokens), seed, quantity,
    loss; sorted by T and S. Raises InputError for a model of another name.
    """
    rows = []
    for one in grid:
        match = GRID.fullmatch(one.manifest.model)
        if match is None:
            raise InputError(f"{one.manifest.model} is not of the grid: NAME-Mm or NAME-Mm-seedN")
        T, seed = float(match["millions"]) * 1e6, int(match["seed"] or 0)
        at = (one.manifest.corpus, one.manifest.family, match["model"], one.manifest.S, T, seed)
        rows += [(*at, *loss) for loss in _losses(one, ks).items()]
    columns = ["corpus", "family", "model", "S", "T", "seed", "quantity", "loss"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["T", "S"], ignore_index=True)


# --- figures ---------------------------------------------------------------------------------


def save_losses(runs: Path) -> Path:
    """Draw validation CE (nats) along training for a folder of runs (NAME/log.csv).

    Writes losses.png and losses.csv into the folder and returns the picture's path. Raises
    InputError if there is no log.
    """
    logs = {path.parent.name: pd.read_csv(path) for path in sorted(runs.glob("*/log.csv"))}
    if not logs:
        raise InputError(f"{runs}: no log of a training run there (NAME/log.csv)")
    points = pd.concat([log.assign(run=name) for name, log in logs.items()])
    look = {"hue": "run", "style": "run", "kind": "line", "markers": True, "dashes": False}
    with plots.style():
        grid = sns.relplot(points.dropna(subset="valid_ce"), x="tokens", y="valid_ce", **look)
        grid.set_axis_labels("training tokens", "validation CE (nats a token)")
    plots.save(grid.figure, points, str(runs), "losses")
    return runs / "losses.png"
