"""Why something waits, in words: what is lacking, who holds it back, when they were heard; and what would free it.

Written for somebody who does not know the protocols. Reads the node, changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ringcast.core import Deliver, Install, Node
from ringcast.model import Address, Batch, View
from ringcast.runtime.disks import slow_disks
from ringcast.runtime.driver import Driver

_ADDRESS = re.compile(r"([^\s#|,;(){}\[\]']+)#([0-9a-z]+)")
FRESH_SECONDS = 1.5  # heard more recently than this: it lives


class Why(NamedTuple):
    """What a wait lacks, and what would end it. As text it is the first of the two."""

    because: str
    freed_by: str

    def __str__(self) -> str:
        return self.because


@dataclass(frozen=True, slots=True)
class Waiting:
    """One entry of `group.waiting()` and of `ringcast status`."""

    what: str
    because: str
    since_seconds: float
    freed_by: str = ""

    def __str__(self) -> str:
        ending = f"\n    it goes on when {self.freed_by}" if self.freed_by else ""
        return f"{self.what} waits for {self.since_seconds:.1f} s: {self.because}{ending}"


def short(text: str) -> str:
    """Names without their incarnations, unless the text speaks of two that share a name."""
    incarnations: dict[str, set[str]] = {}
    for name, incarnation in _ADDRESS.findall(text):
        incarnations.setdefault(name, set()).add(incarnation)
    return _ADDRESS.sub(lambda found: found[1] if len(incarnations[found[1]]) == 1 else found[0], text)


def heard_seconds(driver: Driver, member: Address) -> float | None:
    heard = driver.heard.get(member)
    return None if heard is None else (driver.now_ns() - heard) / 1e9


def slow_members(driver: Driver) -> list[Address]:
    """Who lives, but whose event loop does not turn; as far as this member watches them."""
    coordination = driver.node.coordination
    return [] if coordination is None else list(coordination.detector.slow)


# ---- reading


def what_is_unread(driver: Driver) -> str:
    """What lies in the reading place, as the end of a sentence; nothing if that is empty."""
    if not driver.inbox:
        return ""
    first = driver.inbox[0]
    if isinstance(first, Deliver):
        what = f"messages of {first.origin}"
    elif isinstance(first, Batch):
        what = f"messages of {first.sender}"
    else:
        what = f"view {first.view.id}" if isinstance(first, Install) else type(first).__name__
    return f"; {len(driver.inbox)} not read by its application, first {what}"


# ---- sending


def why_no_room(driver: Driver, slots: int = 1) -> Why:
    """Why a message in so many packets cannot be sent to the group yet."""
    node = driver.node
    if not node.has_group:
        return Why(f"{node.me} is in no view yet", "this member is let into the group")
    if node.group.standstill is not None:
        return why_held(driver)
    window = node.group.outgoing.window
    because = [f"window {window.occupancy}/{node.group.capacity} messages, {window.bytes}/{window.max_bytes} bytes"]
    if slots > 1:
        because.append(f"the message needs {slots} places at once")
    freed_by = []
    if driver.is_busy:
        because.append("the socket is busy")
        freed_by.append("the kernel has sent what it was given")
    if node.config.self_delivery and node.group.own_unread + slots > node.group.capacity:
        because.append(f"{node.group.own_unread} own messages are not read yet by this member's application")
        freed_by.append("this application reads its own events, too (or opens the group with self_delivery=False)")
    because += _bound_by_kernel(driver)
    late = _late_members(driver)
    because += [_missing_ack(driver, member) for member in late]
    return Why(", ".join(because), _either([*freed_by, *(_freed_by(driver, member) for member in late)]))


def _bound_by_kernel(driver: Driver) -> list[str]:
    """Bytes are what is short, and there are so few because the kernel gave a smaller receive buffer than was asked."""
    window, asked, given = driver.node.group.outgoing.window, driver.asked_buffer_bytes, driver.node.config
    if given.receive_buffer_bytes >= asked or 2 * window.bytes < window.max_bytes:
        return []
    return [
        f"the window is bound by receive buffers: the kernel gave this member {given.receive_buffer_bytes} of {asked} "
        f"bytes (sysctl net.core.rmem_max={asked} on every host raises it for those who join then)"
    ]


def why_no_room_to(driver: Driver, peers: Sequence[Address], size: int, own_unread: int) -> Why:
    """Why a private message of this size cannot be sent to these yet. `own_unread`: if too many of those to oneself."""
    node = driver.node
    if not node.has_group:
        return why_no_room(driver)
    because, freed_by = [], []
    if driver.is_busy:
        because.append("the socket is busy")
        freed_by.append("the kernel has sent what it was given")
    if own_unread:
        because.append(f"{own_unread} private messages of this member to itself are not read yet by its application")
        freed_by.append("this application reads on")
    others = [peer for peer in peers if peer != node.me]
    for peer in node.peers.full(others, node.pieces(size), size):
        because.append(_full_stream(driver, peer))
        freed_by.append(_freed_by(driver, peer))
    if not because:
        because.append(f"other messages to {_names(peers)} wait before it")
        freed_by.append("those were sent")
    return Why(", ".join(because), _either(freed_by))


def _full_stream(driver: Driver, peer: Address) -> str:
    streams = driver.node.peers
    stream = streams.outgoing.get(peer)
    if stream is None:
        return (
            f"there are {len(streams.outgoing)} streams to others with unacked messages, and no place for one to {peer}"
        )
    window, heard = stream.window, _last_heard(driver, peer) + _why_unacked(driver, peer)
    marks = f"{window.occupancy}/{window.bound} messages, {window.bytes}/{window.max_bytes} bytes"
    return f"the stream to {peer} holds {marks}, acked up to {window.low} of {window.high} ({heard})"


def why_not_flushed(driver: Driver) -> Why:
    if not driver.node.has_group:
        return why_no_room(driver)
    window = driver.node.group.outgoing.window
    because = [f"{window.occupancy} messages are not acked by all"]
    unacked = [peer for peer, stream in driver.node.peers.outgoing.items() if stream.window.occupancy]
    if unacked:
        because.append(f"private messages are not acked by {_names(unacked)}")
    late = _late_members(driver)
    because += [_missing_ack(driver, member) for member in late]
    awaited = dict.fromkeys([*late, *unacked])
    return Why(", ".join(because), _either([_freed_by(driver, member) for member in awaited]))


def why_not_placed(driver: Driver, size: int | None = None, peers: Sequence[Address] = ()) -> Why:
    """Why an ordered message has no place yet; or, of this size to these, cannot be queued."""
    node = driver.node
    if not node.has_group:
        return why_no_room(driver)
    if node.group.standstill is not None:
        return why_held(driver)
    ordering, coordinator = node.order.ordering, node.view.coordinator
    because = [f"{ordering.in_flight.count}/{ordering.capacity} ordered messages have no place yet"]
    freed_by = []
    if coordinator is None:
        because.append("there is no coordinator among observers")
        freed_by.append("a member that is no observer joins")
    elif coordinator != node.me:
        because.append(f"the coordinator is {coordinator}, who gives the places ({_last_heard(driver, coordinator)})")
        freed_by.append(f"{coordinator} has heard from every destination (ringcast explain there says from whom not)")
    if ordering.unread >= ordering.capacity:
        because.append(f"{ordering.unread} ordered messages are not read yet by this member's application")
        freed_by.append("this application reads on")
    if size is not None:
        _add_streams(driver, size, peers, because, freed_by)
    awaited = ordering.awaited()
    because += [f"{member} has not staged what stands first ({_last_heard(driver, member)})" for member in awaited]
    freed_by += [_freed_by(driver, member) for member in awaited]
    return Why(", ".join(because), _either(freed_by))


def _add_streams(driver: Driver, size: int, peers: Sequence[Address], because: list[str], freed_by: list[str]) -> None:
    """What the streams lack for an ordered message of this size: the multicast, and those to its destinations."""
    node = driver.node
    if node.fit_in_order([size], None) == 0:
        multicast = why_no_room(driver, node.pieces(size))
        because.append(multicast.because)
        freed_by.append(multicast.freed_by)
    for peer in node.peers.full([peer for peer in peers if peer != node.me], node.pieces(size), size):
        because.append(_full_stream(driver, peer))
        freed_by.append(_freed_by(driver, peer))


def why_held(driver: Driver) -> Why:
    """A roll call runs: sends are held, so that all agree on what was sent in the view that ends."""
    coordination = driver.node.coordination
    follower = None if coordination is None else coordination.membership.follower
    promise = None if follower is None else follower.promise
    asker = driver.node.me if promise is None else promise.asker
    leader = "this member" if asker == driver.node.me else str(asker)
    because = f"{leader} is changing the view, and nobody sends until all agree on what was sent before"
    awaited = roll_call_awaits(driver)
    if awaited:
        because += f"; {_names(awaited)} did not answer yet"
    because = "; ".join([because, *slow_disks(driver)])
    limit = driver.node.config.resumer_ns / 1e9
    return Why(because, f"the new view is there or the attempt is given up, in at most {limit:.0f} s")


def roll_call_awaits(driver: Driver) -> list[Address]:
    """At the coordinator: who still owes an answer to the roll call that runs."""
    coordination = driver.node.coordination
    leading = None if coordination is None else coordination.membership.as_coordinator
    change = None if leading is None else leading.change
    return [] if change is None or change.spreading is not None else change.roll_call.awaited


# ---- coming and going


def why_not_joined(driver: Driver) -> Why:
    """On the way in: whom this member asks, and what it gets for an answer."""
    coordination = driver.node.coordination
    joiner = None if coordination is None else coordination.membership.joiner
    if joiner is None:
        return Why("the state of the others is being loaded", "set_state has returned")
    if driver.first_mark_ns is not None:
        because = "; ".join(slow_disks(driver)) or "this member's mark is being stored"
        return Why(because, "the mark is stored: before that nobody hears of this member")
    if joiner.target is not None:
        answer = "it is busy with another change and says: again" if joiner.busy else "it has not answered yet"
        because = f"asks {joiner.target} at {joiner.target.endpoint}, who leads the group: {answer}"
        return Why(because, f"{joiner.target} has made a view with this member")
    if joiner.undiscovered is not None:
        return Why(joiner.undiscovered, "discovery finds a member of the group")
    return _why_nobody_answers(driver, joiner.places, joiner.looking, joiner.founds_at_ns)


def _why_nobody_answers(driver: Driver, places: list[str], looking: list[Address], founds_at_ns: int | None) -> Why:
    if looking:
        because = f"others look for the group too ({_names(looking)}), nobody has it yet"
    elif places:
        because = f"nobody answers at {', '.join(places[:4])}"
    else:
        because = "no seeds were given and nobody was heard"
    if founds_at_ns is None:
        coordination = driver.node.coordination
        joiner = None if coordination is None else coordination.membership.joiner
        if joiner is not None and joiner.request.observer:
            return Why(because, "a member of the group is heard; an observer never founds one")
        return Why(f"{because}, and this process was not told to found a group (found, expect)", "a member is heard")
    left = max(0.0, (founds_at_ns - driver.now_ns()) / 1e9)
    return Why(because, f"a member of the group is heard; else the group is founded here in {left:.1f} s")


def why_not_ready(driver: Driver) -> str:
    """Why this member may not send."""
    node = driver.node
    return str(why_not_joined(driver)) if not node.has_group else why_aside(node)


def why_not_left(driver: Driver) -> Why:
    coordination = driver.node.coordination
    leader = None if coordination is None else coordination.membership.acting
    limit = driver.node.config.leave_ns / 1e9
    because = f"{leader} was asked to let this member go and has not made the view without it yet"
    return Why(because, f"that view is there; in any case after {limit:.0f} s")


# ---- who holds back


def _late_members(driver: Driver) -> list[Address]:
    outgoing = driver.node.group.outgoing
    if outgoing.window.occupancy == 0:
        return []
    return [member for member in outgoing.acks.laggards() if member != driver.node.me]


def _missing_ack(driver: Driver, member: Address) -> str:
    outgoing, heard = driver.node.group.outgoing, _last_heard(driver, member) + _why_unacked(driver, member)
    return f"{member} has acked up to {outgoing.acks.get(member)} of {outgoing.window.high} ({heard})"


def _is_fresh(driver: Driver, member: Address) -> bool:
    seconds = heard_seconds(driver, member)
    return seconds is not None and seconds < FRESH_SECONDS and member not in slow_members(driver)


def _last_heard(driver: Driver, member: Address) -> str:
    seconds = heard_seconds(driver, member)
    last = "never heard" if seconds is None else f"last heard {seconds:.1f} s ago"
    return f"{last}; it lives, but its event loop stands still" if member in slow_members(driver) else last


def _why_unacked(driver: Driver, member: Address) -> str:
    """Say what is known of a member that owes an ack, after when it was heard."""
    if has_bad_link(driver, member):
        return f": it lives, and it and {driver.node.me} do not hear each other"
    return ": it lives, and its application has not read the rest" if _is_fresh(driver, member) else ""


def has_bad_link(driver: Driver, member: Address) -> bool:
    """Does one of the two not hear the other, although others hear both?"""
    coordination = driver.node.coordination
    if coordination is None:
        return False
    spans = coordination.detector.complaints.spans
    return (member, driver.node.me) in spans or (driver.node.me, member) in spans


def bad_links(driver: Driver) -> list[str]:
    """Name the links over which members do not hear each other, although others hear both."""
    coordination = driver.node.coordination
    if coordination is None:
        return []
    deaf: dict[Address, list[Address]] = {}
    for by, about in coordination.detector.complaints.spans:
        deaf.setdefault(by, []).append(about)
    return [f"{by} does not hear {_names(about)}; others do" for by, about in deaf.items()]


def _freed_by(driver: Driver, member: Address) -> str:
    """Say what the member has to do, or what becomes of it, from what the failure detector knows."""
    config, coordination = driver.node.config, driver.node.coordination
    if member in slow_members(driver):
        return f"the event loop of {member} turns again, or it is excluded after {config.stall_limit_ns / 1e9:.0f} s"
    if coordination is None:
        if _is_fresh(driver, member):
            return f"the application of {member} reads on, or it leaves"
        return f"{member} is heard again (from a fixed group nobody is excluded)"
    if has_bad_link(driver, member):
        seconds = config.suspect_after_ns / 1e9
        return f"they hear each other again, or one of them is excluded; that is decided after {seconds:.1f} s"
    if member in coordination.membership.suspicions:
        return f"{member} is heard again, or {who_excludes(driver)}"
    if _is_fresh(driver, member):
        return f"the application of {member} reads on, or it leaves"
    silence, limit = heard_seconds(driver, member), (config.suspect_after_ns + config.verify_ns) / 1e9
    if silence is not None and silence > limit:
        return f"{member} is heard again, or others do not hear it either, and it is excluded"
    return f"{member} is heard again, or it is excluded after {limit:.1f} s of silence"


def who_excludes(driver: Driver) -> str:
    """Say what becomes of a member that is suspected here."""
    coordination, me = driver.node.coordination, driver.node.me
    acting = None if coordination is None else coordination.membership.acting
    if acting is None:
        return "nobody excludes it: only observers are left, and an observer makes no view"
    return "this member makes a view without it" if acting == me else f"{acting} makes a view without it"


def _either(reasons: list[str]) -> str:
    return "; and when ".join(dict.fromkeys(reason for reason in reasons if reason))


def _names(members: Sequence[Address]) -> str:
    return ", ".join(map(str, members))


def why_aside(node: Node) -> str:
    """Why this side may not go on: it is not primary, or has nobody who could coordinate."""
    if node.coordination is None or not node.coordination.membership.lacks_coordinator:
        return why_not_primary(node.view)
    suspects = [member for member in node.view.voters if member != node.me]
    gone = f"{_names(suspects)} cannot be reached" if suspects else "there is nobody else"
    return f"only observers are left in view {node.view.id}: {gone}, and an observer makes no view"


def why_not_primary(view: View) -> str:
    """Of a view that is not primary (`partition="primary"`)."""
    mark = view.mark
    assert mark is not None
    last, votes = mark.last, mark.votes_of(view.voters)
    if view.is_carried:
        return f"view {view.id} has the votes to be followed by a primary view, which is being made"
    if mark.quorum:
        whose = f"{len(votes)} of the {mark.quorum} voters of the quorum are in view {view.id}"
    elif last.expect:
        expected = max(0, last.expect - len(view.observers))
        return f"this side is not primary: {len(votes)} of {expected} expected voters are in view {view.id}"
    else:
        missing = next((one for one in (last, *mark.attempts) if not one.is_carried_by(votes)), last)
        here = sum(voter in votes for voter in missing.voters)
        whose = f"{here} of the {len(missing.voters)} voters of the primary view {missing.view} are in view {view.id}"
    return f"this side is not primary: {whose}; it may not send, and comes back when it meets the primary side"
