"""What the laboratory offers to rbpkit, under entry points called `pocket`: see `rbpkit.plugins`.

Importing this module imports no torch. It only names things; each function imports what it needs.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rbpkit.errors import InputError
from rbpkit.plugins import PluginText, Reference
from rbpkit_pocket import families, paths
from rbpkit_pocket.documents import PACKAGE_CORPORA

if TYPE_CHECKING:
    from rbpkit.plugins import Models
    from rbpkit.summary import Summary

TEXT_CORPORA = (*PACKAGE_CORPORA, "humaneval")
"""The corpora of plain text: those that are cut out of packages, and the paper's HumanEval."""


# -- corpora ----------------------------------------------------------------------------------


def _cut_out(corpus: str) -> PluginText:
    """The test split of a corpus that is cut out of installed packages."""
    from rbpkit_pocket.documents import load_pocket_documents

    loaded = load_pocket_documents(corpus)
    return PluginText(
        texts=loaded.documents,
        where="installed packages",
        units=loaded.files,
        as_shipped=loaded.as_shipped,
    )


def _humaneval() -> PluginText:
    """The paper's HumanEval: shuffled, the same documents in the same order as the hub's."""
    from rbpkit.files.text_files import Columns, read_documents

    columns = Columns("prompt+canonical_solution")
    rows = read_documents([paths.HUMANEVAL], columns)
    texts = [document.text for document in rows]
    return PluginText(texts, where="shipped with rbpkit-pocket", shuffled=True)


def _corpora() -> dict[str, Callable[[], PluginText]]:
    corpora: dict[str, Callable[[], PluginText]] = {}
    for name in PACKAGE_CORPORA:
        corpora[name] = functools.partial(_cut_out, name)
    corpora["humaneval"] = _humaneval
    return corpora


# -- models -----------------------------------------------------------------------------------


def _families() -> dict[str, tuple[str, ...]]:
    models_of = {}
    for family, shapes in families.SHAPES.items():
        models_of[family] = tuple(families.model_name(family, shape) for shape in shapes)
    return models_of


def _models() -> dict[str, Path]:
    """The models whose weights ship; `captions.load_captioner` opens those that read pictures."""
    models = {}
    for names in _families().values():
        for name in names:
            models[name] = paths.MODELS / name
    return models


def _can_train(name: str) -> bool:
    """Whether it is a training run."""
    from rbpkit_pocket.ablations import run_called

    try:
        run_called(name)
    except InputError:
        return False
    return True


def _train(
    names: Sequence[str],
    out: Path,
    *,
    device: str,
    say: Callable[[str], None],
    progress: bool,
) -> list[Path]:
    """Train models as runs in `out`/NAME, and copy each one's folder to `out`/trained/NAME.

    A finished run is not trained again; an interrupted one resumes from its checkpoint.
    """
    from rbpkit_pocket.ablations import run_called
    from rbpkit_pocket.training import train_runs

    runs = [run_called(name) for name in names]
    folders = []
    for trained in train_runs(runs, out, device=device, say=say, progress=progress):
        # The folder's name is the model's name in records, and a run keeps its model in "model".
        folder = out / "trained" / trained.folder.parent.name
        shutil.copytree(trained.folder, folder, dirs_exist_ok=True)
        folders.append(folder)
    return folders


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


NAMED_CORPORA = _corpora()
NAMED_MODELS = _models()
REFERENCE = Reference(
    families=_families(),
    can_train=_can_train,
    train=_train,
    summaries=_summaries,
    beside=_beside,
    remarks=_remarks,
)
