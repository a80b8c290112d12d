"""Scenario files: a story as text, which anybody can read, extend and diff.

    # Why this story is told.
    world A B capacity=5
    send A 10
    ----
    A sent 1..5, 5 wait

A block is comments, commands, a line of dashes, and what they must say; blocks are separated by empty lines and share
one stage. `play` gives the same text back with what the commands said now, so a file can be rewritten and reviewed.
Not the commands: those are in stage.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ringcast.errors import UsageError
from ringcast.sim.options import Options
from ringcast.sim.written import commands_of

DASHES = "----"


@dataclass(slots=True)
class Block:
    comments: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    expected: list[str] | None = None  # None = a block without dashes: comments only, or a mistake

    def text(self, said: list[str]) -> str:
        lines = [*self.comments, *self.commands]
        return "\n".join([*lines, DASHES, *said] if self.commands else lines) + "\n"


def parse(text: str) -> list[Block]:
    """The blocks of a file; UsageError names the line that belongs to none."""
    blocks: list[Block] = []
    block = Block()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if not line.strip():
            if block.comments or block.commands:
                _check(block, number)
                blocks.append(block)
            block = Block()
        elif block.expected is not None:
            block.expected.append(line)
        elif line == DASHES:
            block.expected = []
        elif line.startswith("#"):
            block.comments.append(line)
        else:
            block.commands.append(line)
    return blocks


def _check(block: Block, number: int) -> None:
    if block.commands and block.expected is None:
        raise UsageError(f"the block that ends in line {number} has commands but no line of dashes")


def play(text: str, act: Callable[[str], Iterator[str]]) -> str:
    """The same text, with what the commands said now. A command that fails says so, and the story goes on."""
    return "\n".join(block.text([line for command in block.commands for line in act(command)]) for block in parse(text))


def scenario_of(options: Options, why: str, sentences: list[str], planted: str = "") -> str:
    """A scenario file that replays a run, perhaps with a planted bug in it, and says what failed."""
    simulate = f"simulate planted={planted.replace(' ', '_')}" if planted else "simulate"
    block = Block([f"# {why}"], [*commands_of(options), simulate], [])
    return block.text(sentences[:5] or ["good"])
