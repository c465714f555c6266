"""For maintainers: cut and split the text again and train its tokenizer, in some minutes.

    python -m rbpkit_pocket.split FOLDER

writes `documents.json.gz` and `tokenizer/`, and says whether this is the text that ships.

A hash of a document's source (the module or, for `readme`, the distribution) decides its side, by
one threshold for all corpora. Documents are shuffled with seed 42 and taken in that order: the test
split first, then validation, then training. A near-duplicate of a document already taken, of any
corpus and side, is left out: MinHash over five-word sequences, estimated Jaccard similarity of at
least 0.7. This misses a docstring inside a longer function of another corpus. So a test or
validation document is also left out if at least half of its twelve-word sequences occur in the
training text.

Only what every supported installation has is cut, so that numbers can be compared with the
pocket models' wherever they were measured.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from datasketch import MinHash, MinHashLSH
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from rbpkit.files.text_files import text_fingerprint
from rbpkit_pocket.documents import (
    PACKAGE_CORPORA,
    SPLITS,
    PackageDocument,
    documents_of_file,
    read_lists,
)
from rbpkit_pocket.families import END_OF_TEXT, POCKET_CONTEXT, V

_SEED = 42
_PERMUTATIONS = 64  # of a MinHash
PACKAGES = tuple("sympy networkx scipy pandas matplotlib numpy transformers datasets torch".split())
# Distributions that every installation of rbpkit brings. Of torch only its own description is
# read, because its CPU and CUDA builds need different distributions.
README_ROOTS = (
    "transformers", "datasets", "scipy", "pandas", "matplotlib", "seaborn", "papermill",
    "jupytext", "jupyterlab", "ipykernel", "ipywidgets", "pydantic", "typer", "tqdm", "sympy",
    "networkx", "datasketch",
)  # fmt: skip
NOT_ON_ALL = {"overrides", "pexpect", "ptyprocess"}  # below Python 3.12, or not on Windows
# Found in the wheels of the pinned packages (Python 3.11 to 3.13; Linux on x86-64 and arm64, macOS,
# Windows; torch with CPU and CUDA): for Python 3.11 only, and different in each build.
NOT_EVERYWHERE = ("numpy/distutils/", "torch/version.py")

SHARES = {"readme": (0.5, 0.1)}  # test and validation, of the sources; 133 distributions
MODULE_SHARES = (0.08, 0.02)
TEST_DOCUMENTS = {"prose": 480, "code": 620, "qa": 2700, "readme": 800}
VALID_CHARACTERS = {"prose": 100_000, "code": 100_000, "qa": 50_000, "readme": 50_000}
MOST_OF_A_DISTRIBUTION = 100  # held-out sections: two distributions have a quarter of all text


def source_files() -> list[str]:
    """The files that every installation has: modules, then descriptions of distributions."""
    return [*_modules(), *_descriptions()]


def _modules() -> list[str]:
    modules = []
    for package in PACKAGES:
        root = _folder_of(package)
        for path in root.rglob("*.py"):
            inside = path.relative_to(root)
            is_test = {"tests", "test", "testing"} & set(inside.parts)
            name = f"{package}/{inside.as_posix()}"
            if not is_test and not name.startswith(NOT_EVERYWHERE):
                modules.append(name)
    return sorted(modules)


def _folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations  # the distribution requires it
    return Path(spec.submodule_search_locations[0])


def _descriptions() -> list[str]:
    """The descriptions of README_ROOTS and of all that they require, on every platform."""
    names = {"torch"}
    todo = list(README_ROOTS)
    while todo:
        name = canonicalize_name(todo.pop())
        if name in names:
            continue
        try:
            requires = importlib.metadata.requires(name) or ()
        except importlib.metadata.PackageNotFoundError:
            continue  # needed on another platform only
        names.add(name)
        for line in requires:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(requirement.name)
    return [f"{name}.dist-info/METADATA" for name in sorted(names - NOT_ON_ALL)]


# -- the split -----------------------------------------------------------------------------------


def split_of(document: PackageDocument) -> str:
    """The side on which a document's source falls, by a hash of the source's name."""
    test, valid = SHARES.get(document.corpus, MODULE_SHARES)
    digest = hashlib.sha256(document.file.encode()).digest()
    uniform = int.from_bytes(digest[:8], "big") / 2**64
    if uniform < test:
        return "test"
    if uniform < test + valid:
        return "valid"
    return "train"


def word_runs(text: str, n: int) -> list[bytes]:
    """The sequences of n words of a text; a shorter text is one sequence."""
    words = re.findall(r"\w+", text.lower())
    count = max(1, len(words) - n + 1)
    return [" ".join(words[i : i + n]).encode() for i in range(count)]


def sequences(document: PackageDocument) -> np.ndarray:
    """64-bit hashes of a document's twelve-word sequences, ascending, each once."""
    runs = word_runs(document.text, 12)
    digests = [hashlib.blake2b(run, digest_size=8).digest() for run in runs]
    return np.unique(np.frombuffer(b"".join(digests), dtype=np.uint64))


def split_documents(documents: list[PackageDocument]) -> dict[str, list[PackageDocument]]:
    """Documents of all corpora by side, in the order in which they were taken.

    There is one order, one index of near-duplicates and one set of sequences for all corpora.
    """
    order = np.random.default_rng(_SEED).permutation(len(documents))
    index = MinHashLSH(threshold=0.7, num_perm=_PERMUTATIONS)
    taken: dict[str, list[PackageDocument]] = {split: [] for split in SPLITS}
    quota = _Quota()
    for split in ("test", "valid", "train"):
        for i in order:
            document = documents[i]
            if split_of(document) != split or quota.is_full(split, document):
                continue
            minhash = MinHash(num_perm=_PERMUTATIONS, seed=_SEED)
            minhash.update_batch(sorted(set(word_runs(document.text, 5))))
            if index.query(minhash):
                continue
            index.insert(int(i), minhash)
            taken[split].append(document)
            quota.take(split, document)
    seen = np.unique(np.concatenate([sequences(document) for document in taken["train"]]))
    for split in ("test", "valid"):
        held_out = taken[split]
        taken[split] = [document for document in held_out if _share_seen(document, seen) < 0.5]
    return taken


class _Quota:
    """How much was taken, and whether that is enough of a side."""

    def __init__(self) -> None:
        self.test_documents: Counter[str] = Counter()  # of a corpus
        self.valid_characters: Counter[str] = Counter()  # of a corpus
        self.of_distribution: Counter[str] = Counter()  # documents of `readme`

    def is_full(self, split: str, document: PackageDocument) -> bool:
        corpus = document.corpus
        if split == "test" and self.test_documents[corpus] >= TEST_DOCUMENTS[corpus]:
            return True
        if split == "valid" and self.valid_characters[corpus] >= VALID_CHARACTERS[corpus]:
            return True
        return split != "train" and self.of_distribution[document.file] >= MOST_OF_A_DISTRIBUTION

    def take(self, split: str, document: PackageDocument) -> None:
        if split == "test":
            self.test_documents[document.corpus] += 1
        if split == "valid":
            self.valid_characters[document.corpus] += len(document.text)
        if document.corpus == "readme":
            self.of_distribution[document.file] += 1


def _share_seen(document: PackageDocument, seen: np.ndarray) -> float:
    """The share of a document's sequences that are among the sorted `seen`."""
    own = sequences(document)
    at = np.minimum(np.searchsorted(seen, own), len(seen) - 1)
    return float((seen[at] == own).mean())


# -- what is written -----------------------------------------------------------------------------


def train_tokenizer(texts: list[str], V: int = V) -> PreTrainedTokenizerFast:
    """Byte-level BPE with V tokens; the same texts give the same merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=V,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        model_max_length=POCKET_CONTEXT,
    )


def make_text(out: Path) -> bool:
    """Write the lists and the tokenizer of the installed text; whether it is the one that ships."""
    every: list[PackageDocument] = []
    for file in source_files():
        every += documents_of_file(file)
    sides = split_documents(every)
    taken = [*sides["train"], *sides["valid"], *sides["test"]]
    files = sorted({document.file for document in taken})
    number = {file: i for i, file in enumerate(files)}

    lists: dict[str, dict[str, Any]] = {}
    fingerprints: list[str] = []
    training_texts: list[str] = []
    for corpus in PACKAGE_CORPORA:
        lists[corpus] = {}
        for split in SPLITS:
            documents = [document for document in sides[split] if document.corpus == corpus]
            texts = [document.text for document in documents]
            fingerprint = text_fingerprint(texts)
            entries = [[number[document.file], document.name] for document in documents]
            lists[corpus][split] = {"fingerprint": fingerprint, "entries": entries}
            fingerprints.append(fingerprint)
            if split == "train":
                training_texts += texts
    whole = {"files": files, "documents": lists, "fingerprint": text_fingerprint(fingerprints)}

    out.mkdir(parents=True, exist_ok=True)
    data = json.dumps(whole, separators=(",", ":")).encode()
    (out / "documents.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    train_tokenizer(training_texts).save_pretrained(out / "tokenizer")
    return whole["fingerprint"] == read_lists()["fingerprint"]


if __name__ == "__main__":
    same = make_text(Path(sys.argv[1]))
    print("the text that ships" if same else "another text than the one that ships")
