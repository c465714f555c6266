"""The committed notebooks: made from their twins, executed, clean, with the default parameters.

Their outputs are compared one by one by `pytest --nbval notebooks` (`make test`).
"""

from __future__ import annotations

import ast
import copy
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from jupytext.config import load_jupytext_config

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.study.notebooks import (
    from_twin,
    notebook_names,
    notebooks_dir,
    parameters_of,
    run,
    socket_files,
)
from rbpkit.study.params import Params, load_params

ROOT = Path(__file__).resolve().parents[2]
NAMES = notebook_names()
MOST_WORDS = 90  # of a paragraph or of an item of a list
SECTIONS = [name for name in NAMES if "02" <= name[:2] <= "11"]
CHAPTERS = [name for name in NAMES if "20" <= name[:2]]
SAVED = re.compile(r"save(?:_table)?\([^\n]*figures_dir, \"(\w+)\"\)")


def committed(name: str) -> nbformat.NotebookNode:
    return nbformat.read(notebooks_dir() / f"{name}.ipynb", as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]


def parameters_cell(notebook: nbformat.NotebookNode) -> dict[str, object]:
    """The literal values of the tagged cell."""
    tagged = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) == 1
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(tagged[0].source).body
        if isinstance(node, ast.Assign)
    }


def test_there_are_notebooks_and_each_has_its_twin():
    assert NAMES
    assert NAMES == sorted(path.stem for path in notebooks_dir().glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_twin_and_notebook_agree(name):
    made, found = from_twin(name), committed(name)
    assert [(c.cell_type, c.id, c.source, c.metadata) for c in made.cells] == [
        (c.cell_type, c.id, c.source, c.metadata) for c in found.cells
    ], f"edit notebooks/py/{name}.py, then `make notebooks`"


def test_jupyterlab_does_not_take_a_notebook_and_its_twin_for_a_pair():
    """jupytext refuses to open a pair whose notebook is newer, as after a `git pull`."""
    for path in notebooks_dir().glob("*.ipynb"):
        assert "jupytext" not in committed(path.stem).metadata
        assert load_jupytext_config(str(path)).default_formats(str(path)) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_code_cell_was_executed_in_order_and_is_clean(name):
    cells = code_cells(committed(name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
        assert "execution" not in cell.metadata  # timings


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_those_of_pocket_yaml(name):
    given = parameters_cell(committed(name))
    study = load_params(ROOT / "params" / "pocket.yaml").model_dump(mode="json")
    assert set(given) <= set(Params.model_fields)
    assert given == {key: study[key] for key in given}
    assert parameters_of(name) == set(given)
    in_file = yaml.safe_load((ROOT / "params" / "pocket.yaml").read_text(encoding="utf-8"))
    assert set(in_file) <= set(given), "papermill would call these keys unknown"


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_shadows_an_import(name):
    notebook = committed(name)
    imported = {
        (alias.asname or alias.name).split(".")[0]
        for cell in code_cells(notebook)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert not imported & set(parameters_cell(notebook))


def papermilled(out: Path, *arguments: str) -> tuple[int, str]:
    """Exit status and output of papermill, run on the notebook of Section 4.1."""
    notebook = notebooks_dir() / "03_section_4_1_k1.ipynb"
    command = [sys.executable, "-m", "papermill", str(notebook), str(out), "--no-progress-bar"]
    run = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    return run.returncode, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-y", "famlies: [Qwen]"], "unknown key 'famlies'; did you mean families?"),
        (["-p", "families", "Qwen"], "families: must be a list, as in [Qwen] (it is 'Qwen')"),
        (["-y", "ks: [0]"], "ks: input should be greater than or equal to 1 (it is 0)"),
        (["-p", "records_dir", "7"], "records_dir: input should be a valid string (it is 7)"),
        (["-p", "source", "pokcet"], "source: input should be 'pocket' or 'hub' (it is 'pokcet')"),
    ],
)
def test_wrong_parameters_stop_a_notebook_in_one_line(tmp_path, arguments, says):
    status, output = papermilled(tmp_path / "out.ipynb", *arguments)
    assert status != 0
    assert output.rstrip().endswith(f'"In [3]":\nInputError: papermill: {says}')


@pytest.mark.slow
def test_a_parameter_file_has_no_key_that_papermill_calls_unknown(tmp_path):
    status, output = papermilled(tmp_path / "out.ipynb", "-f", "params/pocket.yaml")
    assert status == 0 and "nknown parameter" not in output


def test_an_error_in_a_cell_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"03_section_4_1_k1.*no records or summaries"):
        run("03_section_4_1_k1", {"records_dir": str(tmp_path)}, tmp_path / "out")


def test_no_two_kernels_share_an_address(monkeypatch):
    first, second = (socket_files().KernelManager for _ in range(2))
    assert first.transport == "ipc" and first.ip != second.ip
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/" + "long" * 30)
    assert not socket_files()  # no socket's path is that long


def test_figure_3_csv_holds_the_published_points():
    points = pd.read_csv(ROOT / "figures" / "figure_3.csv")
    drawn = points[points["source"] == "published"].set_index(["corpus", "model"])["value"]
    printed = paper.rbp_by_size().query("k == 1").rename(columns={"dataset": "corpus"})
    gap = (drawn - printed.set_index(["corpus", "model"])["rbp"]).abs()
    assert len(gap) == len(drawn) == len(printed) == 96 and gap.notna().all()
    assert gap.max() <= 1e-6


def test_every_notebook_and_every_figure_of_the_paper_is_on_their_page():
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| [")]
    assert [re.match(r"\| \[(\w+)\]\(\.\./notebooks/\1\.ipynb\)", row)[1] for row in rows] == NAMES
    listed = " ".join(row.split("|")[3] for row in rows)
    for number in ("1", "2", "3", "4", "5", "6a", "6b", "7", "8a", "8b", "8c", "9"):
        assert re.search(rf"Figures? [^|]*\b{number}\b", listed), f"Figure {number}"
    for other in ("8d", "Table 1", "Table 2 of the ICLR version", "Appendix C"):
        assert other in listed


@pytest.mark.parametrize("name", NAMES)
def test_every_notebook_checks_its_parameters_first(name):
    first = code_cells(committed(name))[1].source
    done = [
        ast.unparse(n)
        for n in ast.parse(first).body
        if not isinstance(n, ast.Import | ast.ImportFrom)
    ]
    assert done[0] == "check_parameters(globals())"


def prose(notebook: nbformat.NotebookNode) -> list[str]:
    """Paragraphs and items of lists, without displayed formulas and tables."""
    cells = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    text = re.sub(r"\$\$.*?\$\$", "", "\n\n".join(cells), flags=re.DOTALL)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    return [part.strip() for part in parts if part.strip() and not part.startswith("|")]


@pytest.mark.parametrize("name", NAMES)
def test_no_paragraph_is_long(name):
    long = [part for part in prose(committed(name)) if len(part.split()) > MOST_WORDS]
    assert not long, f"over {MOST_WORDS} words: {long}"


def without_what_may_be_skipped(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook less its sections whose heading ends in "(may be skipped)"."""
    kept, skipped = [], False
    for cell in copy.deepcopy(notebook.cells):
        if cell.cell_type == "markdown":
            parts = re.split(r"^(?=## )", cell.source, flags=re.MULTILINE)
            cell.source = ""
            for part in parts:
                if part.startswith("## "):
                    skipped = part.splitlines()[0].endswith("(may be skipped)")
                cell.source += "" if skipped else part
            kept.append(cell)
        elif not skipped:
            kept.append(cell)
    return nbformat.v4.new_notebook(cells=kept)


def reading_minutes(notebook: nbformat.NotebookNode) -> float:
    """200 words a minute of text and displayed tables of text, 20 s an equation or a figure."""
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    equations = re.findall(r"\$\$.*?\$\$", text, flags=re.DOTALL)
    figures = len(re.findall(r"!\[", text)) + len(images(notebook))
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    text += "\n".join(output.get("data", {}).get("text/markdown", "") for output in outputs)
    words = re.sub(r"\$\$.*?\$\$|!\[[^\]]*\]\([^)]*\)", "", text, flags=re.DOTALL).split()
    return len(words) / 200 + (len(equations) + figures) / 3


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_opens_with_its_answer_a_picture_and_its_reading_time(name):
    notebook = committed(name)
    first = notebook.cells[0].source
    [answer] = re.findall(r"^\*\*Answer\.\*\* (.*)$", first, re.MULTILINE)
    assert 1 <= len(re.findall(r"\.(?= [A-Z$`]|$)", answer)) <= 3, answer
    [(words, picture)] = re.findall(
        r"^!\[([^\]]+)\]\(\.\./figures/(\w+)\.png\)$", first, re.MULTILINE
    )
    assert len(words) > 30 and (ROOT / "figures" / f"{picture}.png").is_file()
    [stated] = re.findall(r"\*Reading time: (\d+) minutes[.;]", first)
    every, least = (
        reading_minutes(part) for part in (notebook, without_what_may_be_skipped(notebook))
    )
    assert any(3 / 4 <= counted / int(stated) <= 4 / 3 for counted in (every, least)), (
        f"{least:.1f} to {every:.1f} minutes by count"
    )
    assert least <= 20


@pytest.mark.parametrize("name", SECTIONS + CHAPTERS)
def test_a_section_or_a_chapter_closes_in_five_lines(name):
    text = "\n".join(c.source for c in committed(name).cells if c.cell_type == "markdown")
    closing = text[text.index("## What holds, and what does not") : text.index("## Exercises")]
    assert 3 <= len(re.findall(r"^- ", closing, re.MULTILINE)) <= 5


def images(notebook: nbformat.NotebookNode) -> list[str]:
    return [
        output.data["image/png"]
        for cell in code_cells(notebook)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_shown_once(name):
    notebook = committed(name)
    saved = [line for cell in code_cells(notebook) for line in SAVED.findall(cell.source)]
    shown = images(notebook)
    assert len(set(shown)) == len(shown) == len(saved)
    assert saved, "a notebook without a picture"
    for figure in saved:
        assert (ROOT / "figures" / f"{figure}.png").is_file()


def test_every_figure_has_its_points():
    images = {path.stem for path in (ROOT / "figures").glob("*.png")}
    tables = {path.stem for path in (ROOT / "figures").glob("*.csv")}
    assert images == tables - {"verdicts", "14_verdicts"} and images  # tables without a picture
