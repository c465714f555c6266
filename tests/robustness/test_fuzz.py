"""Random input, made to be nearly right: refused in one line, or read for what it is.

Each test runs a few hundred cases, the same ones each time; marked slow, thousands of new ones.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from test_records import make_manifest, make_records, same

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.files.recordfiles import find_done, record_stem
from rbpkit.records import Records, load_summaries, summarise, write_records
from rbpkit.study.params import Params, load_params
from rbpkit.summary import Histogram, Summary

ROOT = Path(__file__).resolve().parents[2]


def cases(fast: int, slow: int):
    """Run a test with so many cases, and marked slow with so many more."""
    return pytest.mark.parametrize("cases", [fast, pytest.param(slow, marks=pytest.mark.slow)])


def fuzz(cases: int, check: Callable, *strategies: st.SearchStrategy) -> None:
    """`check` on this many examples; with few, the same ones each time."""
    count = []

    def counted(*arguments: object) -> None:
        count.append(1)
        check(*arguments)

    options = settings(
        max_examples=cases,
        deadline=None,
        derandomize=cases < 1000,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    options(given(st.tuples(*strategies))(lambda drawn: counted(*drawn)))()
    assert len(count) >= 0.9 * cases, f"only {len(count)} of {cases} cases"


def taken(path: Path, read: Callable[[Path], Any]) -> Any:
    """What is read of the file, or None where it is refused in one line that names it."""
    try:
        return read(path)
    except InputError as error:
        assert path.name in str(error) and "\n" not in str(error), str(error)
        return None


def documents_of(path: Path) -> Corpus:
    return load_corpus(path, documents=0, seed=None)


# Changes of bytes: flip one, cut a piece out, put some in, cut the end off.
MUTATIONS = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert", "end"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 255),
    ),
    min_size=1,
    max_size=3,
)


def mutated(data: bytes, mutations: list[tuple[str, float, int]]) -> bytes:
    for what, where, value in mutations:
        at = int(where * len(data))
        if what == "flip" and data:
            data = data[:at] + bytes([data[at] ^ value]) + data[at + 1 :]
        elif what == "cut":
            data = data[:at] + data[at + value % 40 + 1 :]
        elif what == "insert":
            data = data[:at] + bytes([value]) * (value % 7 + 1) + data[at:]
        elif what == "end":
            data = data[:at]
    return data


# -- parameter files -------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 10**6)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["float32", "hub", "pocket", "Pythia", "pocket:qa", "cpu", "1e-3", "no"])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS)
KEYS = st.sampled_from([*Params.model_fields, "max_lenght", "k", "figures", "pd"]) | st.text()
GOOD = {"source": "pocket", "families": ["Pythia"], "corpus_names": ["pocket:qa"]}


@cases(150, 1000)
def test_params_mean_what_is_written_or_are_refused(cases, tmp_path):
    """A file that is taken has only known keys, each with the very value that was written."""
    path = tmp_path / "study.yaml"

    def check(changes: dict) -> None:
        values = GOOD | changes
        text = yaml.safe_dump(values, allow_unicode=True, sort_keys=False)
        if repr(yaml.safe_load(text)) != repr(values):
            return  # PyYAML writes some line breaks (U+0085) as others
        path.write_text(text, encoding="utf-8")
        params = taken(path, load_params)
        if params is None:
            return
        for key, value in values.items():
            there = getattr(params, key)
            there = list(there) if isinstance(there, tuple) else there
            assert type(there) is type(value) and there == value
        assert set(values) <= set(Params.model_fields)

    fuzz(cases, check, st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))


@cases(150, 2000)
def test_broken_params_are_one_line(cases, tmp_path):
    path = tmp_path / "study.yaml"
    shipped = [file.read_bytes() for file in sorted((ROOT / "params").glob("*.yaml"))]

    def check(data: bytes, mutations: list) -> None:
        path.write_bytes(mutated(data, mutations))
        taken(path, load_params)

    fuzz(cases, check, st.sampled_from(shipped) | st.binary(max_size=60), MUTATIONS)


# -- corpora ---------------------------------------------------------------------------------

TEXTS = st.text(max_size=20)
BAD_LINES = st.sampled_from(
    [
        *(b"{", b"[]", b"nul", b'"text"', b'{"text": 1}', b'{"text": null}', b'{"body": "x"}'),
        *(b'{"text": "a"} x', b'{"text": "\xff"}', b"\xfe", b'{"text": "\\ud800"}', b"[" * 9999),
    ]
)
LINES = st.lists(
    st.tuples(TEXTS, st.booleans()) | st.sampled_from([b"", b" ", b"\t"]) | BAD_LINES,
    max_size=6,
)


@cases(150, 2000)
def test_jsonl_gives_its_very_texts_or_is_refused(cases, tmp_path):
    def check(lines: list, end: bool, zipped: bool) -> None:
        data, texts, bad = [], [], False
        for line in lines:
            if isinstance(line, tuple):
                text, escaped = line
                data.append(json.dumps({"text": text}, ensure_ascii=escaped).encode())
                texts.append(text)
            else:
                data.append(line)
                bad |= bool(line.strip())
        content = b"\n".join(data) + b"\n" * end
        path = tmp_path / ("a.jsonl.gz" if zipped else "a.jsonl")
        path.write_bytes(gzip.compress(content, 1) if zipped else content)
        kept = tuple(text for text in texts if text.strip())
        corpus = taken(path, documents_of)
        if corpus is None:
            assert bad or not kept
        else:
            assert not bad and corpus.documents == kept
            assert corpus.source["empty"] == len(texts) - len(kept)

    fuzz(cases, check, LINES, st.booleans(), st.booleans())


@cases(100, 1500)
def test_broken_corpora_are_one_line(cases, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"text": f"line {i} of it"} for i in range(5)]
    jsonl = "".join(json.dumps(row) + "\n" for row in rows).encode()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "good.parquet")
    good = {
        "a.jsonl": jsonl,
        "b.jsonl.gz": gzip.compress(jsonl),
        "c.parquet": (tmp_path / "good.parquet").read_bytes(),
        "d.txt": "Ünïcödé, 漢字\n".encode(),
    }

    def check(name: str, mutations: list) -> None:
        data = mutated(good[name], mutations)
        (tmp_path / name).write_bytes(data)
        corpus = taken(tmp_path / name, documents_of)
        if corpus is None:
            return
        if name == "d.txt":
            assert corpus.documents == (data.decode().removeprefix("\ufeff"),)
        assert all(isinstance(one, str) and one.strip() for one in corpus.documents)

    fuzz(cases, check, st.sampled_from(sorted(good)), MUTATIONS)


# -- records ---------------------------------------------------------------------------------


def timeless(manifest):
    return dataclasses.replace(manifest, seconds=0.0, sha256="")


@cases(100, 1000)
def test_records_are_the_ones_written_or_refused(cases, tmp_path):
    """Whichever of the three files is broken: the same numbers, or an error that names it."""
    good = make_records([5, 1, 2, 9, 30])
    file = write_records(tmp_path, good)
    stem = record_stem(tmp_path, good.manifest)
    paths = [stem.parent / (stem.name + end) for end in (".parquet", ".json", ".summary.npz")]
    content = [path.read_bytes() for path in paths]
    expected = dataclasses.replace(good.summary(), manifest=timeless(file.manifest)).to_bytes()

    def agrees(summary: Summary) -> bool:
        same_manifest = dataclasses.replace(summary, manifest=timeless(summary.manifest))
        return same_manifest.to_bytes() == expected

    def check(which: int, mutations: list) -> None:
        data = mutated(content[which], mutations)
        paths[which].write_bytes(data)
        try:
            for read in (
                lambda _: same(Records.load(file.path), good),
                lambda _: timeless(Records.load(file.path).manifest) == timeless(file.manifest),
                lambda _: agrees(summarise(file.path)),
                lambda _: all(map(agrees, load_summaries(tmp_path))),
                lambda _: find_done(tmp_path, good.manifest) is None or data == content[which]
                or timeless(find_done(tmp_path, good.manifest).manifest) == timeless(file.manifest),
            ):  # fmt: skip
                assert taken(stem, read) is not False
        finally:
            paths[which].write_bytes(content[which])

    fuzz(cases, check, st.sampled_from([0, 1, 1, 2]), MUTATIONS)


COLUMNS = st.integers(1, 6).flatmap(
    lambda T: st.tuples(
        *(hnp.arrays(np.int32, T, elements=st.integers(-1, 4)) for _ in range(2)),
        *(hnp.arrays(np.int32, T, elements=st.integers(-1, 8)) for _ in range(3)),
        hnp.arrays(np.float32, T, elements=st.floats(-1, 9, width=32) | st.just(math.nan)),
    )
)


@cases(200, 2000)
def test_random_columns_are_taken_only_where_a_model_can_give_them(cases):
    V = 7

    def possible(document, position, target, greater, equal, nll) -> bool:
        before = (-1, 0)
        for d, p, t, g, e, loss in zip(
            document, position, target, greater, equal, nll, strict=True
        ):
            if not (0 <= d < 4 and p >= 1 and 0 <= t < V and g >= 0 and e >= 0 and g + e < V):
                return False
            if d < before[0] or (d == before[0] and p <= before[1]) or not loss >= 0:
                return False
            if loss < math.log(g + e + 1) - 2e-3:
                return False
            before = (d, p)
        return True

    def check(columns: tuple, tidy: bool) -> None:
        document, position, target, greater, equal, nll = columns
        if tidy:  # so that many are possible
            T = len(document)
            document, position = np.sort(abs(document) % 4), np.arange(1, T + 1, dtype=np.int32)
            target, greater, equal = abs(target) % V, abs(greater) % 4, abs(equal) % 3
            nll = np.nan_to_num(abs(nll)) + np.log(greater + equal + 1)
            nll = nll.astype(np.float32)
        columns = (document, position, target, greater, equal, nll)
        manifest = make_manifest(V=V, documents=4, tokens=len(nll), format=1)
        try:
            records = Records(*columns, manifest)
        except InputError:
            # Within the tolerance of float32 either is right.
            assert not possible(document, position, target, greater, equal, nll - 4e-3)
            assert not tidy
            return
        assert possible(*columns)
        rank = greater.astype(int) + equal + 1
        summary = records.summary()
        for k in range(1, V + 3):
            assert records.rbp(k) == summary.rbp(k) == np.mean(rank <= k)
            assert summary.rbp(k, "optimistic") == np.mean(greater + 1 <= k)
        assert records.ce() == pytest.approx(float(np.mean(nll, dtype=np.float64)), abs=1e-12)
        assert Summary.from_bytes(summary.to_bytes()).to_bytes() == summary.to_bytes()

    fuzz(cases, check, COLUMNS, st.booleans())


# -- summaries and histograms ----------------------------------------------------------------


@cases(200, 2000)
def test_a_changed_summary_is_refused_or_still_a_distribution(cases):
    """One part of a summary is changed: never a share out of [0, 1], falling, or a negative CE."""
    good = make_records([5, 1, 2, 9, 30]).summary()
    arrays = ("document", "document_tokens", "document_nll", "k_grid", "document_hits")
    arrays += ("document_p_max", "document_entropy")
    parts = (*arrays, "ranks", "ranks_optimistic", "windows", "manifest")

    def change(array: np.ndarray, where: float, by: float) -> np.ndarray:
        new = array.copy()
        with np.errstate(invalid="ignore"):  # NaN as an integer
            new.reshape(-1)[int(where * new.size)] += np.asarray(by).astype(new.dtype)
        return new

    def check(part: str, where: float, by: float, of_counts: bool, N: int) -> None:
        if part == "manifest":
            name = ["V", "tokens", "documents"][int(where * 3)]
            step = int(by) if abs(by) < 100 else 1  # a V of a billion would fill the memory here
            value = max(1, getattr(good.manifest, name) + step)
            changed = dataclasses.replace(good.manifest, **{name: value})
        elif part in arrays:
            changed = change(getattr(good, part), where, by)
        else:
            one = good.windows[N] if part == "windows" else getattr(good, part)
            values, counts = one.values, one.counts
            if of_counts:
                counts = change(counts, where, by)
            else:
                values = change(values, where, by)
            changed = Histogram(values, counts)
            if part == "windows":
                changed = {**good.windows, N: changed}
        try:
            summary = dataclasses.replace(good, **{part: changed})
        except InputError as error:
            assert "contradict" in str(error) or "k must be at least 1" in str(error)
            return
        V = summary.manifest.V
        for ties in ("pessimistic", "optimistic"):
            share = summary.rbp(np.arange(1, V + 1), ties)
            assert (np.diff(share) >= 0).all() and 0 <= share[0] and share[-1] == 1
        assert (summary.rbp(np.arange(1, V)) <= summary.rbp(np.arange(1, V), "optimistic")).all()
        assert summary.ce() >= float(np.log(summary.ranks.values) @ summary.ranks.counts
                                     / summary.tokens) - 2e-3  # fmt: skip
        for N, largest in summary.windows.items():
            if not largest.total:
                continue
            share = summary.success(N, np.arange(1, V + 1))
            assert (np.diff(share) >= 0).all() and 0 <= share[0] and share[-1] == 1
        assert Summary.from_bytes(summary.to_bytes()).ce() == summary.ce()

    fuzz(
        cases,
        check,
        st.sampled_from(parts),
        st.floats(0, 1, exclude_max=True),
        st.integers(-70, 70) | st.sampled_from([-1e9, 1e9, 0.5, math.nan, math.inf]),
        st.booleans(),
        st.sampled_from([1, 2, 5, 10, 20]),
    )


@cases(100, 2000)
def test_any_histogram_counts_as_a_loop_does(cases):
    def check(dense: np.ndarray) -> None:
        dense[0] = 0  # there is no rank 0
        histogram = Histogram.of(dense)
        ks = np.arange(1, dense.size + 2)
        at_most = [int(sum(dense[r] for r in range(1, min(k, dense.size - 1) + 1))) for k in ks]
        assert histogram.at_most(ks).tolist() == at_most
        assert histogram.total == dense.sum()
        for k in (0, -3, 1.0, True, "1", None, [0]):
            with pytest.raises(InputError):
                histogram.at_most(k)

    fuzz(cases, check, hnp.arrays(np.int64, st.integers(1, 30), elements=st.integers(0, 10**6)))
