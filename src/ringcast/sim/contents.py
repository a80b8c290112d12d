"""Holds what programs read against what programs sent, payload by payload.

The checkers judge recordings, which know seqnos and no payloads; this is the part that they cannot see. A send that
raised was not sent: whoever reads its message has read what was not sent (G15).
"""

from __future__ import annotations

from collections.abc import Iterator

from ringcast.model import Address
from ringcast.sim.cluster import Cluster


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
