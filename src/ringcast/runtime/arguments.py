"""What callers may give to `join` and to a Group, checked where it comes in and refused in a sentence.

One way for each: `order` is an Order (`ringcast.TOTAL`), never its name; an address is "host:port" or ("host", port).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from ringcast.errors import ConfigError, UsageError
from ringcast.model import Address, Config, profile
from ringcast.order import Order
from ringcast.runtime.forms import are_plain
from ringcast.trace import RecordingOptions
from ringcast.transport import split_host_port

WhenFull = Literal["wait", "raise"] | None
To = Address | Iterable[Address] | None  # one member, some of them, or the whole group
RecordTo = str | Path | RecordingOptions  # a directory, or `ringcast.record(directory, ...)`
HostPort = str | tuple[str, int]  # "host:port", or ("host", port)

PAYLOADS = (bytes, bytearray, memoryview)


def check_order(order: object) -> None:
    if not isinstance(order, Order):
        raise UsageError(f"order must be ringcast.TOTAL or ringcast.Order.FIFO, got {order!r}")


def check_when_full(when_full: object) -> None:
    if when_full is not None and when_full != "wait" and when_full != "raise":
        raise UsageError(f"when_full must be 'wait', 'raise' or None (as the config says), got {when_full!r}")


def recipients(to: To) -> list[Address] | None:
    """Each once; None: the whole group. Whether they are members is seen when the message is sent."""
    if to is None:
        return None
    named: object = to
    if isinstance(named, Address):
        return [named]
    if isinstance(named, str | bytes) or not isinstance(named, Iterable):
        raise UsageError(f"to must be a member's Address or several of them, got {to!r}")
    peers: list[Address] = []
    for peer in dict.fromkeys(named):
        if not isinstance(peer, Address):
            raise UsageError(f"to must be a member's Address or several of them, got {peer!r} among them")
        peers.append(peer)
    return peers


def listed(payloads: Iterable[bytes]) -> list[bytes]:
    """What is to be sent, as a list of its own: checked before the first of them is sent, and read only once."""
    try:
        found = list(payloads)
    except TypeError:
        raise UsageError(f"payloads must be a list of bytes, got {type(payloads).__name__}") from None
    if not are_plain(found):
        for kind in set(map(type, found)):
            if not issubclass(kind, PAYLOADS):
                raise UsageError(f"a payload must be bytes, got {kind.__name__}")
    return found


def config_of(config: Config | str) -> Config:
    if isinstance(config, Config):
        return config
    if isinstance(config, str):
        return profile(config)
    raise ConfigError(f"config must be a profile's name (local, lan, wan, test) or a Config, got {config!r}")


def place_of(place: HostPort, what: str) -> str:
    """An address as text."""
    match place:
        case str():
            return place
        case (str(host), int(port)):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    raise ConfigError(f"{what} must be 'host:port' or ('host', port), got {place!r}")


def seeds_of(seeds: HostPort | Iterable[HostPort]) -> list[str]:
    """One address or many, as texts that can be looked up."""
    match seeds:
        case str() | (str(), int()):
            places: list[Any] = [seeds]
        case Iterable():
            places = list(seeds)
        case _:
            raise ConfigError(f"seeds must be addresses such as 'host:port', got {seeds!r}")
    texts = [place_of(place, "a seed") for place in places]
    for text in texts:
        if not text.startswith("mem:"):
            split_host_port(text)
    return texts


def check_expect(expect: object) -> None:
    if not isinstance(expect, int) or isinstance(expect, bool) or expect < 0:
        raise ConfigError(f"expect must be a number of members, 0 for none in particular, got {expect!r}")


def check_timeout(timeout: object) -> None:
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and timeout >= 0):  # type: ignore[operator]
        raise ConfigError(f"timeout must be seconds, or None for no limit, got {timeout!r}")


def check_primary(partition: str, primary_mark: object, quorum: object, name: str | None) -> None:
    if not isinstance(quorum, int) or isinstance(quorum, bool) or quorum < 0:
        raise ConfigError(f"quorum must be a number of members, or 0 for none, got {quorum!r}")
    if partition != "primary" and (primary_mark is not None or quorum):
        raise ConfigError("primary_mark and quorum are for partition='primary'")
    if primary_mark is not None and name is None:
        raise ConfigError("primary_mark needs a name beside it: the file belongs to one member")
