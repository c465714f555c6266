"""Measuring what ships as totals only: the controls, and the ladder along its training."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from rbpkit.corpora import POCKET_CORPORA, load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.pocket.controls import (
    CONTROLS,
    FAMILY,
    along_path,
    controls_path,
    load_totals,
    save_totals,
    totals_of,
)
from rbpkit.pocket.ladders import CONTEXT, models_root, recipe_of

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
    """Measure the finished controls and the snapshots under `runs`; put totals into the package.

    Those of a model measured before are replaced. Loss curves of the controls go to
    `data/pocket/runs`. Raises InputError where there is neither.
    """
    torch.set_num_threads(THREADS)
    wanted = {controls_path(): [*_controls(runs)], along_path(): [*_along(runs)]}
    if not any(wanted.values()):
        raise InputError(f"{runs}: no finished control and no snapshot there")
    corpora = [load_corpus(name) for name in POCKET_CORPORA]
    for path, models in wanted.items():
        done = load_totals(path) if path.exists() else []
        for name, folder in models:
            model = replace(load_model(folder, device="cpu"), name=name)
            done = [one for one in done if one.manifest.model != name]
            with tempfile.TemporaryDirectory() as scratch:
                for corpus in corpora:
                    summary = measure(model, corpus, scratch, max_length=CONTEXT).summary
                    done.append(totals_of(summary))
            save_totals(done, path)
            if path == controls_path():
                log = folder.parent / "log.csv"
                shutil.copyfile(log, models_root().parent / "runs" / f"{name}.csv")
            say(f"measured {name}")
