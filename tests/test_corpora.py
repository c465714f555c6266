"""Corpora, encoding and batches: the authors' protocol to the token, and every refusal."""

import dataclasses
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbpkit import corpora
from rbpkit.corpora import Corpus, load_corpus, protocol_order
from rbpkit.encoding import PAD_ID, EncodedCorpus, EncodedDocument, batches, encode
from rbpkit.errors import InputError
from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket.documents import humaneval_path

SHARED = Path(__file__).resolve().parents[2] / "shared"
HUMANEVAL = SHARED / "corpora" / "HumanEval.jsonl.gz"
TOKENIZERS = SHARED / "tokenizers"
needs_humaneval = pytest.mark.skipif(not HUMANEVAL.is_file(), reason=f"needs {HUMANEVAL}")
needs_tokenizers = pytest.mark.skipif(not TOKENIZERS.is_dir(), reason=f"needs {TOKENIZERS}")


def refused(*parts: str, **arguments) -> str:
    """The InputError of load_corpus: one line, with each of `parts` in it."""
    with pytest.raises(InputError) as caught:
        load_corpus(**arguments)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


def corpus_of(*documents: str) -> Corpus:
    return Corpus("made up", documents, text_fingerprint(documents), {}, {})


def write_jsonl(path: Path, rows: list) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


TEXTS = [f"document {i}, with text" for i in range(25)]


# --- the protocol --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 164, 7405])
@pytest.mark.parametrize("seed", [42, 0])
def test_order_is_that_of_datasets(rows, seed):
    import datasets

    theirs = datasets.Dataset.from_dict({"i": list(range(rows))}).shuffle(seed=seed)["i"]
    assert list(theirs) == protocol_order(rows, seed).tolist()


def test_documents_are_the_first_of_the_shuffled(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": t} for t in TEXTS])
    everything = load_corpus(path, documents=0)
    assert sorted(everything.documents) == sorted(TEXTS)
    assert everything.documents == tuple(TEXTS[i] for i in protocol_order(25))
    assert load_corpus(path, documents=7).documents == everything.documents[:7]
    assert load_corpus(path, seed=None).documents == tuple(TEXTS)
    assert load_corpus(path, seed=7).documents != everything.documents
    assert dict(load_corpus(path, documents=7).protocol) == {
        "order": "shuffled",
        "seed": 42,
        "requested": 7,
        "available": 25,
    }


def test_a_corpus_is_frozen_and_hashable():
    corpus = corpus_of("a", "b")
    assert hash(corpus) == hash(corpus_of("a", "b")) and corpus == corpus_of("a", "b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.documents = ()


def test_fingerprint_tells_texts_and_their_order_apart():
    prints = [
        text_fingerprint(texts)
        for texts in (["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"], ["ab", "c", ""], [])
    ]
    assert len(set(prints)) == len(prints)
    # Written out: the definition is a contract, as manifests carry the value.
    data = b"\x03\0\0\0\0\0\0\0\xc3\xa9a" + b"\x01\0\0\0\0\0\0\0b"
    assert text_fingerprint(["éa", "b"]) == hashlib.sha256(data).hexdigest()


# --- files ---------------------------------------------------------------------------------


def write_parquet(path: Path, rows: list[dict], **options) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def test_every_format_gives_the_same_corpus(tmp_path):
    rows = [{"id": i, "text": t} for i, t in enumerate(TEXTS)]
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        (folder / f"{i:03}.txt").write_bytes(text.encode())
    mixed = tmp_path / "mixed"
    (mixed / "inner").mkdir(parents=True)
    write_jsonl(mixed / "a.JSONL", rows[:5])
    write_jsonl(mixed / "b.jsonl.gz", rows[5:9])
    write_parquet(mixed / "c.parquet", rows[9:24], row_group_size=4)
    (mixed / "d.txt").write_text(TEXTS[24])
    (mixed / "README.md").write_text("not a document")
    (mixed / ".hidden.txt").write_text("not a document")
    (mixed / "inner" / "e.txt").write_text("not a document")
    paths = [
        write_jsonl(tmp_path / "a.jsonl", rows),
        write_jsonl(tmp_path / "a.jsonl.gz", rows),
        write_parquet(tmp_path / "a.parquet", rows),
        folder,
        mixed,
    ]
    loaded = [load_corpus(path) for path in paths]
    assert {c.documents for c in loaded} == {tuple(TEXTS[i] for i in protocol_order(25))}
    assert len({c.fingerprint for c in loaded}) == 1
    assert [c.id for c in loaded] == ["a.jsonl", "a.jsonl.gz", "a.parquet", "texts", "mixed"]
    assert loaded[4].source["files"] == ["a.JSONL", "b.jsonl.gz", "c.parquet", "d.txt"]
    for corpus in loaded:
        assert corpus.source["kind"] == "file" and corpus.source["streaming"] is False
        json.dumps([dict(corpus.source), dict(corpus.protocol)])


def test_a_text_file_is_one_document(tmp_path):
    path = tmp_path / "one.txt"
    path.write_bytes("\ufeffone\r\n\r\ntwo é\n".encode())
    corpus = load_corpus(str(path))
    assert corpus.documents == ("one\r\n\r\ntwo é\n",)
    assert corpus.source["field"] is None


def test_unusual_but_good_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('\ufeff{"text": "one\u2028two"}\r\n\n  \n{"text": "three"}'.encode())
    assert load_corpus(path, seed=None).documents == ("one\u2028two", "three")


def test_several_fields_are_joined_by_newline(tmp_path):
    rows = [{"q": "who?", "a": "me"}]
    for path in (
        write_jsonl(tmp_path / "a.jsonl", rows),
        write_parquet(tmp_path / "a.parquet", rows),
    ):
        assert load_corpus(path, field="q+a").documents == ("who?\nme",)
        assert load_corpus(path, field="a+q").documents == ("me\nwho?",)
        assert load_corpus(path, field="a").documents == ("me",)


def test_empty_documents_are_left_out_and_counted(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": t} for t in ["", "a", " \n\t", "b"]])
    corpus = load_corpus(path, seed=None)
    assert corpus.documents == ("a", "b") and corpus.source["empty"] == 2
    # Left out after the choice: the documents are among the same first rows as the authors'.
    assert load_corpus(path, seed=None, documents=3).documents == ("a",)


def test_files_are_read_without_datasets(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)  # importing it fails: no cache, no litter
    write_parquet(tmp_path / "a.parquet", [{"text": "a"}])
    write_jsonl(tmp_path / "b.jsonl", [{"text": "b"}])
    assert load_corpus(tmp_path, seed=None).documents == ("a", "b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "b.jsonl"]


def test_missing_field_lists_those_there_are(tmp_path):
    rows = [{"body": "x", "title": "y"}]
    jsonl = write_jsonl(tmp_path / "a.jsonl", rows)
    refused("a.jsonl:1", "'text'", "body, title", name_or_path=jsonl)
    refused("a.jsonl:1", "'boddy'", "body, title", name_or_path=jsonl, field="boddy")
    refused("'no'", "body, title", name_or_path=jsonl, field="body+no")
    refused("NAME+NAME", name_or_path=jsonl, field="body+")
    parquet = write_parquet(tmp_path / "a.parquet", rows)
    refused("a.parquet", "'text'", "body, title", name_or_path=parquet)
    later = write_jsonl(tmp_path / "b.jsonl", [{"text": "x"}, {}])
    refused("b.jsonl:2", "none", name_or_path=later)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b'{"text": "a"}\n{"text": \n', ":2: not JSON"),
        (b'{"text": "a"}\n\n["text"]\n', ":3: a list, not an object"),
        (b'{"text": "a"}\n{"text": null}\n', ":2: field 'text' is null"),
        (b'{"text": ["a"]}\n', ":1: field 'text' is a list"),
        (b'{"text": "a"}\n{"text": "\xff"}\n', ":2: not UTF-8 at byte 10 of the line"),
        (b'{"text": "a\\ud800"}\n', ":1: half a surrogate pair at character 1"),
        (b"[" * 100_000 + b"\n", ":1: not JSON"),
        (b"", "there are no documents"),
        (b"\n\n", "there are no documents"),
        (b'{"text": " "}\n', "all 1 documents are empty"),
    ],
)
@pytest.mark.parametrize("name", ["bad.jsonl", "bad.jsonl.gz"])
def test_broken_lines_are_named(tmp_path, name, data, part):
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    refused(name, part, name_or_path=path)


def test_a_broken_line_is_found_beyond_the_documents_taken(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\n{"text": "c')
    refused("a.jsonl:3", name_or_path=path, documents=1, seed=None)


def test_broken_files_are_named(tmp_path):
    bad_text = tmp_path / "bad.txt"
    bad_text.write_bytes(b"one\ntwo \xff\n")
    refused("bad.txt:2", "byte 8", name_or_path=bad_text)
    whole = gzip.compress(os.urandom(3000).hex().encode())
    for name, data in (("cut.jsonl.gz", whole[:-100]), ("plain.jsonl.gz", b'{"text": "a"}\n')):
        (tmp_path / name).write_bytes(data)
        refused(name, "cannot be read", name_or_path=tmp_path / name)
    for name, data in (("empty.parquet", b""), ("bad.parquet", b"PAR1 and then nothing PAR1")):
        (tmp_path / name).write_bytes(data)
        refused(name, "cannot be read as Parquet", name_or_path=tmp_path / name)
    numbers = write_parquet(tmp_path / "numbers.parquet", [{"text": "a"}, {"text": None}])
    refused("numbers.parquet, row 2", "null", name_or_path=numbers)
    binary = pa.array([b"a", b"\xff"]).view(pa.binary())
    pq.write_table(pa.table({"text": binary.cast(pa.string(), safe=False)}), tmp_path / "u.parquet")
    refused("u.parquet, row 2", "not UTF-8", name_or_path=tmp_path / "u.parquet")


def test_wrong_paths_and_arguments(tmp_path):
    refused("no such file", name_or_path=str(tmp_path / "missing.jsonl"))
    refused("no such file", name_or_path="missing.jsonl")
    refused("no corpus file in this folder", ".parquet", name_or_path=tmp_path)
    (tmp_path / "a.csv").write_text("a,b\n")
    refused("a.csv", "ends in .jsonl", name_or_path=tmp_path / "a.csv")
    os.mkfifo(tmp_path / "pipe.txt")
    refused("neither a file nor a folder", name_or_path=tmp_path / "pipe.txt")
    (tmp_path / "a.txt").write_text("text")
    path = tmp_path / "a.txt"
    refused("plain text", name_or_path=path, field="text")
    refused("streaming", "a.txt", name_or_path=path, streaming=True)
    refused("revision", "a.txt", name_or_path=path, revision="main")
    refused("documents=-1", name_or_path=path, documents=-1)
    refused("documents=1.5", name_or_path=path, documents=1.5)
    refused("documents=True", name_or_path=path, documents=True)
    refused("seed=-1", name_or_path=path, seed=-1)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("wikipedia", "Wiki"), ("humanevl", "HumanEval"), ("C5", "C4"), ("prose", "pocket:prose")],
)
def test_a_wrong_name_gets_the_nearest(given, meant):
    refused(f"unknown corpus {given!r}: did you mean {meant}?", name_or_path=given)


def test_a_name_like_none_gets_the_list():
    message = refused("Wiki, HumanEval, HotpotQA, AusLegal, C4, Github", name_or_path="xyzzy")
    assert "did you mean" not in message
    refused("unknown corpus ''", name_or_path="")
    refused("unknown corpus", name_or_path="x" * 5000)


# --- pocket --------------------------------------------------------------------------------


@pytest.fixture
def pocket(monkeypatch):
    asked = []

    def load_pocket_documents(name):
        asked.append(name)
        texts = ("one", "two", "three")
        named = text_fingerprint(texts)
        return SimpleNamespace(
            documents=texts, fingerprint=named, fingerprint_expected=named, as_shipped=True
        )

    module = SimpleNamespace(load_pocket_documents=load_pocket_documents)
    monkeypatch.setitem(sys.modules, "rbpkit.pocket.documents", module)
    return asked


def test_pocket_corpora_come_in_their_own_order(pocket):
    corpus = load_corpus("Pocket:Prose", documents=2)
    assert pocket == ["prose"]
    assert corpus.id == "pocket:prose" and corpus.documents == ("one", "two")
    assert corpus.fingerprint == text_fingerprint(("one", "two"))
    assert corpus.source["as_shipped"] is True
    assert corpus.protocol["seed"] is None and corpus.protocol["available"] == 3
    refused("pocket:qa", "leave field out", name_or_path="pocket:qa", field="text")


def test_the_shipped_humaneval_follows_the_protocol_and_names_no_path_of_the_machine():
    corpus = load_corpus("Pocket:HumanEval")
    assert corpus.id == "pocket:humaneval" and len(corpus.documents) == 164
    assert corpus.fingerprint == text_fingerprint(corpus.documents)
    assert all("def " in text for text in corpus.documents)
    assert load_corpus("pocket:humaneval", documents=7).documents == corpus.documents[:7]
    in_order = load_corpus("pocket:humaneval", seed=None).documents
    assert corpus.documents == tuple(in_order[i] for i in protocol_order(164))
    assert in_order[0].startswith("from typing import List\n\n\ndef has_close_elements(")
    assert dict(corpus.protocol) == {
        "order": "shuffled",
        "seed": 42,
        "requested": None,
        "available": 164,
    }
    assert (corpus.source["kind"], corpus.source["empty"]) == ("pocket", 0)
    described = json.dumps([dict(corpus.source), dict(corpus.protocol)])
    assert "/" not in described and "\\" not in described
    refused("pocket:humaneval", "leave field out", name_or_path="pocket:humaneval", field="prompt")
    assert "The MIT License" in humaneval_path().with_name("humaneval.LICENSE").read_text()


@needs_humaneval
def test_the_shipped_humaneval_is_the_papers():
    papers = load_corpus(HUMANEVAL, field="prompt+canonical_solution")
    assert load_corpus("pocket:humaneval").documents == papers.documents


# --- the hub, against a local stand-in with its columns --------------------------------------


def hub_rows(name: str) -> list[dict]:
    """Rows laid out as the hub's, with texts that tell one row from another."""
    if name == "HumanEval":
        made = {
            "prompt": "def f{}():\n",
            "canonical_solution": "    return {}\n",
            "test": "check {}",
        }
    elif name == "HotpotQA":
        made = {"id": "{}", "question": "Question {}?", "answer": "answer {}", "level": "hard"}
    elif name != "Github":
        made = {"id": "{}", "url": "u", "title": "t", "text": f"{name} {{}}"}
    else:
        lengths = [512, 513, 600, 2000]
        return [
            {
                "text": f"{i:04}".ljust(lengths[i % 4], "x"),
                "meta": {"pile_set_name": "Github" if i % 3 else "Pile-CC"},
            }
            for i in range(60)
        ]
    return [{column: text.format(i) for column, text in made.items()} for i in range(30)]


def text_of(name: str, row: dict) -> str:
    if name == "HumanEval":
        return row["prompt"] + "\n" + row["canonical_solution"]
    return row["question"] + "\n" + row["answer"] if name == "HotpotQA" else row["text"]


CALLS = {
    "Wiki": ("wikimedia/wikipedia", "20231101.en", "train", None, False),
    "HumanEval": ("openai/openai_humaneval", None, "test", None, False),
    "HotpotQA": ("hotpotqa/hotpot_qa", "distractor", "validation", None, False),
    "AusLegal": ("isaacus/open-australian-legal-corpus", None, "corpus", None, False),
    "C4": ("allenai/c4", "en", "validation", None, True),
    "Github": (
        "monology/pile-uncopyrighted",
        None,
        "validation+test",
        {"validation": "val.jsonl.zst", "test": "test.jsonl.zst"},
        False,
    ),
}


@pytest.fixture
def hub(monkeypatch):
    import datasets

    calls = []

    def load_dataset(path, *, name, data_files, split, revision, streaming):
        calls.append((path, name, split, data_files, streaming, revision))
        corpus = next(key for key, call in CALLS.items() if call[0] == path)
        rows = datasets.Dataset.from_list(hub_rows(corpus))
        return rows.to_iterable_dataset() if streaming else rows

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


def test_the_hub_corpora_are_the_six():
    assert set(CALLS) == set(corpora.HUB_CORPORA)


@pytest.mark.parametrize("name", CALLS)
def test_hub_corpora_follow_the_protocol(hub, name):
    import datasets

    corpus = load_corpus(name.upper(), documents=11)
    assert hub == [(*CALLS[name], None)]
    rows = hub_rows(name)
    if name == "Github":
        rows = [r for r in rows if r["meta"]["pile_set_name"] == "Github" and len(r["text"]) > 512]
        assert 11 < len(rows) < 60
    if name != "C4":  # whose first rows are taken as they stand
        rows = datasets.Dataset.from_list(rows).shuffle(seed=42).to_list()
    assert corpus.documents == tuple(text_of(name, row) for row in rows[:11])
    assert corpus.id == name
    assert corpus.source["path"] == CALLS[name][0]
    assert corpus.source["streaming"] is (name == "C4")
    assert corpus.protocol["order"] == ("in order" if name == "C4" else "shuffled")
    assert corpus.protocol["seed"] == (None if name == "C4" else 42)
    assert corpus.protocol["available"] == (None if name == "C4" else len(rows))
    json.dumps([dict(corpus.source), dict(corpus.protocol)])


@pytest.mark.parametrize("name", CALLS)
def test_streaming_says_so(hub, name):
    corpus = load_corpus(name, documents=5, streaming=True, revision="abc")
    assert hub == [(*CALLS[name][:4], True, "abc")]
    assert len(set(corpus.documents)) == 5
    assert set(corpus.documents) <= {text_of(name, row) for row in hub_rows(name)}
    assert corpus.source["streaming"] is True and corpus.source["revision"] == "abc"
    assert corpus.protocol["order"] == ("in order" if name == "C4" else "stream-shuffled")
    assert corpus.protocol["available"] is None


def test_a_local_copy_gives_the_hubs_documents(hub, tmp_path):
    local = write_parquet(tmp_path / "wiki.parquet", hub_rows("Wiki"))
    theirs = load_corpus("wiki", documents=9)
    assert load_corpus(local, documents=9).fingerprint == theirs.fingerprint


def test_hub_failures_are_one_line(hub, monkeypatch):
    import datasets

    def fail(error):
        def load_dataset(*args, **kwargs):
            raise error

        monkeypatch.setattr(datasets, "load_dataset", load_dataset)

    for error, part in [
        (ConnectionError("Couldn't reach 'x' on the Hub (OfflineModeIsEnabled)"), "Couldn't reach"),
        (datasets.exceptions.DatasetNotFoundError("gated\nby its authors"), "gated"),
        (ImportError("Please install it"), "Please install"),
        (RuntimeError(""), "RuntimeError"),
    ]:
        fail(error)
        refused("Github: cannot load monology/pile", part, "local copy", name_or_path="github")
    other = datasets.Dataset.from_list([{"body": "x"}])
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **kwargs: other)
    refused("AusLegal", "text", "body", name_or_path="AusLegal")


def test_offline_is_refused_by_the_real_library(tmp_path):
    # In a process of its own: the library reads the switch when it is imported.
    code = "from rbpkit.corpora import load_corpus; load_corpus('HumanEval')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "rbpkit.errors.InputError: HumanEval: cannot load openai/openai_humaneval" in done.stderr


# --- tokens --------------------------------------------------------------------------------


def fast(tokenizer, **special):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


@pytest.fixture(scope="module")
def words():
    """One token a word, <s> = 0 put first, <x> = 1 special as well, w0 to w9."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {"<s>": 0, "<x>": 1, "<unk>": 2} | {f"w{i}": i + 3 for i in range(10)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    return fast(tokenizer, bos_token="<s>", eos_token="<x>", model_max_length=8)


def test_what_is_scored(words):
    encoded = encode(corpus_of("w0 w1 w2", "w3", "w4 <x> w5 w6 w7", "<x> w8 <x>"), words)
    first, third = encoded.documents
    assert first.document == 0 and first.input_ids.tolist() == [0, 3, 4, 5]
    assert first.input_ids.dtype == np.int32 and first.scored.dtype == bool
    assert first.scored.tolist() == [False, True, True]
    assert third.document == 2 and third.input_ids.tolist() == [0, 7, 1, 8, 9, 10]
    assert third.scored.tolist() == [False, False, False, True, True]
    assert (encoded.skipped, encoded.tokens) == (2, 4)
    (batch,) = batches(encoded, 100)
    # (row, column of the input, target, document, position of the target in its document)
    columns = (batch.rows, batch.columns, batch.targets, batch.documents, batch.positions)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == [
        (0, 3, 9, 2, 4),
        (0, 4, 10, 2, 5),
        (1, 1, 4, 0, 2),
        (1, 2, 5, 0, 3),
    ]
    assert batch.input_ids.tolist() == [[0, 7, 1, 8, 9, 10], [0, 3, 4, 5, PAD_ID, PAD_ID]]


def test_max_length_counts_added_tokens_and_keeps_the_beginning(words):
    words.truncation_side = "left"
    try:
        (document,) = encode(corpus_of("w0 w1 w2 w3"), words, max_length=3).documents
        assert words.truncation_side == "left"
    finally:
        words.truncation_side = "right"
    assert document.input_ids.tolist() == [0, 3, 4]
    for value in (1, 2, 512.0):
        with pytest.raises(InputError, match=f"max_length={value}"):
            encode(corpus_of("w0 w1"), words, max_length=value)


def test_a_long_text_warns_of_nothing(words, capfd, recwarn):
    encoded = encode(corpus_of("w1 " * 500), words)
    assert len(encoded.documents[0].input_ids) == 501 > words.model_max_length
    assert capfd.readouterr() == ("", "") and not recwarn.list


def test_nothing_to_score_is_refused(words):
    with pytest.raises(InputError, match="none of its 2 documents"):
        encode(corpus_of("w1", "w2"), words)
    from tokenizers import Tokenizer, models

    nothing = fast(Tokenizer(models.BPE()))  # what a folder without tokenizer files gives
    with pytest.raises(InputError, match=r"none of its 1 documents.*\(0 tokens\)"):
        encode(corpus_of("some text"), nothing)


@st.composite
def encoded_corpora(draw):
    """Encoded corpora of any lengths and masks; token ids from 1, so that PAD_ID is padding."""
    lengths = draw(st.lists(st.integers(2, 12), min_size=1, max_size=12))
    documents = []
    for index, length in enumerate(lengths):
        mask = draw(st.lists(st.booleans(), min_size=length - 1, max_size=length - 1))
        mask[draw(st.integers(0, length - 2))] = True
        ids = np.arange(1, length + 1, dtype=np.int32) + 100 * index
        documents.append(EncodedDocument(3 * index, ids, np.array(mask)))
    tokens = sum(d.tokens for d in documents)
    return EncodedCorpus("made up", "", 512, tuple(documents), 0, tokens)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(encoded=encoded_corpora(), batch_tokens=st.integers(1, 150))
def test_each_scored_token_once_and_no_padding(encoded, batch_tokens):
    made = list(batches(encoded, batch_tokens))
    by_index = {d.document: d for d in encoded.documents}
    seen = []
    for batch in made:
        height, width = batch.input_ids.shape
        assert height * width <= batch_tokens or height == 1
        assert batch.input_ids.dtype == batch.targets.dtype == np.int64
        assert batch.documents.dtype == batch.positions.dtype == np.int32
        assert len(batch.rows) == len(batch.columns) == batch.tokens
        for row, column, target, document, position in zip(
            batch.rows, batch.columns, batch.targets, batch.documents, batch.positions, strict=True
        ):
            ids = by_index[document].input_ids
            assert position == column + 1 < len(ids)
            assert target == ids[position] == batch.input_ids[row, position] != PAD_ID
            assert (batch.input_ids[row, : len(ids)] == ids).all()
            seen.append((int(document), int(position)))
    wanted = [(d.document, int(i) + 1) for d in encoded.documents for i in np.flatnonzero(d.scored)]
    assert sorted(seen) == wanted and len(seen) == encoded.tokens
    widths = [batch.input_ids.shape[1] for batch in made]
    assert widths == sorted(widths, reverse=True)
    again = list(batches(encoded, batch_tokens))
    assert all((a.input_ids == b.input_ids).all() for a, b in zip(made, again, strict=True))


@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_a_wrong_budget_is_refused_at_once(value):
    with pytest.raises(InputError, match="batch_tokens"):
        batches(EncodedCorpus("made up", "", 512, (), 0, 0), value)


# --- published: the token counts behind the paper's HumanEval points (FINDINGS 1) -------------


def gpt2(tmp_path):
    from transformers import GPT2TokenizerFast

    shutil.copy(TOKENIZERS / "gpt2-vocab.json", tmp_path / "vocab.json")
    shutil.copy(TOKENIZERS / "gpt2-merges.txt", tmp_path / "merges.txt")
    return GPT2TokenizerFast.from_pretrained(tmp_path)


def opt(tmp_path):
    from tokenizers import processors

    tokenizer = gpt2(tmp_path).backend_tokenizer
    tokenizer.add_special_tokens(["</s>"])
    start = ("</s>", tokenizer.token_to_id("</s>"))
    tokenizer.post_processor = processors.TemplateProcessing("</s> $A", special_tokens=[start])
    return fast(tokenizer, bos_token="</s>", eos_token="</s>")


def pythia(tmp_path):
    from tokenizers import Tokenizer

    end = "<|endoftext|>"
    tokenizer = Tokenizer.from_file(str(TOKENIZERS / "gpt-neox-20b.json"))
    return fast(tokenizer, bos_token=end, eos_token=end, unk_token=end)


@needs_humaneval
@needs_tokenizers
@pytest.mark.parametrize(("make", "tokens"), [(gpt2, 42_400), (opt, 42_391), (pythia, 33_233)])
def test_humaneval_scores_the_papers_tokens(tmp_path, make, tokens):
    corpus = load_corpus(HUMANEVAL, field="prompt+canonical_solution")
    assert len(corpus.documents) == 164 and corpus.source["empty"] == 0
    encoded = encode(corpus, make(tmp_path), max_length=512)
    assert encoded.tokens == tokens
    assert len(encoded.documents) == 164 and encoded.skipped == 0
    assert max(len(d.input_ids) for d in encoded.documents) <= 512
    assert sum(batch.tokens for batch in batches(encoded, 4096)) == tokens
