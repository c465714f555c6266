"""The pocket ladders: small models of the paper's architectures, and of Mamba, that ship.

A ladder is one family's sizes. Every model sees the same tokens in the same order, once. This
module says what the models are and where they lie; `pocket.training` trains them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from rbpkit.errors import InputError
from rbpkit.pocket.families import CONTEXT, FAMILIES, Shape, V, family_named

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["CONTEXT", "V", "family_named"]  # of `families`, next to what is here

END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Recipe:
    """How a pocket model is trained: all that can change its weights, except its shape.

    tokens: training tokens; no document is read twice. The learning rate warms up to rate / width
    over `warmup` of the steps, then falls linearly to zero. The `rate` of a family is the geometric
    mean of the best rates at two widths. They were found in short runs, doubling or halving until
    the best by validation CE had a worse one on either side (`data/pocket/runs/rate_search.csv`).
    """

    tokens: int = 12_000_000
    batch_rows: int = 16
    rate: float = 0.7
    warmup: float = 0.05
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    clip: float = 1.0
    seed: int = 0
    threads: int = 1

    @property
    def steps(self) -> int:
        """Optimizer steps: whole batches of batch_rows x CONTEXT tokens in `tokens`."""
        return self.tokens // (self.batch_rows * CONTEXT)

    def rate_at(self, step: int, width: int) -> float:
        """Learning rate of step 0, 1, ..., steps - 1."""
        warm = max(1, round(self.warmup * self.steps))
        up = (step + 1) / warm
        down = (self.steps - step) / max(1, self.steps - warm)
        return self.rate / width * min(up, down, 1.0)


LADDERS: dict[str, tuple[Shape, ...]] = {name: one.shapes for name, one in FAMILIES.items()}
"""Each family's sizes, smallest first."""


@dataclass(frozen=True)
class Run:
    """One model to be trained: its name (also its folder's), architecture, shape and recipe."""

    name: str
    family: str
    shape: Shape
    recipe: Recipe


def recipe_of(family: str, **changes: int | float) -> Recipe:
    """The recipe of a family's ladder, with `changes` of its fields."""
    return Recipe(**{"rate": FAMILIES[family].rate, **changes})


def ladder_runs(family: str, **changes: int | float) -> tuple[Run, ...]:
    """The runs of a family's ladder, smallest first; `changes` are fields of their recipe.

    A run of M million tokens, if they are not the ladder's, is called NAME-Mm. A run with another
    seed than 0 ends in -seedN.
    """
    recipe = recipe_of(family, **changes)
    suffix = "" if recipe.tokens == Recipe.tokens else f"-{recipe.tokens / 1e6:g}m"
    suffix += f"-seed{recipe.seed}" if recipe.seed else ""
    return tuple(Run(name_of(family, s) + suffix, family, s, recipe) for s in LADDERS[family])


def run_named(name: str) -> Run:
    """The run of a ladder's model by its name, as `ladder_runs` gives it.

    `pythia-w32-l2-3m-seed7`: 3 million tokens, seed 7. Raises InputError if there is none.
    """
    end = r"(-(?P<millions>\d{1,4}(\.\d{1,6})?)m)?(-seed(?P<seed>\d{1,9}))?"
    if found := re.fullmatch(r"[^-]+-w\d+-l\d+" + end, name):
        changes = {"seed": int(found["seed"] or 0)}
        if found["millions"]:
            changes["tokens"] = round(1e6 * float(found["millions"]))
        for family in LADDERS:
            for run in ladder_runs(family, **changes):
                if run.name == name:
                    return run
    raise InputError(
        f"no run {name!r}: give a ladder's model (`rbpkit pocket list`), then -3m for 3 million"
        " tokens, then -seed1 for seed 1"
    )


def name_of(family: str, shape: Shape) -> str:
    """Folder and model name, by width and depth: `pythia-w64-l4`."""
    return f"{family.lower()}-w{shape.width}-l{shape.layers}"


def data_folder() -> Path:
    """The folder of all that ships with the pocket models."""
    return Path(str(resources.files("rbpkit") / "data" / "pocket"))


def models_root() -> Path:
    """The folder of the shipped models, in hub layout, one folder per model."""
    return data_folder() / "models"


def model_folder(family: str, size: int) -> Path:
    """The folder of the shipped model `size` (0 is the smallest) of a ladder.

    Raises InputError if the family or the size is not in the ladders.
    """
    family = family_named(family)
    ladder = LADDERS[family]
    if not 0 <= size < len(ladder):
        raise InputError(f"{family} has pocket sizes 0 to {len(ladder) - 1}, not {size}")
    return models_root() / name_of(family, ladder[size])


def summaries_root() -> Path:
    """The folder of the shipped summaries: the paper's families on every pocket corpus."""
    return data_folder() / "summaries"


def beside_root() -> Path:
    """The same for the ladders of families that the paper does not have (Mamba)."""
    return data_folder() / "beside"


def load_tokenizer() -> PreTrainedTokenizerFast:
    """The shipped tokenizer that all pocket models share.

    Byte-level BPE with V = 4,096, trained on the training text.
    """
    from transformers import PreTrainedTokenizerFast

    folder = data_folder() / "tokenizer"
    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
