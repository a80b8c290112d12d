"""Stories as text files: what happens, a line `----`, what the machine answers. Anybody can read, extend and diff them.

A block of commands, `----`, the answer, an empty line; `#` lines are for the reader and stay. RINGCAST_REWRITE=1 writes
the present answers into the files, to be reviewed as a diff. Not a language: commands are the words of each player.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

TESTDATA = Path(__file__).parent / "testdata"
Player = Callable[[list[str]], list[str]]


def stories(room: str) -> list[Path]:
    found = sorted((TESTDATA / room).glob("*.txt"))
    assert found, f"no stories in {TESTDATA / room}"
    return found


def blocks(text: str) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """(comment lines, commands, answer lines) of each block."""
    for block in text.strip("\n").split("\n\n"):
        lines = block.splitlines()
        notes = [line for line in lines if line.startswith("#")]
        rest = [line for line in lines if not line.startswith("#")]
        at = rest.index("----") if "----" in rest else len(rest)
        yield notes, rest[:at], rest[at + 1 :]


def play(path: Path, player: Player) -> None:
    """Play the story; every answer must be the one in the file."""
    written = path.read_text()
    played = "\n\n".join(_answered(notes, commands, player) for notes, commands, _ in blocks(written)) + "\n"
    if os.environ.get("RINGCAST_REWRITE") == "1":
        path.write_text(played)
        return
    assert played.splitlines() == written.splitlines()


def _answered(notes: list[str], commands: list[str], player: Player) -> str:
    if not commands:
        return "\n".join(notes)
    answers = [line for command in commands for line in player(command.split())]
    return "\n".join([*notes, *commands, "----", *(answers or ["nothing"])])
