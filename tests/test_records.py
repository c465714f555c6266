"""Records and summaries: counted by plain loops, written and read back, and broken on purpose."""

import dataclasses
import io
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from conftest import content, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from made_summaries import make_manifest, records_of

from rbpkit.errors import InputError
from rbpkit.records import (
    COLUMNS,
    Records,
    find_done,
    load_summaries,
    read_manifest,
    record_path,
    slug,
    summary_of,
    write_records,
)
from rbpkit.summary import K_GRID, WINDOWS, Summary, window_maxima


def with_manifest(records: Records, **changes) -> Records:
    return dataclasses.replace(records, manifest=records.manifest.model_copy(update=changes))


def make_records(lengths, seed=0, **changes) -> Records:
    """Random ranks in documents of these lengths."""
    ranks = np.random.default_rng(seed).integers(1, 61, sum(lengths))
    made = records_of(ranks, np.repeat(np.arange(len(lengths)), lengths), V=60)
    return with_manifest(made, **{"model": "org/model-1.5b", "corpus": "Wiki"} | changes)


@pytest.fixture
def few() -> Records:
    return make_records([5, 1, 2, 9])


def same(one: Records, other: Records) -> bool:
    return all(np.array_equal(one.columns()[c], other.columns()[c]) for c in one.columns())


# What records and summaries say -------------------------------------------------------------

TOKENS = st.tuples(st.integers(1, 40), st.integers(0, 39), st.integers(1, 2))  # rank, ties, step
DOCUMENTS = st.lists(
    st.tuples(st.lists(TOKENS, min_size=1, max_size=12), st.sampled_from([1, 1, 50])),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50, deadline=None)
@given(documents=DOCUMENTS, N=st.sampled_from([*WINDOWS, 3, 4, 7, 8, 31, 64, 601]))
def test_records_and_summaries_say_what_plain_loops_count(documents, N):
    rows = []
    for number, (tokens, times) in enumerate(documents):
        position = 0
        for rank, ties, step in tokens * times:
            position += step
            rows.append((2 * number, position, rank, min(ties, rank - 1)))
    document, position, rank, n_equal = np.array(rows, np.int32).T
    nll = (np.log(rank) + 1 / position).astype(np.float32)
    floats = [nll, np.exp(-nll), nll / 2]
    manifest = make_manifest(V=40, tokens=len(rows))
    columns = [document, position, 0 * rank, rank - 1 - n_equal, n_equal, *floats]
    records = Records(**dict(zip(COLUMNS, columns, strict=False)), manifest=manifest)
    ks = np.arange(1, 41)
    assert records.rank().tolist() == rank.tolist()
    summary = Summary.from_bytes(records.summary.to_bytes())
    assert summary.to_bytes() == records.summary.to_bytes()
    assert summary.tokens == len(rows)
    assert summary.ce() == pytest.approx(math.fsum(nll) / len(rows), rel=1e-14)
    expected = [sum(r <= k for r in rank.tolist()) / len(rows) for k in ks]
    assert summary.rbp(ks).tolist() == expected and summary.rbp(7) == expected[6]

    largest = []  # of each window of N consecutive tokens of a document
    for first, (number, start, *_) in enumerate(rows):
        window = rows[first : first + N]
        if [row[:2] for row in window] == [(number, start + i) for i in range(N)]:
            largest.append(max(row[2] for row in window))
    ((_, maxima),) = window_maxima(rank, document, position, (N,))
    assert maxima.tolist() == largest
    if N in WINDOWS and largest:
        expected = [sum(one <= k for one in largest) / len(largest) for k in ks]
        assert summary.success(N, ks).tolist() == expected
        assert summary.success(N, 7) == expected[6]

    assert summary.k_grid.tolist() == [k for k in K_GRID if k < 40]
    assert summary.document.tolist() == sorted(set(document.tolist()))
    for row, number in enumerate(summary.document):
        mine = document == number
        assert summary.document_tokens[row] == mine.sum()
        assert summary.document_hits[row].tolist() == [
            (rank[mine] <= k).sum() for k in K_GRID[: summary.k_grid.size]
        ]
        for name, column in zip(("nll", "p_max", "entropy"), floats, strict=True):
            expected = column[mine].sum(dtype=np.float64)
            assert getattr(summary, f"document_{name}")[row] == pytest.approx(expected, rel=1e-14)


def test_parts_of_a_shipped_summary_agree(shipped):
    for one in shipped:
        assert one.tokens == one.document_tokens.sum() == one.ranks.total
        assert np.array_equal(one.document_hits.sum(0), one.ranks.at_most(one.k_grid))
        assert one.ce() * one.tokens >= np.log(one.ranks.values) @ one.ranks.counts
        for N, largest in one.windows.items():
            assert largest.total == np.maximum(one.document_tokens - N + 1, 0).sum()
            assert ((largest.values >= 1) & (largest.values <= one.manifest.V)).all()


@pytest.mark.parametrize("k", [0, 1.5, "1", np.array([3, 0]), True])
def test_k_is_a_whole_number_from_1(few, k):
    for ask in (few.summary.rbp, lambda k: few.summary.success(2, k)):
        refused("k must be", ask, k)
    refused(r"no windows of N = 20 .* of \[1, 2, 5\]", few.summary.success, 20, 1)


# What records and manifests refuse ------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("document", 16, 10**6, "documents out of order"),
        ("document", 8, 1, "documents out of order"),
        ("position", 0, 0, "position does not rise"),
        ("position", 3, 1, "position does not rise"),
        ("target", 2, 60, "target outside"),
        ("n_greater", 2, -1, "rank outside"),
        ("n_equal", 2, 2**31 - 1, "rank outside"),
        ("nll", 2, np.nan, "nll not finite"),
        ("nll", 2, np.inf, "nll not finite"),
        ("nll", 2, -1e-3, "nll not finite, or below"),
        ("p_max", 2, np.nan, "p_max outside"),
        ("p_max", 2, -1e-3, "p_max outside 0 to 1"),
        ("entropy", 2, np.nan, "entropy outside"),
        ("entropy", 2, 5, "entropy outside 0 to 4"),
    ],
)
def test_impossible_values(few, column, row, value, message):
    changed = few.columns()[column].copy()
    changed[row] = value
    refused(f"{message}.* row {row} ", dataclasses.replace, few, **{column: changed})


def test_nll_is_at_least_the_log_of_the_rank():
    """Equality is reached if all are tied: V = 60, every logit 0, nll = ln 60."""
    zero, one = np.zeros(1, np.int32), np.ones(1, np.int32)

    def tied(nll: float) -> Records:
        floats = np.array([[nll], [1 / 60], [math.log(60)]], np.float32)
        columns = dict(zip(COLUMNS, [zero, one, zero, zero, 59 * one, *floats], strict=False))
        return Records(**columns, manifest=make_manifest(tokens=1))

    for nll in (math.log(60), math.log(60) - 1e-4):  # float32 rounding of large logits
        assert tied(nll).summary.rbp(60) == 1
    refused("below ln R", tied, math.log(60) - 1e-3)


def test_types_and_lengths(few):
    for column, wrong in (("nll", few.nll[:-1]), ("n_greater", few.n_greater / 2)):
        refused(f"{column} ", dataclasses.replace, few, **{column: wrong})
    for changes in ({"S": 0}, {"V": "60"}, {"seconds": math.nan}, {"corpus": "\ud800"}):
        refused(f"^manifest: {next(iter(changes))}=", make_manifest, **changes)


# Files ----------------------------------------------------------------------------------------


def killed_at(step: int, action) -> bool:
    """Run in a child process, SIGKILLed before so many removals and renames; False if it ended."""
    pid = os.fork()
    if pid == 0:
        seen = []

        def die(event: str, _) -> None:
            if event in ("os.remove", "os.rename"):
                seen.append(event)
                if len(seen) > step:
                    os.kill(os.getpid(), 9)

        sys.addaudithook(die)
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9


class FolderOfRecords(RuleBasedStateMachine):
    """Whatever happens to it, each job that is found says what was measured last."""

    def __init__(self):
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name) / "0"
        self.last: dict = {}

    def teardown(self):
        self.place.cleanup()

    @rule(
        model=st.sampled_from("ab"),
        max_length=st.sampled_from([64, 128]),
        dtype=st.sampled_from(["float32", "float16"]),
        seed=st.integers(0, 9),
        step=st.sampled_from([None, None, 0, 1, 2]),
    )
    def measure(self, model, max_length, dtype, seed, step):
        """Another seed, device and batch is the same job, measured again."""
        about = {"model": model, "revision": model, "max_length": max_length, "dtype": dtype}
        again = {"device": f"cuda:{seed}", "batch_tokens": 1 + seed, "family": str(seed)}
        records = make_records([4, 9], seed=seed, **about, **again)
        if step is None:
            write_records(self.folder, records)
        else:  # killed before the older summary goes, or before a file has its name
            assert killed_at(step, lambda: write_records(self.folder, records))
        if step in (None, 2):
            self.last[records.manifest.key] = records

    @rule()
    def remove_a_summary(self):
        for path in sorted(self.folder.rglob("*.npz"))[:1]:
            path.unlink()

    @rule()
    def copy(self):
        if self.folder.exists():
            self.folder = Path(shutil.copytree(self.folder, f"{self.folder}0"))

    @invariant()
    def found(self):
        there = self.folder.rglob("[!.]*.parquet")
        assert {read_manifest(path).key for path in there} == self.last.keys()
        for key, records in self.last.items():
            assert same(find_done(self.folder, key), records)
            asked = {"model": key.model, "max_length": key.max_length, "dtype": key.dtype}
            (summary,) = load_summaries(self.folder, **asked)
            assert summary.to_bytes() == records.summary.to_bytes()


TestFolderOfRecords = FolderOfRecords.TestCase
TestFolderOfRecords.settings = settings(max_examples=12, stateful_step_count=8, deadline=None)

KEY = "model revision corpus fingerprint documents seed max_length stride dtype".split()


@pytest.mark.parametrize("setting", KEY)
def test_jobs_that_differ_in_a_setting_live_side_by_side(setting, few, tmp_path):
    """Each is found by its own key; readers ask for one, by name, and take it."""
    value = getattr(few.manifest, setting)
    changed = value + 1 if isinstance(value, int) else f"9{value}"
    other = with_manifest(few, **{setting: changed})
    write_records(tmp_path, few)
    assert find_done(tmp_path, other.manifest.key) is None
    elsewhere = tmp_path / "b" if setting == "revision" else tmp_path  # a name belongs to one
    second = write_records(elsewhere, other)
    assert same(find_done(tmp_path, few.manifest.key), few) and same(Records.load(second), other)
    (mine,) = load_summaries(tmp_path, **{setting: value})
    assert mine.manifest == few.manifest
    if setting not in ("model", "corpus"):
        refused(f"several settings: {setting} ", load_summaries, tmp_path)


def test_a_name_belongs_to_one_revision(few, tmp_path):
    path = write_records(tmp_path, few)
    other = with_manifest(few, revision="later", max_length=64)
    refused(f"other weights: delete {re.escape(str(path))} .*name=", write_records, tmp_path, other)
    write_records(tmp_path, with_manifest(other, model="second"))
    write_records(tmp_path, with_manifest(other, corpus="elsewhere"))
    path.unlink()
    write_records(tmp_path, other)


def test_a_job_that_was_renamed_by_hand_is_not_another_one(few, tmp_path):
    written, other = write_records(tmp_path, few), with_manifest(few, dtype="float16").manifest.key
    written.rename(record_path(tmp_path, other))
    assert find_done(tmp_path, other) is None


def said_by(one: Records | Summary) -> list:
    """All that a reader is told."""
    fields = (getattr(one, field.name) for field in dataclasses.fields(one))
    arrays = [array.tolist() for array in fields if isinstance(array, np.ndarray)]
    summary = one if isinstance(one, Summary) else one.summary
    return [one.manifest, arrays, summary.rbp(np.arange(1, 61)).tolist()]


@pytest.mark.parametrize("suffix", [".parquet", ".summary.npz"])
def test_a_changed_file_is_refused_or_says_the_same(few, tmp_path, suffix):
    """A bit flipped at every tenth byte, and the end cut off at some."""
    path = write_records(tmp_path, with_manifest(few, scored_bytes=99, seconds=1.5))
    changed = path.with_suffix(suffix)
    data, refused = changed.read_bytes(), 0
    readers = [lambda: Records.load(path), lambda: load_summaries(tmp_path)[0]]
    if suffix == ".summary.npz":
        readers.append(lambda: Summary.from_bytes(changed.read_bytes(), changed))
    expected = [said_by(read()) for read in readers]
    changes = [data[:at] for at in range(0, len(data), 100)]
    for at in range(0, len(data), 10):
        flipped = bytes([data[at] ^ (1 << at // 10 % 8)])
        changes.append(data[:at] + flipped + data[at + 1 :])
    for bad in changes:
        changed.write_bytes(bad)
        for read, same_as in zip(readers, expected, strict=True):
            try:
                assert said_by(read()) == same_as
            except InputError as error:
                refused += 1
                assert str(path.with_suffix("")) in str(error) and "\n" not in str(error)
    assert refused > len(changes) / 2


@pytest.mark.parametrize("there", [None, b"PK half", "earlier"])
def test_a_summary_that_is_not_of_these_records_is_made_again(few, tmp_path, there):
    path = write_records(tmp_path, few)
    file = path.with_suffix(".summary.npz")
    written = file.read_bytes()
    file.unlink()
    if there == "earlier":
        there = with_manifest(few, batch_tokens=2).summary.to_bytes()
    if there is not None:
        file.write_bytes(there)
    (summary,) = load_summaries(tmp_path)
    assert summary.to_bytes() == written == summary_of(path).to_bytes()


def test_a_summary_is_read_without_its_records(few, tmp_path):
    """As the repository ships them."""
    write_records(tmp_path, few).unlink()
    assert find_done(tmp_path, few.manifest.key) is None
    assert len(load_summaries(tmp_path)) == 1
    refused("nowhere: no records or summaries", load_summaries, tmp_path / "nowhere")


def test_any_id_is_written_and_found(few, tmp_path):
    """A name becomes its own file inside the folder, whatever is in it."""
    ids = ["org/model", "org+model", "..", "../../etc/passwd", "/a", "a%2Fb", "a/b", "ä/ö"]
    ids += ["x" * 300, "x" * 299 + "y", ".hidden", "a\nb", "*", "[a]"]
    assert slug("Qwen/Qwen2.5-0.5B") == "Qwen+Qwen2.5-0.5B"
    for name in ids:
        named = with_manifest(few, model=name, corpus=name)
        path = write_records(tmp_path / "out", named)
        assert find_done(tmp_path / "out", named.manifest.key).manifest == named.manifest
        assert same(Records.load(path), few)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert sorted(s.manifest.model for s in load_summaries(tmp_path)) == sorted(ids)


def test_a_model_that_was_measured_under_two_names_counts_once(few, tmp_path):
    """By the first in the order of the alphabet, or by the name that is asked for."""
    for name in ("second", "another"):
        write_records(tmp_path, with_manifest(few, model=name))
    said = []
    named = [summary.manifest.model for summary in load_summaries(tmp_path, say=said.append)]
    assert named == ["another"]
    assert said == ["second on Wiki has the weights of another, and counts as that."]
    (summary,) = load_summaries(tmp_path, model="second")
    assert summary.manifest.model == "second"


@pytest.mark.parametrize("name", ["counts", "ranks", "document_nll", "hits", "k_grid", "manifest"])
def test_a_summary_that_was_changed_is_refused(name):
    """Its numbers would go into tables without a word: an RBP above 1, a CE that is NaN."""
    stored = np.load(io.BytesIO(records_of(np.arange(1, 41), V=40).summary.to_bytes()))
    arrays = {key: stored[key] for key in stored.files}
    changed = arrays[name].copy()
    changed.flat[:1] += 1
    for bad in (changed, np.array([print], dtype=object)):  # no pickle is read
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays | {name: bad})
        refused("theirs: not a readable summary", Summary.from_bytes, buffer.getvalue(), "theirs")


def test_the_last_checkpoint_of_each_run_is_chosen(tmp_path):
    """Two runs, two checkpoints each; a run of another size of the same name; a model of no run."""
    names = [f"{run}/checkpoint-{step}" for run in "ab" for step in (100, 20)]
    for number, name in enumerate([*names, "other"]):
        about = {"model": name, "revision": f"r{number}"}
        write_records(tmp_path, make_records([4, 9], seed=number, **about))
    larger = {"model": "a/checkpoint-50", "revision": "larger", "S": 2000}
    write_records(tmp_path, make_records([4, 9], **larger))

    said: list[str] = []
    found = load_summaries(tmp_path, checkpoint="last", say=said.append)
    last = {"a/checkpoint-100", "b/checkpoint-100", "a/checkpoint-50", "other"}
    assert {one.manifest.model for one in found} == last
    assert "left out: a/checkpoint-20, b/checkpoint-20." in said[0] and len(said) == 1
    asked = load_summaries(tmp_path, model=["other", "a/checkpoint-20"])
    assert {one.manifest.model for one in asked} == {"other", "a/checkpoint-20"}
    refused("no model 'othr' was measured", load_summaries, tmp_path, model=["other", "othr"])
    refused("models: no setting", load_summaries, tmp_path, models="other")


def test_a_family_of_the_models_whose_names_fit(tmp_path):
    for name in ("a/small", "a/large", "b/small", "c"):
        about = {"model": name, "revision": name, "family": "Pythia"}
        write_records(tmp_path, make_records([4, 9], **about))

    def families(*asked):
        found = load_summaries(tmp_path, family=asked)
        return {one.manifest.model: one.manifest.family for one in found}

    assert families("mine=a/*") == {"a/small": "mine", "a/large": "mine"}
    both = families("mine=*/small", "theirs=b/*", "Pythia")
    assert both == {"a/small": "mine", "a/large": "Pythia", "b/small": "theirs", "c": "Pythia"}
    refused("no family 'mine' was measured; there are Pythia", families, "mine=d*")


# A full disk: nothing that was done is lost --------------------------------------------------


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs (root)")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk, pages: int) -> None:
    """Leave so many pages of room."""
    (disk / "filler").write_bytes(bytes(shutil.disk_usage(disk).free - 4096 * pages))


def test_a_full_disk_costs_nothing_that_was_done(disk):
    """From no room at all to enough: the earlier result stays, or the new one is there."""
    earlier = make_records([300] * 6)
    other = make_records([250] * 8, seed=5, batch_tokens=2)
    written = []
    for pages in range(16):
        folder = write_records(disk, earlier).parent
        fill(disk, pages)
        before = content(folder)
        try:
            write_records(disk, other)
            assert find_done(disk, other.manifest.key).manifest == other.manifest
            written.append(True)
        except OSError as error:
            assert error.strerror == "No space left on device"
            assert content(folder) == before
            written.append(False)
        (disk / "filler").unlink()
    assert written == sorted(written) and not written[0] and written[-1]
