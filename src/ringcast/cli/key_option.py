"""`--key-file` of the commands that start members, and of those that only ask them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ringcast.security import KEY_FILE_VARIABLE, read_keyring


def _checked(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Before any work begins: a file that cannot be used is a mistake of the command line."""
    if path is not None:
        read_keyring(path)
    return path


key_option = click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    callback=_checked,
    help="The key that all members share (ringcast key new); default: $RINGCAST_KEY_FILE.",
)
unneeded_key_option = click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    expose_value=False,
    callback=_checked,
    help="Not needed: members are asked over a socket of this user. Taken so that one set of options fits all.",
)


@contextmanager
def for_members(key_file: Path | None) -> Iterator[None]:
    """Members that are started meanwhile, here or in processes of their own, have this key."""
    before = os.environ.get(KEY_FILE_VARIABLE)
    if key_file is not None:
        os.environ[KEY_FILE_VARIABLE] = str(key_file.absolute())
    try:
        yield
    finally:
        if before is not None:
            os.environ[KEY_FILE_VARIABLE] = before
        elif key_file is not None:
            del os.environ[KEY_FILE_VARIABLE]
