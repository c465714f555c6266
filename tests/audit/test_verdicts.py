"""Claims: the words and margins of the file, the verdicts, and numbers of the paper by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbpkit import paper
from rbpkit.audit import cells as audit_cells
from rbpkit.audit import verdicts
from rbpkit.audit.verdicts import Claim, Finding, verdict
from rbpkit.errors import InputError

SHARE = Claim(
    "c", "law in S", "1", "cases", "share", "chosen after the number", ("10%", "20%"),
    {"pocket": "{n} were tried."}, words="so it is", versions="both",
)  # fmt: skip
VALUE = replace(SHARE, kind="value", margins=((0.8, 1.2), (0.9, 1.1)))
ASSUMED, LIMIT, LOOSE = (replace(VALUE, standing=s) for s in ("assumed", "limit", "loose"))


def counted(*counts, **more) -> Finding:
    return Finding("c", "pocket", "cells", counts, numbers={"n": 9}, **more)


def valued(value, low=None, high=None) -> Finding:
    return Finding("c", "pocket", "cells", value=value, low=low, high=high, n=9, numbers={"n": 9})


@pytest.mark.parametrize(
    ("claim", "finding", "word"),
    [
        (SHARE, counted((9, 9), (9, 9)), "holds"),
        (SHARE, counted((5, 9), (8, 9)), "in most cases"),
        (SHARE, counted((1, 9), (4, 9)), "in some cases"),
        (SHARE, counted((4, 8), (4, 8)), "in some cases"),  # half is not most
        (SHARE, counted((0, 9), (0, 9)), "contradicted"),
        (SHARE, counted((9, 9), (8, 9)), "in most cases"),  # all or most at each margin
        (SHARE, counted((9, 9), (5, 9)), "in most cases"),
        (SHARE, counted((9, 9), (4, 9)), "depends on the margin"),
        (SHARE, counted((5, 9), (4, 9)), "depends on the margin"),
        (SHARE, counted((9, 9), (0, 9)), "depends on the margin"),
        (SHARE, counted((1, 9), (0, 9)), "in some cases"),  # some or none at each margin
        (SHARE, counted((9, 9), blind=5), "cannot be told"),
        (SHARE, counted((5, 8), blind=5), "cannot be told"),
        (SHARE, counted((9, 9), blind=4), "holds"),
        (SHARE, counted((8, 8), blind=4), "holds"),  # half is not more than half
        (SHARE, counted((4, 9), blind=9), "in some cases"),  # what is found is found
        (SHARE, counted((8, 9), (3, 9), blind=9), "depends on the margin"),
        (SHARE, counted((8, 9)), "in most cases"),  # the other margin has no number here
        (VALUE, valued(1.0), "holds"),
        (VALUE, valued(0.9), "holds"),  # margins are closed
        (VALUE, valued(1.15), "depends on the margin"),
        (VALUE, valued(1.3), "contradicted"),
        (VALUE, valued(1.0, 0.85, 1.1), "holds"),
        (VALUE, valued(1.0, 0.7, 1.1), "undecided"),
        (VALUE, valued(1.3, 1.1, 1.5), "undecided"),
        (VALUE, valued(1.5, 1.3, 1.6), "contradicted"),
        (VALUE, valued(1.0, 0.85, 1.19), "holds"),  # the interval inside the widest margin
        (ASSUMED, valued(1.0), "assumption, holds"),
        (ASSUMED, valued(1.3), "assumption, contradicted"),
        (ASSUMED, valued(1.15), "assumption, depends on the margin"),
        (ASSUMED, valued(1.0, 0.7, 1.1), "assumption, undecided"),
        (LIMIT, valued(1.3), "not at these sizes"),
        (LIMIT, valued(1.0), "holds"),
        (LOOSE, valued(1.3), "depends on the reading"),
        (LOOSE, valued(1.15), "depends on the margin"),
        (replace(SHARE, standing="loose"), counted((0, 9), (0, 9)), "depends on the reading"),
        (replace(SHARE, standing="loose"), counted((9, 9), (0, 9)), "depends on the margin"),
        (replace(VALUE, standing="withdrawn"), valued(1.0), "withdrawn"),
    ],
)
def test_verdicts(claim, finding, word):
    assert verdict(claim, finding) == word and word in verdicts.VERDICTS


@given(st.lists(st.integers(0, 9), min_size=2, max_size=2))
def test_no_share_holds_by_one_margin_alone(cases):
    word = verdict(SHARE, counted(*((one, 9) for one in cases)))
    alone = {verdict(SHARE, counted((one, 9))) for one in cases}
    most = [2 * one > 9 for one in cases]
    assert (word == "depends on the margin") == (any(most) and not all(most))
    if word in ("holds", "contradicted"):
        assert alone == {word}
    elif word != "depends on the margin":
        assert word in alone
        assert all(most) == (word == "in most cases")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "hub"}, "source"),
        ({"counts": ()}, "counts or a value"),
        ({"value": 1.0}, "counts or a value"),
        ({"counts": ((3, 2),)}, "cases of at least one"),
        ({"blind": 3}, "3 blind cases"),
        ({"blind": -1}, "-1 blind cases"),
    ],
)
def test_a_finding_without_substance_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(counted((1, 2)), **change)
    for bad in ((float("nan"), None, None), (1.0, 1.1, 1.2)):
        with pytest.raises(InputError, match="finite number"):
            valued(*bad)


@pytest.mark.parametrize(
    "change",
    [
        *({"words": ""}, {"group": "besides"}, {"group": "x"}, {"margins": ()}, {"kind": "guess"}),
        *({"standing": "doubted"}, {"standing": "assumed"}),  # an assumption has a value
    ],
)
def test_a_claim_of_the_paper_has_its_words(change):
    with pytest.raises(InputError, match="claim c"):
        replace(SHARE, **change)


def test_margins_go_from_mild_to_strict():
    with pytest.raises(InputError, match="mild to strict"):
        replace(VALUE, margins=((0.9, 1.1), (0.8, 1.2)))


def test_a_number_shows_what_it_is_judged_by():
    assert verdicts.number(SHARE, counted((9, 9), (8, 9), blind=7)) == (
        "9, 8 of 9 cells (10%, 20%); the test cannot tell in 7 of 9"
    )
    assert verdicts.number(SHARE, counted((1, 1))) == "1 of 1 cell (10%)"
    half = replace(VALUE, margins=((0, 0.5), (0, 0.2)))
    assert verdicts.number(half, valued(0.3)) == "0.30 (9 cells; margins at most 0.5, at most 0.2)"
    endless = replace(VALUE, margins=((4, float("inf")),))
    assert (
        verdicts.number(endless, replace(valued(4.05), n=1)) == "4.05 (1 cell; margin at least 4)"
    )


def test_a_sentence_names_its_numbers_or_is_refused():
    assert verdicts.sentence(SHARE, counted((1, 2))) == "9 were tried."
    assert verdicts.sentence(SHARE, replace(counted((1, 2)), source="published")) == ""
    with pytest.raises(InputError, match="no number for"):
        verdicts.sentence(SHARE, replace(counted((1, 2)), numbers={}))


def test_every_entry_of_the_file_is_well_formed():
    known = verdicts.load_claims()
    assert {one.group for one in known.values()} == set(verdicts.GROUPS)
    for one in known.values():
        assert (
            one.where and one.test and one.sentences and set(one.sentences) <= set(verdicts.SOURCES)
        )
        assert one.margin in ("the paper's", "fixed before", "chosen after the number")
        if one.table == "paper":
            assert one.versions


def test_table_page_and_files_say_the_same(tmp_path):
    known = {"c": SHARE, "d": replace(VALUE, name="d", group="besides", words="")}
    second = replace(valued(1.15, 1.1, 1.2), claim="d", source="published")
    findings = [second, counted((1, 9), (8, 9))]
    table = verdicts.verdict_table(findings, known)
    assert list(table["name"]) == ["c", "d"]
    row = verdicts.as_markdown(table, "paper").splitlines()[-1]
    assert row == (
        "| “so it is” (`c`) | 1; both | cases; margin chosen after the number |  |"
        " **depends on the margin** 1, 8 of 9 cells (10%, 20%) |"
    )
    assert "1.15 [1.10, 1.20] (9 cells; margins 0.8 to 1.2, 0.9 to 1.1)" in verdicts.as_markdown(
        table, "besides"
    )
    verdicts.save_verdicts(findings, known, str(tmp_path))
    assert (tmp_path / "verdicts.md").read_text(encoding="utf-8") == verdicts.page(table)
    assert len(pd.read_csv(tmp_path / "verdicts.csv")) == 2
    content = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert [entry["findings"][0]["verdict"] for entry in content] == ["depends on the margin"] * 2
    verdicts.save_verdicts(findings, known, "")  # nowhere
    with pytest.raises(InputError, match="no claim 'e'"):
        verdicts.verdict_table([replace(findings[0], claim="e")], known)
    with pytest.raises(InputError, match="twice"):
        verdicts.verdict_table([findings[0], findings[0]], known)


def test_endless_margins_are_null():
    known = verdicts.load_claims()
    decades = Finding("five-orders", "published", "models", value=4.05, n=24)
    decades = replace(decades, numbers={"least": 1, "most": 2})
    content = json.loads(verdicts.claims_json([decades], known))
    assert [entry["name"] for entry in content] == list(known)
    assert content[0]["margins"] == [[4.5, None], [5.0, None]]


# -- the paper's numbers -----------------------------------------------------------------------


def test_published_cells_agree_with_the_printed_table():
    cells = audit_cells.published_cells()
    assert not cells.duplicated(["corpus", "family", "k"]).any()
    printed = paper.table1()
    both = printed.assign(k=printed["k"].replace("CE", "0").astype(int)).merge(
        cells, left_on=["dataset", "family", "k"], right_on=["corpus", "family", "k"]
    )
    assert len(both) == 168
    assert (both["alpha"] + both["slope"]).abs().max() < 0.0006
    assert (both["R2"] - both["r2"]).abs().max() < 0.0006


def test_steps_are_between_neighbours():
    cells = audit_cells.published_cells().query("family == 'OPT' and corpus == 'Wiki'")
    change = audit_cells.steps(cells, (100, 1, 10))
    assert list(zip(change["k"], change["to"], strict=True)) == [(1, 10), (10, 100)]
    alpha = cells.set_index("k")["alpha"]
    assert change["change"].tolist() == pytest.approx(
        [alpha[10] - alpha[1], alpha[100] - alpha[10]]
    )
