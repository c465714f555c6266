"""Rules from pairs to longer windows: each finds what it was made for, and not the others'."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta as beta_distribution

from rbpkit import emergence
from rbpkit.audit import markov
from rbpkit.errors import InputError
from rbpkit.manifest import Manifest
from rbpkit.records import Records

VERSIONS = dict.fromkeys(("torch", "transformers", "tokenizers"), "1")


def table_of(documents, Ns=(5, 10)) -> pd.DataFrame:
    """`emergence.Windows.table` of documents of hits (rank 1) and misses (rank 200), k = 1."""
    rank = np.where(np.concatenate(documents), 1, 200).astype(np.int32)
    lengths = [len(one) for one in documents]
    document = np.repeat(np.arange(len(documents)), lengths).astype(np.int32)
    position = np.concatenate([np.arange(1, n + 1) for n in lengths]).astype(np.int32)
    about = {"model": "m", "revision": "", "family": "Pythia", "S": 1000, "V": 4096}
    about |= {"corpus": "c", "fingerprint": "f", "documents": len(documents), "max_length": 512}
    about |= {"dtype": "float32", "device": "cpu", "threads": 1, "batch_tokens": 1, "seed": 42}
    manifest = Manifest(**about, versions=VERSIONS, tokens=rank.size)
    zeros, nll = np.zeros_like(rank), (np.log(rank) + 0.1).astype(np.float32)
    summary = Records(document, position, zeros, rank - 1, zeros, nll, manifest).summary()
    return emergence.measured_windows([summary], ["c"], ["Pythia"], Ns, [1]).table


def chains(rng, documents: int, n: int, stay: float, enter: float) -> list[np.ndarray]:
    """Documents of two-state chains: the chance of a hit is `stay` after one, else `enter`."""
    hits = np.empty((n, documents), dtype=bool)
    hits[0] = rng.random(documents) < enter / (1 - stay + enter)
    for i in range(1, n):
        hits[i] = rng.random(documents) < np.where(hits[i - 1], stay, enter)
    return list(hits.T)


def ways(documents) -> pd.DataFrame:
    long = markov.judged(markov.predictions(table_of(documents)))
    return long.pivot(index="N", columns="rule", values="way")


# -- the rules ----------------------------------------------------------------------------------


def test_fixed_chance_is_the_moment_of_a_beta():
    for a, b in ((0.5, 0.2), (6, 4), (80, 20)):
        moments = [beta_distribution(a, b).moment(i) for i in (1, 2)]
        for N in (1, 2, 5, 20):
            expected = beta_distribution(a, b).moment(N)
            assert markov.fixed_chance(*moments, N) == pytest.approx(expected)
    assert markov.fixed_chance(0.6, 0.36, [1, 7]) == pytest.approx([0.6, 0.6**7])
    assert np.isnan(markov.fixed_chance(0.6, 0.35, 5))  # less than independent: no chance does so


def test_power_of_N_goes_through_one_and_two_tokens():
    p_1, p_2 = 0.6, 0.42
    assert markov.power_tokens(p_1, p_2, [1, 2]) == pytest.approx([p_1, p_2])
    assert markov.power_tokens(p_1, p_1**2, 7) == pytest.approx(p_1**7)
    b = np.log2(np.log(p_2) / np.log(p_1))
    assert emergence.effective_tokens(markov.power_tokens(p_1, p_2, 10), p_1) == pytest.approx(
        10**b
    )


def test_the_linear_rule_is_the_chain_itself():
    """N_eff = 1 + c (N - 1) with c from N = 2 says nothing that the chain of pairs does not."""
    p_1, p_2, N = 0.6, 0.42, np.array([2, 5, 10, 20])
    c = np.log(p_2) / np.log(p_1) - 1
    assert p_1 ** (1 + c * (N - 1)) == pytest.approx(emergence.markov(p_1, p_2, N))


# -- recovery -----------------------------------------------------------------------------------


def test_a_planted_chain_is_found_and_its_ten_tokens_predicted():
    rng = np.random.default_rng(0)
    documents = chains(rng, 400, 250, 0.85, 0.35)
    ten = markov.predictions(table_of(documents)).query("N == 10").iloc[0]
    assert ten["p"] == pytest.approx(0.7 * 0.85**9, rel=0.05)
    assert ten["markov"] == pytest.approx(ten["p"], rel=0.03)
    found = ways(documents)
    assert found["markov"].to_numpy() == pytest.approx(1, abs=0.04)
    assert (found["mixture"] > 1.15).all()  # chances that stay go on too long
    assert found[["documents", "shuffled"]].abs().to_numpy().max() < 0.1


def test_planted_documents_are_found_and_the_chain_falls_short():
    rng = np.random.default_rng(0)
    documents = [rng.random(100) < theta for theta in rng.beta(6, 4, 1500)]
    found = ways(documents)
    for rule in ("mixture", "documents", "shuffled"):
        assert found[rule].to_numpy() == pytest.approx(1, abs=0.06)
    assert (found["markov"] < 0.75).all() and (found["power"] < 0.95).all()


def test_order_in_short_documents_passes_for_different_documents_in_part():
    """A limit of the rule: a chain sets short documents apart as well, by chance of its start."""
    rng = np.random.default_rng(0)
    short, long = (ways(chains(rng, 90_000 // n, n, 0.8, 0.5)) for n in (30, 300))
    assert 0.2 < short["documents"][10] < 0.6
    assert abs(long["documents"][10]) < 0.1
    assert short["markov"].to_numpy() == pytest.approx(1, abs=0.06)  # the chain is found in both
    assert long["markov"].to_numpy() == pytest.approx(1, abs=0.06)


def test_independent_hits_leave_nothing_to_explain():
    """In 20 corpora: no cell is judged, since the share is within MIN_GAP of Eq. 6."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = table_of(list(rng.random((200, 100)) < 0.8), (5,))
        assert markov.judged(markov.predictions(table)).empty


def test_medians_count_who_is_closest():
    about = {"corpus": "c", "family": "f", "k": 1, "N": 5, "S": 1, "p": 0.1}
    rows = [
        {**about, "model": model, "rule": rule, "predicted": 0.1 * f, "factor": f, "way": f}
        for model, factors in (("a", (0.5, 0.9)), ("b", (0.8, 0.7)), ("d", (0.4, 1.1)))
        for rule, f in zip(("markov", "mixture"), factors, strict=True)
    ]
    found = markov.medians(pd.DataFrame(rows)).set_index("rule")
    assert list(found.index) == ["markov", "mixture"]
    assert list(found["closest"]) == [1, 2] and list(found["cells"]) == [3, 3]
    assert found.loc["markov", ["way", "low", "high"]].tolist() == [0.5, 0.4, 0.8]


def test_a_table_without_pairs_is_refused():
    table = table_of(chains(np.random.default_rng(0), 30, 30, 0.8, 0.4))
    with pytest.raises(InputError, match="N = 2"):
        markov.predictions(table[table["N"] != 2])


# -- published ----------------------------------------------------------------------------------


def test_published_chain_falls_short_and_chances_that_stay_come_closest():
    table = markov.predictions(emergence.published_windows().table)
    ten = table.query("model == 'pythia-12b' and k == 1 and N == 10").iloc[0]
    assert ten["markov"] == pytest.approx(0.0075, abs=5e-5)
    assert ten["p"] == pytest.approx(0.0378, abs=5e-5)
    assert ten["documents"] != ten["documents"]  # no counts by document: NaN
    judged = markov.judged(table[table["k"] == 1])
    found = markov.medians(judged, ("N",)).set_index(["rule", "N"])
    assert found.loc[("mixture", 10), "closest"] == found.loc[("mixture", 10), "cells"] == 10
    assert found.loc[("markov", 10), "way"] == pytest.approx(0.258, abs=0.001)
    assert found.loc[("mixture", 10), "way"] == pytest.approx(0.816, abs=0.001)
