"""A processor's last digits are no change; anything that a reader could see is one."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from rbpkit.files.whole import as_csv, write_whole

from rbpkit.files.changes import ATOL, DRAWN_BY, RTOL, changed, same_picture, same_text
from rbpkit.sections import plots

OLD = "model,S,slope\npythia-w32-l2,25472,-0.0512345\nw64,99,1e-16\n"


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (OLD, True),
        (OLD.replace("-0.0512345", "-0.0512346"), True),  # the sixth digit
        (OLD.replace("-0.0512345", "-0.0512445"), False),
        (OLD.replace("-0.0512345", "0.0512345"), False),
        (OLD.replace("1e-16", "-3.1e-17"), True),  # zero, twice
        (OLD.replace("1e-16", str(3 * ATOL)), False),
        (OLD.replace("25472", "25473"), False),  # a count is exact, however near
        (OLD.replace("w64", "w65"), False),
        (OLD.replace("slope", "alpha"), False),
        (OLD + "x,1,2\n", False),
        (OLD.replace("-0.0512345", ""), False),
    ],
)
def test_same_text(new, same):
    assert same_text(OLD, new) is same


def picture(shift: float = 0.0, code: str = "a") -> bytes:
    figure, axes = plt.subplots(figsize=(2, 2))
    axes.plot(np.arange(5) + shift, np.arange(5) ** 2, marker="o")
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None, DRAWN_BY: code})
    plt.close(figure)
    return file.getvalue()


def test_a_picture_is_the_same_by_its_code_or_its_pixels():
    old = picture()
    assert same_picture(old, picture(1e-9))  # though a marker sits on another pixel
    assert same_picture(old, picture(code="b"))
    assert not same_picture(old, picture(0.3, code="b"))
    assert not same_picture(old[:-30], old)  # damaged: made anew


def test_a_picture_goes_with_its_table(tmp_path):
    table = pd.DataFrame({"x": [1 / 3]})
    for name, data in {"f.png": picture(), "f.csv": as_csv(table).encode()}.items():
        (tmp_path / name).write_bytes(data)
    moved = {"f.png": picture(0.3), "f.csv": as_csv(table * (1 + 1e-12)).encode()}
    assert changed(tmp_path, moved) == {}
    moved["f.csv"] = as_csv(table * 1.01).encode()
    assert changed(tmp_path, moved) == moved


@pytest.mark.parametrize("seed", range(20))
def test_a_table_with_its_last_bits_disturbed_is_left_alone(seed, tmp_path):
    random = np.random.default_rng(seed)
    values = random.lognormal(0, 6, 300) * random.choice([-1, 1], 300)
    table = pd.DataFrame({"S": random.integers(1, 10**9, 300), "value": values})
    write_whole(tmp_path, {"t.csv": as_csv(table).encode()})
    there = (tmp_path / "t.csv").stat()
    disturbed = table.assign(value=np.nextafter(values, random.choice([-np.inf, np.inf], 300)))
    write_whole(tmp_path, {"t.csv": as_csv(disturbed).encode()})
    assert (tmp_path / "t.csv").stat().st_mtime_ns == there.st_mtime_ns
    worse = table.assign(value=values * (1 + 10 * RTOL))
    assert list(changed(tmp_path, {"t.csv": as_csv(worse).encode()})) == ["t.csv"]


def test_a_csv_has_six_digits_and_counts_have_all():
    table = pd.DataFrame({"S": [11327027200.0, np.nan], "loss": [1 / 3, 2e-7 / 3], "n": [3, 10**9]})
    assert as_csv(table) == "S,loss,n\n11327027200,0.333333,3\n,6.66667e-08,1000000000\n"


@pytest.mark.parametrize(("form", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_figures_as_vectors_are_the_same_bytes_each_time(form, begins, tmp_path, monkeypatch):
    monkeypatch.setenv(plots.FORMAT_VARIABLE, form)
    for folder in ("once", "again"):
        with plots.style():
            figure, axes = plt.subplots()
            axes.set_title("$R^2$ of a line")
        plots.save(figure, pd.DataFrame({"k": [1]}), str(tmp_path / folder), "one")
    once, again = ((tmp_path / folder / f"one.{form}").read_bytes() for folder in ("once", "again"))
    assert once == again and once.startswith(begins)
    assert b"STIX" in once  # letters that match a paper's
