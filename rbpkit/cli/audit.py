"""`rbpkit audit`: the small tables that notebooks 17 and 23 read, from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import say
from rbpkit.study.checks import folder_to_write


def audit(
    records: Annotated[Path, typer.Argument(help="A folder of records.")],
    out: Annotated[str, typer.Option("--out", help="The folder that the tables go to.")],
    models: Annotated[
        bool, typer.Option(help="Also what needs the pocket models: ties in 16 bits (minutes).")
    ] = False,
) -> None:
    """Compute what the audit needs token by token: strata, calibration, missed tokens, words.

    For notebooks 17 and 23: papermill notebooks/17_one_law.ipynb out.ipynb -p audit_dir OUT.
    """
    folder = folder_to_write(out)
    from rbpkit.audit.tables import write_tables
    from rbpkit.records import check_one_setting, iter_manifests

    check_one_setting(job.manifest for job in iter_manifests(records))
    for path in write_tables(records, folder, models=models, say=say):
        typer.echo(path)
