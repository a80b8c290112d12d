"""`ringcast bench`: measurements; each is a module of its own, `bench_<name>.py`."""

from __future__ import annotations

import click

from ringcast.cli.lazy import LazyGroup
from ringcast.cli.registry import BENCH


@click.group(name="bench", cls=LazyGroup, commands_by_name=BENCH)
def command() -> None:
    """Measure this machine and this version; every figure comes with what it was measured beside."""
