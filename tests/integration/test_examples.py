"""Every example runs, as a user would run it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringcast.lab import free_ports

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Dialogue:
    """A running example: lines in, lines out."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, str(EXAMPLES / "shared_dict.py"), *arguments]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()

    def shown(self) -> dict[str, str]:
        self.say("")
        assert self.child.stdout is not None
        found: dict[str, str] = json.loads(self.child.stdout.readline())
        return found

    def until_shows(self, wanted: dict[str, str]) -> None:
        while self.shown() != wanted:
            pass

    def end(self) -> int:
        assert self.child.stdin is not None
        self.child.stdin.close()
        return self.child.wait(60)


@pytest.fixture
def places() -> Iterator[list[str]]:
    yield [f"127.0.0.1:{port}" for port in free_ports(3)]


def test_the_shared_dict_is_the_same_everywhere_also_for_a_latecomer(places: list[str]) -> None:
    with ExitStack() as stack:
        first, second = Dialogue(places[0]), Dialogue(places[1], places[0])
        for dialogue in (first, second):
            stack.callback(dialogue.child.kill)
        assert first.shown() == second.shown() == {}
        first.say("colour=green")
        second.say("size=large")
        for dialogue in (first, second):
            dialogue.until_shows({"colour": "green", "size": "large"})
        late = Dialogue(places[2], places[0])
        stack.callback(late.child.kill)
        assert late.shown() == {"colour": "green", "size": "large"}
        late.say("colour=red")
        for dialogue in (first, second, late):
            dialogue.until_shows({"colour": "red", "size": "large"})
        assert [dialogue.end() for dialogue in (second, first, late)] == [0, 0, 0]


def test_the_counter_adds_up_what_both_sides_counted_while_apart() -> None:
    command = [sys.executable, str(EXAMPLES / "merging_counter.py")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    assert said == [
        "together: {'A': 40, 'B': 40, 'C': 40, 'D': 40}",
        "cut in two, A B and C D: {'A': 240, 'B': 240, 'C': 240, 'D': 240}",
        "healed: {'A': 440, 'B': 440, 'C': 440, 'D': 440}",
    ]
