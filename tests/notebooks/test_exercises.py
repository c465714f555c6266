"""The sealed answers of the exercises, and what is said of wrong ones."""

import re

import pytest
import yaml
from conftest import ROOT

from rbpkit_notebooks.exercises import check_of, digest_of_mistake, sealed_mistake

FILE = ROOT / "notebooks" / "rbpkit_notebooks" / "exercises.yaml"
EXERCISES = yaml.safe_load(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("twin", sorted((ROOT / "notebooks" / "py").glob("*.py")), ids=str)
def test_the_solutions_open_the_seals_and_nothing_else_does(twin, capsys):
    notebook = twin.name[:2]
    asked = re.findall(r"^answer_(\d) = None", twin.read_text(encoding="utf-8"), re.MULTILINE)
    [page] = (ROOT / "docs" / "solutions").glob(f"{notebook}_*.md")
    answers = re.findall(r"^answer_(\d) = (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(number) for number in asked} == set(EXERCISES[notebook])
    assert {int(number) for number, _ in answers} == set(EXERCISES[notebook])
    check = check_of(notebook)
    for number, right in answers:
        value = float(right)
        for given, said in ((value, "right"), (value + 12.5, "not yet"), (None, "not ans")):
            check(int(number), given)
            assert capsys.readouterr().out.startswith(f"{number}: {said}")


def test_an_exercise_says_which_mistake_was_made(capsys):
    check_of("04")(3, 8)
    assert "Only the part of the 3% that is not chance" in capsys.readouterr().out
    is_this = sealed_mistake(digest_of_mistake(176.2))  # two digits tell it
    assert is_this(176) and is_this(174) and not is_this(-176) and not is_this(17.6)
