"""The paper's study as a parameter file, and what it takes before it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbpkit import paper
from rbpkit.files.architectures import ARCHITECTURES
from rbpkit.study.jobs import corpus_names, models_of
from rbpkit.study.params import Params, load_params

PARAMS = Path(__file__).resolve().parents[2] / "params"


def test_the_papers_study_is_appendix_a():
    params = load_params(PARAMS / "paper.yaml")
    assert (params.max_length, params.documents, params.seed) == (512, 1000, 42)
    assert params.families == paper.FAMILIES and params.corpus_names == paper.CORPORA
    shown = {int(k) for k in paper.table1()["k"] if k != "CE"}
    assert shown | {50, 20_000, 30_000} <= set(params.ks)
    assert set(models_of(params)) == set(ARCHITECTURES) and len(ARCHITECTURES) == 24
    assert set(corpus_names(params)) == set(paper.CORPORA)


def test_what_to_run_first_has_published_metrics():
    params = load_params(PARAMS / "gpt2_wiki.yaml")
    published = paper.gpt2_wiki_metrics()
    assert set(published["k"]) == set(params.ks)
    columns = {f"p_N{N}" for N in params.Ns}
    assert columns == {name for name in published if name.startswith("p_N")}


def study(**changes) -> Params:
    return Params(**{"source": "hub", "corpus_names": ["Wiki"]} | changes)


def test_revisions_are_owner_name_at_revision():
    pins = ("a/b@v1.0", "gpt2@0123abc", "c/d-e_f@refs/pr/3")
    params = study(revisions=pins)
    assert [params.revision_of(id) for id in ("a/b", "gpt2", "c/d-e_f", "x/y")] == [
        *("v1.0", "0123abc", "refs/pr/3"),
        None,
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"revisions": ["a/b"]}, "'a/b' is not owner/name@revision"),
        ({"revisions": ["a/b@"]}, "not owner/name@revision"),
        ({"revisions": ["a/b/c@v1"]}, "not owner/name@revision"),
        ({"revisions": ["a/b@v1@v2"]}, "not owner/name@revision"),
        ({"revisions": ["a/b@../x y"]}, "not owner/name@revision"),
        ({"revisions": ["a/b@v1", "a/b@v2"]}, "names a/b twice"),
        ({"revisions": {"a/b": "v1"}}, "must be a list"),
        ({"model_ids": ["a/b@v1"]}, "give 'a/b' here and 'a/b@v1' in revisions"),
        ({"allow_pickle": "yes"}, "boolean"),
    ],
)
def test_bad_revisions_are_refused(changes, says):
    with pytest.raises(ValueError, match=next(iter(changes))) as caught:
        study(**changes)
    assert says in str(caught.value)


def test_the_example_of_ones_own_names_models_and_a_revision():
    params = load_params(PARAMS / "own_family.yaml")
    assert len(params.model_ids) >= 3 and params.revision_of(params.model_ids[0])
