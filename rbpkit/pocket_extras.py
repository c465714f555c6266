"""Measuring what ships as summaries only: the controls, and the ladder along its training."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from rbpkit.corpora import POCKET_CORPORA, load_corpus
from rbpkit.errors import InputError
from rbpkit.measure import measure
from rbpkit.models import load_model
from rbpkit.pocket import CONTEXT, models_root, recipe_of
from rbpkit.pocket_controls import CONTROLS, FAMILY, along_root, controls_root

THREADS = 1  # as in params/pocket.yaml: last bits, and now and then a rank, go by it


def _controls(runs: Path) -> Iterator[tuple[str, Path]]:
    for control in CONTROLS:
        folder = runs / control.run.name / "model"
        if folder.is_dir():
            yield control.run.name, folder


def _along(runs: Path) -> Iterator[tuple[str, Path]]:
    recipe = recipe_of(FAMILY)
    for folder in sorted(runs.glob(f"{FAMILY.lower()}-*/snapshot-*")):
        tokens = int(folder.name.removeprefix("snapshot-")) * recipe.batch_rows * CONTEXT
        yield f"{folder.parent.name}-t{tokens}", folder


def ship_extras(runs: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Measure the finished controls and the snapshots under `runs`; put summaries into the package.

    Loss curves of the controls go to `data/pocket/runs`. Raises InputError where there is neither.
    """
    torch.set_num_threads(THREADS)
    wanted = [(controls_root(), *one) for one in _controls(runs)]
    wanted += [(along_root(), *one) for one in _along(runs)]
    if not wanted:
        raise InputError(f"{runs}: no finished control and no snapshot there")
    corpora = [load_corpus(name) for name in POCKET_CORPORA]
    for root, name, folder in wanted:
        model = replace(load_model(folder, device="cpu"), name=name)
        with tempfile.TemporaryDirectory() as scratch:
            for corpus in corpora:
                done = measure(model, corpus, scratch, max_length=CONTEXT)
                target = root / done.path.parent.name / f"{name}.summary.npz"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(done.summary.to_bytes())
        log = folder.parent / "log.csv"
        if root == controls_root():
            shutil.copyfile(log, models_root().parent / "runs" / f"{name}.csv")
        say(f"measured {name}")
