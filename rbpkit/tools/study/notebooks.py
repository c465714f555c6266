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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import numpy as np
import pandas as pd
import papermill
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from PIL import Image, ImageFilter
from traitlets.config import Config

import rbpkit
from rbpkit.errors import InputError, nearest
from rbpkit.writing import write_whole

# The kernel warns that its local socket is not encrypted, and logs its own end as an error.
QUIET_KERNEL = ["--log-level=CRITICAL"]
FOLDS = {"hide-input": "source_hidden", "hide-output": "outputs_hidden"}
SAME_LEVELS = 24  # of 255: how much colours may differ in pictures that look the same
SAME_DIGITS = 1e-4  # relative: numbers of a figure's points that are nearer to each other are equal


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
    """The notebook with a number ("03") or a name; InputError, with the nearest, if none has it."""
    names = notebook_names()
    stem = Path(name).stem
    for known in names:
        if stem == known or stem.zfill(2) == known[:2]:
            return known
    raise InputError(f"no notebook {name!r}{nearest(stem, names)}; there are {', '.join(names)}")


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

    A picture that looks the same as before (`looks_same`) stays as it is, and so do points
    that differ in late digits. Raises InputError if a cell fails; the old files stay.
    """
    notebook, folder = from_twin(name), notebooks_dir()
    [parameters] = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", ()))
    as_committed = parameters.source
    with tempfile.TemporaryDirectory() as made:
        parameters.source += f"\nfigures_dir = {made!r}"
        execute(name, notebook)
        _store_figures(Path(made), folder.parent / "figures")
    parameters.source = as_committed
    notebook.metadata.pop("widgets", None)
    path = folder / f"{name}.ipynb"
    _keep_pictures(notebook, path)
    write_whole(folder, {path.name: nbformat.writes(notebook).encode()})
    return path


def _store_figures(made: Path, figures: Path) -> None:
    """Write what a notebook made into `figures`, except files that show the same as before."""
    files = {}
    for path in made.iterdir():
        old = figures / path.name
        if not (old.exists() and _shows_same(old, path)):
            new = path.read_bytes()
            files[path.name] = with_palette(new) if path.suffix == ".png" else new
    write_whole(figures, files)


def _shows_same(old: Path, new: Path) -> bool:
    """Whether pictures look the same, or points differ in digits that a processor decides."""
    if new.suffix == ".png":
        return looks_same(old.read_bytes(), new.read_bytes())
    if new.suffix != ".csv":
        return False
    try:
        pd.testing.assert_frame_equal(pd.read_csv(old), pd.read_csv(new), rtol=SAME_DIGITS)
    except AssertionError:
        return False
    return True


def _keep_pictures(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Give each output the bytes of an old picture that looks the same, or else a palette."""
    old_pictures = []
    if path.exists():
        old_pictures = [data["image/png"] for data in _pictures(nbformat.read(path, as_version=4))]
    for data in _pictures(notebook):
        new = base64.b64decode(data["image/png"])
        same = [old for old in old_pictures if looks_same(base64.b64decode(old), new)]
        smaller = base64.b64encode(with_palette(new)).decode()
        data["image/png"] = same[0] if same else smaller


def _pictures(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    """The data of each output that has a picture."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                yield output.data


def with_palette(png: bytes) -> bytes:
    """The picture in its 256 most different colours, which makes it a third as large."""
    picture = Image.open(io.BytesIO(png))
    few_colours = picture.convert("RGB").quantize(
        256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    smaller = io.BytesIO()
    few_colours.save(smaller, "PNG", optimize=True, dpi=picture.info.get("dpi"))
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


def _main() -> None:
    """Build the notebooks named on the command line, or all."""
    try:
        for name in sys.argv[1:] or notebook_names():
            print(build(notebook_called(name)).name)
    except InputError as error:
        print(f"rbpkit: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def looks_same(old: bytes, new: bytes) -> bool:
    """Whether two PNGs differ in nothing but their palettes, and the edges of lines and letters.

    They have the same size, and no pixel of either is darker or lighter, by more than
    `SAME_LEVELS`, than all of the nine pixels around its place in the other.
    """
    first, second = (Image.open(io.BytesIO(png)).convert("RGB") for png in (old, new))
    return first.size == second.size and _is_near(first, second) and _is_near(second, first)


def _is_near(picture: Image.Image, other: Image.Image) -> bool:
    """Whether each pixel of `picture` is as dark as one of the nine around its place in `other`."""
    pixels = np.asarray(picture, dtype=int)
    darkest = np.asarray(other.filter(ImageFilter.MinFilter(3)), dtype=int)
    lightest = np.asarray(other.filter(ImageFilter.MaxFilter(3)), dtype=int)
    is_between = (pixels >= darkest - SAME_LEVELS) & (pixels <= lightest + SAME_LEVELS)
    return bool(is_between.all())


if __name__ == "__main__":
    _main()
