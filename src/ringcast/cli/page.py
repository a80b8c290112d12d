"""`ringcast page`: look at a group in a browser: a real one, a simulated one or a recording."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.errors import UsageError
from ringcast.security import check_owner

_EPILOG = """\b
Examples:
  ringcast page                       the members that run here under this user
  ringcast page --group chat          only those of one group
  ringcast page --seed 7              a simulated group to cut, kill and heal with the mouse
  ringcast page recordings/           a recording with a time slider, each violation linked to its events
A token is made and printed with the address; beyond loopback --certificate/--private-key (or --plain behind a proxy) is
needed too.
It changes nothing in a real group. Ctrl-C ends it.
"""


@click.command(epilog=_EPILOG)
@click.argument("traces", metavar="[TRACE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--bind", metavar="HOST:PORT", default="127.0.0.1:0", show_default=True, help="Where to listen; 0 = any.")
@click.option("--group", help="Only members of this group.")
@click.option("--seed", type=click.IntRange(0, 2**53), help="A simulated group, drawn from this seed.")
@click.option("--members", type=click.IntRange(2, 16), default=5, show_default=True, help="Of the simulated group.")
@click.option(
    "--partition", type=click.Choice(["all", "primary"]), default="all", help="Which sides go on (simulated)."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What every request must carry, in a file that only you can read; default: made anew and printed.",
)
@click.option("--certificate", type=click.Path(path_type=Path), help="For https.")
@click.option("--private-key", type=click.Path(path_type=Path), help="Of the certificate.")
@click.option("--plain", is_flag=True, help="No encryption beyond loopback: a proxy in front does it.")
@json_option
def command(
    traces: tuple[Path, ...],
    bind: str,
    group: str | None,
    seed: int | None,
    members: int,
    partition: str,
    token_file: Path | None,
    certificate: Path | None,
    private_key: Path | None,
    plain: bool,
    as_json: bool,
) -> int:
    """Look at a group in a browser: members and links, views over time, windows, merges, what waits and why."""
    try:
        from ringcast.page import Live, Recorded, Simulated, Source, serve
    except ImportError as error:
        raise UsageError(f"the page needs {error.name}: pip install 'ringcast[page]'") from None
    if traces and (seed is not None or group is not None):
        raise UsageError("a page shows recordings, or a simulated group (--seed), or a real one (--group): choose one")
    if seed is not None and group is not None:
        raise UsageError("--group is for real groups, --seed for simulated ones: choose one")
    source: Source
    if traces:
        source = Recorded(traces)
    elif seed is not None:
        source = Simulated(seed, members, partition)
    else:
        source = Live(group)

    def say(address: str) -> None:
        if as_json:
            emit_json({"address": address, "mode": source.mode})
        else:
            click.echo(address)
            say_progress("Open it in a browser; Ctrl-C ends.")

    token = None if token_file is None else _token_in(token_file)
    with suppress(KeyboardInterrupt):  # the ordinary end
        serve(source, bind, say, token=token, certificate=certificate, private_key=private_key, plain=plain)
    return 0


def _token_in(path: Path) -> str:
    """Read the token from a file, because every user of the host can read the arguments of a process."""
    try:
        check_owner(path, path.stat(), "token file")
        return path.read_text("ascii").strip()
    except OSError as error:
        raise UsageError(f"cannot read the token file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the token file {path} is not text") from None
