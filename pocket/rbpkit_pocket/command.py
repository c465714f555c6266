"""`rbpkit pocket`: the pocket models, and how they are trained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveFloat, PositiveInt

from rbpkit.errors import InputError
from rbpkit.tools.cli.app import new_app, say
from rbpkit_pocket import families, recipes

pocket_app = new_app("pocket", "The pocket models, and how they are trained.")
pocket_app.command(
    "rbpkit_pocket.captions_command:captions",  # loaded when it is used, as it loads torch
    name="captions",
    help="Rank every token of captions under a model that reads their pictures.",
)


@pocket_app.command(name="list")
def list_models() -> None:
    """The pocket models (family, size, shape, folder), the ablations and the other seeds."""
    from rbpkit_pocket.ablations import ABLATION_RUNS, OTHER_SEEDS

    for family, shapes in families.SHAPES.items():
        for size, shape in enumerate(shapes):
            folder = families.model_folder(family, size)
            where = folder if folder.is_dir() else "not trained"
            print(f"{family} {size}: width {shape.width}, {shape.layers} layers  {where}")
    for run in ABLATION_RUNS:
        print(f"ablation {run.name}")
    for run in OTHER_SEEDS:
        print(f"other seed {run.name}")


@pocket_app.command
def train(
    *,
    family: Annotated[str | None, Parameter(help="The family, as pythia.")] = None,
    ablation: Annotated[str | None, Parameter(help="An ablation, or NAME-seedN, instead.")] = None,
    out: Annotated[Path, Parameter(help="The folder of the runs.")] = Path("out/pocket-runs"),
    size: Annotated[
        NonNegativeInt | None, Parameter(help="0 is the smallest; by default all.")
    ] = None,
    device: Annotated[str, Parameter(help="cpu or cuda.")] = "cpu",
    tokens: Annotated[PositiveInt | None, Parameter(help="For a shorter run.")] = None,
    rate: Annotated[PositiveFloat | None, Parameter(help="c of the peak rate c / width.")] = None,
) -> None:
    """Train pocket models from scratch, going on from the last checkpoint of an earlier run.

    Each run writes its losses to OUT/NAME/log.csv.
    """
    if family is not None and ablation is None:
        runs = _runs_of_family(family, size, tokens, rate)
    elif ablation is not None and family is None:
        if (size, tokens, rate) != (None, None, None):
            raise InputError("an ablation has its own recipe: leave --size, --tokens, --rate out")
        from rbpkit_pocket.ablations import run_called

        runs = (run_called(ablation),)
    else:
        raise InputError("give --family or --ablation (see `rbpkit pocket list`)")
    from rbpkit_pocket.training import train_runs

    train_runs(runs, out, device=device, say=say, progress=sys.stderr.isatty())


def _runs_of_family(
    family: str, size: int | None, tokens: int | None, rate: float | None
) -> tuple[recipes.Run, ...]:
    """All sizes of a family or one of them, with what was changed in their recipe."""
    family = families.family_named(family)
    asked = {"tokens": tokens, "rate": rate}
    changes = {name: value for name, value in asked.items() if value is not None}
    runs = recipes.runs_of(family, **changes)
    if size is None:
        return runs
    families.model_folder(family, size)  # refuses a size that is not there
    return runs[size : size + 1]
