"""Holds what applications read against what applications sent, payload by payload.

The checkers judge recordings, which know seqnos and no payloads; this is the part that they cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator

from ringcast.sim.cluster import Cluster
from ringcast.sim.workload import Ledger


def strange_contents(cluster: Cluster, ledger: Ledger, is_complete: bool) -> list[str]:
    """A sentence for each reader and sender whose messages are not what was sent, in the order in which it was sent."""
    return list(_strange(cluster, ledger, is_complete))


def _strange(cluster: Cluster, ledger: Ledger, is_complete: bool) -> Iterator[str]:
    for member in [*cluster.past, *cluster.members.values()]:
        application = member.application
        for sender, sent in ledger.multicasts.items():
            if sender == member.address and not member.node.config.self_delivery:
                continue
            read = application.multicasts.get(sender, [])
            yield from _compare(f"{member.address} read from {sender}", read, sent, is_complete)
        for (sender, peer), sent in ledger.private.items():
            if peer == member.address:
                read = application.private.get(sender, [])
                yield from _compare(f"{member.address} read on the stream from {sender}", read, sent, is_complete)


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
