"""For a class: the solutions pass the notebooks' own checks; a folder of parameter files runs."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law, rbp_curve
from rbpkit.pocket import ladders
from rbpkit.records import load_summaries
from rbpkit.study import classroom
from rbpkit.study.notebooks import from_twin, notebook_names

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "docs" / "solutions"
ANSWER = re.compile(r"^answer_(\d+) = (.+)$", re.MULTILINE)
CHECKED = re.compile(r"^(\d+): (.*)$", re.MULTILINE)


def solved(name: str) -> dict[int, str]:
    """Number -> value, as it stands in a python block of a notebook's solutions."""
    text = (SOLUTIONS / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found = [pair for block in blocks for pair in ANSWER.findall(block)]
    assert len(found) == len(dict(found)), "an answer is given twice"
    return {int(number): value.split("  #")[0].strip() for number, value in found}


def code_cells(name: str) -> list[str]:
    return [cell.source for cell in from_twin(name).cells if cell.cell_type == "code"]


def asked(name: str) -> dict[int, str]:
    """Number -> comment of every `answer_N = None` of a notebook."""
    source = "\n".join(code_cells(name))
    return {int(n): value for n, value in re.findall(r"answer_(\d+) = (None.*)", source)}


def replies(name: str, answers: dict[int, str]) -> dict[int, str]:
    """What a notebook's own checks say of these answers."""
    matplotlib.use("Agg")
    source = "\n".join(code_cells(name))
    for number, value in answers.items():
        lines = re.compile(rf"^answer_{number} = None", re.MULTILINE)
        source = lines.sub(f"answer_{number} = {value}", source)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(source, name, "exec"), {"__name__": name})
    return {int(number): verdict for number, verdict in CHECKED.findall(said.getvalue())}


# -- the solutions ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_has_its_solution(name):
    answers = solved(name)
    assert set(answers) == set(asked(name)) and answers
    for value in answers.values():
        ast.literal_eval(value)


def test_the_page_counts_the_exercises():
    page = (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| \[\d\d\]\(\.\./notebooks/(\w+)\.ipynb\) \| (\d+) \|", re.MULTILINE)
    rows = row.findall(page)
    assert {name: int(n) for name, n in rows} == {n: len(asked(n)) for n in notebook_names()}


def test_no_notebook_shows_the_solutions():
    for path in (ROOT / "notebooks" / "py").glob("*.py"):
        assert "solutions" not in path.read_text(encoding="utf-8")


def test_a_wrong_answer_is_seen():
    right = solved("11_appendix_C_derivation")
    seen = replies("11_appendix_C_derivation", right | {1: "0.123"})
    assert seen == dict.fromkeys(right, "right") | {1: "not yet"}


@pytest.mark.slow
@pytest.mark.parametrize("name", notebook_names())
def test_every_solution_is_right(name):
    answers = solved(name)
    assert replies(name, answers) == dict.fromkeys(answers, "right")


# -- a folder of parameter files -------------------------------------------------------------

STUDY = 'source: pocket\nfamilies: [{}]\ncorpus_names: ["pocket:{}"]\nks: [1, 10]\n'


@pytest.fixture
def hand_ins(tmp_path) -> Path:
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    (folder / "ann.yaml").write_text(STUDY.format("Qwen", "code"))
    (folder / "bob.yaml").write_text(STUDY.format("Qwen", "code").replace("ilies", "iles"))
    (folder / "cy.yml").write_text(STUDY.format("OPT", "prose"))
    (folder / "dee.yaml").write_text(STUDY.format("OPT", "prose") + "records_dir: mine\n")
    (folder / "eve.yaml").write_text(STUDY.format("OPT", "prose") + "train_anew: [opt-w32-l2]\n")
    (folder / "flo.yaml").write_text(STUDY.format("Llama", "prose"))
    (folder / "notes.txt").write_text("not a study")
    return folder


@pytest.fixture
def no_kernel(monkeypatch):
    """In the place of papermill: writes a table of the parameters, as a notebook would."""
    calls = []

    def run(name, values, out):
        calls.append((name, values))
        if values["records_dir"]:
            raise InputError(f"{values['records_dir']}: no such folder")
        figures = Path(values["figures_dir"])
        figures.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"family": values["families"], "value": 1.5}).to_csv(
            figures / "figure_3.csv", index=False
        )

    monkeypatch.setattr(classroom, "run", run)
    return calls


def test_one_broken_file_does_not_stop_the_others(hand_ins, no_kernel, tmp_path):
    out = tmp_path / "class"
    result = classroom.run_class(hand_ins, out, notebook="03")
    assert result.done == ("ann.yaml", "cy.yml")
    reasons = result.failures
    assert set(reasons) == {"bob.yaml", "dee.yaml", "eve.yaml", "flo.yaml"}
    assert "did you mean families" in reasons["bob.yaml"]
    assert str(hand_ins / "mine") in reasons["dee.yaml"]  # beside its file, not beside the notebook
    assert "rbpkit reproduce" in reasons["eve.yaml"] and "Llama" in reasons["flo.yaml"]
    assert {name for name, _ in no_kernel} == {"03_section_4_1_k1"}
    listed = pd.read_csv(out / "failures.csv")
    assert dict(zip(listed["file"], listed["reason"], strict=True)) == reasons
    table = pd.read_csv(out / "figure_3.csv")
    assert table.to_dict("list") == {
        "file": ["ann.yaml", "cy.yml"],
        "family": ["Qwen", "OPT"],
        "value": [1.5, 1.5],
    }
    compared = pd.read_csv(out / "comparison.csv")
    assert list(compared["file"]) == ["ann.yaml"] * 3 + ["cy.yml"] * 3
    assert list(compared["quantity"]) == ["CE", "RBP_1", "RBP_10"] * 2
    one = compared.iloc[1]
    curve = rbp_curve(load_summaries(ladders.summaries_root()), 1, "pocket:code", "Qwen")
    assert one["slope"] == pytest.approx(fit_power_law(curve.S, curve.loss).slope, rel=1e-5)


def test_without_a_notebook_there_are_the_table_and_the_figure(hand_ins, no_kernel, tmp_path):
    result = classroom.run_class(hand_ins, tmp_path / "class")
    assert result.done == ("ann.yaml", "cy.yml") and not no_kernel
    found = {path.name for path in (tmp_path / "class").iterdir()}
    assert found == {"comparison.csv", "comparison.png", "failures.csv"}
    table = result.tables["comparison"]
    assert (table["low"] < table["slope"]).all() and (table["slope"] < table["high"]).all()
    _, against_k = classroom.class_figure(table).axes
    drawn = {
        one.get_label(): one.lines[0].get_ydata().astype(float) for one in against_k.containers
    }
    rows = table[(table["file"] == "ann.yaml") & (table["quantity"] != "CE")]
    np.testing.assert_allclose(drawn["ann: Qwen, pocket:code"], -rows["slope"])


def test_tables_of_an_earlier_run_are_not_gathered(hand_ins, no_kernel, tmp_path):
    out = tmp_path / "class"
    old = out / "runs" / "ann.yaml" / "figures"
    old.mkdir(parents=True)
    (old / "stale.csv").write_text("a\n1\n")
    assert set(classroom.run_class(hand_ins, out, notebook="03").tables) == {
        "comparison",
        "figure_3",
    }


def test_without_a_failure_the_list_is_empty(hand_ins, no_kernel, tmp_path):
    for name in ("bob", "dee", "eve", "flo"):
        (hand_ins / f"{name}.yaml").unlink()
    classroom.run_class(hand_ins, tmp_path / "class", notebook="03_section_4_1_k1")
    assert (tmp_path / "class" / "failures.csv").read_text() == "file,reason\n"


def test_faults_before_anything_is_run(hand_ins, no_kernel, tmp_path):
    for folder, notebook, words in (
        (tmp_path / "none", "03", "no such folder"),
        (tmp_path, "03", "no parameter files"),
        (hand_ins, "99", "no notebook '99'"),
        (hand_ins, "03_section_4_1_k2", "did you mean 03_section_4_1_k1"),
    ):
        with pytest.raises(InputError, match=words):
            classroom.run_class(folder, tmp_path / "out", notebook=notebook)
    assert not no_kernel and not (tmp_path / "out").exists()


def test_the_command(rbpkit, hand_ins, no_kernel, tmp_path):
    status, out, _ = rbpkit("classroom", hand_ins, "--notebook", 3, "--out", tmp_path / "class")
    assert status == 1 and "2 ran, 4 failed" in out


@pytest.mark.slow
def test_a_class_for_real(hand_ins, tmp_path):
    result = classroom.run_class(hand_ins, tmp_path / "class", notebook="03")
    assert result.done == ("ann.yaml", "cy.yml")
    points = result.tables["figure_3"].query("source == 'measured'")
    assert set(zip(points["file"], points["family"], strict=True)) == {
        ("ann.yaml", "Qwen"),
        ("cy.yml", "OPT"),
    }


# -- models of one's own ---------------------------------------------------------------------


def assert_same_but_for_last_digits(printed: str, page: str):
    """Words are equal, numbers within 0.001: a rank may differ on another processor."""
    for here, there in zip(printed.split(), page.split(), strict=True):
        try:
            assert float(here) == pytest.approx(float(there), abs=1e-3)
        except ValueError:
            assert here == there


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_the_page_on_own_models_does_what_it_prints(tmp_path):
    page = (ROOT / "docs" / "own_models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    [shell] = [text for kind, text in blocks if kind == "sh"]
    [code] = [text for kind, text in blocks if kind == "python"]
    _, table, said = [text for kind, text in blocks if kind == "text"]
    models = [run.name for run in ladders.ladder_runs(ladders.family_named("Pythia"))][:5]
    for number, name in enumerate(models, 1):
        source = ladders.models_root() / name
        shutil.copytree(source, tmp_path / "checkpoints" / f"mine-{number}")
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    look = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 1200}
    look["env"] = {**os.environ, "PATH": path}
    run = subprocess.run(["sh", "-ec", shell], **look)
    assert run.returncode == 0, run.stderr
    printed = run.stdout.strip().splitlines()[-len(table.strip().splitlines()) :]
    assert_same_but_for_last_digits("\n".join(printed), table)
    assert (tmp_path / "own_figures" / "figure_3.png").is_file()
    run = subprocess.run([sys.executable, "-c", code], **look)
    assert run.returncode == 0, run.stderr
    assert_same_but_for_last_digits(run.stdout, said)
    assert (tmp_path / "own_figures" / "law.csv").is_file()
