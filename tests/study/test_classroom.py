"""For a class: the solutions pass the notebooks' own checks; a folder of parameter files runs."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law, rbp_curve
from rbpkit.records import load_summaries, slug
from rbpkit.study.classroom import class_figure, run_class
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


@pytest.fixture
def hand_ins(tmp_path) -> Path:
    """Copies of the templates, and six students' files, two of which can be run."""
    folder = tmp_path / "hand-ins"
    shutil.copytree(ROOT / "params" / "class", folder)
    (folder / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    (folder / "bob.yaml").write_text(STUDY.format("Qwen", "code") + "famlies: []\nseed: -1\n")
    (folder / "cy.yml").write_text(STUDY.format("OPT", "prose"))
    (folder / "dee.yaml").write_text(STUDY.format("OPT", "prose") + "records_dir: mine\n")
    (folder / "eve.yaml").write_text(
        STUDY.format("OPT", "prose") + "model_ids: [opt-w32-l2-seed7]\n"
    )
    (folder / "flo.yaml").write_text(STUDY.format("Llama", "prose"))
    (folder / "notes.txt").write_text("not a study")
    return folder


def test_a_broken_file_tells_every_fault_and_stops_no_other(hand_ins, tmp_path, rbpkit):
    out = tmp_path / "class"
    status, _, said = rbpkit("classroom", hand_ins, "--out", out)
    assert status == 1 and "2 ran, 4 failed, 4 not handed in" in said
    listed = pd.read_csv(out / "failures.csv")
    reasons = listed.groupby("file")["reason"].apply(list)
    assert list(reasons.index) == ["bob.yaml", "dee.yaml", "eve.yaml", "flo.yaml"]
    assert sorted(line.split()[0] for line in reasons["bob.yaml"]) == ["seed:", "unknown"]
    assert str(hand_ins / "mine") in reasons["dee.yaml"][0]  # next to its file
    assert "rbpkit reproduce" in reasons["eve.yaml"][0] and "Llama" in reasons["flo.yaml"][0]
    table = pd.read_csv(out / "comparison.csv")
    assert list(table["file"]) == ["ann.yaml"] * 3 + ["cy.yml"] * 3
    assert list(table["quantity"]) == ["CE", "RBP_1", "RBP_10"] * 2
    curve = rbp_curve(load_summaries(paths.SUMMARIES), 1, "pocket:code", "Qwen")
    assert table.loc[1, "slope"] == pytest.approx(
        fit_power_law(curve.S, curve.loss).slope, rel=1e-5
    )
    assert (out / "comparison.png").is_file()
    [axes] = class_figure(table).axes
    drawn = {one.get_label(): one.lines[0].get_ydata() for one in axes.containers}
    ann = drawn["ann: Qwen, pocket:code"].astype(float)
    np.testing.assert_allclose(ann, -table["slope"][:3])


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


def test_templates_that_nobody_changed_are_no_failures(tmp_path):
    shutil.copytree(ROOT / "params" / "class", tmp_path / "hand-ins")
    said = []
    assert run_class(tmp_path / "hand-ins", tmp_path / "class", say=said.append) == {}
    assert sum("not handed in (a template, not changed)" in line for line in said) == 4
    assert (tmp_path / "class" / "failures.csv").read_text() == "file,reason\n"


def test_own_sizes_are_compared_with_all_sizes(tmp_path, monkeypatch, shipped):
    names = ("pythia-w32-l2", "pythia-w48-l3", "pythia-w64-l4")
    here = [one for one in shipped if one.manifest.corpus == "pocket:prose"]
    chosen = [one for one in here if one.manifest.model in names]
    monkeypatch.setattr("rbpkit.study.classroom.load_summaries", lambda folder: chosen)
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
    for folder, notebook, words in (
        (tmp_path, "03", "no parameter files"),
        (hand_ins, "03_section_4_1_k2", "did you mean 03_section_4_1_k1"),
    ):
        with pytest.raises(InputError, match=words):
            run_class(folder, tmp_path / "out", notebook=notebook)
    assert not (tmp_path / "out").exists()
