"""Intervals of exponents: what they cover, what is paired, and the paper's claims on its fits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import expit

from rbpkit import pocket
from rbpkit.audit import laws, uncertainty
from rbpkit.audit.resampling import document_weights, interval
from rbpkit.audit.verdicts import SOURCES, judge, load_claims, verdict_table
from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.store import load_summaries

S = np.geomspace(1e6, 1e9, 5)


@pytest.fixture(scope="module")
def shipped():
    return load_summaries(pocket.summaries_root())


@pytest.fixture(scope="module")
def boot(shipped):
    return uncertainty.bootstrap(shipped)


def slopes(loss: np.ndarray) -> np.ndarray:
    dx = np.log(S) - np.log(S).mean()
    return np.log(loss) @ dx / (dx @ dx)


# -- the bootstrap over documents covers what an infinite corpus would give -------------------


class Corpus:
    """Documents of 100 tokens; each is harder or easier for all models, and gains more or less
    with size: logit p = a_i + u_d + w_d z_i, the same u_d, w_d for every model.
    """

    tokens, level_sd, gain_sd = 100, 0.8, 0.25

    def __init__(self, rng: np.random.Generator, documents: int) -> None:
        self.rng, self.documents = rng, documents
        self.z = np.log(S) - np.log(S).mean()
        self.a = -0.5 + 0.12 * self.z

    def chances(self, documents: int) -> np.ndarray:
        u, w = self.rng.normal(size=(2, documents, 1)) * [[[self.level_sd]], [[self.gain_sd]]]
        return expit(self.a + u + w * self.z)

    def hits(self) -> np.ndarray:
        return self.rng.binomial(self.tokens, self.chances(self.documents))


def test_document_bootstrap_covers_the_infinite_corpus_and_the_naive_interval_does_not():
    rng = np.random.default_rng(0)
    corpus, trials, documents = Corpus(rng, 100), 400, 100
    truth = slopes(-np.log(corpus.chances(400_000).mean(axis=0)))
    weights = document_weights(documents, 400, 0)
    covered = naive = 0
    for _ in range(trials):
        hits = corpus.hits()
        total = documents * corpus.tokens
        low, high = interval(slopes(-np.log(weights @ hits / total)))
        covered += low <= truth <= high
        rbp = hits.sum(axis=0) / total
        cell = uncertainty.Cell(
            Curve("c", "f", "RBP_1", tuple("abcde"), S, rbp), np.full(5, total), np.ones((1, 5))
        )
        half = 1.96 * uncertainty.binomial_sd(cell)
        naive += abs(slopes(-np.log(rbp)) - truth) <= half
    # 95% of 400 trials: standard error 1.1 points; a percentile interval of 100 documents is a
    # little short, by a point or so
    assert 0.915 <= covered / trials <= 0.985
    assert naive / trials < 0.75


def test_naive_interval_is_too_wide_where_models_fail_on_the_same_tokens(boot):
    """Of what ships: most documents gain alike, and the shared tokens cancel in a slope."""
    table = uncertainty.slope_table(boot).query("quantity != 'CE'")
    ratio = table["documents_sd"] / table["binomial_sd"]
    assert ratio.median() < 0.9 and (ratio > 1).any()


# -- cells -------------------------------------------------------------------------------------


def test_draws_are_the_summaries_own_counts(shipped):
    """With every document drawn once the resample is the corpus itself."""
    chosen = [
        one
        for one in shipped
        if (one.manifest.corpus, one.manifest.family) == ("pocket:legal", "OPT")
    ]
    D = chosen[0].document.size
    once = np.ones((1, D))
    for curve, loss in uncertainty._losses(
        sorted(chosen, key=lambda one: one.manifest.S),
        "pocket:legal",
        "OPT",
        (1, 100),
        chosen[0].document,
        once,
    ):
        assert loss[0] == pytest.approx(curve.loss, rel=1e-12)


def test_all_cells_are_there_and_intervals_hold_their_alpha(boot):
    assert len(boot.cells) == 16 * 5 and not boot.missing
    table = uncertainty.slope_table(boot)
    assert table["alpha"].between(table["documents_low"], table["documents_high"]).all()
    assert table["alpha"].between(table["line_low"], table["line_high"]).all()
    cell = boot.cells["pocket:prose", "Pythia", "RBP_10"]
    fit = fit_power_law(cell.curve.S, cell.curve.loss, level=0.8)
    again = uncertainty.slope_table(boot, level=0.8).set_index(["corpus", "family", "quantity"])
    row = again.loc[("pocket:prose", "Pythia", "RBP_10")]
    assert (row["line_low"], row["line_high"]) == pytest.approx(fit.alpha_interval, rel=1e-12)


def test_the_same_draws_give_the_same_numbers(shipped, boot):
    legal = [one for one in shipped if one.manifest.corpus == "pocket:legal"]
    again = uncertainty.bootstrap(reversed(legal))
    for key, cell in again.cells.items():
        assert np.array_equal(cell.draws, boot.cells[key].draws)


def test_refusals(shipped):
    legal = [one for one in shipped if one.manifest.corpus == "pocket:legal"]
    with pytest.raises(InputError, match="no hits by document at k = 6"):
        uncertainty.bootstrap(legal, ks=(6,))
    other = dataclasses.replace(
        legal[0], manifest=dataclasses.replace(legal[0].manifest, fingerprint="other")
    )
    with pytest.raises(InputError, match="different text"):
        uncertainty.bootstrap([other, *legal[1:]])
    two = [one for one in legal if one.manifest.family == "OPT"][:2]
    lost = uncertainty.bootstrap(two, draws=10)
    assert not lost.cells and "at least 3 sizes" in lost.missing[0]
    with pytest.raises(InputError, match="between must be"):
        uncertainty.difference_table(lost, "sizes")


# -- differences and scatter --------------------------------------------------------------------


def planted(rng, family: str, alpha: float, sd: float, shared: np.ndarray) -> uncertainty.Cell:
    """A power law with alpha; the draws move all models by `shared` (B,) and each by sd."""
    loss = 5 * S**-alpha
    draws = loss * np.exp(shared[:, None] + rng.normal(0, sd, (shared.size, S.size)))
    noisy = np.exp(-loss * np.exp(rng.normal(0, 1e-3, S.size)))
    models = tuple(f"{family}{i}" for i in range(S.size))
    curve = Curve("c", family, "RBP_1", models, S, noisy)
    return uncertainty.Cell(curve, np.full(S.size, 10_000), draws)


def test_difference_of_families_is_paired_and_signed():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.2, 500)
    steep, flat = (
        planted(rng, name, alpha, 0.002, shared) for name, alpha in (("A", 0.1), ("B", 0.08))
    )
    found = uncertainty.difference(steep, flat)
    assert found["difference"] == pytest.approx(0.02, abs=0.002)
    assert 0 < found["documents_low"] < found["difference"] < found["documents_high"]
    assert 0 < found["line_low"] < found["line_high"]
    back = uncertainty.difference(flat, steep)
    assert back["documents_low"] == pytest.approx(-found["documents_high"], abs=1e-12)
    moved = dataclasses.replace(flat, curve=dataclasses.replace(flat.curve, corpus="d"))
    with pytest.raises(InputError, match="not paired"):
        uncertainty.difference(steep, moved)


def test_scatter_knows_noise_from_models_of_their_own():
    """On a line but for the documents p is uniform; with scatter of their own it is 0."""
    rng, ps = np.random.default_rng(0), []
    for _ in range(200):
        cell = planted(rng, "A", 0.1, 0.02, rng.normal(0, 0.3, 200))
        noisy = 5 * S**-0.1 * np.exp(rng.normal(0, 0.3) + rng.normal(0, 0.02, S.size))
        curve = dataclasses.replace(cell.curve, value=np.exp(-noisy))
        boot = uncertainty.Bootstrap(
            {("c", "A", "RBP_1"): dataclasses.replace(cell, curve=curve)}, ()
        )
        ps.append(uncertainty.scatter_table(boot)["p"].item())
    assert np.mean(np.array(ps) < 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(ps) == pytest.approx(0.5, abs=0.07)
    rough = 5 * S**-0.1 * np.exp([0.2, -0.2, 0.2, -0.2, 0.2])
    curve = dataclasses.replace(cell.curve, value=np.exp(-rough))
    boot = uncertainty.Bootstrap({("c", "A", "RBP_1"): dataclasses.replace(cell, curve=curve)}, ())
    row = uncertainty.scatter_table(boot).iloc[0]
    assert row["p"] == 0 and row["documents_sd"] == pytest.approx(0.02, rel=0.1)
    assert row["unpaired_sd"] == pytest.approx(np.hypot(0.3, 0.02), rel=0.1)


def test_pocket_scatter_is_the_models_own(boot):
    table = uncertainty.scatter_table(boot)
    long = table[table["corpus"] != "pocket:legal"]
    assert (long["residual_sd"] > long["documents_sd"]).mean() > 0.95
    assert (table["documents_sd"] < table["unpaired_sd"]).all()


# -- the paper's claims on its fits --------------------------------------------------------------


def test_published_cells_agree_with_the_printed_table():
    from rbpkit import paper

    cells = laws.published_cells()
    assert not cells.duplicated(["corpus", "family", "k"]).any() and (cells["k"] < 1000).all()
    printed = paper.table1().query("k in ['1', '10', '100', '500']")
    both = printed.assign(k=printed["k"].astype(int)).merge(
        cells, left_on=["dataset", "family", "k"], right_on=["corpus", "family", "k"]
    )
    assert len(both) == 96
    assert (both["alpha"] + both["slope"]).abs().max() < 0.0006
    assert (both["R2"] - both["r2"]).abs().max() < 0.0006


def test_steps_are_between_neighbours(shipped):
    opt = [one for one in shipped if one.manifest.family == "OPT"]
    cells = laws.measured_cells(opt, (100, 1, 10))
    change = laws.steps(cells)
    assert list(zip(change["k"], change["to"], strict=True)) == [(1, 10), (10, 100)] * 4
    one = cells.query("corpus == 'pocket:qa'").set_index("k")["alpha"]
    last = change.query("corpus == 'pocket:qa' and k == 10")["change"].item()
    assert last == pytest.approx(one[100] - one[10])


def test_findings_on_laws(shipped, boot):
    found = laws.findings_laws(shipped, boot)
    claims = load_claims()
    assert len(verdict_table(found, claims)) == len(found) == 16
    by = {(one.claim, one.source): one for one in found}
    assert {source for _, source in by} == set(SOURCES)
    assert by["law-at-1", "published"].value == pytest.approx(23 / 24)
    assert by["law-at-1", "published"].when == "all but GPT2 on HumanEval (k = 1)"
    assert by["five-orders", "published"].value == pytest.approx(4.0455, abs=1e-4)
    assert by["near-identical-exponents", "published"].value == pytest.approx(13 / 24)
    assert judge(claims["alpha-100"], by["alpha-100", "pocket"]) == "contradicted"
    assert "15 of 16 for these models" in by["near-identical-exponents", "pocket"].note
    assert [one.source for one in laws.findings_laws()] == ["published"] * 8
