"""How the pocket corpora are split: `rbpkit pocket text`, whose result is shipped.

For each corpus the documents are shuffled with seed 42 and taken in that order until a split is
full: the test split first, then validation, then training. The side is decided by a hash of the
source module (of the distribution, for licences). A document that is a near-duplicate of one
already taken, on any side, is left out: MinHash over five-word shingles, estimated Jaccard
similarity of 0.7 or more. So what several packages share is tested on or trained on, not both.

That misses a docstring that stands inside a longer function of another corpus. So, last, a test
document half or more of whose twelve-word sequences occur anywhere in the training text of the
four corpora is left out.

Held-out documents have to be the same wherever numbers are compared with the shipped ones: those
that some supported installation lacks or has otherwise (`NOT_EVERYWHERE`) are left out at the end.
The training text has what Python 3.11 has: it stayed as the shipped models have read it.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket.documents import (
    CORPORA,
    Document,
    documents_of_file,
    licence_files,
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
# Distributions whose licence texts are read, with all that they need themselves. torch is left
# out: its CPU and CUDA builds carry different sets of them.
LICENCE_ROOTS = (
    "transformers", "datasets", "scipy", "pandas", "seaborn", "sympy", "networkx", "papermill",
    "jupyterlab", "ipywidgets", "jupytext", "pydantic", "typer", "tqdm", "datasketch",
)  # fmt: skip
LEFT_OUT = ("torch", "rbpkit")
# Found in the wheels of the pinned packages (Python 3.11, 3.12, 3.13; Linux on x86-64 and arm64,
# macOS, Windows; torch with CPU and CUDA). Cutting is no source of differences: the three Pythons
# cut 100,232 documents out of the same files alike.
NOT_EVERYWHERE = {
    "numpy/distutils/": "numpy ships it for Python 3.11 only",
    "scipy.dist-info/LICENSE.txt/section 38": "names the libraries in the wheel, by platform",
    "scipy.dist-info/LICENSE.txt/section 39": "not in the wheel for Windows",
}
"""Beginning of `file/name` of a document -> why some installation lacks it or has another."""


@dataclass(frozen=True)
class Budget:
    """What a corpus gives to each split: the share of modules (by hash), and where it ends."""

    test_share: float
    train_characters: int
    test_documents: int
    valid_characters: int = 150_000
    valid_share: float = 0.03


BUDGETS = {
    "prose": Budget(test_share=0.15, train_characters=9_600_000, test_documents=480),
    "code": Budget(test_share=0.12, train_characters=8_800_000, test_documents=600),
    "qa": Budget(test_share=0.15, train_characters=3_400_000, test_documents=2_400),
    "legal": Budget(
        test_share=0.50, train_characters=2_000_000, test_documents=1_000, valid_share=0.08
    ),
}


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


def everywhere(file: str, name: str) -> bool:
    """Whether every supported installation has this document, by `NOT_EVERYWHERE`."""
    return not f"{file}/{name}".startswith(tuple(NOT_EVERYWHERE))


def side_of(source: str, test_share: float, valid_share: float) -> str:
    """The side on which a source (a module, a distribution) falls, by a hash of its name."""
    u = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8], "big") / 2**64
    if u < test_share:
        return "test"
    return "valid" if u < test_share + valid_share else "train"


def split_of(document: Document, budget: Budget) -> str:
    """The side on which a document's source module (or distribution) falls."""
    source = document.file.split("/", 1)[0] if document.corpus == "legal" else document.file
    return side_of(source, budget.test_share, budget.valid_share)


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


def split_corpus(documents: list[Document], budget: Budget) -> dict[str, list[Document]]:
    """Documents of one corpus -> {split: documents}, in the order in which they were taken."""
    order = np.random.default_rng(SEED).permutation(len(documents))
    index = NearDuplicates()

    def take(split: str, *, most_documents: float, most_characters: float) -> list[Document]:
        taken: list[Document] = []
        characters = 0
        for i in order:
            if len(taken) >= most_documents or characters >= most_characters:
                break
            document = documents[i]
            if split_of(document, budget) != split:
                continue
            if index.add(int(i), document.text):
                taken.append(document)
                characters += len(document.text)
        return taken

    no_limit = float("inf")
    test = take("test", most_documents=budget.test_documents, most_characters=no_limit)
    valid = take("valid", most_documents=no_limit, most_characters=budget.valid_characters)
    train = take("train", most_documents=no_limit, most_characters=budget.train_characters)
    return {"train": train, "valid": valid, "test": test}


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


def split_text() -> dict[str, dict[str, list[Document]]]:
    """{corpus: {split: documents}}: all four corpora cut, split and deduplicated."""
    pools: dict[str, list[Document]] = {corpus: [] for corpus in CORPORA}
    for file in [*module_files(), *licence_files(dependency_closure(LICENCE_ROOTS))]:
        for document in documents_of_file(file):
            pools[document.corpus].append(document)
    splits = {corpus: split_corpus(pools[corpus], BUDGETS[corpus]) for corpus in CORPORA}
    seen = sequences_of(d for by_split in splits.values() for d in by_split["train"])
    for by_split in splits.values():
        by_split["test"] = without_seen(by_split["test"], seen)
        for split in ("test", "valid"):
            by_split[split] = [d for d in by_split[split] if everywhere(d.file, d.name)]
    return splits


def lists_of(splits: Mapping[str, Mapping[str, list[Document]]]) -> dict:
    """The lists of a text, {corpus: {split: documents}}, in the form of `documents.lists_path`."""
    files = sorted({d.file for s in splits.values() for ds in s.values() for d in ds})
    number = {file: i for i, file in enumerate(files)}
    return {
        "files": files,
        "documents": {
            corpus: {
                split: {
                    "fingerprint": text_fingerprint(d.text for d in documents),
                    "entries": [[number[d.file], d.name] for d in documents],
                }
                for split, documents in by_split.items()
            }
            for corpus, by_split in splits.items()
        },
    }


def fingerprints(lists: dict) -> dict[tuple[str, str], str]:
    """(corpus, split) -> the fingerprint of its text, from lists."""
    return {
        (corpus, split): listed["fingerprint"]
        for corpus, by_split in lists["documents"].items()
        for split, listed in by_split.items()
    }


def save_text(
    splits: Mapping[str, Mapping[str, list[Document]]],
    lists: dict,
    shipped: dict,
    out: Path,
    say: Callable[[str], None],
) -> None:
    """Write the lists, and the tokenizer trained on the training text, into `out`.

    shipped: the lists that ship; whether the text is the same, by its fingerprints, is said.
    """
    out.mkdir(parents=True, exist_ok=True)
    data = json.dumps(lists, separators=(",", ":")).encode()
    (out / "documents.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    texts = [d.text for by_split in splits.values() for d in by_split["train"]]
    train_tokenizer(texts).save_pretrained(out / "tokenizer")
    for corpus, by_split in splits.items():
        counts = ", ".join(f"{split} {len(documents):,}" for split, documents in by_split.items())
        say(f"{corpus}: {counts}")
    same = fingerprints(lists) == fingerprints(shipped)
    say(f"{out}: {'the text that ships' if same else 'another text than the one that ships'}")


def make_text(out: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Cut and split the four corpora anew, and train their tokenizer, into `out`."""
    splits = split_text()
    save_text(splits, lists_of(splits), read_lists(), out, say)
