"""Runs next to the pocket models: a grid of sizes and training tokens, controls, other seeds.

The grid has Pythias trained on other numbers of tokens than the pocket models, each to the end of
its own schedule. A control differs from one model of the grid, or from a GPT-2, in one thing: the
seed, the depth, the learning rate or label smoothing. Four pocket models were trained with two more
seeds each. Those that were trained ship as loss curves and as what was measured on them, `Totals`,
without weights.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit_pocket.families import model_name
from rbpkit_pocket.recipes import Run, run_named, runs_of

if TYPE_CHECKING:
    from rbpkit.records import Records
    from rbpkit.summary import Summary

FAMILY = "Pythia"
ABLATION_TOKENS = 3_000_000
GRID = re.compile(r"(?P<model>.+)-(?P<millions>[\d.]+)m(-seed(?P<seed>\d+))?")


def _of_depth(base: Run, layers: int) -> Run:
    shape = replace(base.shape, layers=layers)
    name = base.name.replace(model_name(FAMILY, base.shape), model_name(FAMILY, shape))
    return replace(base, name=name, shape=shape)


def _changed(run: Run, **change: float) -> Run:
    ((field, value),) = change.items()
    return replace(run, name=f"{run.name}-{field}{value:g}", recipe=replace(run.recipe, **change))


_SMALL = {run.shape.width: run for run in runs_of(FAMILY, tokens=ABLATION_TOKENS)}
ABLATION_FAMILIES: dict[str, tuple[Run, ...]] = {
    "Pythia, GPT-2's rate": tuple(_changed(run, rate=0.175) for run in runs_of("Pythia")[:5]),
    "GPT-2, Pythia's rate": tuple(_changed(run, rate=0.7) for run in runs_of("GPT2")),
    "Pythia, deep": tuple(_of_depth(_SMALL[width], 8) for width in (32, 48, 64, 80)),
    "Pythia, wide": tuple(_of_depth(_SMALL[width], 2) for width in (64, 96, 128, 160)),
    "Pythia, smoothed": tuple(_changed(run, smoothing=0.1) for run in list(_SMALL.values())[:5]),
}
"""Ladders with one thing changed, smallest first: they break the link between size and CE."""

ABLATIONS: tuple[Run, ...] = (
    *(run_named(f"{_SMALL[32].name}-seed{seed}") for seed in (1, 2)),
    *(run for ladder in ABLATION_FAMILIES.values() for run in ladder),
)
"""Runs that differ from a Pythia of the grid, or a GPT-2, in one thing; all sizes of `ABLATION_FAMILIES`."""

SEEDS: tuple[Run, ...] = tuple(
    run_named(f"{name}-seed{seed}")
    for name in ("pythia-w32-l2", "pythia-w64-l4", "qwen-w48-l3", "qwen-w64-l4")
    for seed in (1, 2)
)
"""Pocket models with other seeds: other initial weights, the same tokens in order."""


def ablation_named(name: str) -> Run:
    """One of `ABLATIONS`, or NAME-seedN for any other seed. Raises InputError for another name."""
    for run in ABLATIONS:
        if run.name == name:
            return run
    if "-seed" in name:
        return run_named(name)
    names = ", ".join(run.name for run in ABLATIONS)
    raise InputError(f"no control {name!r}: there are {names}")


@dataclass(frozen=True)
class Totals:
    """CE and RBP_k of one model on one corpus, at the k of a summary's grid and no other.

    A summary's counts, added up over documents: `nll` in nats, `hits` k -> tokens with R <= k.
    """

    manifest: Manifest
    nll: float
    hits: Mapping[int, int]

    def ce(self) -> float:
        """Mean negative log-likelihood, nats."""
        return self.nll / self.manifest.tokens

    def rbp(self, k: int, ties: str = "pessimistic") -> float:
        """RBP_k = Pr(R <= k), Eq. 4; ties count against the model, the only rule that was counted.

        Raises InputError for a k that is not in `hits`, and for another rule.
        """
        if k not in self.hits or ties != "pessimistic":
            grid = ", ".join(map(str, self.hits))
            counted = f"{self.manifest.model} was counted at k = {grid} only, pessimistically"
            raise InputError(f"k = {k}, {ties}: {counted}")
        return self.hits[k] / self.manifest.tokens

    def plus(self, other: Totals) -> Totals:
        """The totals over the tokens of both, of one model on one corpus.

        Raises InputError if the two are of different models or text.
        """
        same = ("model", "revision", "corpus", "fingerprint")
        if any(getattr(self.manifest, n) != getattr(other.manifest, n) for n in same):
            mine, others = (f"{m.model} on {m.corpus}" for m in (self.manifest, other.manifest))
            raise InputError(f"not parts of one job: {mine}, {others}")
        tokens = self.manifest.tokens + other.manifest.tokens
        return Totals(
            manifest=self.manifest.model_copy(update={"tokens": tokens}),
            nll=self.nll + other.nll,
            hits={k: hits + other.hits[k] for k, hits in self.hits.items()},
        )


def totals_of(summary: Summary) -> Totals:
    """The totals of a summary over its documents."""
    hits = summary.document_hits.sum(0)
    return Totals(
        manifest=summary.manifest,
        nll=math.fsum(summary.document_nll),
        hits={int(k): int(n) for k, n in zip(summary.k_grid, hits, strict=True)},
    )


def completes_pair(records: Records) -> np.ndarray:
    """(T,) bool: whether a scored token and the one before it were neighbours before.

    In the same document, both scored each time: the first token of a document never is, so a pair
    that begins with it does not count, neither the first time nor again. A model that looks up what
    followed the last t_{i-1} gets such a token right (Olsson et al. 2022, arXiv 2209.11895).
    """
    V, target = records.manifest.V, records.target.astype(np.int64)
    document = records.document.astype(np.int64)
    found = np.zeros(records.tokens, dtype=bool)
    within = 1 + np.flatnonzero(document[1:] == document[:-1])  # the one before is scored too
    pair = (document[within] * V + target[within - 1]) * V + target[within]
    _, first = np.unique(pair, return_index=True)
    again = np.ones(within.size, dtype=bool)
    again[first] = False
    found[within[again]] = True
    return found


def totals_of_tokens(records: Records, chosen: np.ndarray) -> Totals:
    """The totals over some scored tokens alone: chosen (T,) bool. `manifest.tokens` counts them.

    Raises InputError if none is chosen.
    """
    tokens = int(chosen.sum())
    if not tokens:
        raise InputError(f"{records.manifest.model} on {records.manifest.corpus}: no such token")
    rank = records.rank()[chosen]
    return Totals(
        manifest=records.manifest.model_copy(update={"tokens": tokens}),
        nll=math.fsum(records.nll[chosen]),
        hits={int(k): int((rank <= k).sum()) for k in records.summary().k_grid},
    )


def save_totals(totals: Iterable[Totals], path: Path) -> None:
    """Write totals as gzipped JSON lines, by corpus and model; the same bytes for the same ones."""
    ordered = sorted(totals, key=lambda one: (one.manifest.corpus, one.manifest.model))
    rows = ({**vars(one), "manifest": one.manifest.model_dump()} for one in ordered)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


def load_totals(path: Path) -> list[Totals]:
    """What `save_totals` wrote. Raises InputError if the file is missing or damaged."""
    try:
        rows = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
        return [
            Totals(
                manifest=Manifest(**row["manifest"]),
                nll=row["nll"],
                hits={int(k): n for k, n in row["hits"].items()},
            )
            for row in rows
        ]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: missing or damaged; install rbpkit again ({error})") from error


def size_and_tokens(grid: Iterable[Totals], ks: Sequence[int]) -> pd.DataFrame:
    """The losses by size and training tokens: a row per (corpus, quantity, model).

    grid: totals of models called NAME-Mm or NAME-Mm-seedN, each trained on M million tokens to the
    end of its schedule. Columns: corpus, family, model (NAME), S, T (tokens), seed, quantity,
    loss; sorted by T and S. Raises InputError for a model of another name.
    """
    rows = []
    for one in grid:
        match = GRID.fullmatch(one.manifest.model)
        if match is None:
            raise InputError(f"{one.manifest.model} is not of the grid: NAME-Mm or NAME-Mm-seedN")
        T, seed = float(match["millions"]) * 1e6, int(match["seed"] or 0)
        at = (one.manifest.corpus, one.manifest.family, match["model"], one.manifest.S, T, seed)
        rows.append((*at, "CE", one.ce()))
        rows += [(*at, f"RBP_{k}", -math.log(one.rbp(k))) for k in ks]
    columns = ["corpus", "family", "model", "S", "T", "seed", "quantity", "loss"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["T", "S"], ignore_index=True)
