"""Verdicts on the paper's claims: what they need, what they write, and that none is forgotten."""

import re

import pandas as pd
import pytest
from conftest import ROOT

from rbpkit_notebooks.claims import Verdicts, load_claims, read_claims, robust, verdict


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


def test_verdicts_are_shown_and_written_and_read_again(tmp_path):
    verdicts = Verdicts("11", "", str(tmp_path))
    verdicts.add("11.1", holds=False, count=0, of=2, published="|a| > 1", turns_if="")
    with pytest.raises(ValueError, match=r"no verdict on 11\.2"):
        verdicts.table()
    for number, fault in (("11.1", "judged already"), ("99.1", "is not in")):
        with pytest.raises(ValueError, match=fault):
            verdicts.add(number, holds=True, turns_if="")
    verdicts.add("11.2", holds=None, measured="", turns_if="")
    [first, second] = verdicts.table().data.splitlines()[2:]
    assert "**does not hold** | robust |" in first and r"0 of 2; \|a\| > 1" in first
    for line in (first, second):
        assert re.sub(r"\\\|", "", line).count("|") == 7
    table = load_claims(tmp_path)
    assert table["number"].tolist() == ["11.1", "11.2"]
    assert table["count"].tolist() == ["0 of 2", ""]


def test_the_committed_verdicts_are_on_the_claims_as_they_are_now():
    committed = load_claims(ROOT / "figures").set_index("number")
    claims = read_claims().loc[committed.index]
    pd.testing.assert_series_equal(committed["claim"], claims["words"], check_names=False)
    assert committed["kind"].eq(claims["kind"]).all()
