"""Pairs of runs that differ in one thing, at the same shape and seed (`docs/margins.md`).

    python -m rbpkit_pocket.contrasts train FOLDER  # trains what is not finished; may be killed
    python -m rbpkit_pocket.contrasts ship FOLDER   # puts what is finished into the package

A contrast asks whether a change moves the ranks by more, or by less, than its cross-entropy says.
What was measured ships as `Totals`, without weights.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy import stats
from torch import Tensor, nn

from rbpkit.corpora import load_corpus
from rbpkit.fit import fit_power_law
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import (
    ABLATION_TOKENS,
    FAMILY,
    Totals,
    load_totals,
    save_totals,
    totals_of,
)
from rbpkit_pocket.documents import PACKAGE_CORPORA
from rbpkit_pocket.families import (
    POCKET_CONTEXT,
    POCKET_FAMILIES,
    initial_model,
    load_tokenizer,
    model_name,
)
from rbpkit_pocket.recipes import Recipe, Run
from rbpkit_pocket.training import (
    TrainedModel,
    mean_nll,
    rows_of,
    run_steps,
    token_stream,
    train,
    validation_ce,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from rbpkit.summary import Summary

TEXTS = tuple(f"pocket:{corpus}" for corpus in (*PACKAGE_CORPORA, "humaneval"))
SIZES = (0, 1, 2)
SEEDS = (1, 2, 3)
DROPOUT = 0.1
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
    that the same S.
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


# --- training --------------------------------------------------------------------------------


def with_dropout(run: Run) -> PreTrainedModel:
    """The untrained model with dropout; no weight differs from that of the model without."""
    network = initial_model(run.family, run.shape, run.recipe.seed)
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = DROPOUT
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = DROPOUT  # type: ignore[assignment]  # a plain number
    return network


def train_with_dropout(run: Run, folder: Path) -> TrainedModel:
    """`training.train` with dropout on attention and hidden states, on the CPU."""
    torch.set_num_threads(run.recipe.threads)
    torch.use_deterministic_algorithms(True)
    stream, valid = token_stream("train"), token_stream("valid")

    def loss(model: PreTrainedModel, step: int) -> Tensor:
        model.train()
        # What is dropped depends on the step alone, so a run that was killed goes on as it would.
        torch.manual_seed(1_000_000 * run.recipe.seed + step)
        inputs, targets = rows_of(stream, step * run.recipe.batch_rows, run.recipe.batch_rows)
        return mean_nll(model, inputs, targets)

    def ce_without_dropout(model: PreTrainedModel) -> float:
        return validation_ce(model.eval(), valid)

    key = {"family": run.family, **asdict(run.shape), **asdict(run.recipe), "dropout": DROPOUT}
    key["torch"] = torch.__version__
    key["text"] = hashlib.sha256(stream.numpy().tobytes()).hexdigest()
    return run_steps(
        folder,
        key,
        run.recipe,
        run.shape.width,
        ("tokens", run.recipe.batch_rows * POCKET_CONTEXT),
        model=lambda: with_dropout(run),
        loss=loss,
        valid=ce_without_dropout,
        tokenizer=load_tokenizer(),
        watch=lambda row: None,
    )


def train_plan(folder: Path) -> None:
    """Train each run of the plan that is neither shipped nor finished in `folder`."""
    shipped = {totals.manifest.model for totals in shipped_totals()}
    for item in plan():
        run = item.run
        if run.name in shipped:
            continue
        if item.change == "dropout":
            trained = train_with_dropout(run, folder / run.name)
        else:
            trained = train(run.family, run.shape, run.recipe, folder / run.name)
        print(f"{run.name}: CE {trained.valid_ce:.4f}, {trained.seconds:.0f} s", flush=True)


# --- what ships ------------------------------------------------------------------------------


def shipped_totals() -> list[Totals]:
    """The totals of all runs that ship, on each text; none if no run ships yet."""
    return load_totals(paths.CONTRASTS) if paths.CONTRASTS.is_file() else []


def ship(folder: Path) -> None:
    """Measure the finished runs of `folder` that do not ship yet, and put their totals there."""
    totals = shipped_totals()
    shipped = {model.manifest.model for model in totals}
    finished = {result.parent.name for result in folder.glob("*/result.json")}
    corpora = [load_corpus(text) for text in TEXTS]
    for item in plan():
        name = item.run.name
        if name in shipped or name not in finished:
            continue
        model = replace(load_model(folder / name / "model", device="cpu"), name=name)
        for corpus in corpora:
            measured = measure(model, corpus, max_length=POCKET_CONTEXT)
            totals.append(totals_of(measured.summary))
        print(f"measured {name}", flush=True)
    save_totals(totals, paths.CONTRASTS)


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


if __name__ == "__main__":
    command, target = sys.argv[1:]
    {"train": train_plan, "ship": ship}[command](Path(target))
