"""What students answered, in notebooks and in answers.md, and whose words are much the same.

No notebook is run. An answer that is a literal, as most are, is given to the check once more.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from rbpkit.errors import InputError
from rbpkit.tools.study.notebooks import notebook_names, notebooks_dir
from rbpkit_notebooks.class_report.reading import cut, decoded, printable, read_bytes
from rbpkit_notebooks.exercises import replies_of

MOST_ANSWERS = 200  # in a notebook
MOST_WRITTEN = 1_000  # characters of one line of answers.md
MOST_LITERAL = 200  # characters of an answer that is read as a literal
LEAST_WORDS, MOST_WORDS = 12, 1_000  # of a text that is compared with others
SAME = 0.9  # the share of words from which on two texts are much the same

ANSWERS = ["file", "student", "notebook", "exercise", "answer", "verdict", "printed"]
ANSWER = re.compile(r"^answer_(\d{1,9}) *= *(.+)$", re.MULTILINE)
SAID = re.compile(r"^(\d{1,9}): (right|not yet|not answered yet)$", re.MULTILINE)

WRITTEN = {
    "study": "study",
    "exponent": "exponent",
    "interval": "its 95% interval",
    "sizes": "number of sizes",
    "compared with": "compared with what",
    "a limit": "one thing",
}
"""Column of what was written in answers.md -> how its line begins there, in small letters."""
BESIDES = "besides"
NOT_OWN = ("# My study", "Write after the colons.")


# -- notebooks --------------------------------------------------------------------------------


def read_answers(file: str, student: str, path: Path) -> pd.DataFrame:
    """The answers in an executed notebook, which is not run: a row with `ANSWERS` for each.

    verdict: what the check says of a literal, or printed of another answer; "not run" if it has not
        seen that one. printed: what the notebook's output says.
    Raises InputError if it is no notebook, or has no exercise or too many of them.
    """
    cells = [cell for cell in _cells(read_bytes(path)) if cell["cell_type"] == "code"]
    source = "\n".join(cell["source"] for cell in cells)
    written = dict(ANSWER.findall(source))
    said = dict(SAID.findall("\n".join(cell["printed"] for cell in cells)))
    if not written:
        raise InputError("no line `answer_1 = ` in it; is it one of the notebooks?")
    if len(written) > MOST_ANSWERS:
        raise InputError(f"{len(written):,} answers; at most {MOST_ANSWERS} are read")
    notebook = _notebook_number(file, [cell["id"] for cell in cells])
    rows = []
    for exercise, line in sorted(written.items(), key=lambda answer: int(answer[0])):
        answer = cut(printable(line.partition("  #")[0].strip()))
        printed = said.get(exercise, "not run")
        if printed == "not answered yet" and answer != "None":
            printed = "not run"
        verdict = _checked(notebook, int(exercise), answer) or printed
        rows.append((file, student, notebook, int(exercise), answer, verdict, printed))
    return pd.DataFrame(rows, columns=ANSWERS)


def joined_answers(answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The answers of all notebooks. Who handed one in twice is called by the files' names there."""
    table = pd.concat([pd.DataFrame(columns=ANSWERS), *answers.values()], ignore_index=True)
    twice = table.duplicated(["student", "notebook", "exercise"], keep=False)
    table.loc[twice, "student"] = table["file"]
    return table


def _checked(notebook: str, exercise: int, answer: str) -> str:
    """What the check says of an answer; "" if it is no literal, or there is no such check."""
    try:
        value = ast.literal_eval(answer[:MOST_LITERAL])
        reply = replies_of(notebook)(exercise, value)
    except (ValueError, SyntaxError, LookupError, TypeError, MemoryError, RecursionError):
        return ""
    return reply.splitlines()[0].partition(": ")[2]


def own_lines(data: bytes) -> list[str]:
    """The lines of a notebook that are in none of the repository's.

    `[]` for one in which nobody wrote anything, whether it was run or not. Raises InputError if it
    is no notebook.
    """
    own = []
    for cell in _cells(data):
        for line in _lines(cell["source"]):
            if line not in _known_lines():
                own.append(line)
    return own


@cache
def _known_lines() -> frozenset[str]:
    known: set[str] = set()
    for path in notebooks_dir().glob("*.ipynb"):
        for cell in _cells(path.read_bytes()):
            known.update(_lines(cell["source"]))
    return frozenset(known)


def _lines(source: str) -> list[str]:
    """The lines of a cell; a student's folder has other links to notebooks."""
    return [line.strip() for line in source.replace("../notebooks/", "").splitlines()]


def _cells(data: bytes) -> list[dict[str, str]]:
    """cell_type, id, source, and what was printed, of each cell. Raises InputError."""
    try:
        return [
            {
                "cell_type": str(cell["cell_type"]),
                "id": str(cell.get("id", "")),
                "source": "".join(cell["source"]),
                "printed": _printed(cell),
            }
            for cell in json.loads(data)["cells"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("damaged, or no notebook of Jupyter's format 4") from error


def _printed(cell: Mapping[str, Any]) -> str:
    outputs = cell.get("outputs", [])
    return "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")


def _notebook_number(file: str, ids: list[str]) -> str:
    """Which notebook it is: by the ids of its cells ("03-012"), or else by the file's name."""
    for name in notebook_names():
        number = name[:2]
        if name in file or any(re.fullmatch(rf"{number}-\d{{3}}", one) for one in ids):
            return number
    return "?"


# -- answers.md -------------------------------------------------------------------------------


def read_written(path: Path) -> dict[str, str]:
    """What a student wrote in answers.md: a text for each column of `WRITTEN`, without its lines.

    What stands above these is in `BESIDES`.
    """
    column, found = BESIDES, dict.fromkeys([*WRITTEN, BESIDES], "")
    for line in decoded(read_bytes(path)).splitlines():
        plain = line.strip().lstrip("-* ")
        starts = [name for name, start in WRITTEN.items() if plain.lower().startswith(start)]
        if line.startswith(NOT_OWN):
            continue
        if starts and ":" in plain:
            column, plain = starts[0], plain.partition(":")[2].strip()
        found[column] += f"\n{plain}"
    return {name: cut(text.strip(), MOST_WRITTEN) for name, text in found.items()}


# -- copies -----------------------------------------------------------------------------------


def note_copies(
    notebooks: Mapping[str, Path],
    written: Mapping[str, Mapping[str, str]],
    student: Callable[[str], str],
    note: Callable[[str, str], None],
) -> None:
    """Note each file with much the same words as a file of another student.

    Those of a notebook are what is in none of ours and is no answer. Numbers do not count, since
    equal studies have equal ones, and nor do a few words.
    """
    texts = {file: " ".join(texts.values()) for file, texts in written.items()}
    for file, path in notebooks.items():
        own = [line for line in own_lines(read_bytes(path)) if not ANSWER.match(line)]
        texts[file] = " ".join(own)
    words = {}
    for file, text in texts.items():
        own_words = re.findall(r"[^\W\d_]+", text.casefold())[:MOST_WORDS]
        if len(own_words) >= LEAST_WORDS:
            words[file] = own_words
    noted = set()  # once is enough for a file that is like several
    for first, second in combinations(sorted(words), 2):
        match = SequenceMatcher(None, words[first], words[second], autojunk=False)
        if second in noted or student(first) == student(second) or match.quick_ratio() < SAME:
            continue
        if match.ratio() >= SAME:
            note(second, f"much the same words as {first}")
            noted.add(second)
