"""Notebook 17: each law finds what was planted and loses on what it is not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_summaries import made
from scipy.stats import exponweib

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.sections import one_law

V = 2000
SIZES = np.geomspace(1e6, 1e9, 6)
KS = np.unique(np.geomspace(1, V, 25).astype(int))
GRID = np.repeat(KS, SIZES.size), np.tile(SIZES, KS.size)
PLANTED = {  # by parameter and rising degree in ln S
    "discrete Weibull, c const": (0.7, 0.04, 0.4),
    "discrete Weibull": (0.7, 0.04, 0.4, 0.01),
    "lognormal, rounded": (1.4, -0.12, 0.7, -0.02),
    "log-logistic": (-0.2, 0.08, 0.65, 0.01),
    "Zipf-Mandelbrot": (-0.9, 0.1, -0.6, -0.05),
    "Burr": (0.2, 0.1, -0.2, 0.01, 0.1, 0.02),
    "generalised gamma": (-0.3, 0.05, -0.9, 0.01, 0.2, 0.02),
    "mass at 1 + Weibull": (-0.6, 0.08, -1.2, 0.03, 0.3, 0.01),
    "mass at 1 + lognormal": (-0.54, 0.03, -0.6, -0.5, 0.08),
    "two lognormals, share moves": (-0.2, -0.15, 2.6, 0.2, -0.8, -0.5),
    "two lognormals": (-0.2, -0.1, 2.6, -0.1, 0.2, -0.8, -0.03, -0.5),
    "power of S and of k": (-0.2, -0.08, -0.45),
    "power, with product": (-0.2, -0.08, -0.45, -0.02),
    "power of S, cubic in ln k": (-0.2, -0.08, -0.42, -0.02, 0.03, -0.006),
    "bent power of S, cubic in ln k": (-0.2, -0.08, 0.006, -0.42, -0.02, 0.03, -0.006),
}


def planted(name: str) -> one_law.Fitted:
    unit = float(np.exp(np.log(SIZES).mean()))
    return one_law.Fitted(name, V, unit, np.array(PLANTED[name]))


@pytest.mark.parametrize("name", one_law.LAWS)
def test_a_law_finds_what_was_planted(name):
    truth = planted(name)
    assert len(truth.values) == one_law.LAWS[name].numbers
    rbp = truth.rbp(*GRID)
    assert (np.diff(truth.rbp(np.arange(1, V + 1), SIZES[0])) >= -1e-12).all()
    assert np.allclose(truth.rbp(V, SIZES), 1)
    found = one_law.fit_law(name, *GRID, rbp, V)
    assert np.abs(found.rbp(*GRID) - rbp).max() < 1e-3


@pytest.mark.parametrize(
    ("truth", "wrong"),
    [
        ("discrete Weibull, c const", "lognormal, rounded"),
        ("lognormal, rounded", "discrete Weibull"),
        ("lognormal, rounded", "power, with product"),
        ("mass at 1 + Weibull", "discrete Weibull"),
        ("power of S, cubic in ln k", "power, with product"),
        ("bent power of S, cubic in ln k", "power of S, cubic in ln k"),
        ("two lognormals", "lognormal, rounded"),
    ],
)
def test_a_law_loses_on_what_it_is_not(truth, wrong):
    rbp = planted(truth).rbp(*GRID)
    off = {
        name: np.abs(one_law.fit_law(name, *GRID, rbp, V).rbp(*GRID) - rbp).max()
        for name in (truth, wrong)
    }
    assert off[wrong] > max(5e-3, 10 * off[truth])


def test_laws_agree_with_scipy_and_with_sums():
    k = np.arange(1, 50)
    weibull = one_law.LAWS["discrete Weibull"].mass(k, [0.5, 0.4])
    assert np.allclose(weibull, exponweib.cdf(k, 1, 0.4, scale=0.5 ** (-1 / 0.4)))
    zipf = one_law.LAWS["Zipf-Mandelbrot"].mass(k, [np.log(0.5), np.log(0.6)])
    assert np.allclose(zipf, np.cumsum((k - 0.4) ** -1.5))
    burr = one_law.LAWS["Burr"].mass(k, [0.1, -0.2, 0.3])
    assert np.allclose(burr, 1 - (1 + np.exp(0.1) * k ** np.exp(-0.2)) ** -np.exp(0.3))


def test_the_exponent_of_a_pure_power_is_its_own():
    truth = replace(planted("power, with product"), V=10**9)  # far: dividing by it changes nothing
    assert truth.exponents([1, 10, 100], SIZES) == pytest.approx(
        0.08 + 0.02 * np.log([1, 10, 100]), abs=5e-4
    )


def test_a_fit_like_another_keeps_its_shape():
    first = planted("power of S, cubic in ln k")
    rbp = replace(first, values=np.r_[0.3, -0.05, first.values[2:]]).rbp(*GRID)
    found = one_law.fit_law(first.name, *GRID, rbp, V, like=first)
    assert found.values == pytest.approx([0.3, -0.05, *first.values[2:]], abs=1e-6)


def test_bad_points_are_refused():
    k, S = GRID
    rbp = planted("discrete Weibull").rbp(k, S)
    for name, points, says in (
        ("Weibul", (k, S, rbp), "no law"),
        ("Burr", (k, S, rbp[1:]), "one length"),
        ("Burr", (k, S, rbp + 1), r"\[0, 1\]"),
        ("Burr", (k[:6], S[:6] * 0 + 1e6, rbp[:6]), "three sizes"),
    ):
        with pytest.raises(InputError, match=says):
            one_law.fit_law(name, *points, V)


def ladder(law: one_law.Fitted, other: float) -> pd.DataFrame:
    k, S = GRID
    points = pd.DataFrame({"source": "made", "corpus": "c", "family": "f", "k": k, "S": S, "V": V})
    rbp = law.rbp(k, S)
    return points.assign(model="m", rbp=rbp, other=np.where(k < V, rbp - other, rbp))


def test_the_contest_is_won_by_what_was_planted():
    names = ("discrete Weibull", "lognormal, rounded", "log-logistic", one_law.WINNER)
    for name in names[:3]:
        table = one_law.contest(ladder(planted(name), 0.005), names).set_index("law")
        assert table.drop(one_law.LINES)["worst"].idxmin() == name
        assert table.loc[name, "worst"] < 1e-3
        assert table.loc[name, "documents"] == pytest.approx(0.005, abs=1e-3)
        assert table.loc[name, "text"] == pytest.approx(0.005)
        assert table.loc[name, "numbers"] == 4 and table.loc[name, "n"] == 5 * (KS.size // 2 + 1)


def test_published_points_are_those_of_the_figures():
    points = one_law.published_law_points()
    assert not points.duplicated(["corpus", "family", "model", "k"]).any()
    assert points.groupby(["corpus", "family"]).ngroups == 16 and points["other"].isna().all()
    one = points.query("corpus == 'Wiki' and family == 'Pythia' and k == 10").sort_values("S")
    assert one["rbp"].to_numpy() == pytest.approx(paper.points("Wiki", "Pythia", 10).value)
    assert set(points["V"]) == {50257, 50272, 50688, 152064}


def test_halves_are_whole_documents_and_about_half():
    tokens = np.random.default_rng(0).integers(5, 50, 200)
    half = one_law.halves("notes", np.arange(200), tokens)
    assert 0.4 < tokens[half].sum() / tokens.sum() < 0.6
    assert np.array_equal(half, one_law.halves("notes", np.arange(200), tokens))
    with pytest.raises(InputError, match="cannot be halved"):
        one_law.halves("notes", [0], [9])


# -- calibration ------------------------------------------------------------------------------


def test_calibration_is_the_difference_of_the_means():
    one = made(1000, np.arange(200) % 7 + 1)
    full = SimpleNamespace(**vars(one), tokens=one.tokens)
    full.document_p_max = one.document_hits[:, 0] - 0.5
    full.document_entropy = one.document_nll + 1.0
    (row,) = one_law.calibration([full]).to_dict("records")
    assert row["RBP_1"] == one.rbp(1) and row["CE"] == pytest.approx(one.ce())
    assert row["gap_1"] == pytest.approx(0.05)  # 0.5 a document of ten tokens
    assert row["gap_1_low"] == pytest.approx(0.05) == pytest.approx(row["gap_1_high"])
    assert row["gap_CE"] == pytest.approx(-0.1) == pytest.approx(row["gap_CE_low"])
