"""`import ringcast`: everything promised is there, nothing heavy comes with it."""

import subprocess
import sys

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
