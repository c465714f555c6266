"""The command line. Exit 0: done; 1: some jobs failed; 2: bad input, one line; 130: interrupted."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from rbpkit import plugins
from rbpkit.cli.classroom import classroom
from rbpkit.cli.common import SeveralValues
from rbpkit.cli.compare import compare
from rbpkit.cli.fetch import fetch
from rbpkit.cli.look import look
from rbpkit.cli.measure import fit, measure, show
from rbpkit.cli.predict import predict
from rbpkit.cli.reproduce import reproduce
from rbpkit.cli.sweep import status, sweep
from rbpkit.errors import InputError
from rbpkit.study.checks import missing_extra

# The base of typer's errors, by way of a public one: typer carries its own copy of click.
_bases = {kind.__name__: kind for kind in typer.BadParameter.__mro__}
ClickException: Any = _bases["ClickException"]


class _Commands(TyperGroup):
    """The commands below, and `rbpkit PLUGIN` of each plugin that has a subcommand."""

    # Contexts and commands are of typer's own copy of click, which is not public.
    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *plugins.command_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in plugins.command_names():
            return own
        try:
            return _command_of(cmd_name)
        except InputError:  # a broken plugin must not hide the other commands
            return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in (*plugins.INSTALL, *plugins.command_names()):
            _command_of(args[0])  # says what is wrong, or what to install
        return super().resolve_command(ctx, args)


def _command_of(plugin: str) -> Any:
    """The subcommand of a plugin, if it has one. InputError if it is missing or broken."""
    own = plugins.offered(plugin, "commands", typer.Typer)
    if own is None:
        return None
    around = typer.Typer(add_completion=False, rich_markup_mode=None)
    around.add_typer(own, name=plugin)
    return typer.main.get_group(around).commands[plugin]


app = typer.Typer(
    name="rbpkit",
    cls=_Commands,
    help="Measure the relative-based scaling law (RBP_k) of language models, to the integer.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


COMMANDS: tuple[Callable[..., None], ...] = (
    *(measure, show, fit, classroom, look, fetch),
    *(compare, predict, sweep, status, reproduce),
)
for command in COMMANDS:
    app.command(cls=SeveralValues)(command)


def main() -> None:
    """Run the command line; every fault a user can mend is one line and exit status 2."""
    # Threads that wait for one another sleep rather than spin: on cores that other programs use
    # too, spinning made measuring tens of times slower. Read when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # numpy's products are small here, and its threads can only spin. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A polite kill ends as Ctrl-C does: temporary files go, and the status is 130.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        # A name with bytes that are no text, as a folder's can be, is shown escaped.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except InputError as error:
        _fail(str(error))
    except ClickException as error:  # a flag or a command that is not there
        _fail(error.format_message())
    except ModuleNotFoundError as error:
        needs = missing_extra(error)
        if not needs:
            raise
        _fail(needs)
    except MemoryError:
        _fail("out of memory: give the process more")
    except ImportError as error:
        if "failed to map segment" not in str(error):
            raise
        _fail(f"out of memory: give the process more ({error})")
    except OSError as error:  # disk full, no permission, a file where a folder should be
        _fail(f"{error.filename or 'writing'}: {error.strerror or error}")
    except RuntimeError as error:
        if "home directory" not in str(error):
            raise
        _fail(f"a path begins with ~ and no such user is here ({error})")  # pathlib's only word
    if status == 130:  # typer itself turns Ctrl-C into this
        typer.echo("rbpkit: interrupted", err=True)
    raise SystemExit(status or 0)


def _fail(message: str) -> None:
    typer.echo("rbpkit: " + " ".join(message.split()), err=True)
    raise SystemExit(2)
