"""Every program in the cookbook and in docs/blocks.md runs and prints what stands beside its prints; fragments run."""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ringcast
from ringcast.security import Keyring, new_key, write_keyring

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAMS = re.compile(r"^## (.+?)$|^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
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
    text = re.sub(r"\b10\.0\.0\.\d+:7\d+", "127.0.0.1:0", program).replace("7001", "0")
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
        except TimeoutError:
            assert "for event in" in text or "for batch in" in text, "it never ended"
        finally:
            for task in (*reading, *([own] if own else [])):
                task.cancel()
            for other in others:
                await other.close()


async def read(group: ringcast.Group) -> None:
    async for _ in group:
        pass


PLAIN = ("ringcast.sync.join",)  # for threads: shown in the cookbook, and run there
FRAGMENTS = [
    fragment
    for fragment in programs("guide.md", "operations.md", "design/ordering.md")
    if not any(word in fragment.values[1] for word in PLAIN)  # type: ignore[union-attr]
]


@pytest.mark.parametrize(("page", "program"), FRAGMENTS)
def test_a_fragment_runs(page: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path))
    tmp_path.chmod(0o700)
    write_keyring(tmp_path / "orders.key", Keyring((new_key(),)), is_new=True)
    asyncio.run(run_fragment(page, program))
