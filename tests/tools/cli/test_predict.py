"""`rbpkit predict`: its table, its warnings, its one-line errors."""

import io
import json
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import pocket_summaries

from rbpkit.fit import curve_of, fit_power_law, models_of
from rbpkit.records import load_summaries
from rbpkit.tools.cli.common import Form, print_table
from rbpkit_pocket import families

ONE = ("--where", "family=Pythia", "--corpus", "pocket:prose")


@pytest.fixture
def folder(tmp_path):
    return pocket_summaries(tmp_path, "pocket:prose", "pythia-*")


@pytest.fixture
def predict(rbpkit, folder):
    """Run `rbpkit predict` on that folder -> (exit status, standard output, standard error)."""
    return partial(rbpkit, "predict", "--records", folder)


def test_prediction_is_the_fits_own_and_its_reach_is_said(predict, folder):
    sizes = ("--size", "7e9", "--size", "1e3")
    status, out, err = predict(*sizes, "--k", 1, *ONE, "--format", "json")
    assert status == 0
    ce, _, rbp, smaller = json.loads(out)
    curve = curve_of(models_of(load_summaries(folder), "pocket:prose", "Pythia"), 1)
    predicted = fit_power_law(curve.S, curve.loss).predict(7e9)
    assert (rbp["loss"], rbp["loss_low"], rbp["loss_high"]) == pytest.approx(
        (predicted.loss, predicted.low, predicted.high)
    )
    assert rbp["RBP_low"] < rbp["RBP"] < rbp["RBP_high"] and rbp["n"] == curve.S.size
    assert ce["quantity"] == "CE" and ce["RBP"] is None
    beyond = math.log10(7e9 / curve.S.max())
    assert rbp["decades"] == pytest.approx(beyond)
    assert smaller["decades"] == pytest.approx(math.log10(1e3 / curve.S.min()))
    warning = f"warning: Pythia: 7e+09 is {beyond:.2f} decades outside"
    assert err.count("\n") == 2 and warning in err


def test_too_few_sizes_and_a_law_that_cannot_be_fitted(predict, folder):
    status, out, err = predict("--size", "3e5", "--k", 1, "--k", families.V, *ONE)
    assert status == 0 and "RBP_1 " in out and "RBP_4096" not in out
    assert err.startswith("no prediction: Pythia, pocket:prose, RBP_4096: cannot fit")
    for path in list(folder.rglob("*.npz"))[2:]:
        path.unlink()
    status, _, err = predict("--size", "1e6")
    assert status == 2 and "at least 3 sizes" in err and err.count("\n") == 1


# -- from cross-entropy -----------------------------------------------------------------------


def test_a_model_of_which_only_the_loss_is_known(predict, rbpkit, folder, tmp_path):
    status, out, _ = predict("--ce", "3.5", "--ce", "9", "--k", 1, *ONE, "--format", "json")
    assert status == 0
    inside, outside = json.loads(out)
    chosen = [one for one in load_summaries(folder) if one.manifest.family == "Pythia"]
    x = [math.log(one.ce()) for one in chosen]
    y = [math.log(-math.log(one.rbp(1))) for one in chosen]
    slope, intercept = np.polyfit(x, y, 1)
    expected = math.exp(-math.exp(intercept + slope * math.log(3.5)))
    assert inside["RBP"] == pytest.approx(expected) and inside["note"] == ""
    assert inside["decades"] == 0 and outside["decades"] == pytest.approx(
        math.log10(9 / max(one.ce() for one in chosen))
    )
    given = ("fit", folder, "--against", "ce", "--k", 1, "--format", "json")
    status, out, _ = rbpkit(*given)
    assert status == 0 and json.loads(out)[0]["slope"] == pytest.approx(slope)
    assert rbpkit(*given, "--figure", tmp_path / "axis.png")[0] == 0
    assert pd.read_csv(tmp_path / "axis.csv")["S"].tolist() == pytest.approx(
        np.exp(sorted(x)), rel=1e-5
    )


def test_a_table_for_a_page_or_a_program(rbpkit, folder):
    fitted = ("fit", folder, *ONE, "--k", 10, "--format")
    rows = json.loads(rbpkit(*fitted, "json")[1])
    read = pd.read_csv(io.StringIO(rbpkit(*fitted, "csv")[1]), na_filter=False)
    pd.testing.assert_frame_equal(read, pd.DataFrame(rows))
    slope = f"{rows[1]['slope']:.4f}"
    lines = rbpkit(*fitted, "md")[1].splitlines()
    assert lines[1].count("-:|") == 6 and lines[1].count(":-") == 4  # numbers to the right
    cells = ["pocket:prose", "Pythia", "RBP_10", "8", slope]
    assert [cell.strip() for cell in lines[3].split("|")[1:6]] == cells
    page = rbpkit(*fitted, "latex")[1]
    assert rf"Pythia & $\mathrm{{RBP}}_{{10}}$ & 8 & {slope}" in page
    assert "{lllrrrrrrl}" in page and "$R^2$" in page
    table = rbpkit(*fitted, "text", "--columns", "quantity,slope")[1]
    assert table.split() == ["quantity", "slope", "CE", f"{rows[0]['slope']:.4f}", "RBP_10", slope]
    status, _, err = rbpkit(*fitted, "text", "--columns", "alpha")
    assert status == 2 and "slope" in err


@pytest.mark.parametrize("form", ["text", "csv", "md", "latex"])
def test_a_name_from_outside_is_text(form, capsys):
    print_table(pd.DataFrame({"model": ["=1+1|a_b\x1b[2J"], "CE": [-1.5]}), Form(form))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "-1.5" in shown
    written = {"csv": "'=1+1", "md": r"=1+1\|a", "latex": r"=1+1|a\_b"}
    assert written.get(form, "=1+1|a_b") in shown
