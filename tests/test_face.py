"""What `from rbpkit import NAME` gives: the public names, each imported when it is first used."""

import inspect
import pkgutil
import pydoc
import subprocess
import sys

import pytest

import rbpkit


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
