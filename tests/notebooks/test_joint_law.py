"""Laws in size and training tokens: planted and found again."""

import numpy as np
import pytest

from rbpkit_notebooks.joint_law import KAPLAN, fit_joint, leave_out

SIZES, TOKENS = np.geomspace(1e7, 1e10, 7), np.geomspace(1e9, 1e12, 8)


def made(form: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    S, T = (one.ravel() for one in np.meshgrid(SIZES, TOKENS))
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
