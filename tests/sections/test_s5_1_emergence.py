"""Windows of N tokens: Eqs. 6 to 8 against simulation, the counts, Figure 7's printed numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from made_summaries import made

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.sections import s5_1_emergence


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return s5_1_emergence.published_windows()


@pytest.fixture(scope="module")
def summaries(shipped):
    return [one for one in shipped if one.manifest.corpus == "pocket:humaneval"]


# -- Eqs. 6 to 8 -------------------------------------------------------------------------------


def windows_of(hit: np.ndarray, N: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(hit, N).all(axis=1)


def counted(hit: np.ndarray) -> pd.DataFrame:
    """A table of windows at k = 1 of one document with these hits."""
    summary = made(10_000, np.where(hit, 1, 2), documents=np.zeros(hit.size, dtype=np.int32))
    table, _ = s5_1_emergence.measured_windows([summary], ["c"], ["f"], [2, 5, 10], [1])
    return table.set_index("N")


def test_independent_tokens_give_eq_7_and_a_chain_of_pairs_gives_markov():
    rng = np.random.default_rng(3)
    table = counted(rng.random(400_000) < 0.7)
    assert table["p"].to_numpy() == pytest.approx(table["independent"], abs=0.004)
    assert table["shuffled"].to_numpy() == pytest.approx(table["independent"], abs=0.004)
    assert table["effective"].to_numpy() == pytest.approx(table.index, rel=0.02)

    stay, enter = 0.85, 0.35  # chance of a hit after a hit, after a miss
    state, chain = True, []
    for draw in rng.random(400_000):
        state = draw < (stay if state else enter)
        chain.append(state)
    table = counted(np.array(chain))
    assert table["markov"].to_numpy() == pytest.approx(table["p"], abs=0.004)
    assert table["p"][10] > 3 * table["independent"][10]


def test_eq_8_is_eq_7_with_the_law_and_its_knee_and_width_are_where_they_say():
    S, c, alpha = np.geomspace(1e6, 1e10, 5), 3.3, 0.08
    rbp = np.exp(-c * S**-alpha)
    assert s5_1_emergence.success_at(S, 7, c, alpha) == pytest.approx(rbp**7)
    for p in (0.1, 0.5, 0.9):
        at = np.exp(s5_1_emergence.knee(20, c, alpha, p))
        assert s5_1_emergence.success_at(at, 20, c, alpha) == pytest.approx(p)
    moved = s5_1_emergence.knee(100, c, alpha) - s5_1_emergence.knee(1, c, alpha)
    assert moved == pytest.approx(np.log(100) / alpha)
    assert s5_1_emergence.width(alpha) / np.log(10) == pytest.approx(16.74, abs=0.01)
    with pytest.raises(InputError, match="between 0 and 1"):
        s5_1_emergence.knee(1, 1.0, 0.1, 1.0)


def test_shuffled_is_the_mean_over_all_orders(summaries):
    small = made(10_000, [1, 1, 1, 2, 2, 1, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2])
    hits, windows = [], []
    for n, h in ((5, 3), (4, 1)):  # the document of two tokens has no window of three
        orders = set(itertools.permutations([1] * h + [0] * (n - h)))
        shares = [windows_of(np.array(order, dtype=bool), 3).mean() for order in orders]
        hits.append(np.mean(shares) * (n - 2))
        windows.append(n - 2)
    assert s5_1_emergence.shuffled(small, 3, 1) == pytest.approx(sum(hits) / sum(windows))
    for N, k in ((3, 6), (9, 1)):  # k = 6 is not counted by document, no document has 9 tokens
        assert np.isnan(s5_1_emergence.shuffled(small, N, k))
    one = summaries[0]
    assert s5_1_emergence.shuffled(one, 1, 10) == pytest.approx(one.rbp(10))


# -- counts -----------------------------------------------------------------------------------


def test_denominator_finds_the_count_that_shares_come_from():
    rng = np.random.default_rng(5)
    shares = rng.integers(1, 9001, 12) / 9001
    assert s5_1_emergence.denominator(shares, 20_000, reading=1e-9) == 9001
    noisy = shares + rng.uniform(-4e-7, 4e-7, 12)
    assert s5_1_emergence.denominator(noisy, 20_000) == 9001
    with pytest.raises(InputError, match="up to 9000"):
        s5_1_emergence.denominator(shares, 9000, reading=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_run_bounds_hold_the_true_number_of_runs(seed):
    rng = np.random.default_rng(seed)
    documents = [rng.random(200) < rng.uniform(0.5, 0.98) for _ in range(30)]
    Ns = (1, 2, 5, 10, 20, 50)
    hits = {N: int(sum(windows_of(d, N).sum() for d in documents)) for N in Ns}
    runs = []
    for d in documents:
        edges = np.flatnonzero(np.diff(np.concatenate(([0], d.astype(int), [0]))))
        runs += (edges[1::2] - edges[::2]).tolist()
    for N in Ns:
        low, high = s5_1_emergence.run_bounds(hits, N, longest=200)
        assert low <= sum(run >= N for run in runs) <= high
    with pytest.raises(InputError, match="N = 3"):
        s5_1_emergence.run_bounds(hits, 3, 200)
    assert s5_1_emergence.run_bounds({1: 4, 2: 0}, 2, 200) == (0, 0)


# -- the paper's numbers ----------------------------------------------------------------------


def test_windows_of_the_paper_stay_inside_its_1000_documents(published):
    windows = published.groupby("N")["windows"].first()
    # W_N = sum of (n_d - N + 1): every further token costs one window a document that has it.
    assert windows[1] == 317_684 and windows[2] == windows[1] - 1000
    assert windows[10] == windows[1] - 9000
    full = s5_1_emergence.gpt2_windows()
    gpt2 = full.groupby("N")["windows"].first()
    assert gpt2.to_dict() == {1: 317_414, 5: 313_414, 10: 308_414, 50: 268_879, 100: 224_617}
    # The counts must give the shares back: figures to 6e-7, the authors' numbers in full.
    assert (published["hits"] / published["windows"] - published["p"]).abs().max() <= 6e-7
    assert (full["hits"] / full["windows"] - full["p"]).abs().max() <= 1e-15


def test_the_printed_exponents_come_from_averaging_nine_fits(published):
    """Figure 7's annotations: three decimals, so within half of the third (0.0005)."""
    made = s5_1_emergence.annotations(published)
    assert len(made) == 8
    assert (made["alpha"] - made["alpha_printed"]).abs().max() <= 0.0005
    assert (made["R2"] - made["r2_printed"]).abs().max() <= 0.0005
    for clip in (1e-11, 1e-13):  # no neighbour does
        other = s5_1_emergence.annotations(published, clip)
        assert (other["alpha"] - other["alpha_printed"]).abs().max() > 0.002


def test_a_share_of_zero_has_no_place_on_a_line(published):
    with pytest.raises(InputError, match="pythia-14m"):
        s5_1_emergence.line(published, 1, 100)


# -- measured and drawn -----------------------------------------------------------------------


def test_measured_windows_say_what_is_missing(summaries):
    table, missing = s5_1_emergence.measured_windows(
        summaries, ["pocket:humaneval", "elsewhere"], ["Pythia"], [1, 10, 500, 3], [1, 10]
    )
    assert set(table["N"]) == {1, 2, 10}
    assert len(table) == 3 * 2 * table["model"].nunique()
    assert [line for line in missing if "elsewhere" in line]
    assert [line for line in missing if "N = 500" in line and "no document" in line]
    assert [line for line in missing if "N = 3:" in line and "not in the summ" in line]
    nothing, missing = s5_1_emergence.measured_windows([], ["a"], ["b"], [1], [1])
    assert nothing.empty and missing == ("not measured: b on a",)
    with pytest.raises(InputError, match="k must be"):
        s5_1_emergence.measured_windows(summaries, ["pocket:humaneval"], ["Pythia"], [1], [0])


def test_figure_7_stands_alone_and_its_points_are_the_published(published, summaries):
    points = s5_1_emergence.window_points(published, published.iloc[:0])
    gap = (
        points.set_index(["model", "k", "N"])["p"]
        - paper.emergence().set_index(["model", "k", "N"])["p"]
    )
    assert len(gap) == 720 and gap.notna().all() and gap.abs().max() <= 1e-6
    assert s5_1_emergence.figure_7(published, published.iloc[:0], [1]).axes
    for draw in (s5_1_emergence.figure_7, s5_1_emergence.effective_panels):
        with pytest.raises(InputError, match="nothing to draw"):
            draw(published.iloc[:0], published, [1])
