"""The explorers: what their panels say is what the package computes; stills without a server."""

from __future__ import annotations

import ipywidgets
import matplotlib
import numpy as np
import pytest

from rbpkit import plots
from rbpkit.fit import Curve, fit_power_law
from rbpkit.tools import explorers
from rbpkit.tools.exercises import check, close, digest_of, sealed

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def alone(monkeypatch) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


@pytest.fixture
def served(alone, monkeypatch) -> tuple[list, list]:
    """As in a Jupyter server: the controls that are made, and the figures that are shown."""
    controls, shown = [], []
    interact = ipywidgets.interact
    monkeypatch.setenv("JPY_SESSION_NAME", "x.ipynb")
    monkeypatch.setattr(plots, "show", shown.append)

    def kept(function, **options):
        controls.extend(interact(function, **options).widget.children[:-1])

    monkeypatch.setattr(ipywidgets, "interact", kept)
    return controls, shown


def drawn_curve(alpha: float, noise: float = 0.0) -> Curve:
    """-log RBP_5 = 3 S^-alpha, times exp(noise)."""
    S = np.geomspace(1e5, 1e8, 6)
    wobble = noise * np.random.default_rng(0).standard_normal(len(S))
    models = tuple(f"m{i}" for i in range(len(S)))
    return Curve("c", "F", "RBP_5", models, S, np.exp(-3 * S**-alpha * np.exp(wobble)))


def test_the_law_panel_recovers_what_was_planted_with_the_interval_of_predict():
    key, curve = ("c", "F", 5), drawn_curve(0.08, noise=0.05)
    [axes] = explorers.explore_law({key: drawn_curve(0.08)}, [key, ("c", "none", 5)]).axes
    assert "$\\alpha$ = 0.080 [0.080, 0.080]" in axes.get_title() and "$n$ = 6" in axes.get_title()
    [axes] = explorers.explore_law({key: curve}, [key]).axes
    [band] = axes.collections
    ends = band.get_paths()[0].vertices
    last = fit_power_law(curve.S, curve.loss).predict(curve.S.max() * 10)
    at_end = ends[np.isclose(ends[:, 0], curve.S.max() * 10), 1]
    assert at_end.min() == pytest.approx(last.low) and at_end.max() == pytest.approx(last.high)


def test_law_curves_hold_both_sources(shipped):
    pocket = [s for s in shipped if s.manifest.family == "Qwen"]
    curves = explorers.law_curves(pocket, ["pocket:code"], ["Qwen", "OPT"], [1, 7])
    measured = {key[1:] for key in curves if key[0] == "pocket:code"}
    assert measured == {("Qwen", 1), ("Qwen", 7)}
    assert ("Wiki", "Pythia", 1) in curves and ("Wiki", "Pythia", 7) not in curves
    one = curves["pocket:code", "Qwen", 7]
    by_model = {s.manifest.model: s for s in pocket if s.manifest.corpus == "pocket:code"}
    assert one.value == pytest.approx([by_model[m].rbp(7) for m in one.models])


def test_sliders_draw_again(served):
    controls, shown = served

    def draw(axes, mu, sigma):
        axes.set_title(f"{mu} {sigma}")

    assert explorers.explore(draw, [(-5.0, 2.0)], mu=(-30, 9), sigma=(1, 8)) is None
    mu, sigma = controls
    mu.value, sigma.value = -6.0, 2.5
    titles = [figure.axes[0].get_title() for figure in shown]
    assert titles == ["-5.0 2.0", "-6.0 2.0", "-6.0 2.5"]


def test_the_nearest_curve_is_drawn_and_named_if_there_is_none(served):
    controls, shown = served
    curve = drawn_curve(0.1, 0.01)
    curves = {("c", "F", 5): curve, ("c", "F", 90): curve, ("d", "G", 7): curve}
    assert explorers.explore_law(curves, [("c", "F", 5)]) is None
    corpus, family, k = controls
    assert (corpus.value, family.value, k.value) == ("c", "F", 5)
    assert "nearest" not in shown[-1].axes[0].get_xlabel()
    k.value = 7
    assert "no curve of $k$ = 7 of F on c" in shown[-1].axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("answer", "says"),
    [(None, "not answered yet"), (2.04, "right"), (2.06, "not yet"), ("two", "not yet")],
)
def test_a_self_check_says_right_or_wrong_and_no_more(answer, says):
    assert check(3, answer, close(2.0, 0.05)) == f"3: {says}"
    assert check(3, answer, sealed(digest_of(2.0), digits=2, within=5)) == f"3: {says}"
