"""Imports point down only, rooms have doors, libraries have rooms; and each rule is seen to catch its violation."""

from pathlib import Path

import pytest

import ringcast
from architecture.layers import MAY_IMPORT, layer_violations

PACKAGE = Path(ringcast.__file__).parent


def test_the_house_keeps_its_layering() -> None:
    violations = layer_violations(PACKAGE)
    assert not violations, "\n".join(violations)


def test_the_table_of_rooms_has_no_cycle() -> None:
    settled: set[str] = set()
    while waiting := [room for room in MAY_IMPORT if room not in settled]:
        free = [room for room in waiting if settled.issuperset(MAY_IMPORT[room])]
        assert free, f"these rooms import each other in a circle: {waiting}"
        settled.update(free)


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("model/view.py", "from ringcast.window import Ring", "model may import errors, _version only"),
        ("model/view.py", "from ringcast import Group", "model may import errors, _version only"),
        ("window/ring.py", "import ringcast.core", "window may import errors, _version, model only"),
        ("order/queue.py", "from ringcast.core import Node", "order may import errors, _version, model only"),
        ("core/node.py", "from ringcast import wire", "core may import errors, _version, model, window, order only"),
        ("core/node.py", "def late():\n    from ..trace import Recorder", "core may import"),
        ("core/merge/leader.py", "from ...runtime import Group", "core may import"),
        ("wire/codec.py", "from ringcast.transport import Udp", "wire may import"),
        ("transport/udp.py", "from ringcast.model import View", "transport may import errors, _version, native only"),
        ("transport/udp.py", "from ringcast.core import Node", "transport may import errors, _version, native only"),
        ("runtime/driver.py", "from ringcast.sim import Clock", "runtime may import"),
        ("sim/cluster.py", "from ringcast.testing import World", "sim may import"),
        ("trace/reader.py", "from ringcast.checkers import judge", "trace may import"),
        ("checkers/fifo.py", "from ringcast.sim import Cluster", "checkers may import"),
        ("page/server.py", "from ringcast.pipeline import report", "page may import"),
        ("runtime/driver.py", "from ringcast.bench import rate", "runtime may import"),
        ("bench/rate.py", "from ringcast.cli import main", "bench may import"),
        ("errors.py", "import ringcast.model", "errors may import errors, _version only"),
        (
            "runtime/driver.py",
            "import importlib\nimportlib.import_module('ringcast.sim')",
            "imports ringcast.sim: runtime may import",
        ),
    ],
)
def test_an_import_that_points_up_or_sideways_is_caught(plant, file: str, source: str, expected: str) -> None:
    (violation,) = layer_violations(plant(file, source))
    assert violation.startswith(f"{file}:")
    assert expected in violation


def test_a_room_without_a_place_is_named_once(plant) -> None:
    plant("attic/box.py", "import json")
    assert layer_violations(plant("attic/chest.py", "import ringcast.cli, os")) == [
        "attic/ has no place in the layering; give it one in layers.py"
    ]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("core/node.py", "from ringcast.window.ring import Ring"),
        ("core/node.py", "from ringcast.window import ring"),
        ("core/node.py", "import ringcast.model.view"),
        ("core/node.py", "from ..model.view import View"),
    ],
)
def test_reaching_past_the_door_of_a_room_is_caught(plant, file: str, source: str) -> None:
    (violation,) = layer_violations(plant(file, source))
    assert "outsiders import the room" in violation


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("core/merge/leader.py", "from ringcast.core.multicast import Stream"),
        ("core/merge/leader.py", "from ..multicast.stream import Stream"),
        ("core/merge/leader.py", "from ringcast.core.node import Node"),
        ("core/failure.py", "from ringcast.core import merge"),
    ],
)
def test_organs_that_know_each_other_are_caught(plant, file: str, source: str) -> None:
    (violation,) = layer_violations(plant(file, source))
    assert "meet in core/node.py" in violation


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("cli/check.py", "from pyspark.sql import SparkSession", "pyspark is for pipeline only"),
        ("trace/reader.py", "def read():\n    import pyarrow", "pyarrow is for pipeline, bench only"),
        ("runtime/driver.py", "import click", "click is for cli only"),
        ("core/node.py", "import requests", "requests is no dependency of ringcast"),
    ],
)
def test_a_library_outside_its_rooms_is_caught(plant, file: str, source: str, expected: str) -> None:
    (violation,) = layer_violations(plant(file, source))
    assert expected in violation


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("core/node.py", "from ringcast.core.merge import Leader\nfrom ringcast.core.multicast import Stream"),
        ("core/node.py", "from ringcast.window import Ring\nfrom ringcast.errors import UsageError"),
        ("core/merge/leader.py", "from ringcast.core.merge.digests import join\nfrom ..effects import Effect"),
        ("window/ring.py", "from ringcast.window.marks import Marks\nfrom . import marks\nimport bisect"),
        ("cli/demo.py", "from ringcast import __version__\nfrom ringcast.bench import rate\nimport click"),
        ("pipeline/session.py", "from pyspark.sql import SparkSession\nfrom ringcast.trace import read_run"),
        ("bench/rate.py", "from ringcast.runtime import Group\nfrom ringcast.bus import LocalBus\nimport zmq"),
        ("__init__.py", "from ringcast.runtime import Group\nfrom ringcast._version import __version__"),
    ],
)
def test_imports_that_point_down_are_left_alone(plant, file: str, source: str) -> None:
    assert layer_violations(plant(file, source)) == []


def test_a_name_that_the_room_offers_is_taken_at_the_door_even_if_a_module_is_called_so(plant) -> None:
    plant("window/__init__.py", "from ringcast.window.ring import ring\n\n__all__ = ['ring']")
    assert layer_violations(plant("core/node.py", "from ringcast.window import ring")) == []
