"""How far a study is: each job done, running, failed or waiting, and about how long it takes yet.

Read from the records folder alone, while sweeps write into it, and with no model loaded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rbpkit.errors import InputError
from rbpkit.files.devices import SPREAD
from rbpkit.files.manifest import Manifest
from rbpkit.records import read_manifest
from rbpkit.study.jobs import Group, Job, corpus_names, model_name, models_of, plan
from rbpkit.study.jobstate import Holder, holder, job_path, job_stem, past_failure
from rbpkit.study.params import Params

State = Literal["done", "running", "failed", "waiting"]


@dataclass(frozen=True)
class JobStatus:
    """One job: its state; tokens and seconds where it is done; a note for people.

    The note is the reason of a failure, who measures a running job, or why records that are
    there do not count.
    """

    model: str
    corpus: str
    state: State
    S: int
    tokens: int | None = None
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True)
class StudyStatus:
    """All jobs in the order of the study; `remaining`: seconds that the jobs running and waiting
    are expected to take, None where no speed was seen yet."""

    jobs: tuple[JobStatus, ...]
    remaining: float | None

    def count(self, state: State) -> int:
        """How many jobs are in this state."""
        return sum(job.state == state for job in self.jobs)

    @property
    def settled(self) -> bool:
        """Whether every job is done or failed."""
        return not self.count("running") and not self.count("waiting")

    def to_dict(self) -> dict:
        """As plain values for JSON, with the counts."""
        states = ("done", "running", "failed", "waiting")
        return {
            **{state: self.count(state) for state in states},
            "remaining_seconds": self.remaining,
            "jobs": [asdict(job) for job in self.jobs],
        }

    def line(self) -> str:
        """The counts and the estimate, for people."""
        tokens = sum(job.tokens or 0 for job in self.jobs)
        seconds = sum(job.seconds or 0.0 for job in self.jobs)
        text = (
            f"{self.count('done')} of {len(self.jobs)} jobs done ({tokens:,} tokens in"
            f" {duration(seconds)}), {self.count('running')} running,"
            f" {self.count('failed')} failed, {self.count('waiting')} waiting"
        )
        if self.settled:
            return text
        if self.remaining is None:
            return f"{text}; no speed seen yet"
        return f"{text}; about {duration(self.remaining)} to go at the speed seen"


def study_status(params: Params, out: str | Path) -> StudyStatus:
    """The state of all jobs of a study in the records folder `out`.

    Done is what has a manifest with the study's settings, as far as they are known with nothing
    loaded; a sweep also compares text and weights. The estimate goes by cost (parameters times
    tokens) at the speed of the jobs done, divided among those running now. Raises InputError
    where the study itself is at fault.
    """
    groups = {group.model: group for group in plan(params)}
    jobs = [
        _status(Job(model_name(model), corpus), groups[model_name(model)], params, out)
        for model in models_of(params)
        for corpus in corpus_names(params)
    ]
    found = tuple(job for job, _ in jobs)
    return StudyStatus(found, _remaining(found, groups.values(), [who for _, who in jobs if who]))


def duration(seconds: float) -> str:
    """Seconds as people say them: 4.2 s, 12 min, 3 h 5 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _status(
    job: Job, group: Group, params: Params, out: str | Path
) -> tuple[JobStatus, Holder | None]:
    stem = job_stem(out, job)
    who = holder(stem)
    if who is not None:
        note = f"process {who.pid} on {who.host} since {who.since}"
        return JobStatus(job.model, job.corpus, "running", group.S, note=note), who
    note, state = "", "waiting"
    path = job_path(out, job)
    if path.exists() and path.with_suffix(".json").exists():
        try:
            manifest = read_manifest(path)
            other = _other_settings(manifest, params)
        except InputError as error:
            state, note = "failed", str(error)
        else:
            if not other:
                took = {"tokens": manifest.tokens, "seconds": manifest.seconds}
                return JobStatus(job.model, job.corpus, "done", manifest.S, **took), None
            note = f"records of other settings: {other}"
    failure = past_failure(stem)
    if failure is not None:
        state, note = "failed", f"{failure.reason} ({failure.time})".removesuffix(" ()")
    return JobStatus(job.model, job.corpus, state, group.S, note=note), None


def _other_settings(manifest: Manifest, params: Params) -> str:
    """What of a finished job is not as the study asks, one line; empty where nothing is."""
    # None and "auto" ask for no kind of device; a model's context can be shorter than what is
    # asked for, a corpus too; seed 0: nothing was shuffled.
    asked = manifest.model_copy(
        update={
            "dtype": params.dtype,
            "batch_tokens": params.batch_tokens,
            "max_length": min(manifest.max_length, params.max_length),
            "documents": min(manifest.documents, params.documents or manifest.documents),
            "seed": params.seed if manifest.seed else 0,
            "threads": params.threads or manifest.threads,
            "device": manifest.device if params.device in (None, SPREAD) else params.device,
        }
    )
    differ = manifest.differences(asked).items()
    return ", ".join(f"{name} was {there}, is {wanted}" for name, (there, wanted) in differ)


def _remaining(
    jobs: Collection[JobStatus], groups: Collection[Group], running: Collection[Holder]
) -> float | None:
    """Seconds that what is running and waiting takes at the speed of what is done."""
    group_of = {group.model: group for group in groups}
    done = [job for job in jobs if job.state == "done" and job.tokens]

    def cost(job: JobStatus) -> float:
        group = group_of[job.model]
        seen = [one.tokens for one in done if one.corpus == job.corpus]
        # A corpus seen with other models' tokenizers tells more than what was expected of it.
        tokens = sum(seen) / len(seen) if seen else group.tokens[job.corpus]
        return max(1, group.S + group.embedding) * tokens

    seconds, work = sum(job.seconds or 0.0 for job in done), sum(map(cost, done))
    left = sum(cost(job) for job in jobs if job.state in ("running", "waiting"))
    if not left:
        return 0.0
    if not done or not work:
        return None
    at_once = max(1, len({(who.host, who.pid) for who in running}))
    now = datetime.now(UTC)
    spent = sum((now - datetime.fromisoformat(who.since)).total_seconds() for who in running)
    return max(0.0, (left * seconds / work - spent) / at_once)
