"""The project holds together: its lists of dependencies, its layers, its files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import rbpkit
from rbpkit_pocket.documents import read_lists

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rbpkit"
INSTALL = "pip install -c constraints.txt -e .[test] -e pocket"

# Imports point one way: each folder may import from itself and from those named with it, and from
# what these may import. "" is the helper, the modules at the top of rbpkit/. None may import the
# laboratory, which imports rbpkit.
MAY_IMPORT = {
    "files": {"errors", "settings"},
    "kernels": {"errors"},
    "": {"files", "kernels"},
    "stats": {""},
    "tools": {"stats"},
    "study": {"tools"},
    "cli": {"study"},
}

# Lines of .py files that a folder may hold, those of its modules alone for a folder of rbpkit.
# If you raise a number, write the reason next to it.
MAY_HOLD = {
    "rbpkit": 6_604,  # pictures: a palette, whether two look alike; scores of any program
    "rbpkit/files": 1_479,  # weights next to their config, units that are names: 40 lines
    "rbpkit/kernels": 527,
    "rbpkit/stats": 498,
    "rbpkit/tools": 661,
    "rbpkit/study": 1_409,  # a queue that sweeps share: 150 lines; pictures that stay: 43
    "rbpkit/cli": 1_233,
    "pocket": 5_522,  # companions aside
    "pocket/rbpkit_pocket/companions": 5_450,  # and claims, choices and self-checks: 260 lines
    "tests": 11_521,  # the doors, 500 requests of the harness, runs apart, the fuzz of records
    "docs": 1_631,  # the reference of options is made from the settings: 59 lines
}

# Packages that pip installs on some platforms only; the pins come from a CPU machine with Linux.
ELSEWHERE = re.compile(r"nvidia-.*|cuda-.*|triton|colorama|appnope|pywin32|pywinpty")


# -- dependencies ----------------------------------------------------------------------------


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LABORATORY = tomllib.loads((ROOT / "pocket/pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = (
    "browser",
    "cluster",
    "gguf",
    "gpu",
    "harness",
    "peft",
    "pictures",
    "site",
    "train",
)  # pinned, but installed only if asked for


def _requirements(*extras: str) -> list[Requirement]:
    """What an installation with these extras asks for; an extra may ask for others of ours."""
    lines, todo = dict.fromkeys(PROJECT["dependencies"]), list(extras)
    while todo:
        for line in PROJECT["optional-dependencies"][todo.pop()]:
            if (one := Requirement(line)).name == PROJECT["name"]:
                todo += sorted(one.extras)
            else:
                lines[line] = None
    return [Requirement(line) for line in lines]


def _laboratory() -> list[Requirement]:
    """What the laboratory asks for besides rbpkit."""
    every = [Requirement(line) for line in LABORATORY["dependencies"]]
    return [requirement for requirement in every if requirement.name != PROJECT["name"]]


def _constraint_lines() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _pins() -> dict[str, Version]:
    return {name: Version(v) for name, v in (line.split("==") for line in _constraint_lines())}


DIRECT = sorted(canonicalize_name(r.name) for r in _requirements("test"))
EVERYTHING = [*_requirements("test", *EXTRAS), *_laboratory()]


def test_every_requirement_has_a_lower_bound_that_its_pin_satisfies():
    pins = _pins()
    assert len(DIRECT) == len(set(DIRECT)), "pyproject.toml names a dependency twice"
    for requirement in _requirements("test", *EXTRAS):
        name = canonicalize_name(requirement.name)
        assert [s.operator for s in requirement.specifier] == [">="], f"{requirement}: no bound"
        assert name in pins, f"constraints.txt does not pin {name}"
        assert pins[name] in requirement.specifier, f"{name}=={pins[name]} is not {requirement}"


def test_the_packages_that_pocket_text_is_cut_out_of_are_pinned():
    """Another version of one of them has another text, and so other numbers."""
    pins = _pins()
    exact = {}
    for requirement in _laboratory():
        [bound] = requirement.specifier
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier
        if bound.operator == "==":
            exact[canonicalize_name(requirement.name)] = bound.version
    names = {file.split("/")[0] for file in read_lists()["files"]}
    cut = {name for name in names if not name.endswith(".dist-info")}
    owners = metadata.packages_distributions()
    assert {canonicalize_name(owners[name][0]) for name in cut} <= exact.keys()


def test_installed_versions_are_the_pinned_ones():
    own = ROOT / ".venv"
    if not own.is_dir() or not own.samefile(sys.prefix):
        pytest.skip("an environment of one's own may have other versions")
    # Public versions: a CPU build of torch calls itself 2.13.0+cpu.
    pins = {name: _pins()[name].public for name in DIRECT}
    installed = {name: Version(metadata.version(name)).public for name in DIRECT}
    assert installed == pins, f"install by: {INSTALL}"


def test_constraints_hold_everything_that_comes_along():
    """Walk the requirements of what is installed; each name that is reached must be pinned."""
    pins = _pins()
    todo = [(canonicalize_name(r.name), frozenset(r.extras)) for r in EVERYTHING]
    seen = set()
    while todo:
        name, extras = one = todo.pop()
        if one in seen or name in {"pip", "setuptools"} or ELSEWHERE.fullmatch(name):
            continue
        seen.add(one)
        assert name in pins, f"{name} comes along but constraints.txt does not pin it"
        try:
            needs = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed here
        for needed in map(Requirement, needs):
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": one}) for one in (*extras, "")):
                todo.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    assert len({name for name, _ in seen}) > len(DIRECT)


def test_all_name_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    named = {rbpkit.__version__, PROJECT["version"], LABORATORY["version"], citation["version"]}
    assert len(named) == 1


# -- the package -----------------------------------------------------------------------------


@cache
def _imports(path: Path) -> frozenset[str]:
    """Absolute dotted names that a file imports anywhere, inside functions too.

    `from a import b` gives both `a` and `a.b`, for b may be a module. What is imported for types
    alone counts too.
    """
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _folder(module: str) -> str:
    return module.rpartition(".")[0]


def _reachable(folder: str) -> set[str]:
    """What a folder may import from, itself included: folders, and modules named one by one."""
    found = {folder}
    while more := set().union(*(MAY_IMPORT.get(one, set()) for one in found)) - found:
        found |= more
    return found


def _graph(package: Path) -> dict[str, set[str]]:
    """Each module of a package -> the modules of the same package that it imports."""
    files = {}
    for path in package.rglob("*.py"):
        dotted = ".".join(path.relative_to(package).with_suffix("").parts)
        files[dotted] = path
    graph = {}
    for name, path in files.items():
        imported = {one.removeprefix(f"{package.name}.") for one in _imports(path)}
        graph[name] = imported & files.keys() - {name}
    return graph


def test_imports_point_one_way():
    graph = _graph(PACKAGE)
    assert set(map(_folder, graph)) == MAY_IMPORT.keys(), "a folder without a rule"
    upward = []
    for name, others in graph.items():
        allowed = _reachable(_folder(name))
        for other in others:
            if name != "__main__" and not {other, _folder(other)} & allowed:
                upward.append(f"{name} imports {other}")
    assert not upward, f"a lower folder imports a higher one: {upward}"


@pytest.mark.parametrize("folder", MAY_HOLD)
def test_a_folder_stays_thin(folder):
    pattern = "*.py" if folder.startswith("rbpkit") else "**/*.py"
    files = sorted((ROOT / folder).glob(pattern))
    if folder == "pocket":
        files = [path for path in files if path.parent.name != "companions"]
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    most = MAY_HOLD[folder]
    assert 0 < lines <= most, f"{folder} has {lines:,} lines of at most {most:,}: cut, or say why"


@pytest.mark.parametrize("package", [PACKAGE, ROOT / "pocket" / "rbpkit_pocket"])
def test_no_modules_import_each_other_not_even_for_types(package):
    tuple(TopologicalSorter(_graph(package)).static_order())  # CycleError names the cycle


def test_rbpkit_does_not_import_the_laboratory():
    found = [path for path in PACKAGE.rglob("*.py") if "rbpkit_pocket" in _imports(path)]
    assert not found


# -- the files -------------------------------------------------------------------------------

MOST_BYTES = 1 << 20  # of a file, since every version of it stays in each full clone
MAY_BE_LARGE = re.compile(
    r"pocket/rbpkit_pocket/data/(?:(?:models|captioners)/[^/]+/model\.safetensors|documents\.json\.gz)"
)

NO_MACHINE = re.compile(
    r"(?<![\w.~$}/-])/(?:root|work|opt|home/\w+|Users/\w+|mnt/\w+)/[\w.]|\b[A-Z]:\\+Users\b"
    r"|https?://[^\s\"')>]*(?:pypi|pythonhosted|anaconda|download\.pytorch)|file:/{2,3}\w"
)


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files that git tracks."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = listed.stdout.decode().rstrip("\0").split("\0")
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_only_weights_are_large(tracked):
    large = [path for path in tracked if path.stat().st_size > MOST_BYTES]
    names = [path.relative_to(ROOT).as_posix() for path in large]
    assert names and all(MAY_BE_LARGE.fullmatch(name) for name in names), names


def test_tracked_text_names_no_path_of_a_machine_and_no_registry(tracked):
    found = []
    for path in tracked:
        content = path.read_bytes()
        if b"\0" not in content:
            lines = enumerate(content.decode("utf-8", "replace").splitlines(), 1)
            found += [f"{path}:{i}: {m[0]}" for i, line in lines if (m := NO_MACHINE.search(line))]
    assert not found, found[:10]
