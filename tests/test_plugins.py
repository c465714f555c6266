"""Plugins: a tiny distribution of a third party, names that are misspelt, and no laboratory."""

import json
import shutil
import sys
from itertools import product
from pathlib import Path

import pytest
from conftest import TEXTS, forget, install, refused, study_file

from rbpkit import load_corpus, load_model, load_summaries, plugins
from rbpkit.tools.study.params import Params
from rbpkit.tools.study.reproduce import compare_with_reference
from rbpkit.tools.study.sweep import sweep

SOURCE = """
from pathlib import Path

from cyclopts import App

from rbpkit.plugins import PluginText
from rbpkit.tools.study.reference import Reference

HERE = Path(__file__).parent
TEXTS = {texts!r}


def notes():
    return PluginText(TEXTS, units=["ann", "bob", "ann", "bob", "ann", "bob"])


def changed():
    return PluginText(TEXTS, shuffled=True, as_shipped=False)


def open_model(rest, **settings):
    return HERE / "small" if rest in ("small", "mine") else HERE / rest


def summaries():
    from rbpkit.records import load_summaries

    return load_summaries(HERE / "reference")


command = App("tiny", help="Of somebody else.")


@command.command
def hello() -> None:
    print("hello")


corpora = {{"notes": notes, "changed": changed, "plain": lambda: TEXTS}}
reference = Reference(
    families={{"Tiny": ("small",)}},
    train=None,
    summaries=summaries,
)
"""


@pytest.fixture
def tiny(site, llama_folder) -> Path:
    """A distribution that offers everything, under the name `tiny`."""
    places = {"corpora": "corpora", "openers": "open_model", "reference": "reference"}
    install(site, "tiny_data", SOURCE.format(texts=list(TEXTS)), **places, commands="command")
    shutil.copytree(llama_folder, site / "small")
    return site


def test_a_third_party_brings_corpora_models_and_a_command(tiny, rbpkit, tmp_path):
    assert "tiny" in plugins.plugin_names("openers") and "tiny_data" not in sys.modules
    corpus = load_corpus("tiny:notes")
    assert corpus.id == "tiny:notes" and corpus.documents == TEXTS
    assert corpus.seed is None
    assert corpus.unit_numbers().tolist() == [0, 1, 0, 1, 0, 1]
    shuffled = load_corpus("tiny:changed", changed_text=True)
    assert shuffled.seed == 42 and sorted(shuffled.documents) == sorted(TEXTS)
    assert load_corpus("tiny:plain").documents == TEXTS
    assert load_model("tiny:small", device="cpu").name == "small"

    out = tmp_path / "out"
    measuring = ("measure", "--model", "tiny:small", "--corpus", "tiny:notes", "--out", out)
    status, table, err = rbpkit(*measuring, "--format", "json")
    assert status == 0, err
    [row] = json.loads(table)
    assert (row["model"], row["corpus"]) == ("small", "tiny:notes")
    [summary] = load_summaries(out)
    assert summary.document_units.tolist() == [0, 1, 0, 0, 1]  # the fourth has nothing to score

    assert rbpkit("tiny", "hello") == (0, "hello\n", "")
    assert "The commands of the plugin tiny." in rbpkit("--help")[1]
    said = []
    shutil.move(out, tiny / "reference")
    assert compare_with_reference([summary], (1, 10), say=said.append)
    assert said[-1] == "1 of 1 jobs compared with the reference: OK"


def test_a_model_of_a_plugin_has_its_name_whatever_its_folder_is_called(tiny):
    study = Params(source="tiny", model_ids=["mine"], corpus_names=["tiny:notes"])
    [first] = sweep(study, tiny / "out").measured
    [again] = sweep(study, tiny / "out").measured
    assert first.summary.manifest.model == "mine" and again.found_done


def test_a_misspelt_name_asks_no_hub():
    refused("no corpus 'pocket:proze'; pocket has prose, ", load_corpus, "pocket:proze")
    refused("no model pocket:pythia-w64-l44; there are ", load_model, "pocket:pythia-w64-l44")
    refused("has to be trained first", load_model, "pocket:pythia-w32-l2-3m-seed7")


def test_without_the_laboratory_one_line_says_what_to_install(rbpkit, text_file, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "entry_points", lambda group: [])
        forget()
        out = ("--out", tmp_path / "out")
        for arguments in (
            ("measure", "--model", "pocket:pythia-w64-l4", "--corpus", text_file, *out),
            ("predict", "--pairs", text_file),
        ):
            status, _, err = rbpkit(*arguments)
            assert status == 2 and err.count("\n") == 1 and "pip install rbpkit-pocket" in err
        assert rbpkit("--help")[0] == 0
    forget()


BROKEN = """
def fails(): raise KeyError("x")

corpora = {"fails": fails, "number": lambda: 7}
def open_model(rest, **settings): return corpora[rest]()
"""


def test_whatever_a_plugin_does_wrong_is_one_line_that_names_it(site, rbpkit):
    install(site, "bad_things", BROKEN, corpora="corpora", openers="open_model")
    install(site, "gone_away", "import no_such_module", corpora="a", openers="a", commands="a")
    said = {
        "bad:fails": r"its (corpus|model) 'fails' \(KeyError: 'x'\)",
        "bad:number": "needs a list of texts|not int",
        "gone:any": "No module named 'no_such_module'",
    }
    for load, (name, says) in product((load_corpus, load_model), said.items()):
        refused(says, load, name)
    status, _, err = rbpkit("gone")
    assert status == 2 and err.count("\n") == 1 and "no_such_module" in err
    assert rbpkit("--help")[0] == 0


def test_a_changed_text_is_refused_before_a_model_is_loaded(tiny, rbpkit, tmp_path):
    out = tmp_path / "out"
    arguments = ["measure", "--model", "tiny:small", "--corpus", "tiny:changed", "--out", out]
    status, _, err = rbpkit(*arguments)
    assert status == 2 and err.count("\n") == 1 and "changed_text=True" in err and not out.exists()
    study = study_file(tmp_path, ["small"], ["tiny:changed"], source="tiny")
    status, _, err = rbpkit("sweep", study, "--out", out)
    assert status == 2 and "changed_text=True" in err and not out.exists()

    assert rbpkit(*arguments, "--changed-text")[0] == 0
    admitted = {"source": "tiny", "changed_text": True}
    study = study_file(tmp_path, ["small"], ["tiny:changed"], **admitted)
    status, _, err = rbpkit("sweep", study, "--out", out)
    assert status == 0 and "done before: small on tiny:changed" in err
