"""The sealed answers of the exercises, and what is said of wrong ones."""

import re
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

import rbpkit_notebooks
from rbpkit_notebooks.exercises import check_of, digest_of_mistake, sealed_mistake

FILE = Path(rbpkit_notebooks.__file__).with_name("exercises.yaml")
EXERCISES = yaml.safe_load(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", EXERCISES)
def test_the_solutions_open_the_seals_and_nothing_else_does(notebook, capsys):
    [page] = (ROOT / "docs" / "solutions").glob(f"{notebook}_*.md")
    answers = re.findall(r"^answer_(\d) = (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(number) for number, _ in answers} == set(EXERCISES[notebook])
    check = check_of(notebook)
    for number, answer in answers:
        for given, said in (
            (answer, "right"),
            (float(answer) + 12.5, "not yet"),
            (None, "not ans"),
        ):
            check(int(number), given and float(given))
            assert capsys.readouterr().out.startswith(f"{number}: {said}")


def test_a_usual_mistake_is_told_by_two_digits():
    assert digest_of_mistake(176.2) == digest_of_mistake(180)
    is_this = sealed_mistake(digest_of_mistake(176.2))
    assert is_this(176) and is_this(174) and not is_this(-176) and not is_this(17.6)


def test_an_exercise_says_which_mistake_was_made(capsys):
    check_of("04")(3, 8)
    assert "Only the part of the 3% that is not chance" in capsys.readouterr().out
