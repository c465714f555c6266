"""The command line. Exit 0: done; 1: some jobs failed; 2: bad input, one line; 130: interrupted."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import NoReturn

from cyclopts import App, CycloptsError, Parameter, UnknownOptionError

from rbpkit import __version__, plugins
from rbpkit.check import GONE
from rbpkit.errors import InputError
from rbpkit.files.manifest import KEY
from rbpkit.tools.cli.common import SEVERAL, say
from rbpkit.tools.cli.results import compare, fit, predict, show
from rbpkit.tools.cli.study import classroom, fetch, reproduce, sweep
from rbpkit.tools.study.checks import missing_extra


def new_app(name: str, help: str, version: str = "") -> App:
    """An empty command line, for `rbpkit` and for the subcommand of a plugin."""
    plain = Parameter(
        negative=(),  # no --no-json
        allow_repeating=True,  # of an option given twice the last counts
        show_default=lambda value: value or None,
    )
    return App(
        name,
        help=help,
        help_format="plaintext",
        version=version,
        version_flags=("--version",) if version else (),
        default_parameter=plain,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )


COMMANDS = (show, fit, classroom, fetch, compare, sweep, reproduce)
# Commands that load torch are loaded when they are used. Name -> what --help says of it.
LOADED_LATE = {
    "measure": "Rank every scored token of a corpus under a model, or several; keep the records.",
    "look": "Colour each token of a text by its rank under a model, or several: one HTML page.",
}


def command_line(words: Sequence[str]) -> App:
    """All commands; those of plugins are there unless `words` begin with another command.

    Raises InputError for a plugin of this repository that is not installed.
    """
    about = "Measure the relative-based scaling law (RBP_k) of language models, to the integer."
    app = new_app("rbpkit", about, __version__)
    for command in COMMANDS:
        app.command(command)
    app.command(predict, default_parameter=SEVERAL)
    for name, help in LOADED_LATE.items():
        where = f"rbpkit.tools.cli.measure:{name}"
        app.command(where, name=name, help=help, default_parameter=SEVERAL)
    first = words[0] if words else ""
    # Importing plugins takes time. For --help, and for a misspelt word, all names are wanted.
    if first in app and not first.startswith("-"):
        return app
    for name in sorted({*plugins.plugin_names("commands"), *plugins.INSTALL.keys() & {first}}):
        # One that is broken stops nothing else.
        with nullcontext() if name == first else suppress(InputError):
            subcommand = plugins.offered(name, "commands", App)
            if subcommand is not None and name not in app:
                app.command(subcommand, name=name)
    return app


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
        words = sys.argv[1:]
        command_line(words)(words, exit_on_error=False, print_error=False)
    except KeyboardInterrupt:
        say("rbpkit: interrupted")
        raise SystemExit(130) from None
    except InputError as error:
        _fail(str(error), error.status)
    except CycloptsError as error:  # an option or a command that is not there, or its value
        _fail(_what_is_wrong(error))
    except ModuleNotFoundError as error:
        needs = missing_extra(error)
        if not needs:
            raise
        _fail(needs)
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        _fail("out of memory: give the process more")
    except OSError as error:  # disk full, no permission, a file where a folder should be
        _fail(f"{error.filename or 'writing'}: {error.strerror or error}")
    except RuntimeError as error:
        if "home directory" not in str(error):
            raise
        _fail(f"a path begins with ~ and no such user is here ({error})")  # pathlib's only word
    raise SystemExit(0)


def _what_is_wrong(error: CycloptsError) -> str:
    """What the command line cannot use, and the way out."""
    if isinstance(error, UnknownOptionError):
        name = (error.token.keyword or error.token.value).lstrip("-").replace("-", "_")
        if name in GONE:
            return f"--{name.replace('_', '-')} is no longer an option: {GONE[name]}"
        if name in ("family", *KEY):  # a separate option in earlier versions
            return f"{error} In a folder of records choose by it as --where {name}=VALUE"
    return str(error)


def _fail(message: str, status: int = 2) -> NoReturn:
    say("rbpkit: " + " ".join(message.split()))
    raise SystemExit(status)
