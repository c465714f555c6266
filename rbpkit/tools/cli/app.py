"""The command line. Exit 0: done; 1: some jobs failed; 2: bad input, one line; 130: interrupted."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from importlib.metadata import entry_points
from typing import Any, NoReturn

from cyclopts import App, CycloptsError, Parameter

from rbpkit import __version__
from rbpkit.errors import InputError, one_line

# Each is imported when it is used, as torch takes seconds. Name -> its module here, and its help.
COMMANDS = {
    "measure": ("measure", "Rank every scored token of a corpus under models; keep the records."),
    "show": ("results", "CE and RBP_k with 95% intervals of every model and corpus in a folder."),
    "fit": ("results", "The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus."),
    "predict": ("results", "CE and RBP_k of a new model from its size, or RBP_k from its CE."),
    "compare": ("results", "Model B minus model A in CE and RBP_k, on the same documents."),
    "look": ("measure", "Colour each token of a text by its rank under models: one HTML page."),
    "sweep": ("study", "Measure all models of a parameter file on all of its corpora."),
    "reproduce": ("study", "Measure a study, run the notebooks on it, compare with what ships."),
    "classroom": ("study", "Gather a class's parameter files and notebooks on one page."),
}


def printable(text: str) -> str:
    """A text on one line; half characters, and what moves a terminal's cursor, as escapes."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(text))


def say(line: str) -> None:
    """A line for people, on standard error."""
    print(printable(line), file=sys.stderr)


def new_app(name: str, help: str, **more: Any) -> App:
    """An empty command line, for `rbpkit` and for the subcommand of a plugin."""
    plain = Parameter(
        negative=(),  # no --no-force
        allow_repeating=True,  # of an option given twice the last counts
        show_default=lambda value: value or None,
    )
    return App(
        name,
        help=help,
        help_format="plaintext",
        default_parameter=plain,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        **more,
    )


def command_line() -> App:
    """All commands, and those of the plugins that are installed (`rbpkit.commands`)."""
    about = "Measure the relative-based scaling law (RBP_k) of language models, to the integer."
    app = new_app("rbpkit", about, version=__version__, version_flags=("--version",))
    for name, (module, help) in COMMANDS.items():
        app.command(f"rbpkit.tools.cli.{module}:{name}", name=name, help=help)
    for entry in entry_points(group="rbpkit.commands"):
        app.command(entry.value, name=entry.name, help=f"The commands of the plugin {entry.name}.")
    return app


def main() -> None:
    """Run the command line; every fault is one line, and no traceback."""
    # Threads that wait for one another sleep rather than spin: on cores that other programs use
    # too, spinning made measuring tens of times slower. Read when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # numpy's products are small here, and its threads can only spin. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A polite kill ends as Ctrl-C does: temporary files go, and the status is 130.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    warnings.simplefilter("ignore")  # of libraries, to those who write programs
    try:
        try:
            command_line()(exit_on_error=False, print_error=False)
        except CycloptsError as error:
            # Its words look all commands up, and one of a plugin may be broken.
            raise InputError(str(error)) from error
    except KeyboardInterrupt as error:
        _end(f"interrupted{error}", 130)
    except InputError as error:
        _end(str(error), 2)
    except ImportError as error:
        _end(one_line(error.__cause__ or error), 2)  # why a command could not be loaded
    except SystemExit:
        raise
    except BaseException as error:  # a library in Rust may panic
        _end(one_line(error), 2)
    raise SystemExit(0)


def _end(message: str, status: int) -> NoReturn:
    say("rbpkit: " + " ".join(message.split()))
    raise SystemExit(status)
