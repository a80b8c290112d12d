"""`ringcast.sync` offers what `ringcast` does: the same names, with the same parameters, defaults and types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import ringcast
from ringcast import runtime, sync

# What waits is written without await, and iterators are plain ones.
PLAIN = {"Batches": "Iterator[Batch | Notice]", "Messages": "Iterator[GroupEvent]", "Joining": "Group"}
STATE = {"SetState | None": "SetState | PlainSetState | None"}


def public(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def shape(function: Callable[..., Any]) -> list[tuple[str, Any, Any, str]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default, str(p.annotation).replace("arguments.", "")) for p in parameters]


def in_plain(shapes: list[tuple[str, Any, Any, str]]) -> list[tuple[str, Any, Any, str]]:
    return [(name, kind, default, of_sync(STATE.get(text, text))) for name, kind, default, text in shapes]


def of_sync(text: str) -> str:
    for name in ("Discovery", "OnExclusion"):
        if text.split(" ")[0] == name:
            return f"runtime.{text}"
    return text


def test_a_synchronous_group_has_every_name_of_the_asynchronous_one() -> None:
    assert sorted(public(runtime.Group)) == sorted(set(public(sync.Group)) - {"name"})
    assert "name" in public(sync.Group)  # a plain attribute of the asynchronous one


@pytest.mark.parametrize("name", [name for name, value in public(runtime.Group).items() if inspect.isfunction(value)])
def test_its_methods_have_the_same_signatures(name: str) -> None:
    ours, theirs = getattr(sync.Group, name), getattr(runtime.Group, name)
    assert shape(ours) == shape(theirs)
    returned = str(inspect.signature(theirs).return_annotation).replace("Waiting", "runtime.Waiting")
    assert inspect.signature(ours).return_annotation == PLAIN.get(returned, returned)


@pytest.mark.parametrize("name", ["join", "open_fixed"])
def test_ways_in_have_the_same_signatures(name: str) -> None:
    assert shape(getattr(sync, name)) == in_plain(shape(getattr(ringcast, name)))


def test_a_receipt_says_the_same() -> None:
    assert set(public(sync.Receipt)) == {"stamp", "wait"}


def test_internals_of_a_group_are_hidden() -> None:
    assert set(public(runtime.Group)) == {
        *("me", "view", "members", "coordinator", "drops", "retransmitted"),
        *("send", "send_many", "queue", "queue_many", "flush", "barrier", "stamp", "after"),
        *("receive", "receive_many", "receive_batch", "batches"),
        *("ready", "wait_for", "waiting", "explain", "status", "metrics", "inspect", "leave", "close"),
        *("reload_keys", "reload_certificates"),
    }
