"""The explorers: what their panels say is what the package computes; stills without a server."""

from __future__ import annotations

import ipywidgets
import matplotlib
import numpy as np
import pytest

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.models import load_model
from rbpkit.pocket import recipes
from rbpkit.sections import c_derivation, s5_1_emergence
from rbpkit.tools import explorers
from rbpkit.tools.exercises import check, close, digest_of, sealed
from rbpkit.tools.look import look
from rbpkit.tools.sentence_explorer import explore_sentence, rank_points

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


def test_the_knee_is_where_eq_8_passes_one_half():
    windows, stills = s5_1_emergence.published_windows(), [(1, 1), (100, 1), (100, 100)]
    points = explorers.eq8_points(windows, stills)
    for one in points.itertuples():
        half = s5_1_emergence.success_at(10**one.log10_S_knee, one.N, one.c, one.alpha)
        assert half == pytest.approx(0.5)
    # A larger N moves the knee by log N / alpha and leaves the width.
    one, other, _ = points.itertuples()
    assert other.log10_S_knee - one.log10_S_knee == pytest.approx(2 / one.alpha)
    assert one.decades == other.decades
    assert len(explorers.explore_eq8(windows, stills).axes) == 3
    with pytest.raises(InputError, match="nothing to draw"):
        explorers.explore_eq8(windows, [])


def test_the_lognormal_by_sum_and_by_closed_form():
    [row] = explorers.lognormal_points([(-5.0, 2.0)]).itertuples()
    psi = c_derivation.psi(np.arange(1, 200_000), -5.0, 2.0)
    p = psi / psi.sum()  # the rest is below 1e-16
    assert row.neg_log_p1 == pytest.approx(-np.log(p[0]), abs=1e-9)
    assert row.CE == pytest.approx(-(p * np.log(p)).sum(), abs=1e-6)
    [axes] = explorers.explore_lognormal([(-5.0, 2.0)]).axes
    assert f"{row.neg_log_p1:.3f} | {row.neg_log_p1_approx:.3f}" in axes.get_title()
    assert axes.lines[1].get_ydata()[0] == pytest.approx(p[0], abs=1e-9)


def test_sliders_draw_again(served):
    controls, shown = served
    assert explorers.explore_lognormal([(-5.0, 2.0)]) is None
    mu, sigma = controls
    mu.value, sigma.value = -6.0, 2.5
    first, second, third = (figure.axes[0].get_title() for figure in shown)
    assert "-5$" in first and "-6$" in second and "2.5$" in third


def test_a_sentence_has_a_panel_for_each_model_and_counts_its_hits():
    text = 'def mean(values):\n    """Return the arithmetic mean of the values."""\n'
    models = [load_model(recipes.model_folder("Pythia", size), device="cpu") for size in (0, 5)]
    looks = [look(model, text, name="sentence") for model in models]
    figure = explore_sentence(looks, [10, 1])
    for one, axes in zip(looks, figure.axes, strict=True):
        hits = sum(token.rank <= 10 for token in one.scored)
        title = f"{one.model}: R ≤ 10 at {hits} of {len(one.scored)} tokens"
        assert axes.get_title("left") == title
        assert sum(box.get_facecolor()[:3] != (1, 1, 1) for box in axes.patches) == hits
        assert "".join(letter.get_text() for letter in axes.texts) == text.replace("\n", "↵")
    assert list(rank_points(looks)["rank"]) == [t.rank for one in looks for t in one.scored]


@pytest.mark.parametrize(
    ("answer", "says"),
    [(None, "not answered yet"), (2.04, "right"), (2.06, "not yet"), ("two", "not yet")],
)
def test_a_self_check_says_right_or_wrong_and_no_more(answer, says):
    assert check(3, answer, close(2.0, 0.05)) == f"3: {says}"
    assert check(3, answer, sealed(digest_of(2.0), digits=2, within=5)) == f"3: {says}"
