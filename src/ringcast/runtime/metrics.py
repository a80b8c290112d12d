"""A member's status as metrics for Prometheus: read when somebody asks, so that they cost a message nothing.

Every name begins with `ringcast_` and ends with its unit; `_total` counts since this incarnation began and only grows.
Labels: `group` and `member` (this member's name) on each; `peer` is another member's name, with its incarnation only
while two of one name are in the view. docs/operations.md lists all of them (a test compares).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ringcast.errors import ConfigError
from ringcast.runtime.status import Status

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Samples = Iterable[tuple[str, float]]  # value of the metric's own label, value


class Metric(NamedTuple):
    """One family: what it is, its own label if it has one, and how it is read from a status."""

    name: str
    help: str
    read: Callable[[Status], Samples]
    label: str = ""

    @property
    def is_counter(self) -> bool:
        return self.name.endswith("_total")


def _at(path: str) -> Callable[[Status], Samples]:
    """The number there; of a list or a dictionary, how many it holds; nothing for None."""

    def samples(status: Status) -> Samples:
        value = _value(status, path)
        number = len(value) if isinstance(value, list | dict) else value
        return [] if number is None else [("", float(number))]

    return samples


def _each(path: str) -> Callable[[Status], Samples]:
    """The numbers of a dictionary by their names."""
    return lambda status: _value(status, path).items()


def _value(status: Status, path: str) -> Any:
    value: Any = status
    for key in path.split("."):
        value = value[key]
    return value


def _peers(key: str) -> Callable[[Status], Samples]:
    """One sample for each other member of the view."""

    def samples(status: Status) -> Samples:
        names = Counter(_name(member) for member in status["members"])
        for member, peer in status["peers"].items():
            value = peer[key]  # type: ignore[literal-required]
            if member != status["me"] and value is not None:
                yield (_name(member) if names[_name(member)] == 1 else member), value

    return samples


def _name(member: str) -> str:
    return member.rpartition("#")[0]


def _is_coordinator(status: Status) -> Samples:
    return [("", float(status["coordinator"] == status["me"]))]


def _waiting_calls(status: Status) -> Samples:
    return Counter(wait["what"] for wait in status["waiting"]).items()


def _longest_wait(status: Status) -> Samples:
    return [("", max((wait["since_seconds"] for wait in status["waiting"]), default=0.0))]


METRICS = (
    Metric("ringcast_ready", "1 if this member may send", _at("ready")),
    Metric("ringcast_primary", "1 if its view is primary (always, with partition='all')", _at("primary")),
    Metric("ringcast_coordinator", "1 if it coordinates its view", _is_coordinator),
    Metric("ringcast_view_members", "members in its view", _at("members")),
    Metric("ringcast_view_number", "number of its view; the same at all members of one view", _at("view_number")),
    Metric("ringcast_view_age_seconds", "since it installed its view", _at("view_since_seconds")),
    Metric("ringcast_views_total", "views installed", _at("happened.views")),
    Metric("ringcast_merges_total", "views that joined parts of the group again", _at("happened.merges")),
    Metric("ringcast_failed_merges_total", "merges led here that were given up", _at("happened.failed_merges")),
    Metric("ringcast_suspicions_total", "members suspected, once per member and view", _at("happened.suspicions")),
    Metric("ringcast_exclusions_total", "members left behind by a view without asking", _at("happened.exclusions")),
    Metric("ringcast_suspected_members", "members suspected now", _at("suspected")),
    Metric("ringcast_slow_members", "members that live, but whose event loop stands still", _at("slow")),
    Metric("ringcast_absent_members", "members known to be missing, or asking to join", _at("absent")),
    Metric("ringcast_sent_messages_total", "messages multicast by this member", _at("windows.send.high")),
    Metric("ringcast_acked_messages_total", "of these, acked by all", _at("windows.send.low")),
    Metric("ringcast_retransmitted_messages_total", "messages of the group sent again here", _at("retransmitted")),
    Metric("ringcast_received_messages_total", "multicasts of the peer, received in order", _peers("received"), "peer"),
    Metric("ringcast_unread_messages", "of these, not read by the application here", _peers("unread"), "peer"),
    Metric("ringcast_lag_messages", "messages of this member that the peer has not acked", _peers("lag"), "peer"),
    Metric("ringcast_peer_silence_seconds", "since anything came from the peer", _peers("heard_seconds"), "peer"),
    Metric("ringcast_own_unread_messages", "own messages not read here", _at("windows.send.own_unread")),
    Metric("ringcast_send_window_messages", "messages sent and not acked by all", _at("windows.send.occupancy")),
    Metric("ringcast_send_window_limit_messages", "how many there may be", _at("windows.send.capacity")),
    Metric("ringcast_send_window_bytes", "bytes sent and not acked by all", _at("windows.send.bytes")),
    Metric("ringcast_send_window_limit_bytes", "how many there may be", _at("windows.send.max_bytes")),
    Metric("ringcast_waiting_calls", "calls that wait now, by what they do", _waiting_calls, "call"),
    Metric("ringcast_longest_wait_seconds", "of these, the longest", _longest_wait),
    Metric("ringcast_spool_messages", "messages from while the state was loaded, not read", _at("spool.messages")),
    Metric("ringcast_spool_memory_bytes", "what they take in memory", _at("spool.memory_bytes")),
    Metric("ringcast_spool_disk_bytes", "and on disk", _at("spool.disk_bytes")),
    Metric(
        "ringcast_recording_lost_events_total",
        "events missing in the recording: the disk is slow or full",
        _at("recording_lost"),
    ),
    Metric("ringcast_dropped_frames_total", "frames of others that were not used, by reason", _each("drops"), "reason"),
    Metric("ringcast_received_frames_total", "packets that came in", _at("transport.frames_in")),
    Metric("ringcast_received_bytes_total", "and their bytes", _at("transport.bytes_in")),
    Metric("ringcast_sent_frames_total", "packets that went out", _at("transport.frames_out")),
    Metric("ringcast_sent_bytes_total", "and their bytes", _at("transport.bytes_out")),
    Metric("ringcast_lost_frames_total", "packets lost by the transport, by reason", _each("transport.lost"), "reason"),
)


def check_installed() -> None:
    if find_spec("prometheus_client") is None:
        raise ConfigError("metrics need the package 'prometheus_client': pip install 'ringcast[metrics]'")


def exposition(status: Status) -> str:
    """The text that Prometheus reads."""
    check_installed()
    from prometheus_client import generate_latest

    return str(generate_latest(cast(Any, _Families(status))).decode())


class _Families(NamedTuple):
    """What `generate_latest` asks of a registry."""

    status: Status

    def collect(self) -> Iterable[Family]:
        return (_family(metric, self.status) for metric in METRICS)


def _family(metric: Metric, status: Status) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    labels = ["group", "member", *([metric.label] if metric.label else [])]
    kind = CounterMetricFamily if metric.is_counter else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=labels)
    for value, number in metric.read(status):
        own = [value] if metric.label else []
        family.add_metric([status["group"], _name(status["me"]), *own], number)
    return family
