"""For a class: each exercise has its solution; whatever is handed in, there is a page."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import runpy
import shutil
import zipfile
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law, rbp_curve
from rbpkit.records import load_summaries, slug
from rbpkit.tools.study.notebooks import from_twin, notebook_names
from rbpkit.writing import without_formula
from rbpkit_notebooks.class_report.answers import read_answers
from rbpkit_notebooks.class_report.hand_ins import HandIns, find_hand_ins
from rbpkit_notebooks.class_report.reading import read_bytes
from rbpkit_notebooks.class_report.run import run_class
from rbpkit_notebooks.class_report.studies import study_slopes
from rbpkit_pocket import paths

ROOT = Path(__file__).resolve().parents[3]
SOLUTIONS = ROOT / "docs" / "solutions"
ANSWER = re.compile(r"^answer_(\d+) = (.+)$", re.MULTILINE)


def solved(name: str) -> dict[int, str]:
    """Number -> value, from a python block of a notebook's solutions."""
    text = (SOLUTIONS / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found = [pair for block in blocks for pair in ANSWER.findall(block)]
    assert len(found) == len(dict(found)), "an answer is given twice"
    return {int(number): value.split("  #")[0].strip() for number, value in found}


def code(name: str) -> str:
    return "\n".join(cell.source for cell in from_twin(name).cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_has_its_solution(name):
    answers = solved(name)
    exercises = re.findall(r"answer_(\d+) = None", code(name))
    assert answers and set(answers) == set(map(int, exercises))
    for value in answers.values():
        ast.literal_eval(value)


# -- a folder of parameter files -------------------------------------------------------------

STUDY = 'source: pocket\nfamilies: [{}]\ncorpus_names: ["pocket:{}"]\nks: [1, 10]\n'


STUDIES = ("bob.yaml", "dee.yaml", "eve.yaml", "flo.yaml", "gus.yaml")
FAULTY = (*STUDIES, "hal_00_quickstart.ipynb", "will")
WORDS = """- Study: own k
- Exponent: <b>0.1</b>
more
- One thing: with one text and eight sizes nobody can tell whether the line ends further on"""


@pytest.fixture
def hand_ins(tmp_path, shipped) -> Path:
    """The hand-ins of a class, seven of which are faulty, and what else lies there."""
    folder = tmp_path / "hand-ins"
    shutil.copytree(ROOT / "params" / "class", folder)
    opt = STUDY.format("OPT", "prose")
    studies = {
        "ann.yaml": STUDY.format("Qwen", "code"),
        "bob.yaml": STUDY.format("Qwen", "code") + "famlies: []\nseed: -1\n",
        "cy.yml": opt,
        "dee.yaml": opt + "records_dir: mine\n",
        "eve.yaml": opt + "model_ids: [opt-w32-l2-seed7]\n",  # not measured
        "flo.yaml": STUDY.format("Llama", "prose"),
        "fred.yaml.txt": STUDY.format("GPT2", "qa"),  # as Notepad saves it
        "ida.yaml": STUDY.format("Pythia", "prose") + "records_dir: sizes\n",
        "zoe.yaml": STUDY.format("Qwen", "code"),  # Ann's, byte for byte, which is no copy
        "notes.txt": "not a study",
    }
    for name, text in studies.items():
        (folder / name).write_text(text)
    (folder / "gus.yaml").write_bytes(b"\xff\xfe s o u r c e")
    (folder / "sizes").mkdir()
    prose = [one for one in shipped if one.manifest.corpus == "pocket:prose"]
    for one in prose:
        if one.manifest.family == "Pythia":  # own sizes: all but the largest
            path = folder / "sizes" / f"{one.manifest.S}.summary.npz"
            path.write_bytes(one.to_bytes())
    max((folder / "sizes").iterdir(), key=lambda path: int(path.name.split(".")[0])).unlink()
    answers = {1: ("144", "right"), 2: ("0.52", "not yet")}
    hand_in_notebook(folder / "ann_00_quickstart.ipynb", answers)
    hand_in_notebook(folder / "cy_00_quickstart.ipynb", {})
    (folder / "Ida Moe").mkdir()
    ida = {1: ("1", "right"), 2: ("1 + 1", "right"), 3: ("4.5", "not answered yet")}
    hand_in_notebook(folder / "Ida Moe" / "Untitled.ipynb", ida)
    (folder / "hal_00_quickstart.ipynb").write_text('{"cells": [')
    shutil.copy(ROOT / "notebooks" / "00_quickstart.ipynb", folder)
    (folder / "Ida Moe" / "answers.md").write_text(WORDS, encoding="utf-16")
    for inside in ("nils-upload/work-nils", "will/a/b"):
        (folder / inside).mkdir(parents=True)
        (folder / inside / "answers.md").write_text(WORDS.upper().replace("- STUDY", "- Study"))
    with zipfile.ZipFile(folder / "tina.zip", "w") as archive:
        archive.writestr("work-tina/own_k.yaml", STUDY.format("Pythia", "prose"))
        archive.writestr("__MACOSX/work-tina/._own_k.yaml", b"\0")
    (tmp_path / "names.txt").write_text("Ann\nIDA MOE\nnils\nTina\nUte\nWill\n")
    return folder


def hand_in_notebook(path: Path, answers: dict[int, tuple[str, str]]) -> None:
    """The quickstart with these answers, what their checks said, and a note in the first cell."""
    notebook = nbformat.read(ROOT / "notebooks" / "00_quickstart.ipynb", 4)
    notebook.cells[0].source += f"\n{path.name}"
    for cell in notebook.cells:
        for number, (answer, verdict) in answers.items():
            if f"answer_{number} = None" in cell.source:
                unanswered = f"answer_{number} = None"
                cell.source = cell.source.replace(unanswered, f"answer_{number} = {answer}")
                [output] = cell.outputs
                output.text = f"{number}: {verdict}\n   and what it says of it\n"
    nbformat.write(notebook, path)


def test_a_class(hand_ins, tmp_path, rbpkit):
    """A faulty file tells every fault and stops no other; the page and the tables have them all."""
    out = tmp_path / "class"
    names = ["--names", tmp_path / "names.txt"]
    status, _, said = rbpkit("classroom", hand_ins, "--out", out, *names)
    assert status == 1 and "7 failed, 6 not handed in; nothing from 1 of 6 names" in said
    reasons = pd.read_csv(out / "failures.csv").set_index("file")["reason"].sort_index()
    assert tuple(reasons.index) == FAULTY
    assert "seed=-1: " in reasons["bob.yaml"] and "unknown setting 'famlies'" in reasons["bob.yaml"]
    assert reasons["dee.yaml"].startswith("mine: no records")  # next to its file
    assert "rbpkit reproduce" in reasons["eve.yaml"] and "Llama" in reasons["flo.yaml"]

    table = pd.read_csv(out / "comparison.csv")
    good = {"ann.yaml", "cy.yml", "fred.yaml.txt", "ida.yaml", "zoe.yaml"}
    assert set(table["file"]) == good | {"tina.zip/work-tina/own_k.yaml"}
    slopes = table.set_index(["file", "quantity"])["slope"]
    curve = rbp_curve(load_summaries(paths.SUMMARIES), 1, "pocket:code", "Qwen")
    slope = fit_power_law(curve.S, curve.loss).slope
    assert slopes["ann.yaml", "RBP_1"] == pytest.approx(slope, rel=1e-5)
    ida = table.query("file == 'ida.yaml'")
    assert (ida["n"] == 7).all() and (ida["difference"].abs() > 1e-4).all()

    answers = pd.read_csv(out / "answers.csv", dtype={"notebook": str})
    given = answers.set_index(["student", "exercise"])["verdict"]
    assert list(given["Ann"]) == ["right", "not yet", "not answered yet"]
    assert list(given["cy"]) == ["not answered yet"] * 3
    # A number is checked once more, whatever the output says; what is computed is believed.
    assert list(given["IDA MOE"]) == ["not yet", "right", "right"]

    page = BeautifulSoup((out / "class.html").read_text("utf-8"), "html.parser")
    assert not page.find_all(["script", "link", "img"])
    drawn = {text.text for text in page.select("svg text")}
    assert drawn >= {"ann", "cy", "fred", "ida", "zoe", "tina/own_k"}
    notes = [" ".join(row.get_text(" ").split()) for row in page.select("table.notes tr")]
    copied = "nils-upload/work-nils/answers.md much the same words as Ida Moe/answers.md"
    for words in (*FAULTY, "notes.txt", copied):
        assert any(words in note for note in notes), words
    assert len([note for note in notes if "same words" in note]) == 1
    rows = {row.td.text: row for row in page.select("table.texts tr")[1:]}
    exponent = rows["IDA MOE"].find_all("td")[2]
    assert exponent.get_text("|") == "<b>0.1</b>|more" and not exponent.find("b")
    assert "✗! 1" in page.select("table.answers")[0].text
    whole = {row.td.text: row.text for row in page.select("table.students tr")[1:]}
    assert [*whole][:6] == ["Ann", "IDA MOE", "nils", "Tina", "Ute", "Will"]
    assert "nothing was found" in whole["Ute"] and "folders in it" in whole["Will"]
    assert "own_k" in whole["Tina"] and "list of names" in whole["cy"]


def studies_of(folder: Path) -> tuple[HandIns, dict[str, pd.DataFrame]]:
    """What is in a folder, and the slopes of each study in it that has no fault."""
    found = find_hand_ins(folder)

    return found, found.read("studies", lambda file, path: study_slopes(found, file, path))


# -- hand-ins that do harm --------------------------------------------------------------------

FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def harmed(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The tables and the page of a class with two good studies and eleven hostile hand-ins."""
    folder = tmp_path_factory.mktemp("hand-ins")
    study = STUDY.format("Qwen", "code")
    (folder / "ann.yaml").write_text(study)
    (folder / "secret").mkdir()
    (folder / "secret" / "password").write_text("of the teacher")
    (folder / "link_answers.md").symlink_to(folder / "secret" / "password")
    (folder / "folder").symlink_to(folder / "secret")
    os.mkfifo(folder / "pipe.yaml")
    with (folder / "sparse.ipynb").open("wb") as file:
        file.truncate(60_000_000_000)
    write_cells(folder / "many.ipynb", [f"answer_{n} = 1\n" for n in range(100_000)])
    write_cells(folder / "=HYPERLINK(1).ipynb", [f"answer_1 = {FORMULA}<script>", "x" * 100_000])
    (folder / "broken.ipynb").write_text('{"cells": [' + "[" * 100_000)
    (folder / "root.yaml").write_text(f"{study}records_dir: /\n")
    (folder / "waits").mkdir()
    os.mkfifo(folder / "waits" / "a.json")
    (folder / "waits.yaml").write_text(f"{study}records_dir: waits\n")
    for name, inside in (("slip", "../../../slipped.yaml"), ("bomb", "a.yaml")):
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(inside, study if name == "slip" else b"0" * 101_000_000)
    (folder / "sham.zip").write_bytes(b"PK")
    out = tmp_path_factory.mktemp("class")
    # Code in the folder that Python, and a template that nbconvert, would find there.
    (folder / "pandas.py").write_text(f"open({str(out / 'run.txt')!r}, 'w')\n")
    (folder / "basic").mkdir()
    (folder / "basic" / "index.html.j2").write_text("the student's template")
    with contextlib.chdir(folder):
        return out, run_class(Path("."), out)


def write_cells(path: Path, source: list[str]) -> None:
    cell = {"cell_type": "code", "source": source, "outputs": []}
    path.write_text(json.dumps({"cells": [cell]}))


def test_a_harmful_file_is_a_row_with_its_reason_and_nothing_else(harmed):
    out, reasons = harmed
    expected = {
        "basic": "no study, notebook or answers.md in it",
        "bomb.zip": "101 MB in 1 files; at most 100 MB",
        "broken.ipynb": "damaged",
        "folder": "is a link",
        "link_answers.md": "is a link",
        "many.ipynb": "100,000 answers; at most 200",
        "pipe.yaml": "a pipe",
        "root.yaml": "out of the class's folder",
        "secret": "no study, notebook or answers.md in it",
        "sham.zip": "no zip that can be unpacked",
        "sparse.ipynb": "60,000 MB; at most 20 MB",
        "waits.yaml": "a.json is a pipe",
    }
    assert sorted(reasons) == sorted(expected)
    for file, words in expected.items():
        assert words in reasons[file]
    good = {"ann.yaml", "slip.zip/slipped.yaml"}  # which was unpacked below its folder
    assert set(pd.read_csv(out / "comparison.csv")["file"]) == good
    assert not (out / "run.txt").exists()  # no code was run
    for file in out.iterdir():
        content = file.read_text("utf-8")
        assert "of the teacher" not in content  # no link was followed
        assert "the student's template" not in content


def test_no_cell_is_a_formula(harmed):
    answers = pd.read_csv(harmed[0] / "answers.csv")
    [row] = answers.itertuples()
    assert row.file == "'=HYPERLINK(1).ipynb" and row.answer.startswith(f"'{FORMULA}<script>x")
    assert len(row.answer) < 2_010
    page = (harmed[0] / "class.html").read_text("utf-8")
    assert "&lt;script&gt;" in page and "<script" not in page and "x" * 100 not in page
    for cell in ("@a", "\ta", "\ra", "+a", "-1+a", "\uff1da"):
        assert without_formula(cell) == f"'{cell}"
    for cell in ("a=1", "-0.09", "+1e5", -0.09):
        assert without_formula(cell) == cell


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(tmp_path, monkeypatch):
    """Between the look at the file and its opening."""
    (tmp_path / "secret").write_text("of the teacher")
    status = os.lstat(tmp_path / "secret")
    (tmp_path / "answers.md").symlink_to(tmp_path / "secret")
    monkeypatch.setattr(os, "lstat", lambda path: status)
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(tmp_path / "answers.md")


def test_whatever_one_student_hands_in_the_others_are_run(tmp_path):
    """Deep YAML, too many k, and records whose manifest says that no token was scored."""
    (tmp_path / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    (tmp_path / "deep.yaml").write_text("ks: " + "[" * 5_000)
    (tmp_path / "none.yaml").write_text(STUDY.format("Qwen", "code") + "records_dir: mine\n")
    many = STUDY.replace("[1, 10]", str(list(range(1, 1_000)))).format("Qwen", "code")
    (tmp_path / "many.yaml").write_text(many)
    source = paths.SUMMARIES / slug("pocket:code") / "qwen-w32-l2.summary.npz"
    stored = np.load(source)
    manifest = json.loads(stored["manifest"].tobytes()) | {"tokens": 0}
    text = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
    (tmp_path / "mine").mkdir()
    np.savez(tmp_path / "mine" / "a.summary.npz", **dict(stored) | {"manifest": text})
    found, slopes = studies_of(tmp_path)
    deep, many, none = found.faults
    assert "lists inside lists" in deep[1] and "checksum differs" in none[1] and "999" in many[1]
    assert list(slopes) == ["ann.yaml"]


def test_a_name_and_an_answer_that_are_no_text(tmp_path):
    """A file name in Latin-1 with a sign for terminals, and half a character in an answer."""
    (tmp_path / os.fsdecode(b"ann\xe9\x1b.yaml")).write_text(STUDY.format("Qwen", "code"))
    write_cells(tmp_path / "ben_03.ipynb", ['answer_1 = "\ud800"'])
    found, slopes = studies_of(tmp_path)
    assert list(slopes) == ["ann\\udce9\\x1b.yaml"] and not found.faults
    answers = read_answers("ben_03.ipynb", "ben", tmp_path / "ben_03.ipynb")
    assert answers["answer"].tolist() == ['"\\ud800"']


def test_faults_before_anything_is_run(hand_ins, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder, names, words in (
        (tmp_path / "missing", None, "no such folder"),
        (tmp_path / "empty", None, "no parameter files"),
        (hand_ins, tmp_path / "none.txt", "none.txt: cannot be read"),
    ):
        with pytest.raises(InputError, match=words):
            run_class(folder, tmp_path / "out", names=names)
    assert not (tmp_path / "out").exists()


# -- the lesson -------------------------------------------------------------------------------


def test_a_folder_to_work_in_is_laid_out_once_and_zipped_without_models(tmp_path):
    for name in ("params/class", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("1*", "2*"))
    made = runpy.run_path(str(ROOT / "docs" / "class" / "folder.py"))
    folder = made["lay_out"]("ann", tmp_path)
    (folder / "own_k.yaml").write_text("mine")
    assert made["lay_out"]("ann", tmp_path) == folder
    assert (folder / "own_k.yaml").read_text() == "mine"
    notebooks = list(folder.glob("*.ipynb"))
    assert len(list(folder.glob("*.yaml"))) == 4 and len(notebooks) == 3
    for path in notebooks:
        for link in re.findall(r"\]\(([\w./]+\.ipynb)", path.read_text(encoding="utf-8")):
            assert (folder / link).exists() or (ROOT / "work-ann" / link).resolve().exists()
    with pytest.raises(ValueError, match="letters"):
        made["lay_out"]("../ann", tmp_path)
    (folder / "own_model" / "models").mkdir(parents=True)
    (folder / "own_model" / "models" / "model.safetensors").touch()
    (folder / "own_model" / "a.summary.npz").touch()
    with zipfile.ZipFile(made["hand_in"]("ann", tmp_path)) as archive:
        names = archive.namelist()
    assert len(names) == 9 and "work-ann/own_model/a.summary.npz" in names
