"""Misses at large k: by kind, by frequency, by document, shared, and their trend with S."""

from __future__ import annotations

import numpy as np
import pytest
from test_audit_strata import TEXT, V, context, some_records

from rbpkit import paper
from rbpkit.audit import missed
from rbpkit.audit.strata import Context
from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.largek import Misses, published_misses
from rbpkit.sources import published_curves


def test_k_is_a_share_of_V():
    assert missed.missed_ks(4096) == (410, 2500)
    assert missed.missed_ks(40) == (4, 24)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(
            (" foo", "word start"),
            ("foo", "letters, no space before"),
            ("é", "letters, no space before"),
        ),
        *((" 12", "number"), ("7", "number"), (".", "punctuation"), (" --", "punctuation")),
        *(("):", "symbol"), (" =", "symbol"), ("\n   ", "whitespace"), (" ", "whitespace")),
        *(("\N{REPLACEMENT CHARACTER}", "part of a character"), ("_name", "symbol")),
    ],
)
def test_kinds(text, kind):
    assert missed.kind_of(text) == kind


def test_table_counts_every_token_once_per_stratification():
    records = some_records(np.random.default_rng(0))
    table = missed.missed_table(records, context())
    for k in missed.missed_ks(V):
        here = table[table["k"] == k]
        total = int((records.rank() > k).sum())
        for by in ("all", "frequency", "kind"):
            part = here[here["by"] == by]
            assert part["tokens"].sum() == records.tokens and part["missed"].sum() == total
            assert part["expected"].sum() == pytest.approx(total)


def test_misses_by_chance_are_as_expected_and_planted_ones_are_found():
    rng = np.random.default_rng(0)
    rank = rng.integers(1, V + 1, 20_000)  # ranks that know nothing of token and document
    records = some_records(rng, rank=rank, documents=100)
    table = missed.missed_table(records, context())
    large = table[(table["expected"] > 50) & (table["by"] != "document")]
    z = (large["missed"] - large["expected"]) / large["expected"] ** 0.5
    assert z.abs().max() < 3.5
    worst = table[table["by"] == "document"]
    assert (worst["missed"] / worst["expected"]).between(0.9, 1.1).all()

    bad = np.where(records.document < 10, V, 1)  # all misses in ten documents
    worst = missed.missed_table(some_records(rng, rank=bad, documents=100), context())
    worst = worst[worst["by"] == "document"]
    assert (worst["missed"] == 2000).all() and (worst["expected"] < 500).all()


def test_unknown_training_text_takes_the_targets_themselves():
    records = some_records(np.random.default_rng(0))
    own = np.bincount(records.target, minlength=V)
    table = missed.missed_table(records, Context(TEXT, None))
    assert table.equals(missed.missed_table(records, Context(TEXT, own)))


def test_shared_misses_of_independent_and_of_equal_models():
    rng = np.random.default_rng(0)
    rank = rng.integers(1, V + 1, (4, 20_000))
    target = rng.integers(0, V, 20_000)
    ladder = [some_records(rng, rank=r, S=10**i, target=target) for i, r in enumerate(rank, 3)]
    table = missed.shared_misses(ladder)
    assert (table["both"] / table["expected"]).between(0.9, 1.1).all()
    alike = [some_records(rng, rank=rank[0], S=10**i, target=target) for i in range(3, 7)]
    for row in missed.shared_misses(alike).itertuples():
        assert row.smallest == row.largest == row.both == row.all == row.any
    with pytest.raises(InputError, match="S ascending"):
        missed.shared_misses(ladder[::-1])


def test_over_families_is_the_median_of_jobs():
    table = missed.missed_table(some_records(np.random.default_rng(0)), context())
    table = table.assign(corpus="c", model="m")
    result = missed.over_families(table, "kind")
    one = result[result["stratum"] == "word start"].iloc[0]
    row = table[(table["stratum"] == "word start") & (table["k"] == one["k"])].iloc[0]
    assert one["times"] == pytest.approx(row["missed"] / row["expected"])
    assert result["of misses"].sum() == pytest.approx(2) and one["jobs"] == 1


# -- trend -----------------------------------------------------------------------------------

S = np.geomspace(1e5, 1e8, 5)


def counted(counts, tokens=100_000):
    counts = np.asarray(counts)
    curve = Curve("c", "f", "RBP_9", tuple("abcde")[: counts.size], S, 1 - counts / tokens)
    return Misses(curve, np.full(counts.size, tokens), counts)


def test_trend_z_is_normal_without_a_trend_and_finds_one():
    rng = np.random.default_rng(0)
    flat = [missed.trend_z(counted(rng.binomial(100_000, 0.002, 5))) for _ in range(1000)]
    assert abs(np.mean(flat)) < 3 / 1000**0.5 and np.std(flat) == pytest.approx(1, abs=0.07)
    rising = rng.binomial(100_000, 0.002 * (S / S[0]) ** 0.1)
    assert missed.trend_z(counted(rising)) > 8
    assert missed.trend_z(counted(rising[::-1])) < -8
    assert np.isnan(missed.trend_z(counted([0, 0, 0, 0, 0])))


def test_published_mechanisms():
    table = missed.mechanisms(
        [published_misses(published_curves(20_000)[key]) for key in
         (("Wiki", "GPT2"), ("Wiki", "Pythia"), ("HotpotQA", "GPT2"), ("AusLegal", "OPT"))]
    )  # fmt: skip
    assert table["misses"].iloc[0] == "265 381 607 704"
    assert table["trend z"].iloc[0] > 10 and table["trend z"].iloc[1] < -10
    assert table["mechanism"].tolist() == [
        "rising, no law",
        "falling, noise is enough",
        "no trend to fit",
        "falling, scatter beyond noise",
    ]
    assert len(missed.pocket_large_k([], [], paper.FAMILIES)) == 0
