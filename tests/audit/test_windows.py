"""Windows, correlations by lag, rules and Eq. 8: what was planted is found, at its rate."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from made_summaries import by_documents, records_of
from scipy.stats import beta as beta_distribution
from scipy.stats import spearmanr

from rbpkit.audit import emergence, windows
from rbpkit.errors import InputError
from rbpkit.records import Records
from rbpkit.sections import s5_1_emergence

MISS = 200  # a rank that is no hit at k = 1, 10, 100


def records(documents, positions=None, ranks=False) -> Records:
    """Records whose documents hit (rank 1) or miss (rank MISS), or have these ranks."""
    rank = np.concatenate(documents)
    number = np.repeat(np.arange(len(documents)), [len(one) for one in documents])
    at = None if positions is None else np.concatenate(positions)
    return records_of(rank if ranks else np.where(rank, 1, MISS), number, position=at)


def chains(rng, documents: int, n: int, stay: float, enter: float) -> list[np.ndarray]:
    """Documents of two-state chains: the chance of a hit is `stay` after one, else `enter`."""
    hits = np.empty((n, documents), dtype=bool)
    hits[0] = rng.random(documents) < enter / (1 - stay + enter)
    for i in range(1, n):
        hits[i] = rng.random(documents) < np.where(hits[i - 1], stay, enter)
    return list(hits.T)


def one_row(table: pd.DataFrame, **where) -> pd.Series:
    for name, value in where.items():
        table = table[table[name] == value]
    (row,) = (row for _, row in table.iterrows())
    return row


# -- against plain counting ---------------------------------------------------------------------


def test_windows_are_those_that_one_counts():
    rng = np.random.default_rng(0)
    documents = [rng.random(n) < 0.8 for n in (9, 1, 30, 4, 12)]
    positions = [np.arange(1, len(one) + 1) for one in documents]
    positions[2][10:] += 3  # a gap: no window goes across
    table = windows.windows_table(records(documents, positions), (1, 3, 50), (1, 100), 50)
    assert set(table["N"]) == {1, 3}  # no document has 50
    counts = []
    for one, at in zip(documents, positions, strict=True):
        starts = [i for i in range(len(one) - 2) if at[i + 2] - at[i] == 2]
        counts.append((len(starts), sum(one[i : i + 3].all() for i in starts)))
    counted, hits = np.transpose(counts)
    row = one_row(table, N=3, k=100)
    assert (row["windows"], row["hits"]) == (counted.sum(), hits.sum())
    assert (row["documents"], row["hit_documents"]) == ((counted > 0).sum(), (hits > 0).sum())
    subsets = (s for size in range(6) for s in itertools.combinations(hits, size))
    assert row["half_documents"] == next(len(s) for s in subsets if 2 * sum(s) >= hits.sum())
    share = np.concatenate(documents).mean()
    assert row["ratio"] == pytest.approx(np.log(hits.sum() / counted.sum()) / 3 / np.log(share))
    assert row["p_low"] <= row["p"] <= row["p_high"]
    assert one_row(table, N=1, k=1)["ratio"] == 1


def test_no_hit_at_all_is_a_ratio_without_end():
    documents = [np.array([True, False] * 10)] * 5
    row = one_row(windows.windows_table(records(documents), draws=20), N=2, k=1)
    assert (row["hits"], row["half_documents"], row["p"]) == (0, 0, 0)
    assert np.isinf([row["ratio"], row["ratio_low"], row["ratio_high"]]).all()


def test_between_is_what_all_orders_leave_on_average():
    rng = np.random.default_rng(0)
    documents = [rng.integers(1, 300, n) for n in (5, 4, 2)]
    job = records(documents, ranks=True)
    table = windows.lags_table(job, (1, 2), (100,), draws=20)
    hits = [one <= 100 for one in documents]
    for lag in (1, 2):
        long = [one for one in hits if len(one) > lag]
        pairs = np.array([len(one) - lag for one in long])
        mean = np.average([one.mean() for one in long], weights=pairs)
        variance = mean * (1 - mean)
        averages = []
        for one in long:
            orders = np.array(list(itertools.permutations(one - mean)))
            averages.append((orders[:, :-lag] * orders[:, lag:]).mean())
        expected = np.average(averages, weights=pairs) / variance
        row = one_row(table, quantity="hit 100", lag=lag)
        assert row["between"] == pytest.approx(expected, abs=6e-5)
        products = [(one[:-lag] - mean) * (one[lag:] - mean) for one in long]
        total = np.concatenate(products).mean() / variance
        assert row["total"] == pytest.approx(total, abs=6e-5)
        assert row["within"] == pytest.approx(total - expected, abs=2e-4)


def test_ranks_are_correlated_as_spearman_does():
    rng = np.random.default_rng(0)
    smooth = np.convolve(rng.normal(size=6000), np.ones(4), "valid")
    rank = np.exp(smooth - smooth.min()).clip(1, 4000).astype(int)
    table = windows.lags_table(records([rank[:3000], rank[3000:]], ranks=True), (2,))
    expected = spearmanr(rank[:-2], rank[2:]).statistic
    assert one_row(table, quantity="rank")["total"] == pytest.approx(expected, abs=0.005)


# -- recovery -----------------------------------------------------------------------------------


def test_independent_hits_are_found_independent_at_the_stated_rate():
    """200 corpora of 120 documents: intervals cover 1 (ratio) and 0 (lag 1) in 95%, +- 3 errors."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        job = records([rng.random(n) < 0.75 for n in rng.integers(10, 50, 120)])
        row = windows.windows_table(job, (5,), (1,), draws=150).iloc[0]
        lag = one_row(windows.lags_table(job, (1,), (1,), 150), quantity="hit 1")
        inside.append(
            (
                row["ratio_low"] <= 1 <= row["ratio_high"],
                lag["within_low"] <= 0 <= lag["within_high"],
                lag["between_low"] <= 0 <= lag["between_high"],
            )
        )
    assert np.abs(np.mean(inside, axis=0) - 0.95).max() <= 3 * np.sqrt(0.95 * 0.05 / 200)


def test_documents_that_differ_show_between_them_and_not_within():
    """theta ~ Beta(6, 4), short documents: between is 1 / 11, within 0; 100 corpora."""
    rng = np.random.default_rng(0)
    within, between, ratios = [], [], []
    for _ in range(100):
        chances = rng.beta(6, 4, 150)
        job = records([rng.random(rng.integers(12, 45)) < theta for theta in chances])
        table = windows.lags_table(job, (1, 5), (1,), 200)
        for lag in (1, 5):
            row = one_row(table, quantity="hit 1", lag=lag)
            within.append((row["within"], row["within_low"] <= 0 <= row["within_high"]))
            between.append((row["between"], row["between_low"] <= 1 / 11 <= row["between_high"]))
        ratios.append(windows.windows_table(job, (10,), (1,), 20)["ratio"].iloc[0])
    for parts, expected in ((within, 0), (between, 1 / 11)):
        mean, inside = np.mean(parts, axis=0)
        assert mean == pytest.approx(expected, abs=0.004)
        assert inside == pytest.approx(0.95, abs=0.065)  # 3 errors of 100 corpora
    assert np.max(ratios) < 0.9  # and Eq. 6 fails all the same


def test_a_chain_shows_within_documents_and_hardly_between():
    rng = np.random.default_rng(0)
    job = records(chains(rng, 150, 200, 0.8, 0.3))
    table = windows.lags_table(job, (1, 2, 20), (1,)).query("quantity == 'hit 1'")
    one, two, far = (row for _, row in table.iterrows())
    # Of 0.5^lag, a document of n tokens takes the mean over all its pairs, 2 / n at lag 1
    assert one["total"] == pytest.approx(0.5, abs=0.02)
    assert one["within_low"] <= 0.49 <= one["within_high"]
    assert two["within"] == pytest.approx(0.24, abs=0.02)
    assert far["within"] == pytest.approx(-0.01, abs=0.012)
    assert table["between"].abs().max() < 0.02


def test_medians_of_ends_cover_the_median_of_models():
    """Five models of one text, coupled token by token: at least 95% less 3 errors, of 50."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(50):
        chances = rng.beta(60, 20, 80)
        draws = [(rng.random(30), theta) for theta in chances]
        jobs = []
        for number, shift in enumerate((-0.06, -0.03, 0, 0.03, 0.06)):
            job = records([draw < theta + shift for draw, theta in draws])
            table = windows.windows_table(job, (5,), (1,), draws=150)
            jobs.append(table.assign(corpus="c", model=str(number)))
        row = windows.ratio_medians(pd.concat(jobs)).iloc[0]
        assert row["jobs"] == 5
        covered.append(row["low"] <= TRUE_MEDIAN <= row["high"])
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 50)


# E[theta^5] of theta ~ Beta(60, 20): the model in the middle, whose ratio is the median
TRUE_MEDIAN = np.log(np.prod([(60 + i) / (80 + i) for i in range(5)])) / (5 * np.log(0.75))


@pytest.mark.parametrize("draw", [windows.figure_windows, windows.figure_lags])
def test_nothing_to_draw_is_said(draw):
    with pytest.raises(InputError, match="nothing to draw"):
        draw(pd.DataFrame(columns=["source", "corpus", "p"]))


# -- rules -----------------------------------------------------------------------------------


def table_of(documents, Ns=(5, 10)) -> pd.DataFrame:
    """The windows of documents of hits and misses, k = 1."""
    summary = records(documents).summary()
    return s5_1_emergence.measured_windows([summary], ["c"], ["f"], Ns, [1])[0]


def closed(documents) -> pd.DataFrame:
    """log(rule / RBP^N) / log(p / RBP^N) at each N: 1 where a rule is right."""
    table = emergence.rule_predictions(table_of(documents)).query("N > 2").set_index("N")
    gap = np.log(table["p"] / table["independent"])
    rules = table[list(emergence.RULES)].astype(float)
    return np.log(rules.div(table["independent"], axis=0)).div(gap, axis=0)


def test_fixed_chance_is_the_moment_of_a_beta():
    for a, b in ((0.5, 0.2), (6, 4), (80, 20)):
        moments = [beta_distribution(a, b).moment(i) for i in (1, 2)]
        for N in (1, 2, 5, 20):
            expected = beta_distribution(a, b).moment(N)
            assert emergence.fixed_chance(*moments, N) == pytest.approx(expected)
    assert emergence.fixed_chance(0.6, 0.36, [1, 7]) == pytest.approx([0.6, 0.6**7])
    # less than independent: no chance does so
    assert np.isnan(emergence.fixed_chance(0.6, 0.35, 5))


def test_power_of_N_goes_through_one_and_two_tokens():
    p_1, p_2 = 0.6, 0.42
    assert emergence.power_tokens(p_1, p_2, [1, 2]) == pytest.approx([p_1, p_2])
    assert emergence.power_tokens(p_1, p_1**2, 7) == pytest.approx(p_1**7)


def test_a_planted_chain_is_found_and_its_ten_tokens_predicted():
    rng = np.random.default_rng(0)
    documents = chains(rng, 400, 250, 0.85, 0.35)
    ten = emergence.rule_predictions(table_of(documents)).query("N == 10").iloc[0]
    assert ten["p"] == pytest.approx(0.7 * 0.85**9, rel=0.05)
    assert ten["markov"] == pytest.approx(ten["p"], rel=0.03)
    found = closed(documents)
    assert found["markov"].to_numpy() == pytest.approx(1, abs=0.04)
    assert (found["mixture"] > 1.15).all()  # chances that stay go on too long
    assert found[["documents", "shuffled"]].abs().to_numpy().max() < 0.1


def test_planted_documents_are_found_and_the_chain_falls_short():
    rng = np.random.default_rng(0)
    documents = [rng.random(100) < theta for theta in rng.beta(6, 4, 1500)]
    found = closed(documents)
    for rule in ("mixture", "documents", "shuffled"):
        assert found[rule].to_numpy() == pytest.approx(1, abs=0.06)
    assert (found["markov"] < 0.75).all() and (found["power"] < 0.95).all()


def test_a_table_without_pairs_is_refused():
    table = table_of(chains(np.random.default_rng(0), 30, 30, 0.8, 0.4))
    with pytest.raises(InputError, match="N = 2"):
        emergence.rule_predictions(table[table["N"] != 2])


# -- Eq. 8 -----------------------------------------------------------------------------------


SIZES = np.array([25e3, 1e5, 3e5, 1e6])


def models_of(rng, c=3.0, alpha=0.1, D=150, family="Pythia", sizes=SIZES) -> list:
    """Models whose RBP_100 follows the law in expectation, on documents that differ for all."""
    tokens, ease = rng.integers(20, 200, D), rng.normal(0, 0.05, D)
    models = []
    for S in sizes:
        hits = rng.binomial(tokens, np.clip(np.exp(-c * S**-alpha) + ease, 0, 1))
        models.append(by_documents(f"m{S:.0f}", int(S), tokens, hits * 1.0, hits, 100, family))
    return models


def test_the_width_is_that_of_the_curve_and_without_a_slope_there_is_none():
    for alpha in (0.08, 1.3395):
        ends = (
            s5_1_emergence.knee(1000, 3.3, alpha, 0.1),
            s5_1_emergence.knee(1000, 3.3, alpha, 0.9),
        )
        decades = np.log10(np.exp(ends[1] - ends[0]))
        assert emergence.width_decades(alpha) == pytest.approx(decades)
    assert np.isinf(emergence.width_decades([0.0, -0.1])).all()


def test_a_planted_exponent_lies_in_its_bootstrap_interval_at_the_stated_rate():
    """200 ladders on 400 documents that are easy or hard for all models alike: 95%, +- 3 errors.

    With fewer documents percentile intervals are somewhat narrow: 93 to 94% of 400 ladders on 150.
    """
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        row = emergence.measured_widths(models_of(rng, D=400), draws=400).table.iloc[0]
        assert row["width_low"] == pytest.approx(emergence.width_decades(row["alpha_high"]))
        inside.append(row["alpha_low"] <= 0.1 <= row["alpha_high"])
    assert np.mean(inside) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 200))


def test_median_of_ladders_and_what_is_refused():
    rng = np.random.default_rng(0)
    steep, flat, middle = (models_of(rng, 3, a, 150, f"f{a}") for a in (0.3, 0.05, 0.1))
    short = models_of(rng, family="short", sizes=SIZES[:2])
    found = emergence.measured_widths([*steep, *flat, *middle, *short], draws=100)
    assert list(found.table["family"]) == ["f0.05", "f0.1", "f0.3"]
    assert found.median == found.table["width"][1] and found.low <= found.median <= found.high
    assert len(found.missing) == 1 and "short" in found.missing[0]
    with pytest.raises(InputError, match="short"):
        emergence.measured_widths(short)
    with pytest.raises(InputError, match="nothing was measured"):
        emergence.measured_widths([])
    with pytest.raises(InputError, match="k = 7"):
        emergence.measured_widths(steep, 7)
