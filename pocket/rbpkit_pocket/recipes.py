"""How pocket models are trained: recipes, and the runs that follow them.

Every model sees the same tokens in the same order, once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from rbpkit.errors import InputError
from rbpkit_pocket.families import POCKET_CONTEXT, POCKET_FAMILIES, SHAPES, Shape, model_name


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What the steps of any training run need: the learning rate and the optimizer's numbers.

    - rate, warmup: the learning rate warms up to rate / width over `warmup` of the steps, then
      falls linearly; it would be zero one step after the last.
    - clip: the largest norm of a gradient.
    - seed: of the first weights.
    """

    rate: float
    warmup: float = 0.05
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    clip: float = 1.0
    seed: int = 0

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        raise NotImplementedError

    def rate_at(self, step: int, width: int) -> float:
        """Learning rate of step 0, 1, ..., steps - 1."""
        warmup_steps = max(1, round(self.warmup * self.steps))
        rising = (step + 1) / warmup_steps
        falling = (self.steps - step) / max(1, self.steps - warmup_steps)
        return self.rate / width * min(rising, falling, 1.0)


@dataclass(frozen=True, kw_only=True)
class Recipe(Schedule):
    """How a pocket model is trained: all that can change its weights, except its shape.

    - tokens: training tokens; no document is read twice.
    - rate: of a family, the geometric mean of the best rates at two widths. They were found in
      short runs, doubling or halving until the best by validation CE had a worse one on either
      side (`data/runs/rate_search.csv`).
    - smoothing: of the target's probability; it is spread evenly over all V tokens.
    - threads: of torch, because they decide the order of sums.
    """

    tokens: int = 12_000_000
    batch_rows: int = 16
    rate: float = 0.7
    smoothing: float = 0.0
    threads: int = 1

    @property
    def tokens_a_step(self) -> int:
        """Tokens that one optimizer step reads."""
        return self.batch_rows * POCKET_CONTEXT

    @property
    def steps(self) -> int:
        """Optimizer steps: whole batches in `tokens`."""
        return self.tokens // self.tokens_a_step


@dataclass(frozen=True)
class Run:
    """One model to be trained: its name (also its folder's), architecture, shape and recipe."""

    name: str
    family: str
    shape: Shape
    recipe: Recipe


def runs_of(family: str, **changes: int | float) -> tuple[Run, ...]:
    """The runs of a family, smallest first; `changes` are fields of their recipe.

    A run of M million tokens, if that is not the usual number, is called NAME-Mm. A run with a
    seed other than 0 ends in -seedN.
    """
    fields: dict[str, int | float] = {"rate": POCKET_FAMILIES[family].rate, **changes}
    recipe = Recipe(**fields)  # type: ignore[arg-type]  # the values are those of their fields
    suffix = ""
    if recipe.tokens != Recipe.tokens:
        suffix += f"-{recipe.tokens / 1e6:g}m"
    if recipe.seed:
        suffix += f"-seed{recipe.seed}"
    runs = []
    for shape in SHAPES[family]:
        runs.append(Run(model_name(family, shape) + suffix, family, shape, recipe))
    return tuple(runs)


class Training(NamedTuple):
    """How a model was trained.

    size: the pocket model of this size.
    tokens: on how many, if that is not the pocket models' number ("3m").
    seed: of the first weights, 0 for that of the pocket models.
    """

    size: str
    tokens: str
    seed: int


def training_of(name: str) -> Training:
    """How the model of a name was trained: NAME-Mm on M million tokens, NAME-seedN, or both."""
    parts = re.fullmatch(r"(.*?)(?:-(\d{1,4}(?:\.\d{1,6})?m))?(?:-seed(\d{1,9}))?", name)
    assert parts, "all parts but the first may be missing"
    size, tokens, seed = parts.groups()
    return Training(size, tokens or "", int(seed or 0))


def millions_of(training: Training) -> float:
    """Training tokens in millions, of a model in whose name they are."""
    return float(training.tokens.removesuffix("m"))


def run_named(name: str) -> Run:
    """The run of a pocket model by its name, as `runs_of` gives it.

    `pythia-w32-l2-3m-seed7`: 3 million tokens, seed 7. Raises InputError for any other name.
    """
    training = training_of(name)
    changes = {"seed": training.seed}
    if training.tokens:
        changes["tokens"] = round(1e6 * millions_of(training))
    # A name has one spelling only (3m, not 3.0m), so the whole of it is compared.
    for family in SHAPES:
        for run in runs_of(family, **changes):
            if run.name == name:
                return run
    names = ", ".join(run.name for family in SHAPES for run in runs_of(family))
    raise InputError(
        f"no model pocket:{name}; there are {names}, and each with -3m for 3 million tokens, then"
        " -seed1 for seed 1"
    )
