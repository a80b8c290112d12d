"""What a subcommand prints: one JSON object on standard output, or words there; progress always on standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ringcast.errors import UsageError

_RAW_CONTROLS = re.compile("[\x7f-\x9f]")  # that JSON may hold as they are

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")


def emit_json(value: Mapping[str, Any]) -> None:
    text = json.dumps(value, default=str, ensure_ascii=False)
    click.echo(_RAW_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def printable(text: str) -> str:
    """Without control characters, which a terminal would obey: what others sent may hold any. Lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def on_one_line(text: str) -> str:
    """Printable, and without a line break that would begin a line of its own."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def say(text: str) -> None:
    """On standard output, without control characters."""
    click.echo(printable(text))


def folded(text: str) -> str:
    """Printable, and long lines folded to the terminal's width, their rest indented, where somebody looks."""
    text = printable(text)
    if not sys.stdout.isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns)
    folds = (textwrap.wrap(line, width, subsequent_indent=_indent(line)) or [""] for line in text.split("\n"))
    return "\n".join(part for lines in folds for part in lines)


def _indent(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()) + 4)


def check_writable(path: Path) -> None:
    """Before the work begins: can this file or directory be written, or made?"""
    existing = next(place for place in (path, *path.absolute().parents) if place.exists())
    if existing != path and not existing.is_dir():
        raise UsageError(f"{path} cannot be written: {existing} is not a directory")
    if not os.access(existing, os.W_OK):
        raise UsageError(f"{path} cannot be written: no permission at {existing}")


def say_progress(sentence: str) -> None:
    click.echo(printable(sentence), err=True)
