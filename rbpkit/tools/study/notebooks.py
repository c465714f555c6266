"""The notebooks: made from their percent twins and executed, or run with parameters.

`python -m rbpkit.tools.study.notebooks [NAME ...]` makes `notebooks/NAME.ipynb` from its twin
`notebooks/py/NAME.py`, which is the source, and writes its figures into `figures/`.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import numpy as np
import papermill
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from PIL import Image, ImageChops, ImageFilter
from traitlets.config import Config

import rbpkit
from rbpkit.errors import InputError
from rbpkit.writing import write_whole

# The kernel warns that its local socket is not encrypted, and logs its own end as an error.
QUIET_KERNEL = ["--log-level=CRITICAL"]
FOLDS = {"hide-input": "source_hidden", "hide-output": "outputs_hidden"}
SAME_LEVELS = 24  # of 255: how much colours may differ in pictures that look the same


def socket_files() -> Config:
    """How to reach one kernel: through its own socket files in the temporary folder.

    A TCP port is chosen before the kernel starts and bound once it runs. If several kernels start
    at once, another may have taken the port by then, and the kernel dies.
    """
    path = os.path.join(tempfile.gettempdir(), f"rbpkit-{uuid.uuid4().hex[:12]}")
    if os.name == "nt" or len(path) > 100:  # the length that every system allows
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
    """The notebook with a number ("03") or a name; InputError if none has it."""
    for known in notebook_names():
        if name == known or name.zfill(2) == known[:2]:
            return known
    raise InputError(f"no notebook {name!r}; there are {', '.join(notebook_names())}")


def from_twin(name: str) -> nbformat.NotebookNode:
    """The notebook of a percent twin, without outputs; the same bytes every time."""
    notebook = jupytext.read(notebooks_dir() / "py" / f"{name}.py")
    # As JupyterLab writes it. With another one, a notebook would be marked as changed when opened.
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{name[:2]}-{number:03d}"  # by default random, which would change every build
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        # The site folds by the tags, JupyterLab by these.
        folded = {FOLDS[tag]: True for tag in tags if tag in FOLDS}
        if folded:
            cell.metadata["jupyter"] = nbformat.from_dict(folded)
    return notebook


def execute(name: str, notebook: nbformat.NotebookNode) -> None:
    """Execute a notebook in place, in the folder of the notebooks.

    Raises InputError that names the notebook and the error if a cell fails or the kernel dies.
    """
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(notebooks_dir())}},
        record_timing=False,
        coalesce_streams=True,  # on a busy machine, printed text would come in pieces
        extra_arguments=QUIET_KERNEL,
        config=socket_files(),
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise InputError(f"notebook {name}: {error.ename}: {error.evalue}") from error
    except DeadKernelError as error:
        raise InputError(f"notebook {name}: its kernel died (out of memory, or killed)") from error


def build(name: str) -> Path:
    """Make and execute `notebooks/NAME.ipynb`; write its figures into `figures/`.

    A picture that looks the same as before stays as it is. Raises InputError if a
    cell fails; the old files stay.
    """
    notebook, folder = from_twin(name), notebooks_dir()
    [parameters] = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", ()))
    as_committed = parameters.source
    figures = folder.parent / "figures"
    with tempfile.TemporaryDirectory() as made:
        parameters.source += f"\nfigures_dir = {made!r}"
        execute(name, notebook)
        for new in Path(made).iterdir():
            old, data = figures / new.name, new.read_bytes()
            if new.suffix == ".png":
                data = kept([old.read_bytes()] if old.exists() else [], data)
            write_whole(figures, {new.name: data})
    parameters.source = as_committed
    notebook.metadata.pop("widgets", None)
    path = folder / f"{name}.ipynb"
    before = nbformat.read(path, as_version=4) if path.exists() else nbformat.v4.new_notebook()
    old_pictures = [base64.b64decode(shown["image/png"]) for shown in _pictures(before)]
    for shown in _pictures(notebook):
        picture = kept(old_pictures, base64.b64decode(shown["image/png"]))
        shown["image/png"] = base64.b64encode(picture).decode()
    write_whole(folder, {path.name: nbformat.writes(notebook).encode()})
    return path


def _pictures(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    """The data of each output that has a picture."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                yield output.data


def kept(old: Iterable[bytes], new: bytes) -> bytes:
    """The first of the old PNGs that looks the same as the new one, which else gets a palette.

    Those that look the same differ in nothing but their palettes, and the edges of lines and
    letters: they have the same size, and no pixel of either is darker or lighter, by more than
    `SAME_LEVELS`, than all of the nine pixels around its place in the other.
    """
    picture = Image.open(io.BytesIO(new)).convert("RGB")
    for png in old:
        other = Image.open(io.BytesIO(png)).convert("RGB")
        if other.size != picture.size:
            continue
        too_far = 0
        for one, two in ((picture, other), (other, picture)):
            darker = ImageChops.subtract(two.filter(ImageFilter.MinFilter(3)), one)
            lighter = ImageChops.subtract(one, two.filter(ImageFilter.MaxFilter(3)))
            beyond = ImageChops.lighter(darker, lighter)
            too_far = max(too_far, int(np.asarray(beyond).max()))
        if too_far <= SAME_LEVELS:
            return png
    # Its 256 most different colours make it a third as large.
    few_colours = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    smaller = io.BytesIO()
    few_colours.save(smaller, "PNG", optimize=True, dpi=Image.open(io.BytesIO(new)).info.get("dpi"))
    return smaller.getvalue()


def run(name: str, parameters: dict[str, Any], out: Path) -> Path:
    """Run a notebook with those of `parameters` that it declares; write it into `out`.

    The parameters are injected as papermill does. Raises InputError if a cell fails or the kernel
    dies, and then `out` has no such notebook.
    """
    path = notebooks_dir() / f"{name}.ipynb"
    declared = papermill.inspect_notebook(str(path))
    given = {key: value for key, value in parameters.items() if key in declared}
    notebook = parameterize_notebook(load_notebook_node(str(path)), given)
    (out / path.name).unlink(missing_ok=True)  # of an earlier run
    execute(name, notebook)
    write_whole(out, {path.name: nbformat.writes(notebook).encode()})
    return out / path.name


if __name__ == "__main__":
    for name in sys.argv[1:] or notebook_names():
        print(build(notebook_called(name)).name)
