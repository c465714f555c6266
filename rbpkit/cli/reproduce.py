"""`rbpkit reproduce`: a whole study, from measuring to the comparison with what is published."""

from __future__ import annotations

import functools
import os
import sys
from typing import Annotated

from cyclopts import Parameter

from rbpkit.cli.common import ParamsFile
from rbpkit.study.checks import folder_to_write


def reproduce(
    params: ParamsFile,
    /,
    *,
    out: Annotated[str | None, Parameter(help="Where to write; by default out/NAME.")] = None,
    notebook: Annotated[
        tuple[str, ...], Parameter(help="Only this notebook, as 03; may be given again.")
    ] = (),
    form: Annotated[
        str | None, Parameter("--format", help="Format of figures: png (default), pdf or svg.")
    ] = None,
) -> None:
    """Measure a study, run the notebooks on it, and compare with what ships and is published."""
    from rbpkit.study.params import load_params

    loaded = load_params(params)
    folder = folder_to_write(f"out/{params.stem}" if out is None else out)
    from rbpkit.plots import FORMAT_VARIABLE, figure_format
    from rbpkit.study.reproduce import reproduce as run

    os.environ[FORMAT_VARIABLE] = figure_format(form)  # the notebooks' kernels have it too
    progress = sys.stderr.isatty()
    tell = functools.partial(print, flush=True)  # a line is seen when it is said, in a file too
    if not run(loaded, folder, notebooks=notebook, say=tell, progress=progress):
        raise SystemExit(1)
