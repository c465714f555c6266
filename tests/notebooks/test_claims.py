"""Verdicts on the paper's claims: that none is forgotten, and what each of the four means."""

import re

import pandas as pd
from conftest import ROOT

from rbpkit_notebooks.claims import load_claims, read_claims, robust, verdict


def test_each_notebook_judges_each_of_its_claims_once():
    judged = []
    for path in (ROOT / "notebooks" / "py").glob("*.py"):
        found = re.findall(r'verdicts\.add\(\s*"(\d\d\.\d+)"', path.read_text(encoding="utf-8"))
        judged += [(path.name[:2], number) for number in found]
    claims = read_claims()
    assert sorted(judged) == sorted(zip(claims["notebook"], claims.index, strict=True))


def test_the_four_verdicts_and_what_turns_them():
    assert verdict(True, True) == "holds" and verdict(False, True) == "holds in part"
    assert verdict(False, False) == "does not hold" and verdict(None, True) == "cannot be told"
    assert robust(True, {"A": True}) == robust(None, "") == "robust"
    assert robust(False, {"A": True, "B": False, "C": True}) == "turns if A; or if C"
    assert robust(True, {"A": None}) == robust(True, "A") == "turns if A"


def test_the_committed_verdicts_are_on_the_claims_as_they_are_now():
    committed = load_claims(ROOT / "figures").set_index("number")
    claims = read_claims().loc[committed.index]
    pd.testing.assert_series_equal(committed["claim"], claims["words"], check_names=False)
    assert committed["kind"].eq(claims["kind"]).all()
