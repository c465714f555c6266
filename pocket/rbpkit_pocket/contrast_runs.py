"""Trains the runs of `contrasts`, and puts what is measured on them into the package.

    python -m rbpkit_pocket.contrast_runs train FOLDER  # trains what is not finished
    python -m rbpkit_pocket.contrast_runs ship FOLDER   # measures what is finished, unless it ships

A training that was killed goes on from its last checkpoint.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rbpkit.corpora import load_corpus
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import save_totals, totals_of
from rbpkit_pocket.contrasts import TEXTS, plan, shipped_totals
from rbpkit_pocket.families import POCKET_CONTEXT, initial_model, load_tokenizer
from rbpkit_pocket.recipes import Run
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

DROPOUT = 0.1


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


if __name__ == "__main__":
    command, target = sys.argv[1:]
    {"train": train_plan, "ship": ship}[command](Path(target))
