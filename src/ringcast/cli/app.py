"""The root command and what becomes of errors.

Exit codes: 0 it went well and every claim held; 1 it ran and something is wrong; 2 it could not run (bad arguments, a
missing file, a busy port, a missing package, or a bug of ours), with one sentence on standard error and no traceback.
A subcommand returns its exit code, or None for 0. `RINGCAST_LOG=debug` or `-v` shows the log, and then tracebacks too.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from ringcast._version import __version__
from ringcast.cli.lazy import LazyGroup
from ringcast.cli.logs import set_up_logging
from ringcast.cli.registry import COMMANDS
from ringcast.errors import RingcastError

COULD_NOT_RUN = 2
INTERRUPTED = 130

_EPILOG = """\b
Examples:
  ringcast demo                         see what it does, in a minute
  ringcast node chat                    found a group from the shell; others join with --seed
  ringcast explain 127.0.0.1:7001       why does my send wait, and who is not in the group?
  ringcast check recordings/            is every guarantee kept in this run?
  ringcast COMMAND --help               options and examples of a command
\b
Exit codes: 0 it went well and every claim held; 1 it ran and something is wrong; 2 it could not run.
"""


@click.group(
    cls=LazyGroup, commands_by_name=COMMANDS, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="ringcast")
@click.option("-v", "--verbose", count=True, help="Show the log on standard error; twice for more.")
def app(verbose: int) -> None:
    """Group communication for Python: views, reliable multicast, total order, merge; recorded and judged."""
    set_up_logging(verbose)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    code = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code of one command line."""
    try:
        code = app.main(args=arguments, prog_name="ringcast", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help(), err=True)
        return COULD_NOT_RUN
    except click.ClickException as error:
        return _say(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    except ModuleNotFoundError as error:
        return _say(_missing(error))
    except BrokenPipeError:
        return 0  # whoever read our output has seen enough
    except RingcastError as error:
        return _say(str(error))
    except OSError as error:
        return _say(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except Exception as error:
        logging.getLogger("ringcast").debug("a bug", exc_info=True)
        return _say(f"internal error, a bug in ringcast ({type(error).__name__}: {error}); -vv shows where")


def _say(sentence: str) -> int:
    click.echo(f"ringcast: {' '.join(sentence.split())}", err=True)
    return COULD_NOT_RUN


def _missing(error: ModuleNotFoundError) -> str:
    name = (error.name or "").partition(".")[0]
    extra = {"pyspark": "pipeline", "pyarrow": "pipeline", "pandas": "pipeline", "numpy": "pipeline"}.get(name, "dev")
    return f"this needs the package {name!r}, which is not installed: pip install 'ringcast[{extra}]'"
