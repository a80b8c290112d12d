"""What a subcommand prints: one JSON object on standard output, or words there; progress always on standard error."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")


def emit_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, default=str, ensure_ascii=False))


def folded(text: str) -> str:
    """Long lines folded to the terminal's width, their rest indented; as they are where nobody looks."""
    if not sys.stdout.isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns)
    folds = (textwrap.wrap(line, width, subsequent_indent=_indent(line)) or [""] for line in text.split("\n"))
    return "\n".join(part for lines in folds for part in lines)


def _indent(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()) + 4)


def say_progress(sentence: str) -> None:
    click.echo(sentence, err=True)
