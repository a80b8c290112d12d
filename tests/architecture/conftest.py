"""Trees in which a violation can be planted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from architecture.layers import MAY_IMPORT

Plant = Callable[[str, str], Path]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Lays out every room, empty, and writes one file into it: plant("core/node.py", "import os")."""
    package = tmp_path / "ringcast"
    parts = [package / room for room in MAY_IMPORT if not room.startswith("_") and room != "errors"]
    for directory in (package, *parts, package / "core" / "merge", package / "core" / "multicast"):
        directory.mkdir(exist_ok=True)
        (directory / "__init__.py").touch()
    for module in ("errors.py", "_version.py", "window/ring.py", "core/node.py", "model/view.py"):
        (package / module).touch()

    def write(file: str, source: str) -> Path:
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_text(source)
        return package

    return write
