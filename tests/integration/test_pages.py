"""Every program in the pages runs and prints what stands beside its prints; fragments run, with what they define."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from job_owners import JobOwners
from replicated_store import Store

import ringcast
from ringcast.bus import SharedBus
from ringcast.cli.app import run as run_command
from ringcast.security import Keyring, new_key, write_keyring
from ringcast.testing import World

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAMS = re.compile(r"^## (.+?)$|^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"^ *print\(.*\) +# (.*)$", re.MULTILINE)
QUIET_SECONDS = 0.5  # a fragment that reads for ever has shown by then that it works


def programs(*pages: str) -> list[Any]:
    found = []
    for page in pages:
        heading = page
        for title, program in PROGRAMS.findall((DOCS / page).read_text()):
            heading = title or heading
            if program:
                found.append(pytest.param(page, program, id=f"{page}: {heading}"))
    return found


async def for_a_while(work: Awaitable[Any]) -> None:
    """What would go on for ever has shown by then that it works."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(QUIET_SECONDS):
            await work


def compiled(page: str, program: str) -> Any:
    return compile(program, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize(("page", "program"), programs("blocks.md", "cookbook.md"))
def test_a_program_runs_and_prints_what_it_says(
    page: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = compiled(page, program)
    said = io.StringIO()
    names: dict[str, Any] = {"__name__": "docs"}

    async def run() -> None:
        await asyncio.wait_for(eval(code, names), 60)

    with redirect_stdout(said):
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(run())
        else:
            exec(code, names)
        if "main" in names:
            monkeypatch.setenv("POD_NAME", "shop-0")
            monkeypatch.setenv("POD_IP", "127.0.0.1")
            asyncio.run(for_a_while(names["main"]()))
    assert said.getvalue().splitlines() == PRINTS.findall(program)


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
            async with asyncio.timeout(QUIET_SECONDS if "for event in" in text or "for batch in" in text else 60):
                ran = eval(compiled(page, text), names)
                if ran is not None:
                    await ran
                await use_what_is_defined(names)
        except TimeoutError:
            assert "for event in" in text or "for batch in" in text, "it never ended"
        finally:
            for task in (*reading, *([own] if own else [])):
                task.cancel()
            for other in others:
                await other.close()


async def use_what_is_defined(names: dict[str, Any]) -> None:
    """Call the functions that a fragment shows, as the group would."""
    if "main" in names:
        await for_a_while(names["main"]())
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


def is_fragment(program: Any) -> bool:
    """Threads and processes of their own are run below."""
    return not any(word in program.values[1] for word in ("ringcast.sync.join", "ringcast.bus"))


FRAGMENTS = [each for each in programs("guide.md", "operations.md", "design/ordering.md") if is_fragment(each)]


@pytest.mark.parametrize(("page", "program"), FRAGMENTS)
def test_a_fragment_runs(page: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path))
    tmp_path.chmod(0o700)
    write_keyring(tmp_path / "orders.key", Keyring((new_key(),)), is_new=True)
    asyncio.run(run_fragment(page, program))


def shown(page: str, word: str) -> str:
    """The one program of a page that holds a word."""
    (found,) = [program.values[1] for program in programs(page) if word in program.values[1]]
    return str(found)


def test_the_fragment_for_threads_runs() -> None:
    with ringcast.sync.join("orders", name="other", config="test") as other:
        text = shown("guide.md", "ringcast.sync.join").replace("10.0.0.2:7001", other.me.endpoint)
        names: dict[str, Any] = {"ringcast": ringcast}
        reading = threading.Thread(target=exec, args=(compiled("guide.md", text), names))
        reading.start()
        heard = next(event for event in other if isinstance(event, ringcast.Message))
        assert heard.payload == b"hello"
        while not isinstance(names.get("event"), ringcast.Message):
            time.sleep(0.01)  # until it is in its loop, which only the end of its group ends
        names["group"].close()
        reading.join(60)
        assert not reading.is_alive()


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
    code = compiled("bus.md", shown("design/bus.md", "ringcast.bus").replace("trades", name))
    with SharedBus.open(name) as bus, bus.attach("bob") as bob:
        alice = threading.Thread(target=exec, args=(code, names := {}))
        alice.start()
        assert bob.dequeue().payload == b"hello"
        alice.join(60)
        assert names["item"].payload == b"2"


def test_the_page_about_testing_shows_a_service_and_a_test_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the excerpt of the store leaves out is that of the example."""
    page = "testing-your-service.md"
    names: dict[str, Any] = {"json": json, "ringcast": ringcast, "JobOwners": JobOwners}
    exec(shown(page, "class Store:"), names)
    names["Store"] = type("Store", (names["Store"], Store), {})
    asyncio.run(for_a_while(eval(compiled(page, shown(page, "store = Store()").replace("[...]", "[]")), names)))
    exec(shown(page, "test_both_sides"), names)
    with contextlib.ExitStack() as worlds:
        names["test_both_sides_of_a_partition_end_with_the_same_data"](
            lambda *place, **options: worlds.enter_context(World(*place, **options))
        )
    exec(shown(page, "class Careless"), names)
    assert names["Careless"].free is not JobOwners.free


def test_the_settings_that_the_page_shows_are_taken(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", (DOCS / "operations.md").read_text(), re.MULTILINE | re.DOTALL)
    file = tmp_path / "ringcast.toml"
    file.write_text(text)
    assert run_command(["--settings", str(file), "node", "--help"]) == 0
