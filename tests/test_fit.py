"""fit.py: recovery from a known law, the textbook formulas, refusals, predictions, doubts."""

import dataclasses

import numpy as np
import pytest
from conftest import refused
from made_summaries import made
from scipy import stats

from rbpkit.fit import (
    curves_of_all,
    fit_curves,
    fit_power_law,
    fit_rbp_law,
    misses_needed,
    relabelled,
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
    assert fit_rbp_law(QWEN, rbp) == fit_power_law(QWEN, -np.log(rbp))
    exact = fit_rbp_law(QWEN, np.exp(-law(QWEN)))
    assert (exact.slope, exact.intercept) == pytest.approx((-ALPHA, LOG_C), abs=1e-11)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_cover_at_their_stated_rate(level):
    """500 draws of n = 5: three degrees of freedom, where normal quantiles would cover 0.86."""
    draws, rng = 500, np.random.default_rng(20387)
    target = 1e11
    slopes, predictions = 0, 0
    for _ in range(draws):
        fit = fit_power_law(QWEN, law(QWEN) * np.exp(rng.normal(0, 0.05, 5)))
        new_model = float(law(np.array(target))) * np.exp(rng.normal(0, 0.05))
        predicted = fit.predict(target, level=level)
        slopes += fit.slope_interval[0] <= -ALPHA <= fit.slope_interval[1]
        predictions += predicted.low <= new_model <= predicted.high
    for count, stated in ((slopes, 0.95), (predictions, level)):
        tolerance = 3 * np.sqrt(stated * (1 - stated) / draws)  # three binomial standard errors
        assert count / draws == pytest.approx(stated, abs=tolerance)


# ---- against the textbook


def test_agrees_with_the_textbook_formulas():
    """Least squares by matrices, (X'X)^-1, and Student's t with n - 2 degrees of freedom."""
    fit = fit_power_law(QWEN, noisy())
    X, y = np.column_stack([np.ones(5), np.log(QWEN)]), np.log(noisy())
    inverse = np.linalg.inv(X.T @ X)
    intercept, slope = inverse @ X.T @ y
    squares = np.sum((y - intercept - slope * X[:, 1]) ** 2)
    sd = np.sqrt(squares / 3)
    assert (fit.slope, fit.intercept) == pytest.approx((slope, intercept), rel=1e-8)
    assert fit.r2 == pytest.approx(1 - squares / np.sum((y - y.mean()) ** 2), rel=1e-8)
    assert fit.residual_sd == pytest.approx(sd, rel=1e-8)
    assert fit.slope_se == pytest.approx(sd * np.sqrt(inverse[1, 1]), rel=1e-8)
    half = stats.t.ppf(0.975, 3) * fit.slope_se
    assert fit.slope_interval == pytest.approx((slope - half, slope + half), rel=1e-8)
    assert fit.alpha_interval == (-fit.slope_interval[1], -fit.slope_interval[0])
    assert (fit.n, fit.S_min, fit.S_max) == (5, QWEN[0], QWEN[-1])
    for S in (1e6, 3e9, 1e12):
        x = np.array([1, np.log(S)])
        center = intercept + slope * x[1]
        half = stats.t.ppf(0.95, 3) * sd * np.sqrt(1 + x @ inverse @ x)
        new = fit.predict(S, level=0.9)
        expected = [center, center - half, center + half]
        assert np.log([new.loss, new.low, new.high]) == pytest.approx(expected, rel=1e-6)


# ---- faults: an error that names the point and the way out, never a number


S3 = [1e6, 1e7, 1e8]


@pytest.mark.parametrize(
    ("S", "loss", "says"),
    [
        ([1e6, 1e7], [3, 2], "at least 3 sizes"),
        ([1e6, -5, 0], [3, 2.5, 2], "S is -5 at point 1"),
        (S3, [3, 0, 2], "loss is 0 at point 1; .*RBP_k of 1"),
        (S3, [3, 2.5, np.inf], "loss is inf at point 2; .*RBP_k of 0"),
        (S3, [0.3, 0.1 + 0.2, 0.3], "loss is 0.3 at all 3 points"),  # equal up to rounding
    ],
)
def test_refuses(S, loss, says):
    refused(says, fit_power_law, S, loss)


def test_refuses_labels_level_and_size():
    refused("not of one length", fit_power_law, QWEN, noisy(), labels=["0.5b", "72b"])
    fit = fit_power_law(QWEN, noisy())
    for level in (0, 1, 95, np.nan):
        refused("between 0 and 1", fit.predict, 1e9, level=level)
    for S in (0, np.nan, np.inf, [1e9, 0]):
        refused("positive, finite", fit.predict, S)


# ---- what a line cannot be trusted for


def test_each_law_has_a_note_on_its_own_slope_models_and_documents():
    rng = np.random.default_rng(1)
    models = []
    for i, scale in enumerate((1.5, 1.45, 1.4, 1.35, 1.3)):
        ranks = np.exp(rng.exponential(scale, 5000)).astype(int)
        models.append(made(10 ** (6 + i), np.minimum(ranks, 4096)))

    def note(measured, k=100) -> str:
        [said] = fit_curves(curves_of_all(measured, [k])).table["note"]
        return said

    assert note(models) == ""
    sizes = np.array([one.manifest.S for one in models])
    shares = np.array([one.rbp(2000) for one in models])
    needed = misses_needed(fit_rbp_law(sizes, shares).alpha, sizes)
    harmonic_mean = 1 / np.mean(1 / (5000 * (1 - shares)))
    assert note(models, 2000) == f"few misses ({harmonic_mean:.0f} of {needed:.0f})"
    in_no_order = [models[i] for i in (0, 3, 1, 4, 2)]
    shuffled = [relabelled(one, S=10 ** (6 + i)) for i, one in enumerate(in_no_order)]
    assert note(shuffled) == "alpha may be 0"
    few = [dataclasses.replace(one, document_units=one.document // 100) for one in models[:4]]
    assert note(few).endswith("few models (4); few documents or units (5)")


def test_with_the_misses_needed_r2_is_about_what_was_asked():
    sizes, alpha = np.geomspace(1e6, 1e8, 6), 0.1
    misses = misses_needed(alpha, sizes, 0.9)
    x = np.log(sizes) - np.log(sizes).mean()
    noise_of_a_point = misses**-0.5
    drawn = np.random.default_rng(0).normal(-alpha * x, noise_of_a_point, (20_000, sizes.size))
    drawn -= drawn.mean(axis=1, keepdims=True)
    explained = (drawn @ x) ** 2 / (x @ x)
    every = (drawn**2).sum(axis=1)
    assert explained.mean() / every.mean() == pytest.approx(0.9, abs=0.01)
