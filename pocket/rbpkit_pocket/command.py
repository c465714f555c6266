"""`rbpkit pocket`: the pocket models, and how they are trained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.settings import (
    ModelSettings,
    PlaceSettings,
    ReadingSettings,
    RunSettings,
    TextSettings,
)
from rbpkit.tools.cli.app import new_app
from rbpkit.tools.cli.common import (
    TEXT_TABLE,
    Out,
    Table,
    each_k,
    measured_rows,
    print_rows,
    say,
)
from rbpkit.tools.cli.measure import MODEL, READING, RUN, TEXT, measured
from rbpkit.tools.study.checks import folder_to_write
from rbpkit_pocket import families, recipes

pocket_app = new_app("pocket", "The pocket models, and how they are trained.")


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
    out: Annotated[str, Parameter(help="The folder of the runs.")] = "out/pocket-runs",
    size: Annotated[int | None, Parameter(help="0 is the smallest; by default all.")] = None,
    device: Annotated[str, Parameter(help="cpu or cuda.")] = "cpu",
    tokens: Annotated[PositiveInt | None, Parameter(help="For a shorter run.")] = None,
    rate: Annotated[float | None, Parameter(help="c of the peak rate c / width.")] = None,
) -> None:
    """Train pocket models from scratch, going on from the last checkpoint of an earlier run.

    Each run logs to OUT/NAME/log.csv; OUT/losses.png shows the validation loss of all runs in OUT.
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
    folder = folder_to_write(out)
    from rbpkit_pocket.training import train_runs

    train_runs(runs, folder, device=device, say=say, progress=sys.stderr.isatty())
    say(f"losses: {save_losses(folder)}")


@pocket_app.command
def captions(
    *,
    model: Annotated[str, Parameter(help="Hub id, a folder, or pocket:NAME.")],
    corpus: Annotated[str, Parameter(help="A file or folder of captions, or pocket:glyphs.")],
    out: Out,
    image: Annotated[str | None, Parameter(help="Column with the text's picture.")] = None,
    images: Annotated[
        str | None, Parameter(help="Folder of the pictures, if it is not the corpus's.")
    ] = None,
    text: Annotated[TextSettings, Parameter(name="*", group="Text")] = TEXT,
    reading: Annotated[ReadingSettings, Parameter(name="*", group="Reading")] = READING,
    source: Annotated[ModelSettings, Parameter(name="*", group="Model")] = MODEL,
    run: Annotated[RunSettings, Parameter(name="*", group="Run")] = RUN,
    force: Annotated[bool, Parameter(help="Measure again what is done.")] = False,
    form: Table = TEXT_TABLE,
) -> None:
    """Rank every token of captions under a model that reads their pictures; keep the records."""
    folder = folder_to_write(out)
    from rbpkit.corpora import check_text
    from rbpkit_pocket.captions import load_captioner, load_captions

    # The captions first: their faults show at once, a model may take minutes to load.
    about_text = text.model_dump(exclude={"changed_text"})
    documents = load_captions(corpus, image=image, images=images, **about_text)
    check_text(documents, text.changed_text)
    set_threads(run.threads)
    loading = source.model_dump(exclude_none=True) | run.part(PlaceSettings)
    loaded = load_captioner(model, progress=True, **loading)
    measuring = reading.model_dump() | {
        "batch_tokens": run.batch_tokens,
        "changed_text": text.changed_text,
        "force": force,
    }
    summary = measured(loaded, documents, folder, measuring)
    print_rows(measured_rows([summary], each_k(None)), form)


def _runs_of_family(
    family: str, size: int | None, tokens: int | None, rate: float | None
) -> tuple[recipes.Run, ...]:
    """All sizes of a family or one of them, with what was changed in their recipe."""
    family = families.family_named(family)
    changes: dict[str, int | float] = {}
    if tokens is not None:
        changes["tokens"] = tokens
    if rate is not None:
        if not 0 < rate < float("inf"):
            raise InputError(f"--rate must be a positive number, not {rate}")
        changes["rate"] = rate
    runs = recipes.runs_of(family, **changes)
    if size is None:
        return runs
    families.model_folder(family, size)  # refuses a size that is not there
    return runs[size : size + 1]


def save_losses(runs: Path) -> Path:
    """Draw validation CE (nats) along training for a folder of runs (NAME/log.csv).

    Writes losses.png and losses.csv into the folder and returns the picture's path. Raises
    InputError if there is no log.
    """
    import pandas as pd
    import seaborn as sns

    from rbpkit import plots

    logs = []
    for path in sorted(runs.glob("*/log.csv")):
        logs.append(pd.read_csv(path).assign(run=path.parent.name))
    if not logs:
        raise InputError(f"{runs}: no log of a training run there (NAME/log.csv)")
    points = pd.concat(logs)
    validated = points.dropna(subset="valid_ce")
    look = {"hue": "run", "style": "run", "kind": "line", "markers": True, "dashes": False}
    with plots.style():
        grid = sns.relplot(validated, x="tokens", y="valid_ce", **look)
        grid.set_axis_labels("training tokens", "validation CE (nats a token)")
    plots.save(grid.figure, points, str(runs), "losses")
    return runs / "losses.png"
