"""The pocket corpora: the installed text is the one that ships as lists, and stays on its side."""

import dataclasses

import pytest
from conftest import refused

from rbpkit.corpora import load_corpus
from rbpkit.text_files import text_fingerprint
from rbpkit_pocket import documents as pocket_documents
from rbpkit_pocket.documents import (
    PACKAGE_CORPORA,
    PackageDocument,
    documents_of_file,
    load_pocket_documents,
    read_lists,
)


def listed(corpus: str, split: str) -> list[tuple[str, str]]:
    """(file, name) of every document of a split, from the list alone."""
    lists = read_lists()
    entries = lists["documents"][corpus][split]["entries"]
    return [(lists["files"][i], name) for i, name in entries]


@pytest.mark.parametrize("corpus", PACKAGE_CORPORA)
@pytest.mark.parametrize("split", ["test", "valid", pytest.param("train", marks=pytest.mark.slow)])
def test_the_installed_text_has_the_shipped_fingerprint(corpus, split):
    loaded = load_pocket_documents(corpus, split)
    assert (loaded.missing, loaded.as_shipped) == (0, True)
    assert text_fingerprint(loaded.documents) == loaded.fingerprint
    # One document after the other is cut from the file named in its place.
    assert list(loaded.files) == [file for file, _ in listed(corpus, split)]
    for text, file in zip(loaded.documents, loaded.files, strict=True):
        assert text in {d.text for d in documents_of_file(file)}


def test_documents_that_are_gone_or_changed_are_seen(monkeypatch):
    f, g = (PackageDocument("code", "a.py", name, f"text of {name}") for name in "fg")
    installed = {"a.py": [f, g]}
    entries = {"entries": [[0, "g"], [0, "f"]]}
    entries["fingerprint"] = text_fingerprint([g.text, f.text])
    lists = {"files": ["a.py"], "documents": {"code": {"test": entries}}}
    monkeypatch.setattr(pocket_documents, "read_lists", lambda: lists)
    monkeypatch.setattr(pocket_documents, "documents_of_file", installed.__getitem__)
    as_it_was = load_pocket_documents("code")
    assert as_it_was.documents == (g.text, f.text)
    assert as_it_was.as_shipped and not as_it_was.missing
    installed["a.py"] = [f]
    gone = load_pocket_documents("code")
    assert (gone.documents, gone.missing, gone.as_shipped) == ((f.text,), 1, False)
    installed["a.py"] = [f, dataclasses.replace(g, text="another")]
    changed = load_pocket_documents("code")
    assert (changed.documents[0], changed.missing, changed.as_shipped) == ("another", 0, False)
    refused("pocket:code: another text than", load_corpus, "pocket:code")
