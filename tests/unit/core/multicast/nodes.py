"""Nodes of a fixed group, for tests that look at single packets and effects."""

from typing import TypeVar

from ringcast.core import Channel, Effect, Node, Run
from ringcast.model import Address, Config, View, ViewId, profile

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
STRANGER = Address("X", 1, "mem:X")
VIEW = View(ViewId(1, A), (A, B, C))
NOW = 1_000

E = TypeVar("E")


def node(
    me: Address = A,
    view: View = VIEW,
    offsets: dict[Address, int] | None = None,
    config: Config | None = None,
    multicasts: bool = False,
) -> Node:
    return Node(me, config or profile("test"), view, offsets or {}, multicasts=multicasts)


def run_of(origin: Address, first: int, *items: bytes, low: int = 0, view: ViewId = VIEW.id) -> Run:
    return Run(Channel.GROUP, view, origin, first, low, list(items), sum(map(len, items)))


def stream_run(sender: Address, epoch: int, first: int, *items: bytes, low: int = 0) -> Run:
    return Run(Channel.PEER, epoch, sender, first, low, list(items), sum(map(len, items)))


def only(kind: type[E], effects: list[Effect]) -> list[E]:
    return [effect for effect in effects if isinstance(effect, kind)]
