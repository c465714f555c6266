"""How far a study is: each job done, failed or left, read from the records folder alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rbpkit.errors import InputError
from rbpkit.files.recordfiles import read_manifest
from rbpkit.study.jobs import Job, corpus_names, has_settings, job_stem, models_of, read_failures
from rbpkit.study.params import Params


def study_status(params: Params, out: str | Path) -> pd.DataFrame:
    """A row for each job of the study, in its order: what the records folder `out` says of it.

    Columns: model, corpus, state ("done", "failed" or "left"), tokens and seconds of what is done
    (else missing), and the reason of a failure. Done is a finished manifest with the study's
    settings, as far as the parameters tell them; a sweep also compares text and weights.
    Raises InputError when the study is at fault.
    """
    failures = read_failures(Path(out))
    rows = []
    for model in models_of(params):
        for corpus in corpus_names(params):
            job = Job(model, corpus)
            row = {"model": model, "corpus": corpus, "state": "left", "tokens": pd.NA}
            row |= {"seconds": float("nan"), "reason": ""}
            if job in failures:
                row |= {"state": "failed", "reason": failures[job].reason}
            row |= _if_done(params, job_stem(out, job))
            rows.append(row)
    return pd.DataFrame(rows).astype({"tokens": "Int64"})


def _if_done(params: Params, stem: Path) -> dict:
    """What a row says of a finished job; empty for any other."""
    try:
        manifest = read_manifest(stem)
    except InputError:
        return {}
    asked = {
        "dtype": params.dtype,
        "batch_tokens": params.batch_tokens,
        "threads": params.threads or manifest.threads,
        # A model's context can be shorter than what is asked for, and a corpus too. Seed 0 says
        # that nothing was shuffled.
        "max_length": min(manifest.max_length, params.max_length),
        "documents": min(manifest.documents, params.documents or manifest.documents),
        "seed": params.seed if manifest.seed else 0,
    }
    if not has_settings(manifest, asked):
        return {}
    return {
        "state": "done",
        "tokens": manifest.tokens,
        "seconds": manifest.seconds,
        "reason": "",
    }
