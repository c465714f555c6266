"""Verdicts: margins, the four words, and what cannot be judged."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbpkit.audit.resampling import document_weights, interval
from rbpkit.audit.verdicts import (
    VERDICTS,
    Claim,
    Finding,
    claims_json,
    judge,
    load_claims,
    verdict_table,
)
from rbpkit.errors import InputError
from rbpkit.figures_verdicts import as_markdown, save_verdicts

CLAIM = Claim("c", "1", "says", "number", holds=(0.9, 1.0), partly=(0.8, 1.0))


def found(value, low=None, high=None, when="where it does"):
    return Finding("c", "pocket", value, 7, "cells", low=low, high=high, when=when)


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (found(0.95), "holds"),
        (found(0.9), "holds"),  # margins are closed
        (found(0.85), "holds when"),
        (found(0.8), "holds when"),
        (found(0.79), "contradicted"),
        (found(0.95, 0.85, 0.99), "holds"),
        (found(0.85, 0.81, 0.95), "holds when"),
        (found(0.95, 0.7, 1.0), "not supported"),  # the interval reaches outside
        (found(0.75, 0.6, 0.85), "not supported"),
        (found(0.6, 0.5, 0.7), "contradicted"),
    ],
)
def test_the_four_verdicts(finding, verdict):
    assert judge(CLAIM, finding) == verdict


@given(st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_every_finding_gets_one_verdict_and_only_inside_holds(numbers):
    low, value, high = sorted(numbers)
    verdict = judge(CLAIM, found(value, low, high))
    assert verdict in VERDICTS
    if verdict == "holds":
        assert 0.9 <= value <= 1 and 0.8 <= low and high <= 1
    if verdict == "contradicted":
        assert high < 0.8 or low > 1


def test_a_condition_that_is_not_named_is_the_distance_from_the_margin():
    table = verdict_table([found(0.85, when="")], {"c": CLAIM})
    assert list(table["when"]) == ["0.85 will do where the claim asks for 0.9 to 1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "hub"}, "source"),
        ({"value": float("nan")}, "finite number"),
        ({"n": 0}, "n of at least 1"),
        ({"low": 0.1}, "two ends"),
        ({"low": 0.96, "high": 0.99}, "outside its interval"),
    ],
)
def test_a_finding_without_substance_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(found(0.95), **change)


def test_margins_must_nest():
    with pytest.raises(InputError, match="within `partly`"):
        replace(CLAIM, holds=(0.7, 1.0))


def test_claims_of_the_paper_are_well_formed():
    claims = load_claims()
    assert len(claims) >= 25
    for name, claim in claims.items():
        assert claim.name == name and claim.section and claim.claim and claim.test


def test_table_follows_the_claims_and_published_comes_first():
    claims = load_claims()
    first, second = list(claims)[:2]
    findings = [
        Finding(second, "published", 1.0, 24, "models"),
        Finding(first, "pocket", 0.0, 16, "cells"),
        Finding(first, "published", 1.0, 16, "cells"),
    ]
    table = verdict_table(findings, claims)
    assert list(zip(table["name"], table["source"], strict=True)) == [
        (first, "published"),
        (first, "pocket"),
        (second, "published"),
    ]
    assert list(table["verdict"]) == ["holds", "contradicted", "holds"]


def test_a_condition_is_shown_only_where_it_is_one():
    claims = {"c": CLAIM}
    assert list(verdict_table([found(0.85)], claims)["when"]) == ["where it does"]
    assert list(verdict_table([found(0.95)], claims)["when"]) == [""]
    assert list(verdict_table([found(0.5)], claims)["when"]) == [""]


def test_markdown_and_files_say_the_same(tmp_path):
    claims = {"c": CLAIM}
    findings = [found(0.85, 0.81, 0.95), replace(found(0.4), source="published")]
    text = as_markdown(verdict_table(findings, claims))
    assert text.splitlines()[-1] == (
        "| 1 | says (`c`) | number | **contradicted** 0.40 (7) |"
        " **holds when** 0.85 [0.81, 0.95] (7): where it does |"
    )
    save_verdicts(findings, claims, str(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "claims.json",
        "verdicts.csv",
        "verdicts.md",
    ]
    assert (tmp_path / "verdicts.md").read_text(encoding="utf-8") == text
    save_verdicts(findings, claims, "")  # nowhere


def test_unknown_and_repeated_claims_are_refused():
    claims = {"c": CLAIM}
    with pytest.raises(InputError, match="no claim 'd'"):
        verdict_table([replace(found(0.95), claim="d")], claims)
    with pytest.raises(InputError, match="twice"):
        verdict_table([found(0.95), found(0.9)], claims)


def test_claims_json_is_plain_json_with_every_claim():
    claims = load_claims()
    name = "five-orders"  # its margins have no upper end
    content = json.loads(claims_json([Finding(name, "published", 4.05, 24, "models")], claims))
    assert [entry["name"] for entry in content] == list(claims)
    (entry,) = (entry for entry in content if entry["name"] == name)
    assert entry["holds"] == [5.0, None]
    assert entry["findings"][0]["verdict"] == "contradicted"


def test_draws_are_the_same_for_all_models_and_add_up():
    weights = document_weights(20, draws=50)
    assert weights.shape == (50, 20) and (weights.sum(axis=1) == 20).all()
    assert np.array_equal(weights, document_weights(20, draws=50))
    assert not np.array_equal(weights, document_weights(20, draws=50, seed=1))


def test_bootstrap_interval_covers_a_mean_at_its_rate():
    """Documents with normal means: 200 corpora of 100 documents, 95% intervals of the mean."""
    rng = np.random.default_rng(0)
    weights = document_weights(100, draws=500)
    covered = 0
    for _ in range(200):
        values = rng.normal(size=100)
        low, high = interval(weights @ values / 100)
        covered += low <= 0 <= high
    assert 0.90 <= covered / 200 <= 0.99  # binomial SD 0.015; the percentile interval is near 94%


@pytest.mark.parametrize(("documents", "draws"), [(1, 10), (0, 10), (5, 0)])
def test_bad_bootstrap_is_refused(documents, draws):
    with pytest.raises(InputError):
        document_weights(documents, draws=draws)


def test_interval_refuses_what_is_not_finite():
    with pytest.raises(InputError):
        interval(np.array([0.0, np.nan]))
