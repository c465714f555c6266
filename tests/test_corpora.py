"""Corpora, encoding and batches: the authors' protocol to the token, and every refusal."""

import gzip
import os
import shutil
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from conftest import ROOT, put_on_hub, refused, write_jsonl
from small_models import word_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from rbpkit import measure
from rbpkit.corpora import HUB_CORPORA, Corpus, load_corpus, protocol_order
from rbpkit.encoding import PAD_ID, EncodedCorpus, EncodedDocument, encode, groups, padded
from rbpkit_pocket import paths

TOKENIZERS = ROOT.parent / "shared" / "tokenizers"
HUMANEVAL = "a12865947b6de041d36354ef6fe7b9b4fbf09236dafba37eb5f50f3b536f4199"
needs_tokenizers = pytest.mark.skipif(not TOKENIZERS.is_dir(), reason=f"needs {TOKENIZERS}")


def corpus_of(*documents: str) -> Corpus:
    return Corpus("made up", documents)


def write_packed(path: Path, rows: list) -> None:
    """JSON lines, compressed as the name says."""
    packed = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
    pack = packed.get(path.suffix, bytes)
    path.write_bytes(pack(write_jsonl(path, rows).read_bytes()))


def write_parquet(path: Path, rows: list[dict], **options) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


TEXTS = [f"document {i}, with text" for i in range(25)]


def test_documents_are_the_first_of_the_shuffled(tmp_path):
    many = [f"document {number}" for number in range(1001)]
    path = write_jsonl(tmp_path / "a.jsonl", many)
    everything = load_corpus(path, documents=0)
    assert everything.documents == tuple(many[i] for i in protocol_order(1001))
    assert load_corpus(path).documents == everything.documents[:1000]
    assert load_corpus(path, seed=None, documents=7).documents == tuple(many[:7])
    assert load_corpus(path, seed=7).documents != load_corpus(path).documents


def test_every_format_gives_the_same_corpus(tmp_path):
    rows = [{"id": i, "text": t} for i, t in enumerate(TEXTS)]
    mixed = tmp_path / "mixed"
    (mixed / "inner").mkdir(parents=True)
    write_jsonl(mixed / "a.JSONL", rows[:5])
    write_packed(mixed / "b.jsonl.gz", rows[5:9])
    write_parquet(mixed / "c.parquet", rows[9:24], row_group_size=4)
    (mixed / "d.txt").write_text(TEXTS[24])
    for left_out in ("README.md", ".hidden.txt", "inner/e.txt"):
        (mixed / left_out).write_text("not a document")
    write_jsonl(tmp_path / "a.jsonl", rows)
    write_parquet(tmp_path / "a.parquet", rows)
    loaded = [load_corpus(tmp_path / name) for name in ("a.jsonl", "a.parquet", "mixed")]
    assert {c.documents for c in loaded} == {tuple(TEXTS[i] for i in protocol_order(25))}
    assert len({c.fingerprint for c in loaded}) == 1
    assert [c.id for c in loaded] == ["a.jsonl", "a.parquet", "mixed"]


def test_unusual_but_good_files(tmp_path):
    path = tmp_path / "one.txt"
    path.write_bytes("\ufeffone\r\n\r\ntwo é\n".encode())
    assert load_corpus(str(path)).documents == ("one\r\n\r\ntwo é\n",)
    path = tmp_path / "a.jsonl"
    path.write_bytes('\ufeff{"text": "one\u2028two"}\r\n\n  \n{"text": "three"}'.encode())
    assert load_corpus(path, seed=None).documents == ("one\u2028two", "three")


def test_empty_documents_keep_their_numbers(tmp_path):
    texts = ["", "a b", " \n\t", "c d"]
    path = write_jsonl(tmp_path / "a.jsonl", texts)
    for corpus in (
        load_corpus(path, seed=None),
        Corpus.of(texts),
        Corpus.of(pd.DataFrame({"text": texts})),
    ):
        assert corpus.documents == ("", "a b", "", "c d")
        found = measure("pocket:pythia-w32-l2", corpus)
        assert found.records.to_pandas().document.unique().tolist() == [1, 3]
        assert "2 document(s) with nothing to score" in found.coverage
        assert found.summary.manifest.skipped_documents == 2


def test_texts_are_cut_at_a_character_and_are_another_job(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", ["aé日b", "é", "ab"])
    whole = load_corpus(path, seed=None)
    cut = [load_corpus(path, seed=None, max_bytes=most) for most in (6, 5, 1)]
    assert [corpus.documents[0] for corpus in cut] == ["aé日", "aé", "a"]
    assert [corpus.documents[1:] for corpus in cut] == [("é", "ab"), ("é", "ab"), ("", "a")]
    assert [corpus.max_bytes for corpus in (whole, *cut)] == [0, 6, 5, 1]
    assert len({corpus.fingerprint for corpus in (whole, *cut)}) == 4


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("a.jsonl", b'{"text": "a"}\n\n["text"]\n', ":3: no row with text"),
        ("a.jsonl", b'{"body": "a"}\n', ":1: nothing to use in field 'text'; its fields are"),
        ("a.jsonl", b'{"text": "a\\ud800"}\n', ":1: no row with text in UTF-8"),
        ("a.jsonl", b'{"text": " "}\n', "no text in its 1 documents"),
        ("a.txt", b"one\ntwo \xff\n", "a.txt: cannot be read"),
        ("a.jsonl.gz", gzip.compress(os.urandom(3000).hex().encode())[:-100], "cannot be read"),
        ("a.parquet", b"PAR1 and then nothing PAR1", "a.parquet: cannot be read"),
    ],
)
def test_what_is_broken_is_named(tmp_path, name, data, part):
    """Also beyond the documents that are taken."""
    path = tmp_path / name
    path.write_bytes(data)
    refused(part, load_corpus, path, documents=1, seed=None)


def test_wrong_paths_and_arguments(tmp_path):
    refused("and no file or folder", load_corpus, "missing.jsonl")
    refused("no corpus .Wiki, HumanEval,", load_corpus, "humanevl")
    refused("no corpus file", load_corpus, tmp_path)
    refused("leave field and unit out", load_corpus, "pocket:qa", field="text")
    refused("leave prompt out", load_corpus, "pocket:qa", prompt="text")
    rows = write_parquet(tmp_path / "a.parquet", [{"text": "a", "n": 1}, {"text": None, "n": 2}])
    refused("a.parquet, row 2: nothing to use in field 'text'", load_corpus, rows)


def test_the_shipped_humaneval_follows_the_protocol_and_has_its_license():
    corpus = load_corpus("pocket:humaneval")
    assert corpus.fingerprint == HUMANEVAL  # of the hub's, joined and shuffled
    in_order = load_corpus("pocket:humaneval", seed=None).documents
    assert corpus.documents == tuple(in_order[i] for i in protocol_order(164))
    assert (corpus.seed, corpus.available) == (42, 164)
    assert "The MIT License" in paths.HUMANEVAL.with_name("humaneval.LICENSE").read_text()


def hub_rows(name: str) -> list[dict]:
    """Rows laid out as the hub's, with texts that tell one row from another."""
    if name != "Github":
        return [{field: f"{field} {i}" for field in (*FIELDS[name], "url")} for i in range(41)]
    lengths, sets = [512, 513, 600, 2000], ["Pile-CC", "Github", "Github"]
    return [
        {"text": f"{i:04}".ljust(lengths[i % 4], "x"), "meta": {"pile_set_name": sets[i % 3]}}
        for i in range(60)
    ]


FILES = {
    "Wiki": [f"20231101.en/train-{i:05}-of-00041.parquet" for i in range(41)],
    "HumanEval": ["openai_humaneval/test-00000-of-00001.parquet"],
    "HotpotQA": ["distractor/validation-00000-of-00001.parquet"],
    "AusLegal": ["corpus.jsonl"],
    "C4": ["en/c4-validation.00000-of-00008.json.gz"],
    "Github": ["val.jsonl.zst", "test.jsonl.zst"],
}
FIELDS = dict.fromkeys(FILES, ("text",))
FIELDS |= {"HumanEval": ("prompt", "canonical_solution"), "HotpotQA": ("question", "answer")}


@pytest.fixture
def cached(hub):
    """A local hub cache that has the six data sets, with the network off."""
    for name, files in FILES.items():
        folder = put_on_hub(hub, "dataset", HUB_CORPORA[name].path)
        rows, half = hub_rows(name), len(hub_rows(name)) // len(files)
        for number, file in enumerate(files):
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            write = write_parquet if path.suffix == ".parquet" else write_packed
            write(path, rows[number * half : (number + 1) * half])
    return hub


@pytest.mark.parametrize("name", FILES)
def test_hub_corpora_follow_the_protocol(cached, name):
    corpus = load_corpus(name, documents=11)
    rows = hub_rows(name)
    if name == "Github":
        rows = [r for r in rows if r["meta"]["pile_set_name"] == "Github" and len(r["text"]) > 512]
        assert 11 < len(rows) < 60
    if name != "C4":  # whose first rows are taken as they are
        rows = datasets.Dataset.from_list(rows).shuffle(seed=42).to_list()
    assert corpus.documents == tuple(
        "\n".join(row[field] for field in FIELDS[name]) for row in rows[:11]
    )
    seed = None if name == "C4" else 42
    assert (corpus.id, corpus.seed, corpus.available) == (name, seed, len(rows))
    assert FILES.keys() == HUB_CORPORA.keys()


@pytest.mark.parametrize("name", ["HotpotQA", "HumanEval"])
def test_a_column_of_a_hub_corpus_is_its_prompt(cached, name):
    """The text is that of the paper's protocol; only what is scored differs."""
    first, second = FIELDS[name]
    whole = load_corpus(name, documents=11)
    answers = load_corpus(name, documents=11, prompt=first)
    joined = [a + b for a, b in zip(answers.prompts, answers.documents, strict=True)]
    assert tuple(joined) == whole.documents
    refused(f"{name} is made of {first} and {second}", load_corpus, name, prompt=second)
    refused("Wiki is made of text", load_corpus, "Wiki", prompt="text")


def test_a_hub_corpus_that_is_incomplete_or_missing_is_refused(cached):
    next(cached.rglob("train-00001-of-00041.parquet")).unlink()
    refused("Wiki: cannot fetch wikimedia/wikipedia", load_corpus, "Wiki")
    shutil.rmtree(cached / "datasets--allenai--c4")
    refused("C4: cannot fetch allenai/c4", load_corpus, "C4")


WORDS = [f"w{number}" for number in range(10)]


@pytest.fixture
def words():
    return word_tokenizer(WORDS, WhitespaceSplit(), "<s> $A")


def test_what_is_scored(words):
    encoded = encode(corpus_of("w0 w1 w2", "w3", "w4 <x> w5 w6 w7", "<x> w8 <x>"), words)
    first, third = encoded.documents
    assert first.document == 0 and first.input_ids.tolist() == [0, 2, 3, 4]
    assert first.input_ids.dtype == np.int32 and first.scored.dtype == bool
    assert first.scored.tolist() == [False, True, True]
    assert third.document == 2 and third.input_ids.tolist() == [0, 6, 1, 7, 8, 9]
    assert third.scored.tolist() == [False, False, False, True, True]
    assert encoded.tokens == 4
    assert encoded.left_out == {"document(s) with nothing to score": 2}
    (batch,) = map(padded, groups(encoded, 100))
    assert batch.rows.tolist() == [0, 0, 1, 1]
    assert batch.columns.tolist() == [3, 4, 1, 2]
    assert batch.targets.tolist() == [8, 9, 3, 4]
    assert batch.documents.tolist() == [2, 2, 0, 0]
    assert batch.positions.tolist() == [4, 5, 2, 3]
    assert batch.input_ids.tolist() == [[0, 6, 1, 7, 8, 9], [0, 2, 3, 4, PAD_ID, PAD_ID]]


def test_tokens_that_the_tokenizer_does_not_know_are_counted(words):
    words.unk_token = "<unk>"
    encoded = encode(corpus_of("w0 w1 what w2 w3", "w4 w5 w6"), words)
    unknown = {"unknown token(s)": 1}
    assert encoded.tokens == 4 and encoded.left_out == unknown
    words.bos_token = "<unk>"  # as OPT's, which is at the beginning of each text
    assert encode(corpus_of("w0 w1 what w2 w3"), words).left_out == {}


@pytest.mark.parametrize("template", ["$A", "<s> $A", "$A <x>", "<s> <s> $A <x>"])
def test_a_document_is_cut_as_the_tokenizer_itself_would(template):
    own = word_tokenizer(WORDS, WhitespaceSplit(), template)
    text = "w0 w1 <x> w2 w3 w4 w5 w6"
    encoded = encode(corpus_of(text), own, max_length=7)
    ids = own(text, truncation=True, max_length=7)["input_ids"]
    assert encoded.documents[0].input_ids.tolist() == ids
    past = len(own(text)["input_ids"]) - 7
    assert encoded.left_out == {"token(s) past max_length": past}
    windows = encode(corpus_of(text), own, max_length=6, stride=2)
    whole = own(text)["input_ids"]
    scored = [w.start + i + 1 for w in windows.documents for i in np.flatnonzero(w.scored)]
    assert scored == [i for i in range(1, len(whole)) if min(whole[i - 1 : i + 1]) > 1]
    assert windows.tokens == len(scored) and windows.left_out == {}


def test_max_length_counts_added_tokens_and_keeps_the_beginning(words):
    words.truncation_side = "left"
    (document,) = encode(corpus_of("w0 w1 w2 w3"), words, max_length=3).documents
    assert words.truncation_side == "left"
    assert document.input_ids.tolist() == [0, 2, 3]
    refused("max_length=2: must be a whole number", encode, corpus_of("w0 w1"), words, max_length=2)
    refused("none of its 2 documents has a token", encode, corpus_of("w1", "w2"), words)


@pytest.mark.parametrize("batch_tokens", [1, 12, 40, 1000])
def test_each_scored_token_once_and_no_padding(batch_tokens):
    random = np.random.default_rng(0)
    documents = []
    for index, length in enumerate(random.integers(2, 13, 40)):
        ids = np.arange(1, length + 1, dtype=np.int32) + 100 * index
        documents.append(EncodedDocument(3 * index, ids, random.random(length - 1) < 0.6))
    encoded = EncodedCorpus("made up", 512, tuple(documents))
    seen, widths = [], []
    for batch in map(padded, groups(encoded, batch_tokens)):
        assert batch.input_ids.size <= batch_tokens or len(batch.input_ids) == 1
        widths.append(batch.input_ids.shape[1])
        for row, document, position, target in zip(
            batch.rows, batch.documents, batch.positions, batch.targets, strict=True
        ):
            ids = documents[document // 3].input_ids
            assert (batch.input_ids[row, : position + 1] == ids[: position + 1]).all()
            assert target == ids[position]
            seen.append((document, position))
        assert (batch.columns + 1 == batch.positions).all()
    wanted = [(d.document, i + 1) for d in documents for i in np.flatnonzero(d.scored)]
    assert sorted(seen) == wanted
    assert widths == sorted(widths, reverse=True)


def gpt2() -> Tokenizer:
    files = [str(TOKENIZERS / name) for name in ("gpt2-vocab.json", "gpt2-merges.txt")]
    tokenizer = Tokenizer(models.BPE.from_file(*files))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def pythia() -> Tokenizer:
    return Tokenizer.from_file(str(TOKENIZERS / "gpt-neox-20b.json"))


@needs_tokenizers
@pytest.mark.parametrize(("make", "tokens"), [(gpt2, 42_400), (pythia, 33_233)])
def test_humaneval_scores_the_papers_tokens(make, tokens):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=make(), eos_token="<|endoftext|>")
    encoded = encode(load_corpus("pocket:humaneval"), tokenizer, max_length=512)
    assert encoded.tokens == tokens
    assert len(encoded.documents) == 164
    assert max(len(d.input_ids) for d in encoded.documents) <= 512
    assert sum(padded(group).tokens for group in groups(encoded, 4096)) == tokens


def test_units_are_names_and_one_for_each_document():
    rows = [{"text": "a", "by": "x"}, {"text": "b", "by": float("nan")}]
    refused("document 1: no unit", Corpus.of, rows, unit="by")
    refused("1 units for 2 documents", Corpus, "c", ("a", "b"), units=("x",))
    assert Corpus("c", ("a", "b"), units=("x", "x\0")).unit_numbers().tolist() == [0, 1]
