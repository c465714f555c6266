"""Answers to exercises, read from handed-in notebooks without running them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbpkit.errors import InputError
from rbpkit.study.notebooks import notebook_names

ANSWER = re.compile(r"^answer_(\d+) *= *(.+)$", re.MULTILINE)
SAID = re.compile(r"^(\d+): (right|not yet|not answered yet)$", re.MULTILINE)
UNANSWERED = "not answered yet"
NOT_RUN = "not run"
"""The verdict on an answer whose cell was not run, or not run again since it was written."""
MOST_SHOWN = 5_000
"""How much of a student's text is shown on the page."""


@dataclass(frozen=True)
class Answer:
    """An exercise of a notebook ("03"), the answer as it is written, and what its check said."""

    notebook: str
    exercise: int
    answer: str
    verdict: str


def read_answers(path: Path) -> list[Answer]:
    """The answers in an executed notebook, by the number of the exercise.

    Raises InputError, one line that names the file, if it is no notebook, or has no exercise of
    this project's notebooks.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8-sig"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
        outputs = ["".join(_printed(cell)) for cell in cells]
        ids = [str(cell.get("id", "")) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path.name}: damaged, or no notebook of Jupyter's format 4") from error
    written: dict[int, str] = {}
    said: dict[int, str] = {}
    for source, output in zip(sources, outputs, strict=True):
        for number, answer in ANSWER.findall(source):
            answer = answer.encode(errors="backslashreplace").decode()  # half a character is none
            written[int(number)] = answer.partition("  #")[0].strip()
        for number, verdict in SAID.findall(output):
            said[int(number)] = verdict
    if not written:
        raise InputError(f"{path.name}: no line `answer_1 = ` in it; is it one of the notebooks?")
    number = _number(path.name, ids)
    answers = []
    for exercise, answer in sorted(written.items()):
        verdict = said.get(exercise, NOT_RUN)
        if verdict == UNANSWERED and answer != "None":
            verdict = NOT_RUN
        answers.append(Answer(number, exercise, answer, verdict))
    return answers


def read_text(path: Path) -> str:
    """What a student wrote in answers.md. Raises InputError, one line, if it is no text."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: cannot be read (not UTF-8 text)") from error
    if len(text) > MOST_SHOWN:
        text = text[:MOST_SHOWN] + " ..."
    return text.strip()


def student_of_notebook(file: str) -> str:
    """ "ann" of ann_03_section_4_1_k1.ipynb; of a file in a folder of the student's, the folder."""
    folder, _, base = file.rpartition("/")
    if folder:
        return folder.removeprefix("work-")  # of `make class`
    stem = re.sub(r"\.ipynb$", "", base, flags=re.IGNORECASE)
    for name in notebook_names():
        stem = stem.replace(name, "")
    stem = re.sub(r"\(\d+\)|-Copy\d+", "", stem)  # of browsers and of JupyterLab
    return stem.strip(" _-.") or base


def _printed(cell: dict[str, Any]) -> list[str]:
    texts = []
    for output in cell.get("outputs", []):
        if output.get("output_type") == "stream":
            texts.append("".join(output["text"]))
    return texts


def _number(file: str, ids: list[str]) -> str:
    """Which notebook it is: by the ids of its cells ("03-012"), or else by the file's name."""
    for name in notebook_names():
        number = name[:2]
        if name in file or any(re.fullmatch(rf"{number}-\d{{3}}", one) for one in ids):
            return number
    return "?"
