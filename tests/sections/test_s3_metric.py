"""Section 3: ranks with ties, the figures' points, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.sections import s3_metric


def prediction(logits: list[float], target: int, title: str = "one") -> s3_metric.Prediction:
    p = np.exp(logits) / np.exp(logits).sum()
    return s3_metric.Prediction(title, tuple("ABCDEF")[: p.size], p, target)


def test_rank_counts_ties_against_the_target_and_shows_it_last():
    tied = prediction([1.0, 2.0, 1.0, 0.0], target=0)
    assert tied.rank == 3
    points = s3_metric.prediction_points([tied])
    assert points["token"].tolist() == ["B", "C", "A", "D"]
    assert points.query("correct")["place"].tolist() == [3]


def test_figures_1_and_2_have_their_bars_and_refuse_none():
    three = [prediction([2.0, 1.0, 0.5, 0.0], t, f"token {t}") for t in (1, 2, 3)]
    points = s3_metric.prediction_points(three)
    assert points.groupby("prediction")["p"].sum().to_numpy() == pytest.approx(1)
    assert points.query("correct")["place"].tolist() == [2, 3, 4]
    for draw, *ks in ((s3_metric.figure_1,), (s3_metric.figure_2, (2, 3))):
        assert draw(three, *ks).axes
        with pytest.raises(InputError, match="nothing to draw"):
            draw([], *ks)


def test_staircases_draw_the_ends_of_each_family():
    points = paper.rbp_by_k().rename(columns={"dataset": "corpus"}).assign(source="published")
    figure = s3_metric.staircases(points)
    corpora = list(dict.fromkeys(points["corpus"]))
    for corpus, axes in zip(corpora, figure.axes, strict=False):
        for _, one in points[points["corpus"] == corpus].groupby("family"):
            for S in (one["S"].min(), one["S"].max()):
                want = one[one["S"] == S]["rbp"].to_list()
                assert any(list(line.get_ydata()) == want for line in axes.lines), (corpus, S)
    with pytest.raises(InputError, match="nothing to draw"):
        s3_metric.staircases(points.iloc[:0])


def test_the_value_at_one_k_is_read_off_the_staircase():
    rbp = np.linspace(0.3, 1, 50)
    axes = Figure().add_subplot()
    s3_metric.read_at(axes, rbp, 7)
    assert axes.lines[-1].get_xdata() == [7] and axes.lines[-1].get_ydata() == [rbp[6]]


def test_bounds_need_a_token():
    R, nll = np.array([1, 2, 4]), np.log([1.5, 3.0, 6.0])
    assert s3_metric.bounds(R, nll, np.array([0.3, 0.6, 0.6, 1.0]), "toy").axes
    with pytest.raises(InputError, match="nothing to draw"):
        s3_metric.bounds(R[:0], nll[:0], np.array([1.0]), "toy")
