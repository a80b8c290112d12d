"""The limits of a host that has proved nothing: what it may cost, whichever way it comes: UDP, TCP, TLS or HTTP.

Anybody who reaches a port can send to it. Until a host has shown something that only a member can (a frame that was
taken, a certificate of the authority), what it costs is bounded here: connections, handshakes, bytes and frames, places
in tables, answers and lines of the log, each per second. All hosts together have a bound too, for one attacker may have
many addresses; of IPv6 a network of 64 bits counts as one host. What is over a bound is refused for the price of a
look-up, and counted.

A host that has proved something, or that members of the view are on, has allowances of its own, `KNOWN_TIMES` as large:
whoever floods uses up nothing of what members need, and a stranger on a member's host is bounded as well.
Not authentication: nothing is believed because of this, only paid for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from ringcast.errors import ConfigError

SECOND = 1_000_000_000
KNOWN_TIMES = 4
_V6_NETWORK_GROUPS = 4


@dataclass(frozen=True, slots=True)
class StrangerLimits:
    """Every bound on hosts that have proved nothing. docs/threat-model.md has them as a table (a test compares)."""

    connects_per_second: int = 100  # taken of one host, by TCP, TLS or HTTP; the others are closed at once
    connects_of_all: int = 200
    handshakes_per_second: int = 20  # of TLS, begun for one host: each costs a signature
    handshakes_of_all: int = 50
    unproved_connections: int = 64  # open at once; one more takes the place of the oldest
    unproved_read_bytes: int = 8 << 10  # read of such a connection in one turn of the loop
    refused_in_a_row: int = 64  # frames of one stream that nobody took; then it is closed
    refused_in_a_row_of_members: int = 1_024  # of a member's: between two views some of its frames are early
    http_connections: int = 32  # open at once; one more takes the place of the oldest
    http_seconds: float = 5.0  # for a request and its answer
    text_seconds: float = 1.0  # a text of metrics is made once in this time, however many ask
    questions_per_second: int = 100  # of multicast discovery, answered
    frames_per_second: int = 100  # over UDP or a stream, taken of one process outside the view after its proof
    runs_per_second: int = 200  # beside these: multicast runs of a view that is not here yet
    frames_of_all: int = 500
    challenges_per_second: int = 500  # and as many proofs
    unreadable_per_second: int = 100  # frames of other groups, versions and processes, named by the decoder
    versions_per_second: int = 10  # processes of another version that are told of it
    hosts: int = 1_024  # remembered, and as many processes and challenged places
    kept_frames: int = 64  # first frames that wait for a proof, of at most 2 KiB each
    lines_per_second: int = 10  # warnings and errors in the log of one member

    def __post_init__(self) -> None:
        for spec in fields(self):
            if getattr(self, spec.name) <= 0:
                raise ConfigError(f"{spec.name} must be above 0, not {getattr(self, spec.name)}")


DEFAULT_LIMITS = StrangerLimits()


class Allowance:
    """How often something may happen: filled by time up to one second's worth, emptied by `take`."""

    __slots__ = ("_at_ns", "_left", "_per_second")

    def __init__(self, per_second: int, now_ns: int) -> None:
        self._per_second = per_second
        self._left = float(per_second)
        self._at_ns = now_ns

    def take(self, now_ns: int) -> bool:
        passed = now_ns - self._at_ns
        self._at_ns = now_ns
        self._left = min(float(self._per_second), self._left + passed * self._per_second / SECOND)
        if self._left < 1:
            return False
        self._left -= 1
        return True


class _Host:
    """The allowances that one host has left."""

    __slots__ = ("connects", "handshakes")

    def __init__(self, limits: StrangerLimits, now_ns: int, times: int) -> None:
        self.connects = Allowance(times * limits.connects_per_second, now_ns)
        self.handshakes = Allowance(times * limits.handshakes_per_second, now_ns)


class Strangers:
    """The connections and handshakes of strangers at one listening place."""

    def __init__(self, now_ns: Callable[[], int], limits: StrangerLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._now_ns = now_ns
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self._known: OrderedDict[str, _Host] = OrderedDict()  # that have proved something
        self._members: dict[str, _Host] = {}
        now = now_ns()
        self._connects = Allowance(limits.connects_of_all, now)
        self._handshakes = Allowance(limits.handshakes_of_all, now)

    @property
    def remembered(self) -> int:
        return len(self._hosts) + len(self._known) + len(self._members)

    def set_members(self, hosts: Iterable[str]) -> None:
        """Members of the view are on these hosts."""
        before, now = self._members, self._now_ns()
        self._members = {
            host: before.get(host) or _Host(self.limits, now, KNOWN_TIMES)
            for host in dict.fromkeys(map(host_of, hosts))
        }

    def prove(self, host: str) -> None:
        """Something came from this host that only a member can send."""
        host = host_of(host)
        self._hosts.pop(host, None)
        known = self._known.pop(host, None) or _Host(self.limits, self._now_ns(), KNOWN_TIMES)
        self._known[host] = known
        self._bound(self._known)

    def may_connect(self, host: str) -> bool:
        """May a connection of this host be taken? It counts as taken then."""
        now, known = self._now_ns(), self._known_host(host)
        if known is not None:
            return known.connects.take(now)
        return self._stranger(host, now).connects.take(now) and self._connects.take(now)

    def may_shake_hands(self, host: str) -> bool:
        """May a handshake begin that costs a signature?"""
        now, known = self._now_ns(), self._known_host(host)
        if known is not None:
            return known.handshakes.take(now)
        return self._stranger(host, now).handshakes.take(now) and self._handshakes.take(now)

    def _known_host(self, host: str) -> _Host | None:
        host = host_of(host)
        return self._members.get(host) or self._known.get(host)

    def _stranger(self, host: str, now_ns: int) -> _Host:
        host = host_of(host)
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = _Host(self.limits, now_ns, 1)
            self._bound(self._hosts)
        return found

    def _bound(self, hosts: OrderedDict[str, _Host]) -> None:
        while len(hosts) > self.limits.hosts:
            hosts.popitem(last=False)


def host_of(host: str) -> str:
    """Return what counts as one host: a numeric address, or the 64-bit network of an IPv6 address."""
    if ":" not in host:
        return host
    address = host.partition("%")[0]
    head, gap, tail = address.partition("::")
    groups = head.split(":") if head else []
    if gap:
        last = tail.split(":") if tail else []
        groups += ["0"] * (8 - len(groups) - len(last)) + last
    if groups[:5] == ["0"] * 5 and "." in groups[-1]:
        return groups[-1]  # an IPv4 address in the form of an IPv6 one
    return ":".join(groups[:_V6_NETWORK_GROUPS]) + "::/64"
