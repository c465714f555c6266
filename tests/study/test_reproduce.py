"""The main job's comparison with what ships, and the whole of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from rbpkit import paper
from rbpkit.corpora import POCKET_CORPORA
from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.fit import fit_power_law
from rbpkit.pocket import ladders, training
from rbpkit.pocket.controls import grid_path, load_totals
from rbpkit.records import load_summaries
from rbpkit.study.jobs import models_of
from rbpkit.study.params import Params, load_params
from rbpkit.study.reproduce import (
    PROCESSOR_CE,
    PROCESSOR_TOKENS,
    compare_with_shipped,
    comparison,
    reproduce,
    tokens_moved,
    train_anew,
)
from rbpkit.summary import Summary

ROOT = Path(__file__).resolve().parents[2]


def test_every_pocket_model_has_a_summary_on_every_corpus(shipped):
    study = load_params(ROOT / "params" / "pocket.yaml")
    names = {
        ladders.name_of(family, shape)
        for family in study.families
        for shape in ladders.LADDERS[family]
    }
    jobs = {(s.manifest.model, s.manifest.corpus) for s in shipped}
    assert set(study.corpus_names) < set(POCKET_CORPORA)
    assert jobs == {(name, corpus) for name in names for corpus in POCKET_CORPORA}


def test_the_families_beside_the_papers_have_theirs_too():
    jobs = {(s.manifest.model, s.manifest.corpus) for s in load_summaries(ladders.beside_root())}
    study = load_params(ROOT / "params" / "beside.yaml")
    assert list(study.families) == [f for f in ladders.LADDERS if f not in paper.FAMILIES]
    names = {run.name for family in study.families for run in ladders.ladder_runs(family)}
    assert jobs == {(name, corpus) for name in names for corpus in POCKET_CORPORA}


def test_summaries_were_made_from_the_shipped_weights(shipped):
    from rbpkit.models import load_model

    everything = [*shipped, *load_summaries(ladders.beside_root())]
    folders = sorted(ladders.models_root().iterdir())
    assert {one.manifest.model for one in everything} == {folder.name for folder in folders}
    for folder in folders:
        model = load_model(folder, device="cpu")
        for summary in everything:
            if summary.manifest.model == folder.name:
                assert summary.manifest.family == model.family
                assert summary.manifest.revision == model.revision
                assert (summary.manifest.S, summary.manifest.V) == (model.S, model.V)


def test_the_same_numbers_agree(shipped):
    said = []
    assert compare_with_shipped(shipped, (1, 10), say=said.append)
    assert len(said) == 6 and all("RBP_k 0.0e+00" in line for line in said[:5])
    assert said[5] == f"{len(shipped)} of {len(shipped)} jobs compared with shipped values"


@dataclasses.dataclass(frozen=True)
class Moved:
    """A measured summary some of whose tokens fell out of the top k, or cost more."""

    one: Summary
    share: float = 0.0
    nats: float = 0.0
    manifest: Manifest = None

    def __post_init__(self):
        object.__setattr__(self, "manifest", self.manifest or self.one.manifest)

    @property
    def k_grid(self):
        return self.one.k_grid

    @property
    def document_hits(self):
        hits = self.one.document_hits.astype(int)
        hits[0] -= round(self.share * self.one.tokens)
        return hits

    def rbp(self, k: int) -> float:
        return self.one.rbp(k) - self.share

    def ce(self) -> float:
        return self.one.ce() + self.nats


def test_what_a_processor_moves_leaves_the_study_the_shipped_one(shipped):
    first, *others = shipped
    other_weights = first.manifest.model_copy(update={"revision": "another"})
    token = 1 / first.tokens
    for tokens, changed in (
        (0, {}),
        (PROCESSOR_TOKENS, {"share": PROCESSOR_TOKENS * token}),
        (None, {"share": (PROCESSOR_TOKENS + 1) * token}),
        (0, {"nats": 0.9 * PROCESSOR_CE}),
        (None, {"nats": 1.1 * PROCESSOR_CE}),
        (None, {"manifest": other_weights}),
    ):
        assert tokens_moved([Moved(first, **changed), *others]) == tokens, changed
    assert tokens_moved(others) is None  # a size is lacking
    assert tokens_moved([one for one in shipped if one.manifest.corpus == "pocket:qa"]) == 0


@pytest.mark.parametrize(
    ("share", "nats", "agrees"),
    [(0.9e-4, 0, True), (1.1e-4, 0, False), (0, 0.9e-4, True), (0, 1.1e-4, False)],
)
def test_a_moved_rank_or_loss_is_seen(shipped, share, nats, agrees):
    said, moved = [], Moved(shipped[0], share, nats)
    assert compare_with_shipped([moved], (1, 10), say=said.append) == agrees
    assert ("over 0.0001" in said[0]) == (not agrees)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("fingerprint", "another", "another text"),
        ("revision", "another", "other weights"),
        ("dtype", "bfloat16", "another dtype"),
        ("max_length", 17, "another length"),
    ],
)
def test_what_is_not_the_same_job_is_not_compared(shipped, field, value, says):
    others = [
        dataclasses.replace(s, manifest=s.manifest.model_copy(update={field: value}))
        for s in shipped
    ]
    said = []
    assert compare_with_shipped(others, (1,), say=said.append)
    assert len(said) == 6 and all(says in line for line in said[:5])
    assert said[5].startswith("0 of ")
    table = comparison(others, (1,))
    if field == "revision":  # a model trained anew is set beside the shipped one
        assert np.allclose(table["difference"], 0)
    else:
        assert table["shipped"].isna().all() and table["difference"].isna().all()


def test_comparison_has_measured_shipped_and_published(shipped):
    table = comparison(shipped, (1, 10, 50))
    assert len(table) == 5 * 4 * 4  # corpora, families, CE and three k
    assert np.allclose(table["difference"], 0)
    first = table.query("quantity == 'RBP_1' and family == 'Pythia'").iloc[0]
    # The paper's Pythia slopes at k = 1, over six corpora (Table 1).
    assert -0.14 < first["paper_from"] < first["paper_to"] < -0.03
    assert table.query("quantity == 'RBP_50'")["paper_from"].isna().all()  # no such row


@pytest.mark.parametrize(
    "notebooks",
    [("03", "12", "13"), pytest.param((), marks=pytest.mark.slow, id="all")],  # all: 4 minutes
)
def test_reproduce_a_study_of_ones_own(notebooks, tmp_path, llama_folder, text_file):
    """A family with one model, a file of text: measured, said what cannot be fitted."""
    study = Params(
        source="hub",
        model_ids=[str(llama_folder)],
        corpus_names=[str(text_file)],
        text_field="text",
        threads=1,
    )
    said = []
    done = reproduce(study, tmp_path / "out", notebooks=notebooks, say=said.append)
    assert done, [line for line in said if line.startswith("failed")]
    assert "0 of 1 jobs compared with shipped values" in said
    assert any(line.startswith("no fit: llama, notes.jsonl") for line in said)
    assert (tmp_path / "out" / "notebooks" / "03_section_4_1_k1.ipynb").is_file()


def test_without_the_repository_nothing_is_measured_first(tmp_path, monkeypatch):
    """An rbpkit installed from its wheel has no notebooks: said at once, not after the sweep."""
    monkeypatch.setattr("rbpkit.__file__", str(tmp_path / "site-packages" / "rbpkit" / "x.py"))
    with pytest.raises(InputError, match="no notebooks there; clone the repository"):
        reproduce(load_params(ROOT / "params" / "pocket.yaml"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


CLASSROOM = load_params(ROOT / "params" / "class" / "own_model.yaml")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"train_anew": ("pythia-w32",)}, "no run 'pythia-w32'"),
        ({"train_anew": ("pythia-w33-l2-seed1",)}, "no run"),
        ({"train_anew": ("pythia-w32-l2-3.m-seed1",)}, "no run"),
        ({"train_anew": ("pythia-w32-l2-3m",)}, "ships; give a seed, pythia-w32-l2-3m-seed1"),
        ({"model_ids": ("a", "b")}, "model_ids empty"),
        ({"source": "hub"}, "source must be pocket"),
    ],
)
def test_only_runs_of_the_ladders_can_be_trained_anew(change, reason, tmp_path):
    study = CLASSROOM.model_copy(update=change)
    with pytest.raises(InputError, match=reason):
        train_anew(study, tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_model_trained_anew_is_measured_alone(tmp_path, monkeypatch):
    stream = torch.from_numpy(np.random.default_rng(0).integers(0, ladders.V, 5000))
    monkeypatch.setattr(training, "token_stream", lambda split: stream)  # the whole takes minutes
    name = "pythia-w32-l2-0.004096m-seed7"
    study = CLASSROOM.model_copy(update={"train_anew": (name,)})
    said = []
    trained = train_anew(study, tmp_path, say=said.append)
    assert said[0].startswith(f"{name}: ")
    assert [Path(folder).name for folder in models_of(trained)] == [name]
    with pytest.raises(InputError, match="`rbpkit reproduce` trains these models"):
        models_of(study)
    assert train_anew(study, tmp_path) == trained  # found done
    nothing = CLASSROOM.model_copy(update={"train_anew": ()})
    assert train_anew(nothing, tmp_path / "none") is nothing and not (tmp_path / "none").exists()


def test_a_model_trained_anew_is_fitted_among_the_shipped_ones(shipped):
    """A stand-in, the ladder's model called one of 3 million tokens, so that the line must move."""
    own = [
        dataclasses.replace(s, manifest=s.manifest.model_copy(update={"model": f"{name}-seed7"}))
        for s in shipped
        for name in [f"{s.manifest.model}-3m"]
        if name == "pythia-w32-l2-3m" and s.manifest.corpus in CLASSROOM.corpus_names
    ]
    table = comparison(own, (1, 10)).set_index(["corpus", "quantity"])
    assert len(table) == 2 * 3 and (table["n"] == 6).all()
    grid = [t for t in load_totals(grid_path()) if t.manifest.model.endswith("-3m")]
    for (corpus, quantity), row in table.iterrows():
        there = sorted((t for t in grid if t.manifest.corpus == corpus), key=lambda t: t.manifest.S)
        (mine,) = (s for s in own if s.manifest.corpus == corpus)
        k = quantity.removeprefix("RBP_")
        loss = [t.ce() if k == "CE" else -np.log(t.rbp(int(k))) for t in (mine, *there)]
        S = [t.manifest.S for t in there]
        assert row["shipped"] == pytest.approx(fit_power_law(S, loss[1:]).slope)
        assert row["slope"] == pytest.approx(fit_power_law(S, [loss[0], *loss[2:]]).slope)
        assert row["slope"] > row["shipped"] + 0.01  # the smallest is better: a flatter line
    other = [
        dataclasses.replace(s, manifest=s.manifest.model_copy(update={"fingerprint": "another"}))
        for s in own
    ]
    assert comparison(other, (1,)).empty  # other packages, other text: not among the shipped


@pytest.mark.slow
def test_reproduce_the_pocket_study(tmp_path):
    """All models on all corpora, the notebooks, and RBP_k within 1e-4 of what ships."""
    said = []
    assert reproduce(load_params(ROOT / "params" / "pocket.yaml"), tmp_path, say=said.append), said
    assert (tmp_path / "figures" / "figure_3.png").is_file()
    assert (tmp_path / "comparison.csv").is_file()
    jobs = 25 * 3
    assert sum("largest difference" in line for line in said) == 3
    assert any(line.startswith(f"{jobs} of {jobs} jobs compared") for line in said)
