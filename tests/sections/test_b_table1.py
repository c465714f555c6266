"""Table 1 and the law in k: printed cells from points, intervals, files, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from made_summaries import made

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law, fit_rbp_law
from rbpkit.sections import b_law_in_k, b_table1
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


# ---- the law in k


def test_64_of_96_cells_from_figure_9():
    lines = b_law_in_k.lines(b_law_in_k.published_points())
    printed = paper.table_k_law().rename(columns={"dataset": "corpus", "slope": "printed"})
    both = printed.merge(lines, on=["corpus", "family", "model"])
    assert (len(printed), len(both)) == (96, 64) and (both["n"] == 11).all()
    assert (both["slope"] - both["printed"]).abs().max() <= TOLERANCE
    assert (both["R2"] - both["r2"]).abs().max() <= TOLERANCE


def test_both_exponents_are_recovered(planted):
    points, missing = b_law_in_k.measured_points(planted, ["c"], ["f"])
    assert not missing and len(points) == 44
    assert b_law_in_k.lines(points)["slope"].to_numpy() == pytest.approx(-0.4, abs=0.02)
    found, _ = b_law_in_k.trades(points, planted, draws=200)
    row = found.iloc[0]
    assert (row["alpha"], row["beta"]) == pytest.approx((0.1, 0.4), abs=0.01)
    assert row["gamma"] == pytest.approx(0, abs=0.005)
    assert row["bootstrap_low"] < row["factor"] < row["bootstrap_high"]
    assert row["factor"] == pytest.approx(2 ** (row["beta"] / row["alpha"]))


def test_the_trade_at_a_point():
    S, k = (axis.ravel() for axis in np.meshgrid([1e6, 1e7, 1e8, 1e9], [1, 3, 10, 30, 100]))
    x, z = np.log(S / 1e7), np.log(k)
    loss = np.exp(0.3 - 0.06 * x - 0.4 * z - 0.02 * x * z)
    noise = np.random.default_rng(0).normal(0, 1e-3, S.size)
    at_1, at_100 = (b_law_in_k.trade(S, k, loss * np.exp(noise), at_k=at) for at in (1, 100))
    assert at_1.alpha == pytest.approx(0.06, abs=1e-3)
    assert at_100.alpha == pytest.approx(0.06 + 0.02 * math.log(100), abs=1e-3)
    assert at_1.gamma == pytest.approx(0.02, abs=1e-3)
    expected = 0.4 + 0.02 * math.log(at_1.at_S / 1e7)
    assert (at_1.beta, at_100.beta) == pytest.approx((expected, expected), 0.01)
    assert at_1.low < at_1.factor < at_1.high
    # the interval is the spread of the factor over many noises
    rng = np.random.default_rng(1)
    drawn = [
        b_law_in_k.trade(S, k, loss * np.exp(rng.normal(0, 1e-3, S.size)), at_k=1).exchange
        for _ in range(400)
    ]
    half = (math.log2(at_1.high) - math.log2(at_1.low)) / 2 / 2.12  # t, 16 degrees of freedom
    assert half == pytest.approx(np.std(drawn), rel=0.35)


def test_the_error_of_independent_tokens():
    """token_se is the spread of the slope over samples of tokens."""
    k, T = np.array([1, 3, 10, 30, 100]), 20_000
    rbp = np.exp(-1.2 * k**-0.4)
    cells = np.diff([0, *rbp, 1])
    drawn = np.cumsum(np.random.default_rng(0).multinomial(T, cells, 2000), axis=1)[:, :-1] / T
    slopes = [fit_rbp_law(k, row).slope for row in drawn]
    assert b_law_in_k.token_se(k, rbp, T) == pytest.approx(np.std(slopes), rel=0.05)


def test_the_bootstrap_draws_documents():
    ranks = np.concatenate([np.full(10, r) for r in [1, 2, 5, 20, 60, 300] * 20])
    whole = made(10_000, ranks)  # every document has one rank: the error is that of 120 tokens
    points, _ = b_law_in_k.measured_points([whole], ["c"], ["f"])
    errors = b_law_in_k.sampling([whole], points, draws=2000).iloc[0]
    assert errors["se_documents"] == pytest.approx(math.sqrt(10) * errors["se_tokens"], rel=0.1)
    assert errors["bootstrap_low"] < errors["slope"] < errors["bootstrap_high"]
    again = b_law_in_k.sampling([whole], points, draws=2000).iloc[0]
    assert again.equals(errors)


def test_what_has_no_line_in_k_is_named():
    perfect = made(10_000, np.ones(50))
    points, missing = b_law_in_k.measured_points([perfect], ["c", "d"], ["f"])
    assert points.empty and len(missing) == 2
    assert "m10000 on c" in missing[0] and missing[1] == "not measured: f on d"
    assert b_law_in_k.lines(points).empty and b_law_in_k.sampling([perfect], points).empty
    assert b_law_in_k.trades(points, [perfect])[0].empty


def test_bad_input_of_the_law_in_k():
    S, k = np.repeat([1e6, 1e7, 1e8], 3), np.tile([1, 10, 100], 3)
    for given, says in (
        ((S[:6], k[:6], np.ones(6)), "three sizes and three k"),
        ((S, k, np.zeros(9)), "positive and finite"),
        ((S, k, S**0.1 / k), "does not fall with S"),
    ):
        with pytest.raises(InputError, match=says):
            b_law_in_k.trade(*given)
    with pytest.raises(InputError, match="too few documents"):
        b_law_in_k.bootstrap([made(10_000, np.repeat([1, 500], 10))])


def test_nothing_to_draw_is_said():
    none = pd.DataFrame(columns=["slope", "R2"])
    for draw, *words in (
        (b_table1.heat_maps, "measured"),
        (b_law_in_k.k_panels, "measured"),
        (b_law_in_k.slope_errors,),
    ):
        with pytest.raises(InputError, match="nothing to draw"):
            draw(none, *words)


def test_families_of_ones_own_are_drawn(planted):
    table = pocket(planted, ["c"], ["f"], ["CE", 1, 10])
    assert len(b_table1.heat_maps(table, "mine").axes) == 4
    points, _ = b_law_in_k.measured_points(planted, ["c"], ["f"])
    assert len(b_law_in_k.k_panels(points, "mine").axes[0].lines) == 8
    assert b_law_in_k.slope_errors(b_law_in_k.sampling(planted, points, draws=50))
