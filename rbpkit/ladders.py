"""The pocket ladders looked at as an experiment: sizes by other measures, controls, training time.

Works on summaries of pocket models; shapes come from `pocket.LADDERS` and `pocket_controls`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit.curves import Curve, ce_curve, rbp_curve
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.pocket import CONTEXT, LADDERS, Run, V, ladder_runs
from rbpkit.pocket_controls import CONTROLS
from rbpkit.summary import Summary

ALONG = re.compile(r"(?P<model>.+)-t(?P<tokens>\d+)")


def all_runs() -> dict[str, Run]:
    """Every model of the ladders and every control, by name."""
    runs = [run for family in LADDERS for run in ladder_runs(family)]
    return {run.name: run for run in (*runs, *(control.run for control in CONTROLS))}


def training_flops(S: float, run: Run) -> float:
    """Floating-point operations of a training run, by the usual count.

    Six a token and weight of the layers and the head, and 6 L d T for causal attention over a
    context of T (scores and values, half of them masked; forward and twice that backward).
    """
    shape, tokens = run.shape, run.recipe.steps * run.recipe.batch_rows * CONTEXT
    attention = shape.layers * shape.width * CONTEXT
    return 6.0 * tokens * (S + shape.width * V + attention)


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

    Columns: corpus, family, quantity, n, size, decades (that the size spans), slope, low, high
    (95%), R2. What is not there or cannot be fitted is left out, and so are models that are in no
    ladder.
    """
    runs = all_runs()
    summaries = [one for one in summaries if one.manifest.model in runs]
    there = {(one.manifest.corpus, one.manifest.family) for one in summaries}
    rows = []
    for corpus in corpora:
        for family in families:
            if (corpus, family) not in there:
                continue
            curves = [ce_curve(summaries, corpus, family)]
            curves += [rbp_curve(summaries, k, corpus, family) for k in ks]
            for curve in curves:
                rows += _fits_of(curve, runs)
    return pd.DataFrame(rows)


def _fits_of(curve: Curve, runs: dict[str, Run]) -> list[dict[str, object]]:
    rows = []
    for size, measure in SIZES.items():
        pairs = zip(curve.S, curve.models, strict=True)
        at = np.array([measure(S, runs[model]) for S, model in pairs])
        try:
            fit = fit_power_law(at, curve.loss, labels=curve.models)
        except InputError:
            continue
        low, high = fit.slope_interval
        rows.append(
            {
                "corpus": curve.corpus,
                "family": curve.family,
                "quantity": curve.quantity,
                "n": fit.n,
                "size": size,
                "decades": float(np.log10(at.max() / at.min())),
                "slope": fit.slope,
                "low": low,
                "high": high,
                "R2": fit.r2,
            }
        )
    return rows


@dataclass(frozen=True)
class _Loss:
    """A loss by name, of a summary: CE (nats) or -log RBP_k."""

    k: int | None

    def __call__(self, one: Summary) -> float:
        return one.ce() if self.k is None else -float(np.log(one.rbp(self.k)))

    @property
    def name(self) -> str:
        return "CE" if self.k is None else f"RBP_{self.k}"


def controls_table(
    ladder: Iterable[Summary], controls: Iterable[Summary], ks: Sequence[int]
) -> pd.DataFrame:
    """Each control beside its ladder's model and line, a row a (corpus, control, quantity).

    Columns: corpus, control, changes, quantity, loss, base (the ladder model's loss), against
    base and against line (percent by which the control's loss is above the ladder model's, and
    above the ladder's line at the control's own S). Raises InputError for a control whose ladder
    is not there.
    """
    ladder = list(ladder)
    known = {control.run.name: control for control in CONTROLS}
    order = {name: place for place, name in enumerate(known)}
    rows = []
    for one in sorted(
        (c for c in controls if c.manifest.model in known),
        key=lambda c: (c.manifest.corpus, order[c.manifest.model]),
    ):
        control, corpus = known[one.manifest.model], one.manifest.corpus
        alike = [
            s
            for s in ladder
            if (s.manifest.corpus, s.manifest.family) == (corpus, one.manifest.family)
            and s.manifest.fingerprint == one.manifest.fingerprint
        ]
        base = [s for s in alike if s.manifest.model == control.against]
        if not base:
            raise InputError(f"{control.run.name} on {corpus}: {control.against} is not there")
        for loss in (_Loss(None), *map(_Loss, ks)):
            line = fit_power_law([s.manifest.S for s in alike], [loss(s) for s in alike])
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


def along_training(
    along: Iterable[Summary], finished: Iterable[Summary], ks: Sequence[int]
) -> pd.DataFrame:
    """The law in S after so many training tokens, a row a (corpus, quantity, tokens).

    along: summaries of models called NAME-tTOKENS; finished: of the ladder itself, trained on all
    of its recipe's tokens. Columns: corpus, quantity, tokens, n, slope, low, high (95%), R2, and
    smallest, largest: the losses of the smallest and the largest model.
    """
    runs, groups = all_runs(), {}
    for one in along:
        match = ALONG.fullmatch(one.manifest.model)
        if match and match["model"] in runs:
            groups.setdefault((one.manifest.corpus, int(match["tokens"])), []).append(one)
    families = {one.manifest.family for group in groups.values() for one in group}
    corpora = {corpus for corpus, _ in groups}
    for one in finished:
        if one.manifest.model in runs and one.manifest.family in families:
            if one.manifest.corpus in corpora:
                recipe = runs[one.manifest.model].recipe
                tokens = recipe.steps * recipe.batch_rows * CONTEXT
                groups.setdefault((one.manifest.corpus, tokens), []).append(one)
    rows = []
    for (corpus, tokens), group in sorted(groups.items()):
        group.sort(key=lambda one: one.manifest.S)
        for loss in (_Loss(None), *map(_Loss, ks)):
            losses = [loss(one) for one in group]
            fit = fit_power_law([one.manifest.S for one in group], losses)
            rows.append(
                {
                    "corpus": corpus,
                    "quantity": loss.name,
                    "tokens": tokens,
                    "n": fit.n,
                    "slope": fit.slope,
                    "low": fit.slope_interval[0],
                    "high": fit.slope_interval[1],
                    "R2": fit.r2,
                    "smallest": losses[0],
                    "largest": losses[-1],
                }
            )
    return pd.DataFrame(rows)


def slopes_between_ends(
    ladder: Iterable[Summary], controls: Iterable[Summary], ks: Sequence[int]
) -> pd.DataFrame:
    """The slope from the smallest model of a ladder to its largest, by training tokens.

    Of the ladder whose two ends were also trained on other numbers of tokens. Columns: corpus,
    quantity, tokens, slope: d log loss / d log S between two models, so without an interval.
    """
    runs = all_runs()
    ends: dict[tuple[str, int], list[Summary]] = {}
    both = [control.against for control in CONTROLS if "tokens" in control.changes]
    alike = {control.run.name for control in CONTROLS if "tokens" in control.changes}
    for one in (*ladder, *controls):
        if one.manifest.model in alike.union(both):
            recipe = runs[one.manifest.model].recipe
            tokens = recipe.steps * recipe.batch_rows * CONTEXT
            ends.setdefault((one.manifest.corpus, tokens), []).append(one)
    rows = []
    for (corpus, tokens), pair in sorted(ends.items(), key=lambda item: item[0]):
        pair.sort(key=lambda one: one.manifest.S)
        if len(pair) != 2:
            continue
        small, large = pair
        span = np.log(large.manifest.S / small.manifest.S)
        for loss in (_Loss(None), *map(_Loss, ks)):
            slope = float(np.log(loss(large) / loss(small)) / span)
            rows.append({"corpus": corpus, "quantity": loss.name, "tokens": tokens, "slope": slope})
    return pd.DataFrame(rows, columns=["corpus", "quantity", "tokens", "slope"])
