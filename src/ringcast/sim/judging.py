"""What checkers cannot see or no guarantee names: payloads, storms of repairs, views without a cause.

The checkers judge recordings, which know seqnos and no payloads: what programs read is held against what programs sent.
A send that raised was not sent: whoever reads its message has read what was not sent (G15). That nobody who lives is
excluded after the heal is judged by the checker of G14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ringcast.checkers import Troubles, installed
from ringcast.model import Address, Event, Kind, View
from ringcast.sim.cluster import Cluster
from ringcast.sim.faults import Fault
from ringcast.trace import Recording

VIEWS_PER_FAULT = 8
VIEWS_PER_MEMBER = 2  # it joins, perhaps with others; and it comes back after the heal
VIEWS_PER_PERIOD = 4


# ---- contents


def strange_contents(cluster: Cluster, is_complete: bool, own_complete: bool = False) -> Iterator[str]:
    """A sentence for each reader and sender whose messages are not what was sent, in the order in which it was sent.

    `is_complete`: everybody was in one view all the time, so nothing may be missing. `own_complete`: everything is at
    rest, and who kept its place in the group has read whatever it sent to it itself.
    """
    sent: dict[Address, list[bytes]] = {}
    sent_to: dict[tuple[Address, Address], list[bytes]] = {}
    queued: dict[Address, list[tuple[bytes, tuple[Address, ...]]]] = {}
    for _, application in cluster.applications():
        sent |= application.sent
        sent_to |= application.sent_to
        queued |= application.queued
    for process, application in cluster.applications():
        if not process.has_begun:
            continue
        me, mine, reads_itself = process.address, process.addresses, process.node.config.self_delivery
        own = own_complete and not process.is_over and len(mine) == 1
        for sender in {**dict.fromkeys(sent), **dict.fromkeys(application.multicasts)}:
            if sender not in mine or reads_itself:
                read = application.multicasts.get(sender, [])
                is_whole = is_complete or (own and sender == me)
                yield from _compare(f"{me} read from {sender}", read, sent.get(sender, []), is_whole)
        for sender in {**dict.fromkeys(one for one, to in sent_to if to in mine), **dict.fromkeys(application.private)}:
            read = application.private.get(sender, [])
            due = [payload for address in mine for payload in sent_to.get((sender, address), [])]
            yield from _compare(f"{me} read on the stream from {sender}", read, due, is_complete)
        for sender in {**dict.fromkeys(queued), **dict.fromkeys(who for who, _ in application.ordered)}:
            read = [payload for origin, payload in application.ordered if origin == sender]
            due = [payload for payload, to in queued.get(sender, []) if not to or not set(mine).isdisjoint(to)]
            yield from _compare(
                f"{me} read in order from {sender}", read, due, is_complete and (sender not in mine or reads_itself)
            )


def _compare(who: str, read: list[bytes], sent: list[bytes], is_complete: bool) -> Iterator[str]:
    if read == sent:
        return
    if is_complete and len(read) < len(sent) and read == sent[: len(read)]:
        yield f"{who} only {len(read)} of {len(sent)} messages"
        return
    at = 0
    for number, payload in enumerate(read):
        try:
            found = sent.index(payload, at)
        except ValueError:
            yield f"{who} as number {number + 1} what was not sent, or not in this order: {payload[:40]!r}"
            return
        if is_complete and found != at:
            yield f"{who} {payload[:40]!r}, but not what was sent before it"
            return
        at = found + 1


# ---- repairs


def storms(recordings: Iterable[Recording]) -> Iterator[str]:
    """A sentence for each member that sent the same message to the same member three times within an interval.

    Once before and once after the tick of an interval is allowed. An interval is one of the member's own clock: one
    that runs fast, by a fault, makes it shorter.
    """
    recordings = list(recordings)
    troubles = Troubles()
    for recording in recordings:
        for event in recording.events:
            if event.kind is Kind.FAULT or event.kind is Kind.HEAL:
                troubles.add(event.t_ns, event.kind, event.detail or {})
    for recording in recordings:
        found = _storm(recording, troubles)
        if found is not None:
            yield found


def _storm(recording: Recording, troubles: Troubles) -> str | None:
    interval_ns = int(recording.header.config.get("xmit_interval_ns", 0))
    name = str(recording.member).partition("#")[0]
    times: dict[tuple[Address | None, str, int, int], tuple[int, int]] = {}  # the last two times of each repair
    for event in recording.events:
        if event.kind is not Kind.REPAIR:
            continue
        origin = "" if event.detail is None else str(event.detail["origin"])
        for seqno in range(event.first, event.first + event.count):
            key = event.peer, origin, event.stream, seqno
            before, last = times.get(key, (-interval_ns, -interval_ns))
            if before >= 0 and troubles.passed_ns(name, before, event.t_ns) < interval_ns:
                return f"{recording.member} sent {seqno} to {event.peer} three times within {interval_ns / 1e6:g} ms"
            times[key] = last, event.t_ns
    return None


# ---- views


def count_of_views(recordings: Iterable[Recording]) -> int:
    """How many different ones were installed."""
    return len({event.view for recording in recordings for event in recording.events if event.kind is Kind.VIEW})


def most_views(faults: Iterable[Fault], members: int, starts: int, period_ns: int) -> int:
    """So many views a run with these faults may have at most; `starts`: processes that began.

    A fault takes members away and brings them back, some of them one by one; a bad link that lasts does so again and
    again, with a pause that doubles up to `readmit_max_ns`.
    """
    lasting = sum(
        VIEWS_PER_FAULT + VIEWS_PER_PERIOD * ((fault.until_ns - fault.at_ns) // period_ns) for fault in faults
    )
    return lasting + VIEWS_PER_MEMBER * max(members, starts)


# ---- states


def where_refused(events: Iterable[Event]) -> tuple[View, int] | None:
    """The view in which a process learned that it gets no state, and when; None if it was in no view.

    It leaves as soon as it is told; a merge may come before it has left. One that had begun to leave before is told at
    the moment in which what had come for it is thrown away.
    """
    view: View | None = None
    told: tuple[View, int] | None = None
    for event in events:
        if event.kind is Kind.VIEW:
            it = installed(event)
            view = View(it.id, it.members, it.observers, subgroups=it.subgroups)
        elif event.kind is Kind.WAIT_START and (event.detail or {}).get("what") == "leave" and view is not None:
            told = view, event.t_ns
        elif event.kind is Kind.UNREAD and (event.detail or {}).get("told") == "StateError" and view is not None:
            return view, event.t_ns
    return told
