"""`import ringcast`: everything promised is there, nothing heavy comes with it."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ringcast


def test_everything_in_all_can_be_had_and_a_wrong_name_cannot() -> None:
    assert [name for name in ringcast.__all__ if not hasattr(ringcast, name)] == []
    assert set(ringcast.__all__) <= set(dir(ringcast))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ringcast.nonsense  # noqa: B018


def test_importing_the_package_opens_no_door_to_sockets() -> None:
    code = "import sys, ringcast; print([m for m in ('asyncio', 'socket', 'pyspark', 'msgspec') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_importing_the_package_imports_no_room() -> None:
    code = "import sys, ringcast, ringcast.cli; print(sorted(m for m in sys.modules if m.startswith('ringcast')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['ringcast', 'ringcast._version', 'ringcast.cli']"


def test_a_name_of_the_package_is_that_of_its_room() -> None:
    tree = ast.parse(Path(ringcast.__file__).read_text())
    rooms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    named = [(room.module or "", name.name) for room in rooms for name in room.names]
    ours = [(room, name) for room, name in named if room.startswith("ringcast.") and not name.startswith("_")]
    assert [name for room, name in ours if getattr(ringcast, name) is not getattr(import_module(room), name)] == []
    assert {name for _, name in ours} | {"sync", "__version__"} == set(ringcast.__all__)
