"""The project holds together: its pins and version, its layers, the lines of each folder."""

import ast
import inspect
import pkgutil
import pydoc
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

import rbpkit

PACKAGE = ROOT / "rbpkit"
POCKET = ROOT / "pocket" / "rbpkit_pocket"
DRAWINGS = ROOT / "notebooks" / "rbpkit_notebooks"

# Imports point one way: each folder may import from itself and from those named with it, and from
# what these may import. "" is the helper, the modules at the top of rbpkit/. None may import the
# laboratory, which imports rbpkit.
MAY_IMPORT = {
    "kernels": {"errors"},
    "": {"kernels"},
    "tools": {""},
    "tools.study": {"tools"},
    "tools.cli": {"tools.study"},
}

# Lines of .py files that a folder may hold, those of its modules alone for a folder of rbpkit.
# If you raise a number, write the reason next to it.
MAY_HOLD = {
    "rbpkit": 5_056,
    "rbpkit/kernels": 400,
    "rbpkit/tools": 906,  # a table of scores that has a token twice: 2
    "rbpkit/tools/study": 978,  # an address without a Ray cluster: 2
    "rbpkit/tools/cli": 876,  # of several models each may fail, found or not: 11
    "pocket": 4_776,
    "notebooks/rbpkit_notebooks": 5_977,
    "tests": 8_327,
    "docs": 1_798,
}

# Modules of rbpkit/ above 400 lines, each with the reason why it is one.
FILES_ABOVE_400 = {
    "fit.py": "one law: the line, the curves that it goes through, which models are on one line",
    "models.py": "one model, found, loaded or in memory, and what is refused on the way",
    "plots.py": "one look of all figures, and the panels of laws",
    "summary.py": "one format: made of records, written and read, and all that is computed of it",
}

MOST_FLOORS = 7  # modules of rbpkit/ on the longest way down its imports, both ends included

# -- dependencies ----------------------------------------------------------------------------


def project_of(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_all_name_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    for folder in (ROOT, ROOT / "pocket", ROOT / "notebooks"):
        assert project_of(folder)["version"] == rbpkit.__version__ == citation["version"]


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
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    most = MAY_HOLD[folder]
    assert 0 < lines <= most, f"{folder} has {lines:,} lines of at most {most:,}: cut, or say why"


def test_a_long_module_has_a_reason():
    long = set()
    for path in PACKAGE.glob("*.py"):
        if path.read_text(encoding="utf-8").count("\n") > 400:
            long.add(path.name)
    assert long <= FILES_ABOVE_400.keys(), "split it, or say why"


def test_the_helper_has_few_floors():
    """From a module down to one that imports no other: a reader holds them all in mind."""
    graph = _graph(PACKAGE)
    floors: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        if not name.startswith("tools") and name != "__main__":
            floors[name] = 1 + max((floors[other] for other in graph[name]), default=0)
    assert max(floors.values()) <= MOST_FLOORS, floors


@pytest.mark.parametrize("package", [POCKET, DRAWINGS])
def test_no_modules_import_each_other_not_even_for_types(package):
    """As those of rbpkit do not, or they had no floors."""
    tuple(TopologicalSorter(_graph(package)).static_order())  # CycleError names the cycle


def test_neither_rbpkit_nor_the_laboratory_imports_what_stands_above_it():
    for package, above in ((PACKAGE, "rbpkit_pocket"), (POCKET, "rbpkit_notebooks")):
        for path in package.rglob("*.py"):
            assert not any(name.startswith(above) for name in _imports(path)), path


# -- what `from rbpkit import NAME` gives ----------------------------------------------------------


@pytest.mark.parametrize("name", rbpkit.__all__)
def test_public_name_is_found_listed_and_described(name):
    found = getattr(rbpkit, name)
    assert name in dir(rbpkit)
    assert inspect.getdoc(found)
    assert name in pydoc.plain(pydoc.render_doc(rbpkit))
    if not inspect.ismodule(found):
        # A submodule of the same name would take the function's place once it is imported.
        assert name not in {module.name for module in pkgutil.iter_modules(rbpkit.__path__)}
        assert found.__name__ == name and found.__module__.startswith("rbpkit.")


# One import after the other in one process, and what may not be loaded by then.
HEAVY = {"torch", "transformers", "datasets", "pandas", "matplotlib", "pyarrow"}
LIGHT = "Curve, InputError, Records, fit_curves, fit_power_law, fit_rbp_law"
IMPORTS = {
    "import rbpkit": HEAVY,
    # What `rbpkit --help` needs.
    "from rbpkit.tools.cli.app import command_line; command_line()": HEAVY,
    "import rbpkit.check": HEAVY,
    "import rbpkit.corpora": HEAVY - {"pandas"},
    # Tables and predictions need no extra, so nothing that draws.
    "import rbpkit.fit, rbpkit.paired, rbpkit.curves": {"torch", "matplotlib"},
    "import rbpkit.tools.cli.results": {"torch", "transformers", "datasets", "matplotlib"},
    f"from rbpkit import {LIGHT}, load_summaries, paper": {"torch"},
    "import rbpkit.tools.study.params, rbpkit.plots, rbpkit_pocket.plugin": {"torch"},
}
CHECK = "; there = {heavy} & set(sys.modules); assert not there, (there, {code!r})\n"


def test_an_import_loads_nothing_that_it_does_not_need():
    lines = [code + CHECK.format(code=code, heavy=heavy) for code, heavy in IMPORTS.items()]
    program = "import sys\n" + "".join(lines)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
