"""What the laboratory offers to rbpkit, under entry points called `pocket`: see `rbpkit.plugins`.

Importing this module imports no torch. It only names things; each function imports what it needs.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rbpkit.errors import InputError
from rbpkit.plugins import PluginText
from rbpkit.tools.study.reference import Reference
from rbpkit_pocket import families, paths
from rbpkit_pocket.documents import PACKAGE_CORPORA

if TYPE_CHECKING:
    from rbpkit.summary import Summary
    from rbpkit.tools.study.reference import Models

TRAINED = "RBPKIT_TRAINED"
"""The environment variable with the folder of models that were trained here, each in its own."""
TEXT_CORPORA = (*PACKAGE_CORPORA, "humaneval")
"""The corpora of plain text: those that are cut out of packages, and the paper's HumanEval."""


# -- corpora ----------------------------------------------------------------------------------


def _cut_out(corpus: str) -> PluginText:
    """The test split of a corpus that is cut out of installed packages."""
    from rbpkit_pocket.documents import load_pocket_documents

    loaded = load_pocket_documents(corpus)
    return PluginText(loaded.documents, loaded.files, as_shipped=loaded.as_shipped)


def _humaneval() -> PluginText:
    """The paper's HumanEval: shuffled, the same documents in the same order as the hub's."""
    from rbpkit.text_files import rows_of

    rows = [row for _, row in rows_of(paths.HUMANEVAL)]
    texts = [f"{row['prompt']}\n{row['canonical_solution']}" for row in rows]
    return PluginText(texts, shuffled=True)


# -- models -----------------------------------------------------------------------------------


FAMILIES: dict[str, tuple[str, ...]] = {}
"""Family -> the names of its models, smallest first."""
for family, shapes in families.SHAPES.items():
    FAMILIES[family] = tuple(families.model_name(family, shape) for shape in shapes)
SHIPPED_MODELS = tuple(itertools.chain(*FAMILIES.values()))


def open_model(rest: str, **settings: object) -> Path:
    """The folder of a model whose weights ship, or that was trained here before.

    `captions.load_captioner` opens those that read pictures. Raises InputError for a model that has
    to be trained first, and for a name of none.
    """
    if rest in SHIPPED_MODELS:
        return paths.MODELS / rest
    trained = Path(os.environ.get(TRAINED, "")) / rest
    if (trained / "config.json").is_file():
        return trained
    from rbpkit_pocket.ablations import run_called

    run_called(rest)
    raise InputError(
        f"pocket:{rest} has to be trained first; `rbpkit reproduce` does it for a parameter file"
        " that names it in model_ids"
    )


def _train(
    names: Sequence[str],
    out: Path,
    *,
    device: str,
    say: Callable[[str], None],
    progress: bool,
) -> None:
    """Train models that do not ship as runs in `out`/NAME, and open them from `out`/trained/NAME.

    A finished run is not trained again; an interrupted one resumes from its checkpoint.
    """
    names = [name for name in names if name not in SHIPPED_MODELS]
    if not names:
        return
    from rbpkit_pocket.ablations import run_called
    from rbpkit_pocket.training import train_runs

    runs = [run_called(name) for name in names]
    # Other processes, which measure them, read it too.
    os.environ[TRAINED] = str((out / "trained").absolute())
    for trained in train_runs(runs, out, device=device, say=say, progress=progress):
        # A run keeps its model in "model".
        folder = out / "trained" / trained.folder.parent.name
        shutil.copytree(trained.folder, folder, dirs_exist_ok=True)


# -- reference numbers ------------------------------------------------------------------------


def _summaries() -> Sequence[Summary]:
    from rbpkit_pocket.trained_again import summaries

    return summaries()


def _beside(measured: Models) -> tuple[Models, Models]:
    from rbpkit_pocket.trained_again import beside

    return beside(measured)


def _remarks(measured: Models) -> list[str]:
    from rbpkit_pocket.trained_again import remarks

    return remarks(measured)


NAMED_CORPORA: dict[str, Callable[[], PluginText]] = {
    **{name: functools.partial(_cut_out, name) for name in PACKAGE_CORPORA},
    "humaneval": _humaneval,
}
REFERENCE = Reference(
    families=FAMILIES,
    train=_train,
    summaries=_summaries,
    beside=_beside,
    remarks=_remarks,
)
