"""What a subcommand prints: one JSON object on standard output, or words there; progress always on standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")


def emit_json(value: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, default=str, ensure_ascii=False))


def say_progress(sentence: str) -> None:
    click.echo(sentence, err=True)
