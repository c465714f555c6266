"""For a class: the solutions pass the notebooks' own checks; a folder of parameter files runs."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import re
import shutil
from pathlib import Path
from types import ModuleType

import matplotlib
import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.fit import fit_power_law, rbp_curve
from rbpkit.records import load_summaries, slug
from rbpkit.study.class_page import panels_of
from rbpkit.study.classroom import run_class
from rbpkit.study.notebooks import from_twin, notebook_names
from rbpkit.summary import Summary
from rbpkit_pocket import paths

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "docs" / "solutions"
ANSWER = re.compile(r"^answer_(\d+) = (.+)$", re.MULTILINE)
CHECKED = re.compile(r"^(\d+): (.*)$", re.MULTILINE)


def solved(name: str) -> dict[int, str]:
    """Number -> value, from a python block of a notebook's solutions."""
    text = (SOLUTIONS / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found = [pair for block in blocks for pair in ANSWER.findall(block)]
    assert len(found) == len(dict(found)), "an answer is given twice"
    return {int(number): value.split("  #")[0].strip() for number, value in found}


def code(name: str) -> str:
    return "\n".join(cell.source for cell in from_twin(name).cells if cell.cell_type == "code")


def asked(name: str) -> set[int]:
    """The numbers of every `answer_N = None` of a notebook."""
    return {int(number) for number in re.findall(r"answer_(\d+) = None", code(name))}


def replies(name: str, answers: dict[int, str]) -> dict[int, str]:
    """What a notebook's own checks say of these answers."""
    matplotlib.use("Agg")
    source = code(name)
    for number, value in answers.items():
        lines = re.compile(rf"^answer_{number} = None", re.MULTILINE)
        source = lines.sub(f"answer_{number} = {value}", source)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(source, name, "exec"), {"__name__": name})
    return {int(number): verdict for number, verdict in CHECKED.findall(said.getvalue())}


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_has_its_solution(name):
    answers = solved(name)
    assert set(answers) == asked(name) and answers
    for value in answers.values():
        ast.literal_eval(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", notebook_names())
def test_every_solution_is_right(name):
    answers = solved(name)
    assert replies(name, answers) == dict.fromkeys(answers, "right")


# -- a folder of parameter files -------------------------------------------------------------

STUDY = 'source: pocket\nfamilies: [{}]\ncorpus_names: ["pocket:{}"]\nks: [1, 10]\n'


FAULTY = ("bob.yaml", "dee.yaml", "eve.yaml", "flo.yaml", "gus.yaml", "hal_00_quickstart.ipynb")


@pytest.fixture
def hand_ins(tmp_path, shipped) -> Path:
    """The hand-ins of a class of thirty, six of which are faulty, and what else lies there."""
    folder = tmp_path / "hand-ins"
    shutil.copytree(ROOT / "params" / "class", folder)
    (folder / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    (folder / "bob.yaml").write_text(STUDY.format("Qwen", "code") + "famlies: []\nseed: -1\n")
    (folder / "cy.yml").write_text(STUDY.format("OPT", "prose"))
    (folder / "dee.yaml").write_text(STUDY.format("OPT", "prose") + "records_dir: mine\n")
    not_measured = STUDY.format("OPT", "prose") + "model_ids: [opt-w32-l2-seed7]\n"
    (folder / "eve.yaml").write_text(not_measured)
    (folder / "flo.yaml").write_text(STUDY.format("Llama", "prose"))
    (folder / "fred.yaml.txt").write_text(STUDY.format("GPT2", "qa"))  # as Notepad saves it
    (folder / "gus.yaml").write_bytes(b"\xff\xfe s o u r c e")
    (folder / "ivo.yaml").write_text(STUDY.format("Mamba", "prose"))
    (folder / "notes.txt").write_text("not a study")
    (folder / "zoe.yaml").write_text(STUDY.format("Qwen", "code"))  # Ann's, byte for byte
    for number in range(6):  # own k
        study = STUDY.replace("[1, 10]", f"[{number + 2}, {30 * (number + 1)}, 1000]")
        (folder / f"k_{number}.yaml").write_text(study.format("Pythia", "prose"))
    prose = [one for one in shipped if one.manifest.corpus == "pocket:prose"]
    pythias = [one for one in prose if one.manifest.family == "Pythia"]
    for number in range(12):  # own sizes: three of the eight, each student others
        records = folder / f"sizes_{number}"
        records.mkdir()
        for size in (number % 3, 3 + number % 2, 5 + number % 3):
            (records / f"{size}.summary.npz").write_bytes(pythias[size].to_bytes())
        study = STUDY.format("Pythia", "prose") + f"records_dir: sizes_{number}\n"
        (folder / f"sizes_{number}.yaml").write_text(study)
    hand_in_notebook(
        folder / "ann_00_quickstart.ipynb", {1: ("144", "right"), 2: ("0.52", "not yet")}
    )
    hand_in_notebook(folder / "cy_00_quickstart.ipynb", {})
    (folder / "Ida Moe").mkdir()
    hand_in_notebook(folder / "Ida Moe" / "Untitled.ipynb", {3: ("4.5", "not answered yet")})
    (folder / "hal_00_quickstart.ipynb").write_text('{"cells": [')
    shutil.copy(ROOT / "notebooks" / "00_quickstart.ipynb", folder)
    (folder / "Ida Moe" / "answers.md").write_text("- Study: own k\n- Exponent: <b>0.1</b>\n")
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


def test_a_class_of_thirty(hand_ins, tmp_path, rbpkit):
    """A faulty file tells every fault and stops no other; the page and the tables have them all."""
    out = tmp_path / "class"
    status, _, said = rbpkit("classroom", hand_ins, "--out", out)
    assert status == 1 and "27 files read, 6 failed, 6 not handed in" in said
    listed = pd.read_csv(out / "failures.csv")
    reasons = listed.groupby("file")["reason"].apply(list)
    assert tuple(reasons.index) == FAULTY
    assert sorted(line.split()[0] for line in reasons["bob.yaml"]) == ["seed=-1:", "unknown"]
    assert str(hand_ins / "mine") in reasons["dee.yaml"][0]  # next to its file
    assert "rbpkit reproduce" in reasons["eve.yaml"][0] and "Llama" in reasons["flo.yaml"][0]

    table = pd.read_csv(out / "comparison.csv")
    assert table["file"].nunique() == 23 and {"cy.yml", "fred.yaml.txt"} <= set(table["file"])
    ann = table.query("file == 'ann.yaml'").set_index("quantity")
    assert list(ann.index) == ["CE", "RBP_1", "RBP_10"]
    curve = rbp_curve(load_summaries(paths.SUMMARIES), 1, "pocket:code", "Qwen")
    slope = fit_power_law(curve.S, curve.loss).slope
    assert ann.loc["RBP_1", "slope"] == pytest.approx(slope, rel=1e-5)

    page = BeautifulSoup((out / "class.html").read_text("utf-8"), "html.parser")
    assert not page.find_all(["script", "link", "img"])
    drawn = {title.text for title in page.select("g.s > title")}
    assert drawn == {file.split(".")[0] for file in table["file"]}
    notes = [row.get_text(" ") for row in page.select("table.notes tr")]
    for words in (
        *FAULTY,
        "notes.txt",
        "zoe.yaml the same bytes as ann.yaml",
        "fred.yaml.txt read as fred.yaml",
    ):
        assert any(words in note for note in notes), words
    failed = ["failed: " in note for note in notes[1:]]
    assert failed == sorted(failed, reverse=True)  # failures come first
    [text] = page.select("td.text")
    assert text.text == "- Study: own k\n- Exponent: <b>0.1</b>" and not text.find("b")
    [unchanged] = [row.get_text(" ") for row in page.select("details table.unchanged tr")[1:]]
    assert "own_k.yaml" in unchanged and "00_quickstart.ipynb" in unchanged


def test_answers_are_read_from_notebooks(hand_ins, tmp_path):
    run_class(hand_ins, tmp_path / "class")
    table = pd.read_csv(tmp_path / "class" / "answers.csv", dtype={"notebook": str})
    assert set(table["notebook"]) == {"00"} and len(table) == 3 * 3
    given = table.set_index(["student", "exercise"])["verdict"]
    assert list(given["ann"]) == ["right", "not yet", "not answered yet"]
    assert list(given["cy"]) == ["not answered yet"] * 3
    assert given["Ida Moe", 3] == "not run"  # an answer whose check still says that there is none
    assert table.query("student == 'ann'")["answer"].iloc[1] == 0.52


def test_a_panel_shows_each_exponent_at_its_height(hand_ins, tmp_path):
    run_class(hand_ins, tmp_path / "class")
    table = pd.read_csv(tmp_path / "class" / "comparison.csv", dtype={"trained": str})
    table["trained"] = table["trained"].fillna("")
    panels = {panel.title: panel for panel in panels_of(table)}
    assert list(panels) == [
        "GPT2 on qa",
        "Mamba on prose",
        "OPT on prose",
        "Pythia on prose",
        "Qwen on code",
    ]
    heights, alphas = [], []
    for student in panels["Pythia on prose"].students:
        rows = table[table["file"].str.startswith(f"{student.name}.")]
        alphas += list(-rows["slope"])
        heights += [dot.y for dot in student.dots if not dot.beyond]
    assert len(heights) == len(alphas) == 6 * 4 + 12 * 3
    slope, middle = np.polyfit(alphas, heights, 1)  # one scale, upwards
    np.testing.assert_allclose(heights, slope * np.array(alphas) + middle, atol=1e-3)
    assert slope < 0


def script(name: str) -> ModuleType:
    """A script of docs/class, which is in no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "class" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_folder_to_work_in_is_laid_out_once(tmp_path):
    for name in ("params/class", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("1*", "2*"))
    lay_out = script("folder").lay_out
    folder = lay_out("ann", tmp_path)
    (folder / "own_k.yaml").write_text("mine")
    assert lay_out("ann", tmp_path) == folder and (folder / "own_k.yaml").read_text() == "mine"
    assert len(list(folder.glob("*.yaml"))) == 4 and len(list(folder.glob("*.ipynb"))) == 3
    assert (folder / "answers.md").is_file()
    with pytest.raises(ValueError, match="letters"):
        lay_out("../ann", tmp_path)


def test_the_slides_are_made_from_their_text():
    folder = ROOT / "docs" / "class"
    made = script("make_slides").slides_page((folder / "slides.md").read_text(encoding="utf-8"))
    picture = re.compile(r"base64,[^\"]*")  # the figures may be drawn again
    kept = (folder / "slides.html").read_text(encoding="utf-8")
    assert picture.sub("", made) == picture.sub("", kept)


def test_whatever_one_student_hands_in_the_others_are_run(tmp_path, monkeypatch):
    """Deep YAML, and records whose manifest says that no token was scored."""
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    (folder / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    (folder / "deep.yaml").write_text("ks: " + "[" * 5_000)
    (folder / "none.yaml").write_text(STUDY.format("Qwen", "code") + "records_dir: mine\n")
    source = paths.SUMMARIES / slug("pocket:code") / "qwen-w32-l2.summary.npz"
    stored = np.load(source)
    manifest = json.loads(stored["manifest"].tobytes()) | {"tokens": 0}
    text = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
    (folder / "mine").mkdir()
    np.savez(folder / "mine" / "a.summary.npz", **dict(stored) | {"manifest": text})
    failures = run_class(folder, tmp_path / "class")
    assert list(failures) == ["deep.yaml", "none.yaml"]
    assert "lists inside lists" in failures["deep.yaml"][0]
    assert "no tokens" in failures["none.yaml"][0]
    assert set(pd.read_csv(tmp_path / "class" / "comparison.csv")["file"]) == {"ann.yaml"}


def test_a_name_and_an_answer_that_are_no_text(tmp_path):
    """A file name in Latin-1, and half a character in an answer."""
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    (folder / os.fsdecode(b"ann\xe9.yaml")).write_text(STUDY.format("Qwen", "code"))
    cell = {"cell_type": "code", "source": ['answer_1 = "\ud800"'], "outputs": []}
    (folder / "ben_03.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert run_class(folder, tmp_path / "class") == {}
    tables = {
        name: pd.read_csv(tmp_path / "class" / f"{name}.csv") for name in ("comparison", "answers")
    }
    assert set(tables["comparison"]["file"]) == {"ann\\udce9.yaml"}
    assert tables["answers"]["answer"].tolist() == ['"\\ud800"']


def test_templates_that_nobody_changed_are_no_failures(tmp_path):
    for student in ("work-ann", "work-bob"):
        shutil.copytree(ROOT / "params" / "class", tmp_path / "hand-ins" / student)
    said = []
    assert run_class(tmp_path / "hand-ins", tmp_path / "class", say=said.append) == {}
    assert [line.split(":")[0] for line in said if "not handed in, " in line] == ["ann", "bob"]
    assert (tmp_path / "class" / "failures.csv").read_text() == "file,reason\n"


def own_text_in(folder: Path, shipped: list[Summary]) -> Path:
    """The template own_text in a student's folder, with records of a text of that name."""
    records = folder / "own_text"
    records.mkdir(parents=True)
    shutil.copy(ROOT / "params" / "class" / "own_text.yaml", folder)
    for number, one in enumerate(shipped):
        if (one.manifest.corpus, one.manifest.family) == ("pocket:code", "Pythia"):
            of_own_text = {"corpus": "my_text.jsonl", "fingerprint": "mine"}
            manifest = Manifest(**{**vars(one.manifest), **of_own_text})
            own_summary = dataclasses.replace(one, manifest=manifest)
            (records / f"{number}.summary.npz").write_bytes(own_summary.to_bytes())
    return folder


def test_a_template_with_records_is_handed_in_and_compared_with_prose(tmp_path, shipped):
    """It is enough to call the text as the template does."""
    for student in ("work-ann", "work-bob"):
        own_text_in(tmp_path / "hand-ins" / student, shipped)
    said = []
    assert run_class(tmp_path / "hand-ins", tmp_path / "class", say=said.append) == {}
    assert not any("the same bytes" in line for line in said)
    table = pd.read_csv(tmp_path / "class" / "comparison.csv").query("quantity == 'RBP_10'")
    assert list(table["file"]) == [f"work-{name}/own_text.yaml" for name in ("ann", "bob")]
    pythias = [one for one in shipped if one.manifest.family == "Pythia"]
    for column, corpus in (("slope", "pocket:code"), ("reference", "pocket:prose")):
        curve = rbp_curve(pythias, 10, corpus, "Pythia")
        expected = fit_power_law(curve.S, curve.loss).slope
        assert table[column].iloc[0] == pytest.approx(expected, rel=1e-5)
    assert set(table["reference_text"]) == {"pocket:prose"}
    page = (tmp_path / "class" / "class.html").read_text("utf-8")
    assert "Pythia on my_text.jsonl; black: prose" in page


def test_a_study_that_was_not_run_is_told_its_command(tmp_path):
    folder = tmp_path / "hand-ins" / "work-ann"
    shutil.copytree(ROOT / "params" / "class", folder)
    for name in ("own_model", "own_sizes"):
        with (folder / f"{name}.yaml").open("a") as file:
            file.write("# mine\n")
    (folder / "own_model" / "models").mkdir(parents=True)  # the training was begun
    failures = run_class(tmp_path / "hand-ins", tmp_path / "class")
    [trained], [measured] = failures.values()
    assert "not been run, or is not done" in trained and "no records" in trained
    assert "`rbpkit reproduce own_model.yaml --out own_model --notebook 13`" in trained
    assert "`rbpkit sweep own_sizes.yaml --out own_sizes`" in measured


def test_own_sizes_are_compared_with_all_sizes(tmp_path, monkeypatch, shipped):
    names = ("pythia-w32-l2", "pythia-w48-l3", "pythia-w64-l4")
    here = [one for one in shipped if one.manifest.corpus == "pocket:prose"]
    chosen = [one for one in here if one.manifest.model in names]
    monkeypatch.setattr("rbpkit.study.classroom.load_summaries", lambda folder, **_: chosen)
    text = (ROOT / "params" / "class" / "own_sizes.yaml").read_text(encoding="utf-8")
    (tmp_path / "ann.yaml").write_text(text + "# mine\n", encoding="utf-8")
    assert run_class(tmp_path, tmp_path / "class") == {}
    table = pd.read_csv(tmp_path / "class" / "comparison.csv").set_index("quantity")

    def slope(some: list[Summary]) -> float:
        curve = rbp_curve(some, 1, "pocket:prose", "Pythia")
        return fit_power_law(curve.S, curve.loss).slope

    row = table.loc["RBP_1"]
    assert row["n"] == 3 and row["slope"] == pytest.approx(slope(chosen), rel=1e-5)
    assert row["reference"] == pytest.approx(slope(here), rel=1e-5)
    assert abs(row["difference"]) > 0.01


@pytest.mark.slow
def test_a_notebook_is_run_on_each_file(tmp_path):
    folder, out = tmp_path / "hand-ins", tmp_path / "class"
    folder.mkdir()
    (folder / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    old = out / "runs" / "ann.yaml" / "figures"
    old.mkdir(parents=True)
    (old / "stale.csv").write_text("a\n1\n")  # of an earlier run
    assert run_class(folder, out, notebook="03") == {}
    assert not (out / "stale.csv").exists()
    points = pd.read_csv(out / "figure_3.csv").query("source == 'measured'")
    assert set(zip(points["file"], points["family"], strict=True)) == {("ann.yaml", "Qwen")}


def test_faults_before_anything_is_run(hand_ins, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder, notebook, words in (
        (tmp_path / "empty", "03", "no parameter files"),
        (hand_ins, "03_section_4_1_k2", "did you mean 03_section_4_1_k1"),
    ):
        with pytest.raises(InputError, match=words):
            run_class(folder, tmp_path / "out", notebook=notebook)
    assert not (tmp_path / "out").exists()
