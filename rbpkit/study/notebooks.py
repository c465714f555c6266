"""The notebooks: made from their percent twins and executed, or run with parameters.

`python -m rbpkit.study.notebooks [NAME ...]` makes `notebooks/NAME.ipynb` from its twin
`notebooks/py/NAME.py`, which is the source, and writes its figures into `figures/`.
"""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

import rbpkit
from rbpkit.errors import InputError, one_line

CELL_SECONDS = 600
# The kernel warns that its local socket is not encrypted, and logs its own end as an error.
QUIET_KERNEL = ["--log-level=CRITICAL"]
SOCKET_PATH = 100  # bytes; every system takes 103, and a digit follows


def socket_files() -> Config:
    """How to reach one kernel: through socket files of its own in the temporary folder.

    A TCP port is chosen before the kernel starts and bound once it runs. If several kernels start
    at once, another may have taken the port by then, and the kernel dies.
    """
    path = os.path.join(tempfile.gettempdir(), f"rbpkit-{uuid.uuid4().hex[:12]}")
    if os.name == "nt" or len(os.fsencode(path)) > SOCKET_PATH:
        return Config()  # TCP, jupyter_client's default
    return Config(KernelManager={"transport": "ipc", "ip": path})


def notebooks_dir() -> Path:
    """The folder of the committed notebooks, next to the package.

    Raises InputError if rbpkit was installed without its repository.
    """
    folder = Path(rbpkit.__file__).resolve().parent.parent / "notebooks"
    if not (folder / "py").is_dir():
        raise InputError(f"{folder}: no notebooks there; clone the repository and install from it")
    return folder


def notebook_names() -> list[str]:
    """Names of all notebooks, in reading order."""
    return sorted(path.stem for path in (notebooks_dir() / "py").glob("*.py"))


def notebook_called(name: str) -> str:
    """The notebook with a number ("03") or a name; InputError, with the nearest, if none has it."""
    names = notebook_names()
    stem = Path(name).stem
    for one in names:
        if stem == one or stem.zfill(2) == one[:2]:
            return one
    near = difflib.get_close_matches(stem, names, n=1) or names
    raise InputError(f"no notebook {name!r}; did you mean {' or '.join(near)}?")


def from_twin(name: str) -> nbformat.NotebookNode:
    """The notebook of a percent twin, without outputs; the same bytes every time."""
    notebook = jupytext.read(notebooks_dir() / "py" / f"{name}.py")
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{name[:2]}-{number:03d}"  # by default random, which would change every build
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k == "tags"})
    return notebook


def build(name: str) -> Path:
    """Make and execute `notebooks/NAME.ipynb`; write its figures into `figures/`.

    Raises InputError that names the notebook and the error if a cell fails; the old file stays.
    """
    notebook = from_twin(name)
    folder = notebooks_dir()
    [parameters] = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", ()))
    as_committed = parameters.source
    parameters.source += f"\nfigures_dir = {str(folder.parent / 'figures')!r}"
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,  # on a busy machine, printed text would come in pieces
        extra_arguments=QUIET_KERNEL,
        config=socket_files(),
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise InputError(f"notebook {name}: {error.ename}: {error.evalue}") from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise InputError(f"notebook {name}: {one_line(error)}") from error
    parameters.source = as_committed
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = nbformat.from_dict({"name": "python"})
    path = folder / f"{name}.ipynb"
    nbformat.validate(notebook)
    nbformat.write(notebook, path)
    return path


def run(name: str, parameters: dict[str, Any], out: Path) -> Path:
    """Run a notebook by papermill with those of `parameters` that it declares; write it to `out`.

    Raises InputError that names the notebook and the error if a cell fails or the kernel dies.
    """
    source, target = str(notebooks_dir() / f"{name}.ipynb"), out / f"{name}.ipynb"
    out.mkdir(parents=True, exist_ok=True)
    # papermill fills in what stands in braces in a path, so braces are doubled.
    literal = [path.replace("{", "{{").replace("}", "}}") for path in (source, str(target))]
    declared = papermill.inspect_notebook(literal[0])
    try:
        papermill.execute_notebook(
            *literal,
            parameters={key: value for key, value in parameters.items() if key in declared},
            kernel_name="python3",
            progress_bar=False,
            extra_arguments=QUIET_KERNEL,
            config=socket_files(),
            cwd=str(notebooks_dir()),
        )
    except PapermillExecutionError as error:
        raise InputError(
            f"notebook {name}: {error.ename}: {error.evalue} (see {target})"
        ) from error
    except DeadKernelError as error:
        # papermill has saved the file by now, with every cell in it marked "completed".
        target.unlink(missing_ok=True)
        raise InputError(
            f"notebook {name}: its kernel died (out of memory, or killed); nothing of it is kept"
        ) from error
    return target


def main() -> None:
    """Build the notebooks named on the command line, or all."""
    try:
        for name in sys.argv[1:] or notebook_names():
            print(build(notebook_called(name)).name)
    except InputError as error:
        print(f"rbpkit: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
