"""Verdicts on the paper's claims: what they need, what they write, and that none is forgotten."""

import re

import pandas as pd
import pytest
from conftest import ROOT

from rbpkit.tools.study.notebooks import notebook_names
from rbpkit_notebooks.claims import Verdicts, load_claims, read_claims, robust, verdict

KINDS = {"main", "detail", "premise", "assumption"}
VERSIONS = {"both", "arXiv", "ICLR", "unchecked"}


def in_view() -> dict[str, str]:
    """The percent file of each notebook whose verdicts are in view."""
    sources = {}
    for name in notebook_names():
        text = (ROOT / "notebooks" / "py" / f"{name}.py").read_text(encoding="utf-8")
        if "Verdicts(" in text:
            sources[name[:2]] = text
    return sources


def test_each_claim_has_words_place_version_kind_and_test():
    claims = read_claims()
    assert claims.index.is_unique and set(claims["kind"]) == KINDS
    assert set(claims["version"]) <= VERSIONS
    assert claims[["words", "where", "test"]].map(len).min().min() > 0


@pytest.mark.parametrize("number", in_view())
def test_a_notebook_judges_each_of_its_claims(number):
    claims = read_claims()
    judged = re.findall(r'verdicts\.add\(\s*"(\d\d\.\d+)"', in_view()[number])
    assert sorted(judged) == sorted(claims.index[claims["notebook"] == number])


@pytest.mark.parametrize(
    ("holds", "part", "expected"),
    [
        (True, True, "holds"),
        (False, True, "holds in part"),
        (False, False, "does not hold"),
        (None, True, "cannot be told"),
    ],
)
def test_the_four_verdicts(holds, part, expected):
    assert verdict(holds, part) == expected


def test_a_verdict_is_robust_if_no_other_reading_turns_it():
    assert robust(True, {"A": True}) == robust(None, "") == "robust"
    assert robust(False, {"A": True, "B": False, "C": True}) == "turns if A; or if C"
    assert robust(True, {"A": None}) == robust(True, "A") == "turns if A"


def test_verdicts_are_shown_and_written_and_read_again(tmp_path):
    verdicts = Verdicts("11", "", str(tmp_path))
    verdicts.add("11.1", holds=False, count=0, of=2, published="|a| > 1", turns_if="")
    with pytest.raises(ValueError, match=r"no verdict on 11\.2"):
        verdicts.table()
    with pytest.raises(ValueError, match="judged already"):
        verdicts.add("11.1", holds=True, turns_if="")
    with pytest.raises(ValueError, match=r"99\.1 is not in"):
        verdicts.add("99.1", holds=True, turns_if="")
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
