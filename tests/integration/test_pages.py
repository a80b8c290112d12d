"""Every program in the pages runs and prints what stands beside its prints; fragments run, with what they define."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from job_owners import JobOwners
from replicated_store import Store

import ringcast
from integration.long import IS_LONG
from integration.snippets import DOCS, LIMIT_SECONDS, PRINTS, Snippet, broken, snippets, watched
from ringcast.bus import SharedBus
from ringcast.cli.app import run as run_command
from ringcast.security import Keyring, new_key, write_keyring
from ringcast.testing import World


def programs(*pages: str) -> list[Any]:
    return [pytest.param(page, text, id=f"{page}: {heading}") for page, heading, text in snippets(*pages)]


PROGRAMS = programs("blocks.md", "cookbook.md")
# Where a pod is: this process, alone, on any ports.
PLACES = {
    "expect=3": "expect=1",
    'Discovery("shop", 7001)': 'Discovery("localhost", 7001)',
    ":7001": ":0",
    ":9464": ":0",
}


def run_program(page: str, program: str) -> list[str]:
    """What it prints."""
    text = program
    for shown, here in PLACES.items():
        text = text.replace(shown, here)
    snippet = Snippet(page, text)
    said = io.StringIO()
    with redirect_stdout(said):
        asyncio.run(snippet.run({"__name__": "docs"}))
    snippet.check_all_ran()
    return said.getvalue().splitlines()


def check_program(page: str, program: str) -> None:
    assert run_program(page, program) == PRINTS.findall(program)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of its own, with a key and with what an orchestrator tells a process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path))
    monkeypatch.setenv("POD_NAME", "shop-0")
    monkeypatch.setenv("POD_IP", "127.0.0.1")
    tmp_path.chmod(0o700)
    write_keyring(tmp_path / "orders.key", Keyring((new_key(),)), is_new=True)


@pytest.mark.parametrize(("page", "program"), PROGRAMS)
def test_a_program_runs_and_prints_what_it_says(page: str, program: str, place: None) -> None:
    check_program(page, program)


class Ledger:
    """What the guide's fragments about state hold."""

    def __init__(self) -> None:
        self.data = b"{}"

    def load(self, data: bytes) -> None:
        self.data = data

    def copy(self) -> Ledger:
        return self

    def chunks(self) -> Iterator[bytes]:
        yield self.data


async def run_fragment(page: str, program: str) -> None:
    """In a group of three, with the names that the text speaks of; on loopback, whatever addresses it shows."""
    text = re.sub(r"\b10\.0\.0\.\d+:7\d+", "127.0.0.1:0", program).replace("7001", "0").replace("9464", "0")
    snippet = Snippet(page, text)
    async with ringcast.join("orders", name="me", config="test") as group:
        others = [await ringcast.join("orders", name=name, seeds=group.me.endpoint, config="test") for name in "ab"]
        view = await group.wait_for(3, timeout=60)
        alice, bob = (member for member in view.members if member != group.me)
        names: dict[str, Any] = {
            "ringcast": ringcast,
            "group": group,
            "alice": alice,
            "bob": bob,
            "b": alice,
            "c": bob,
            "json": json,
            "asyncio": asyncio,
            "ledger": Ledger(),
            "payloads": [b"1", b"2"],
            "TOTAL": ringcast.TOTAL,
            "AsyncIterator": AsyncIterator,
            "Iterator": Iterator,
            "store": SimpleNamespace(),
            "__name__": "docs",
        }
        reading = [asyncio.create_task(read(other)) for other in others]
        own = asyncio.create_task(read(group)) if "async for" not in text and "receive" not in text else None
        try:
            async with asyncio.timeout(2 * LIMIT_SECONDS):
                await snippet.run(names)
                with watched(snippet):
                    await use_what_is_defined(names)
            snippet.check_all_ran()
        finally:
            for task in (*reading, *([own] if own else [])):
                task.cancel()
            for other in others:
                await other.close()


async def use_what_is_defined(names: dict[str, Any]) -> None:
    """Call the functions that a fragment shows, as the group would."""
    if "merge_state" in names:
        sides = {(names["alice"],): b'{"a": 1}', (names["bob"],): b'{"b": 2}'}
        assert json.loads(names["merge_state"](sides)) == {"a": 1, "b": 2}
    if "get_state" in names:
        names["ledger"].data = b"held"
        chunks = list(names["get_state"]())
        names["ledger"].data = b""
        await names["set_state"](_each(chunks))
        assert names["ledger"].data == b"held"


async def _each(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def read(group: ringcast.Group) -> None:
    async for _ in group:
        pass


def is_fragment(program: str) -> bool:
    """Threads, processes and a merge are run below."""
    return not any(word in program for word in ("ringcast.sync.join", "ringcast.bus", "is_merge"))


FRAGMENTS = [
    each for each in programs("guide.md", "operations.md", "design/ordering.md") if is_fragment(each.values[1])
]


@pytest.mark.parametrize(("page", "program"), FRAGMENTS)
def test_a_fragment_runs(page: str, program: str, place: None) -> None:
    asyncio.run(run_fragment(page, program))


def shown(page: str, word: str) -> str:
    """The one program of a page that holds a word."""
    (found,) = [text for _, _, text in snippets(page) if word in text]
    return found


def run_merge(page: str, program: str) -> list[str]:
    """What it prints while a group that was cut in two becomes one again."""
    snippet = Snippet(page, program)

    async def reader(group: ringcast.Group) -> None:
        await eval(snippet.code, {"ringcast": ringcast, "group": group})

    said = io.StringIO()
    with redirect_stdout(said), watched(snippet), World(reader, members=3) as world:
        world.partition("A", "BC")
        world.advance(5)
        world.heal()
        world.settle()
    snippet.check_all_ran()
    return said.getvalue().splitlines()


def test_the_fragment_about_merges_runs() -> None:
    said = run_merge("guide.md", shown("guide.md", "is_merge"))
    assert sorted(said) == ["was together: A"] * 3 + ["was together: B, C"] * 3


def run_thread(page: str, program: str) -> None:
    """Beside another member, until that one ends the group in which it stays."""
    with ringcast.sync.join("orders", name="other", config="test") as other, ThreadPoolExecutor(1) as threads:
        snippet = Snippet(page, program.replace("10.0.0.2:7001", other.me.endpoint))
        names: dict[str, Any] = {"ringcast": ringcast}
        with watched(snippet):
            reading = threads.submit(exec, snippet.code, names)
        while not (snippet.stays.is_set() or reading.done()):
            other.send(b"to whoever reads", timeout=LIMIT_SECONDS)
            time.sleep(0.01)
        if not reading.done():
            names["group"].close()
        reading.result(LIMIT_SECONDS)
        snippet.check_all_ran()
        sent = [event.payload for event in other.receive_many(64) if isinstance(event, ringcast.Message)]
        assert b"hello" in sent


def test_the_fragment_for_threads_runs() -> None:
    run_thread("guide.md", shown("guide.md", "ringcast.sync.join"))


@pytest.mark.needs("native")
def test_the_guides_program_with_processes_runs(tmp_path: Path) -> None:
    program = shown("guide.md", "multiprocessing").replace('"jobs"', f'"jobs-{os.getpid()}"')
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (PRINTS.findall(program), "")


@pytest.mark.needs("native")
def test_the_fragment_of_the_bus_runs() -> None:
    name = f"trades-{os.getpid()}"
    snippet = Snippet("bus.md", shown("design/bus.md", "ringcast.bus").replace("trades", name))
    with SharedBus.open(name) as bus, bus.attach("bob") as bob, ThreadPoolExecutor(1) as threads:
        with watched(snippet):
            alice = threads.submit(exec, snippet.code, names := {})
        assert bob.dequeue().payload == b"hello"
        alice.result(LIMIT_SECONDS)
        assert names["item"].payload == b"2"
    snippet.check_all_ran()


def test_the_page_about_testing_shows_a_service_and_a_test_that_work() -> None:
    """What the excerpt of the store leaves out is that of the example."""
    page = "testing-your-service.md"
    names: dict[str, Any] = {"json": json, "ringcast": ringcast, "JobOwners": JobOwners}
    service, test = (Snippet(page, shown(page, word)) for word in ("class Store:", "test_both_sides"))
    with watched(service, test), contextlib.ExitStack() as worlds:
        exec(service.code, names)
        names["Store"] = type("Store", (names["Store"], Store), {})
        exec(test.code, names)
        names["test_both_sides_of_a_partition_end_with_the_same_data"](
            lambda *place, **options: worlds.enter_context(World(*place, **options))
        )
    service.check_all_ran()
    test.check_all_ran()
    exec(shown(page, "class Careless"), names)
    assert names["Careless"].free is not JobOwners.free


def test_the_line_that_joins_with_a_tested_service_runs() -> None:
    class Short(Store):
        async def run(self, group: ringcast.Group) -> None:
            await group.receive()

    page = "testing-your-service.md"
    snippet = Snippet(page, shown(page, "store = Store()").replace("[...]", "[]"))
    asyncio.run(snippet.run({"ringcast": ringcast, "Store": Short}))
    snippet.check_all_ran()


def test_the_settings_that_the_page_shows_are_taken(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", (DOCS / "operations.md").read_text(), re.MULTILINE | re.DOTALL)
    file = tmp_path / "ringcast.toml"
    file.write_text(text)
    assert run_command(["--settings", str(file), "node", "--help"]) == 0


# Broken on purpose: what the check says of it.
BROKEN_PROGRAMS = {
    "it prints something else": ("print(1 + 1)  # 3\n", "['2'] == ['3']"),
    "a misspelt name": ("import ringcast\nasync with ringcast.jion('x') as group: ...\n", "no attribute 'jion'"),
    "a misspelt name in main": ("async def main():\n    ringcst.join('x')\n", "'ringcst' is not defined"),
    "a misspelt name in the loop": (
        "import asyncio\nasync def main():\n    while True:\n        await asyncio.sleep(0)\n        sold.ad(1)\n",
        "'sold' is not defined",
    ),
    "a line that nothing runs": ("if len('x') > 2:\n    misspelt()\n", "never run: misspelt()"),
    "a function that nothing calls": ("def given(event):\n    misspelt(event)\n", "never run: misspelt(event)"),
}
BROKEN_FRAGMENTS = {
    "a misspelt method": ("await group.snd(b'x')\n", "no attribute 'snd'"),
    "an option that does not exist": ("await group.send(b'x', oder=ringcast.TOTAL)\n", "'oder'"),
    "a misspelt attribute in the loop": ("async for event in group:\n    event.vieww\n", "no attribute 'vieww'"),
    "a case that never comes": (
        "async for event in group:\n    if event is None:\n        misspelt()\n",
        "it neither ended nor came round its loop; never run: misspelt()",
    ),
    "a state that is not merged": ("def merge_state(sides):\n    return b'{}'\n", "{} == {'a': 1, 'b': 2}"),
}
CAUGHT = (AssertionError, AttributeError, NameError, TypeError)


@pytest.mark.parametrize(("program", "says"), BROKEN_PROGRAMS.values(), ids=list(BROKEN_PROGRAMS))
def test_a_program_that_is_broken_is_caught(program: str, says: str, place: None) -> None:
    with pytest.raises(CAUGHT, match=re.escape(says)):
        check_program("page.md", program)


@pytest.mark.parametrize(("program", "says"), BROKEN_FRAGMENTS.values(), ids=list(BROKEN_FRAGMENTS))
def test_a_fragment_that_is_broken_is_caught(
    program: str, says: str, place: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("integration.snippets.LIMIT_SECONDS", 1.0)
    with pytest.raises(CAUGHT, match=re.escape(says)):
        asyncio.run(run_fragment("page.md", program))


EVERY_PAGE = [*PROGRAMS, *FRAGMENTS]


@pytest.mark.parametrize(("page", "program"), EVERY_PAGE if IS_LONG else EVERY_PAGE[:: len(PROGRAMS)])
def test_whatever_statement_of_a_page_is_broken_it_is_caught(
    page: str, program: str, place: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make broken-snippets`: each statement of each; else the last of some. Not what has a test of its own."""
    monkeypatch.setattr("integration.snippets.LIMIT_SECONDS", 5.0)
    is_program = any(page == each.values[0] for each in PROGRAMS)
    for text in list(broken(program))[0 if IS_LONG else -1 :]:
        try:
            if is_program:
                assert run_program(page, text) == PRINTS.findall(program)
            else:
                asyncio.run(run_fragment(page, text))
        except Exception:
            continue
        pytest.fail(f"not caught in {page}:\n{text}")
