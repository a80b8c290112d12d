"""Every example runs, by exactly the command that its docstring prints."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringcast.lab import free_ports

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `python` and `pytest` are this one's
COMMAND = re.compile(r" *((?:python|pytest) examples/\S+(?: \S+)*)")  # two spaces end it: then comes what it does
PRINTED = {
    "ask_everybody.py": ["python examples/ask_everybody.py"],
    "bus_workers.py": ["python examples/bus_workers.py", "python examples/bus_workers.py 5 2000"],
    "job_owners.py": [],  # it is run by its test
    "merging_counter.py": ["python examples/merging_counter.py"],
    "replicated_dict.py": ["python examples/replicated_dict.py"],
    "replicated_store.py": [],  # it is run by its test
    "shared_dict.py": [
        "python examples/shared_dict.py 127.0.0.1:7001",
        "python examples/shared_dict.py 127.0.0.1:7002 127.0.0.1:7001",
    ],
    "test_job_owners.py": ["pytest examples/test_job_owners.py --ringcast-seeds 5"],
    "test_replicated_store.py": ["pytest examples/test_replicated_store.py --ringcast-seeds 20"],
    "work_queue.py": ["python examples/work_queue.py ann tea milk"],
}
DIALOGUES = ("shared_dict.py",)  # they read what is typed


def printed(example: Path) -> list[str]:
    """The commands in the docstring of an example."""
    lines = (ast.get_docstring(ast.parse(example.read_text()), clean=False) or "").splitlines()
    return [found[1] for line in lines if (found := COMMAND.match(line))]


def started(command: str) -> subprocess.Popen[str]:
    """By a shell, in the root of the repository, as a user would."""
    return subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PATH": PATH},
    )


def test_every_example_prints_how_it_is_run() -> None:
    examples = {path.name: printed(path) for path in sorted(EXAMPLES.glob("*.py"))}
    assert examples == PRINTED


@pytest.mark.needs("native")
@pytest.mark.parametrize(
    "command", [each for name, commands in PRINTED.items() if name not in DIALOGUES for each in commands]
)
def test_each_command_runs_as_it_is_printed(command: str) -> None:
    child = started(command)
    said, _ = child.communicate(timeout=300)
    assert child.returncode == 0, said


def test_the_dialogue_runs_as_it_is_printed() -> None:
    with ExitStack() as stack:
        first, second = (started(command) for command in PRINTED["shared_dict.py"])
        for child in (first, second):
            stack.callback(child.kill)
            assert child.stdin is not None
        assert first.communicate("colour=green\n\n", timeout=60)[1] is None and first.returncode == 0
        assert second.communicate("\n", timeout=60)[1] is None and second.returncode == 0


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


def code_lines(example: str) -> int:
    """Lines of code: no blank ones, no docstring, no comments of their own."""
    tree = ast.parse((EXAMPLES / example).read_text())
    tree.body = tree.body[1:]
    return len([line for line in ast.unparse(tree).splitlines() if line.strip()])


def test_programs_on_blocks_are_short() -> None:
    assert code_lines("replicated_dict.py") <= 8
    assert code_lines("ask_everybody.py") <= 8
    assert code_lines("work_queue.py") <= 30


def test_two_workers_share_the_jobs_and_both_know_what_was_done() -> None:
    command = [sys.executable, str(EXAMPLES / "work_queue.py")]
    workers = [
        subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True)
        for words in (["bob", "tea", "milk"], ["eve", "milk", "bread"])
    ]
    said = [ast.literal_eval(worker.communicate(timeout=120)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert {key for found in said for key in found} == {"tea", "milk", "bread"}
    assert all(value.startswith(f"make {key} by ") for found in said for key, value in found.items())
