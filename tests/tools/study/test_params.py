"""Parameter files: the shipped ones, what is refused before anything runs, what papermill gives."""

from pathlib import Path

import pytest
from conftest import ROOT, refused

from rbpkit import InputError, paper
from rbpkit.check import OF_MEASURING, Shown, check_parameters
from rbpkit.tools.study.jobs import model_sources, read_corpora
from rbpkit.tools.study.params import Params, load_params

GOOD = "source: pocket\nfamilies: [Pythia]\ncorpus_names: ['pocket:qa']\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted((ROOT / "params").rglob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_files_are_valid(path):
    assert load_params(path).corpus_names


def test_the_papers_study_is_appendix_a():
    params = load_params(ROOT / "params" / "paper.yaml")
    assert (params.max_length, params.documents, params.seed) == (512, 1000, 42)
    assert params.families == paper.FAMILIES and params.corpus_names == paper.CORPORA
    shown = {int(k) for k in paper.table("table1")["k"] if k != "CE"}
    assert shown | {50, 20_000, 30_000} <= set(params.ks)
    first = load_params(ROOT / "params" / "gpt2_wiki.yaml")
    published = paper.table("gpt2_wiki_metrics")
    assert set(published["k"]) == set(first.ks)
    assert {f"p_N{N}" for N in first.Ns} == {name for name in published if name.startswith("p_N")}


def test_defaults_lists_and_revisions(tmp_path):
    lines = "ks: [3, 1]\ndocuments: null\nrevisions: [a/b@v1.0, gpt2@refs/pr/3]\n"
    params = load_params(write(tmp_path, GOOD + lines))
    assert params.ks == (3, 1) and params.documents is None and params.max_length == 512
    pins = [params.revision_of(id) for id in ("a/b", "gpt2", "x/y")]
    assert pins == ["v1.0", "refs/pr/3", None]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + "ks: [0]\nsede: 1", "sede=1: Extra inputs"),  # every fault is told
        (GOOD + "seed: 1\nmax_length: 64\nseed: 2", "seed is there twice"),
        (GOOD + "revisions: [v1]", "is not owner/name@revision"),
        (GOOD + "revisions: [a/b@1, a/b@2]", "pins something twice"),
        (GOOD + "ks: [0", "line 5"),
        ("- a\n- b\n", "not a list of `key: value` lines"),
    ],
)
def test_bad_lines_are_one_line_with_file_and_key(tmp_path, text, says):
    with pytest.raises(InputError) as caught:
        load_params(write(tmp_path, text + "\n"))
    message = str(caught.value)
    assert says in message and message.count("study.yaml") == 1 and "\n" not in message


def test_a_misspelt_parameter_is_named():
    names = {"families": ["Pythia"], "device": "cpu", "famlies": "OPT", "In": ["", "famlies = 1"]}
    check_parameters(names)  # a variable of the notebook's own
    names["In"].append('# Parameters\ndevice = "cpu"\n')
    check_parameters(names)  # says how a study is measured
    names["In"].append('# Parameters\nfamlies = "OPT"\n')
    refused("famlies='OPT': Extra inputs", check_parameters, names)
    assert Params.model_fields.keys() == Shown.model_fields.keys() | OF_MEASURING


def test_no_text_is_enough_for_a_notebook_and_not_for_a_measurement(tmp_path):
    params = load_params(write(tmp_path, GOOD.replace("['pocket:qa']", "[]")))
    assert params.corpus_names == ()
    refused("give corpus_names", read_corpora, params)


def test_the_models_of_a_study(tmp_path):
    paper_s = load_params(ROOT / "params" / "paper.yaml")
    sources = model_sources(paper_s)
    assert len(sources) == 24 and sources[0] == "openai-community/gpt2"
    pocket = load_params(write(tmp_path, GOOD))
    assert model_sources(pocket)[0] == "pocket:pythia-w32-l2"
    named = pocket.model_copy(update={"model_ids": ("opt-w32-l2", "me/other", str(tmp_path))})
    assert model_sources(named) == ["pocket:opt-w32-l2", "me/other", str(tmp_path)]
    with pytest.raises(InputError, match="no family 'Llama' of source pocket"):
        model_sources(pocket.model_copy(update={"families": ("Llama",)}))
