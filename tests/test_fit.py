"""fit.py: recovery from a known law, the textbook formulas, refusals; the curves of models."""

import dataclasses
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from made_summaries import records_of
from scipy import stats

from rbpkit.errors import InputError
from rbpkit.fit import (
    curve_of,
    fit_all,
    fit_power_law,
    fit_rbp_law,
    rbp_curve,
)

ALPHA, LOG_C = 0.08, 1.2
# The five Qwen2.5 sizes: as few and as uneven as the paper's own points.
QWEN = np.array([357898112, 1310340608, 2774773760, 6525621760, 13212898304])


def law(S: np.ndarray) -> np.ndarray:
    return np.exp(LOG_C - ALPHA * np.log(S))


def noisy(seed: int = 0, sd: float = 0.03) -> np.ndarray:
    return law(QWEN) * np.exp(np.random.default_rng(seed).normal(0, sd, QWEN.size))


# ---- recovery


def test_exact_without_noise():
    fit = fit_power_law(QWEN, law(QWEN))
    assert fit.slope == pytest.approx(-ALPHA, abs=1e-13)
    assert fit.intercept == pytest.approx(LOG_C, abs=1e-12)
    assert fit.r2 == pytest.approx(1, abs=1e-12)
    assert fit.residual_sd < 1e-13
    new = fit.predict(1e11)
    assert new.loss == pytest.approx(float(law(np.array(1e11))), rel=1e-12)
    assert new.high - new.low < 1e-11


def test_rbp_law_is_the_law_of_minus_log_rbp():
    rbp = np.exp(-noisy())
    fit = fit_rbp_law(QWEN, rbp, level=0.9)
    assert fit == fit_power_law(QWEN, -np.log(rbp), level=0.9)
    exact = fit_rbp_law(QWEN, np.exp(-law(QWEN)))
    assert (exact.slope, exact.intercept) == pytest.approx((-ALPHA, LOG_C), abs=1e-11)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_cover_at_their_stated_rate(level):
    """500 draws of n = 5: three degrees of freedom, where normal quantiles would cover 0.86."""
    draws, rng = 500, np.random.default_rng(20387)
    target = 1e11
    hits = dict.fromkeys(("slope", "prediction"), 0)
    for _ in range(draws):
        fit = fit_power_law(QWEN, law(QWEN) * np.exp(rng.normal(0, 0.05, 5)), level=level)
        new_model = float(law(np.array(target))) * np.exp(rng.normal(0, 0.05))
        predicted = fit.predict(target)
        hits["slope"] += fit.slope_interval[0] <= -ALPHA <= fit.slope_interval[1]
        hits["prediction"] += predicted.low <= new_model <= predicted.high
    tolerance = 3 * np.sqrt(level * (1 - level) / draws)  # three binomial standard errors
    for what, count in hits.items():
        assert count / draws == pytest.approx(level, abs=tolerance), what


# ---- against the textbook


def test_agrees_with_the_textbook_formulas():
    """Centred sums, and Student's t with n - 2 degrees of freedom; alpha turns the ends around."""
    fit = fit_power_law(QWEN, noisy())
    x, y = np.log(QWEN), np.log(noisy())
    sxx = np.sum((x - x.mean()) ** 2)
    slope = np.sum((x - x.mean()) * (y - y.mean())) / sxx
    squares = np.sum((y - y.mean() - slope * (x - x.mean())) ** 2)
    assert fit.slope == pytest.approx(slope, rel=1e-10)
    assert fit.intercept == pytest.approx(y.mean() - slope * x.mean(), rel=1e-10)
    assert fit.r2 == pytest.approx(1 - squares / np.sum((y - y.mean()) ** 2), rel=1e-10)
    assert fit.residual_sd == pytest.approx(np.sqrt(squares / 3), rel=1e-8)
    assert fit.slope_se == pytest.approx(fit.residual_sd / np.sqrt(sxx), rel=1e-8)
    half = stats.t.ppf(0.975, 3) * fit.slope_se
    assert fit.slope_interval == pytest.approx((slope - half, slope + half), rel=1e-8)
    assert fit.alpha_interval == (-fit.slope_interval[1], -fit.slope_interval[0])
    assert (fit.n, fit.level, fit.S_min, fit.S_max) == (5, 0.95, QWEN[0], QWEN[-1])
    assert {type(value) for value in dataclasses.asdict(fit).values()} == {int, float, tuple}


def test_prediction_interval_by_the_textbook_matrix():
    """Half-width t s sqrt(1 + x0' (X'X)^-1 x0), the general formula in place of ours for a line."""
    fit = fit_power_law(QWEN, noisy(), level=0.9)
    X = np.column_stack([np.ones(5), np.log(QWEN)])
    for S in (1e6, 3e9, 1e12):
        x0 = np.array([1, np.log(S)])
        spread = np.sqrt(1 + x0 @ np.linalg.inv(X.T @ X) @ x0)
        half = stats.t.ppf(0.95, 3) * fit.residual_sd * spread
        new = fit.predict(S)
        assert np.log(new.loss) == pytest.approx(fit.intercept + fit.slope * np.log(S))
        assert np.log([new.low, new.high]) == pytest.approx(
            [np.log(new.loss) - half, np.log(new.loss) + half], rel=1e-6
        )


# ---- behaviour


def test_three_points_and_repeated_sizes_are_enough():
    assert fit_power_law([1e6, 1e7, 1e8], [3, 2.5, 2.2]).n == 3
    assert fit_power_law([1e6, 1e6, 1e8], [3, 2.9, 2.2]).slope < 0
    # Losses that differ by far more than rounding, however little, are a line.
    assert fit_power_law([1e6, 1e7, 1e8], [2, 2 + 1e-9, 2 + 2e-9]).r2 > 0.99


# ---- faults: an error that names the point and the way out, never a number

S4 = [1e6, 1e7, 1e8, 1e9]


@pytest.mark.parametrize(
    ("S", "loss", "says"),
    [
        ([1e6, 1e7], [3, 2], "at least 3 sizes"),
        ([1e6, 0, -5], [3, 2.5, 2], "S is 0 at point 1"),
        ([1e7, 1e7, 1e7], [3, 2.5, 2], r"S is 1e\+07 at all 3 points"),
        (S4, [3, 0, 2, 1], "loss is 0 at point 1; .*RBP_k of 1"),
        (S4, [3, 2.5, np.inf, 1], "loss is inf at point 2; .*RBP_k of 0"),
        (S4, [0.3, 0.1 + 0.2, 0.3, 0.3], "loss is 0.3 at all 4 points"),  # equal up to rounding
    ],
)
def test_refuses(S, loss, says):
    with pytest.raises(InputError, match=says):
        fit_power_law(S, loss)


@pytest.mark.parametrize(
    ("rbp", "says"),
    [
        ([0.1, 0, 0.3], r"RBP_k is 0 at point 1 \(gpt2-medium\)"),
        ([0.9, 0.99, 1], r"RBP_k is 1 at point 2 \(gpt2-xl\)"),
    ],
)
def test_rbp_law_names_the_model(rbp, says):
    # A Series with its own index: labels are taken by place.
    names = pd.Series(["gpt2", "gpt2-medium", "gpt2-xl"], index=[7, 8, 9])
    with pytest.raises(InputError, match=says):
        fit_rbp_law(S4[:3], rbp, labels=names)


def test_refuses_labels_level_and_size():
    with pytest.raises(InputError, match="lists of one length"):
        fit_power_law(QWEN, noisy(), labels=["0.5b", "72b"])
    fit = fit_power_law(QWEN, noisy())
    for level in (0, 1, 95, np.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            fit_power_law(QWEN, noisy(), level=level)
        with pytest.raises(InputError, match="between 0 and 1"):
            fit.predict(1e9, level=level)
    for S in (0, np.nan, np.inf, [1e9, 0]):
        with pytest.raises(InputError, match="positive, finite"):
            fit.predict(S)


# ---- curves: which models are chosen, in what order, and what is refused


make = partial(records_of, V=100, corpus="Wiki", family="GPT2")
SMALL = make([1, 2, 2, 3], name="small", S=10)
LARGE = make([1, 1, 2, 1], name="large", S=1000)
MIDDLE = make([1, 1, 2, 5], name="middle", S=100)
LADDER = [LARGE, SMALL, MIDDLE]


@pytest.mark.parametrize("ladder", [LADDER, [one.summary() for one in LADDER]])
def test_curves_ascend_in_S(ladder):
    curve = rbp_curve(ladder, 1)
    assert curve.models == ("small10", "middle100", "large1000")
    assert curve.S.tolist() == [10.0, 100.0, 1000.0]
    assert curve.value.tolist() == [0.25, 0.5, 0.75]
    assert (curve.corpus, curve.family, curve.quantity) == ("Wiki", "GPT2", "RBP_1")
    assert curve.loss == pytest.approx([-math.log(p) for p in (0.25, 0.5, 0.75)])
    summaries = [one.summary() for one in LADDER]
    windows = curve_of(summaries, None, None, lambda one: one.success(2, 2), "p_{2,2}")
    assert windows.value == pytest.approx([2 / 3, 2 / 3, 1])
    ce = curve_of(ladder, None, None, lambda one: one.ce(), "CE")
    expected = [0.1 + 2 * math.log(product) / 4 for product in (12, 10, 2)]
    assert ce.value == pytest.approx(expected, rel=1e-6)
    assert ce.loss.tolist() == ce.value.tolist()


def test_choice_of_corpus_and_family():
    opt = make([1, 9], name="opt", S=7, family="OPT")
    both = [*LADDER, make([5, 5], name="small", S=10, corpus="Code"), opt]
    assert rbp_curve(both, 1, "Wiki", "OPT").models == ("opt7",)
    assert rbp_curve(both, 1, corpus="Code").models == ("small10",)
    with pytest.raises(InputError, match="name one corpus and one family"):
        rbp_curve(both, 1)
    with pytest.raises(InputError, match="C4"):
        rbp_curve(both, 1, "C4", "GPT2")
    with pytest.raises(InputError, match="nothing at all"):
        rbp_curve([], 1)


def test_checkpoints_of_one_run_are_no_sizes():
    runs = [make([1, 2], name=f"{run}/checkpoint-", S=S) for run, S in (("a", 30), ("b", 600))]
    assert rbp_curve(runs, 1).S.tolist() == [30, 600]
    with pytest.raises(InputError, match=r"b has several checkpoints: 600, 1600;.*checkpoint 1600"):
        rbp_curve([*runs, make([1, 1], name="b/checkpoint-1", S=600)], 1)
    by_tokens = [*runs, make([1, 1], name="b/checkpoint-", S=90)]  # `fit --x`: each has its own
    assert rbp_curve(by_tokens, 1).S.tolist() == [30, 90, 600]


def test_fits_of_all_that_was_measured():
    opt = [make([1, 1, 2], S=S, family="OPT") for S in (5, 50, 500)]
    two_sizes = [make([1, 1, 5], S=S, corpus="Code") for S in (5, 50)]
    fits = fit_all([*LADDER, *opt, *two_sizes], ks=(1, 2))
    row = fits.table.iloc[1]
    alone = fit_rbp_law([10, 100, 1000], [0.25, 0.5, 0.75])
    names = "corpus family quantity n slope low high intercept R2 note".split()
    assert list(fits.table) == names and len(fits.table) == 2
    assert row.tolist()[:4] == ["Wiki", "GPT2", "RBP_1", 3]
    assert row.tolist()[4:9] == [alone.slope, *alone.slope_interval, alone.intercept, alone.r2]
    refused = {line.partition(": cannot fit: ")[0] for line in fits.refused}
    assert {"GPT2, Wiki, RBP_2", "OPT, Wiki, CE", "OPT, Wiki, RBP_1", "OPT, Wiki, RBP_2"} < refused
    with pytest.raises(InputError, match="no measured model"):
        fit_all([])


@pytest.mark.parametrize("setting", ["fingerprint", "max_length", "stride", "tokens", "targets"])
def test_models_that_did_not_score_the_same_tokens_are_refused(setting):
    other = make([1, 2], name="small", S=10)  # as another tokenizer would cut it
    if setting != "tokens":
        value = "other" if setting == "targets" else 8
        manifest = SMALL.manifest.model_copy(update={setting: value})
        other = dataclasses.replace(SMALL, manifest=manifest)
    says = "tokens" if setting == "targets" else setting
    with pytest.raises(InputError, match=f"GPT2 on Wiki.*different {says}"):
        rbp_curve([other, MIDDLE, LARGE], 1)


def test_one_model_twice():
    again = SMALL.manifest.model_copy(update={"revision": "later"})
    with pytest.raises(InputError, match="more than once on Wiki: small"):
        rbp_curve([*LADDER, dataclasses.replace(SMALL, manifest=again)], 1)
