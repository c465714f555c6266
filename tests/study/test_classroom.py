"""For a class: the solutions pass their checks; whatever is handed in, there is a page."""

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
from matplotlib.figure import Figure

from rbpkit import plugins
from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.fit import fit_power_law, rbp_curve
from rbpkit.records import load_summaries, slug
from rbpkit.study.notebooks import from_twin, notebook_names
from rbpkit.summary import Summary
from rbpkit_pocket import paths
from rbpkit_pocket.class_report.drawing import draw_panel, with_places
from rbpkit_pocket.class_report.hand_ins import HandIns, find_hand_ins, read_answers, read_bytes
from rbpkit_pocket.class_report.run import run_class
from rbpkit_pocket.class_report.studies import study_tables
from rbpkit_pocket.class_report.tables import without_formula

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
    reasons = pd.read_csv(out / "failures.csv").set_index("file")["reason"].sort_index()
    assert tuple(reasons.index) == FAULTY
    assert "seed=-1: " in reasons["bob.yaml"] and "unknown setting 'famlies'" in reasons["bob.yaml"]
    assert reasons["dee.yaml"].startswith("mine: no records")  # next to its file
    assert "rbpkit reproduce" in reasons["eve.yaml"] and "Llama" in reasons["flo.yaml"]

    table = pd.read_csv(out / "comparison.csv")
    assert table["file"].nunique() == 23 and {"cy.yml", "fred.yaml.txt"} <= set(table["file"])
    ann = table.query("file == 'ann.yaml'").set_index("quantity")
    assert list(ann.index) == ["CE", "RBP_1", "RBP_10"]
    curve = rbp_curve(load_summaries(paths.SUMMARIES), 1, "pocket:code", "Qwen")
    slope = fit_power_law(curve.S, curve.loss).slope
    assert ann.loc["RBP_1", "slope"] == pytest.approx(slope, rel=1e-5)

    answers = pd.read_csv(out / "answers.csv", dtype={"notebook": str})
    assert set(answers["notebook"]) == {"00"} and len(answers) == 3 * 3
    given = answers.set_index(["student", "exercise"])["verdict"]
    assert list(given["ann"]) == ["right", "not yet", "not answered yet"]
    assert list(given["cy"]) == ["not answered yet"] * 3
    assert given["Ida Moe", 3] == "not run"  # an answer whose check still says that there is none

    page = BeautifulSoup((out / "class.html").read_text("utf-8"), "html.parser")
    assert not page.find_all(["script", "link", "img"])
    drawn = {title.text.split("\n")[0] for title in page.select("svg g > title")}
    assert drawn == {file.split(".")[0] for file in table["file"]}
    notes = [" ".join(row.get_text(" ").split()) for row in page.select("table.notes tr")]
    for words in (*FAULTY, "notes.txt", "zoe.yaml the same bytes as ann.yaml"):
        assert any(words in note for note in notes), words
    failed = ["failed: " in note for note in notes[1:]]
    assert failed == sorted(failed, reverse=True)  # failures come first
    [row] = page.select("table.texts tr")[1:]
    assert row.td.text == "Ida Moe" and "Exponent: <b>0.1</b>" in row.text and not row.find("b")
    [unchanged] = [row.get_text(" ") for row in page.select("details table.unchanged tr")[1:]]
    assert "own_k.yaml" in unchanged and "00_quickstart.ipynb" in unchanged


def studies_of(folder: Path) -> tuple[HandIns, dict[str, pd.DataFrame]]:
    """What is in a folder, and the slopes of each study in it that has no fault."""
    found = find_hand_ins(folder)

    def slopes(file: str, path: Path) -> pd.DataFrame:
        return study_tables(found, file, "", folder)["comparison"].assign(file=file)

    return found, found.read("studies", slopes)


def test_a_panel_shows_each_exponent_at_its_height(hand_ins):
    table = with_places(pd.concat(studies_of(hand_ins)[1].values(), ignore_index=True))
    rows = table.query("family == 'Pythia'")
    axes = Figure().subplots()
    axes.set(xscale="log", xlim=(0.1, 2_000), ylim=(0.05, 1))
    gids = draw_panel(axes, rows)
    drawn = {line.get_gid(): line.get_ydata() for line in axes.lines if line.get_gid()}
    assert len(drawn) == len(gids) == rows["file"].nunique() == 18
    for file, own in rows.groupby("file"):
        expected = (-own["slope"]).clip(0.05, 1)  # the edge, if it is beyond that
        np.testing.assert_allclose(drawn[gids[file]], expected)


# -- hand-ins that do harm --------------------------------------------------------------------

FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def harmed(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The tables and the page of a class with one good study and eight hostile hand-ins."""
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


def test_a_harmful_file_is_a_row_with_its_reason(harmed):
    out, reasons = harmed
    expected = {
        "broken.ipynb": "damaged",
        "folder": "is a link",
        "link_answers.md": "is a link",
        "many.ipynb": "100,000 answers; at most 200",
        "pipe.yaml": "a pipe",
        "root.yaml": "out of the class's folder",
        "sparse.ipynb": "60,000 MB; at most 20 MB",
        "waits.yaml": "a.json is a pipe",
    }
    assert sorted(reasons) == sorted(expected)
    for file, words in expected.items():
        assert words in reasons[file]
    assert set(pd.read_csv(out / "comparison.csv")["file"]) == {"ann.yaml"}
    assert (out / "class.html").stat().st_size < 200_000


def test_nothing_in_the_folder_is_run(harmed):
    assert not (harmed[0] / "run.txt").exists()
    assert "the student's template" not in (harmed[0] / "class.html").read_text("utf-8")


def test_no_link_is_followed(harmed):
    for file in harmed[0].iterdir():
        assert "of the teacher" not in file.read_text("utf-8")


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


def test_a_file_without_permission_is_a_row_too(tmp_path, monkeypatch):
    """Root may read anything, so the refusal is played."""
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.yaml").write_text(STUDY.format("Qwen", "code") + f"# {name}\n")
    opened = os.open

    def refuse(path: Path, *arguments: int) -> int:
        if Path(path).name == "bob.yaml":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)
    found, slopes = studies_of(tmp_path)
    assert found.faults == [("bob.yaml", "cannot be read (Permission denied)")]
    assert list(slopes) == ["ann.yaml"]


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
    assert "lists inside lists" in deep[1] and "no tokens" in none[1] and "999" in many[1]
    assert list(slopes) == ["ann.yaml"]


def test_a_name_and_an_answer_that_are_no_text(tmp_path):
    """A file name in Latin-1 with a sign for terminals, and half a character in an answer."""
    (tmp_path / os.fsdecode(b"ann\xe9\x1b.yaml")).write_text(STUDY.format("Qwen", "code"))
    write_cells(tmp_path / "ben_03.ipynb", ['answer_1 = "\ud800"'])
    found, slopes = studies_of(tmp_path)
    assert list(slopes) == ["ann\\udce9\\x1b.yaml"] and not found.faults
    answers = read_answers("ben_03.ipynb", tmp_path / "ben_03.ipynb")
    assert answers["answer"].tolist() == ['"\\ud800"']


# -- what counts as handed in -----------------------------------------------------------------


def test_templates_that_nobody_changed_are_no_failures(tmp_path):
    for student in ("work-ann", "work-bob"):
        shutil.copytree(ROOT / "params" / "class", tmp_path / student)
    found, slopes = studies_of(tmp_path)
    assert list(found.unchanged) == ["ann", "bob"] and not found.faults and not slopes


def write_summaries(folder: Path, summaries: list[Summary]) -> None:
    folder.mkdir(parents=True)
    for number, summary in enumerate(summaries):
        (folder / f"{number}.summary.npz").write_bytes(summary.to_bytes())


def slope_at(k: int, summaries: list[Summary], corpus: str) -> float:
    curve = rbp_curve(summaries, k, corpus, "Pythia")
    return fit_power_law(curve.S, curve.loss).slope


@pytest.fixture
def pythias(shipped) -> list[Summary]:
    return [one for one in shipped if one.manifest.family == "Pythia"]


def test_a_template_with_records_is_handed_in_and_compared_with_prose(tmp_path, pythias):
    """It is enough to call the text as the template does."""
    own = []
    for one in pythias:
        if one.manifest.corpus == "pocket:code":
            of_own_text = {"corpus": "my_text.jsonl", "fingerprint": "mine"}
            manifest = Manifest(**{**vars(one.manifest), **of_own_text})
            own.append(dataclasses.replace(one, manifest=manifest))
    for student in ("work-ann", "work-bob"):
        write_summaries(tmp_path / student / "own_text", own)
        shutil.copy(ROOT / "params" / "class" / "own_text.yaml", tmp_path / student)
    found, slopes = studies_of(tmp_path)
    assert list(slopes) == [f"work-{name}/own_text.yaml" for name in ("ann", "bob")]
    assert not found.faults and not found.notes  # though the two files have the same bytes
    row = slopes["work-ann/own_text.yaml"].set_index("quantity").loc["RBP_10"]
    assert row["slope"] == pytest.approx(slope_at(10, pythias, "pocket:code"), rel=1e-5)
    assert row["reference"] == pytest.approx(slope_at(10, pythias, "pocket:prose"), rel=1e-5)
    assert row["reference_text"] == "pocket:prose"


def test_own_sizes_are_compared_with_all_sizes(tmp_path, pythias):
    names = ("pythia-w32-l2", "pythia-w48-l3", "pythia-w64-l4")
    here = [one for one in pythias if one.manifest.corpus == "pocket:prose"]
    chosen = [one for one in here if one.manifest.model in names]
    write_summaries(tmp_path / "own_sizes", chosen)
    text = (ROOT / "params" / "class" / "own_sizes.yaml").read_text(encoding="utf-8")
    (tmp_path / "ann.yaml").write_text(text + "# mine\n", encoding="utf-8")
    row = studies_of(tmp_path)[1]["ann.yaml"].set_index("quantity").loc["RBP_1"]
    assert row["n"] == 3
    assert row["slope"] == pytest.approx(slope_at(1, chosen, "pocket:prose"), rel=1e-5)
    assert row["reference"] == pytest.approx(slope_at(1, here, "pocket:prose"), rel=1e-5)
    assert abs(row["difference"]) > 0.01


def test_a_study_that_was_not_run_is_told_its_command(tmp_path):
    folder = tmp_path / "work-ann"
    shutil.copytree(ROOT / "params" / "class", folder)
    for name in ("own_model", "own_sizes"):
        with (folder / f"{name}.yaml").open("a") as file:
            file.write("# mine\n")
    (folder / "own_model" / "models").mkdir(parents=True)  # the training was begun
    (_, trained), (_, measured) = studies_of(tmp_path)[0].faults
    assert "not been run, or is not done" in trained and "no records" in trained
    assert "`rbpkit reproduce own_model.yaml --out own_model --notebook 13`" in trained
    assert "`rbpkit sweep own_sizes.yaml --out own_sizes`" in measured


@pytest.mark.slow
def test_a_notebook_is_run_on_each_file(tmp_path):
    folder, out = tmp_path / "hand-ins", tmp_path / "class"
    folder.mkdir()
    (folder / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    old = out / "runs" / "ann.yaml" / "figures"
    old.mkdir(parents=True)
    (old / "stale.csv").write_text("a\n1\n")  # of an earlier run
    said = []
    assert run_class(folder, out, notebook="03", say=said.append) == {}
    assert said[0] == "ann.yaml: done" and not (out / "stale.csv").exists()
    points = pd.read_csv(out / "figure_3.csv").query("source == 'measured'")
    assert set(zip(points["file"], points["family"], strict=True)) == {("ann.yaml", "Qwen")}


def test_faults_before_anything_is_run(hand_ins, tmp_path, rbpkit, monkeypatch):
    (tmp_path / "empty").mkdir()
    for folder, notebook, words in (
        (tmp_path / "missing", "03", "no such folder"),
        (tmp_path / "empty", "03", "no parameter files"),
        (hand_ins, "03_section_4_1_k2", "did you mean 03_section_4_1_k1"),
    ):
        with pytest.raises(InputError, match=words):
            run_class(folder, tmp_path / "out", notebook=notebook)
    monkeypatch.setattr("rbpkit.plugins._entries", lambda group: {})
    plugins.offered.cache_clear()
    status, _, said = rbpkit("classroom", hand_ins, "--out", tmp_path / "out")
    assert status == 2 and "pip install rbpkit-pocket" in said  # without the laboratory
    assert not (tmp_path / "out").exists()
    plugins.offered.cache_clear()


# -- the lesson -------------------------------------------------------------------------------


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
