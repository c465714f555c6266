"""Table 1: printed cells from points, intervals, files, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from made_summaries import made

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.sections import b_table1
from rbpkit.stats.curves import models_of, table1_curves

# The tables print three decimals (half a unit: 0.0005); the rest is for six-decimal RBP values.
TOLERANCE = 0.0006
LAYOUT = {"slope text": "slope", "R2 text": "R2"}


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return b_table1.table1_recomputed()


@pytest.fixture(scope="module")
def humaneval(shipped):
    """The smallest shipped corpus: Pythia's six sizes."""
    return models_of(shipped, "pocket:humaneval", "Pythia")


@pytest.fixture(scope="module")
def planted() -> list:
    """Four models with Pr(R <= k) = exp(-1.2 (S / 1e5)^-0.1 k^-0.4), the law in both S and k."""
    u = np.random.default_rng(3).random(60_000)
    models = []
    for S in (10_000, 30_000, 100_000, 300_000):
        rank = np.ceil((-np.log(u) / (1.2 * (S / 1e5) ** -0.1)) ** (-1 / 0.4))
        models.append(made(S, np.clip(rank, 1, 4096)))
    return models


# ---- Table 1, published


def test_recomputed_cells_are_the_printed_ones(published):
    keys = ["dataset", "k", "family"]
    both = published.merge(paper.table1(), on=keys)
    assert len(published) == len(both) == 168 and not published.duplicated(keys).any()
    assert (both["slope_printed"] == both["slope_y"]).all()
    assert (both["R2_printed"] == both["r2"]).all()
    known = published["source"] != "none"
    differences = published[["slope_difference", "R2_difference"]]
    assert known.sum() == 66 and differences[known].abs().max().max() <= TOLERANCE
    assert published.loc[known, "R2"].isna().sum() == 3  # Figure 6 has no R2 of CE
    assert differences[~known].isna().all(axis=None)


def test_an_interval_follows_from_slope_r2_and_n(published):
    for curve, _ in table1_curves().values():
        fit = fit_power_law(curve.S, curve.loss)
        assert b_table1.slope_interval(fit.slope, fit.r2, fit.n) == pytest.approx(
            fit.slope_interval
        )
    # one cell has no error to see: slope 0.000, R2 1.000
    lost = published[published["low"].isna()]
    assert lost[["dataset", "k", "family"]].to_numpy().tolist() == [["HumanEval", "10000", "Qwen"]]
    assert all(map(math.isnan, b_table1.slope_interval(-0.1, 0.9, 2)))


def test_steps(published):
    points = {cell: curve for cell, (curve, _) in table1_curves().items()}
    steps = b_table1.steps(published, points, slope="slope_printed")
    assert len(steps) == 6 * 24
    one = steps[steps["step"] == "1 to 10"]
    assert (one["change"] < 0).all() and one["low"].notna().sum() == 16
    known = steps[steps["low"].notna()]
    assert known["change"].between(known["low"], known["high"]).all()


def test_the_difference_of_slopes_is_paired():
    S = np.geomspace(1e6, 1e9, 6)
    shared = np.array([0.1, -0.1, 0.05, 0, -0.2, 0.1])  # in both losses, so not in their difference
    noise = np.array([1, -2, 1, 1, -2, 1]) * 1e-4
    one, other = (
        b_table1.Curve("c", "f", "CE", tuple("abcdef"), S, S**slope * np.exp(shared + extra))
        for slope, extra in ((-0.1, noise), (-0.08, 0))
    )
    fit = b_table1.slope_difference(one, other)
    assert fit.slope == pytest.approx(-0.02, abs=1e-4)
    assert fit.slope_se < 1e-4 < fit_power_law(S, one.loss).slope_se
    short = b_table1.Curve("c", "f", "CE", tuple("abcde"), S[:5], S[:5])
    with pytest.raises(InputError, match="not of the same models"):
        b_table1.slope_difference(one, short)


# ---- the pocket Table 1


def pocket(summaries, corpora=("pocket:humaneval",), families=("Pythia",), rows=("CE", 1)):
    curves = b_table1.measured_curves(summaries, corpora, families, rows)
    V = dict.fromkeys(itertools.product(corpora, families), 4096)
    return b_table1.pocket_table1(curves, V, corpora, families, rows)


def test_a_planted_exponent_is_found_in_every_row(planted):
    table = pocket(planted, ["c"], ["f"], [1, 10, 32])
    assert (table["reason"] == "").all() and (table["n"] == 4).all()
    assert table["slope"].to_numpy() == pytest.approx(-0.1, abs=0.01)
    assert ((table["low"] < table["slope"]) & (table["slope"] < table["high"])).all()
    assert table["paper_k_of_same_share"].to_numpy() == pytest.approx(
        [12.28, 122.8, 393.0], rel=1e-3
    )


def test_a_cell_without_a_fit_says_why(humaneval):
    table = pocket(humaneval[:2], ["pocket:humaneval", "mine"], ["Pythia", "Other"])
    table = table.set_index(["dataset", "k", "family"])
    assert len(table) == 8 and table["slope"].isna().all()
    assert "two always lie on a line" in table.loc[("pocket:humaneval", "1", "Pythia"), "reason"]
    assert table.loc[("mine", "CE", "Other"), "reason"] == "not measured"
    assert "RBP_k of 1" in pocket(humaneval, rows=[4096])["reason"].item()


@pytest.mark.parametrize("row", ["ce", "-1", "1.5", 0])
def test_a_row_that_is_no_k_is_refused(humaneval, row):
    with pytest.raises(InputError, match=r"CE|at least 1"):
        pocket(humaneval, rows=[row])


# ---- layout and files


def test_the_papers_layout(published):
    wide = b_table1.to_wide(published, {"slope_printed": "slope", "R2_printed": "R2"})
    assert wide.shape == (42, 8)
    assert list(dict.fromkeys(wide.index.get_level_values(0))) == list(paper.CORPORA)
    assert wide.index[:7].get_level_values(1).tolist() == list(b_table1.PAPER_ROWS)
    assert wide.loc[("Github", "CE"), ("GPT2", "R2")] == 0.091


@pytest.mark.slow
def test_the_files_of_table_1_hold_its_cells(published, tmp_path):
    wide = b_table1.to_wide(b_table1.as_text(published), LAYOUT)
    picture = b_table1.heat_maps(published, "published", "slope_printed", "R2_printed")
    b_table1.save_table(picture, published, wide, "", "table_1")
    assert not list(tmp_path.iterdir())
    b_table1.save_table(picture, published, wide, str(tmp_path / "new"), "table_1")
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["table_1.csv", "table_1.md", "table_1.png", "table_1.tex"]

    lines = (tmp_path / "new" / "table_1.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 44 and all(line.count("|") == 11 for line in lines)
    assert lines[2].startswith("| Wiki | CE | -0.058 (-0.058) | 0.965 (0.965) | -0.077 | 0.988 |")
    tex = (tmp_path / "new" / "table_1.tex").read_text(encoding="utf-8")
    rows = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 45 and all(row.count("&") == 9 for row in rows[1:])
    assert tex.count("{") == tex.count("}")
    assert "$-$0.077" in tex


def test_latex_escapes_names():
    table = pd.DataFrame(
        {"dataset": ["a_b&c"], "k": ["1"], "family": ["50%"], "slope text": "-", "R2 text": "-"}
    )
    tex = b_table1.latex(b_table1.to_wide(table, LAYOUT))
    assert r"a\_b\&c & 1 & - & - \\" in tex and r"{50\%}" in tex


def test_nothing_to_draw_is_said():
    none = pd.DataFrame(columns=["slope", "R2"])
    with pytest.raises(InputError, match="nothing to draw"):
        b_table1.heat_maps(none, "measured")


def test_families_of_ones_own_are_drawn(planted):
    table = pocket(planted, ["c"], ["f"], ["CE", 1, 10])
    assert len(b_table1.heat_maps(table, "mine").axes) == 4
