"""The choice of k: widths from R2, a planted best k, and RBP at every k from a summary."""

import numpy as np
import pandas as pd
import pytest

from rbpkit import paper, pocket
from rbpkit.audit import choice_of_k as choice
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.store import load_summaries

CORPORA = ["pocket:prose", "pocket:legal"]


@pytest.fixture(scope="module")
def summaries():
    every = load_summaries(pocket.summaries_root())
    return [one for one in every if one.manifest.corpus in CORPORA]


@pytest.mark.parametrize("n", [3, 5, 10])
def test_width_from_r2_is_that_of_the_fit(n):
    rng = np.random.default_rng(0)
    S = np.logspace(6, 10, n)
    fit = fit_power_law(S, 3 * S**-0.1 * np.exp(rng.normal(0, 0.05, n)))
    low, high = fit.alpha_interval
    width = choice.relative_half_width(fit.r2, n)
    assert width == pytest.approx((high - low) / 2 / fit.alpha, rel=1e-9)
    assert (width < 1) == (low > 0)


def test_width_at_the_ends():
    assert choice.relative_half_width(1.0, 4) == 0
    assert choice.relative_half_width(0.0, 4) == np.inf
    assert choice.relative_half_width(np.array([1.0, 0.5]), np.array([4, 5])).shape == (2,)
    for r2, n in ((0.5, 2), (1.1, 5), (-0.1, 5)):
        with pytest.raises(InputError):
            choice.relative_half_width(r2, n)


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
                width = choice.relative_half_width(fit.r2, n)
                rows.append((str(line), "F", k, n, fit.alpha, fit.r2, width, T - hits[-1], 0.0))
    return pd.DataFrame(rows, columns=choice._COLUMNS)


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
    best, near = choice.best_k(_planted(np.random.default_rng(0), T, 0.02, ks))
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
    assert choice.best_k(table)[0] in (1, 3)
    with pytest.raises(InputError, match="every line"):
        choice.best_k(table.assign(alpha=-1.0))


def test_published_numbers():
    trade = choice.published_trade()
    assert len(trade) == 64 + 18
    one = trade.query("corpus == 'Wiki' and family == 'GPT2' and k == 20000").iloc[0]
    assert one["missed"] == 704 and one["alpha"] < 0
    table = choice.table1_trade().set_index("k")
    assert table.loc["10000", "n"] == 23 and table.loc["1", "n"] == 24
    printed = paper.table1().query("k == '100'")["r2"].median()
    assert table.loc["100", "R2"] == printed


def test_measured_numbers_and_what_is_missing(summaries):
    trade, missing = choice.measured_trade(
        summaries, [*CORPORA, "none"], ["GPT2"], ks=(1, 10, 2500), draws=100
    )
    assert len(trade) == 6 and missing == ("not measured: GPT2 on none",)
    assert (trade["documents"] > 0).all()
    # Fewer documents, a wider spread: 90 against 434.
    by = trade.groupby("corpus")["documents"].median()
    assert by["pocket:legal"] > by["pocket:prose"]
    one = next(s for s in summaries if s.manifest.model == "gpt2-w80-l8")
    row = trade[(trade["corpus"] == one.manifest.corpus) & (trade["k"] == 10)].iloc[0]
    assert row["missed"] == one.tokens - one.ranks.at_most(10)
    assert {"falling", "documents"} <= set(choice.by_k(trade).columns)


def test_every_k_comes_from_the_histogram(summaries):
    one = summaries[0]
    shares = choice.every_k(one)
    assert shares.shape == (one.manifest.V,) and shares[-1] == 1 and (np.diff(shares) >= 0).all()
    for column, k in enumerate(one.k_grid):
        assert round(shares[k - 1] * one.tokens) == one.document_hits[:, column].sum()
    table = choice.cost_table(summaries, "pocket:prose", "GPT2")
    assert len(table) == 4 and (table["bytes"] < 100_000).all()
