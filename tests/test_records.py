"""Records and summaries: counted by plain loops, written and read back, and broken on purpose."""

import dataclasses
import json
import math
import os
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import content, edit_json
from made_summaries import VERSIONS, make_manifest

from rbpkit import records as records_module
from rbpkit.errors import InputError
from rbpkit.files.columns import NLL_TOLERANCE
from rbpkit.files.manifest import FORMAT
from rbpkit.files.recordfiles import find_done, find_stale, iter_manifests, record_stem, slug
from rbpkit.records import Records, load_summaries, summarise, summary_of, write_records
from rbpkit.summary import K_GRID, WINDOWS, Summary, SummaryBuilder


def make_records(lengths, V=60, seed=0, gaps=True, **changes) -> Records:
    """Random records with ties; documents of these lengths, some numbers and positions left out.

    Of format 2 unless `changes` says 1, which has neither p_max nor entropy.
    """
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    T = int(lengths.sum())
    step = rng.integers(1, 3, lengths.size) if gaps else np.ones(lengths.size, int)
    document = np.repeat(np.cumsum(step) - 1, lengths)
    jump = 1 + (rng.random(T) < 0.03) * (np.repeat(lengths, lengths) < 200) * gaps
    position = np.concatenate([np.cumsum(jump[end - n : end]) for n, end in
                               zip(lengths, np.cumsum(lengths), strict=True)])  # fmt: skip
    rank = np.minimum(np.exp(np.abs(rng.normal(0, 1.5, T))).astype(int), V)
    n_equal = rng.integers(0, np.where(rng.random(T) < 0.3, rank, 1))
    columns = [document, position, rng.integers(0, V, T), rank - 1 - n_equal, n_equal]
    first, most = rank - 1 == n_equal, np.log(V)
    nll = np.log(rank) + rng.exponential(1, T)
    nll = np.where(first, np.minimum(nll, most), nll)  # nothing is likelier: p(t) >= 1 / V
    least = np.where(first, nll, np.minimum(nll, most) * rng.random(T))  # -log p_max
    entropy = least + (most - least) * rng.random(T)
    floats = [one.astype(np.float32) for one in (nll, np.exp(-least), entropy)]
    documents = int(document[-1]) + 1
    manifest = make_manifest(V=V, tokens=T, **{"documents": documents} | changes)
    prediction = floats[1:] if manifest.format > 1 else []
    columns = [column.astype(np.int32) for column in columns]
    return Records(*columns, floats[0], manifest, *prediction)


@pytest.fixture(scope="module")
def many() -> Records:
    lengths = np.random.default_rng(1).integers(1, 12, 200)
    lengths[[3, 90]] = 130, 600  # so that every N of WINDOWS has a window
    return make_records(lengths)


@pytest.fixture
def few() -> Records:
    return make_records([5, 1, 2, 9])


OTHER = make_records([4, 9], seed=5, dtype="float16")
"""Another job of the same model and corpus."""


def naive_windows(records: Records, N: int) -> list[int]:
    """The largest rank of each window, by loops over documents and tokens."""
    largest = []
    rows = list(zip(records.document, records.position, records.n_greater, records.n_equal,
                    strict=True))  # fmt: skip
    for first in range(len(rows)):
        ranks = []
        for offset, (document, position, greater, equal) in enumerate(rows[first : first + N]):
            if document != rows[first][0] or position != rows[first][1] + offset:
                break
            ranks.append(int(greater) + int(equal) + 1)
        if len(ranks) == N:
            largest.append(max(ranks))
    return largest


def same(one: Records, other: Records) -> bool:
    return all(np.array_equal(one.columns()[c], other.columns()[c]) for c in one.columns())


# What records and summaries say -------------------------------------------------------------


def test_counts_by_plain_loops(many):
    summary = many.summary()
    ks = np.arange(1, 61)
    ranks = [int(g) + int(e) + 1 for g, e in zip(many.n_greater, many.n_equal, strict=True)]
    naive = [sum(rank <= k for rank in ranks) / len(ranks) for k in ks]
    optimistic = [sum(int(g) + 1 <= k for g in many.n_greater) / len(ranks) for k in ks]
    assert naive != optimistic  # there are ties, so the rule is tested
    for measured in (many, summary):
        assert measured.tokens == len(ranks)
        assert measured.rbp(ks).tolist() == naive
        assert [measured.rbp(int(k)) for k in ks] == naive
        assert measured.rbp(ks, ties="optimistic").tolist() == optimistic
        assert measured.ce() == pytest.approx(math.fsum(many.nll) / len(ranks), rel=1e-14)
    assert many.rank().tolist() == ranks
    assert summary.ce() == many.ce()
    assert summary.p_max() == pytest.approx(many.p_max.mean(dtype=np.float64), rel=1e-12)
    assert summary.entropy() == pytest.approx(many.entropy.mean(dtype=np.float64), rel=1e-12)


@pytest.mark.parametrize("N", [*WINDOWS, 3, 4, 7, 8, 31, 64])
def test_windows_by_plain_loops(many, N):
    largest, summary = naive_windows(many, N), many.summary()
    ks = np.arange(1, 61)
    naive = [sum(one <= k for one in largest) / len(largest) for k in ks]
    assert many.success(N, ks).tolist() == naive and many.success(N, 7) == naive[6]
    if N in WINDOWS:
        assert summary.windows[N].total == len(largest)
        assert summary.success(N, ks).tolist() == naive and summary.success(N, 7) == naive[6]
    else:
        with pytest.raises(InputError, match=f"N = {N} is not in a summary"):
            summary.success(N, 9)


def test_hits_of_each_document(many):
    summary = many.summary()
    assert summary.k_grid.tolist() == [k for k in K_GRID if k < 60]
    assert summary.document.tolist() == sorted(set(many.document.tolist()))
    for row, document in enumerate(summary.document):
        mine = many.document == document
        ranks, nll = many.rank()[mine], many.nll[mine].astype(np.float64)
        assert summary.document_tokens[row] == mine.sum()
        assert summary.document_nll[row] == pytest.approx(nll.sum(), rel=1e-14)
        for name in ("p_max", "entropy"):
            expected = getattr(many, name)[mine].sum(dtype=np.float64)
            assert getattr(summary, f"document_{name}")[row] == pytest.approx(expected, rel=1e-14)
        assert summary.document_hits[row].tolist() == [(ranks <= k).sum() for k in summary.k_grid]


def test_format_1_is_still_read(tmp_path):
    """Records without p_max and entropy: the same summary but for these two."""
    old = make_records([5, 1, 2, 9, 130], format=1)
    assert old.p_max is None and list(old.columns())[-1] == "nll"
    path = write_records(tmp_path, old).path
    assert pq.read_schema(path).names == list(old.columns())
    assert same(Records.load(path), old)
    for one in (summarise(path), *load_summaries(tmp_path)):
        assert one.p_max() is one.entropy() is one.document_p_max is None
        assert one.rbp(3) == old.rbp(3)
    newer = make_records([5, 1, 2, 9, 130])
    assert find_stale(tmp_path, newer.manifest) == {"format": (1, 2)}
    assert find_done(tmp_path, newer.manifest) is None


def test_pieces_change_nothing(many, tmp_path, monkeypatch):
    whole = many.summary().to_bytes()
    file = write_records(tmp_path, many)
    finished = Records.load(file.path).summary().to_bytes()
    for piece in (1, 7, 64, 601):
        monkeypatch.setattr(records_module, "PIECE", piece)
        assert many.summary().to_bytes() == whole
        assert summarise(file.path).to_bytes() == finished


def test_vocabulary_of_one():
    records = make_records([3], V=1)
    assert (records.rbp(1), records.summary().rbp(1)) == (1.0, 1.0)
    assert records.summary().document_hits.shape == (1, 0)


@pytest.mark.parametrize("k", [0, -3, 1.5, "1", np.array([3, 0]), True])
def test_k_is_a_whole_number_from_1(few, k):
    for measured in (few, few.summary()):
        with pytest.raises(InputError, match="k must be"):
            measured.rbp(k)
        with pytest.raises(InputError, match="k must be"):
            measured.success(2, k)


def test_windows_that_cannot_be(few):
    for measured in (few, few.summary()):
        with pytest.raises(InputError, match=r"no document of .* has 20 consecutive"):
            measured.success(20, 1)
        with pytest.raises(InputError, match="N"):
            measured.success(0, 1)
        with pytest.raises(InputError, match=r"ties must be .* got 'mean'"):
            measured.rbp(1, ties="mean")
    with pytest.raises(InputError, match="ties must be"):
        few.rank("mean")


# What records refuse --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("document", 0, -1, "document outside"),
        ("document", 16, 10**6, "document outside"),
        ("document", 8, 4, "out of order"),
        ("position", 0, 0, "position below 1"),
        ("position", 3, 1, "position does not rise"),
        ("target", 2, 60, "target outside"),
        ("target", 2, -1, "target outside"),
        ("n_greater", 2, -1, "negative count"),
        ("n_equal", 2, -1, "negative count"),
        ("n_greater", 2, 60, "rank above V"),
        ("n_equal", 2, 2**31 - 1, "rank above V"),
        ("nll", 2, np.nan, "nll not a finite"),
        ("nll", 2, np.inf, "nll not a finite"),
        ("nll", 2, -1e-6, "nll not a finite"),
        ("p_max", 2, 0, "p_max outside"),
        ("p_max", 2, np.nan, "p_max outside"),
        ("p_max", 2, 1.01, "p_max outside"),
        ("entropy", 2, np.nan, "entropy below"),
        ("entropy", 2, -0.1, "entropy below"),
        ("entropy", 2, 4.2, "entropy below"),
    ],
)
def test_impossible_values(few, column, row, value, message):
    changed = few.columns()[column].copy()
    changed[row] = value
    with pytest.raises(InputError, match=f"{message}.* row {row} "):
        dataclasses.replace(few, **{column: changed})


def test_nll_is_at_least_the_log_of_the_rank():
    """Equality is reached when all are tied: V = 60, every logit 0, nll = ln 60."""
    n_equal, zero = np.array([59], np.int32), np.zeros(1, np.int32)
    one, manifest = np.ones(1, np.int32), make_manifest(tokens=1, format=1)
    exact = math.log(60)
    for nll in (exact, exact - 1e-4):  # float32 rounding of large logits
        Records(zero, one, zero, zero, n_equal, np.array([nll], np.float32), manifest)
    with pytest.raises(InputError, match="nll below ln R"):
        low = np.array([exact - 1e-3], np.float32)
        Records(zero, one, zero, zero, n_equal, low, manifest)


def test_p_max_is_that_of_the_rank(few):
    """p(t) is p_max where nothing is ahead of the target, and not above it elsewhere."""
    first, other = int(np.argmin(few.n_greater)), int(np.argmax(few.n_greater))
    for row, factor, message in (
        (first, 1.1, "p_max is not p"),
        (first, 0.9, "p_max below p"),
        (other, 0.9 * np.exp(-few.nll[other]) / few.p_max[other], "p_max below p"),
    ):
        p_max = few.p_max.copy()
        p_max[row] *= factor
        with pytest.raises(InputError, match=f"{message}.* row {row} "):
            dataclasses.replace(few, p_max=p_max)


def test_tolerance_covers_float32_rounding():
    """A float32 model of V tied logits as large as any seen stays within the tolerance."""
    V = 50304
    worst = 0.0
    for level in (-1000.0, -100.0, 0.0, 300.0, 1000.0):
        z = np.full(V, level, np.float32)
        total = np.exp(z - z[0]).sum(dtype=np.float32)
        nll = float(np.float32(z[0] + np.log(total)) - z[0])
        worst = max(worst, math.log(V) - nll)
    assert 0 < worst < NLL_TOLERANCE


def test_types_and_lengths(few):
    with pytest.raises(InputError, match="nll must be a flat array of float32"):
        dataclasses.replace(few, nll=few.nll.astype(np.float64))
    with pytest.raises(InputError, match="target must be a flat array of int32"):
        dataclasses.replace(few, target=few.target.astype(np.int64))
    with pytest.raises(InputError, match="17 tokens in the manifest"):
        dataclasses.replace(few, target=few.target[:-1])
    empty = {name: array[:0] for name, array in few.columns().items()}
    with pytest.raises(InputError, match="0 tokens in the manifest"):
        Records(**empty, manifest=make_manifest(tokens=0))
    with pytest.raises(ValueError, match="read-only"):
        few.nll[0] = 0


@pytest.mark.parametrize(
    "changes",
    # A summary makes arrays of V: one that claims a V of 10^12 must not fill the memory.
    [{"S": 0}, {"V": "60"}, {"V": 60.0}, {"V": True}, {"V": 10**12}, {"model": ""},
     {"seconds": math.nan},
     {"tokens": -1}, {"versions": {"torch": "2"}}, {"versions": []}, {"family": None}],
)  # fmt: skip
def test_manifest_of_the_wrong_kind(changes):
    with pytest.raises(InputError, match=f"manifest: {next(iter(changes))} must"):
        make_manifest(**changes)


def test_key_leaves_out_what_changes_no_number():
    """What changes them is tried setting by setting in `robustness/test_faults.py`."""
    base = make_manifest(device="cuda:0")
    free = {"seconds": 3.0, "sha256": "x", "tokens": 5, "device": "cuda:1", "skipped_documents": 3}
    assert dataclasses.replace(base, **free).key() == base.key()
    other = dataclasses.replace(base, versions=VERSIONS | {"ranks": "compiled"})
    assert base.differences(other) == {"ranks": ("torch", "compiled")}
    assert make_manifest(V=np.int64(60)).to_json() == make_manifest().to_json()


# Files ----------------------------------------------------------------------------------------


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


FINISHED = [
    ".lock",
    "org+model-1.5b.json",
    "org+model-1.5b.parquet",
    "org+model-1.5b.summary.npz",
]


def test_round_trip(many, tmp_path):
    file = write_records(tmp_path, many)
    assert file.path == tmp_path / "Wiki" / "org+model-1.5b.parquet"
    assert names(tmp_path) == FINISHED
    stem = record_stem(tmp_path, many.manifest)
    for path in (file.path, stem, str(stem) + ".json"):
        loaded = Records.load(path)
        assert same(loaded, many)
        assert loaded.manifest == file.manifest
    assert dataclasses.replace(file.manifest, sha256="") == many.manifest
    (summary,) = load_summaries(tmp_path)
    assert summary.manifest == file.manifest
    assert summary.to_bytes() == loaded.summary().to_bytes()
    assert list(iter_manifests(tmp_path)) == [file]


def test_what_a_kill_left_of_a_failures_note_goes_with_the_next_write(few, tmp_path):
    stem = record_stem(tmp_path, few.manifest)
    stem.parent.mkdir()
    left = stem.parent / f"..{stem.name}.failed.json.0a1b2c3d.tmp"
    left.write_text("half a no")
    write_records(tmp_path, few)
    assert not left.exists() and names(tmp_path) == FINISHED


def test_same_content_same_bytes(many, tmp_path):
    one, two = (write_records(tmp_path / name, many).path for name in "ab")
    for suffix in (".parquet", ".json", ".summary.npz"):
        a, b = (path.with_name(path.stem + suffix).read_bytes() for path in (one, two))
        assert a == b
    slower = dataclasses.replace(many, manifest=dataclasses.replace(many.manifest, seconds=9.0))
    again = write_records(tmp_path / "c", slower).path
    assert again.read_bytes() == one.read_bytes()  # timings stay out of the records


def test_a_fresh_job_is_read_once_and_summed_up_once(many, tmp_path, monkeypatch):
    calls = []

    def counted(owner, name):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **o: calls.append(name) or real(*a, **o))

    for owner, name in ((pq, "read_table"), (pq, "ParquetFile"), (SummaryBuilder, "finish")):
        counted(owner, name)
    counted(records_module, "check_columns")
    summary = summary_of(write_records(tmp_path, many))
    assert sorted(calls) == ["finish", "read_table"]
    done = find_done(tmp_path, many.manifest)
    assert summary_of(done).to_bytes() == summary.to_bytes()
    assert sorted(calls) == ["finish", "read_table"]  # a finished job: its bytes, its .npz


@pytest.mark.parametrize("content", [None, b"", b"PK half", "earlier"])
def test_a_summary_that_is_not_of_these_records_is_made_anew(few, tmp_path, content):
    file = write_records(tmp_path, few)
    path = file.path.with_name(file.path.stem + ".summary.npz")
    written = path.read_bytes()
    path.unlink()
    if content == "earlier":
        content = summary_of(write_records(tmp_path / "b", OTHER)).to_bytes()
    if content is not None:
        path.write_bytes(content)
    assert summary_of(find_done(tmp_path, few.manifest)).to_bytes() == written


@pytest.mark.parametrize("place", [4, 200, -40])
def test_a_disk_that_changes_what_is_written_is_noticed(few, tmp_path, monkeypatch, place):
    file = write_records(tmp_path, few)
    real = os.fsync

    def rot(handle):
        real(handle)
        for path in file.path.parent.glob(".*.parquet.*.tmp"):
            data = bytearray(path.read_bytes())
            data[place] ^= 0x10
            path.write_bytes(data)

    monkeypatch.setattr(os, "fsync", rot)
    with pytest.raises(OSError, match="what was read back is not what was written"):
        write_records(tmp_path, OTHER)
    assert same(Records.load(file.path), few) and names(tmp_path) == FINISHED


def test_done_is_told_by_the_key(few, tmp_path):
    asked = dataclasses.replace(few.manifest, tokens=0)
    assert find_done(tmp_path, asked) is None
    assert find_stale(tmp_path, asked) == {}
    file = write_records(tmp_path, few)
    assert find_done(tmp_path, asked) == file
    assert find_stale(tmp_path, asked) == {}
    other = dataclasses.replace(asked, dtype="bfloat16", max_length=256)
    assert find_done(tmp_path, other) is None
    expected = {"max_length": (512, 256), "dtype": ("float32", "bfloat16")}
    assert find_stale(tmp_path, other) == expected
    assert find_done(tmp_path, dataclasses.replace(asked, model="org/other")) is None


def test_only_the_manifest_says_done(few, tmp_path):
    file = write_records(tmp_path, few)
    file.path.with_suffix(".json").unlink()
    assert find_done(tmp_path, few.manifest) is None
    assert list(iter_manifests(tmp_path)) == []
    for read in (Records.load, summarise):
        with pytest.raises(InputError, match=r"model-1\.5b\.json: no such manifest"):
            read(file.path)
    write_records(tmp_path, few)
    file.path.unlink()
    assert find_done(tmp_path, few.manifest) is None
    assert list(iter_manifests(tmp_path)) == []
    with pytest.raises(InputError, match=r"parquet: missing.*measure again"):
        Records.load(file.path)


@pytest.mark.parametrize("cut", [0, 3, 0.5, -1, None])
def test_flipped_bits_and_cut_ends(many, tmp_path, cut):
    path = write_records(tmp_path, many).path
    good = path.read_bytes()
    if cut is None:
        offsets = np.linspace(0, len(good) - 1, 12, dtype=int)
        bad = [good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :] for at in offsets]
    else:
        bad = [good[: int(cut * len(good)) if 0 < cut < 1 else cut]]
    for data in bad:
        path.write_bytes(data)
        for read in (Records.load, summarise):
            with pytest.raises(InputError, match=r"parquet: damaged .*delete it and measure"):
                read(path)
        with pytest.raises(InputError, match="damaged"):
            find_done(tmp_path, many.manifest)


def test_page_checksums(many, tmp_path):
    """The pages carry their own checksums, so that another reader finds the rot as well."""
    path = write_records(tmp_path, many).path
    column = pq.read_metadata(path).row_group(0).column(5)
    data = bytearray(path.read_bytes())
    data[column.data_page_offset + column.total_compressed_size - 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(path, page_checksum_verification=True)


@pytest.mark.parametrize(
    "changes",
    [{"S": 1001}, {"V": 59}, {"model": "org/better"}, {"family": "GPT2"}, {"tokens": 16},
     {"documents": 501}, {"dtype": "float16"}, {"sha256": "0" * 64}, {"format": FORMAT + 1},
     {"S": "many"}, {"extra": 1}, {"versions": VERSIONS | {"torch": "3"}}],
)  # fmt: skip
def test_edited_manifest(few, tmp_path, changes):
    path = write_records(tmp_path, few).path
    edit_json(path.with_suffix(".json"), **changes)
    for read in (Records.load, summarise, lambda _: load_summaries(tmp_path)):
        with pytest.raises(InputError, match=r"model-1\.5b\.(json|parquet)"):
            read(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"format": 1}', "\x00", "[" * 9999])
def test_manifest_that_is_none(few, tmp_path, text):
    path = write_records(tmp_path, few).path
    path.with_suffix(".json").write_text(text)
    for read in (Records.load, lambda _: find_done(tmp_path, few.manifest)):
        with pytest.raises(InputError, match=r"model-1\.5b\.json: .*measure again"):
            read(path)


def test_disorder_between_pieces(few, tmp_path, monkeypatch):
    """Right in each piece and wrong between two: found by reading in pieces too."""
    document = few.document.copy()
    document[:5], document[5:6] = few.document[5], few.document[0]
    with monkeypatch.context() as unchecked:
        unchecked.setattr(records_module, "check_columns", lambda *_: None)
        path = write_records(tmp_path, dataclasses.replace(few, document=document)).path
    monkeypatch.setattr(records_module, "PIECE", 2)
    for read in (Records.load, summarise):
        with pytest.raises(InputError, match=r"damaged .*out of order"):
            read(path)


def test_another_job_s_records_under_a_manifest(few, tmp_path):
    """A right sha256 over wrong content: the manifest belongs to other records."""
    path = write_records(tmp_path, few).path
    other = write_records(tmp_path / "b", make_records([5, 1, 2, 9], seed=3, revision="new")).path
    digest = json.loads(other.with_suffix(".json").read_text())["sha256"]
    path.write_bytes(other.read_bytes())
    edit_json(path.with_suffix(".json"), sha256=digest)
    with pytest.raises(InputError, match="its manifest was edited"):
        Records.load(path)


class Crash(Exception):
    pass


def crash_at(monkeypatch, name: str, call: int) -> None:
    """Let the `call`-th os.<name> fail, and only that one."""
    real, calls = getattr(os, name), []

    def replaced(*arguments, **options):
        calls.append(arguments)
        if len(calls) == call:
            raise Crash
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, replaced)


STEPS = [("fsync", 1), ("fsync", 2), ("replace", 1), ("replace", 2)]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("name", "call"), STEPS)
def test_crash_leaves_the_earlier_result_or_nothing(few, tmp_path, monkeypatch, name, call, first):
    file = None if first else write_records(tmp_path, few)
    before = content(tmp_path)
    crash_at(monkeypatch, name, call)
    with pytest.raises(Crash):
        write_records(tmp_path, OTHER)
    monkeypatch.undo()
    assert content(tmp_path) == before
    assert first or same(Records.load(file.path), few)


def test_crash_in_the_summary_leaves_a_finished_job(few, tmp_path, monkeypatch):
    write_records(tmp_path, OTHER)
    crash_at(monkeypatch, "replace", 3)
    with pytest.raises(Crash):
        write_records(tmp_path, few)
    monkeypatch.undo()
    assert names(tmp_path) == FINISHED  # the summary being the earlier one
    job = find_done(tmp_path, few.manifest)
    assert job is not None
    (summary,) = load_summaries(tmp_path)
    assert summary.manifest == job.manifest
    assert summarise(job.path, write=True).to_bytes() == summary.to_bytes()
    assert job.path.with_suffix(".summary.npz").read_bytes() == summary.to_bytes()


@pytest.mark.parametrize(("name", "call"), [("fsync", 2), ("replace", 1), ("replace", 2)])
def test_killed_writer(few, tmp_path, name, call):
    """SIGKILL at each step: the earlier result is read; the next write tidies up."""
    file = write_records(tmp_path, few)
    pid = os.fork()
    if pid == 0:  # the child dies as by kill -9: nothing of Python's runs
        real, calls = getattr(os, name), []

        def die(*arguments, **options):
            calls.append(1)
            if len(calls) == call:
                os.kill(os.getpid(), 9)
            return real(*arguments, **options)

        setattr(os, name, die)
        write_records(tmp_path, OTHER)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    assert same(Records.load(file.path), few)
    assert find_done(tmp_path, few.manifest).manifest == file.manifest
    assert find_done(tmp_path, OTHER.manifest) is None
    write_records(tmp_path, OTHER)
    assert names(tmp_path) == FINISHED
    assert same(Records.load(file.path), OTHER)


def test_slug_stays_in_its_folder_and_is_one_to_one(tmp_path):
    ids = [
        "gpt2", "EleutherAI/pythia-14m", "EleutherAI+pythia-14m", "Qwen/Qwen2.5-0.5B", "..", ".",
        "../../etc/passwd", "/abs/path", "a//b", "a\\b", "a\x00b", "a b", "a%2Fb", "a/b", "ä/ö",
        "x" * 300, "x" * 299 + "y", ".hidden", "-rf", "a\nb", "a.json", "a.parquet", "\ud800",
        "%2E.", "con:x", "*", "[a]", "~",
    ]  # fmt: skip
    slugs = [slug(name) for name in ids]
    assert len(set(slugs)) == len(ids)
    for text in slugs:
        path = tmp_path / (text + ".parquet")
        path.write_bytes(b"")  # a name that the file system takes
        assert path.resolve().parent == tmp_path.resolve()
        assert not text.startswith(".")
    assert slug("Qwen/Qwen2.5-0.5B") == "Qwen+Qwen2.5-0.5B"
    with pytest.raises(InputError, match="without a name"):
        slug("")


@pytest.mark.parametrize(
    "name", [*"../../evil /etc/evil .. a/../../b ~/evil a\\b a.json a.b/c.d".split(), "x" * 300]
)
def test_any_id_is_written_and_found(few, tmp_path, name):
    manifest = dataclasses.replace(few.manifest, model=name, corpus=name)
    file = write_records(tmp_path / "out", dataclasses.replace(few, manifest=manifest))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert find_done(tmp_path / "out", manifest) == file
    assert [summary.manifest for summary in load_summaries(tmp_path)] == [file.manifest]
    assert same(Records.load(file.path), few)


# Summary files --------------------------------------------------------------------------------


def test_summary_round_trip(many):
    summary = many.summary()
    data = summary.to_bytes()
    back = Summary.from_bytes(data)
    assert back.to_bytes() == data
    assert back.manifest == summary.manifest
    ks = np.arange(1, 61)
    for N in WINDOWS:
        assert np.array_equal(back.success(N, ks), many.success(N, ks))
    for ties in ("pessimistic", "optimistic"):
        assert np.array_equal(back.rbp(ks, ties), many.rbp(ks, ties))
    assert back.ce() == many.ce()
    names = ("document", "document_tokens", "document_nll", "k_grid", "document_hits")
    for name in (*names, "document_p_max", "document_entropy"):
        one, two = getattr(back, name), getattr(summary, name)
        assert np.array_equal(one, two)
        assert one.dtype == two.dtype


def test_damaged_summary(few):
    """Any flipped bit is an error, or in bytes that hold nothing of the content."""
    data = few.summary().to_bytes()
    refused = 0
    for offset in np.random.default_rng(0).integers(0, len(data), 250):
        bad = bytearray(data)
        bad[offset] ^= 1 << (offset % 8)
        try:
            summary = Summary.from_bytes(bytes(bad), "here.npz")
        except InputError as error:
            assert str(error).startswith("here.npz: ")
            refused += 1
        else:
            assert summary.to_bytes() == data
    assert refused > 120
    for end in (0, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(InputError, match=r"here\.npz: damaged"):
            Summary.from_bytes(data[:end], "here.npz")


def test_no_pickle_is_read(tmp_path):
    path = tmp_path / "evil.summary.npz"
    np.savez(path, manifest=np.array([print], dtype=object))
    with pytest.raises(InputError, match=r"evil\.summary\.npz: damaged"):
        load_summaries(tmp_path)


def test_summary_that_contradicts_itself(few):
    summary = few.summary()
    hits = summary.document_hits.copy()
    hits[0, 0] += 1
    for changes in (
        {"document_hits": hits},
        {"document_tokens": summary.document_tokens + 1},
        {"manifest": dataclasses.replace(summary.manifest, tokens=18)},
        {"manifest": dataclasses.replace(summary.manifest, V=2)},
    ):
        with pytest.raises(InputError, match="contradict"):
            dataclasses.replace(summary, **changes)


def test_load_summaries(few, many, tmp_path):
    write_records(tmp_path, few)
    other = dataclasses.replace(many, manifest=dataclasses.replace(many.manifest, corpus="Arxiv"))
    file = write_records(tmp_path, other)
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    # The Parquet file and the manifest stay behind; the summary speaks for itself.
    (tmp_path / "Wiki" / FINISHED[3]).rename(shipped / FINISHED[3])
    file.path.with_suffix(".summary.npz").unlink()
    found = load_summaries(tmp_path)
    assert [one.manifest.corpus for one in found] == ["Arxiv", "Wiki", "Wiki"]
    assert [one.tokens for one in found] == [many.tokens, few.tokens, few.tokens]
    assert len(load_summaries(shipped)) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: no records or summaries"):
        load_summaries(tmp_path / "empty")
    with pytest.raises(InputError, match="nowhere: no such folder"):
        load_summaries(tmp_path / "nowhere")


def test_a_summary_whose_records_were_deleted(few, tmp_path):
    """As one does after "damaged ...; delete it and measure again", and then forgets the rest."""
    path = write_records(tmp_path, few).path
    path.unlink()
    with pytest.raises(InputError, match=r"1\.5b\.parquet: missing.*measure again, or delete"):
        load_summaries(tmp_path)
    write_records(tmp_path, few)  # measured again
    assert len(load_summaries(tmp_path)) == 1
    path.unlink()
    path.with_suffix(".json").unlink()  # as shipped: it stands alone
    assert len(load_summaries(tmp_path)) == 1


def test_a_million_tokens(tmp_path):
    """The size of a paper point: 1,000 documents, V = 50,304, twice the paper's tokens."""
    records = make_records([1000] * 1000, V=50304, gaps=False)
    start = time.perf_counter()
    summary = records.summary()
    assert time.perf_counter() - start < 3
    assert len(summary.to_bytes()) < 150_000
    for N in (1, 20, 500):
        assert summary.windows[N].total == 1000 * (1001 - N)
