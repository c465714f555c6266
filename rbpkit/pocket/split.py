"""How the text is split, once for all four corpora: `rbpkit pocket text`, whose result ships.

The side of a document is decided by a hash of its source, the module or for `readme` the
distribution: one threshold for all modules, whatever the corpus. Documents are shuffled with seed
42 and taken in that order: the test split first, then validation, then training. A document that is
a near-duplicate of one already taken, of any corpus and on any side, is left out: MinHash over
five-word shingles, estimated Jaccard similarity of 0.7 or more. So what several packages share is
tested on or trained on, not both.

That misses a docstring that stands inside a longer function of another corpus. So, last, a test or
validation document half or more of whose twelve-word sequences occur anywhere in the training text
is left out.

Only what every supported installation has is cut (`NOT_EVERYWHERE`, `NOT_ON_ALL`): numbers are
compared with the shipped ones wherever they were measured, and the models can be trained there.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket.documents import (
    CORPORA,
    SPLITS,
    Document,
    documents_of_file,
    module_files,
    read_lists,
)
from rbpkit.pocket.ladders import train_tokenizer

SEED = 42
SHINGLE_WORDS = 5
JACCARD = 0.7
PERMUTATIONS = 64
SEEN_WORDS = 12
SEEN_SHARE = 0.5
# Distributions that an installation of rbpkit brings on every supported Python and platform; of
# torch its own description, since its CPU and CUDA builds need different other ones.
README_ROOTS = (
    "transformers", "datasets", "scipy", "pandas", "matplotlib", "seaborn", "papermill",
    "jupytext", "jupyterlab", "ipykernel", "ipywidgets", "pydantic", "typer", "tqdm", "sympy",
    "networkx", "datasketch",
)  # fmt: skip
LEFT_OUT = ("torch", "rbpkit")  # of what distributions need
NOT_ON_ALL = ("overrides", "pexpect", "ptyprocess")  # below Python 3.12, or not on Windows
# Found in the wheels of the pinned packages (Python 3.11, 3.12, 3.13; Linux on x86-64 and arm64,
# macOS, Windows; torch with CPU and CUDA). Cutting is no source of differences: the three Pythons
# cut 100,232 documents out of the same files alike.
NOT_EVERYWHERE = ("numpy/distutils/", "torch/version.py")  # for Python 3.11 only; by build
"""Beginnings of files that some installation lacks or has otherwise."""

TEST_SHARE, VALID_SHARE = 0.08, 0.02  # of the modules
README_TEST_SHARE, README_VALID_SHARE = 0.5, 0.1  # of the distributions: there are 133
TEST_DOCUMENTS = {"prose": 480, "code": 620, "qa": 2700, "readme": 800}
VALID_CHARACTERS = {"prose": 100_000, "code": 100_000, "qa": 50_000, "readme": 50_000}
MOST_OF_A_DISTRIBUTION = 100  # held-out sections: two distributions have a quarter of all text


def dependency_closure(roots: tuple[str, ...]) -> list[str]:
    """Names of the installed distributions that the roots need, themselves included, sorted."""
    todo, seen = [canonicalize_name(r) for r in roots], set()
    while todo:
        name = todo.pop()
        if name in seen or name in LEFT_OUT:
            continue
        try:
            requires = importlib.metadata.requires(name) or ()
        except importlib.metadata.PackageNotFoundError:
            continue  # needed on another platform only
        seen.add(name)
        for line in requires:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(canonicalize_name(requirement.name))
    return sorted(seen)


def source_files() -> list[str]:
    """The files that every installation has: modules, then descriptions of distributions."""
    names = {*dependency_closure(README_ROOTS), "torch"} - set(NOT_ON_ALL)
    modules = [file for file in module_files() if not file.startswith(NOT_EVERYWHERE)]
    return [*modules, *(f"{name}.dist-info/METADATA" for name in sorted(names))]


def split_of(document: Document) -> str:
    """The side on which a document's source falls, by a hash of the source's name."""
    shares = TEST_SHARE, VALID_SHARE
    if document.corpus == "readme":
        shares = README_TEST_SHARE, README_VALID_SHARE
    u = int.from_bytes(hashlib.sha256(document.file.encode()).digest()[:8], "big") / 2**64
    if u < shares[0]:
        return "test"
    return "valid" if u < sum(shares) else "train"


def word_runs(text: str, n: int) -> list[str]:
    """The sequences of n words of a text; a shorter text is one sequence."""
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[i : i + n]) for i in range(max(1, len(words) - n + 1))]


class NearDuplicates:
    """An index of texts by MinHash over five-word sequences, with a fixed seed."""

    def __init__(self):
        from datasketch import MinHashLSH

        self._index = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)

    def add(self, key: int, text: str) -> bool:
        """Whether the text is like none before it; if so it is remembered."""
        from datasketch import MinHash

        minhash = MinHash(num_perm=PERMUTATIONS, seed=SEED)
        minhash.update_batch([s.encode() for s in sorted(set(word_runs(text, SHINGLE_WORDS)))])
        if self._index.query(minhash):
            return False
        self._index.insert(key, minhash)
        return True


def sequences(text: str) -> np.ndarray:
    """64-bit hashes of a text's sequences of twelve words, ascending."""
    runs = word_runs(text, SEEN_WORDS)
    digests = b"".join(hashlib.blake2b(run.encode(), digest_size=8).digest() for run in runs)
    return np.unique(np.frombuffer(digests, dtype=np.uint64))


def sequences_of(documents: Iterable[Document]) -> np.ndarray:
    """The same of all these documents together."""
    return np.unique(np.concatenate([sequences(document.text) for document in documents]))


def without_seen(documents: Iterable[Document], seen: np.ndarray) -> list[Document]:
    """The documents less than half of whose sequences are in `seen` (`sequences_of` a text)."""
    found = []
    for document in documents:
        own = sequences(document.text)
        at = np.minimum(np.searchsorted(seen, own), len(seen) - 1)
        if (seen[at] == own).mean() < SEEN_SHARE:
            found.append(document)
    return found


@dataclass(frozen=True)
class Split:
    """Documents by side, in the order in which they were taken, and how many were left out."""

    documents: dict[str, list[Document]]
    near_duplicates: int
    mostly_seen: int


def split_documents(documents: list[Document]) -> Split:
    """Split documents of all corpora: one order, one index of near-duplicates, one of sequences."""
    order = np.random.default_rng(SEED).permutation(len(documents))
    index = NearDuplicates()
    taken: dict[str, list[Document]] = {split: [] for split in SPLITS}
    near = 0
    count: Counter[str] = Counter()  # test documents of a corpus, validation characters of one
    of_source: Counter[str] = Counter()
    for split in ("test", "valid", "train"):
        for i in order:
            document = documents[i]
            if split_of(document) != split:
                continue
            if split == "test" and count[document.corpus] >= TEST_DOCUMENTS[document.corpus]:
                continue
            key = f"valid {document.corpus}"
            if split == "valid" and count[key] >= VALID_CHARACTERS[document.corpus]:
                continue
            held_readme = split != "train" and document.corpus == "readme"
            if held_readme and of_source[document.file] >= MOST_OF_A_DISTRIBUTION:
                continue
            if not index.add(int(i), document.text):
                near += 1
                continue
            taken[split].append(document)
            count[document.corpus] += split == "test"
            count[key] += len(document.text) if split == "valid" else 0
            of_source[document.file] += 1
    seen = sequences_of(taken["train"])
    before = len(taken["test"]) + len(taken["valid"])
    for split in ("test", "valid"):
        taken[split] = without_seen(taken[split], seen)
    return Split(taken, near, before - len(taken["test"]) - len(taken["valid"]))


def lists_of(splits: Mapping[str, Mapping[str, list[Document]]]) -> dict:
    """The lists of a text, {corpus: {split: documents}}, in the form of `documents.lists_path`.

    `fingerprint` is that of the whole text, all corpora and sides.
    """
    files = sorted({d.file for s in splits.values() for ds in s.values() for d in ds})
    number = {file: i for i, file in enumerate(files)}
    documents = {
        corpus: {
            split: {
                "fingerprint": text_fingerprint(d.text for d in documents),
                "entries": [[number[d.file], d.name] for d in documents],
            }
            for split, documents in by_split.items()
        }
        for corpus, by_split in splits.items()
    }
    every = [
        listed["fingerprint"] for by_split in documents.values() for listed in by_split.values()
    ]
    return {"files": files, "documents": documents, "fingerprint": text_fingerprint(every)}


def make_text(out: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Cut and split all corpora anew, and train their tokenizer: lists and tokenizer in `out`.

    Whether the text is the one that ships, by its fingerprints, is said.
    """
    split = split_documents([d for file in source_files() for d in documents_of_file(file)])
    by_corpus = {
        corpus: {side: [d for d in split.documents[side] if d.corpus == corpus] for side in SPLITS}
        for corpus in CORPORA
    }
    lists = lists_of(by_corpus)
    lists["left_out"] = {"near_duplicates": split.near_duplicates, "seen": split.mostly_seen}
    out.mkdir(parents=True, exist_ok=True)
    data = json.dumps(lists, separators=(",", ":")).encode()
    (out / "documents.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    texts = [d.text for by_split in by_corpus.values() for d in by_split["train"]]
    train_tokenizer(texts).save_pretrained(out / "tokenizer")
    for corpus, by_split in by_corpus.items():
        counts = ", ".join(f"{side} {len(documents):,}" for side, documents in by_split.items())
        say(f"{corpus}: {counts}")
    same = lists["fingerprint"] == read_lists()["fingerprint"]
    say(f"{out}: {'the text that ships' if same else 'another text than the one that ships'}")
