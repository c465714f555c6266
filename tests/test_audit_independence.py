"""Windows against Eq. 6 and correlations by lag: planted bonds are found, at their rates."""

from __future__ import annotations

import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from rbpkit import emergence, figures, figures_independence, pocket
from rbpkit.audit import independence
from rbpkit.audit.verdicts import judge, load_claims
from rbpkit.errors import InputError
from rbpkit.manifest import Manifest
from rbpkit.records import Records
from rbpkit.store import load_summaries

matplotlib.use("agg")
MISS = 200  # a rank that is no hit at k = 1, 10, 100
VERSIONS = dict.fromkeys(("torch", "transformers", "tokenizers"), "1")


def records_of(documents, positions=None, model="m", S=1000, ranks=False) -> Records:
    """Records whose documents hit (rank 1) or miss (rank MISS), or have these ranks."""
    rank = np.concatenate(documents)
    if not ranks:
        rank = np.where(rank, 1, MISS)
    lengths = [len(one) for one in documents]
    T = rank.size
    position = np.concatenate(positions or [np.arange(1, n + 1) for n in lengths])
    document, zeros = np.repeat(np.arange(len(documents)), lengths), np.zeros(T, dtype=np.int32)
    about = {"model": model, "revision": "", "family": "Pythia", "S": S, "V": 4096}
    about |= {"corpus": "c", "fingerprint": "f", "documents": len(documents), "max_length": 512}
    about |= {"dtype": "float32", "device": "cpu", "threads": 1, "batch_tokens": 1, "seed": 42}
    manifest = Manifest(**about, versions=VERSIONS, tokens=T)
    whole = (column.astype(np.int32) for column in (document, position, zeros, rank - 1, zeros))
    return Records(*whole, (np.log(rank) + 0.1).astype(np.float32), manifest)


def chain(rng, n: int, stay: float, enter: float) -> np.ndarray:
    """Hits of a two-state chain from its stationary start: after a hit `stay`, a miss `enter`."""
    draws, state, hits = rng.random(n + 1), False, np.empty(n, dtype=bool)
    state = draws[n] < enter / (1 - stay + enter)
    for i in range(n):
        hits[i] = state
        state = draws[i] < (stay if state else enter)
    return hits


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
    table = independence.windows_table(records_of(documents, positions), (1, 3, 50), (1, 100), 50)
    assert set(table["N"]) == {1, 3}  # no document has 50
    counts = []
    for one, at in zip(documents, positions, strict=True):
        starts = [i for i in range(len(one) - 2) if at[i + 2] - at[i] == 2]
        counts.append((len(starts), sum(one[i : i + 3].all() for i in starts)))
    windows, hits = np.transpose(counts)
    row = one_row(table, N=3, k=100)
    assert (row["windows"], row["hits"]) == (windows.sum(), hits.sum())
    assert (row["documents"], row["hit_documents"]) == ((windows > 0).sum(), (hits > 0).sum())
    subsets = (s for size in range(6) for s in itertools.combinations(hits, size))
    assert row["half_documents"] == next(len(s) for s in subsets if 2 * sum(s) >= hits.sum())
    share = np.concatenate(documents).mean()
    assert row["ratio"] == pytest.approx(np.log(hits.sum() / windows.sum()) / 3 / np.log(share))
    assert row["p_low"] <= row["p"] <= row["p_high"]
    assert one_row(table, N=1, k=1)["ratio"] == 1


def test_no_hit_at_all_is_a_ratio_without_end():
    documents = [np.array([True, False] * 10)] * 5
    row = one_row(independence.windows_table(records_of(documents), draws=20), N=2, k=1)
    assert (row["hits"], row["half_documents"], row["p"]) == (0, 0, 0)
    assert np.isinf([row["ratio"], row["ratio_low"], row["ratio_high"]]).all()


def test_between_is_what_all_orders_leave_on_average():
    rng = np.random.default_rng(0)
    documents = [rng.integers(1, 300, n) for n in (5, 4, 2)]
    records = records_of(documents, ranks=True)
    table = independence.lags_table(records, (1, 2), (100,), draws=20)
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
    table = independence.lags_table(records_of([rank[:3000], rank[3000:]], ranks=True), (2,))
    expected = spearmanr(rank[:-2], rank[2:]).statistic
    assert one_row(table, quantity="rank")["total"] == pytest.approx(expected, abs=0.005)


# -- recovery -----------------------------------------------------------------------------------


def test_independent_hits_are_found_independent_at_the_stated_rate():
    """200 corpora of 120 documents: intervals cover 1 (ratio) and 0 (lag 1) in 95%, +- 3 errors."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        records = records_of([rng.random(n) < 0.75 for n in rng.integers(10, 50, 120)])
        row = independence.windows_table(records, (5,), (1,), draws=150).iloc[0]
        lag = one_row(independence.lags_table(records, (1,), (1,), 150), quantity="hit 1")
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
        records = records_of([rng.random(rng.integers(12, 45)) < theta for theta in chances])
        table = independence.lags_table(records, (1, 5), (1,), 200)
        for lag in (1, 5):
            row = one_row(table, quantity="hit 1", lag=lag)
            within.append((row["within"], row["within_low"] <= 0 <= row["within_high"]))
            between.append((row["between"], row["between_low"] <= 1 / 11 <= row["between_high"]))
        ratios.append(independence.windows_table(records, (10,), (1,), 20)["ratio"].iloc[0])
    for parts, expected in ((within, 0), (between, 1 / 11)):
        mean, inside = np.mean(parts, axis=0)
        assert mean == pytest.approx(expected, abs=0.004)
        assert inside == pytest.approx(0.95, abs=0.065)  # 3 errors of 100 corpora
    assert np.max(ratios) < 0.9  # and Eq. 6 fails all the same


def test_a_chain_shows_within_documents_and_hardly_between():
    rng = np.random.default_rng(0)
    records = records_of([chain(rng, 200, 0.8, 0.3) for _ in range(150)])
    table = independence.lags_table(records, (1, 2, 20), (1,)).query("quantity == 'hit 1'")
    one, two, far = (row for _, row in table.iterrows())
    # Of 0.5^lag, a document of n tokens takes the mean over all its pairs, 2 / n at lag 1
    assert one["total"] == pytest.approx(0.5, abs=0.02)
    assert one["within_low"] <= 0.49 <= one["within_high"]
    assert two["within_low"] <= 0.24 <= two["within_high"]
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
            records = records_of([draw < theta + shift for draw, theta in draws])
            table = independence.windows_table(records, (5,), (1,), draws=150)
            jobs.append(table.assign(corpus="c", model=str(number)))
        row = independence.ratio_medians(pd.concat(jobs)).iloc[0]
        assert row["jobs"] == 5
        covered.append(row["low"] <= TRUE_MEDIAN <= row["high"])
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 50)


# E[theta^5] of theta ~ Beta(60, 20): the model in the middle, whose ratio is the median
TRUE_MEDIAN = np.log(np.prod([(60 + i) / (80 + i) for i in range(5)])) / (5 * np.log(0.75))


# -- published values, findings, figures ---------------------------------------------------------


def test_published_ratios():
    ten = independence.published_ratios((5, 10))
    row = one_row(ten, model="gpt2", k=1, N=5)
    assert row["p"] == pytest.approx(0.0236, abs=5e-5)
    assert row["independent"] == pytest.approx(0.0125, abs=5e-5)
    gpt2 = ten[(ten["family"] == "GPT2") & (ten["N"] == 10)]
    first = gpt2[(gpt2["k"] == 1) & (gpt2["model"] == "gpt2")]["effective"].iloc[0]
    assert first == pytest.approx(6.6, abs=0.05)
    assert (
        gpt2[gpt2["k"].isin((10, 100)) & (gpt2["model"] == "gpt2")]["effective"]
        .between(8.4, 8.8)
        .all()
    )


@pytest.fixture(scope="module")
def summaries():
    return load_summaries(pocket.summaries_root())


def test_findings_of_both_sources(summaries):
    claim = load_claims()["windows-are-independent"]
    published, ours = independence.findings_independence(summaries)
    assert (published.source, published.n, ours.source, ours.n) == ("published", 96, "pocket", 240)
    assert published.value == pytest.approx(0.825, abs=0.001)
    assert ours.value == pytest.approx(0.645, abs=0.001)
    assert judge(claim, published) == judge(claim, ours) == "contradicted"
    assert ours.low is None  # summaries alone have no windows by document
    assert [f.source for f in independence.findings_independence([])] == ["published"]


def test_a_finding_takes_its_interval_from_the_table_of_the_same_jobs(summaries):
    some = [one for one in summaries if one.manifest.corpus == "pocket:prose"]
    table = emergence.measured_windows(
        some, ["pocket:prose"], ["GPT2", "OPT", "Pythia", "Qwen"], (10,), (1, 10, 100)
    ).table
    ours = independence.with_ratio(table, (10,))
    windows = ours.assign(ratio_low=ours["ratio"] - 0.01, ratio_high=ours["ratio"] + 0.02)
    windows["half_documents"] = 1
    _, found = independence.findings_independence(some, windows)
    assert (found.low, found.high) == pytest.approx((found.value - 0.01, found.value + 0.02))
    _, found = independence.findings_independence(some, windows.iloc[:-1])
    assert found.low is None


def test_figures_can_be_drawn_and_hold_their_points(tmp_path):
    rng = np.random.default_rng(0)
    records = records_of([chain(rng, 80, 0.9, 0.4) for _ in range(30)])
    job = {"corpus": "pocket:c", "family": "GPT2", "model": "m", "S": 1000, "V": 4096}
    windows = independence.windows_table(records, draws=50).assign(**job)
    published = independence.published_ratios()
    points = figures_independence.window_points(published, windows, (2, 5), (1, 10))
    ours = points[points["source"] == "pocket"]
    assert len(ours) == 4 and len(points) == 4 + 2 * 2 * 10 + 2 * 4  # GPT-2: no N = 2
    assert ours["independent"].to_numpy() == pytest.approx(ours["rbp"] ** ours["N"])
    medians = independence.lag_medians(independence.lags_table(records, draws=50).assign(**job))
    with matplotlib.rc_context({"savefig.dpi": 30}):
        for table, draw in (
            (points, figures_independence.audit_windows),
            (medians, figures_independence.audit_lags),
        ):
            figures.save(draw(table), table, str(tmp_path), draw.__name__)
    assert len(list(tmp_path.iterdir())) == 4
    alone = figures_independence.window_points(published, None, (5,), (1,))
    assert set(alone["source"]) == {"published"}
    with pytest.raises(InputError, match="nothing to draw"):
        figures_independence.audit_windows(alone.assign(p=0.0))
    with pytest.raises(InputError, match="nothing to draw"):
        figures_independence.audit_lags(medians.iloc[:0])
