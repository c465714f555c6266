"""For a class: whatever is handed in, there is a page."""

import json
import os
import re
import runpy
import shutil
import sys
import zipfile
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

from rbpkit.fit import curve_of, fit_power_law, models_of
from rbpkit.records import load_summaries, slug
from rbpkit.tools.cli import app
from rbpkit_notebooks.class_report.tables import without_formula
from rbpkit_pocket import paths

# -- a class with good, faulty and hostile hand-ins -------------------------------------------

STUDY = 'source: pocket\nfamilies: [{}]\ncorpus_names: ["pocket:{}"]\nks: [1, 10]\n'
QWEN, OPT = STUDY.format("Qwen", "code"), STUDY.format("OPT", "prose")
STUDIES = {
    "ann.yaml": QWEN,
    "cy.yml": OPT,
    "fred.yaml.txt": STUDY.format("GPT2", "qa"),  # as Notepad saves it
    "ida.yaml": STUDY.format("Pythia", "prose") + "records_dir: sizes\n",
    "zoe.yaml": QWEN,  # Ann's, byte for byte, which is no copy
    # and with faults
    "bob.yaml": QWEN + "famlies: []\nseed: -1\n",
    "eve.yaml": OPT + "model_ids: [opt-w32-l2-seed7]\n",  # not measured
    "root.yaml": QWEN + "records_dir: /\n",
    "waits.yaml": QWEN + "records_dir: waits\n",
}
WORDS = """- Study: own k
- Exponent: <b>0.1</b>
more
- One thing: with one text and eight sizes nobody can tell whether the line ends further on"""
FORMULA = "=cmd|' /C calc'!A0"
REASONS = {
    "basic": "no study, notebook or answers.md in it",
    "bob.yaml": "seed=-1: ",
    "bomb.zip": "101 MB in 1 files; at most 100 MB",
    "broken.ipynb": "damaged",
    "eve.yaml": "rbpkit reproduce",
    "folder": "is a link",
    "gus.yaml": "",
    "link_answers.md": "is a link",
    "pipe.yaml": "a pipe",
    "root.yaml": "out of the class's folder",
    "secret": "no study, notebook or answers.md in it",
    "sham.zip": "no zip that can be unpacked",
    "sparse.ipynb": "60,000 MB; at most 20 MB",
    "waits.yaml": "a.json is a pipe",
    "will": "folders in it",
}


def put_honest(folder: Path) -> None:
    """What students hand in who mean no harm, whatever they call it."""
    shutil.copytree(ROOT / "params" / "class", folder)
    for name, text in STUDIES.items():
        (folder / name).write_text(text)
    (folder / "notes.txt").write_text("not a study")
    (folder / "gus.yaml").write_bytes(b"\xff\xfe s o u r c e")
    (folder / os.fsdecode(b"kai\xe9\x1b.yaml")).write_text(QWEN)  # Latin-1, a sign for terminals
    (folder / "sizes").mkdir()
    of_ida = sorted(paths.SUMMARIES.joinpath(slug("pocket:prose")).glob("pythia-w*.npz"))
    for path in of_ida[:-1]:  # own sizes: all but one
        shutil.copy(path, folder / "sizes")
    answers = {1: ("144", "right"), 2: ("0.52", "not yet")}
    hand_in_notebook(folder / "ann_00_quickstart.ipynb", answers)
    (folder / "Ida Moe").mkdir()
    ida = {1: ("1", "right"), 2: ("1 + 1", "right"), 3: ("4.5", "not answered yet")}
    hand_in_notebook(folder / "Ida Moe" / "Untitled.ipynb", ida)
    shutil.copy(ROOT / "notebooks" / "00_quickstart.ipynb", folder)
    (folder / "Ida Moe" / "answers.md").write_text(WORDS, encoding="utf-16")
    for inside in ("nils-upload/work-nils", "will/a/b"):
        (folder / inside).mkdir(parents=True)
        (folder / inside / "answers.md").write_text(WORDS.upper().replace("- STUDY", "- Study"))
    with zipfile.ZipFile(folder / "tina.zip", "w") as archive:
        archive.writestr("work-tina/own_k.yaml", STUDY.format("Pythia", "prose"))
        archive.writestr("__MACOSX/work-tina/._own_k.yaml", b"\0")


def hand_in_notebook(path: Path, answers: dict[int, tuple[str, str]]) -> None:
    """The quickstart with these answers, what their checks said, and a note in the first cell."""
    notebook = nbformat.read(ROOT / "notebooks" / "00_quickstart.ipynb", 4)
    notebook.cells[0].source += f"\n{path.name}"
    for cell in notebook.cells:
        for number, (answer, verdict) in answers.items():
            unanswered = f"answer_{number} = None"
            if unanswered in cell.source:
                cell.source = cell.source.replace(unanswered, f"answer_{number} = {answer}")
                [output] = cell.outputs
                output.text = f"{number}: {verdict}\n   and what it says of it\n"
    nbformat.write(notebook, path)


def put_hostile(folder: Path, out: Path) -> None:
    """Links, pipes, bombs and code."""
    for name in ("secret", "waits", "basic"):
        (folder / name).mkdir()
    (folder / "secret" / "password").write_text("of the teacher")
    (folder / "link_answers.md").symlink_to(folder / "secret" / "password")
    (folder / "folder").symlink_to(folder / "secret")
    os.mkfifo(folder / "pipe.yaml")
    os.mkfifo(folder / "waits" / "a.json")
    with (folder / "sparse.ipynb").open("wb") as file:
        file.truncate(60_000_000_000)
    write_cells(folder / "=HYPERLINK(1).ipynb", [f"answer_1 = {FORMULA}<script>", "x" * 100_000])
    write_cells(folder / "ben_03.ipynb", ['answer_1 = "\ud800"'])  # half a character
    (folder / "broken.ipynb").write_text('{"cells": [' + "[" * 100_000)
    for name, inside in (("slip", "../../../slipped.yaml"), ("bomb", "a.yaml")):
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(inside, QWEN if name == "slip" else b"0" * 101_000_000)
    (folder / "sham.zip").write_bytes(b"PK")
    # Code in the folder that Python, and a template that nbconvert, would find there.
    (folder / "pandas.py").write_text(f"open({str(out / 'run.txt')!r}, 'w')\n")
    (folder / "basic" / "index.html.j2").write_text("the student's template")


def write_cells(path: Path, source: list[str]) -> None:
    cell = {"cell_type": "code", "source": source, "outputs": []}
    path.write_text(json.dumps({"cells": [cell]}))


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """The tables and the page of this class, made in its folder."""
    base = tmp_path_factory.mktemp("class")
    folder, out = base / "hand-ins", base / "out"
    out.mkdir()
    put_honest(folder)
    put_hostile(folder, out)
    (base / "names.txt").write_text("Ann\nIDA MOE\nnils\nTina\nUte\nWill\n")
    command = ["rbpkit", "classroom", ".", "--out", str(out), "--names", "../names.txt"]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.chdir(folder)
        patch.setattr(sys, "argv", command)
        app.main()
    assert stop.value.code == 1
    return out


def test_a_file_with_a_fault_is_a_row_with_its_reason_and_stops_no_other(done):
    reasons = pd.read_csv(done / "failures.csv").set_index("file")["reason"]
    assert sorted(reasons.index) == sorted(REASONS)
    for file, words in REASONS.items():
        assert words in reasons[file]
    assert "famlies" in reasons["bob.yaml"]  # every fault of a file
    table = pd.read_csv(done / "comparison.csv")
    in_zips = {"tina.zip/work-tina/own_k.yaml", "slip.zip/slipped.yaml"}  # below its folder
    assert set(table["file"]) == {*[*STUDIES][:5], "kai\\udce9\\x1b.yaml", *in_zips}
    slopes = table.set_index(["file", "quantity"])["slope"]
    curve = curve_of(models_of(load_summaries(paths.SUMMARIES), "pocket:code", "Qwen"), 1)
    slope = fit_power_law(curve.S, curve.loss).slope
    assert slopes["ann.yaml", "RBP_1"] == pytest.approx(slope, rel=1e-5)
    ida = table.query("file == 'ida.yaml'")
    assert (ida["n"] == 7).all() and (ida["difference"].abs() > 1e-4).all()


def test_nothing_is_run_no_link_followed_and_no_cell_is_a_formula(done):
    assert not (done / "run.txt").exists()
    for file in done.iterdir():
        content = file.read_text("utf-8")
        assert "of the teacher" not in content and "the student's template" not in content
    answers = pd.read_csv(done / "answers.csv").set_index("file")["answer"]
    formula = answers["'=HYPERLINK(1).ipynb"]
    assert formula.startswith(f"'{FORMULA}<script>x") and len(formula) < 2_010
    assert answers["ben_03.ipynb"] == '"\\ud800"'
    page = (done / "class.html").read_text("utf-8")
    assert "&lt;script&gt;" in page and "<script" not in page and "x" * 100 not in page
    for cell in ("@a", "\ta", "\ra", "+a", "-1+a", "\uff1da"):
        assert without_formula(cell) == f"'{cell}"
    for cell in ("a=1", "-0.09", "+1e5", -0.09):
        assert without_formula(cell) == cell


def test_the_page_has_every_student_answer_and_note(done):
    answers = pd.read_csv(done / "answers.csv", dtype={"notebook": str})
    given = answers.set_index(["student", "exercise"])["verdict"]
    assert list(given["Ann"]) == ["right", "not yet", "not answered yet"]
    # A number is checked once more, whatever the output says; what is computed is believed.
    assert list(given["IDA MOE"]) == ["not yet", "right", "right"]
    page = BeautifulSoup((done / "class.html").read_text("utf-8"), "html.parser")
    assert not page.find_all(["script", "link", "img"])
    drawn = {text.text for text in page.select("svg text")}
    assert drawn >= {"ann", "cy", "fred", "ida", "zoe", "tina/own_k"}
    notes = [" ".join(row.get_text(" ").split()) for row in page.select("table.notes tr")]
    for words in (*REASONS, "notes.txt"):
        assert any(words in note for note in notes), words
    [copied] = (note for note in notes if "same words" in note)
    assert copied.startswith("nils-upload/work-nils/answers.md")
    rows = {row.td.text: row for row in page.select("table.texts tr")[1:]}
    exponent = rows["IDA MOE"].find_all("td")[2]
    assert exponent.get_text("|") == "<b>0.1</b>|more" and not exponent.find("b")
    assert "✗! 1" in page.select("table.answers")[0].text
    whole = {row.td.text: row.text for row in page.select("table.students tr")[1:]}
    assert [*whole][:6] == ["Ann", "IDA MOE", "nils", "Tina", "Ute", "Will"]
    assert "nothing was found" in whole["Ute"] and "folders in it" in whole["Will"]
    assert "own_k" in whole["Tina"] and "list of names" in whole["cy"]


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
