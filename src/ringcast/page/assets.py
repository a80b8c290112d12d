"""The browser's side as text, for whoever puts it into a file of its own (the report)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r"^import .*?;$", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def asset(name: str) -> str:
    """A file of `static/`."""
    return (STATIC / name).read_text(encoding="utf-8")


def joined_modules(texts: Iterable[str]) -> str:
    """Modules as one script, in the order in which they need each other; their names must differ."""
    bare = [_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts]
    return '(() => {\n"use strict";\n' + "\n".join(bare) + "\n})();"
