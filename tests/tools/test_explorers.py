"""The explorers: what their panels say is what the package computes; stills where none is alive."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch

from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.sections import c_derivation, plots, s5_1_emergence
from rbpkit.tools import explorers, sentence_explorer
from rbpkit.tools.exercises import check, close, digest_of, sealed
from rbpkit.tools.look import look

matplotlib.use("Agg")
STILLS = [(1, 1), (100, 1), (100, 100)]


@pytest.fixture(scope="module")
def windows() -> pd.DataFrame:
    return s5_1_emergence.published_windows()


@pytest.fixture
def served(monkeypatch) -> list:
    """As in a Jupyter server; what is shown is kept."""
    pytest.importorskip("ipywidgets", reason="needs ipywidgets")
    shown: list = []
    monkeypatch.setenv("JPY_SESSION_NAME", "x.ipynb")
    monkeypatch.setattr(plots, "show", shown.append)
    return shown


@pytest.fixture
def alone(monkeypatch) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


def drawn_curve(S: np.ndarray, alpha: float, noise: float = 0.0) -> Curve:
    """-log RBP_5 = 3 S^-alpha, times exp(noise)."""
    wobble = noise * np.random.default_rng(0).standard_normal(len(S))
    models = tuple(f"m{i}" for i in range(len(S)))
    return Curve("c", "F", "RBP_5", models, S, np.exp(-3 * S**-alpha * np.exp(wobble)))


def panel(curve: Curve):
    figure, axes = matplotlib.pyplot.subplots()
    explorers.law_panel(axes, curve)
    matplotlib.pyplot.close(figure)
    return axes


def test_the_law_panel_recovers_what_was_planted():
    axes = panel(drawn_curve(np.geomspace(1e5, 1e8, 6), 0.08))
    assert "$\\alpha$ = 0.080 [0.080, 0.080]" in axes.get_title() and "$n$ = 6" in axes.get_title()


def test_the_band_is_the_interval_of_predict():
    curve = drawn_curve(np.geomspace(1e5, 1e8, 6), 0.08, noise=0.05)
    axes = panel(curve)
    [band] = axes.collections
    ends = band.get_paths()[0].vertices
    fitted = fit_power_law(curve.S, curve.loss)
    last = fitted.predict(curve.S.max() * 10)
    at_end = ends[np.isclose(ends[:, 0], curve.S.max() * 10), 1]
    assert at_end.min() == pytest.approx(last.low) and at_end.max() == pytest.approx(last.high)
    low, high = axes.get_ylim()
    assert low < min(last.low, curve.loss.min()) and high > curve.loss.max()


def test_law_curves_hold_both_sources(shipped):
    ours = [s for s in shipped if s.manifest.family == "Qwen"]
    curves = explorers.law_curves(ours, ["pocket:code"], ["Qwen", "OPT"], [1, 7])
    assert {key for key in curves if key[0] == "pocket:code"} == {
        ("pocket:code", "Qwen", 1),
        ("pocket:code", "Qwen", 7),
    }
    assert ("Wiki", "Pythia", 1) in curves and ("Wiki", "Pythia", 7) not in curves
    one = curves["pocket:code", "Qwen", 7]
    by_model = {s.manifest.model: s for s in ours if s.manifest.corpus == "pocket:code"}
    assert one.value == pytest.approx([by_model[m].rbp(7) for m in one.models])
    for curve in curves.values():
        fit_power_law(curve.S, curve.loss)


def test_the_knee_is_where_eq_8_passes_one_half(windows):
    for one in explorers.eq8_points(windows, STILLS).itertuples():
        half = s5_1_emergence.success_at(10**one.log10_S_knee, one.N, one.c, one.alpha)
        assert half == pytest.approx(0.5)
        low, high = (
            s5_1_emergence.knee(one.N, one.c, one.alpha, p) / np.log(10) for p in (0.1, 0.9)
        )
        assert one.decades == pytest.approx(high - low)


def test_a_larger_N_shifts_the_knee_and_leaves_the_width(windows):
    one, other, _ = explorers.eq8_points(windows, STILLS).itertuples()
    assert other.log10_S_knee - one.log10_S_knee == pytest.approx(2 / one.alpha)
    assert one.decades == other.decades


def test_the_lognormal_by_sum_and_by_closed_form(alone):
    [row] = explorers.lognormal_points([(-5.0, 2.0)]).itertuples()
    k = np.arange(1, 200_000)
    psi = c_derivation.psi(k, -5.0, 2.0)
    p = psi / psi.sum()  # the rest is below 1e-16
    assert row.neg_log_p1 == pytest.approx(-np.log(p[0]), abs=1e-9)
    assert row.CE == pytest.approx(-(p * np.log(p)).sum(), abs=1e-6)
    assert row.neg_log_p1_approx == c_derivation.neg_log_p1_approx(-5.0, 2.0) != row.neg_log_p1
    figure = explorers.explore_lognormal([(-5.0, 2.0)])
    title = figure.axes[0].get_title()
    assert f"{row.neg_log_p1:.3f} | {row.neg_log_p1_approx:.3f}" in title
    assert f"{row.CE:.3f} | {row.CE_approx:.3f}" in title
    points = figure.axes[0].lines[1]
    assert points.get_ydata()[0] == pytest.approx(p[0], abs=1e-9)


def test_stills_have_a_panel_each(alone, windows):
    curves = {("c", "F", 5): drawn_curve(np.geomspace(1e5, 1e8, 4), 0.1, 0.01)}
    stills = [("c", "F", 5), ("not", "measured", 5)]
    assert len(explorers.explore_law(curves, stills).axes) == 1
    assert len(explorers.explore_eq8(windows, STILLS).axes) == 3
    assert len(explorers.explore_lognormal([(-5.0, 2.0), (2.0, 3.0)]).axes) == 2


def test_nothing_to_draw_is_said(alone, windows):
    with pytest.raises(InputError, match="no curves"):
        explorers.explore_law({}, [])
    with pytest.raises(InputError, match="name at least one"):
        explorers.explore_eq8(windows, [])


def sliders(monkeypatch) -> list:
    """The boxes that `interact` makes, from now on."""
    import ipywidgets

    made = []
    genuine = ipywidgets.interact

    def kept(function, **controls):
        made.append(genuine(function, **controls).widget)

    monkeypatch.setattr(ipywidgets, "interact", kept)
    return made


def test_sliders_draw_anew_and_show_once(served, monkeypatch):
    made = sliders(monkeypatch)
    assert explorers.explore_lognormal([(-5.0, 2.0)]) is None
    [box] = made
    mu, sigma = box.children[:2]
    served.clear()
    mu.value, sigma.value = -6.0, 2.5
    titles = [figure.axes[0].get_title() for figure in served]
    assert len(served) == 2 and "-6" in titles[0] and "2.5" in titles[1]


def test_in_the_place_of_a_missing_curve_the_nearest_is_drawn_and_named(served, monkeypatch):
    made = sliders(monkeypatch)
    curve = drawn_curve(np.geomspace(1e5, 1e8, 4), 0.1, 0.01)
    curves = {("c", "F", 5): curve, ("c", "F", 90): curve, ("d", "G", 7): curve}
    assert explorers.explore_law(curves, [("c", "F", 5)]) is None
    corpus, family, k = made[0].children[:3]
    assert (corpus.value, family.value, k.value) == ("c", "F", 5)
    assert "not there" not in served[-1].axes[0].get_xlabel()
    k.value = 7
    axes = served[-1].axes[0]
    assert axes.lines and "$k$ = 7 of F on c is not there" in axes.get_xlabel()
    assert explorers.nearest_curve(curves, ("c", "F", 7)) == ("c", "F", 5)
    assert explorers.nearest_curve(curves, ("d", "F", 5)) == ("d", "G", 7)


def test_the_axis_of_eq_8_stays_and_N_1_stands_beside_every_other_N(alone, windows):
    axes = explorers.explore_eq8(windows, [(1, 1), (100, 1), (1000, 100)]).axes
    assert {one.get_xlim() for one in axes} == {explorers.EQ8_RANGE}
    assert [bool("$N$ = 1" in one.get_legend_handles_labels()[1]) for one in axes] == [
        False,
        True,
        True,
    ]


# -- a sentence of one's own ------------------------------------------------------------------

SENTENCE = 'def mean(values):\n    """Return the arithmetic mean of the values."""\n'


@pytest.fixture(scope="module")
def looks():
    torch.set_num_threads(1)
    models = [load_model(ladders.model_folder("Pythia", size), device="cpu") for size in (0, 5)]
    return [look(model, SENTENCE, name="sentence") for model in models]


def test_a_sentence_has_a_panel_a_model_and_says_its_hits(looks):
    figure = sentence_explorer.panels(looks, 10)
    titles = [axes.get_title("left") for axes in figure.axes]
    for one, title in zip(looks, titles, strict=True):
        hits = round(one.rbp(10) * len(one.scored))
        assert title == f"{one.model}: R ≤ 10 at {hits} of {len(one.scored)} tokens"
    filled = [
        sum(box.get_facecolor()[:3] != (1, 1, 1) for box in axes.patches) for axes in figure.axes
    ]
    assert filled == [round(one.rbp(10) * len(one.scored)) for one in looks]


def test_every_token_is_laid_out_within_the_lines(looks):
    placed = sentence_explorer._lines(looks[0].tokens)
    assert "".join(text for _, text, *_ in placed) == SENTENCE.replace("\n", "↵")
    assert all(column + len(text) <= sentence_explorer.COLUMNS for _, text, column, _ in placed)


def test_its_points_are_the_ranks(looks):
    table = sentence_explorer.rank_points(looks)
    assert list(table["rank"]) == [token.rank for one in looks for token in one.scored]


def test_without_a_server_there_is_a_still_and_nothing_is_refused(looks, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    figure = sentence_explorer.explore_sentence(looks, [3, 1])
    assert "R ≤ 3" in figure.axes[0].get_title("left")
    for bad in (([], [1]), (looks, [])):
        with pytest.raises(InputError):
            sentence_explorer.explore_sentence(*bad)


# -- exercises -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "says"),
    [(None, "not answered yet"), (2.04, "right"), (2.06, "not yet"), ("two", "not yet")],
)
def test_a_self_check_says_right_or_wrong_and_no_more(answer, says):
    assert check(3, answer, close(2.0, 0.05)) == f"3: {says}"
    assert check(3, answer, sealed(digest_of(2.0), digits=2, within=5)) == f"3: {says}"
