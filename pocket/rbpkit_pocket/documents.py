"""Text that every installation has: four small corpora cut out of installed, pinned packages.

`prose`   long docstrings
`code`    functions, without their docstring if that is a prose document
`qa`      qualified name and signature, newline, the one-line summary (short, as in HotpotQA)
`readme`  sections of the long descriptions (README, changes) of distributions

A list of files and names (`paths.DOCUMENTS`) says which documents make up a split, so only the
files that it names are parsed. The text depends on the installed versions: `fingerprint` names what
was read, `fingerprint_expected` the text behind the pocket models' numbers.
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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rbpkit.errors import InputError
from rbpkit.text_files import text_fingerprint
from rbpkit_pocket import paths

PACKAGE_CORPORA = ("prose", "code", "qa", "readme")
SPLITS = ("train", "valid", "test")
LEAST_CHARACTERS = 600  # of a prose document and of a readme section
GENERATED = re.compile(r"auto(matically)?[- ]?generated|generated (by|from|file)", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class PackageDocument:
    """One document: its corpus, the file that it was cut from, its name in that file, its text."""

    corpus: str
    file: str
    name: str
    text: str


@dataclass(frozen=True)
class PocketDocuments:
    """A split of one pocket corpus, in the order of the protocol.

    files: for each document the file that it was cut from: the module or, for `readme`, the
    distribution. The text was split by it, so a bootstrap resamples it.
    If `fingerprint` differs from `fingerprint_expected`, other versions of the packages are
    installed, and measured numbers must not be compared with the pocket models'. `missing` counts
    the listed documents that the installed packages do not have.
    """

    documents: tuple[str, ...]
    files: tuple[str, ...]
    fingerprint: str
    fingerprint_expected: str
    missing: int

    @property
    def as_shipped(self) -> bool:
        """Whether this is the text behind the pocket models' numbers."""
        return self.fingerprint == self.fingerprint_expected


def load_pocket_documents(corpus: str, split: str = "test") -> PocketDocuments:
    """A split of a pocket corpus, read from the installed packages.

    corpus: one of `PACKAGE_CORPORA`; split: "train", "valid" or "test" (the one that is measured).
    A document whose text has changed is taken as it now is; one that is missing is counted.

    Raises InputError for an unknown name, or if one of the packages is not installed.
    """
    if corpus not in PACKAGE_CORPORA or split not in SPLITS:
        raise InputError(
            f"no pocket corpus {corpus!r}, split {split!r}: "
            f"corpora are {', '.join(PACKAGE_CORPORA)}, splits {', '.join(SPLITS)}"
        )
    lists = read_lists()
    listed = lists["documents"][corpus][split]
    entries = [(lists["files"][number], name) for number, name in listed["entries"]]
    texts_of: dict[tuple[str, str], str] = {}
    for file in dict(entries):
        for document in documents_of_file(file):
            if document.corpus == corpus:
                texts_of[document.file, document.name] = document.text
    present = [entry for entry in entries if entry in texts_of]
    texts = tuple(texts_of[entry] for entry in present)
    return PocketDocuments(
        documents=texts,
        files=tuple(file for file, _ in present),
        fingerprint=text_fingerprint(texts),
        fingerprint_expected=listed["fingerprint"],
        missing=len(entries) - len(present),
    )


@cache
def read_lists() -> dict[str, Any]:
    """The lists, which are not to be changed.

    {"files": [...], "documents": {corpus: {split: {"fingerprint": ..., "entries": [[number of the
    file, name], ...]}}}}
    """
    return json.loads(gzip.decompress(paths.DOCUMENTS.read_bytes()))


@cache
def documents_of_file(file: str) -> tuple[PackageDocument, ...]:
    """All documents of one installed file; none if the file is not there.

    file: `package/path.py`, or `name.dist-info/METADATA` for a distribution's long description.
    """
    top, inside = file.split("/", 1)
    if top.endswith(".dist-info"):
        return tuple(_documents_of_readme(top.removesuffix(".dist-info"), file))
    spec = importlib.util.find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"the pocket corpora need {top}: pip install rbpkit-pocket")
    path = Path(spec.submodule_search_locations[0], inside)
    if not path.is_file():
        return ()
    source = path.read_text(encoding="utf-8", errors="replace")
    return tuple(documents_of_module(source, file))


def _documents_of_readme(distribution: str, file: str) -> Iterator[PackageDocument]:
    """The sections of a distribution's long description; none if it is not installed."""
    try:
        # An email message in fact, though its type does not say so.
        about: Any = importlib.metadata.metadata(distribution)
    except importlib.metadata.PackageNotFoundError:
        return
    description = about.get_payload() or about.get("Description") or ""
    for number, section in enumerate(sections(description), start=1):
        yield PackageDocument("readme", file, f"section {number}", section)


def sections(text: str) -> list[str]:
    """Paragraphs of a text joined to at least LEAST_CHARACTERS; a rest under a quarter is left."""
    whole = []
    current = ""
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        if paragraph.strip():
            separator = "\n\n" if current else ""
            current += separator + paragraph.strip("\n")
        if len(current) >= LEAST_CHARACTERS:
            whole.append(current)
            current = ""
    if len(current) >= LEAST_CHARACTERS // 4:
        whole.append(current)
    return whole


def documents_of_module(source: str, file: str) -> list[PackageDocument]:
    """The prose, code and qa documents of one Python file, in its order; none if generated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's strings
        try:
            tree = ast.parse("" if GENERATED.search(source[:2000]) else source)
        except (SyntaxError, ValueError):
            return []
    # As Python's parser ends a line; str.splitlines would also end one at a form feed.
    lines = re.split(r"\r\n?|\n", source)
    documents: list[PackageDocument] = []
    seen: Counter[tuple[str, str]] = Counter()

    def add(corpus: str, name: str, text: str) -> None:
        # A name may be bound twice in one file (properties, branches): number the later ones.
        seen[corpus, name] += 1
        nth = seen[corpus, name]
        numbered = name if nth == 1 else f"{name}#{nth}"
        documents.append(PackageDocument(corpus, file, numbered, text))

    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for name, node in _definitions(tree, module):
        docstring = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
        is_prose = len(docstring) >= LEAST_CHARACTERS
        if is_prose:
            add("prose", name, docstring)
        if isinstance(node, Function):
            if len(node.body) > 1:
                add("code", name, _code(lines, node, without_docstring=is_prose))
            summary = docstring.split("\n", 1)[0].strip()
            signature = _signature(lines, node)
            if len(summary.split()) >= 3 and signature:
                add("qa", name, f"{name.removesuffix(node.name)}{signature}\n{summary}")
    return documents


def _definitions(
    node: ast.Module | ast.ClassDef | Function, name: str
) -> Iterator[tuple[str, ast.Module | ast.ClassDef | Function]]:
    """A module or class, then its functions and classes, with dotted names; none in a function."""
    yield name, node
    if not isinstance(node, Function):
        for child in node.body:
            if isinstance(child, ast.ClassDef | Function):
                yield from _definitions(child, f"{name}.{child.name}")


def _signature(lines: list[str], node: Function) -> str | None:
    """`name(arguments)` as written, on one line; None if there is a comment in it.

    Cut from the source, because `ast.unparse` writes differently from one Python to the next.
    """
    first = node.body[0]
    lines = lines[node.lineno - 1 : first.lineno]
    lines[-1] = lines[-1].encode()[: first.col_offset].decode()
    written = " ".join(" ".join(lines).split())
    if "#" in written or not written.endswith(":"):
        return None
    return re.sub(r"^(async )?def ", "", written).rstrip(":").strip()


def _code(lines: list[str], node: Function, *, without_docstring: bool) -> str:
    """A function's lines with its decorators, dedented; without the lines of its docstring."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    kept = lines[first - 1 : node.end_lineno]
    docstring, after = node.body[:2]
    end = docstring.end_lineno or docstring.lineno
    on_separate_lines = node.lineno < docstring.lineno and end < after.lineno
    if without_docstring and on_separate_lines:
        del kept[docstring.lineno - first : end - first + 1]
    return textwrap.dedent("\n".join(kept))
