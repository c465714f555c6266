"""Each number that a verdict is compared with decides something, and each verdict can turn."""

import ast
import copy
import itertools

import jupytext
import matplotlib
import pytest
from conftest import ROOT

SOURCES = [
    path for path in sorted((ROOT / "notebooks/py").glob("*.py")) if "01" <= path.name[:2] <= "11"
]
EXTREMES = (-1e9, 0, 1, 1e9)
NEVER_TURN = {
    "01.3": "`enough` is computed above, where it is drawn",
    "01.5": "two numbers are equal or not",
    "02.1": "two ranks are equal or not",
    "02.3": "the bound is log 2, by mathematics",
    "03.1": "BAR is set above, where it is drawn",
    "06.2": "signs of steps",
    "07.5": "Eq. 8 has this shape, by mathematics",
    "08.4": "as 02.3",
    "10.3": "mathematics",
    "11.1": "one term is larger than the others or not",
}
"""Claims whose verdict no number in its cell turns, and why."""


def thresholds(statement: ast.stmt) -> list[ast.Constant]:
    """The numbers that something is compared with, and those that have a name in capitals.

    Not those that only count models of a reader's own (`measured=`).
    """
    found = []
    of_measured: set[ast.AST] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.keyword) and node.arg == "measured":
            of_measured.update(ast.walk(node))
        if node in of_measured:
            continue
        values = list(node.comparators) if isinstance(node, ast.Compare) else []
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper():
            values.append(node.value)
        for value in values:
            if isinstance(value, ast.Constant) and type(value.value) in (int, float):
                found.append(value)
    return found


def judged(tree: ast.Module, names: dict) -> dict[str, dict]:
    """The rows of the verdicts so far, those of this cell included."""
    names = copy.copy(names)
    if "verdicts" in names:  # which is only added to
        names["verdicts"] = copy.copy(names["verdicts"])
        names["verdicts"].rows = dict(names["verdicts"].rows)
    exec(compile(tree, "a cell of verdicts", "exec"), names)
    return names["verdicts"].rows


def changed(tree: ast.Module, names: dict, numbers: list[ast.Constant]) -> list[dict[str, dict]]:
    """The same with all combinations of extreme numbers in these places."""
    kept, found = [number.value for number in numbers], []
    for values in itertools.product(EXTREMES, repeat=len(numbers)):
        for number, value in zip(numbers, values, strict=True):
            number.value = value
        try:
            found.append(judged(tree, names))
        except (ValueError, KeyError, IndexError, ZeroDivisionError, TypeError):
            continue  # nothing is left to count
        finally:
            for number, value in zip(numbers, kept, strict=True):
                number.value = value
    return found


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem[:2])
def test_each_threshold_decides(source, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    matplotlib.use("agg")
    names: dict = {"__name__": "__main__", "display": lambda *_: None}
    turned, all_of_them = set(), set()
    for cell in jupytext.read(source).cells:
        if cell.cell_type != "code" or cell.source.startswith(("%", "!")):
            continue
        if "verdicts.add(" in cell.source:
            tree = ast.parse(cell.source)
            before = judged(tree, names)
            all_of_them |= before.keys()
            for statement in tree.body:
                numbers = thresholds(statement)
                groups = [[number] for number in numbers]
                if len(numbers) == 2:
                    groups.append(numbers)
                for group in groups:
                    outcomes = changed(tree, names, group)
                    said = f"{ast.unparse(statement)}: {group[0].value} decides nothing"
                    assert any(rows != before for rows in outcomes), said
                    for claim, row in before.items():
                        verdict = row["verdict"]
                        if any(rows[claim]["verdict"] != verdict for rows in outcomes):
                            turned.add(claim)
        exec(compile(cell.source, str(source), "exec"), names)
    assert all_of_them - turned == NEVER_TURN.keys() & all_of_them
