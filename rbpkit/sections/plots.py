"""The paper's figures: one style, published and measured side by side, each with its points.

Families keep their colour and marker in every figure; markers and line styles differ too, so
that a figure reads in grey and for the colour-blind (Okabe and Ito's palette).
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from rbpkit.errors import InputError
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.fit import Curve


@dataclass(frozen=True)
class Ink:
    """How a family is drawn."""

    colour: str
    marker: str
    line: str


FAMILY_INK = {
    "GPT2": Ink("#0072B2", "o", "-"),
    "OPT": Ink("#E69F00", "s", "--"),
    "Pythia": Ink("#009E73", "^", "-."),
    "Qwen": Ink("#CC79A7", "D", ":"),
    "Mamba": Ink("#D55E00", "P", "-"),
}
OTHER_INK = Ink("#444444", "v", "-")
SAVED_DPI = 100
FORMATS = ("png", "pdf", "svg")
FORMAT_VARIABLE = "RBPKIT_FIGURE_FORMAT"  # of the environment, so that notebooks' kernels have it
# Beside a paper's text: Times-like letters, and text in the file that stays text.
VECTOR = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "rbpkit",
}


def figure_format(form: str | None = None) -> str:
    """The format of saved figures: `form`, by default the environment's.

    Raises InputError where it is none of `FORMATS`.
    """
    form = form or os.environ.get(FORMAT_VARIABLE) or "png"
    if form not in FORMATS:
        raise InputError(f"no format of figures {form!r}; there are {', '.join(FORMATS)}")
    return form


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure, for the duration of a `with` block."""
    with sns.axes_style("whitegrid"), sns.plotting_context("notebook"):
        with plt.rc_context(
            {
                "figure.dpi": 100,
                "axes.titlesize": 11,
                "axes.labelsize": 10,
                "legend.fontsize": 8,
                "xtick.labelsize": 9,
                "ytick.labelsize": 9,
                "grid.linewidth": 0.5,
                **({} if figure_format() == "png" else VECTOR),
            }
        ):
            yield


def curve_points(source: str, curves: Sequence[Curve]) -> pd.DataFrame:
    """The points of curves as a table: source, corpus, family, model, quantity, S, value, loss."""
    rows = [
        (source, c.corpus, c.family, model, c.quantity, int(S), value, loss)
        for c in curves
        for model, S, value, loss in zip(c.models, c.S, c.value, c.loss, strict=True)
    ]
    names = ["source", "corpus", "family", "model", "quantity", "S", "value", "loss"]
    return pd.DataFrame(rows, columns=names)


def save(figure: Figure, points: pd.DataFrame, figures_dir: str, name: str) -> None:
    """Show the figure; write `name.png` and `name.csv` (its points) into a folder, if one is named.

    `name.pdf` or `name.svg` instead where the environment's RBPKIT_FIGURE_FORMAT says so.
    In a notebook it is shown once, wherever in the cell this is called; elsewhere not at all.
    Values carry six significant digits, S all of its digits.
    """
    show(figure)
    if not figures_dir:
        return
    picture = io.BytesIO()
    form = figure_format()
    look = {"dpi": SAVED_DPI, "bbox_inches": "tight"}
    look["metadata"] = {  # no date: the same figure is the same bytes
        "png": {"Software": None},
        "pdf": {"CreationDate": None},
        "svg": {"Date": None},
    }[form]
    with plt.rc_context({} if form == "png" else VECTOR):
        figure.savefig(picture, format=form, **look)
    files = {f"{name}.{form}": picture.getvalue(), f"{name}.csv": as_csv(points).encode()}
    write_whole(Path(figures_dir), files)


def show(figure: Figure) -> None:
    """Display the figure in a notebook, and close it, so that no cell shows it again."""
    plt.close(figure)
    from IPython import get_ipython

    if get_ipython() is not None:
        from IPython.display import display

        display(figure)
