"""`ringcast key`: make the key that a group's members share, change it while the group runs. Never shows a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ringcast.cli.output import emit_json, json_option
from ringcast.security import Keyring, new_key, read_keyring, write_keyring

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_NAME = click.argument("name")
_AFTER = "copy the file to every machine, and tell the members: kill -HUP, or group.reload_keys()"

_EPILOG = """\b
Examples:
  ringcast key new -o orders.key
  scp -p orders.key other-machine:
  ringcast node orders --bind 10.0.0.1:7001 --profile lan --key-file orders.key
\b
Change the key while the group runs; after each step copy the file to every machine and send SIGHUP to the members:
  ringcast key add orders.key
  ringcast key primary orders.key NEW
  ringcast key retire orders.key OLD
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """Make and change the key that the members of a group share.

    Keys are shown by name only; the names say nothing of the keys.
    """


@command.command()
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The file to make."
)
@json_option
def new(output: Path, as_json: bool) -> int:
    """Make a key file (mode 600). A file that exists is left alone."""
    keyring = Keyring((new_key(),))
    write_keyring(output, keyring, is_new=True)
    return _say(output, keyring, as_json, "copy it to every machine, and give it to the members: --key-file, or key=")


@command.command()
@_FILE
@json_option
def add(file: Path, as_json: bool) -> int:
    """Add a new key: members open what it seals, and do not seal with it yet."""
    return _change(file, read_keyring(file).with_added(new_key()), as_json)


@command.command()
@_FILE
@_NAME
@json_option
def primary(file: Path, name: str, as_json: bool) -> int:
    """Make the key NAME (or what it begins with) the one that members seal with."""
    return _change(file, read_keyring(file).with_primary(name), as_json)


@command.command()
@_FILE
@_NAME
@json_option
def retire(file: Path, name: str, as_json: bool) -> int:
    """Forget the key NAME: what it sealed is no longer opened. Every member must have another primary key by then."""
    return _change(file, read_keyring(file).with_retired(name), as_json)


@command.command()
@_FILE
@json_option
def show(file: Path, as_json: bool) -> int:
    """List the keys of FILE by name."""
    return _say(file, read_keyring(file), as_json, "")


def _change(file: Path, keyring: Keyring, as_json: bool) -> int:
    write_keyring(file, keyring)
    return _say(file, keyring, as_json, _AFTER)


def _say(file: Path, keyring: Keyring, as_json: bool, what_next: str) -> int:
    accepted = [key.name for key in keyring.keys[1:]]
    if as_json:
        shown: dict[str, Any] = {"path": str(file), "primary": keyring.primary.name, "accepted": accepted}
        emit_json(shown | {"retired": list(keyring.retired)})
        return 0
    click.echo(f"{keyring.primary.name}  primary: members seal with it")
    for name in accepted:
        click.echo(f"{name}  accepted: members open what it sealed")
    for name in keyring.retired:
        click.echo(f"{name}  retired")
    if what_next:
        click.echo(what_next, err=True)
    return 0
