"""The audit's tables: made from records, and shown only beside the jobs that they are of."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from rbpkit.audit import strata, tables
from rbpkit.audit.tables import JOB, JOBS, SAME, audit_root, load_tables, write_tables
from rbpkit.cli import app
from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.pocket import recipes
from rbpkit.records import load_summaries
from rbpkit.study.params import load_params

SIZES = (0, 1, 2)
ROOT = Path(__file__).resolve().parents[2]
AUDITED = load_params(ROOT / "params" / "pocket.yaml").corpus_names


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Three small Pythias on 40 documents of pocket:code."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("records")
    corpus = load_corpus("pocket:code", documents=40)
    for size in SIZES:
        measure(load_model(recipes.model_folder("Pythia", size)), corpus, folder, max_length=256)
    return folder


@pytest.fixture(scope="module", autouse=True)
def counted_once():
    """The training text is not counted again: token i is taken to stand i times."""
    context = strata.Context(tuple(f" t{i}" for i in range(recipes.V)), np.arange(recipes.V))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strata, "pocket_context", lambda: context)
        yield


@pytest.fixture(scope="module")
def written(records, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    write_tables(records, folder)
    return folder


def test_every_table_is_written_and_begins_with_the_job(written):
    expected = {JOBS, *tables.OF_RECORDS, *tables.OF_RECORDS_IN_CONTEXT}
    expected |= {*tables.OF_A_FAMILY, *tables.OF_A_FAMILY_IN_CONTEXT}
    assert {path.stem for path in written.iterdir()} == expected
    for name in tables.OF_RECORDS:
        frame = pd.read_csv(written / f"{name}.csv")
        assert tuple(frame.columns[: len(JOB)]) == JOB
        assert frame["model"].nunique() == len(SIZES)


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes(records, written, tmp_path):
    for path in write_tables(records, tmp_path):
        assert path.read_bytes() == (written / path.name).read_bytes(), path.name


def test_rows_are_of_the_jobs_that_are_asked_for(records, written):
    manifests = [one.manifest for one in load_summaries(records)]
    every = load_tables(manifests, written)
    assert set(every["calibration"]["model"]) == {one.model for one in manifests}
    assert "strata_alpha" in every
    some = load_tables(manifests[:1], written)
    assert set(some["calibration"]["model"]) == {manifests[0].model}
    assert "strata_alpha" not in some  # of the whole family, and two of it are others


@pytest.mark.parametrize("key", [key for key in SAME if key not in ("model", "corpus", "family")])
def test_another_job_of_the_same_name_is_left_out(records, written, key):
    manifests = [one.manifest for one in load_summaries(records)]
    value = getattr(manifests[0], key)
    other = [
        one.model_copy(update={key: value + 1 if isinstance(value, int) else "x"})
        for one in manifests
    ]
    assert load_tables(other, written) == {}


def test_shipped_tables_are_of_the_shipped_summaries():
    shipped = [one.manifest for one in load_summaries(recipes.SUMMARIES)]
    shipped = [one for one in shipped if one.corpus in AUDITED]
    loaded = load_tables(shipped)
    expected = {*tables.OF_RECORDS, *tables.OF_RECORDS_IN_CONTEXT, *tables.OF_MODELS}
    expected |= {*tables.OF_A_FAMILY, *tables.OF_A_FAMILY_IN_CONTEXT}
    assert set(loaded) == expected
    for name in tables.OF_RECORDS:
        jobs = set(zip(loaded[name]["corpus"], loaded[name]["model"], strict=True))
        assert jobs == {(one.corpus, one.model) for one in shipped}, name
    assert sum(path.stat().st_size for path in audit_root().glob("*.csv")) < 3_000_000


def test_one_line_for_no_records_and_no_tables(tmp_path, monkeypatch, capsys):
    with pytest.raises(InputError, match="rbpkit audit"):
        load_tables([], tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["rbpkit", "audit", str(tmp_path), "--out", str(tmp_path / "o")]
    )
    with pytest.raises(SystemExit) as stop:
        app.main()
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_a_family_too_small_for_a_line_is_left_out_and_said(records, tmp_path):
    one = tmp_path / "records"
    one.mkdir()
    for path in records.rglob("pythia-w32-l2.*"):
        shutil.copy(path, one / path.name)
    said = []
    paths = write_tables(one, tmp_path / "out", say=said.append)
    assert {path.stem for path in paths} >= set(tables.OF_RECORDS)
    assert any(line.startswith("left out: strata_alpha of Pythia") for line in said)
