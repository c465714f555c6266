"""Every notebook that takes records, on records that it was not written for.

`make test` runs one mixed folder through two notebooks, `make test-slow` every case through all.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import nbformat
import papermill
import pytest
from bs4 import BeautifulSoup

from rbpkit.manifest import Manifest
from rbpkit.records import slug
from rbpkit.summary import Summary
from rbpkit.tools.study.notebooks import notebook_names, notebooks_dir, run
from rbpkit_pocket import paths

PYTHIA = ["pythia-w32-l2", "pythia-w48-l3", "pythia-w64-l4"]
OPT = ["opt-w32-l2", "opt-w48-l4"]
DEFAULTS = {"families": ["GPT2", "OPT", "Pythia", "Qwen"], "corpus_names": ["pocket:prose"]}
WHATEVER = {"families": [], "corpus_names": []}

# name of the case -> the records, as (models, family, corpus), and the parameters
CASES = {
    "one model": ([(PYTHIA[:1], "Pythia", "pocket:prose")], DEFAULTS),
    "unknown text": ([(PYTHIA, "Pythia", "my notes")], DEFAULTS),
    "a k that occurs nowhere": (
        [(PYTHIA, "Pythia", "pocket:prose")],
        {**DEFAULTS, "ks": [3, 5_000]},
    ),
    "whatever is there": (
        [(PYTHIA, "Mine", "my notes"), (OPT, "OPT", "my notes")],
        WHATEVER,
    ),
}
MIXED = "whatever is there"


def takes_records(name: str) -> bool:
    return "records_dir" in papermill.inspect_notebook(str(notebooks_dir() / f"{name}.ipynb"))


NAMES = [name for name in notebook_names() if takes_records(name)]
QUICK = [name for name in NAMES if name[:2] in ("03", "17")]


def put_records(folder: Path, models: Sequence[str], family: str, corpus: str) -> None:
    """Summaries of pocket models on prose, under a family's and a corpus's name."""
    there = folder / slug(corpus)
    there.mkdir(parents=True, exist_ok=True)
    for model in models:
        name = f"{model}.summary.npz"
        source = paths.SUMMARIES / slug("pocket:prose") / name
        summary = Summary.from_bytes(source.read_bytes(), source)
        manifest = Manifest(**vars(summary.manifest) | {"family": family, "corpus": corpus})
        (there / name).write_bytes(dataclasses.replace(summary, manifest=manifest).to_bytes())


def outputs_of(path: Path) -> tuple[str, list[BeautifulSoup]]:
    """The printed text of an executed notebook, and its tables."""
    text, tables = [], []
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text.append(output.get("text", "") or data.get("text/plain", ""))
            page = BeautifulSoup(data.get("text/html", ""), "html.parser")
            text.append(page.get_text(" "))
            tables += page.find_all("table")
    return "\n".join(text), tables


def check_case(name: str, case: str, folder: Path) -> None:
    records, parameters = CASES[case]
    for models, family, corpus in records:
        put_records(folder / "records", models, family, corpus)
    figures = folder / "figures"
    figures.mkdir()
    given = {**parameters, "records_dir": str(folder / "records"), "figures_dir": str(figures)}
    text, tables = outputs_of(run(name, given, folder / "out"))
    for table in tables:
        assert table.find("td"), f"an empty table: {table.get_text(' ')}"
    # Each family is drawn, or is in a table, or a sentence says why it is not.
    drawn = "\n".join(path.read_text() for path in figures.glob("*.csv"))
    for _, family, _ in records:
        assert family in text + drawn, f"nothing is said of {family}"


@pytest.mark.parametrize("name", QUICK)
def test_records_of_two_unknown_families(name, tmp_path):
    check_case(name, MIXED, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_records_that_nobody_foresaw(name, case, tmp_path):
    check_case(name, case, tmp_path)
