"""How a member is set up: frozen values, checked at construction, with profiles for the usual places.

Every bound of the system is here (STYLE: "every queue, window, batch and history has a capacity in the config").
An error names the field, the value and the allowed range. Not a place for addresses or names: those go to `join`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

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
    window_bytes: int = _range(4 * MIB, 1, 1 << 34)  # bytes in a send window; one message always fits an empty one
    frame_bytes: int = _range(60_000, 512, 65_000)  # largest packet
    max_message_bytes: int = _range(
        16 * MIB, 1, 1 << 31
    )  # larger messages are refused; above frame_bytes they are fragmented
    ack_every: int = _range(0, 0, 1 << 20)  # messages taken between acks; 0 = capacity / 4
    xmit_interval_ns: int = _range(20 * MS, 1 * MS, 60 * SECOND)  # acks, requests and tail repair
    request_ranges: int = _range(128, 1, 4096)  # ranges in one retransmission request
    request_messages: int = _range(4096, 1, 1 << 20)  # messages in one retransmission request
    stream_capacity: int = _range(4096, 1, 1 << 20)  # messages in the window of a stream to one peer
    control_capacity: int = _range(256, 16, 1 << 16)  # control messages in flight to one peer
    early_packets: int = _range(64, 1, 4096)  # packets of a later view kept until that view comes
    self_delivery: bool = True
    when_full: Literal["wait", "raise"] = "wait"
    receive_buffer_bytes: int = _range(16 * MIB, 4 * KIB, 1 << 30)  # asked of the kernel; it may give less
    send_buffer_bytes: int = _range(4 * MIB, 4 * KIB, 1 << 30)

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.metadata:
                _check_range(spec.name, value, spec.metadata["low"], spec.metadata["high"])
        if self.when_full not in ("wait", "raise"):
            raise ConfigError(f"when_full must be 'wait' or 'raise', got {self.when_full!r}")
        if not isinstance(self.self_delivery, bool):
            raise ConfigError(f"self_delivery must be True or False, got {self.self_delivery!r}")

    @property
    def ack_after(self) -> int:
        return self.ack_every or max(1, self.capacity // 4)

    def with_changes(self, **changes: Any) -> Config:
        """This config with some fields changed; an unknown field is an error that names the known ones."""
        known = {spec.name for spec in fields(self)}
        for name in changes:
            if name not in known:
                raise ConfigError(f"unknown config field {name!r}; known are {', '.join(sorted(known))}")
        return replace(self, **changes)


def _check_range(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}, got {value!r}")


# `local`: one machine, big datagrams. `lan`, `wan`: within the path MTU, never relying on IP fragmentation.
# `test`: small windows and short intervals, so that every bound is reached quickly.
_PROFILES: dict[str, Config] = {
    "local": Config(),
    "lan": Config(frame_bytes=1_400, xmit_interval_ns=50 * MS),
    "wan": Config(frame_bytes=1_200, xmit_interval_ns=200 * MS, window_bytes=16 * MIB),
    "test": Config(capacity=64, stream_capacity=32, xmit_interval_ns=10 * MS, frame_bytes=2_000, window_bytes=64 * KIB),
}


def profile(name: Profile | str, **changes: Any) -> Config:
    """The config of a profile (local, lan, wan or test), with some fields changed."""
    if name not in _PROFILES:
        raise ConfigError(f"unknown profile {name!r}; known are {', '.join(_PROFILES)}")
    return _PROFILES[name].with_changes(**changes)
