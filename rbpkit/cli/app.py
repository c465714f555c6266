"""The command line. Exit 0: done; 1: some jobs failed; 2: bad input, one line; 130: interrupted."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.audit import audit
from rbpkit.cli.bench import bench, bench_batches, bench_dtypes
from rbpkit.cli.classroom import classroom
from rbpkit.cli.common import (
    AsJson,
    BatchTokens,
    CorpusName,
    Device,
    Dtype,
    Ks,
    MaxLength,
    Model,
    Out,
    ParamsFile,
    RecordsDir,
    Threads,
    checked_ks,
    measured_table,
    print_table,
    say,
)
from rbpkit.cli.fetch import fetch, plan
from rbpkit.cli.look import look
from rbpkit.cli.pocket import pocket_app
from rbpkit.cli.predict import predict
from rbpkit.cli.sweep import status, sweep
from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.study.checks import (
    MOST_THREADS,
    folder_to_write,
    missing_extra,
    within,
)
from rbpkit.summary import DEFAULT_KS

# The base of typer's errors, by way of a public one: typer carries a copy of click of its own.
ClickException = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

app = typer.Typer(
    name="rbpkit",
    help="Measure the relative-based scaling law (RBP_k) of language models, to the integer.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(pocket_app, name="pocket")


@app.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def measure(
    model: Model,
    corpus: CorpusName,
    out: Out,
    documents: Annotated[
        int | None,
        typer.Option(help="How many to take, 0 for all; by default 1000, all of a pocket corpus."),
    ] = None,
    max_length: MaxLength = 512,
    field: Annotated[str | None, typer.Option(help="Column with the text; a+b joins two.")] = None,
    dtype: Dtype = "float32",
    device: Device = None,
    revision: Annotated[str | None, typer.Option(help="Of a model on the hub.")] = None,
    name: Annotated[str | None, typer.Option(help="Call the model so in the records.")] = None,
    batch_tokens: BatchTokens = 8192,
    seed: Annotated[int, typer.Option(help="Of the shuffle that picks the documents.")] = 42,
    threads: Threads = 0,
    allow_pickle: Annotated[bool, typer.Option(help="Admit weights that are pickle files.")] = (
        False
    ),
    trust_remote_code: Annotated[bool, typer.Option(help="Run code that comes with it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank every scored token of a corpus under a model and keep the records."""
    within("--documents", documents or 0, 0)
    within("--threads", threads, 0, MOST_THREADS)
    within("--batch-tokens", batch_tokens, 1)
    within("--max-length", max_length, 2)
    folder = folder_to_write(out)
    from rbpkit.corpora import load_corpus

    # The corpus first: its faults show at once, a model may take minutes to load.
    text = load_corpus(corpus, documents=documents, field=field, seed=seed)
    from rbpkit.measuring import measure as run
    from rbpkit.models import load_model

    set_threads(threads)
    loaded = load_model(
        model,
        dtype=dtype,
        device=device,
        revision=revision,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
        progress=True,
    )
    if name:
        loaded = replace(loaded, name=name)
    done = run(
        loaded,
        text,
        folder,
        max_length=max_length,
        batch_tokens=batch_tokens,
        progress=sys.stderr.isatty(),
        say=say,
    )
    manifest = done.summary.manifest
    speed = manifest.tokens / max(manifest.seconds, 1e-9)
    state = "done before, not measured again" if done.found_done else f"{speed:,.0f} tokens/s"
    say(
        f"{manifest.tokens:,} tokens scored in {manifest.documents - manifest.skipped_documents:,}"
        f" documents, {manifest.skipped_documents:,} skipped (nothing to score); {state}"
    )
    print_table(measured_table([done.summary], DEFAULT_KS), as_json)


@app.command()
def show(records: RecordsDir, k: Ks = None, as_json: AsJson = False) -> None:
    """CE and RBP_k of every model and corpus in a folder."""
    from rbpkit.records import load_summaries

    ks = checked_ks(k)
    print_table(measured_table(load_summaries(records), ks), as_json)


@app.command()
def fit(records: RecordsDir, k: Ks = None, as_json: AsJson = False) -> None:
    """The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus in a folder.

    Then, on standard error, up to which k there are enough missed tokens to trust a line.
    """
    from rbpkit.curves import fits
    from rbpkit.records import load_summaries

    ks = checked_ks(k)
    every = load_summaries(records)
    found = fits(every, ks)
    if found.table.empty:
        raise InputError(f"{records}: nothing could be fitted; {found.refused[0]}")
    for reason in found.refused:
        say(f"no fit: {reason}")
    print_table(found.table, as_json)
    from rbpkit.audit.noise import trust_lines  # matplotlib: after the table

    for line in trust_lines(every):
        say(line)


for command in (
    *(bench, bench_batches, bench_dtypes, audit, classroom, look, fetch, plan, predict),
    *(sweep, status),
):
    app.command()(command)


@app.command()
def reproduce(
    params: ParamsFile,
    out: Annotated[
        str | None, typer.Option("--out", help="Where to write; by default out/NAME.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Where figures go; by default OUT/figures.")
    ] = None,
    notebook: Annotated[
        list[str] | None, typer.Option(help="Only this notebook, as 03; may be given again.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Of figures: png (default), pdf or svg.")
    ] = None,
) -> None:
    """Measure, run the notebooks, write the figures, and compare with what is published."""
    from rbpkit.study.params import load_params

    loaded = load_params(params)
    folder = folder_to_write(f"out/{params.stem}" if out is None else out)
    from rbpkit.plots import FORMAT_VARIABLE, figure_format
    from rbpkit.study.reproduce import reproduce as run

    os.environ[FORMAT_VARIABLE] = figure_format(form)  # the notebooks' kernels have it too
    progress = sys.stderr.isatty()
    wanted = {"figures": figures, "notebooks": notebook or ()}
    if not run(loaded, folder, **wanted, say=typer.echo, progress=progress):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; every fault a user can mend is one line and exit status 2."""
    # Threads that wait for one another sleep rather than spin: on cores that other programs use
    # too, spinning made measuring tens of times slower. Read when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # A polite kill ends as Ctrl-C does: temporary files go, and the status is 130.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        # A name with bytes that are no text, as a folder's can be, is shown escaped.
        stream.reconfigure(errors="backslashreplace")
    try:
        status = app(standalone_mode=False)
    except InputError as error:
        _fail(str(error))
    except ClickException as error:  # a flag or a command that is not there
        _fail(error.format_message())
    except ModuleNotFoundError as error:
        needs = missing_extra(error)
        if not needs:
            raise
        _fail(needs)
    except OSError as error:  # disk full, no permission, a file where a folder should be
        _fail(f"{error.filename or 'writing'}: {error.strerror or error}")
    except RuntimeError as error:
        if "home directory" not in str(error):
            raise
        _fail(f"a path begins with ~ and no such user is here ({error})")  # pathlib's only word
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    if status == 130:  # typer itself turns Ctrl-C into this
        typer.echo("rbpkit: interrupted", err=True)
    raise SystemExit(status or 0)


def _fail(message: str) -> None:
    typer.echo("rbpkit: " + " ".join(message.split()), err=True)
    raise SystemExit(2)
