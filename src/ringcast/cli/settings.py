"""Options from a file: `ringcast --settings FILE`, one TOML table for each command, keys as on the command line.

The command line wins over the environment (`RINGCAST_<COMMAND>_<OPTION>`), the environment over the file. A command or
an option that does not exist is refused, with the nearest one that does.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click


def read_settings(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """What the file says becomes the defaults of the commands."""
    if path is None:
        return
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"cannot read the settings {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"the settings {path} are no TOML: {error}") from None
    assert isinstance(context.command, click.Group)
    context.default_map = _of_group(context, context.command, tables, str(path))


def _of_group(context: click.Context, group: click.Group, tables: dict[str, Any], where: str) -> dict[str, Any]:
    found = {}
    for name, table in tables.items():
        command = group.get_command(context, name)
        if command is None:
            raise click.UsageError(
                f"{where}: there is no command {name!r}{nearest(name, group.list_commands(context))}"
            )
        if not isinstance(table, dict):
            raise click.UsageError(f"{where}: {name!r} must be a table: [{name}]")
        place = f"{where} [{name}]"
        if isinstance(command, click.Group):
            found[name] = _of_group(context, command, table, place)
        else:
            found[name] = _of_command(command, table, place)
    return found


def _of_command(command: click.Command, table: dict[str, Any], where: str) -> dict[str, Any]:
    names = {
        option.removeprefix("--"): str(parameter.name)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    for key in table:
        if key not in names:
            raise click.UsageError(f"{where}: there is no option {key!r}{nearest(key, list(names))}")
    return {names[key]: value for key, value in table.items()}


def nearest(word: str, words: list[str]) -> str:
    """`; did you mean x?`, or nothing."""
    near = get_close_matches(word, words, 1)
    return f"; did you mean {near[0]}?" if near else ""
