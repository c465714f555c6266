"""Running jobs: one group (a model and its corpora), and all groups in this process.

A job is claimed while it is measured, found done rather than measured twice, and its failure is
written down and stops no other. What would fail every job (no space on the disk) stops all.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import find_checkpoint
from rbpkit.measuring import Measurement, measure
from rbpkit.models import load_model, torch_device
from rbpkit.records import RecordFile, find_done, read_manifest, summary_of
from rbpkit.study.jobs import Group, Job
from rbpkit.study.jobstate import (
    claimed,
    forget_failure,
    holder,
    job_path,
    job_stem,
    remember_failure,
)
from rbpkit.study.params import Params
from rbpkit.study.token_budget import truncated_at

POLL_SECONDS = 1.0  # between two looks at jobs that other processes hold


@dataclass(frozen=True)
class Outcome:
    """What came of a job: its measurement, or the one line that says why there is none."""

    job: Job
    measured: Measurement | None
    reason: str = ""

    def line(self) -> str:
        """For people, one line."""
        if self.measured is None:
            return f"failed: {self.job.model} on {self.job.corpus}: {self.reason}"
        manifest = self.measured.summary.manifest
        what = f"{manifest.model} on {manifest.corpus}: {manifest.tokens:,} tokens"
        if self.measured.found_done:
            return f"done before: {what}"
        speed = manifest.tokens / max(manifest.seconds, 1e-9)
        return f"measured: {what} in {manifest.seconds:.1f} s ({speed:,.0f} tokens/s)"


def run_here(
    groups: Sequence[Group],
    corpora: Mapping[str, Corpus],
    params: Params,
    out: str | Path,
    *,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> dict[Job, Outcome]:
    """Run all jobs of the groups in this process; what came of each.

    Jobs that another process measures just now are left for last and then waited for. `say`
    gets a line for each job. Raises OSError where records cannot be written.
    """
    outcomes: dict[Job, Outcome] = {}
    todo = list(groups)
    said: set[Job] = set()
    while todo:
        held = {job: who for group in todo for job in group.jobs if (who := _holder(out, job))}
        # Untouched models first: two processes on one folder then seldom load the same one.
        todo.sort(key=lambda group: sum(job in held for job in group.jobs) / len(group.jobs))
        if all(job in held for job in todo[0].jobs):
            for job in held.keys() - said:
                who = held[job]
                say(
                    f"waiting: {job.model} on {job.corpus} is being measured by process {who.pid}"
                    f" on {who.host}"
                )
            said |= held.keys()
            time.sleep(POLL_SECONDS)
            continue
        group = todo.pop(0)
        elsewhere = {job.corpus for job in group.jobs}
        for outcome in run_group(group, corpora, params, out, say=say, progress=progress):
            outcomes[outcome.job] = outcome
            elsewhere.discard(outcome.job.corpus)
            say(outcome.line())
        if elsewhere:
            todo.append(group.only(elsewhere))
    return outcomes


def run_group(
    group: Group,
    corpora: Mapping[str, Corpus],
    params: Params,
    out: str | Path,
    *,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Iterator[Outcome]:
    """The outcomes of a group's jobs as they come; none for a job that another process holds.

    The model is loaded only where a job is yet to be done. A failure is remembered beside the
    records, with its traceback where it is none that a user can mend. Raises OSError.
    """
    todo = list(group.jobs)
    for job, measured in found_done(group, corpora, params, out):
        todo.remove(job)
        forget_failure(job_stem(out, job))
        yield Outcome(job, measured)
    if all(_holder(out, job) for job in todo):
        return
    try:
        model = load_model(
            group.source,
            dtype=params.dtype,
            device=params.device,
            revision=params.revision_of(group.source),
            allow_pickle=params.allow_pickle,
        )
    except OSError:
        raise
    except Exception as error:  # libraries have errors of every kind; the other models go on
        model, fault = None, error
    for job in todo:
        with claimed(job_stem(out, job)) as mine:
            if not mine:
                continue
            try:
                if model is None:
                    raise fault
                measured = measure(
                    model,
                    corpora[job.corpus],
                    out,
                    max_length=params.max_length,
                    batch_tokens=params.batch_tokens,
                    progress=progress,
                    say=say,
                )
                forget_failure(job_stem(out, job))
                outcome = Outcome(job, measured)
            except OSError:
                raise
            except Exception as error:
                outcome = _failed(job, error, out)
        yield outcome


def found_done(
    group: Group, corpora: Mapping[str, Corpus], params: Params, out: str | Path
) -> Iterator[tuple[Job, Measurement]]:
    """The group's jobs that are finished under these parameters, their bytes verified.

    By the same key as `measure`, but without loading the model: a sweep that goes on, or comes
    to see that all is done, does not read the weights into memory for that. What cannot be
    settled here (a damaged file, a text that is not the shipped one) is left to `measure`.
    """
    there = [job for job in group.jobs if job_path(out, job).with_suffix(".json").exists()]
    if not there:
        return
    try:
        with quiet():
            checkpoint = find_checkpoint(
                group.source,
                revision=params.revision_of(group.source),
                allow_pickle=params.allow_pickle,
            )
            max_length = truncated_at(checkpoint.folder, params)
    except Exception:  # load_model will say what it is
        return
    for job in there:
        corpus = corpora[job.corpus]
        if corpus.source.get("as_shipped") is False:
            continue
        try:
            done = _find(job_path(out, job), checkpoint.revision, max_length, corpus, params, out)
            measured = done and Measurement(summary_of(done), done.path, found_done=True)
        except InputError:
            continue
        if measured:
            yield job, measured


def _find(
    path: Path,
    revision: str,
    max_length: int,
    corpus: Corpus,
    params: Params,
    out: str | Path,
) -> RecordFile | None:
    """The finished job at `path` if all that can change its numbers is as it would be now."""
    there = read_manifest(path)
    libraries = {name: metadata.version(name) for name in ("torch", "transformers", "tokenizers")}
    asked = there.model_copy(
        update={
            "revision": revision,
            "corpus": corpus.id,
            "fingerprint": corpus.fingerprint,
            "documents": len(corpus.documents),
            "seed": corpus.protocol.get("seed") or 0,
            "max_length": max_length,
            "dtype": params.dtype,
            "device": str(torch_device(params.device)),
            "threads": torch.get_num_threads(),
            "batch_tokens": params.batch_tokens,
            "versions": {**there.versions, **libraries},
        }
    )
    return find_done(out, asked)


def _holder(out: str | Path, job: Job):
    return holder(job_stem(out, job))


def _failed(job: Job, error: Exception, out: str | Path) -> Outcome:
    """The failure, remembered; one that is no InputError with its traceback."""
    plain = isinstance(error, InputError)
    reason = " ".join(str(error).split()) if plain else one_line(error)
    trace = "" if plain else "".join(traceback.format_exception(error))
    remember_failure(job_stem(out, job), reason, trace)
    return Outcome(job, None, reason)
