"""The pure rooms are pure; and each impurity, planted, is caught."""

from pathlib import Path

import pytest

import ringcast
from architecture.purity import PURE_ROOMS, purity_violations


def test_the_pure_rooms_are_pure() -> None:
    violations = purity_violations(Path(ringcast.__file__).parent)
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("room", PURE_ROOMS)
@pytest.mark.parametrize("module", ["asyncio", "socket", "time", "random", "threading", "os", "logging", "uuid"])
def test_a_module_that_reaches_the_world_is_caught(plant, room: str, module: str) -> None:
    (violation,) = purity_violations(plant(f"{room}/part.py", f"def late():\n    import {module}"))
    assert violation == f"{room}/part.py:2 imports {module}: {room} is pure"


def test_part_of_such_a_module_and_an_import_for_types_only_are_caught_too(plant) -> None:
    source = "from os import path\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from random import Random\n"
    assert len(purity_violations(plant("core/part.py", source))) == 2


@pytest.mark.parametrize("call", ["hash(x)", "id(x)", "uuid4()", "uuid.uuid4()", "open('f')", "print(x)"])
def test_a_call_whose_answer_differs_between_processes_is_caught(plant, call: str) -> None:
    (violation,) = purity_violations(plant("model/part.py", f"y = {call}"))
    assert violation.startswith("model/part.py:1 calls ")


@pytest.mark.parametrize(
    "source",
    [
        "for x in {1, 2}: pass",
        "for x in set(y): pass",
        "for x in frozenset(y): pass",
        "z = [x for x in {v for v in y}]",
        "z = {x: 1 for x in set(y)}",
        "z = list({1, 2})",
        "z = tuple(set(y))",
        "z = [*set(y)]",
        "f(*{1, 2})",
        "z = ','.join({'a'})",
        "z.extend(set(y))",
        "z = dict.fromkeys(set(y))",
        "for i, x in enumerate(set(y)): pass",
        "for x in a.keys() - b.keys(): pass",
        "for x in set(a) | b: pass",
        "for x in set(a).union(b): pass",
        "for x in (set(a) if b else c): pass",
        "def f():\n    seen = set()\n    for x in seen: pass",
        "def f():\n    seen: set[int] = g()\n    yield from seen",
        "def f(seen: set[int]):\n    return [x for x in seen]",
        "def f(seen: 'frozenset[int]'):\n    return seen.pop()",
        "class C:\n    seen: set[int]\n    def f(self):\n        for x in self.seen: pass",
        "class C:\n    def __init__(self):\n        self.seen = set()\n    def f(self): yield from self.seen",
    ],
)
def test_iterating_a_set_is_caught(plant, source: str) -> None:
    (violation,) = purity_violations(plant("window/part.py", source))
    assert "iterates a set" in violation


@pytest.mark.parametrize(
    "source",
    [
        "for x in sorted({1, 2}): pass",
        "z = 1 in {1, 2}",
        "z = len(set(y)), min({1, 2}), set(y) <= set(x)",
        "for x in dict.fromkeys(y): pass",
        "for x in [a - b, a | b]: pass",
        "def f():\n    seen = set()\n    seen.add(1)\n    return 1 in seen\ndef g(seen):\n    for x in seen: pass",
        "def f(d):\n    return d.pop('key'), d.keys()",
    ],
)
def test_a_set_that_is_only_asked_or_sorted_is_left_alone(plant, source: str) -> None:
    assert purity_violations(plant("window/part.py", source)) == []


def test_rooms_that_meet_the_world_may_do_all_this(plant) -> None:
    assert purity_violations(plant("runtime/driver.py", "import asyncio, time\nfor x in {1}: print(hash(x))")) == []
