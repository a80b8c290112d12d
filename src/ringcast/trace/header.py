"""What stands at the front of every segment: who recorded, in which group, with which config, version and seed.

The same facts are the detail of the START event, so a fold over events needs nothing else.
Not the protocol's config: it is kept as plain values, readable without the code that wrote it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import msgspec

from ringcast._version import __version__
from ringcast.model import SCHEMA_VERSION, Address, Event, Kind, ViewId
from ringcast.trace.details import as_address, as_view_id
from ringcast.trace.errors import TraceError

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SIMULATED_CLOCK = "virtual"
RUN_ID = "RINGCAST_RUN_ID"  # the variable that names the run of every recording of a process
_encode = msgspec.msgpack.Encoder().encode


def host_clock() -> str:
    """The name of this host's monotonic clock: the same in every process of one boot, and nowhere else."""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot = f"{platform.node()}, whose boots cannot be told apart"
    return f"monotonic of {boot}"


@dataclass(frozen=True, slots=True)
class Header:
    """`clock` names the time base: recordings with the same clock may be compared by t_ns, others only by order.

    `run` names what belongs together. Without it a reader takes the directory that holds the members' recordings.
    """

    member: Address
    group: str
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    version: str = __version__
    schema: int = SCHEMA_VERSION
    clock: str = SIMULATED_CLOCK
    labels: Mapping[str, Any] = field(default_factory=dict)
    run: str | None = None

    @classmethod
    def of(cls, member: Address, group: str, config: object = None, **more: Any) -> Header:
        """A header from a config dataclass (or a mapping, or nothing)."""
        return cls(member, group, _plain(config), **more)


def is_harness(who: Address) -> bool:
    """Not a process of the group: whoever injected faults and recorded that."""
    return who.name == "harness" and who.incarnation == 0


def start_event(header: Header, t_ns: int) -> Event:
    """The first event of a recording: the header as a fact that folds can see."""
    return Event(Kind.START, t_ns, peer=header.member, detail=to_plain(header))


@dataclass(frozen=True, slots=True)
class SegmentStart:
    """What a segment must say so that it can be read without those before it.

    `first_index` counts the recorded events before it; `view` is the view installed there; `dropped` counts the events
    that were lost before it. The later segments of an older recording do not say it.
    """

    number: int = 0
    first_index: int = 0
    view: ViewId | None = None
    dropped: int = 0


def run_id(given: str | None = None) -> str | None:
    """The id of the run that a recording belongs to: the given one, else RINGCAST_RUN_ID."""
    return given or os.environ.get(RUN_ID) or None


def to_plain(header: Header) -> dict[str, Any]:
    plain = asdict(header) | {"member": list(header.member)}
    if header.run is None:
        del plain["run"]
    return plain


def to_frame(header: Header, start: SegmentStart) -> bytes:
    """The payload of a segment's header frame."""
    segment = {"number": start.number, "first": start.first_index, "view": start.view, "dropped": start.dropped}
    return _encode(to_plain(header) | {"segment": segment})


def from_frame(payload: bytes | memoryview, number: int) -> tuple[Header, SegmentStart | None]:
    """The header that was written and how its segment starts; None where an older recording does not say it."""
    try:
        plain = msgspec.msgpack.decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise TraceError(f"damaged header: {error}") from None
    header = from_plain(plain)
    segment = plain.get("segment")
    if segment is None:
        return header, SegmentStart() if number == 0 else None
    try:
        if segment["number"] != number:
            raise TraceError(f"the header of segment {segment['number']} in segment {number}")
        return header, SegmentStart(number, int(segment["first"]), as_view_id(segment["view"]), int(segment["dropped"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise TraceError(f"damaged header: {error}") from None


def from_plain(plain: Any) -> Header:
    """The header that was written; TraceError if these values are not one or come from a later schema."""
    try:
        schema = plain["schema"]
        if not isinstance(schema, int) or schema > SCHEMA_VERSION:
            raise TraceError(f"recorded with event schema {schema}, this version reads up to {SCHEMA_VERSION}")
        known = {name: plain[name] for name in Header.__dataclass_fields__ if name in plain}
        return Header(**known | {"member": as_address(plain["member"])})
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise TraceError(f"not a recording's header: {error}") from None


def _plain(config: object) -> dict[str, Any]:
    if config is None:
        return {}
    if is_dataclass(config) and not isinstance(config, type):
        return asdict(config)
    if isinstance(config, Mapping):
        return dict(config)
    raise TraceError(f"a config to record must be a dataclass or a mapping, got {config!r}")
