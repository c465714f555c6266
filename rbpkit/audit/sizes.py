"""Which measure of a model's size gives the straightest law: S, or S with embeddings and head.

The same losses are fitted against several sizes. Which line is straighter is settled by few
models: `power` says how often the right size would win if the law were exact in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES
from rbpkit.fit import Curve, PowerLawFit, fit_power_law
from rbpkit.pocket.analysis import all_runs
from rbpkit.pocket.recipes import CONTEXT
from rbpkit.pocket.recipes import V as POCKET_V
from rbpkit.stats.curves import measured_curves, published_curves
from rbpkit.summary import Summary

KS = (1, 10, 50, 100)
DRAWS = 2000
SIZES = ("S", "S + embeddings", "all", "S + dV")
"""Non-embedding; with token and position embeddings; and with the output matrix where it is one
of its own, so every parameter once; non-embedding and output matrix, tied or not."""


@dataclass(frozen=True)
class Sizes:
    """Parameters of one model: S; embedding (token and position); output (d V); tied or not."""

    S: int
    embedding: int
    output: int
    tied: bool

    def by_measure(self) -> dict[str, int]:
        """The number of parameters by each of SIZES."""
        total = self.S + self.embedding
        every = total if self.tied else total + self.output
        return dict(zip(SIZES, (self.S, total, every, self.S + self.output), strict=True))


def published_sizes() -> dict[str, Sizes]:
    """The paper's 24 models by name, counted from their public configurations."""
    found = {}
    for row in paper.models().itertuples():
        numbers = ARCHITECTURES[row.hub_id].numbers
        # OPT-350m projects to a narrower head than its layers are wide.
        keys = ("word_embed_proj_dim", "hidden_size", "n_embd")
        d = next(numbers[key] for key in keys if key in numbers)
        tied = bool(numbers["tie_word_embeddings"])
        found[row.model] = Sizes(row.S, row.embedding_params, d * row.vocab_rows, tied)
    return found


def pocket_sizes(summaries: Iterable[Summary]) -> dict[str, Sizes]:
    """The pocket models among `summaries` by name; S from the manifest, the rest from the shape."""
    runs = all_runs()
    found = {}
    for one in summaries:
        name = one.manifest.model
        if name in runs and name not in found:
            run = runs[name]
            output = run.shape.width * POCKET_V
            # OPT keeps two rows more than its context; Pythia and Qwen have rotary positions.
            positions = {"GPT2": CONTEXT, "OPT": CONTEXT + 2}.get(run.family, 0)
            embedding = output + positions * run.shape.width
            tied = run.family != "Pythia" and not run.shape.untied
            found[name] = Sizes(one.manifest.S, embedding, output, tied)
    return found


def published_lines(ks: Sequence[int] = KS) -> list[Curve]:
    """RBP_k against S of every (corpus, family) of the figures, all models, k by k."""
    return [curve for k in ks for curve in published_curves(k).values()]


def measured_lines(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    ks: Sequence[int] = KS,
) -> list[Curve]:
    """The same of what was measured; a line that is not there or cannot be fitted is left out."""
    every = list(summaries)
    found = [
        measured_curves(every, corpora, families, lambda one, k=k: one.rbp(k), f"RBP_{k}").curves
        for k in ks
    ]
    return [curve for curves in found for curve in curves.values()]


def by_size(lines: Iterable[Curve], sizes: dict[str, Sizes], draws: int = 0) -> pd.DataFrame:
    """Each line fitted against each of SIZES: a row a (corpus, family, quantity, size).

    Columns: corpus, family, quantity, n, size, decades (that the size spans), alpha, low, high
    (95%, the regression's), R2. With draws > 0 also "wins if S" and "wins if other": how often S
    would have the higher R2 if the law were exact in S, and in that size (`power`; missing for S).
    Lines with a model that is not in `sizes` are passed over.
    """
    rows = []
    for curve in lines:
        if not all(model in sizes for model in curve.models):
            continue
        at = {
            size: np.array([sizes[model].by_measure()[size] for model in curve.models], float)
            for size in SIZES
        }
        on_S = fit_power_law(at["S"], curve.loss, labels=curve.models)
        for size, x in at.items():
            line = fit_power_law(x, curve.loss, labels=curve.models)
            row = {"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity}
            row |= {"n": line.n, "size": size, "decades": float(np.log10(x.max() / x.min()))}
            row["alpha"], (row["low"], row["high"]) = line.alpha, line.alpha_interval
            row["R2"] = line.r2
            if draws:
                own = size == "S"
                row["wins if S"] = np.nan if own else power(on_S, at["S"], x, draws)
                row["wins if other"] = np.nan if own else 1 - power(line, x, at["S"], draws)
            rows.append(row)
    return pd.DataFrame(rows)


def r2_of_draws(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """R2 of the line through x (n,) and each row of y (draws, n): (draws,)."""
    dx, dy = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    return (dy @ dx) ** 2 / (dx @ dx) / (dy**2).sum(axis=1)


def power(
    law: PowerLawFit, S: np.ndarray, other: np.ndarray, draws: int = DRAWS, seed: int = 0
) -> float:
    """How often S has the higher R2 if `law` is exact in S but for its own normal residuals.

    other: (n,) the size that S is compared with. 0.5: these models cannot tell. Raises InputError
    for draws < 1 or sizes of different length.
    """
    if draws < 1 or np.shape(S) != np.shape(other):
        raise InputError("power needs draws of at least 1 and two sizes of each model")
    x, z = (np.log(np.asarray(sizes, dtype=np.float64)) for sizes in (S, other))
    noise = np.random.default_rng(seed).normal(0, law.residual_sd, (draws, x.size))
    y = law.intercept + law.slope * x + noise
    return float((r2_of_draws(x, y) > r2_of_draws(z, y)).mean())


def wins(table: pd.DataFrame, other: str = "all") -> pd.DataFrame:
    """By family: in how many lines S has a higher R2 than `other`.

    table: as `by_size`. Columns: family, n (models of a line), lines, S_wins, decades_S,
    decades_other, R2_S, R2_other (medians), steeper (median alpha_other / alpha_S), "wins if S",
    "wins if other" (means, where the table has them). The last row is all families together.
    """
    keys = ["corpus", "family", "quantity"]
    one, two = (table[table["size"] == size] for size in ("S", other))
    both = one.merge(two, on=keys, suffixes=("", "_other"))
    rows = []
    for family, group in [*both.groupby("family", sort=False), ("all", both)]:
        row = {"family": family, "n": group["n"].max(), "lines": len(group)}
        row["S_wins"] = int((group["R2"] > group["R2_other"]).sum())
        for name in ("decades", "R2"):
            row[f"{name}_S"] = group[name].median()
            row[f"{name}_other"] = group[f"{name}_other"].median()
        row["steeper"] = (group["alpha_other"] / group["alpha"]).median()
        if "wins if S_other" in group:
            row |= {name: group[f"{name}_other"].mean() for name in ("wins if S", "wins if other")}
        rows.append(row)
    return pd.DataFrame(rows)
