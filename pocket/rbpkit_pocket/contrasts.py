"""Pairs of runs that differ in one thing, at the same shape and seed (`docs/margins.md`).

A contrast asks whether a change moves the ranks by more, or by less, than its cross-entropy says.
Here are the plan of the runs and the number that is judged. What was measured on them ships as
`Totals`, without weights; the program that trained them is in the history, at 141ecb6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from rbpkit.fit import fit_power_law
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import ABLATION_TOKENS, FAMILY, Totals, load_totals
from rbpkit_pocket.documents import PACKAGE_CORPORA
from rbpkit_pocket.families import POCKET_FAMILIES, model_name
from rbpkit_pocket.recipes import Recipe, Run

if TYPE_CHECKING:
    from rbpkit.summary import Summary

TEXTS = tuple(f"pocket:{corpus}" for corpus in (*PACKAGE_CORPORA, "humaneval"))
SIZES = (0, 1, 2)
SEEDS = (1, 2, 3)
TOLERANCE = 0.01
LEAST_PAIRS = 6
CHANGES = ("unchanged", "smoothed", "dropout", "rate", "deep", "wide", "tokens")
PAIRS = {
    "smoothed": "unchanged",
    "dropout": "unchanged",
    "rate": "unchanged",
    "tokens": "unchanged",
    "deep": "wide",
}
"""The changed run of each contrast -> the run that it is compared with."""


# --- the plan --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """One run of the plan: what is changed, the size (0 is the smallest), and how it is trained."""

    change: str
    size: int
    run: Run


def planned(change: str, size: int, seed: int) -> Planned:
    """The run with one thing changed, at one size and seed.

    Deep runs have 8 layers, wide ones 2 layers and twice the width: 12 d^2 weights in a layer make
    that the same S. The rate is a constant over the width, so deep runs also have twice the rate.
    """
    shape = POCKET_FAMILIES[FAMILY].shapes[size]
    recipe = Recipe(tokens=ABLATION_TOKENS, rate=POCKET_FAMILIES[FAMILY].rate, seed=seed)
    if change == "smoothed":
        recipe = replace(recipe, smoothing=0.1)
    elif change == "rate":
        recipe = replace(recipe, rate=POCKET_FAMILIES["GPT2"].rate)
    elif change == "tokens":
        recipe = replace(recipe, tokens=2 * ABLATION_TOKENS)
    elif change == "deep":
        shape = replace(shape, layers=8)
    elif change == "wide":
        of_width = {other.width: other for other in POCKET_FAMILIES[FAMILY].shapes}
        shape = replace(of_width[2 * shape.width], layers=2)
    name = f"{model_name(FAMILY, shape)}-{change}-seed{seed}"
    return Planned(change, size, Run(name, FAMILY, shape, recipe))


def plan() -> list[Planned]:
    """All runs, in the order of training: complete pairs exist early, and small ones first."""
    runs = []
    for size, seed in product(SIZES, SEEDS):
        runs += [planned(change, size, seed) for change in CHANGES if change != "tokens"]
    # Twice the tokens take twice the time, so these come last.
    runs += [planned("tokens", size, seed) for size, seed in product(SIZES, SEEDS)]
    return runs


def side(change: str, seed: int) -> list[str]:
    """Names of the runs of one change and seed, and of one smaller than they are, if it was made.

    The smaller one has two layers: width 16 for unchanged runs and twice the tokens, 32 for wide
    ones. With it the sides of a contrast overlap in cross-entropy.
    """
    names = [planned(change, size, seed).run.name for size in SIZES]
    if change in ("unchanged", "tokens"):
        names.append(f"pythia-w16-l2-{change}-seed{seed}")
    elif change == "wide":
        names.append(planned("unchanged", 0, seed).run.name)
    return names


# --- what ships ------------------------------------------------------------------------------


def shipped_totals() -> list[Totals]:
    """The totals of all runs that ship, on each text; none if no run ships yet."""
    return load_totals(paths.CONTRASTS) if paths.CONTRASTS.is_file() else []


# --- the number of the margin ----------------------------------------------------------------


def log_loss(measured: Totals | Summary, quantity: str) -> float:
    """log CE for "CE", log(-log RBP_k) for "RBP_k"."""
    if quantity == "CE":
        return float(np.log(measured.ce()))
    k = int(quantity.removeprefix("RBP_"))
    return float(np.log(-np.log(measured.rbp(k))))


def pair_differences(
    runs: Iterable[Totals],
    reference: Sequence[Summary],
    axis: str = "CE",
    quantities: Sequence[str] = ("RBP_1", "RBP_10", "RBP_100"),
) -> pd.DataFrame:
    """By how much the excess of a changed run differs from that of the run it is paired with.

    On each text a line goes through the log losses of `reference` against their log `axis`. The
    excess of a run is its log loss minus the line. Differences are averaged over texts. Columns:
    contrast, size, seed, quantity, difference; a row for each complete pair and quantity.
    """
    excess: dict[tuple[str, str, str], float] = {}
    for run in runs:
        text = run.manifest.corpus
        ordinary = [model for model in reference if model.manifest.corpus == text]
        x = np.exp([log_loss(model, axis) for model in ordinary])
        x_of_run = np.exp(log_loss(run, axis))
        for quantity in quantities:
            losses = np.exp([log_loss(model, quantity) for model in ordinary])
            expected = np.log(fit_power_law(x, losses).predict(x_of_run).loss)
            excess[run.manifest.model, text, quantity] = log_loss(run, quantity) - float(expected)

    measured = {model for model, _, _ in excess}
    texts = sorted({text for _, text, _ in excess})
    rows = []
    for changed, size, seed in product(PAIRS, SIZES, SEEDS):
        name = planned(changed, size, seed).run.name
        paired_with = planned(PAIRS[changed], size, seed).run.name
        if not {name, paired_with} <= measured:
            continue
        for quantity in quantities:
            of_changed = np.array([excess[name, text, quantity] for text in texts])
            of_other = np.array([excess[paired_with, text, quantity] for text in texts])
            rows.append((changed, size, seed, quantity, np.mean(of_changed - of_other)))
    return pd.DataFrame(rows, columns=["contrast", "size", "seed", "quantity", "difference"])


def verdicts(differences: pd.DataFrame) -> pd.DataFrame:
    """The mean over pairs with its 95% interval (Student's t), and the verdict of the margin.

    Index: contrast, quantity. Columns: pairs, mean, low, high, verdict (of the contrast: one for
    all its quantities).
    """
    groups = differences.groupby(["contrast", "quantity"], sort=False)["difference"]
    table = groups.agg(pairs="count", mean="mean", sd="std")
    half = stats.t.ppf(0.975, table["pairs"] - 1) * table["sd"] / np.sqrt(table["pairs"])
    table["low"], table["high"] = table["mean"] - half, table["mean"] + half

    within = (table["low"] > -TOLERANCE) & (table["high"] < TOLERANCE)
    outside = (table["low"] > TOLERANCE) | (table["high"] < -TOLERANCE)
    sizes = differences.groupby("contrast")["size"].nunique()
    for contrast, part in table.groupby("contrast"):
        verdict = "cannot be told"
        enough = part["pairs"].min() >= LEAST_PAIRS and sizes[contrast] >= 2
        if enough and within[contrast].all():
            verdict = "through"
        elif enough and outside[contrast].any():
            verdict = "beyond"
        table.loc[contrast, "verdict"] = verdict
    return table.drop(columns="sd")
