"""What differs between wheels of one distribution, and what was left out of the held-out text."""

import zipfile

import pytest

from rbpkit.errors import InputError
from rbpkit.pocket import text as pocket_text
from rbpkit.pocket.portable import different_documents, documents_of_wheel, everywhere
from rbpkit.pocket.text import CORPORA, document_modules, documents_of_file, load_pocket_documents

FUNCTION = 'def {name}(a):\n    """Returns what it was given, {what}."""\n    return a\n'
LICENCE = "dist-info/licenses/LICENSE"


def wheel(folder, files, name="some_pkg-1.0-cp311-cp311-any.whl"):
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return folder / name


def test_a_document_that_a_wheel_lacks_or_has_otherwise_is_found(tmp_path):
    alike = FUNCTION.format(name="f", what="unchanged")
    licence = "word " * 100
    linux = {
        "pkg/a.py": alike,
        "pkg/b.py": FUNCTION.format(name="g", what="built on Linux") + alike,
        "pkg/old.py": FUNCTION.format(name="h", what="for old Pythons"),
        "pkg/tests/t.py": FUNCTION.format(name="t", what="on Linux"),
        f"some_pkg-1.0.{LICENCE}": licence,
        "pkg/data.txt": "Linux",
    }
    windows = {
        "pkg/a.py": alike.replace("\n", "\r\n"),
        "pkg/b.py": FUNCTION.format(name="g", what="built on Windows") + alike,
        "pkg/tests/t.py": FUNCTION.format(name="t", what="on Windows"),
        f"some_pkg-1.0.{LICENCE}": licence + "and more " * 200,
        "pkg/data.txt": "Windows",
    }
    a, b = wheel(tmp_path / "linux", linux), wheel(tmp_path / "windows", windows)
    assert ("qa", "pkg/a.py", "pkg.a.f") in documents_of_wheel(b)
    alone = wheel(tmp_path / "linux", linux, "other-1.0-py3-none-any.whl")
    assert different_documents([b, alone, a]) == {
        (corpus, file, name): ["windows"]
        for corpus, file, name in [
            ("qa", "pkg/b.py", "pkg.b.g"),
            ("code", "pkg/b.py", "pkg.b.g"),
            ("qa", "pkg/old.py", "pkg.old.h"),
            ("code", "pkg/old.py", "pkg.old.h"),
            ("legal", "some-pkg.dist-info/licenses/LICENSE", "section 1"),
        ]
    }
    assert different_documents([a, alone]) == {}


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
    lists = pocket_text._lists()
    return [(lists["files"][i], name) for i, name in lists["documents"][corpus][split]["entries"]]
