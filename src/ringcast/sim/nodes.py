"""Where a `core.Node` is made for the simulated world: with a fixed view, or on its way into a group."""

from __future__ import annotations

from random import Random

from ringcast.core import Node
from ringcast.model import Address, Config, View
from ringcast.wire import decode_control, encode_control

SCHEME = "sim:"


def address_of(name: str, incarnation: int = 1) -> Address:
    return Address(name, incarnation, SCHEME + name)


def name_at(endpoint: str) -> str:
    """Whose host an endpoint of the simulated network is."""
    return endpoint.removeprefix(SCHEME)


def fixed_node(address: Address, config: Config, view: View, *, multicasts: bool) -> Node:
    """A member of a view that nobody changes."""
    return Node(address, config, view, {}, multicasts=multicasts)


def joining_node(
    address: Address, config: Config, chance: Random, *, multicasts: bool, expect: int = 0, with_state: bool = False
) -> Node:
    """A process that finds or founds a group by itself."""
    return Node.joining(
        address,
        config,
        chance,
        encode_control,
        decode_control,
        expect=expect,
        with_state=with_state,
        multicasts=multicasts,
        beats=True,
    )
