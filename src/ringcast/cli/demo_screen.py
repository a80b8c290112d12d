"""What the demo shows: plain lines for a file or a pipe; in a terminal colours and a line that says what runs.

Plain output has no control characters and no line that changes. Both fit 80 columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from ringcast.demo import Step

WIDTH = 80
INDENT = "     "


class PlainScreen:
    """Lines, as they come. `say` takes one."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def begin(self, number: int, name: str) -> None:
        self._say(f"\n{number:>2}.  {name}")

    def tell(self, sentence: str) -> None:
        for line in _folded(sentence):
            self._say(line)

    def end(self, step: Step) -> None:
        self._say(f"{INDENT}{'done' if step.ok else 'stopped'} after {step.seconds:.1f} s")

    def close(self) -> None:
        """Nothing to restore."""


class LiveScreen:
    """The same words in colours, with a turning line while a step runs."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(highlight=False)
        self._status: Any = None

    def begin(self, number: int, name: str) -> None:
        self._console.print(f"\n[bold cyan]{number:>2}.[/]  [bold]{_escaped(name)}[/]")
        self._status = self._console.status("[dim]at work; Ctrl-C ends everything[/]", spinner="dots")
        self._status.start()

    def tell(self, sentence: str) -> None:
        for line in _folded(sentence):
            self._console.print(_coloured(line), soft_wrap=True)

    def end(self, step: Step) -> None:
        self.close()
        mark = "[green]done[/]" if step.ok else "[red]stopped[/]"
        self._console.print(f"{INDENT}{mark} [dim]after {step.seconds:.1f} s[/]")

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _folded(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT + "  ") or [""]


def _coloured(line: str) -> str:
    line = _escaped(line)
    for word, colour in ((" held", "green"), ("violated", "red"), ("unjudged", "yellow")):
        line = line.replace(word, f"[{colour}]{word}[/]")
    return line


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
