"""The text of the next ladders: more of it, split once for all corpora. `next_runs` trains on it.

`prose`   long docstrings
`code`    functions, with or without a docstring; one that is a prose document is left out of it
`qa`      qualified name and signature, newline, the one-line summary
`readme`  sections of the long descriptions (README, changes) that distributions carry

Only what every supported installation has (`pocket.split`), torch's own modules among it. The
side of a document is decided by a hash of its source, the module or for `readme` the distribution:
one threshold for all modules, whatever the corpus. One index of near-duplicates goes over all
documents of all corpora and sides, the held-out ones first; then held-out documents half or more
of whose twelve-word sequences stand in the training text are left out, in validation too.
When the ladders switch, this replaces `pocket.documents` and `pocket.split`.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from rbpkit.errors import InputError
from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket.documents import (
    Document,
    PocketDocuments,
    _read,
    documents_of_module,
    documents_of_text,
    module_files,
    read_documents,
)
from rbpkit.pocket.split import (
    SEED,
    NearDuplicates,
    dependency_closure,
    everywhere,
    lists_of,
    save_text,
    sequences_of,
    side_of,
    without_seen,
)

CORPORA = ("prose", "code", "qa", "readme")
SPLITS = ("train", "valid", "test")
PACKAGES = (
    "sympy", "networkx", "scipy", "pandas", "matplotlib", "numpy", "transformers", "datasets",
    "torch",
)  # fmt: skip
# Distributions that an installation of rbpkit brings on every supported Python and platform.
README_ROOTS = (
    "torch", "transformers", "datasets", "scipy", "pandas", "matplotlib", "seaborn", "papermill",
    "jupytext", "jupyterlab", "ipykernel", "ipywidgets", "pydantic", "typer", "tqdm", "sympy",
    "networkx", "datasketch",
)  # fmt: skip
NOT_ON_ALL = ("overrides", "pexpect", "ptyprocess")  # below Python 3.12, or not on Windows

TEST_SHARE, VALID_SHARE = 0.08, 0.02  # of the modules
README_TEST_SHARE, README_VALID_SHARE = 0.5, 0.1  # of the distributions: there are 133
TEST_DOCUMENTS = {"prose": 480, "code": 620, "qa": 2700, "readme": 800}
VALID_CHARACTERS = {"prose": 100_000, "code": 100_000, "qa": 50_000, "readme": 50_000}
README_SECTION_CHARACTERS = 600
MOST_OF_A_DISTRIBUTION = 100  # held-out sections: two distributions have a quarter of all text


# --- cutting -----------------------------------------------------------------------------


def readme_files() -> list[str]:
    """`name.dist-info/METADATA` of the distributions that every installation has, sorted."""
    names = {*dependency_closure(README_ROOTS), "torch"} - set(NOT_ON_ALL)
    return [f"{name}.dist-info/METADATA" for name in sorted(names)]


@lru_cache(maxsize=8192)
def documents_of_file(file: str) -> tuple[Document, ...]:
    """All documents of one installed file; empty where the file is not there."""
    if not file.endswith(".dist-info/METADATA"):
        text = _read(file)
        if text is None:
            return ()
        return tuple(documents_of_module(text, file, every_function=True))
    try:
        metadata = importlib.metadata.metadata(file.split(".dist-info")[0])
    except importlib.metadata.PackageNotFoundError:
        return ()
    text = metadata.get_payload() or metadata.get("Description") or ""
    return tuple(documents_of_text(text, file, "readme", README_SECTION_CHARACTERS))


# --- splitting ---------------------------------------------------------------------------


def split_of(document: Document) -> str:
    """The side on which a document's source falls, by a hash of the source's name."""
    if document.corpus == "readme":
        return side_of(document.file, README_TEST_SHARE, README_VALID_SHARE)
    return side_of(document.file, TEST_SHARE, VALID_SHARE)


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


def make_text(out: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Cut and split all corpora anew, and train their tokenizer: lists and tokenizer in `out`."""
    files = [f for f in module_files(PACKAGES) if everywhere(f, "")] + readme_files()
    split = split_documents([document for file in files for document in documents_of_file(file)])
    by_corpus = {
        corpus: {side: [d for d in split.documents[side] if d.corpus == corpus] for side in SPLITS}
        for corpus in CORPORA
    }
    lists = lists_of(by_corpus)
    lists["fingerprint"] = text_fingerprint(
        lists["documents"][c][s]["fingerprint"] for c in CORPORA for s in SPLITS
    )
    lists["left_out"] = {"near_duplicates": split.near_duplicates, "seen": split.mostly_seen}
    save_text(by_corpus, lists, _lists(), out, say)


# --- reading -----------------------------------------------------------------------------


def next_root() -> Path:
    """The folder of the next ladders: lists, tokenizer, what is trained so far."""
    return Path(str(resources.files("rbpkit") / "data" / "pocket" / "next"))


@lru_cache(maxsize=1)
def _lists() -> dict:
    path = next_root() / "documents.json.gz"
    if not path.is_file():
        raise InputError(f"{path} is missing: it is kept in the repository, not in the wheel")
    return json.loads(gzip.decompress(path.read_bytes()))


def fingerprint() -> str:
    """The one fingerprint of the whole text, all corpora and sides."""
    return _lists()["fingerprint"]


def load_documents(corpus: str, split: str) -> PocketDocuments:
    """A split of one corpus, read from the installed packages."""
    return read_documents(_lists(), corpus, split, documents_of_file)
