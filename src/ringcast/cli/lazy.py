"""A click group whose commands are modules, imported only when one of them is used.

So `ringcast --help` is quick, and a package that one command needs is not missed by the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from ringcast.cli.settings import nearest


class LazyGroup(click.Group):
    """`commands_by_name` maps a name to (module, one line of help); the module has the command as `command`."""

    def __init__(self, *args: Any, commands_by_name: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._modules = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        command: click.Command = import_module(self._modules[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        is_known = name.startswith("-") or ctx.resilient_parsing or self.get_command(ctx, name) is not None
        if not is_known:
            known = nearest(name, self.list_commands(ctx)) or f"; there are {', '.join(self._modules)}"
            raise click.UsageError(f"there is no command {name!r}{known}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._modules:
            with formatter.section("Commands"):
                formatter.write_dl([(name, text) for name, (_, text) in self._modules.items()])
