"""Findings on the set-up: the numbers by hand, the verdicts that they lead to."""

import numpy as np
import pandas as pd
import pytest

from rbpkit import paper, pocket, setup_tables
from rbpkit.audit import precision, setup_claims, sizes
from rbpkit.audit.verdicts import judge, load_claims, verdict_table
from rbpkit.store import load_summaries

CORPORA = ["pocket:prose", "pocket:code", "pocket:qa", "pocket:legal"]


def _table(shift):
    """Three models, exact laws in float32; with bfloat16 logits the rules are `shift` apart."""
    rows = []
    for name, S in (("a", 10_000), ("b", 100_000), ("c", 1_000_000)):
        rbp = np.exp(-3 * S**-0.1)
        about = {"corpus": "x", "family": "F", "model": name, "S": S, "V": 9, "k": 1}
        about |= {"tokens": 100, "changed": 0.0, "CE": 3.0}
        for setting, tied, width in (("float32", 0.0, 0.0), ("bfloat16 logits", 0.2, shift)):
            rules = zip(precision.RULES, (rbp, rbp + width / 2, rbp + width), strict=True)
            rows.append(about | {"setting": setting, "tied": tied} | dict(rules))
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def summaries():
    return load_summaries(pocket.summaries_root())


@pytest.fixture(scope="module")
def findings(summaries):
    every = setup_claims.findings_setup(summaries, CORPORA, list(paper.FAMILIES), _table(0.004))
    return {(one.claim, one.source): one for one in every}


def test_each_claim_once_and_judged(findings):
    table = verdict_table(findings.values(), load_claims())
    assert len(table) == len(findings) == 7
    verdicts = {key: judge(load_claims()[key[0]], one) for key, one in findings.items()}
    assert verdicts["sample-size", "published"] == "contradicted"
    assert verdicts["vocabularies", "published"] == "contradicted"
    assert verdicts["cells-are-fits", "published"] == "holds when"
    assert verdicts["size-is-S", "published"] == "holds when"
    assert verdicts["size-is-S", "pocket"] == "holds"


def test_sample_size_counts_the_doubtful_in_favour(findings):
    one = findings["sample-size", "published"]
    assert (one.value, one.n) == (4 / 16, 16) and "by the smaller 2 of 16" in one.note
    ours = findings["sample-size", "pocket"]
    assert (ours.value, ours.n) == (0, 16)


def test_vocabularies_are_three_qwens():
    table = setup_claims.vocabulary_table()
    assert (len(table), (table["V"] == table["footnote"]).sum()) == (14, 3)
    assert setup_claims.vocabularies().value == 3 / 14
    assert ((table["footnote"] / table["V"] - 1).abs() < 0.01).all()


def test_footnote_is_that_of_the_set_up_notebook():
    pytest.importorskip("torch")
    models = setup_tables.model_table().dropna(subset=["V_footnote"])
    table = setup_claims.vocabulary_table()
    assert models["model"].tolist() == table["model"].tolist()
    np.testing.assert_array_equal(models["V_footnote"].to_numpy(int), table["footnote"])
    np.testing.assert_array_equal(models["V"].to_numpy(int), table["V"])


def test_cells_are_fits_finds_the_one(findings):
    one = findings["cells-are-fits", "published"]
    assert one.value == pytest.approx(167 / 168) and one.when.endswith("HumanEval, Qwen, k = 10000")


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0005, "holds"), (0.004, "holds when"), (0.02, "contradicted")]
)
def test_ties_are_judged_in_the_setting_with_most(shift, verdict):
    one = setup_claims.ties(_table(shift))
    assert one.value == pytest.approx(shift)
    assert judge(load_claims()["ties-do-not-matter"], one) == verdict


def test_size_is_S_is_the_share_of_cells(findings, summaries):
    one = findings["size-is-S", "published"]
    table = sizes.by_size(sizes.published_lines(), sizes.published_sizes())
    pivot = table.pivot_table(index=["corpus", "family", "quantity"], columns="size", values="R2")
    assert (one.value, one.n) == ((pivot["S"] > pivot["all"]).mean(), 64)


def test_without_summaries_or_table_the_published_half_stays():
    found = setup_claims.findings_setup([], [], [], None)
    assert {one.source for one in found} == {"published"} and len(found) == 4
    assert setup_claims.findings_setup([], [], [], pd.DataFrame()) == found
