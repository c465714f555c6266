"""A sweep on a real Ray cluster of two workers, one of which is killed."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import TEXTS, digests, kill_holder, needs_proc, study_file

from rbpkit.errors import InputError
from rbpkit.study.params import load_params
from rbpkit.study.sweep import sweep
from rbpkit_pocket import families

SMALL, MIDDLE = (families.model_folder("Pythia", size) for size in (0, 1))


@pytest.fixture
def study(tmp_path):
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    for path in files:
        path.write_text("".join(json.dumps({"text": path.stem + text}) + "\n" for text in TEXTS))
    return load_params(study_file(tmp_path, [SMALL, MIDDLE], files, max_length=64))


def test_without_ray_one_line_says_how_to_install_it(study, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install .*cluster"):
        sweep(study, tmp_path, engine="ray")


@needs_proc
@pytest.mark.slow  # half a minute, most of it the start of Ray
def test_a_job_whose_worker_is_killed_is_tried_a_second_time(study, monkeypatch, tmp_path):
    pytest.importorskip("ray", reason="needs Ray: pip install 'rbpkit[cluster]'")
    # Limits for busy processors
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "300")
    monkeypatch.setenv("RAY_worker_register_timeout_seconds", "300")
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "300000")
    out = tmp_path / "out"
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill_holder, out / "one.jsonl" / f".{MIDDLE.name}.lock")
        result = sweep(study, out, engine="ray", workers=2)
        killed.result()
    assert not result.failures and len(result.measured) == 4
    again = sweep(study, out)  # in this process: done is done, whichever engine did it
    assert all(one.found_done for one in again.measured)
    sweep(study, tmp_path / "alone")
    assert digests(out) == digests(tmp_path / "alone")
