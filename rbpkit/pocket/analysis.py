"""The pocket models as an experiment: sizes by other measures, controls, training tokens.

Works on summaries of pocket models, and on totals of those that ship without weights. Shapes come
from `pocket.recipes` and `pocket.controls`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.fit import Measured, ce_curve, fit_curves, fit_power_law, rbp_curve
from rbpkit.plots import ink_of, rows_of_panels
from rbpkit.pocket.controls import CONTROLS, Totals, control_named
from rbpkit.pocket.recipes import CONTEXT, FAMILIES, Run, V, runs_of
from rbpkit.summary import Summary

GRID = re.compile(r"(?P<model>.+)-(?P<millions>[\d.]+)m(-seed(?P<seed>\d+))?")
MARKS = "os^Dv<>p"


def all_runs() -> dict[str, Run]:
    """Every pocket model, by name."""
    return {run.name: run for family in FAMILIES for run in runs_of(family)}


def training_flops(S: float, run: Run) -> float:
    """Floating-point operations of a training run, by the usual count.

    Six for each token and weight of the layers and the head, and 6 L d T per token for causal
    attention over a context of T (scores and values, half of them masked; forward and twice that
    backward). Mamba's scan takes 6 L 3 (2 d) 16 instead: decay, write and read a state of 16 per
    channel.
    """
    shape, tokens = run.shape, run.recipe.steps * run.recipe.batch_rows * CONTEXT
    over_time = shape.layers * shape.width * FAMILIES[run.family].over_time
    return 6.0 * tokens * (S + shape.width * V + over_time)


SIZES: dict[str, Callable[[float, Run], float]] = {
    "S": lambda S, run: S,
    "S + dV": lambda S, run: S + run.shape.width * V,
    "FLOPs": training_flops,
}
"""Measures of a model's size: as in the paper; with the output matrix; cost of its training."""


def by_size_measure(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str], ks: Sequence[int]
) -> pd.DataFrame:
    """CE and -log RBP_k fitted against each of `SIZES`.

    Columns: those of `fit_curves`, size, decades (spanned by that size). What was not measured or
    cannot be fitted is left out, and so are models that are not pocket models.
    """
    runs = all_runs()
    summaries = [one for one in summaries if one.manifest.model in runs]
    there = {(one.manifest.corpus, one.manifest.family) for one in summaries}
    curves = []
    for cell in product(corpora, families):
        if cell in there:
            curves.append(ce_curve(summaries, *cell))
            curves += [rbp_curve(summaries, k, *cell) for k in ks]
    tables = []
    for size, measure in SIZES.items():
        sized = []
        for curve in curves:
            pairs = zip(curve.S, curve.models, strict=True)
            at = np.array([measure(S, runs[model]) for S, model in pairs])
            sized.append(replace(curve, S=at))
        decades = {(c.corpus, c.family): np.log10(c.S.max() / c.S.min()) for c in sized}
        table = fit_curves(sized).table
        cells = zip(table["corpus"], table["family"], strict=True)
        tables.append(table.assign(size=size, decades=[decades[cell] for cell in cells]))
    return pd.concat(tables, ignore_index=True)


def at_one_size(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str], ks: Sequence[int]
) -> pd.DataFrame:
    """The families' lines at one S: a row per (corpus, quantity, family).

    S is the middle, in log S, of the range that every family of the corpus covers. Columns: those
    of `fit_curves`, S, loss (of the family's line at that S). What was not measured or cannot be
    fitted is left out. Raises InputError if families share no S or were measured on different
    text, and as `ce_curve` does.
    """
    measured = [one for one in summaries if one.manifest.family in families]
    curves, middle = [], {}
    for corpus in corpora:
        here = [one for one in measured if one.manifest.corpus == corpus]
        there = [family for family in families if family in {one.manifest.family for one in here}]
        if not there:
            continue
        if len({one.manifest.fingerprint for one in here}) > 1:
            raise InputError(f"{corpus}: the families were measured on different text")
        ces = [ce_curve(here, corpus, family) for family in there]
        least, most = max(c.S.min() for c in ces), min(c.S.max() for c in ces)
        if least > most:
            raise InputError(f"{corpus}: no S lies in the range of every family of {there}")
        middle[corpus] = np.sqrt(least * most)
        curves += ces
        curves += [rbp_curve(here, k, corpus, family) for k in ks for family in there]
    table = fit_curves(curves).table
    S = table["corpus"].map(middle).astype(float)
    line = table["intercept"].astype(float) + table["slope"].astype(float) * np.log(S)
    return table.assign(S=S, loss=np.exp(line))


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


def read_logs(runs: Path) -> dict[str, pd.DataFrame]:
    """NAME -> the log of each run in a folder of runs (NAME/log.csv) or of logs (NAME.csv).

    Raises InputError if it is missing.
    """
    logs = {path.parent.name: pd.read_csv(path) for path in sorted(runs.glob("*/log.csv"))}
    logs |= {path.stem: pd.read_csv(path) for path in sorted(runs.glob("*-w*-l*.csv"))}
    if not logs:
        raise InputError(f"{runs}: no log of a training run there (NAME/log.csv)")
    return logs


def save_losses(runs: Path) -> Path:
    """Draw the logs of a folder of runs into its losses.png, and return that path."""
    logs = read_logs(runs)
    names = {f: [one for one in logs if one.startswith(f"{f.lower()}-")] for f in FAMILIES}
    points = pd.concat([log.assign(run=name) for name, log in logs.items()])
    plots.save(family_losses(logs, names), points, str(runs), "losses")
    return runs / "losses.png"


def family_losses(logs: Mapping[str, pd.DataFrame], families: Mapping[str, list[str]]) -> Figure:
    """Validation CE (nats) along training, a panel per family; darker is larger.

    logs: NAME -> log; families: family -> names of its models, smallest first. A model without a
    log is left out. Raises InputError if nothing is left.
    """
    there = {family: [name for name in names if name in logs] for family, names in families.items()}
    there = {family: names for family, names in there.items() if names}
    if not there:
        raise InputError("nothing to draw: no log of any of these models")
    with plots.style():
        figure, (row,) = rows_of_panels([len(there)], (3.0, 4.2), (0.6, 0), sharey=True)
        for axes, (family, names) in zip(row, there.items(), strict=True):
            shades = sns.light_palette(ink_of(family).colour, len(names) + 2)[2:]
            for shade, marker, name in zip(shades, MARKS, names, strict=False):
                valid = logs[name].dropna(subset="valid_ce")
                label = name.split("-", 1)[1].replace("-l", ", ").replace("w", "")
                look = {"color": shade, "linewidth": 1, "markersize": 4, "label": label}
                axes.plot(valid["tokens"] / 1e6, valid["valid_ce"], f"{marker}-", **look)
            axes.set(title=family, xlabel="training tokens (millions)")
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncol": 3}
            axes.legend(title="width, layers", title_fontsize=8, **below)
        row[0].set_ylabel("validation CE (nats a token)")
        figure.tight_layout()
    return figure
