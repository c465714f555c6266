"""The pocket corpora: how documents are cut and split, and what the shipped lists hold."""

import importlib.metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from rbpkit.files.text_files import text_fingerprint
from rbpkit_pocket import documents as pocket_documents
from rbpkit_pocket.documents import (
    PACKAGE_CORPORA,
    SPLITS,
    PackageDocument,
    documents_of_file,
    documents_of_module,
    load_pocket_documents,
    sections,
)

ROOT = Path(__file__).resolve().parents[2]
LONG = "\n".join(f"    Line {i} of a docstring that is long enough to be prose." for i in range(12))


def cut(source: str, corpus: str) -> dict[str, str]:
    """{name: text} of one corpus's documents in a source."""
    found = [d for d in documents_of_module(source, "pkg/mod.py") if d.corpus == corpus]
    assert len({d.name for d in found}) == len(found)
    return {d.name: d.text for d in found}


# --- one source file -----------------------------------------------------------------------

FORMS = f'''
def alone(a, b=2, *args, key: "str" = "x", **rest) -> int:
    """Adds the two numbers.

{LONG}
    """
    return a + b

@cached(size=3)
async def decorated(
    a,
):
    """Waits for it and returns."""
    return a

def only_docstring():
    """Nothing here but words."""

def two_words(a):
    """Too short."""
    return a

class Outer:
    @property
    def size(self):
        """The size of the thing."""
        def local():
            """Functions in functions are no documents."""
        return self._size

    @size.setter
    def size(self, value):
        self._size = value
        return
'''


def test_documents_of_a_module():
    body = "\n".join(line.strip() for line in LONG.splitlines())
    assert cut(FORMS, "prose") == {"pkg.mod.alone": f"Adds the two numbers.\n\n{body}"}
    assert cut(FORMS, "qa") == {
        "pkg.mod.alone": (
            'pkg.mod.alone(a, b=2, *args, key: "str" = "x", **rest) -> int\nAdds the two numbers.'
        ),
        "pkg.mod.decorated": "pkg.mod.decorated( a, )\nWaits for it and returns.",
        "pkg.mod.only_docstring": "pkg.mod.only_docstring()\nNothing here but words.",
        "pkg.mod.Outer.size": "pkg.mod.Outer.size(self)\nThe size of the thing.",
    }
    code = cut(FORMS, "code")
    assert code.pop("pkg.mod.Outer.size").startswith('@property\ndef size(self):\n    """The size')
    assert code == {
        "pkg.mod.alone": (
            'def alone(a, b=2, *args, key: "str" = "x", **rest) -> int:\n    return a + b'
        ),
        "pkg.mod.decorated": (
            "@cached(size=3)\nasync def decorated(\n    a,\n):\n"
            '    """Waits for it and returns."""\n    return a'
        ),
        "pkg.mod.two_words": 'def two_words(a):\n    """Too short."""\n    return a',
        "pkg.mod.Outer.size#2": (
            "@size.setter\ndef size(self, value):\n    self._size = value\n    return"
        ),
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_where_the_parser_ends_them(end):
    # A form feed between functions, and separators in a string, are no line ends in Python.
    source = (
        "X = '\x1c \x85 \u2028'\n\x0c\n"
        'def first(a):\n    """The first of the two."""\n    return a\n\x0c\n'
        'def second(b):\n    """The second of the two."""\n    return b\n'
    ).replace("\n", end)
    assert cut(source, "qa") == {
        "pkg.mod.first": "pkg.mod.first(a)\nThe first of the two.",
        "pkg.mod.second": "pkg.mod.second(b)\nThe second of the two.",
    }
    assert cut(source, "code")["pkg.mod.second"] == (
        'def second(b):\n    """The second of the two."""\n    return b'
    )


@pytest.mark.parametrize(
    "source",
    [f"# This file was automatically generated from src/x.py.\n{FORMS}", FORMS + "def broken(:\n"],
    ids=["generated", "no Python"],
)
def test_a_file_that_is_generated_or_cannot_be_parsed_gives_nothing(source):
    assert documents_of_module(source, "pkg/mod.py") == []


def test_sections_are_whole_paragraphs_of_at_least_600_characters():
    paragraphs = [f"{i}. " + "word " * 69 + "end" for i in range(5)]  # 351 characters each
    expected = ["\n\n".join(paragraphs[:2]), "\n\n".join(paragraphs[2:4]), paragraphs[4]]
    assert sections("\n\n  \n\n".join(paragraphs)) == expected
    assert sections("\r\n\r\n".join(paragraphs)) == expected
    assert [len(sections("x" * n)) for n in (0, 149, 150, 5000)] == [0, 0, 1, 1]


# --- the shipped lists ---------------------------------------------------------------------


def listed(corpus: str, split: str) -> list[tuple[str, str]]:
    """(file, name) of every document of a split, from the list alone."""
    lists = pocket_documents.read_lists()
    entries = lists["documents"][corpus][split]["entries"]
    return [(lists["files"][i], name) for i, name in entries]


def need_pinned_text(*corpora: str) -> None:
    """Skip if what these corpora are read from is installed in other versions than the pins."""
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if "==" in line and not line.startswith("#"):
            name, version = line.split("==")
            pins[canonicalize_name(name)] = Version(version).public
    files = {file for corpus in corpora for split in SPLITS for file, _ in listed(corpus, split)}
    for name in sorted({file.split("/")[0].removesuffix(".dist-info") for file in files}):
        try:
            installed = Version(importlib.metadata.version(name)).public  # torch has "+cpu" or so
        except importlib.metadata.PackageNotFoundError:
            installed = None
        if installed != pins.get(canonicalize_name(name)):
            pytest.skip(f"needs the pinned packages, and {name} is {installed}")


@pytest.mark.parametrize("corpus", PACKAGE_CORPORA)
@pytest.mark.parametrize("split", ["test", "valid", pytest.param("train", marks=pytest.mark.slow)])
def test_the_installed_text_has_the_shipped_fingerprint(corpus, split):
    need_pinned_text(corpus)
    loaded = load_pocket_documents(corpus, split)
    assert (loaded.missing, loaded.as_shipped) == (0, True)
    assert text_fingerprint(loaded.documents) == loaded.fingerprint
    # One document after the other is cut from the file named in its place.
    assert list(loaded.files) == [file for file, _ in listed(corpus, split)]
    for text, file in zip(loaded.documents, loaded.files, strict=True):
        assert text in {d.text for d in documents_of_file(file)}


@pytest.mark.parametrize("corpus", PACKAGE_CORPORA)
def test_each_document_is_listed_once_and_its_source_is_on_one_side(corpus):
    every = [entry for split in SPLITS for entry in listed(corpus, split)]
    assert len(set(every)) == len(every)
    train, test = ({file for file, _ in listed(corpus, split)} for split in ("train", "test"))
    assert train and test and not train & test


def test_documents_that_are_gone_or_changed_are_seen(monkeypatch):
    texts = {("a.py", "f"): "one", ("b.py", "g"): "two", ("b.py", "f"): "three"}

    def installed(file: str) -> list[PackageDocument]:
        found = [(name, text) for (where, name), text in texts.items() if where == file]
        return [PackageDocument("code", file, name, text) for name, text in found]

    listed = {"entries": [[1, "f"], [0, "f"], [1, "g"]]}
    listed["fingerprint"] = text_fingerprint(["three", "one", "two"])
    lists = {"files": ["a.py", "b.py"], "documents": {"code": {"test": listed}}}
    monkeypatch.setattr(pocket_documents, "read_lists", lambda: lists)
    monkeypatch.setattr(pocket_documents, "documents_of_file", installed)
    as_it_was = load_pocket_documents("code")
    assert as_it_was.documents == ("three", "one", "two")
    assert as_it_was.as_shipped and not as_it_was.missing
    texts["b.py", "f"] = "three!"
    now = load_pocket_documents("code")
    assert (now.documents[0], now.missing, now.as_shipped) == ("three!", 0, False)
    del texts["b.py", "f"]
    now = load_pocket_documents("code")
    assert (now.documents, now.missing, now.as_shipped) == (("one", "two"), 1, False)
