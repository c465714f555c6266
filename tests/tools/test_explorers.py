"""The explorers: what their panels say is what the package computes; stills without a server."""

from __future__ import annotations

import math

import ipywidgets
import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch

from rbpkit import plots
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


def test_sliders_draw_again(served):
    controls, shown = served

    def draw(axes, mu, sigma):
        axes.set_title(f"{mu} {sigma}")

    assert explorers.explore(draw, [(-5.0, 2.0)], mu=(-30, 9), sigma=(1, 8)) is None
    mu, sigma = controls
    mu.value, sigma.value = -6.0, 2.5
    titles = [figure.axes[0].get_title("left") for figure in shown]
    assert titles == ["-5.0 2.0", "-6.0 2.0", "-6.0 2.5"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "not answered yet"),
        (2.04, "right"),
        (2.06, "not yet"),
        ("two", "not yet"),
        ("2.0", "not yet"),
        ([2.0], "not yet"),
    ],
)
def test_a_self_check_says_right_or_wrong(answer, says):
    for is_right in (close(2.0, 0.05), sealed(digest_of(2.0), digits=2, within=5)):
        assert check(3, answer, is_right).splitlines()[0] == f"3: {says}"


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (-2.0, "sign"),
        (0.5, "inverse"),
        (200, "percentage"),
        (0.02, "share"),
        (2e6, "millions"),
        (2 / math.log(10), "natural"),
        ("2", "text"),
        ((2, 0), "not a comma"),
    ],
)
def test_a_self_check_names_the_common_mistakes(answer, mistake):
    assert mistake in check(1, answer, close(2.0, 0.01))


@pytest.mark.parametrize(
    "answer",
    [
        torch.tensor(2),
        torch.tensor([2.0]),
        torch.tensor([[2.0]], requires_grad=True),
        np.array(2),
        np.array([2.0]),
        np.int64(2),
        np.float32(2),
        pd.Series([2.0]),
    ],
    ids=repr,
)
def test_one_number_in_any_form_is_a_number(answer):
    for is_right in (close(2.0, 0.05), sealed(digest_of(2.0), digits=2, within=5)):
        assert check(1, answer, is_right).startswith("1: right")
        assert "sign" in check(1, -answer, is_right)
    assert check(1, answer, close(3.0, 0.05)) == "1: not yet"


def test_mistakes_of_one_exercise():
    """One that is undone, also of a very large integer; one that is recognised."""
    is_right = close(25.0, 0.1)
    undone = [(lambda answer: np.log10(answer), "the factor")]
    assert "the factor" in check(1, 10**25, is_right, undone)
    recognised = [(lambda answer: answer == torch.tensor(258), "another model")]
    assert "another model" in check(1, torch.tensor(258), is_right, recognised)
    assert check(1, 257, is_right, recognised) == "1: not yet"
    assert check(1, 10**400, is_right, undone) == "1: not yet"
