"""Reproducing a study: its comparison with what ships, and the whole of it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT, refused

from rbpkit.architectures import parameter_counts
from rbpkit.fit import fit_power_law, relabelled
from rbpkit.models import find_model
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit.tools.study.params import Params, load_params
from rbpkit.tools.study.reproduce import (
    CE_TOLERANCE,
    RBP_TOLERANCE,
    compare_with_reference,
    comparison,
    reproduce,
    train_models,
)
from rbpkit_pocket import families, paths, recipes, training
from rbpkit_pocket.ablations import load_totals
from rbpkit_pocket.plugin import TEXT_CORPORA, TRAINED
from rbpkit_pocket.trained_again import remarks

CLASSROOM = load_params(ROOT / "params" / "class" / "own_model.yaml")


def test_every_pocket_model_was_measured_on_every_corpus(shipped):
    everything = [*shipped, *load_summaries(paths.MAMBA_SUMMARIES)]
    measured = [
        load_params(ROOT / "params" / f"{name}.yaml").families for name in ("pocket", "beside")
    ]
    assert [*measured[0], *measured[1]] == list(families.SHAPES)
    for family in families.SHAPES:
        for run in recipes.runs_of(family):
            revision = find_model(paths.MODELS / run.name).revision
            S = parameter_counts(families.config_of(family, run.shape)).S
            found = [one.manifest for one in everything if one.manifest.model == run.name]
            assert {one.corpus for one in found} == {f"pocket:{name}" for name in TEXT_CORPORA}
            assert {one.revision for one in found} == {revision}
            assert {(one.family, one.S, one.V) for one in found} == {(family, S, families.V)}


def moved(one: Summary, share: float, nats: float) -> SimpleNamespace:
    """A measured summary some of whose tokens fell out of the top k, or cost more."""
    return SimpleNamespace(
        manifest=one.manifest, rbp=lambda k: one.rbp(k) - share, ce=lambda: one.ce() + nats
    )


def test_agreement_is_within_the_tolerances(shipped):
    for share, nats in ((0.9, 0), (1.1, 0), (0, 0.9), (0, 1.1)):
        said = []
        one = moved(shipped[0], share * RBP_TOLERANCE, nats * CE_TOLERANCE)
        agrees = compare_with_reference([one, *shipped[1:]], (1, 10), say=said.append)
        assert agrees == (share < 1 and nats < 1)
        verdict = "OK" if agrees else "NOT OK, 1 beyond the tolerances"
        jobs = len(shipped)
        assert said[-1] == f"{jobs} of {jobs} jobs compared with the reference: {verdict}"
        assert agrees or shipped[0].manifest.model in said[0]


@pytest.mark.parametrize("key", ["fingerprint", "revision", "dtype"])
def test_what_is_not_the_same_job_is_not_compared(shipped, key):
    others = [relabelled(one, **{key: "another"}) for one in shipped]
    said = []
    assert compare_with_reference(others, (1,), say=said.append)
    assert len(said) == 5 and all(f"has another {key}" in line for line in said)
    # Other weights of a pocket model's name: the slopes are still compared.
    assert comparison(others, (1,))[0]["difference"].isna().all() == (key != "revision")


def test_comparison_has_measured_pocket_and_published(shipped):
    table, _ = comparison(shipped, (1, 10, 50))
    assert len(table) == 5 * 4 * 4  # corpora, families, CE and three k
    assert np.allclose(table["difference"], 0)
    first = table.query("quantity == 'RBP_1' and family == 'Pythia'").iloc[0]
    # The paper's Pythia slopes at k = 1, over six corpora (Table 1).
    assert -0.14 < first["paper_from"] < first["paper_to"] < -0.03
    assert table.query("quantity == 'RBP_50'")["paper_from"].isna().all()  # no such row


def test_a_model_trained_again_is_fitted_among_the_pocket_models(shipped):
    """A stand-in, the pocket model called one of 3 million tokens, so that the line must move."""
    own = [
        relabelled(one, model="pythia-w32-l2-3m-seed7")
        for one in shipped
        if one.manifest.model == "pythia-w32-l2" and one.manifest.corpus in CLASSROOM.corpus_names
    ]
    table = comparison(own, (1, 10))[0].set_index(["corpus", "quantity"])
    assert len(table) == 2 * 3 and (table["n"] == 6).all()
    grid = [t for t in load_totals(paths.GRID) if t.manifest.model.endswith("-3m")]
    for (corpus, quantity), row in table.iterrows():
        there = sorted((t for t in grid if t.manifest.corpus == corpus), key=lambda t: t.manifest.S)
        (mine,) = (s for s in own if s.manifest.corpus == corpus)
        k = quantity.removeprefix("RBP_")
        loss = [t.ce() if k == "CE" else -np.log(t.rbp(int(k))) for t in (mine, *there)]
        S = [t.manifest.S for t in there]
        assert row["reference"] == pytest.approx(fit_power_law(S, loss[1:]).slope)
        assert row["slope"] == pytest.approx(fit_power_law(S, [loss[0], *loss[2:]]).slope)
        assert row["slope"] > row["reference"] + 0.01  # the smallest is better: a flatter line


def test_a_model_trained_again_is_compared_with_other_seeds(shipped):
    """A stand-in again; three seeds of that name ship."""
    named = [one for one in shipped if one.manifest.model == "pythia-w32-l2"]
    own = [relabelled(one, model="pythia-w32-l2-3m-seed7") for one in named]
    said = remarks([*own, *shipped])
    assert len(said) == len(own)
    assert all("other seeds (0, 1, 2)" in line and "below all" in line for line in said)
    assert f"CE {own[0].ce():.3f} nats" in said[0]


def test_train_models_trains_once_and_names_the_models(tmp_path, monkeypatch):
    stream = torch.from_numpy(np.random.default_rng(0).integers(0, families.V, 5000))
    monkeypatch.setattr(training, "token_stream", lambda *_: stream)  # the whole takes minutes
    name = "pythia-w32-l2-0.004096m-seed7"
    said = []

    monkeypatch.setenv(TRAINED, "")

    def train(*models: str, out: Path = tmp_path) -> None:
        study = CLASSROOM.model_copy(update={"model_ids": models})
        train_models(study, out, say=said.append, progress=False)

    train(name, "pocket:pythia-w32-l2")
    weights = tmp_path / name / "model" / "model.safetensors"
    trained = weights.stat().st_mtime_ns
    train(name, "pocket:pythia-w32-l2")
    assert weights.stat().st_mtime_ns == trained  # found done
    assert said[0].startswith(f"{name}: ")
    found, folder = find_model(f"pocket:{name}"), tmp_path / "trained" / name
    assert (found.name, found.revision) == (name, find_model(folder).revision)
    for models in (("pythia-w33-l2-seed1",), (name, "pocket:pythia-w33-l2-seed1")):
        refused("no model pocket:pythia-w33", train, *models, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_reproduce_draws_what_it_measured(tmp_path, monkeypatch):
    """Three pocket models on a corpus, end to end: the figure's points are the records'."""
    monkeypatch.setattr("rbpkit.tools.study.reproduce.cores", lambda: 1)  # fewer processes
    names = ("pythia-w32-l2", "pythia-w48-l3", "pythia-w64-l4")
    values = {"source": "pocket", "model_ids": names, "corpus_names": ["pocket:humaneval"]}
    study = Params(**values, documents=8, max_length=64, device="cpu")
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "figures").iterdir()}
    said, out = [], tmp_path / "out"
    assert reproduce(study, out, notebooks=["03"], say=said.append), said
    assert any("has another" in line for line in said)  # eight documents of 64 tokens
    drawn = pd.read_csv(out / "figures" / "figure_3.csv").query("source == 'measured'")
    measured = {one.manifest.model: one.rbp(1) for one in load_summaries(out / "records")}
    assert dict(zip(drawn["model"], drawn["value"], strict=True)) == pytest.approx(measured, 1e-5)
    assert (out / "notebooks" / "03_section_4_1_k1.ipynb").is_file()
    assert len(pd.read_csv(out / "comparison.csv")) == 1 + len(study.ks)
    assert before == {path: path.stat().st_mtime_ns for path in (ROOT / "figures").iterdir()}
