"""Models that were trained again, with another seed or on fewer tokens, next to pocket models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rbpkit.fit import Measured
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit.tools.study.reproduce import differing
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import load_totals
from rbpkit_pocket.recipes import Training, training_of


@cache
def summaries() -> tuple[Summary, ...]:
    """Those of the pocket models."""
    return (*load_summaries(paths.SUMMARIES), *load_summaries(paths.MAMBA_SUMMARIES))


@cache
def _all_measured() -> tuple[Measured, ...]:
    """The pocket models, and those trained with other seeds or on other numbers of tokens."""
    seeds = [model for model in load_totals(paths.ABLATIONS) if "-seed" in model.manifest.model]
    return (*summaries(), *load_totals(paths.GRID), *seeds)


def _alike(job: Measured) -> dict[Training, Measured]:
    """The models of a job's family that were trained on as many tokens.

    They were measured on the same text in the same way. Other weights are no hindrance.
    """
    own, models = training_of(job.manifest.model), {}
    for model in _all_measured():
        about = model.manifest
        training = training_of(about.model)
        same = (about.corpus, about.family) == (job.manifest.corpus, job.manifest.family)
        if not same or training.tokens != own.tokens:
            continue
        if set(differing(job, model)) <= {"revision"}:
            models[training] = model
    return models


def beside(measured: Sequence[Measured]) -> tuple[list[Measured], list[Measured]]:
    """The models to be fitted together with those measured, and those to compare the slopes with.

    A (corpus, family) is compared with all sizes of the family that were trained on as many tokens,
    if its own sizes are among them. If all of its models have other seeds, they take the places of
    these sizes, and are fitted with the other ones.
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for job in measured:
        groups.setdefault((job.manifest.corpus, job.manifest.family), []).append(job)
    fitted: list[Measured] = []
    compared: list[Measured] = []
    for group in groups.values():
        trainings = [training_of(job.manifest.model) for job in group]
        own_sizes = {training.size for training in trainings}
        alike = _alike(group[0])
        sizes = {training.size: model for training, model in alike.items() if not training.seed}
        if not own_sizes <= sizes.keys():
            continue
        compared += sizes.values()
        if all(training.seed for training in trainings):
            fitted += [model for size, model in sizes.items() if size not in own_sizes]
    return fitted, compared


def remarks(measured: Sequence[Measured]) -> list[str]:
    """How far each model that was trained with another seed is from those of its size."""
    lines = []
    for job in measured:
        own = training_of(job.manifest.model)
        others = {}
        for training, model in _alike(job).items() if own.seed else ():
            if training.size == own.size and training.seed != own.seed:
                others[training.seed] = model
        if not others:
            continue
        seeds = ", ".join(map(str, sorted(others)))
        ce, ces = job.ce(), [one.ce() for one in others.values()]
        rbp, rbps = 100 * job.rbp(1), [100 * one.rbp(1) for one in others.values()]
        lines.append(
            f"your {job.manifest.model} on {job.manifest.corpus}: CE {ce:.3f} nats and RBP_1"
            f" {rbp:.1f}%. The same size with other seeds ({seeds}) has {min(ces):.3f} to"
            f" {max(ces):.3f} nats and {min(rbps):.1f} to {max(rbps):.1f}%: in CE yours is"
            f" {among(ce, ces)}."
        )
    return lines


def among(ce: float, others: Sequence[float]) -> str:
    """Where a cross-entropy is among those of other seeds, and whether that means anything."""
    if min(others) <= ce <= max(others):
        return "between them"
    side, meaning, beyond = "below", "so better", min(others) - ce
    if ce > max(others):
        side, meaning, beyond = "above", "so worse", ce - max(others)
    range_of_others = max(others) - min(others)
    if beyond < range_of_others:
        meaning = f"which is less than those seeds differ ({range_of_others:.3f})"
    return f"{side} all of them by {beyond:.3f}, {meaning}"
