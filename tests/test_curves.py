"""Curves: which models are chosen and in what order; the paper's; what is missing and why."""

import math
from functools import partial

import numpy as np
import pytest
from conftest import refused
from made_summaries import made

from rbpkit import curves
from rbpkit.fit import (
    by_tokenizer,
    curve_of,
    curves_of_all,
    fit_curves,
    fit_rbp_law,
    in_ce,
    models_of,
    predict_sizes,
    relabelled,
)

# ---- the models of a family


make = partial(made, V=100, corpus="Wiki", family="GPT2")
SMALL = make(10, [1, 2, 2, 3], name="small")
LARGE = make(1000, [1, 1, 2, 1], name="large")
MIDDLE = make(100, [1, 1, 2, 5], name="middle")
LADDER = [LARGE, SMALL, MIDDLE]


def test_curves_ascend_in_S():
    curve = curve_of(LADDER, 1)
    assert curve.models == ("small10", "middle100", "large1000")
    assert curve.S.tolist() == [10.0, 100.0, 1000.0]
    assert curve.value.tolist() == [0.25, 0.5, 0.75]
    assert (curve.corpus, curve.family, curve.quantity) == ("Wiki", "GPT2", "RBP_1")
    assert curve.loss == pytest.approx([-math.log(p) for p in (0.25, 0.5, 0.75)])
    ce = curve_of(LADDER, None)
    expected = [0.1 + 2 * math.log(product) / 4 for product in (12, 10, 2)]
    assert ce.value == pytest.approx(expected, rel=1e-6)
    assert ce.loss.tolist() == ce.value.tolist()


def test_a_curve_is_of_one_family_on_one_corpus():
    opt = make(7, [1, 9], name="opt", family="OPT")
    both = [*LADDER, make(10, [5, 5], name="small", corpus="Code"), opt]
    assert curve_of(models_of(both, "Wiki", "OPT"), 1).models == ("opt7",)
    assert curve_of(models_of(both, "Wiki", "GPT2"), 1).S.tolist() == [10, 100, 1000]
    assert models_of(both, "C4", "GPT2") == []
    for several, there in ((both, "Code / GPT2; Wiki / GPT2; Wiki / OPT"), ([], "nothing")):
        refused(f"there is {there}", curve_of, several, 1)


def test_a_run_has_one_place_on_a_line():
    runs = [make(S, [1, 2], name=f"{run}/checkpoint-") for run, S in (("a", 30), ("b", 600))]
    assert curve_of(runs, 1).S.tolist() == [30, 600]
    other_step = make(600, [1, 1], name="b/checkpoint-1")
    refused("checkpoint-600, b/checkpoint-1600: are of one run", curve_of, [*runs, other_step], 1)
    again = relabelled(SMALL, revision="later")
    refused("small10, small10: are of one run", curve_of, [*LADDER, again], 1)
    by_tokens = [*runs, make(90, [1, 1], name="b/checkpoint-")]  # `fit --x`: each has its own
    assert curve_of(by_tokens, 1).S.tolist() == [30, 90, 600]


def test_fits_of_all_that_was_measured():
    opt = [make(S, [1, 1, 2], family="OPT") for S in (5, 50, 500)]
    two_sizes = [make(S, [1, 1, 5], corpus="Code") for S in (5, 50)]
    fits = fit_curves(curves_of_all([*LADDER, *opt, *two_sizes], (None, 1, 2)))
    row = fits.table.iloc[1]
    alone = fit_rbp_law([10, 100, 1000], [0.25, 0.5, 0.75])
    names = "corpus family quantity n slope low high intercept R2 note".split()
    assert list(fits.table) == names and len(fits.table) == 2
    assert row.tolist()[:4] == ["Wiki", "GPT2", "RBP_1", 3]
    assert row.tolist()[4:9] == [alone.slope, *alone.slope_interval, alone.intercept, alone.r2]
    refused = {line.partition(": cannot fit: ")[0] for line in fits.refused}
    assert {"GPT2, Wiki, RBP_2", "OPT, Wiki, CE", "OPT, Wiki, RBP_1", "OPT, Wiki, RBP_2"} < refused


@pytest.mark.parametrize("setting", ["fingerprint", "max_length", "stride", "tokens", "targets"])
def test_models_that_did_not_score_the_same_tokens_are_refused(setting):
    other = make(10, [1, 2], name="small")  # as another tokenizer would cut it
    if setting != "tokens":
        value = "other" if setting == "targets" else 8
        other = relabelled(SMALL, **{setting: value})
    says = "tokens" if setting == "targets" else setting
    models = [other, MIDDLE, LARGE]
    refused(f"GPT2 on Wiki.*different {says}", curve_of, models, 1)
    refused(f"Wiki.*different {says}", curve_of, in_ce(models), 1)


# ---- against cross-entropy, and by tokenizers


@pytest.fixture(scope="module")
def models() -> list:
    models = []
    for seed in range(5):
        log_rank = np.random.default_rng(seed).normal(2 - 0.2 * seed, 2, size=2000)
        ranks = np.exp(log_rank.clip(0, 8)).astype(int)
        models.append(made(10**6 + seed, ranks))
    return models


def test_each_tokenizer_has_a_line_of_its_own_when_that_is_asked_for(models):
    others = []
    for one in models:
        name = f"{one.manifest.model}b"
        others.append(relabelled(one, targets="ab12cd34", model=name))
    mixed = [*models, *others]
    for of_one_line in (mixed, in_ce(mixed)):
        refused("--by-tokenizer", curve_of, of_one_line, 1)
    table = fit_curves(curves_of_all(by_tokenizer(mixed), [1])).table
    assert sorted(set(table["corpus"])) == ["c V4096-2000", "c V4096-ab12cd"]
    assert (table["n"] == len(models)).all()
    assert by_tokenizer(models)[0].manifest == models[0].manifest


def test_the_lines_of_measured_models_against_cross_entropy(models):
    curves = curves_of_all(in_ce(models), [1, 10])
    assert [curve.quantity for curve in curves] == ["RBP_1", "RBP_10"]
    # Least squares of log(-log RBP_k) on log CE, written out.
    x = np.log([model.ce() for model in models])
    y = np.log([-np.log(model.rbp(1)) for model in models])
    slope, intercept = np.polyfit(x, y, 1)
    fits = fit_curves(curves).table
    assert fits["slope"].iloc[0] == pytest.approx(slope) and fits["note"].iloc[0] == ""
    ce = float(np.exp(x.mean()))
    row = predict_sizes(curves[:1], [ce]).table.iloc[0]
    assert row["loss"] == pytest.approx(np.exp(intercept + slope * x.mean()))
    assert row["RBP_low"] < row["RBP"] < row["RBP_high"] and row["decades"] == 0


# ---- the paper's curves, and the measured ones


def test_a_published_curve_has_the_points_of_its_figure():
    assert len(curves.published_curves(1)) == 16 and len(curves.published_curves(30_000)) == 9
    pythia = curves.published_curves(1)["Wiki", "Pythia"]
    assert (pythia.models[0], pythia.models[-1]) == ("pythia-14m", "pythia-12b")
    assert pythia.value[0] == 0.332869 and len(pythia.models) == 10
    assert len(curves.published_curves(5)["Wiki", "Pythia"].models) == 4  # Figure 9
    refused("no RBP_k at k = 4; it plots k = 1, 2, 3, 5", curves.published_curves, 4)


def test_measured_curves_and_what_is_missing(shipped):
    found, missing = curves.measured_curves(shipped, ["pocket:code", "Wiki"], ["Pythia"], 1)
    assert list(found) == [("pocket:code", "Pythia")]
    assert missing == ["not measured: Pythia on Wiki"]
    of_CE, _ = curves.measured_curves(shipped, ["pocket:code"], ["Pythia"], None)
    assert of_CE["pocket:code", "Pythia"].quantity == "CE"

    code = [one for one in shipped if one.manifest.corpus == "pocket:code"]
    two_sizes = [one for one in code if one.manifest.family == "Pythia"][:2]
    for summaries, k in ((two_sizes, 1), (code, 4096)):  # RBP_4096 is 1
        found, [reason] = curves.measured_curves(summaries, ["pocket:code"], ["Pythia"], k)
        assert found == {}
        assert reason.startswith(f"no fit: Pythia, pocket:code, RBP_{k}: ")
