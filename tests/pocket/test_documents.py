"""The pocket corpora: how documents are cut and split, and what the shipped lists hold."""

import collections
import dataclasses
import gzip
import hashlib
import importlib.metadata
import json
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from rbpkit.errors import InputError
from rbpkit.files.text_files import text_fingerprint
from rbpkit.pocket import documents as pocket_documents
from rbpkit.pocket import split as pocket_split
from rbpkit.pocket.documents import (
    CORPORA,
    SPLITS,
    Document,
    document_modules,
    documents_of_file,
    documents_of_module,
    documents_of_text,
    load_pocket_documents,
)
from rbpkit.pocket.split import split_documents, split_of

ROOT = Path(__file__).resolve().parents[2]
LONG = "\n".join(f"    Line {i} of a docstring that is long enough to be prose." for i in range(12))


def cut(source: str, corpus: str) -> dict[str, str]:
    """{name: text} of one corpus's documents in a source."""
    found = [d for d in documents_of_module(source, "pkg/mod.py") if d.corpus == corpus]
    assert all(d.file == "pkg/mod.py" for d in found)
    assert len({d.name for d in found}) == len(found)
    return {d.name: d.text for d in found}


# --- one source file -----------------------------------------------------------------------

FORMS = f'''"""A short module docstring."""
import os

def alone(a, b=2, *args, key: "str" = "x", **rest) -> int:
    """Adds the two numbers.

{LONG}
    """
    return a + b

@cached(size=3)
@other
async def decorated(
    a,
    b,
):
    """Waits for both of them."""
    return a, b

def only_docstring():
    """Nothing here but words."""

def two_words(a):
    """Too short."""
    return a

def undocumented(a):
    b = a
    return b

def one_line(a):
    return a

class Outer:
    """A class with a docstring.

{LONG}
    """

    class Inner:
        def method(self, x):
            """
            Starts on the second line.

            And goes on.
            """
            def local():
                """Functions in functions are no documents."""
                return 1
            return local() + x

    @property
    def size(self):
        """The size of the thing."""
        return self._size

    @size.setter
    def size(self, value):
        """Sets the size of it."""
        self._size = value
'''


def test_qa_is_name_signature_and_summary_line():
    assert cut(FORMS, "qa") == {
        "pkg.mod.alone": (
            'pkg.mod.alone(a, b=2, *args, key: "str" = "x", **rest) -> int\nAdds the two numbers.'
        ),
        "pkg.mod.decorated": "pkg.mod.decorated( a, b, )\nWaits for both of them.",
        "pkg.mod.only_docstring": "pkg.mod.only_docstring()\nNothing here but words.",
        "pkg.mod.Outer.Inner.method": (
            "pkg.mod.Outer.Inner.method(self, x)\nStarts on the second line."
        ),
        "pkg.mod.Outer.size": "pkg.mod.Outer.size(self)\nThe size of the thing.",
        "pkg.mod.Outer.size#2": "pkg.mod.Outer.size(self, value)\nSets the size of it.",
    }


def test_code_is_every_function_with_decorators_without_indent_and_without_its_prose():
    code = cut(FORMS, "code")
    assert list(code) == [
        "pkg.mod.alone",
        "pkg.mod.decorated",
        "pkg.mod.two_words",
        "pkg.mod.undocumented",
        "pkg.mod.Outer.Inner.method",
        "pkg.mod.Outer.size",
        "pkg.mod.Outer.size#2",
    ]
    assert code["pkg.mod.alone"] == (
        'def alone(a, b=2, *args, key: "str" = "x", **rest) -> int:\n    return a + b'
    )
    assert code["pkg.mod.undocumented"] == "def undocumented(a):\n    b = a\n    return b"
    assert code["pkg.mod.decorated"] == (
        "@cached(size=3)\n@other\nasync def decorated(\n    a,\n    b,\n):\n"
        '    """Waits for both of them."""\n    return a, b'
    )
    assert code["pkg.mod.Outer.size#2"] == (
        '@size.setter\ndef size(self, value):\n    """Sets the size of it."""\n'
        "    self._size = value"
    )
    method = code["pkg.mod.Outer.Inner.method"]
    assert method.startswith('def method(self, x):\n    """\n    Starts on')
    assert method.endswith("\n    return local() + x")


def test_prose_is_the_long_docstring_as_a_reader_sees_it():
    prose = cut(FORMS, "prose")
    assert list(prose) == ["pkg.mod.alone", "pkg.mod.Outer"]
    body = "\n".join(line.strip() for line in LONG.splitlines())
    assert prose["pkg.mod.Outer"] == f"A class with a docstring.\n\n{body}"


@pytest.mark.parametrize(("characters", "there"), [(599, False), (600, True)])
def test_prose_begins_at_600_characters(characters, there):
    assert bool(cut(f'"""{"x" * characters}"""', "prose")) is there


def test_documents_stand_in_the_order_of_the_file_and_modules_have_dotted_names():
    source = f'"""Of the package.\n\n{LONG}\n"""\n' + FORMS.split("\n", 1)[1]
    for file, module in [("pkg/mod.py", "pkg.mod"), ("pkg/sub/__init__.py", "pkg.sub")]:
        found = documents_of_module(source, file)
        assert [(d.corpus, d.name) for d in found[:5]] == [
            ("prose", module),
            ("prose", f"{module}.alone"),
            ("code", f"{module}.alone"),
            ("qa", f"{module}.alone"),
            ("code", f"{module}.decorated"),
        ]


@pytest.mark.parametrize(
    "signature",
    ["(\n    a,  # the first\n    b,\n)", '(a="#")', "(a):  # noqa\n    # more\n   "],
)
def test_a_signature_with_a_comment_gives_no_qa(signature):
    colon = "" if ":" in signature else ":"
    source = f'def f{signature}{colon}\n    """Does this and that."""\n    return 1\n'
    assert list(cut(source, "code")) == ["pkg.mod.f"]
    assert cut(source, "qa") == {}


def test_a_docstring_on_the_line_of_the_signature_is_cut_off_at_its_byte():
    source = 'def f(a="é漢🙂"): "Says what it gets."; return a\n'
    assert cut(source, "qa") == {"pkg.mod.f": 'pkg.mod.f(a="é漢🙂")\nSays what it gets.'}
    assert cut(source, "code") == {"pkg.mod.f": source.strip()}


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
    "line",
    [
        "# This file was automatically generated from src/x.py.",
        "# Auto-generated, do not edit",
        "# AUTOGENERATED",
        "#   Generated by codegen",
    ],
)
def test_a_generated_file_gives_nothing(line):
    assert documents_of_module(FORMS, "pkg/mod.py")
    assert documents_of_module(f"{line}\n{FORMS}", "pkg/mod.py") == []
    # Far down it is only a word of some docstring.
    assert documents_of_module(f"{FORMS}{' ' * 2000}\n{line}", "pkg/mod.py")


@pytest.mark.parametrize("tail", ["def broken(:\n", "x = '\0'\n", "\tx = 1\n  y = 2\n"])
def test_a_file_that_python_cannot_parse_gives_nothing(tail):
    assert documents_of_module(FORMS + tail, "pkg/mod.py") == []


def test_bad_escapes_in_other_peoples_strings_are_not_warned_of(recwarn):
    assert documents_of_module(f'X = "\\d"\n{FORMS}', "pkg/mod.py")
    assert not recwarn.list


# --- sections of a text --------------------------------------------------------------------


def sections_of(text: str, characters: int = 1000) -> list[Document]:
    return documents_of_text(text, "a.dist-info/METADATA", "readme", characters)


def test_sections_are_whole_paragraphs_of_about_so_many_characters():
    paragraphs = [f"{i}. " + "word " * 69 + "end" for i in range(7)]  # 351 characters each
    sections = sections_of("\n\n  \n\n".join(paragraphs))
    assert [d.name for d in sections] == ["section 1", "section 2", "section 3"]
    assert {(d.corpus, d.file) for d in sections} == {("readme", "a.dist-info/METADATA")}
    assert [d.text for d in sections] == [
        "\n\n".join(paragraphs[:3]),
        "\n\n".join(paragraphs[3:6]),
        paragraphs[6],
    ]
    crlf = sections_of("\r\n\r\n".join(paragraphs))
    assert [d.text for d in crlf] == [d.text for d in sections]
    assert len(sections_of("\n\n".join(paragraphs), 600)) == 4  # of two paragraphs each


@pytest.mark.parametrize(("characters", "sections"), [(0, 0), (249, 0), (250, 1), (5000, 1)])
def test_a_text_of_one_paragraph(characters, sections):
    assert len(sections_of("x" * characters)) == sections


# --- installed files -----------------------------------------------------------------------


def test_module_files_leave_tests_out(tmp_path, monkeypatch):
    for file in ("__init__.py", "b.py", "sub/a.py", "tests/test_b.py", "sub/testing/c.py"):
        path = tmp_path / "rbpkit_fake" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FORMS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(pocket_documents, "PACKAGES", ("rbpkit_fake",))
    assert pocket_documents.module_files() == [
        "rbpkit_fake/__init__.py",
        "rbpkit_fake/b.py",
        "rbpkit_fake/sub/a.py",
    ]
    names = {d.name for d in documents_of_file("rbpkit_fake/sub/a.py")}
    assert "rbpkit_fake.sub.a.Outer.size#2" in names
    assert documents_of_file("rbpkit_fake/gone.py") == ()
    assert documents_of_file("rbpkit-no-such.dist-info/METADATA") == ()
    monkeypatch.setattr(pocket_documents, "PACKAGES", ("rbpkit_no_such",))
    with pytest.raises(InputError, match="rbpkit_no_such is not installed"):
        pocket_documents.module_files()


@pytest.mark.parametrize("header", [True, False])
def test_a_readme_is_the_description_of_the_installed_distribution(header, tmp_path, monkeypatch):
    name, words = f"rbpkit-fake-{header}".lower(), "word " * 130
    described = f"Description: {words}\n" if header else f"\n{words}\n\nA short rest.\n"
    folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n{described}")
    monkeypatch.syspath_prepend(tmp_path)
    (section,) = documents_of_file(f"{name}.dist-info/METADATA")
    assert (section.corpus, section.name) == ("readme", "section 1")
    assert section.text.split() == words.split()


# --- the shipped lists ---------------------------------------------------------------------


def listed(corpus: str, split: str) -> list[tuple[str, str]]:
    """(file, name) of every document of a split, from the list alone."""
    lists = pocket_documents.read_lists()
    entries = lists["documents"][corpus][split]["entries"]
    return [(lists["files"][i], name) for i, name in entries]


def other_versions(corpus: str) -> list[str]:
    """What is installed in other versions than constraints.txt, of what a corpus is read from."""
    files = [file for split in SPLITS for file, _ in listed(corpus, split)]
    names = {file.split("/")[0].removesuffix(".dist-info") for file in files}
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if "==" in line and not line.startswith("#"):
            name, version = line.split("==")
            pins[canonicalize_name(name)] = Version(version).public
    differ = []
    for name in sorted(map(canonicalize_name, names)):
        try:
            installed = Version(importlib.metadata.version(name)).public  # torch has "+cpu" or so
        except importlib.metadata.PackageNotFoundError:
            installed = None
        if installed != pins.get(name):
            differ.append(f"{name} {installed} (constraints.txt: {pins.get(name)})")
    return differ


def need_pinned_text(*corpora: str) -> None:
    differ = sorted({line for corpus in corpora for line in other_versions(corpus)})
    if differ:
        pytest.skip(f"needs the pinned packages: {', '.join(differ)}")


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("split", ["test", "valid", pytest.param("train", marks=pytest.mark.slow)])
def test_the_installed_text_has_the_shipped_fingerprint(corpus, split):
    need_pinned_text(corpus)
    loaded = load_pocket_documents(corpus, split)
    assert loaded.missing == 0
    assert loaded.fingerprint == loaded.fingerprint_expected
    assert loaded.as_shipped
    assert len(loaded.documents) == len(listed(corpus, split))
    assert text_fingerprint(loaded.documents) == loaded.fingerprint


def test_no_source_is_tested_in_one_corpus_and_trained_on_in_another():
    of = {s: {file for c in CORPORA for file, _ in listed(c, s)} for s in ("train", "test")}
    assert not of["train"] & of["test"]


@pytest.mark.parametrize("corpus", CORPORA)
def test_lists_are_what_split_of_says_within_budget_and_name_each_document_once(corpus):
    names, of_source = [], collections.Counter()
    for split in SPLITS:
        for file, name in listed(corpus, split):
            assert split_of(Document(corpus, file, name, "")) == split, f"{file} {name}"
            names.append((file, name))
            of_source[file] += split != "train"
    assert len(set(names)) == len(names)
    tested = len(listed(corpus, "test"))
    assert 0.5 * pocket_split.TEST_DOCUMENTS[corpus] < tested <= pocket_split.TEST_DOCUMENTS[corpus]
    if corpus == "readme":
        assert max(of_source.values()) <= pocket_split.MOST_OF_A_DISTRIBUTION


def test_only_what_every_installation_has_is_listed():
    need_pinned_text(*CORPORA)
    files = {file for corpus in CORPORA for split in SPLITS for file, _ in listed(corpus, split)}
    assert files == set(pocket_documents.read_lists()["files"])
    assert files <= set(pocket_split.source_files())
    assert not [file for file in files if file.startswith(("numpy/distutils", "torch/version"))]
    distributions = {file.removesuffix(".dist-info/METADATA") for file in files}
    assert distributions.isdisjoint({"rbpkit", "pexpect", "triton"}) and "torch" in distributions


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("split", ["test", "valid"])
def test_modules_stand_in_the_order_of_the_documents(corpus, split):
    """One document after the other: the text of each is cut from the file named in its place."""
    loaded, modules = load_pocket_documents(corpus, split), document_modules(corpus, split)
    if loaded.missing:
        pytest.skip(f"needs the pinned packages: {loaded.missing} documents are missing")
    for text, module, (file, _) in zip(
        loaded.documents, modules, listed(corpus, split), strict=True
    ):
        assert module == file
        assert text in {d.text for d in documents_of_file(file)}


@lru_cache(maxsize=8192)
def shingles(text: str) -> frozenset[str]:
    """The set of five-word shingles, counted here apart from pocket_split."""
    words = re.findall(r"\w+", text.lower())
    return frozenset(" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4)))


def similar_pairs(some: list[str], others: list[str], least: float) -> list[tuple[float, str, str]]:
    """Pairs (one of each) with an exact Jaccard similarity of `least` or more."""
    sets = [shingles(text) for text in some]
    where = collections.defaultdict(list)
    for i, one in enumerate(sets):
        for shingle in one:
            where[shingle].append(i)
    found = []
    for text in others:
        other = shingles(text)
        common = collections.Counter(i for shingle in other for i in where.get(shingle, ()))
        for i, n in common.items():
            jaccard = n / (len(sets[i]) + len(other) - n)
            if jaccard >= least:
                found.append((jaccard, some[i], text))
    return found


def test_the_exact_similarity_finds_what_it_is_to_find():
    words = " ".join(map(str, range(104)))  # 100 shingles; another last word changes one
    pairs = similar_pairs([words, "a b"], [words + "x", "c d", "a b"], 0.8)
    assert [round(p[0], 3) for p in pairs] == [round(99 / 101, 3), 1.0]


def texts_of(corpus: str, split: str, every: int = 1) -> list[str]:
    """The texts of a split; of every n-th file only, for a sample."""
    files = sorted({file for file, _ in listed(corpus, split)})[::every]
    wanted = {(file, name) for file, name in listed(corpus, split) if file in set(files)}
    return [
        d.text
        for file in files
        for d in documents_of_file(file)
        if d.corpus == corpus and (file, d.name) in wanted
    ]


@pytest.mark.parametrize("every", [80, pytest.param(1, marks=pytest.mark.slow)])
def test_no_text_or_near_duplicate_of_it_is_on_two_sides(every):
    """Held-out text of all corpora against a sample of the training files (slow: all of them)."""
    need_pinned_text(*CORPORA)
    test, valid, train = (
        [text for corpus in CORPORA for text in texts_of(corpus, split, step)]
        for split, step in (("test", 1), ("valid", 1), ("train", every))
    )
    assert min(len(test), len(valid), len(train)) >= 400
    for some, others in [(test, train), (valid, train), (test, valid)]:
        assert not set(some) & set(others)
        pairs = similar_pairs(some, others, 0.8)
        shown = [(round(j, 3), one[:80], other[:80]) for j, one, other in pairs]
        assert all(pair[0] < 0.9 for pair in pairs), shown
        # 64 permutations let a pair through now and then.
        assert len({one for _, one, _ in pairs}) <= 0.01 * len(some), shown


@pytest.mark.parametrize("read", [load_pocket_documents, document_modules])
@pytest.mark.parametrize(("corpus", "split"), [("proze", "test"), ("prose", "dev"), ("", "")])
def test_a_name_that_is_not_there_is_refused(read, corpus, split):
    with pytest.raises(InputError) as caught:
        read(corpus, split)
    message = str(caught.value)
    assert "\n" not in message
    for part in (repr(corpus), repr(split), *CORPORA, *SPLITS):
        assert part in message


def test_lists_that_are_not_there_are_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(pocket_documents, "lists_path", lambda: tmp_path / "documents.json.gz")
    with pytest.raises(InputError, match=r"documents\.json\.gz is missing"):
        pocket_documents.read_lists.__wrapped__()


def test_documents_that_are_gone_or_changed_are_seen(monkeypatch):
    installed = {
        "a.py": [Document("code", "a.py", "f", "one"), Document("qa", "a.py", "f", "another")],
        "b.py": [Document("code", "b.py", "g", "two"), Document("code", "b.py", "f", "three")],
    }
    listed = {"entries": [[1, "f"], [0, "f"], [1, "g"]]}
    listed["fingerprint"] = text_fingerprint(["three", "one", "two"])
    lists = {"files": ["a.py", "b.py"], "documents": {"code": {"test": listed}}}
    monkeypatch.setattr(pocket_documents, "read_lists", lambda: lists)
    monkeypatch.setattr(pocket_documents, "documents_of_file", installed.__getitem__)

    def read() -> pocket_documents.PocketDocuments:
        return load_pocket_documents("code")

    as_it_was = read()
    assert as_it_was.documents == ("three", "one", "two")
    assert as_it_was.as_shipped and not as_it_was.missing
    gone = installed["b.py"].pop()
    assert (read().documents, read().missing, read().as_shipped) == (("one", "two"), 1, False)
    installed["b.py"].append(Document("code", "b.py", gone.name, "three!"))
    assert (read().documents[0], read().missing, read().as_shipped) == ("three!", 0, False)
    assert read().fingerprint_expected == as_it_was.fingerprint


# --- splitting -----------------------------------------------------------------------------


@pytest.fixture
def even(monkeypatch):
    """Sides of nearly equal size."""
    monkeypatch.setattr(pocket_split, "TEST_SHARE", 0.4)
    monkeypatch.setattr(pocket_split, "VALID_SHARE", 0.2)


def words(number: int, count: int = 60) -> str:
    return " ".join(f"w{number}x{i}" for i in range(count))


def made_up(modules: int, each: int = 4) -> list[Document]:
    """Documents of 60 words of their own, `each` of them from each module."""
    return [
        Document("code", f"pkg/m{m}.py", f"f{i}", words(each * m + i))
        for m in range(modules)
        for i in range(each)
    ]


def test_one_source_is_on_one_side_in_all_corpora_and_nothing_is_there_twice(even):
    corpora = ("prose", "code", "qa")
    documents = [
        Document(corpus, f"pkg/m{m}.py", f"f{corpus}", words(10 * m + i))
        for m in range(60)
        for i, corpus in enumerate(corpora)
    ]
    # Copies: of a document in another corpus of another module, and inside a longer text of it.
    code = [d for d in documents if d.corpus == "code"]
    copies = [
        dataclasses.replace(d, corpus="prose", file=f"copy/{d.file}", text=d.text + " more")
        for d in code
    ]
    longer = [
        Document("code", f"long/{d.file}", d.name, f"{words(7000 + i, 500)} {d.text}")
        for i, d in enumerate(documents)
        if d.corpus == "qa"
    ]
    split = split_documents([*documents, *copies, *longer])
    side = {d: s for s, ds in split.documents.items() for d in ds}
    assert len(side) == sum(map(len, split.documents.values()))
    for one in {d.file for d in side}:
        assert len({s for d, s in side.items() if d.file == one}) == 1
    assert split.near_duplicates == len(copies)
    rank, crossed = ("test", "valid", "train"), 0  # the side that is filled first keeps it
    for document, copy in zip(code, copies, strict=True):
        kept, gone = (document, copy) if document in side else (copy, document)
        assert kept in side and gone not in side
        assert rank.index(side[kept]) <= rank.index(split_of(gone))
        crossed += side[kept] != split_of(gone)
    assert crossed >= 5
    held = [d for s in ("test", "valid") for d in split.documents[s] if d.corpus == "qa"]
    train = " ".join(d.text for d in split.documents["train"])
    assert held and all(d.text not in train for d in held)
    gone = [d for d in documents if d not in side and d.corpus == "qa"]
    assert len(gone) == split.mostly_seen > 0
    assert all(d.text in train and split_of(d) != "train" for d in gone)


def test_split_takes_every_document_once_in_an_order_that_is_always_the_same(even):
    documents = made_up(60)
    split = split_documents(documents)
    assert split == split_documents(list(documents))
    assert (split.near_duplicates, split.mostly_seen) == (0, 0)
    assert sorted(split.documents) == sorted(SPLITS)
    order = [documents[i] for i in np.random.default_rng(42).permutation(len(documents))]
    for side, share in [("test", 24), ("valid", 12), ("train", 24)]:
        taken = split.documents[side]
        assert taken == [d for d in order if split_of(d) == side]
        assert abs(len({d.file for d in taken}) - share) <= 12  # over three standard deviations


def test_split_keeps_what_is_alike_in_subject_only(even):
    documents = made_up(20, each=1)
    halves = [
        Document(d.corpus, f"half/{d.file}", "g", d.text[: len(d.text) // 3] + e.text)
        for d, e in zip(documents, made_up(40, each=1)[20:], strict=True)
    ]
    split = split_documents(documents + halves)
    assert sum(map(len, split.documents.values())) == 40


def test_a_side_ends_where_its_budget_ends(even, monkeypatch):
    documents = made_up(60)
    most = 5 * max(len(d.text) for d in documents)
    monkeypatch.setitem(pocket_split.TEST_DOCUMENTS, "code", 7)
    monkeypatch.setitem(pocket_split.VALID_CHARACTERS, "code", most)
    monkeypatch.setattr(pocket_split, "MOST_OF_A_DISTRIBUTION", 3)
    readmes = [
        Document("readme", d.file.replace("pkg", "readme"), d.name, d.text.replace("w", "r"))
        for d in made_up(99)
    ]
    taken = split_documents(documents + readmes).documents
    of = {side: [d for d in taken[side] if d.corpus == "code"] for side in SPLITS}
    assert len(of["test"]) == 7
    lengths = [len(d.text) for d in of["valid"]]
    assert sum(lengths) >= most > sum(lengths[:-1])
    assert len(of["train"]) == sum(split_of(d) == "train" for d in documents)
    for side, each in (("test", 3), ("valid", 3), ("train", 4)):
        sections = collections.Counter(d.file for d in taken[side] if d.corpus == "readme")
        assert sections and set(sections.values()) == {each}


def test_the_side_is_that_of_the_source_by_a_hash_of_its_name():
    def side(corpus: str, file: str, name: str = "f") -> str:
        return split_of(Document(corpus, file, name, name))

    def expected(file: str, test: float, valid: float) -> str:
        u = int(hashlib.sha256(file.encode()).hexdigest()[:16], 16) / 2**64
        return "test" if u < test else "valid" if u < test + valid else "train"

    sides = set()
    for i in range(200):
        file, readme = f"pkg/m{i}.py", f"d{i}.dist-info/METADATA"
        for corpus in ("prose", "code", "qa"):
            assert side(corpus, file, corpus) == expected(file, 0.08, 0.02)
        sides.add(side("code", file))
        assert side("readme", readme) == expected(readme, 0.5, 0.1)
    assert sides == set(SPLITS)


def test_dependencies_are_followed_and_what_is_left_out_is_not(monkeypatch):
    requires = {
        "a": ["B_b>=1", "torch", "never; python_version < '3'", "extra; extra == 'test'"],
        "b-b": ["a", "elsewhere"],
    }

    def of(name):
        if name not in requires:
            raise importlib.metadata.PackageNotFoundError(name)
        return requires[name]

    monkeypatch.setattr(pocket_split.importlib.metadata, "requires", of)
    assert pocket_split.dependency_closure(("A",)) == ["a", "b-b"]


# --- what the training text of any corpus mostly holds ---------------------------------------


def test_documents_that_training_mostly_holds_are_left_out():
    """A docstring inside a longer function of another corpus: Jaccard is low, containment is 1."""

    def documents(*texts: str) -> list[Document]:
        return [Document("code", "a.py", str(i), text) for i, text in enumerate(texts)]

    held, fresh, short = words(1, 40), words(2, 40), words(3, 5)
    # 40 words are 29 sequences of twelve; a copy of 26 words holds 15 of them, of 25 words 14.
    over, under = words(4, 26), words(5, 25)
    seen = pocket_split.sequences_of(documents(words(6, 500) + " " + held, over, under, short))
    test = documents(held, fresh, words(4, 40), words(5, 40), short, words(7, 5))
    kept = pocket_split.without_seen(test, seen)
    assert [d.text for d in kept] == [fresh, words(5, 40), words(7, 5)]


@pytest.mark.slow
def test_no_shipped_test_document_is_mostly_in_the_training_text():
    """Twelve-word sequences, counted again here without the code that made the lists."""

    def sequences(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[i : i + 12]) for i in range(max(1, len(words) - 11))}

    seen = set()
    for corpus in CORPORA:
        for text in load_pocket_documents(corpus, "train").documents:
            seen |= sequences(text)
    for corpus in CORPORA:
        for text in load_pocket_documents(corpus, "test").documents:
            own = sequences(text)
            assert len(own & seen) < 0.5 * len(own), text[:200]


# --- the text made anew -----------------------------------------------------------------------


def test_a_text_is_cut_split_and_given_a_tokenizer(tmp_path, monkeypatch):
    files = [f for f in pocket_documents.module_files(["networkx"]) if "/algorithms/" in f][::3]
    monkeypatch.setattr(pocket_split, "module_files", lambda: files)
    monkeypatch.setattr(pocket_split, "README_ROOTS", ("numpy",))
    said: list[str] = []
    out = tmp_path / "text"
    pocket_split.make_text(out, say=said.append)
    lists = json.loads(gzip.decompress((out / "documents.json.gz").read_bytes()))
    assert set(lists["documents"]) == set(CORPORA)
    assert lists["left_out"].keys() == {"near_duplicates", "seen"}
    monkeypatch.setattr(pocket_documents, "read_lists", lambda: lists)
    for split in SPLITS:
        loaded = load_pocket_documents("code", split)
        assert loaded.as_shipped and not loaded.missing
        assert loaded.documents or split == "valid"  # a fiftieth of the modules
    assert said[0].startswith("prose: train ") and said[-1].endswith(
        "another text than the one that ships"
    )
    tokenizer = json.loads((out / "tokenizer" / "tokenizer.json").read_text())
    assert 1000 < len(tokenizer["model"]["vocab"]) <= 4096


@pytest.mark.slow
def test_the_text_made_anew_is_the_shipped_one_and_its_tokenizer_too(tmp_path):
    need_pinned_text(*CORPORA)
    said: list[str] = []
    pocket_split.make_text(tmp_path, say=said.append)
    assert said[-1].endswith(": the text that ships")
    lists = gzip.decompress((tmp_path / "documents.json.gz").read_bytes())
    assert json.loads(lists) == pocket_documents.read_lists()
    shipped = pocket_documents.lists_path().with_name("tokenizer") / "tokenizer.json"
    assert (tmp_path / "tokenizer" / "tokenizer.json").read_bytes() == shipped.read_bytes()
