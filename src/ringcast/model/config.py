"""How a member is set up: frozen values, checked at construction, with profiles for the usual places.

Every bound of the system is here (STYLE: "every queue, window, batch and history has a capacity in the config").
An error names the field, the value and the allowed range. Not a place for addresses or names: those go to `join`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, runtime_checkable

from ringcast.errors import ConfigError

MS = 1_000_000
SECOND = 1_000_000_000
KIB = 1024
MIB = 1024 * KIB

Profile = Literal["local", "lan", "wan", "test"]


def _range(default: int, low: int, high: int) -> Any:
    return field(default=default, metadata={"low": low, "high": high})


@dataclass(frozen=True, slots=True)
class Config:
    """What one member does and bounds. Sizes of windows are agreed in the group: the smallest wins."""

    capacity: int = _range(16_384, 1, 1 << 20)  # messages in a window (G2)
    capacity_floor: int = _range(1, 1, 1 << 20)  # no member of the group may have less; the same at all members
    window_bytes: int = _range(4 * MIB, 1, 1 << 34)  # bytes in a send window; one message always fits an empty one
    frame_bytes: int = _range(64_000, 512, 65_000)  # largest packet
    max_message_bytes: int = _range(16 * MIB, 1, 1 << 31)  # the same at all members; above frame_bytes it is cut
    ack_every: int = _range(0, 0, 1 << 20)  # messages taken between acks; 0 = capacity / 4
    xmit_interval_ns: int = _range(20 * MS, 1 * MS, 60 * SECOND)  # acks, requests and tail repair
    request_ranges: int = _range(1024, 1, 4096)  # gaps asked for in one interval
    request_messages: int = _range(4096, 16, 1 << 20)  # messages asked for in one interval; fewer cannot keep up
    stream_capacity: int = _range(4096, 1, 1 << 20)  # messages in the window of a stream to one peer
    control_capacity: int = _range(256, 16, 1 << 16)  # control messages, or parts of a state, in flight to one peer
    early_packets: int = _range(64, 1, 4096)  # packets of a later view kept until that view comes
    self_delivery: bool = True
    when_full: Literal["wait", "raise"] = "wait"
    receive_buffer_bytes: int = _range(16 * MIB, 4 * KIB, 1 << 30)  # asked of the kernel; it may give less
    send_buffer_bytes: int = _range(4 * MIB, 4 * KIB, 1 << 30)
    # joining and leaving
    discovery_ns: int = _range(100 * MS, 1 * MS, 60 * SECOND)  # how often a joiner looks around
    found_after_ns: int = _range(1 * SECOND, 1 * MS, 600 * SECOND)  # nobody has a group for this long: found one
    expect_ns: int = _range(10 * SECOND, 1 * MS, 3600 * SECOND)  # the same, when others are expected
    join_retry_ns: int = _range(1 * SECOND, 1 * MS, 600 * SECOND)  # no answer to a join or leave: ask again
    busy_pause_ns: int = _range(50 * MS, 1 * MS, 60 * SECOND)  # BUSY: ask again
    leave_ns: int = _range(10 * SECOND, 1 * MS, 3600 * SECOND)  # nobody confirms a leave: go anyway
    # view handler (seed 004)
    gather_ns: int = _range(20 * MS, 0, 10 * SECOND)  # requests that come this close together share a view
    request_capacity: int = _range(1024, 1, 1 << 16)  # requests waiting at a coordinator; more are told BUSY
    resumer_ns: int = _range(10 * SECOND, 1 * MS, 3600 * SECOND)  # longest suspension of the view handler (G7)
    state_patience_ns: int = _range(10 * SECOND, 1 * MS, 3600 * SECOND)  # a state transfer without progress this long
    spool_bytes: int = _range(64 * MIB, 0, 1 << 40)  # what arrives while this joiner loads its state, in memory
    spool_disk_bytes: int = _range(1024 * MIB, 0, 1 << 44)  # and then in an unnamed file; 0 = none
    merge_state_bytes: int = _range(256 * MIB, 1, 1 << 34)  # states of all sides that one member holds to merge them
    # time limits of a roll call and of a merge; they nest: fill < roll call < merge, and each of them with the limit of
    # the view that follows, `view_limit_ns`, < Resumer
    fill_ns: int = _range(1 * SECOND, 1 * MS, 3600 * SECOND)  # a member fills up to the cut
    roll_call_ns: int = _range(2 * SECOND, 1 * MS, 3600 * SECOND)  # a (sub)group answers and fills
    merge_ask_ns: int = _range(1 * SECOND, 1 * MS, 3600 * SECOND)  # coordinators accept or refuse a merge
    merge_ns: int = _range(3 * SECOND, 1 * MS, 3600 * SECOND)  # coordinators return what their roll calls gave
    # failure detection
    heartbeat_ns: int = _range(500 * MS, 1 * MS, 60 * SECOND)
    suspect_after_ns: int = _range(2 * SECOND, 2 * MS, 3600 * SECOND)  # silence, then a direct question
    verify_ns: int = _range(750 * MS, 1 * MS, 600 * SECOND)  # no answer to the question, then suspicion
    suspect_repeat_ns: int = _range(1 * SECOND, 1 * MS, 600 * SECOND)  # suspicion is raised again until a view
    stall_limit_ns: int = _range(30 * SECOND, 2 * MS, 3600 * SECOND)  # alive but without progress, then suspicion
    watch_peers: int = _range(6, 1, 64)  # whom one member watches; its cost does not grow with the group
    readmit_ns: int = _range(8 * SECOND, 1 * MS, 3600 * SECOND)  # excluded for a bad link: back after this, doubling
    readmit_max_ns: int = _range(64 * SECOND, 1 * MS, 3600 * SECOND)
    # merge (seed 000)
    announce_ns: int = _range(500 * MS, 1 * MS, 600 * SECOND)  # how often a member tells its view id
    announce_peers: int = _range(3, 1, 64)  # to how many outsiders each time
    known_peers: int = _range(1024, 1, 1 << 16)  # outsiders remembered
    merge_gather_ns: int = _range(100 * MS, 0, 600 * SECOND)  # partitions found this close together share a merge
    reread_ns: int = _range(300 * MS, 1 * MS, 600 * SECOND)  # an outsider is asked for its real view this long
    view_limit_ns: int = _range(3 * SECOND, 1 * MS, 3600 * SECOND)  # a member may lag behind the view this long
    merge_patience: int = _range(2, 1, 64)  # failures of one party before a merge goes on without it
    merge_pause_ns: int = _range(200 * MS, 1 * MS, 600 * SECOND)  # after a failed merge; random, doubling
    merge_pause_max_ns: int = _range(4 * SECOND, 1 * MS, 3600 * SECOND)

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.metadata:
                _check_range(spec.name, value, spec.metadata["low"], spec.metadata["high"])
        if self.when_full not in ("wait", "raise"):
            raise ConfigError(f"when_full must be 'wait' or 'raise', got {self.when_full!r}")
        if not isinstance(self.self_delivery, bool):
            raise ConfigError(f"self_delivery must be True or False, got {self.self_delivery!r}")
        if self.capacity < self.capacity_floor:
            raise ConfigError(f"capacity must be at least capacity_floor {self.capacity_floor}, got {self.capacity}")
        for inner, outer in _NESTED:
            _check_nested(self, inner, outer)

    @property
    def ack_after(self) -> int:
        return self.ack_every or max(1, self.capacity // 4)

    @property
    def view_change_ns(self) -> int:
        """All attempts of one roll call; what is left of the Resumer's time is the limit of the view that follows."""
        return self.resumer_ns - self.view_limit_ns

    def with_changes(self, **changes: Any) -> Config:
        """This config with some fields changed; an unknown field is an error that names the known ones.

        Times are given in seconds, as a number or a timedelta, without the `_ns` that the field's name ends with:
        `suspect_after=2.5` is `suspect_after_ns=2_500_000_000`.
        """
        return replace(self, **_in_fields(changes))


def _in_fields(changes: dict[str, Any]) -> dict[str, Any]:
    """Changes as people write them, by the names of the fields."""
    found: dict[str, Any] = {}
    specs = {spec.name: spec for spec in fields(Config)}
    for name, value in changes.items():
        is_time = f"{name}_ns" in specs
        target = f"{name}_ns" if is_time else name
        if target not in specs:
            known = ", ".join(sorted(each.removesuffix("_ns") for each in specs))
            raise ConfigError(f"unknown config field {name!r}; known are {known}")
        if target in found:
            raise ConfigError(f"{name!r} and its other unit are given both; give it once")
        found[target] = _in_ns(name, value, specs[target].metadata) if is_time else value
    return found


@runtime_checkable
class Duration(Protocol):
    """A `datetime.timedelta`; this room imports no clock."""

    def total_seconds(self) -> float: ...


def _in_ns(name: str, value: object, bounds: Mapping[str, Any]) -> int:
    seconds = value.total_seconds() if isinstance(value, Duration) else value
    low, high = bounds["low"] / SECOND, bounds["high"] / SECOND
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not low <= seconds <= high:
        raise ConfigError(f"{name} must be from {low:g} to {high:g} seconds, or a timedelta, got {value!r}")
    return round(seconds * SECOND)  # type: ignore[operator]


def _check_range(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}, got {value!r}")


# Each limit ends before the one that waits for it: a coordinator answers with what it has before its leader gives up.
_NESTED = [
    (("fill_ns",), "roll_call_ns"),
    (("roll_call_ns",), "merge_ns"),
    (("merge_ask_ns", "merge_ns", "view_limit_ns"), "resumer_ns"),
    # Two attempts in which somebody is silent, one without it, and the view.
    (("roll_call_ns", "roll_call_ns", "roll_call_ns", "view_limit_ns"), "resumer_ns"),
    (("heartbeat_ns",), "suspect_after_ns"),
    (("suspect_after_ns",), "stall_limit_ns"),
]


def _check_nested(config: Config, inner: tuple[str, ...], outer: str) -> None:
    limit = getattr(config, outer)
    total = sum(getattr(config, name) for name in inner)
    if total >= limit:
        times = {name: inner.count(name) for name in inner}
        words = " + ".join(name if count == 1 else f"{count} * {name}" for name, count in times.items())
        raise ConfigError(f"{outer} must be more than {words} = {total}, got {limit}")


# `local`: one machine, big datagrams. `lan`, `wan`: within the path MTU, never relying on IP fragmentation.
# `test`: small windows and short intervals, so that every bound is reached quickly.
_PROFILES: dict[str, Config] = {
    "local": Config(
        window_bytes=8 * MIB, announce_ns=100 * MS, merge_gather_ns=20 * MS, reread_ns=100 * MS, merge_pause_ns=50 * MS
    ),
    "lan": Config(frame_bytes=1_400, xmit_interval_ns=50 * MS),
    "wan": Config(
        frame_bytes=1_200,
        xmit_interval_ns=200 * MS,
        window_bytes=16 * MIB,
        gather_ns=100 * MS,
        resumer_ns=60 * SECOND,
        state_patience_ns=60 * SECOND,
        fill_ns=5 * SECOND,
        roll_call_ns=10 * SECOND,
        merge_ask_ns=5 * SECOND,
        merge_ns=15 * SECOND,
        heartbeat_ns=1 * SECOND,
        suspect_after_ns=6 * SECOND,
        verify_ns=3 * SECOND,
        suspect_repeat_ns=3 * SECOND,
        readmit_ns=24 * SECOND,
        readmit_max_ns=192 * SECOND,
        announce_ns=2 * SECOND,
        merge_gather_ns=1 * SECOND,
        reread_ns=2 * SECOND,
        view_limit_ns=15 * SECOND,
        merge_pause_ns=1 * SECOND,
        merge_pause_max_ns=30 * SECOND,
    ),
    "test": Config(
        capacity=64,
        stream_capacity=32,
        xmit_interval_ns=10 * MS,
        frame_bytes=2_000,
        window_bytes=64 * KIB,
        discovery_ns=20 * MS,
        found_after_ns=100 * MS,
        expect_ns=2 * SECOND,
        join_retry_ns=200 * MS,
        busy_pause_ns=20 * MS,
        leave_ns=5 * SECOND,
        gather_ns=10 * MS,
        resumer_ns=2_500 * MS,
        state_patience_ns=1 * SECOND,
        fill_ns=200 * MS,
        roll_call_ns=400 * MS,
        merge_ask_ns=200 * MS,
        merge_ns=600 * MS,
        heartbeat_ns=100 * MS,
        suspect_after_ns=500 * MS,
        verify_ns=200 * MS,
        suspect_repeat_ns=300 * MS,
        stall_limit_ns=5 * SECOND,
        readmit_ns=1 * SECOND,
        readmit_max_ns=4 * SECOND,
        announce_ns=100 * MS,
        merge_gather_ns=20 * MS,
        reread_ns=100 * MS,
        view_limit_ns=1 * SECOND,
        merge_pause_ns=50 * MS,
        merge_pause_max_ns=1 * SECOND,
    ),
}


def profile(name: Profile | str, **changes: Any) -> Config:
    """The config of a profile (local, lan, wan or test), with some fields changed as by `with_changes`."""
    if name not in _PROFILES:
        raise ConfigError(f"unknown profile {name!r}; known are {', '.join(_PROFILES)}")
    return _PROFILES[name].with_changes(**changes)
