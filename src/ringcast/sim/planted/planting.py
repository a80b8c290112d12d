"""Replacing one method by a wrong one, for as long as a simulated run lasts.

The wrong method is made from the source of the right one, so it stays the same in everything but the mistake.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from ringcast.errors import UsageError
from ringcast.sim.policies import Policy


@dataclass(frozen=True, slots=True)
class Planted:
    """`target` is "module:Class.method" or "module:function"; in its source `right` becomes `wrong`.

    `guarantee` is what must be seen to fail; `seeds` is how many seeds, from 0 on, are enough to see it.
    `fixed`: the mistake shows in a group with a fixed view, where runs are shorter. `workload`, `kinds`, `lengths_ms`
    and `policy` narrow what is drawn to what the mistake needs: a workload, kinds of faults and how long they last,
    observers or primaries, which ordinary seeds draw among others.
    """

    name: str
    guarantee: str
    target: str
    right: str
    wrong: str
    seeds: int
    fixed: bool = False
    workload: str = "mixed"
    kinds: tuple[str, ...] = ()
    lengths_ms: tuple[int, ...] = ()
    policy: Policy | None = None


@contextmanager
def plant(bug: Planted) -> Iterator[None]:
    """The bug is there while this lasts; afterwards the code is as it was.

    The function stays and gets other code: other modules may have imported it by name.
    """
    function = _find(bug)
    right = function.__code__
    function.__code__ = _spoiled(bug, function)
    try:
        yield
    finally:
        function.__code__ = right


def _find(bug: Planted) -> FunctionType:
    module_name, _, path = bug.target.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module_name)
    for step in owners:
        owner = getattr(owner, step)
    if name not in owner.__dict__:
        raise UsageError(f"the planted bug {bug.name!r} replaces {bug.target}, which does not exist")
    return _function(owner.__dict__[name])


def _function(found: Any) -> FunctionType:
    function = found.fget if isinstance(found, property) else found
    assert isinstance(function, FunctionType), found
    return function


def _spoiled(bug: Planted, function: FunctionType) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    right, wrong = textwrap.dedent(bug.right).strip("\n"), textwrap.dedent(bug.wrong).strip("\n")
    if source.count(_indented(right)) != 1:
        raise UsageError(f"the planted bug {bug.name!r} does not match the code of {bug.target} any more")
    spoiled = source.replace(_indented(right), _indented(wrong))
    made: dict[str, Any] = {}
    exec(compile(spoiled, f"<planted: {bug.name}>", "exec"), function.__globals__, made)
    return _function(made[function.__name__]).__code__


def _indented(text: str) -> str:
    """As it stands in the body of a function; the first line may begin within a line of it."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line else line for line in rest)])
