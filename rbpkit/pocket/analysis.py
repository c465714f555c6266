"""The pocket ladders as an experiment: sizes by other measures, controls, training tokens.

Works on summaries of pocket models, and on totals of those that ship without weights; shapes come
from `pocket.ladders` and `pocket.controls`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import Curve, ce_curve, fit_curves, fit_power_law, rbp_curve
from rbpkit.pocket.controls import CONTROLS, Totals, control_named
from rbpkit.pocket.families import CONTEXT, FAMILIES, V
from rbpkit.pocket.ladders import Run, ladder_runs
from rbpkit.sections.curves import ladder
from rbpkit.summary import Summary

GRID = re.compile(r"(?P<model>.+)-(?P<millions>[\d.]+)m(-seed(?P<seed>\d+))?")


def all_runs() -> dict[str, Run]:
    """Every model of the ladders, by name."""
    return {run.name: run for family in FAMILIES for run in ladder_runs(family)}


def training_flops(S: float, run: Run) -> float:
    """Floating-point operations of a training run, by the usual count.

    Six a token and weight of the layers and the head, and 6 L d T for causal attention over a
    context of T (scores and values, half of them masked; forward and twice that backward). For
    Mamba's scan in its place 6 L 3 (2 d) 16: decay, write and read a state of 16 a channel.
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

    Columns: those of `fit_curves`, size, decades (that the size spans). What is not there or cannot
    be fitted is left out, and so are models that are in no ladder.
    """
    runs = all_runs()
    summaries = [one for one in summaries if one.manifest.model in runs]
    there = {(one.manifest.corpus, one.manifest.family) for one in summaries}
    curves: list[Curve] = []
    for corpus, family in product(corpora, families):
        if (corpus, family) in there:
            curves.append(ce_curve(summaries, corpus, family))
            curves += [rbp_curve(summaries, k, corpus, family) for k in ks]
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


@dataclass(frozen=True)
class _Loss:
    """A loss of totals by name: CE (nats) or -log RBP_k."""

    k: int | None

    def __call__(self, one: Totals) -> float:
        return one.ce() if self.k is None else -float(np.log(one.rbp(self.k)))

    @property
    def name(self) -> str:
        return "CE" if self.k is None else f"RBP_{self.k}"


def at_one_size(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str], ks: Sequence[int]
) -> pd.DataFrame:
    """The families' lines, and where they are at one S: a row a (corpus, quantity, family).

    S is the middle, in log S, of what every family of the corpus spans. Columns: corpus, quantity,
    family, n, slope, low, high (95%), R2, S, loss (of the family's line at that S). Families that
    were not measured on a corpus are left out of it. Raises InputError where two of them span no
    S together or were measured on different text, and as `ce_curve` and `fit_power_law`.
    """
    columns = ["corpus", "quantity", "family", "n", "slope", "low", "high", "R2", "S", "loss"]
    every, rows = list(summaries), []
    for corpus in corpora:
        there = [family for family in families if ladder(every, corpus, family)]
        if not there:
            continue
        texts = {one.manifest.fingerprint for f in there for one in ladder(every, corpus, f)}
        if len(texts) > 1:
            raise InputError(f"{corpus}: the families were measured on different text")
        curves = {family: [ce_curve(every, corpus, family)] for family in there}
        for family, found in curves.items():
            found += [rbp_curve(every, k, corpus, family) for k in ks]
        spans = {family: (found[0].S.min(), found[0].S.max()) for family, found in curves.items()}
        least, most = max(low for low, _ in spans.values()), min(high for _, high in spans.values())
        if least > most:
            raise InputError(f"{corpus}: no S lies in the range of every family ({spans})")
        S = float(np.sqrt(least * most))
        for place in range(1 + len(ks)):
            for family in there:
                curve = curves[family][place]
                fit = fit_power_law(curve.S, curve.loss, labels=curve.models)
                at_S = S, float(fit.predict(S).loss)
                numbers = (fit.n, fit.slope, *fit.slope_interval, fit.r2, *at_S)
                rows.append((corpus, curve.quantity, family, *numbers))
    return pd.DataFrame(rows, columns=columns)


def controls_table(
    grid: Iterable[Totals], controls: Iterable[Totals], ks: Sequence[int]
) -> pd.DataFrame:
    """Each control beside its model of the grid and the grid's line, a row a (corpus, control,
    quantity).

    A control may have any seed, as its name says (`control_named`). The line goes through the
    grid's models of as many tokens. Columns: corpus, control, changes, quantity, loss, base (the
    loss of the model that it differs from), against base and against line (percent by which the
    control's loss is above that model's, and above the line at the control's own S). Raises
    InputError for a name that is no control's and for a control whose model is not there.
    """
    alike: dict[tuple[str, str], list[Totals]] = {}
    for one in grid:
        if match := GRID.fullmatch(one.manifest.model):
            alike.setdefault((one.manifest.corpus, match["millions"]), []).append(one)
    order = {control.run.name: place for place, control in enumerate(CONTROLS)}
    rows = []
    for one in sorted(
        controls,
        key=lambda c: (c.manifest.corpus, order.get(c.manifest.model, len(order))),
    ):
        control, corpus = control_named(one.manifest.model), one.manifest.corpus
        models = alike.get((corpus, f"{control.run.recipe.tokens / 1e6:g}"), [])
        base = [other for other in models if other.manifest.model == control.against]
        if not base or base[0].manifest.fingerprint != one.manifest.fingerprint:
            raise InputError(f"{control.run.name} on {corpus}: {control.against} is not there")
        for loss in (_Loss(None), *map(_Loss, ks)):
            line = fit_power_law([s.manifest.S for s in models], [loss(s) for s in models])
            expected = float(line.predict(one.manifest.S).loss)
            rows.append(
                {
                    "corpus": corpus,
                    "control": control.run.name,
                    "changes": control.changes,
                    "quantity": loss.name,
                    "loss": loss(one),
                    "base": loss(base[0]),
                    "against base": 100 * (loss(one) / loss(base[0]) - 1),
                    "against line": 100 * (loss(one) / expected - 1),
                }
            )
    return pd.DataFrame(rows)


def size_and_tokens(grid: Iterable[Totals], ks: Sequence[int]) -> pd.DataFrame:
    """The losses by size and training tokens, a row a (corpus, quantity, model).

    grid: totals of models called NAME-Mm or NAME-Mm-seedN, each trained on M million tokens to the
    end of its own schedule. Columns: corpus, family, model (NAME), S, T (tokens), seed, quantity,
    loss; by T and S within a corpus and quantity. Raises InputError for a model of another name.
    """
    rows = []
    for one in grid:
        match = GRID.fullmatch(one.manifest.model)
        if match is None:
            raise InputError(
                f"{one.manifest.model} is no model of the grid: they end in -1.5m, ..."
            )
        T, seed = float(match["millions"]) * 1e6, int(match["seed"] or 0)
        at = (one.manifest.corpus, one.manifest.family, match["model"], one.manifest.S, T, seed)
        rows += [(*at, loss.name, loss(one)) for loss in (_Loss(None), *map(_Loss, ks))]
    columns = ["corpus", "family", "model", "S", "T", "seed", "quantity", "loss"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["T", "S"], ignore_index=True)
