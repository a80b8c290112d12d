"""A Python snippet of the documentation: where it stands, running it, and which of its statements have run."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import re
import sys
import threading
from collections.abc import Awaitable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEADINGS_AND_PYTHON = re.compile(r"^## (.+?)$|^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"^ *print\(.*\) +# (.*)$", re.MULTILINE)
LIMIT_SECONDS = 60.0
LOOPS = (ast.For, ast.AsyncFor, ast.While)


def snippets(*pages: str) -> Iterator[tuple[str, str, str]]:
    """Page, heading and text of each."""
    for page in pages:
        heading = page
        for title, text in HEADINGS_AND_PYTHON.findall((DOCS / page).read_text()):
            heading = title or heading
            if text:
                yield page, heading, text


class Snippet:
    """Compiled, with the statements that have not run yet.

    One that stays in a loop has shown that it works when each of its statements has run and it is back at the head of
    a loop: so no time has to pass, and no statement is shown that nobody has tried.
    """

    def __init__(self, page: str, text: str) -> None:
        self.page = page
        self.lines = text.splitlines()
        tree = compile(text, page, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        self.name = f"<{page} {id(self)}>"
        self.code = compile(tree, self.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not _is_constant(node)]
        self.not_run = {node.lineno for node in statements}
        self.stays = asyncio.Event()
        self._heads = {node.lineno for node in statements if isinstance(node, LOOPS)}

    def on_line(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            if not self.not_run and frame.f_lineno in self._heads:
                self.stays.set()
            self.not_run.discard(frame.f_lineno)
        return self.on_line

    async def run(self, names: dict[str, Any]) -> None:
        """The whole of it; if it defines a `main`, that too."""
        with watched(self):
            if (ran := eval(self.code, names)) is not None:
                await self.until_shown(ran)
            if "main" in names:
                await self.until_shown(names["main"]())

    async def until_shown(self, work: Awaitable[Any]) -> None:
        """Until it has ended, or stays in a loop after all its statements have run."""
        working, staying = asyncio.ensure_future(work), asyncio.ensure_future(self.stays.wait())
        await asyncio.wait((working, staying), timeout=LIMIT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        staying.cancel()
        if not working.done():
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
            assert self.stays.is_set(), f"{self.page}: it neither ended nor came round its loop; {self.left_out()}"
        else:
            working.result()

    def check_all_ran(self) -> None:
        assert not self.not_run, f"{self.page}: {self.left_out()}"

    def left_out(self) -> str:
        return "never run: " + "; ".join(self.lines[number - 1].strip() for number in sorted(self.not_run))


@contextlib.contextmanager
def watched(*each: Snippet) -> Iterator[None]:
    """See their statements run, in this thread and in those that begin meanwhile."""
    by_name = {snippet.name: snippet.on_line for snippet in each}

    def on_call(frame: FrameType, event: str, _: object) -> Any:
        return by_name.get(frame.f_code.co_filename)

    before = sys.gettrace()
    sys.settrace(on_call)
    threading.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)  # type: ignore[arg-type]


def _is_constant(node: ast.stmt) -> bool:
    """A docstring, or the dots that stand for the reader's code."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def broken(text: str) -> Iterator[str]:
    """The same snippet with one statement broken, for each statement that stands on lines of its own."""
    lines = text.splitlines(keepends=True)
    tree = compile(text, "snippet", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not _is_constant(node):
            before = lines[node.lineno - 1][: node.col_offset]
            if not before.strip():
                rest = lines[node.end_lineno :]
                yield "".join([*lines[: node.lineno - 1], f"{before}nothing_has_this_name\n", *rest])
