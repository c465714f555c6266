"""Pairs of runs that differ in one thing, at the same shape and seed (`docs/margins.md`).

A contrast asks whether a change moves the ranks by more, or by less, than its cross-entropy says.
Here are the names of the runs. What was measured on them ships as `Totals`, without weights, and
notebook 20 judges it; the program that trained them is in the history, at 141ecb6.
"""

from __future__ import annotations

from dataclasses import replace

from rbpkit_pocket.ablations import FAMILY
from rbpkit_pocket.documents import PACKAGE_CORPORA
from rbpkit_pocket.families import SHAPES, Shape, model_name

TEXTS = tuple(f"pocket:{corpus}" for corpus in (*PACKAGE_CORPORA, "humaneval"))
SIZES = (0, 1, 2)
SEEDS = (1, 2, 3)
PAIRS = {
    "smoothed": "unchanged",
    "dropout": "unchanged",
    "rate": "unchanged",
    "tokens": "unchanged",
    "deep": "wide",
}
"""The changed run of each contrast -> the run that it is compared with."""


def changed_shape(change: str, size: int) -> Shape:
    """The shape of the run with one thing changed, at one size (0 is the smallest).

    Deep runs have 8 layers, wide ones 2 layers and twice the width: 12 d^2 weights in a layer make
    that the same S. The rate is a constant over the width, so deep runs also have twice the rate.
    """
    shapes = SHAPES[FAMILY]
    shape = shapes[size]
    if change == "deep":
        return replace(shape, layers=8)
    if change == "wide":
        of_width = {other.width: other for other in shapes}
        return replace(of_width[2 * shape.width], layers=2)
    return shape


def run_name(change: str, size: int, seed: int) -> str:
    """The name of the run with one thing changed, at one size and seed."""
    return f"{model_name(FAMILY, changed_shape(change, size))}-{change}-seed{seed}"


def new_pairs(contrast: str) -> list[tuple[str, str]]:
    """The nine pairs of a contrast: the names of the changed run and of the other one."""
    pairs = []
    for size in SIZES:
        for seed in SEEDS:
            other = run_name(PAIRS[contrast], size, seed)
            pairs.append((run_name(contrast, size, seed), other))
    return pairs


def side(change: str, seed: int) -> list[str]:
    """Names of the runs of one change and seed, and of one smaller than they are, if it was made.

    The smaller one has two layers: width 16 for unchanged runs and twice the tokens, 32 for wide
    ones. With it the sides of a contrast overlap in cross-entropy.
    """
    names = [run_name(change, size, seed) for size in SIZES]
    if change in ("unchanged", "tokens"):
        names.append(f"pythia-w16-l2-{change}-seed{seed}")
    elif change == "wide":
        names.append(run_name("unchanged", 0, seed))
    return names
