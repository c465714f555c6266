"""The explorers: what their panels say is what the package computes; stills without a server."""

from __future__ import annotations

import ipywidgets
import matplotlib
import pytest

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
    [(None, "not answered yet"), (2.04, "right"), (2.06, "not yet"), ("two", "not yet")],
)
def test_a_self_check_says_right_or_wrong_and_no_more(answer, says):
    assert check(3, answer, close(2.0, 0.05)) == f"3: {says}"
    assert check(3, answer, sealed(digest_of(2.0), digits=2, within=5)) == f"3: {says}"
