"""The text of the next ladders: more of it, split once for all corpora. Nothing reads it yet.

`prose`   long docstrings
`code`    functions, with or without a docstring; one that is a prose document is left out of it
`qa`      qualified name and signature, newline, the one-line summary
`readme`  sections of the long descriptions (README, changes) that distributions carry

Only what every supported installation has (`pocket.portable`), torch's own modules among it. The
side of a document is decided by a hash of its source, the module or for `readme` the distribution:
one threshold for all modules, whatever the corpus. One index of near-duplicates goes over all
documents of all corpora and sides, the held-out ones first; then held-out documents half or more
of whose twelve-word sequences stand in the training text are left out, in validation too.
When the ladders switch, this replaces `pocket.documents` and `pocket.split`.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import importlib.metadata
import inspect
import json
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rbpkit.errors import InputError
from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket.documents import (
    _LINE_END,
    GENERATED,
    PROSE_MIN_CHARACTERS,
    Document,
    PocketDocuments,
    _read,
    _signature,
    _summary_line,
    _walk,
    module_files,
    sections,
)
from rbpkit.pocket.portable import everywhere

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

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

SEED = 42
TEST_SHARE, VALID_SHARE = 0.08, 0.02  # of the modules
README_TEST_SHARE, README_VALID_SHARE = 0.5, 0.1  # of the distributions: there are 133
TEST_DOCUMENTS = {"prose": 480, "code": 620, "qa": 2700, "readme": 800}
VALID_CHARACTERS = {"prose": 100_000, "code": 100_000, "qa": 50_000, "readme": 50_000}
README_SECTION_CHARACTERS = 600
MOST_OF_A_DISTRIBUTION = 100  # held-out sections: two distributions have a quarter of all text


# --- cutting -----------------------------------------------------------------------------


def documents_of_module(source: str, file: str) -> list[Document]:
    """The prose, code and qa documents of one Python source file, in the order of the file."""
    if GENERATED.search(source[:2000]):
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old escapes in other people's strings
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return []
    lines = _LINE_END.split(source)
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found: list[Document] = []
    seen: Counter[tuple[str, str]] = Counter()

    def add(corpus: str, name: str, text: str) -> None:
        # A name may be bound twice in one file (properties, branches): number the later ones.
        seen[corpus, name] += 1
        nth = seen[corpus, name]
        found.append(Document(corpus, file, name if nth == 1 else f"{name}#{nth}", text))

    for name, node in [(module, tree), *_walk(tree.body, module)]:
        raw = ast.get_docstring(node, clean=False)
        docstring = inspect.cleandoc(raw) if raw else ""
        is_prose = len(docstring) >= PROSE_MIN_CHARACTERS
        if is_prose:
            add("prose", name, docstring)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if len(node.body) > 1:
            add("code", name, _code(lines, node, without_docstring=is_prose))
        if docstring:
            signature, summary = _signature(lines, node), _summary_line(docstring)
            if signature and len(summary.split()) >= 3:
                add("qa", name, f"{name.removesuffix(node.name)}{signature}\n{summary}")
    return found


def _code(
    lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef, *, without_docstring: bool
) -> str:
    """A function's lines with its decorators, dedented; without the lines of its docstring."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    before, after = node.body[0], node.body[1]  # the docstring and what follows it
    alone = node.lineno < before.lineno and before.end_lineno < after.lineno
    if without_docstring and alone:  # on lines of its own
        kept = lines[first - 1 : before.lineno - 1] + lines[before.end_lineno : node.end_lineno]
    else:
        kept = lines[first - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(kept))


def documents_of_readme(text: str, file: str) -> list[Document]:
    """Sections of a long description, most of them shorter than a context."""
    found = sections(text, README_SECTION_CHARACTERS)
    return [Document("readme", file, f"section {i}", s) for i, s in enumerate(found, 1)]


def readme_files() -> list[str]:
    """`name.dist-info/METADATA` of the distributions that every installation has, sorted."""
    from rbpkit.pocket.split import dependency_closure

    names = {*dependency_closure(README_ROOTS), "torch"} - set(NOT_ON_ALL)
    return [f"{name}.dist-info/METADATA" for name in sorted(names)]


@lru_cache(maxsize=8192)
def documents_of_file(file: str) -> tuple[Document, ...]:
    """All documents of one installed file; empty where the file is not there."""
    if not file.endswith(".dist-info/METADATA"):
        text = _read(file)
        return () if text is None else tuple(documents_of_module(text, file))
    try:
        metadata = importlib.metadata.metadata(file.split(".dist-info")[0])
    except importlib.metadata.PackageNotFoundError:
        return ()
    text = metadata.get_payload() or metadata.get("Description") or ""
    return tuple(documents_of_readme(text, file))


# --- splitting ---------------------------------------------------------------------------


def split_of(document: Document) -> str:
    """The side on which a document's source falls, by a hash of the source's name."""
    u = int.from_bytes(hashlib.sha256(document.file.encode()).digest()[:8], "big") / 2**64
    of_readme = document.corpus == "readme"
    test, valid = (
        (README_TEST_SHARE, README_VALID_SHARE) if of_readme else (TEST_SHARE, VALID_SHARE)
    )
    return "test" if u < test else "valid" if u < test + valid else "train"


def sequences(text: str) -> np.ndarray:
    """64-bit hashes of a text's sequences of twelve words; a shorter text is one sequence."""
    from rbpkit.pocket.split import SEEN_WORDS

    words = re.findall(r"\w+", text.lower())
    runs = (" ".join(words[i : i + SEEN_WORDS]) for i in range(max(1, len(words) - SEEN_WORDS + 1)))
    digests = b"".join(hashlib.blake2b(run.encode(), digest_size=8).digest() for run in runs)
    return np.unique(np.frombuffer(digests, dtype=np.uint64))


def share_seen(text: str, seen: np.ndarray) -> float:
    """The share of a text's sequences of twelve words that are in `seen`, ascending hashes."""
    own = sequences(text)
    at = np.minimum(np.searchsorted(seen, own), len(seen) - 1)
    return float((seen[at] == own).mean())


@dataclass(frozen=True)
class Split:
    """Documents by side, in the order in which they were taken, and how many were left out."""

    documents: dict[str, list[Document]]
    near_duplicates: int
    mostly_seen: int


def split_documents(documents: list[Document]) -> Split:
    """Split documents of all corpora: one order, one index of near-duplicates, one of sequences."""
    from datasketch import MinHashLSH

    from rbpkit.pocket.split import JACCARD, PERMUTATIONS, SEEN_SHARE, shingle_hash

    order = np.random.default_rng(SEED).permutation(len(documents))
    index = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)
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
            minhash = shingle_hash(document.text)
            if index.query(minhash):
                near += 1
                continue
            index.insert(int(i), minhash)
            taken[split].append(document)
            count[document.corpus] += split == "test"
            count[key] += len(document.text) if split == "valid" else 0
            of_source[document.file] += 1
    seen = np.unique(np.concatenate([sequences(d.text) for d in taken["train"]]))
    before = len(taken["test"]) + len(taken["valid"])
    for split in ("test", "valid"):
        taken[split] = [d for d in taken[split] if share_seen(d.text, seen) < SEEN_SHARE]
    return Split(taken, near, before - len(taken["test"]) - len(taken["valid"]))


def write_lists() -> dict[str, dict[str, int]]:
    """Cut, split and deduplicate all corpora; write the lists; return document counts."""
    files = [f for f in module_files(PACKAGES) if everywhere(f, "")] + readme_files()
    documents = [document for file in files for document in documents_of_file(file)]
    split = split_documents(documents)
    used = sorted({d.file for documents in split.documents.values() for d in documents})
    number = {file: i for i, file in enumerate(used)}
    lists: dict = {"files": used, "documents": {c: {} for c in CORPORA}}
    for corpus in CORPORA:
        for side in SPLITS:
            own = [d for d in split.documents[side] if d.corpus == corpus]
            lists["documents"][corpus][side] = {
                "fingerprint": text_fingerprint(d.text for d in own),
                "entries": [[number[d.file], d.name] for d in own],
            }
    lists["fingerprint"] = text_fingerprint(
        lists["documents"][c][s]["fingerprint"] for c in CORPORA for s in SPLITS
    )
    lists["left_out"] = {"near_duplicates": split.near_duplicates, "seen": split.mostly_seen}
    next_root().mkdir(parents=True, exist_ok=True)
    data = json.dumps(lists, separators=(",", ":")).encode()
    (next_root() / "documents.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    _lists.cache_clear()
    return {
        c: {s: len(listed["entries"]) for s, listed in sides.items()}
        for c, sides in lists["documents"].items()
    }


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
    lists = _lists()
    listed = lists["documents"][corpus][split]
    texts = []
    for file_index, name in listed["entries"]:
        for document in documents_of_file(lists["files"][file_index]):
            if (document.corpus, document.name) == (corpus, name):
                texts.append(document.text)
    return PocketDocuments(
        corpus=corpus,
        split=split,
        documents=tuple(texts),
        fingerprint=text_fingerprint(texts),
        fingerprint_expected=listed["fingerprint"],
        missing=len(listed["entries"]) - len(texts),
    )


def training_texts() -> Iterator[str]:
    """Every training document, corpus by corpus."""
    for corpus in CORPORA:
        yield from load_documents(corpus, "train").documents


def load_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of the next ladders, trained on their training text."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(next_root() / "tokenizer", local_files_only=True)
