"""Laws in size and training tokens: planted and found again, told apart, refused."""

from __future__ import annotations

import numpy as np
import pytest

from rbpkit.errors import InputError
from rbpkit_pocket.findings.joint_law import KAPLAN, fit_joint, held_out_sets, leave_out


def made(form: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    S, T = (
        one.ravel() for one in np.meshgrid(np.geomspace(1e7, 1e10, 7), np.geomspace(1e9, 1e12, 8))
    )
    s, t = S / 3e8, T / 3e10
    value = {
        KAPLAN: ((5.0 * S**-0.08) ** (1 / 0.1) + (8.0 * T**-0.1) ** (1 / 0.1)) ** 0.1,
        "size": 0.9 * s**-0.2,
        "product": 0.9 * s**-0.2 * t**-0.1,
        "sum": 0.6 * s**-0.25 + 0.3 * t**-0.4,
        "sum+floor": 0.5 * s**-0.3 + 0.3 * t**-0.5 + 0.15,
    }
    return S, T, value[form]


@pytest.mark.parametrize(
    ("form", "a", "b", "E"),
    [
        ("size", 0.2, 0, 0),
        ("product", 0.2, 0.1, 0),
        ("sum", 0.25, 0.4, 0),
        ("sum+floor", 0.3, 0.5, 0.15),
        (KAPLAN, 0.08, 0.1, 0),
    ],
)
def test_a_law_is_recovered_and_predicts_beyond_its_data(form, a, b, E):
    S, T, loss = made(form)
    fitted = fit_joint(S, T, loss, form)
    assert fitted.rms < 1e-6
    assert (fitted.a, fitted.b, fitted.E) == pytest.approx((a, b, E), abs=1e-4)
    errors = leave_out(S, T, loss, S > 5e9, [form])[form]
    assert len(errors) == 8 and np.abs(errors).max() < 1e-4


def test_the_forms_are_told_apart():
    S, T, loss = made("sum+floor")
    errors = leave_out(S, T, loss, S > 5e9)
    rms = {form: float(np.sqrt(np.mean(e**2))) for form, e in errors.items()}
    assert rms["sum+floor"] < 1e-4 < rms["sum"] < rms["product"] < rms["size"]
    assert fit_joint(*made(KAPLAN), "sum").rms > 1e-4


@pytest.mark.parametrize(
    ("change", "form", "says"),
    [
        (lambda S, T, loss: (S, T, loss), "both", "no form 'both'"),
        (lambda S, T, loss: (S, T, loss - loss.max()), "sum", "loss must be positive"),
        (lambda S, T, loss: (S[:4], T[:4], loss[:4]), "sum", "4 parameters: 4 point"),
        (lambda S, T, loss: (np.full(9, 1e8), T[:9], loss[:9]), "size", "S is the same"),
        (lambda S, T, loss: (S[:5], T, loss), "size", "pair up"),
    ],
)
def test_a_fit_that_cannot_be_is_refused(change, form, says):
    with pytest.raises(InputError, match=says):
        fit_joint(*change(*made("sum")), form)


def test_three_tests_hold_out_the_right_models_and_copy_the_right_ones():
    S, T = (x.ravel() for x in np.meshgrid([1e4, 1e5, 5e5], [3e6, 6e6, 12e6]))
    S, T = np.append(S, [2e6, 3e6]), np.append(T, [12e6, 12e6])
    loss = np.arange(11.0)
    sets = held_out_sets(S, T, loss)
    found = {name: (np.flatnonzero(out).tolist(), c.tolist()) for name, (_, out, c) in sets.items()}
    assert found["largest size"] == ([2, 5, 8], [1, 4, 7])
    assert found["longest training"] == ([6, 7, 8], [3, 4, 5])
    assert found["two larger"] == ([9, 10], [8])
    assert [int(keep.sum()) for keep, _, _ in sets.values()] == [9, 9, 11]
