"""What was left out of the held-out text, and which module each document is from."""

import pytest

from rbpkit.errors import InputError
from rbpkit.pocket import documents as pocket_documents
from rbpkit.pocket.documents import (
    CORPORA,
    document_modules,
    documents_of_file,
    load_pocket_documents,
)
from rbpkit.pocket.portable import everywhere


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_held_out_module_text_is_missing_anywhere(corpus):
    for split in ("test", "valid"):
        for file, name in listed(corpus, split):
            assert everywhere(file, name), f"{corpus} {split}: {file} {name}"
    assert not everywhere("numpy/distutils/core.py", "numpy.distutils.core.setup")
    assert everywhere("numpy/distutils_too.py", "f")


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
        assert module == (file.split("/")[0] if corpus == "legal" else file)
        assert text in {d.text for d in documents_of_file(file)}
    with pytest.raises(InputError, match="no pocket corpus 'proze'"):
        document_modules("proze", split)


def listed(corpus, split):
    lists = pocket_documents._lists()
    return [(lists["files"][i], name) for i, name in lists["documents"][corpus][split]["entries"]]
