"""Curves over models: which are chosen, in what order, and what is refused."""

import dataclasses
import math
from functools import partial

import pytest
from made_summaries import records_of

from rbpkit import curves, paper
from rbpkit.cli.measure import measured_table
from rbpkit.curves import ce_curve, points, rbp_curve, success_curve
from rbpkit.errors import InputError

make = partial(records_of, V=100, corpus="Wiki", family="GPT2")
SMALL = make([1, 2, 2, 3], name="small", S=10)
LARGE = make([1, 1, 2, 1], name="large", S=1000)
MIDDLE = make([1, 1, 2, 5], name="middle", S=100)
LADDER = [LARGE, SMALL, MIDDLE]


@pytest.mark.parametrize("ladder", [LADDER, [one.summary() for one in LADDER]])
def test_curves_ascend_in_S(ladder):
    curve = rbp_curve(ladder, 1)
    assert curve.models == ("small10", "middle100", "large1000")
    assert curve.S.tolist() == [10.0, 100.0, 1000.0]
    assert curve.value.tolist() == [0.25, 0.5, 0.75]
    assert (curve.corpus, curve.family, curve.quantity) == ("Wiki", "GPT2", "RBP_1")
    assert curve.loss == pytest.approx([-math.log(p) for p in (0.25, 0.5, 0.75)])
    assert success_curve(ladder, 2, 2).value == pytest.approx([2 / 3, 2 / 3, 1])
    assert success_curve(ladder, 2, 2).quantity == "p_{2,2}"
    ce = ce_curve(ladder)
    expected = [0.1 + 2 * math.log(product) / 4 for product in (12, 10, 2)]
    assert ce.value == pytest.approx(expected, rel=1e-6)
    assert ce.loss.tolist() == ce.value.tolist()


def test_loss_at_the_ends():
    values = success_curve([SMALL, LARGE], 2, 1)
    assert values.value[0] == 0
    assert values.loss[0] == math.inf
    one = rbp_curve([LARGE], 2)
    assert one.value.tolist() == [1.0]
    assert str(one.loss[0]) == "0.0"


def test_any_quantity():
    curve = points(LADDER, "Wiki", "GPT2", lambda one: one.manifest.V * one.rbp(1), "hits")
    assert (curve.quantity, curve.value.tolist()) == ("hits", [25.0, 50.0, 75.0])


def test_choice_of_corpus_and_family():
    other = [
        make([5, 5], name="small", S=10, corpus="Code"),
        make([1, 9], name="opt", S=7, family="OPT"),
    ]
    both = LADDER + other
    assert rbp_curve(both, 1, "Wiki", "OPT").models == ("opt7",)
    assert rbp_curve(both, 1, corpus="Code").models == ("small10",)
    with pytest.raises(InputError, match=r"name one corpus and one family.*Code / GPT2; Wiki"):
        rbp_curve(both, 1)
    with pytest.raises(InputError, match=r"nothing was measured for corpus C4.*Code / GPT2"):
        ce_curve(both, "C4", "GPT2")
    with pytest.raises(InputError, match="nothing at all"):
        ce_curve([])


def test_one_model_twice():
    again = dataclasses.replace(SMALL.manifest, revision="later")
    with pytest.raises(InputError, match="more than once on Wiki: small"):
        rbp_curve([*LADDER, dataclasses.replace(SMALL, manifest=again)], 1)


def test_bad_k_and_N_come_through():
    with pytest.raises(InputError, match="k must be at least 1"):
        rbp_curve(LADDER, 0)
    with pytest.raises(InputError, match="no document"):
        success_curve(LADDER, 5, 1)


def test_table():
    frame = measured_table(
        [*LADDER, make([1, 1], name="code", S=5, corpus="Code").summary()], ks=(1, 2)
    )
    columns = ["corpus", "family", "model", "S", "V", "documents", "max_length", "tokens"]
    columns += ["CE", "RBP_1", "RBP_2"]
    assert list(frame.columns) == columns
    assert frame.model.tolist() == ["code5", "small10", "middle100", "large1000"]
    assert frame.RBP_2.tolist() == [1.0, 0.75, 0.75, 1.0]
    assert frame.tokens.tolist() == [2, 4, 4, 4]
    assert frame.CE[1] == SMALL.ce()
    with pytest.raises(InputError, match="no measured model"):
        measured_table([], (1,))


# -- both sources ----------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "lines"), [(1, 16), (100, 16), (30_000, 9), (78, 16)])
def test_published_curves_are_the_plotted_points(k, lines):
    found = curves.published_curves(k)
    assert len(found) == lines
    for (corpus, family), curve in found.items():
        points = paper.points(corpus, family, k)
        assert (curve.corpus, curve.family, curve.quantity) == (corpus, family, f"RBP_{k}")
        assert (curve.value == points.rbp).all() and (curve.S == points.S).all()
    assert [c for c, _ in found] == sorted((c for c, _ in found), key=paper.CORPORA.index)


def test_a_k_that_is_in_no_figure_is_refused():
    with pytest.raises(InputError, match=r"no RBP_k at k = 4 .*plotted k: 1, "):
        curves.published_curves(4)


def test_measured_curves_and_what_is_missing(shipped):
    found = curves.measured_curves(
        shipped, ["pocket:code", "Wiki"], ["Pythia"], lambda one: one.rbp(1), "RBP_1"
    )
    assert list(found.curves) == [("pocket:code", "Pythia")]
    assert found.curves["pocket:code", "Pythia"].quantity == "RBP_1"
    assert found.missing == ("not measured: Pythia on Wiki",)
    assert curves.panels(found.curves) == [[found.curves["pocket:code", "Pythia"]]]


def test_what_cannot_be_fitted_is_missing_with_the_reason(shipped):
    ladder = [s for s in shipped if s.manifest.family == "Pythia"]
    few = [s for s in ladder if s.manifest.corpus == "pocket:code"][:2]
    asked = (["pocket:code"], ["Pythia"])
    found = curves.measured_curves(few, *asked, lambda one: one.ce(), "CE")
    assert found.curves == {} and curves.panels(found.curves) == []
    assert len(found.missing) == 1
    assert found.missing[0].startswith("no fit: Pythia, pocket:code, CE: ")
    certain = curves.measured_curves(ladder, *asked, lambda one: one.rbp(4096), "RBP_4096")
    assert certain.curves == {} and "RBP_4096" in certain.missing[0]


def test_models_measured_on_other_text_are_an_error_not_missing(shipped):
    one, *others = [
        s for s in shipped if (s.manifest.corpus, s.manifest.family) == ("pocket:code", "Pythia")
    ]
    changed = dataclasses.replace(one.manifest, fingerprint="another")
    mixed = [dataclasses.replace(one, manifest=changed), *others]
    with pytest.raises(InputError, match="different fingerprint"):
        curves.measured_curves(mixed, ["pocket:code"], ["Pythia"], lambda s: s.ce(), "CE")
