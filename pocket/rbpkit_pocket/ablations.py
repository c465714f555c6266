"""Runs next to the pocket models: a grid of sizes and training tokens, ablations, other seeds.

The grid has Pythias trained on other numbers of tokens than the pocket models, each to the end of
its own schedule. An ablation differs from one model of the grid, or from a GPT-2, in one thing: the
seed, the depth, the learning rate or label smoothing. Four pocket models were trained with two more
seeds each. Those that were trained ship as loss curves and as what was measured on them, `Totals`,
without weights.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbpkit.errors import InputError, reason
from rbpkit.manifest import Manifest
from rbpkit_pocket import paths
from rbpkit_pocket.families import model_name
from rbpkit_pocket.recipes import Run, millions_of, run_named, runs_of, training_of

if TYPE_CHECKING:
    from rbpkit.records import Records
    from rbpkit.summary import Summary

FAMILY = "Pythia"
"""The family of the grid."""
ABLATION_TOKENS = 3_000_000


# --- runs ------------------------------------------------------------------------------------


def _of_depth(base: Run, layers: int) -> Run:
    shape = replace(base.shape, layers=layers)
    name = base.name.replace(model_name(FAMILY, base.shape), model_name(FAMILY, shape))
    return replace(base, name=name, shape=shape)


def _changed(base: Run, change: str, value: float) -> Run:
    """The run with another number in its recipe, called NAME-CHANGEVALUE."""
    recipe = replace(base.recipe, **{change: value})  # type: ignore[arg-type]  # a number
    return replace(base, name=f"{base.name}-{change}{value:g}", recipe=recipe)


_GRID_RUNS = runs_of(FAMILY, tokens=ABLATION_TOKENS)
_OF_WIDTH = {run.shape.width: run for run in _GRID_RUNS}
ABLATION_RUNS: tuple[Run, ...] = (
    run_named(f"{_GRID_RUNS[0].name}-seed1"),
    run_named(f"{_GRID_RUNS[0].name}-seed2"),
    *(_changed(run, "rate", 0.175) for run in runs_of("Pythia")[:5]),  # GPT-2's
    *(_changed(run, "rate", 0.7) for run in runs_of("GPT2")),  # Pythia's
    *(_of_depth(_OF_WIDTH[width], 8) for width in (32, 48, 64, 80)),
    *(_of_depth(_OF_WIDTH[width], 2) for width in (64, 96, 128, 160)),
    *(_changed(run, "smoothing", 0.1) for run in _GRID_RUNS[:5]),
)
"""Runs that differ in one thing from a Pythia of the grid, or from a GPT-2.

They are two other seeds, and families with one thing changed, smallest first, which break the link
between size and CE.
"""

OTHER_SEEDS: tuple[Run, ...] = tuple(
    run_named(f"{name}-seed{seed}")
    for name in ("pythia-w32-l2", "pythia-w64-l4", "qwen-w48-l3", "qwen-w64-l4")
    for seed in (1, 2)
)
"""Pocket models with other seeds: other initial weights, the same tokens in order."""


def run_called(name: str) -> Run:
    """One of `ABLATION_RUNS`, or a pocket model with another number of tokens or another seed.

    Raises InputError for any other name.
    """
    for run in ABLATION_RUNS:
        if run.name == name:
            return run
    return run_named(name)


# --- what was measured -----------------------------------------------------------------------


@dataclass(frozen=True)
class Totals:
    """CE and RBP_k of one model on one corpus, at the k of a summary's grid and no other.

    A summary's counts, added up over documents.

    - nll: in nats.
    - hits: k -> tokens with R <= k.
    """

    manifest: Manifest
    nll: float
    hits: Mapping[int, int]

    def ce(self) -> float:
        """Mean negative log-likelihood, nats."""
        return self.nll / self.manifest.tokens

    def rbp(self, k: int) -> float:
        """RBP_k = Pr(R <= k), Eq. 4. InputError for a k that was not counted."""
        if k not in self.hits:
            grid = ", ".join(map(str, self.hits))
            raise InputError(f"k = {k}: {self.manifest.model} was counted at k = {grid} only")
        return self.hits[k] / self.manifest.tokens

    def plus(self, other: Totals) -> Totals:
        """The totals over the tokens of both, of one model on one corpus."""
        tokens = self.manifest.tokens + other.manifest.tokens
        return Totals(
            manifest=self.manifest.model_copy(update={"tokens": tokens}),
            nll=self.nll + other.nll,
            hits={k: hits + other.hits[k] for k, hits in self.hits.items()},
        )


def totals_of(summary: Summary) -> Totals:
    """The totals of a summary over its documents."""
    hits = summary.document_hits.sum(axis=0).tolist()
    return Totals(
        manifest=summary.manifest,
        nll=math.fsum(summary.document_nll),
        hits=dict(zip(summary.k_grid.tolist(), hits, strict=True)),
    )


def completes_pair(records: Records) -> np.ndarray:
    """(T,) bool: whether a scored token and the one before it were neighbours before.

    In the same document, both scored each time: the first token of a document never is, so a pair
    that begins with it does not count, neither the first time nor again. A model that looks up what
    followed the last t_{i-1} gets such a token right (Olsson et al. 2022, arXiv 2209.11895).
    """
    V = records.manifest.V
    target = records.target.astype(np.int64)
    document = records.document.astype(np.int64)
    second = 1 + np.flatnonzero(document[1:] == document[:-1])  # places of second tokens of a pair
    # One number for each document and pair.
    pair = (document[second] * V + target[second - 1]) * V + target[second]
    _, first_time = np.unique(pair, return_index=True)
    again = np.ones(second.size, dtype=bool)
    again[first_time] = False
    completes = np.zeros(len(records.nll), dtype=bool)
    completes[second[again]] = True
    return completes


def totals_of_tokens(records: Records, chosen: np.ndarray) -> Totals:
    """The totals over some scored tokens alone: chosen (T,) bool. `manifest.tokens` counts them."""
    tokens = int(chosen.sum())
    rank = records.rank()[chosen]
    ks = records.summary.k_grid.tolist()
    return Totals(
        manifest=records.manifest.model_copy(update={"tokens": tokens}),
        nll=math.fsum(records.nll[chosen]),
        hits={k: int((rank <= k).sum()) for k in ks},
    )


def save_totals(totals: Iterable[Totals], path: Path) -> None:
    """Write totals as gzipped JSON lines, by corpus and model; the same bytes for the same ones."""
    lines = []
    for model in sorted(totals, key=lambda model: (model.manifest.corpus, model.manifest.model)):
        row = {"manifest": model.manifest.model_dump(), "nll": model.nll, "hits": model.hits}
        lines.append(json.dumps(row) + "\n")
    # Without a time in its header, the same totals are the same bytes.
    path.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))


def load_totals(path: Path) -> list[Totals]:
    """What `save_totals` wrote. Raises InputError if the file is missing or damaged."""
    totals = []
    with reason(f"cannot read {path}; install rbpkit-pocket again"):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            row = json.loads(line)
            hits = {int(k): count for k, count in row["hits"].items()}
            totals.append(Totals(Manifest(**row["manifest"]), row["nll"], hits))
    return totals


def size_and_tokens(grid: Iterable[Totals], ks: Sequence[int]) -> pd.DataFrame:
    """The losses by size and training tokens: a row per (corpus, quantity, model).

    grid: totals of models called NAME-Mm or NAME-Mm-seedN, each trained on M million tokens to the
    end of its schedule. Columns: corpus, family, model (NAME), S, T (tokens), seed, quantity,
    loss (nats for "CE", else -log RBP_k); sorted by T and S.
    """
    rows = []
    for model in grid:
        manifest = model.manifest
        training = training_of(manifest.model)
        T = millions_of(training) * 1e6
        of_model = (manifest.family, training.size, manifest.S, T, training.seed)
        about = (manifest.corpus, *of_model)
        rows.append((*about, "CE", model.ce()))
        for k in ks:
            rows.append((*about, f"RBP_{k}", -math.log(model.rbp(k))))
    columns = ["corpus", "family", "model", "S", "T", "seed", "quantity", "loss"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["T", "S"], ignore_index=True)


def losses_by_kind(ks: Sequence[int]) -> pd.DataFrame:
    """`size_and_tokens` of the pair tokens, of the other tokens, and of all tokens.

    The column `kind` says of which ("pair", "other", "all"); `corpus` is without "pocket:".
    """
    pair = load_totals(paths.PAIR_TOKENS)
    other = load_totals(paths.OTHER_TOKENS)
    both = [one.plus(two) for one, two in zip(pair, other, strict=True)]
    tables = []
    for kind, totals in {"pair": pair, "other": other, "all": both}.items():
        tables.append(size_and_tokens(totals, ks).assign(kind=kind))
    table = pd.concat(tables, ignore_index=True)
    return table.assign(corpus=table["corpus"].str.removeprefix("pocket:"))
