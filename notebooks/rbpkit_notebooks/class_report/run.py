"""`rbpkit classroom`: runs the notebook `report.py` on a folder, and makes a page of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import jupytext
import pandas as pd
from nbclient.exceptions import DeadKernelError
from nbconvert import HTMLExporter
from papermill import PapermillExecutionError, execute_notebook

from rbpkit.errors import InputError
from rbpkit.tools.study.notebooks import QUIET_KERNEL, socket_files
from rbpkit.writing import write_whole
from rbpkit_notebooks.class_report.hand_ins import find_hand_ins


class _Lines(io.StringIO):
    """A file for what the notebook prints: each line goes to `say` when it is printed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def write(self, text: str) -> int:
        for line in text.splitlines():
            self._say(line)
        return len(text)


def run_class(
    folder: Path,
    out: Path,
    *,
    names: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, str]:
    """Gather the slopes of all parameter files of `folder` and the answers of its notebooks.

    Its zips count too, and its folders, two levels down. Written into `out`:

    - comparison.csv: slopes as `rbpkit reproduce` compares them.
    - answers.csv: of each exercise of a handed-in notebook the answer and what its check said.
    - failures.csv: file, reason.
    - class.html: all of it, drawn, what students wrote in answers.md, and a row for each of
      `names`, a file with a student's name on each line.

    Nothing is measured, and no handed-in notebook is run. A file that cannot be read does not stop
    the others.

    Returns what is wrong with the files that failed, as in failures.csv. Raises InputError, before
    anything is read, if the folder or the names are missing.
    """
    find_hand_ins(folder, names=names)  # raises InputError for a folder without any
    ours = resources.files("rbpkit_notebooks.class_report")
    report = jupytext.reads(ours.joinpath("report.py").read_text("utf-8"), "py:percent")
    parameters = {
        "hand_ins_dir": str(folder.resolve()),
        "tables_dir": str(out.resolve()),
        "names_file": "" if names is None else str(names.resolve()),
    }
    try:
        # In an empty folder: Python would import a student's pandas.py from the current one.
        with TemporaryDirectory() as empty:
            executed = execute_notebook(
                report,
                None,
                parameters,
                cwd=empty,
                progress_bar=False,
                stdout_file=_Lines(say),
                config=socket_files(),
                extra_arguments=QUIET_KERNEL,
            )
    except PapermillExecutionError as error:
        raise InputError(f"the report: {error.ename}: {error.evalue}") from error
    except DeadKernelError as error:
        raise InputError("the report: its kernel died (out of memory, or killed)") from error
    for cell in executed.cells:
        cell["outputs"] = [one for one in cell.get("outputs", []) if one.output_type != "stream"]
    # Nor may nbconvert take a template from the current folder.
    exporter = HTMLExporter(template_name="basic", exclude_input=True, extra_template_basedirs=[])
    body, _ = exporter.from_notebook_node(executed)
    page = ours.joinpath("page.html").read_text("utf-8").replace("BODY", body)
    write_whole(out, {"class.html": page.encode()})
    failures = pd.read_csv(out / "failures.csv", keep_default_na=False)
    return dict(zip(failures["file"], failures["reason"], strict=True))
