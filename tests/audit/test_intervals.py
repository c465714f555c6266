"""Intervals of exponents: what they cover, what is paired; and the k with the narrowest."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rbpkit.audit import intervals
from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.pocket import ladders
from rbpkit.records import load_summaries
from rbpkit.sections.bootstrap import interval, resample_weights

CORPORA = ["pocket:prose", "pocket:legal"]

S = np.geomspace(1e6, 1e9, 5)


@pytest.fixture(scope="module")
def shipped():
    return load_summaries(ladders.summaries_root())


@pytest.fixture(scope="module")
def boot(shipped):
    return intervals.bootstrap(shipped)


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
        self.rng = rng
        self.z = np.log(S) - np.log(S).mean()
        self.a = -0.5 + 0.12 * self.z

    def chances(self, documents: int) -> np.ndarray:
        u, w = self.rng.normal(size=(2, documents, 1)) * [[[self.level_sd]], [[self.gain_sd]]]
        return expit(self.a + u + w * self.z)

    def hits(self) -> np.ndarray:
        return self.rng.binomial(self.tokens, self.chances(self.documents))


def test_bootstrap_of_modules_covers_and_that_of_documents_or_tokens_does_not():
    """Modules of one to nine documents, whose documents are alike: 95% of 400 trials, +- 3 errors.

    A percentile interval of 60 modules is a little short, by a point or two.
    """
    rng = np.random.default_rng(0)
    corpus, trials, modules = Corpus(rng, 60), 400, 60
    sizes = rng.integers(1, 10, modules)
    units = np.repeat(np.arange(modules), sizes)
    truth = slopes(-np.log(np.average(corpus.chances(400_000), axis=0)))
    by_module, by_document = (resample_weights(u, 400) for u in (units, np.arange(units.size)))
    covered = {"modules": 0, "documents": 0, "tokens": 0}
    total = units.size * corpus.tokens
    for _ in range(trials):
        hits = rng.binomial(corpus.tokens, corpus.chances(modules)[units])
        for name, weights in (("modules", by_module), ("documents", by_document)):
            tokens = (weights @ np.full(units.size, corpus.tokens))[:, None]
            low, high = interval(slopes(-np.log(weights @ hits / tokens)))
            covered[name] += low <= truth <= high
        rbp = hits.sum(axis=0) / total
        curve = Curve("c", "f", "RBP_1", tuple("abcde"), S, rbp)
        cell = intervals.Cell(curve, np.full(5, total), np.ones((1, 5)))
        half = 1.96 * intervals.binomial_sd(cell)
        covered["tokens"] += abs(slopes(-np.log(rbp)) - truth) <= half
    assert 0.90 <= covered["modules"] / trials <= 0.98
    assert covered["documents"] / trials < 0.75 and covered["tokens"] / trials < 0.5


def test_refusals(shipped):
    legal = [one for one in shipped if one.manifest.corpus == "pocket:legal"]
    assert "k = 6 is not counted" in intervals.bootstrap(legal, ks=(6,)).missing[0]
    manifest = dataclasses.replace(legal[0].manifest, fingerprint="other")
    other = dataclasses.replace(legal[0], manifest=manifest)
    assert "different text" in intervals.bootstrap([other, *legal[1:]]).missing[0]
    two = [one for one in legal if one.manifest.family == "OPT"][:2]
    lost = intervals.bootstrap(two, draws=10)
    assert not lost.cells and "at least 3 sizes" in lost.missing[0]
    with pytest.raises(InputError, match="between must be"):
        intervals.difference_table(lost, "sizes")


# -- cells -------------------------------------------------------------------------------------


def test_all_cells_are_there_and_intervals_hold_their_alpha(boot):
    assert len(boot.cells) == 16 * 5 and not boot.missing
    table = intervals.slope_table(boot)
    assert table["alpha"].between(table["documents_low"], table["documents_high"]).all()
    assert table["alpha"].between(table["line_low"], table["line_high"]).all()
    cell = boot.cells["pocket:prose", "Pythia", "RBP_10"]
    fit = fit_power_law(cell.curve.S, cell.curve.loss, level=0.8)
    again = intervals.slope_table(boot, level=0.8).set_index(["corpus", "family", "quantity"])
    row = again.loc[("pocket:prose", "Pythia", "RBP_10")]
    assert (row["line_low"], row["line_high"]) == pytest.approx(fit.alpha_interval, rel=1e-12)


def test_the_same_draws_give_the_same_numbers(shipped, boot):
    legal = [one for one in shipped if one.manifest.corpus == "pocket:legal"]
    again = intervals.bootstrap(reversed(legal))
    for key, cell in again.cells.items():
        assert np.array_equal(cell.draws, boot.cells[key].draws)


# -- differences and scatter --------------------------------------------------------------------


def planted(rng, family: str, alpha: float, sd: float, shared: np.ndarray) -> intervals.Cell:
    """A power law with alpha; the draws move all models by `shared` (B,) and each by sd."""
    loss = 5 * S**-alpha
    draws = loss * np.exp(shared[:, None] + rng.normal(0, sd, (shared.size, S.size)))
    noisy = np.exp(-loss * np.exp(rng.normal(0, 1e-3, S.size)))
    models = tuple(f"{family}{i}" for i in range(S.size))
    curve = Curve("c", family, "RBP_1", models, S, noisy)
    return intervals.Cell(curve, np.full(S.size, 10_000), draws)


def test_difference_of_families_is_paired_and_signed():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.2, 500)
    steep, flat = (
        planted(rng, name, alpha, 0.002, shared) for name, alpha in (("A", 0.1), ("B", 0.08))
    )
    found = intervals.difference(steep, flat)
    assert found["difference"] == pytest.approx(0.02, abs=0.002)
    assert 0 < found["documents_low"] < found["difference"] < found["documents_high"]
    assert 0 < found["line_low"] < found["line_high"]
    back = intervals.difference(flat, steep)
    assert back["documents_low"] == pytest.approx(-found["documents_high"], abs=1e-12)
    moved = dataclasses.replace(flat, curve=dataclasses.replace(flat.curve, corpus="d"))
    with pytest.raises(InputError, match="not paired"):
        intervals.difference(steep, moved)


def test_scatter_knows_noise_from_models_of_their_own():
    """On a line but for the documents p is uniform; with scatter of their own it is 0."""
    rng, ps = np.random.default_rng(0), []
    for _ in range(200):
        cell = planted(rng, "A", 0.1, 0.02, rng.normal(0, 0.3, 200))
        noisy = 5 * S**-0.1 * np.exp(rng.normal(0, 0.3) + rng.normal(0, 0.02, S.size))
        curve = dataclasses.replace(cell.curve, value=np.exp(-noisy))
        boot = intervals.Bootstrap(
            {("c", "A", "RBP_1"): dataclasses.replace(cell, curve=curve)}, ()
        )
        ps.append(intervals.scatter_table(boot)["p"].item())
    assert np.mean(np.array(ps) < 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(ps) == pytest.approx(0.5, abs=0.07)
    rough = 5 * S**-0.1 * np.exp([0.2, -0.2, 0.2, -0.2, 0.2])
    curve = dataclasses.replace(cell.curve, value=np.exp(-rough))
    boot = intervals.Bootstrap({("c", "A", "RBP_1"): dataclasses.replace(cell, curve=curve)}, ())
    row = intervals.scatter_table(boot).iloc[0]
    assert row["p"] == 0 and row["documents_sd"] == pytest.approx(0.02, rel=0.1)
    assert row["unpaired_sd"] == pytest.approx(np.hypot(0.3, 0.02), rel=0.1)


# -- the paper's claims on its fits --------------------------------------------------------------


# -- which k ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def legal_and_prose():
    every = load_summaries(ladders.summaries_root())
    return [one for one in every if one.manifest.corpus in CORPORA]


@pytest.mark.parametrize("n", [3, 5, 10])
def test_width_from_r2_is_that_of_the_fit(n):
    rng = np.random.default_rng(0)
    S = np.logspace(6, 10, n)
    fit = fit_power_law(S, 3 * S**-0.1 * np.exp(rng.normal(0, 0.05, n)))
    low, high = fit.alpha_interval
    width = intervals.relative_half_width(fit.r2, n)
    assert width == pytest.approx((high - low) / 2 / fit.alpha, rel=1e-9)
    assert (width < 1) == (low > 0)


def test_width_at_the_ends():
    assert intervals.relative_half_width(1.0, 4) == 0
    assert intervals.relative_half_width(0.0, 4) == np.inf
    assert intervals.relative_half_width(np.array([1.0, 0.5]), np.array([4, 5])).shape == (2,)
    for r2, n in ((0.5, 2), (1.1, 5), (-0.1, 5)):
        with pytest.raises(InputError):
            intervals.relative_half_width(r2, n)


def _planted(rng, T, scatter, ks, lines=24, n=8):
    """Lines whose losses c k^-0.45 S^-alpha(k) scatter by `scatter`, from T tokens each.

    alpha grows with k and the misses fall: more slope per scatter, then fewer tokens.
    """
    S = np.logspace(5, 8, n)
    rows = []
    for line in range(lines):
        for k in ks:
            loss = 5 * k**-0.45 * S ** -_alpha(k)
            share = np.exp(-loss * np.exp(rng.normal(0, scatter, n)))
            hits = rng.binomial(T, share)
            measured = -np.log(hits / T)
            if (measured > 0).all():
                fit = fit_power_law(S, measured)
                width = intervals.relative_half_width(fit.r2, n)
                rows.append((str(line), "F", k, n, fit.alpha, fit.r2, width, T - hits[-1], 0.0))
    return pd.DataFrame(rows, columns=intervals._TRADE)


def _alpha(k):
    return 0.06 + 0.02 * np.log10(k)


def _expected_width(T, scatter, k, n=8):
    """Relative error of alpha(k) by both noises: up to a factor that is the same for every k."""
    S = np.logspace(5, 8, n)
    loss = 5 * k**-0.45 * S ** -_alpha(k)
    sampling = np.expm1(loss) / T / loss**2  # variance of log(-log p), p = exp(-loss)
    return np.sqrt(np.mean(scatter**2 + sampling)) / _alpha(k)


@pytest.mark.parametrize("T", [3_000, 100_000, 10_000_000])
def test_best_k_is_near_the_planted_one(T):
    ks = (1, 3, 10, 30, 100, 300, 1000)
    expected = [_expected_width(T, 0.02, k) for k in ks]
    planted = ks[int(np.argmin(expected))]
    best, near = intervals.best_k(_planted(np.random.default_rng(0), T, 0.02, ks))
    # Widths are flat at their least: the k found is nearly as good, and within two of the grid.
    assert expected[ks.index(best)] <= 1.2 * min(expected)
    assert abs(ks.index(best) - ks.index(planted)) <= 2
    assert best in near


def test_planted_optimum_moves_with_the_tokens():
    """The three cases above have different answers: more tokens, larger k."""
    ks = (1, 3, 10, 30, 100, 300, 1000)
    best = [
        ks[int(np.argmin([_expected_width(T, 0.02, k) for k in ks]))]
        for T in (3_000, 100_000, 10_000_000)
    ]
    assert best == sorted(best) and best[0] < best[-1]


def test_best_k_needs_a_k_at_which_every_line_falls():
    table = _planted(np.random.default_rng(0), 1000, 0.02, (1, 3), lines=2)
    assert intervals.best_k(table)[0] in (1, 3)
    with pytest.raises(InputError, match="every line"):
        intervals.best_k(table.assign(alpha=-1.0))


def test_measured_numbers_and_what_is_missing(legal_and_prose):
    trade, missing = intervals.measured_trade(
        legal_and_prose, [*CORPORA, "none"], ["GPT2"], ks=(1, 10, 2500), draws=100
    )
    assert len(trade) == 6 and missing == ("not measured: GPT2 on none",)
    assert (trade["documents"] > 0).all()
    # Fewer documents, a wider spread: 90 against 434.
    by = trade.groupby("corpus")["documents"].median()
    assert by["pocket:legal"] > by["pocket:prose"]
    one = next(s for s in legal_and_prose if s.manifest.model == "gpt2-w80-l8")
    row = trade[(trade["corpus"] == one.manifest.corpus) & (trade["k"] == 10)].iloc[0]
    assert row["missed"] == one.tokens - one.ranks.at_most(10)
    assert {"falling", "documents"} <= set(intervals.by_k(trade).columns)
