"""Controls of the pocket ladders: runs that differ from a ladder's model in one thing.

They show how much of a slope could be the recipe's doing: depth at one width, the number of
training tokens at both ends of the ladder, the seed. They ship as summaries and loss curves, not
as weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rbpkit.errors import InputError
from rbpkit.pocket import LADDERS, Run, Shape, name_of, recipe_of

FAMILY = "Pythia"


@dataclass(frozen=True)
class Control:
    """A run, the ladder's model that it is to be held against, and what it changes."""

    run: Run
    against: str
    changes: str


def _controls() -> tuple[Control, ...]:
    ladder = {shape.width: shape for shape in LADDERS[FAMILY]}
    found = []

    def add(width: int, changes: str, suffix: str = "", layers: int | None = None, **recipe: int):
        base = ladder[width]
        shape = base if layers is None else Shape(base.width, layers, base.heads)
        run = Run(name_of(FAMILY, shape) + suffix, FAMILY, shape, recipe_of(FAMILY, **recipe))
        found.append(Control(run, name_of(FAMILY, base), changes))

    add(64, "2 layers", layers=2)
    add(64, "8 layers", layers=8)
    for width in (32, 128):
        add(width, "half the tokens", "-3m", tokens=3_000_000)
        # The text has 6.9 million tokens: most of it is read twice.
        add(width, "double the tokens", "-12m", tokens=12_000_000, passes=2)
    for seed in (1, 2):
        add(32, f"seed {seed}", f"-seed{seed}", seed=seed)
    return tuple(found)


CONTROLS: tuple[Control, ...] = _controls()


def control_named(name: str) -> Control:
    """The control whose run has this name. Raises InputError where there is none."""
    for control in CONTROLS:
        if control.run.name == name:
            return control
    names = ", ".join(control.run.name for control in CONTROLS)
    raise InputError(f"no control {name!r}: there are {names}")


def controls_root() -> Path:
    """The folder of the shipped summaries of the controls, laid out as records are."""
    return Path(str(resources.files("rbpkit") / "data" / "pocket" / "controls"))


def along_root() -> Path:
    """The folder of the shipped summaries along training, laid out as records are.

    Its models are named NAME-tTOKENS: the ladder's model after so many training tokens.
    """
    return Path(str(resources.files("rbpkit") / "data" / "pocket" / "along"))
