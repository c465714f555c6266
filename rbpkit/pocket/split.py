"""How the pocket corpora are split: run once by the maintainers, its result is shipped.

For each corpus the documents are shuffled with seed 42 and taken in that order until a split is
full: the test split first, then validation, then training. The side is decided by a hash of the
source module (of the distribution, for licences). A document that is a near-duplicate of one
already taken, on any side, is left out: MinHash over five-word shingles, estimated Jaccard
similarity of 0.7 or more. So what several packages share is tested on or trained on, not both.

That misses a docstring that stands inside a longer function of another corpus. So, last, a test
document half or more of whose twelve-word sequences occur anywhere in the training text of the
four corpora is left out.

Held-out documents that some supported installation lacks (see `portable`) were taken out of the
finished lists. The training text stayed as the shipped models have read it.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import json
import re
from dataclasses import dataclass

import numpy as np
from datasketch import MinHash, MinHashLSH
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket.documents import (
    CORPORA,
    Document,
    documents_of_file,
    licence_files,
    lists_path,
    module_files,
)

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


def split_of(document: Document, budget: Budget) -> str:
    """The side on which a document's source module (or distribution) falls, by a hash of it."""
    source = document.file.split("/", 1)[0] if document.corpus == "legal" else document.file
    u = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8], "big") / 2**64
    if u < budget.test_share:
        return "test"
    return "valid" if u < budget.test_share + budget.valid_share else "train"


def shingles(text: str, n: int) -> set[str]:
    """The sequences of n words of a text; a shorter text is one sequence."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + n]) for i in range(max(1, len(words) - n + 1))}


def shingle_hash(text: str) -> MinHash:
    """MinHash of a text's five-word sequences, with a fixed seed."""
    minhash = MinHash(num_perm=PERMUTATIONS, seed=SEED)
    minhash.update_batch([s.encode() for s in sorted(shingles(text, SHINGLE_WORDS))])
    return minhash


def split_corpus(documents: list[Document], budget: Budget) -> dict[str, list[Document]]:
    """Documents of one corpus -> {split: documents}, in the order in which they were taken."""
    order = np.random.default_rng(SEED).permutation(len(documents))
    index = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)

    def take(split: str, *, most_documents: float, most_characters: float) -> list[Document]:
        taken: list[Document] = []
        characters = 0
        for i in order:
            if len(taken) >= most_documents or characters >= most_characters:
                break
            document = documents[i]
            if split_of(document, budget) != split:
                continue
            minhash = shingle_hash(document.text)
            if not index.query(minhash):
                index.insert(int(i), minhash)
                taken.append(document)
                characters += len(document.text)
        return taken

    no_limit = float("inf")
    test = take("test", most_documents=budget.test_documents, most_characters=no_limit)
    valid = take("valid", most_documents=no_limit, most_characters=budget.valid_characters)
    train = take("train", most_documents=no_limit, most_characters=budget.train_characters)
    return {"train": train, "valid": valid, "test": test}


def seen_in(text: str, seen: set[str]) -> float:
    """The share of a text's twelve-word sequences that are in `seen`."""
    own = shingles(text, SEEN_WORDS)
    return len(own & seen) / len(own)


def without_seen(splits: dict[str, dict[str, list[Document]]]) -> None:
    """Leave out, in place, test documents that the training text of any corpus mostly holds."""
    seen: set[str] = set()
    for by_split in splits.values():
        for document in by_split["train"]:
            seen |= shingles(document.text, SEEN_WORDS)
    for by_split in splits.values():
        by_split["test"] = [d for d in by_split["test"] if seen_in(d.text, seen) < SEEN_SHARE]


def write_lists() -> dict[str, dict[str, int]]:
    """Cut, split and deduplicate all four corpora; write the lists; return document counts."""
    pools: dict[str, list[Document]] = {corpus: [] for corpus in CORPORA}
    for file in [*module_files(), *licence_files(dependency_closure(LICENCE_ROOTS))]:
        for document in documents_of_file(file):
            pools[document.corpus].append(document)
    splits = {corpus: split_corpus(pools[corpus], BUDGETS[corpus]) for corpus in CORPORA}
    without_seen(splits)
    files = sorted({d.file for s in splits.values() for ds in s.values() for d in ds})
    number = {file: i for i, file in enumerate(files)}
    lists = {
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
    data = json.dumps(lists, separators=(",", ":")).encode()
    lists_path().parent.mkdir(parents=True, exist_ok=True)
    lists_path().write_bytes(gzip.compress(data, 9, mtime=0))
    return {c: {s: len(ds) for s, ds in by_split.items()} for c, by_split in splits.items()}
