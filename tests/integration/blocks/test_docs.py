"""Every program in docs/blocks.md runs, and prints what stands beside its prints."""

from __future__ import annotations

import ast
import asyncio
import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "blocks.md"
PROGRAMS = re.findall(r"^## (.+?)$|^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def programs() -> list[tuple[str, str]]:
    found, heading = [], ""
    for title, program in PROGRAMS:
        heading = title or heading
        if program:
            found.append((heading, program))
    return found


@pytest.mark.parametrize(("heading", "program"), programs(), ids=[heading for heading, _ in programs()])
def test_a_program_runs_and_prints_what_it_says(heading: str, program: str) -> None:
    code = compile(program, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    said = io.StringIO()
    names: dict[str, Any] = {"__name__": "docs"}

    async def run() -> None:
        await asyncio.wait_for(eval(code, names), 60)

    with redirect_stdout(said):
        asyncio.run(run())
    assert said.getvalue().splitlines() == PRINTS.findall(program)
