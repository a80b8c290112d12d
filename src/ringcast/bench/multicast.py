"""How many messages per second reach each receiver of a group: real processes, everything checked.

One run measures, one after the other on the same machine: the user's form (user_member.py), the single form, the batch
form, the raw limit of the sockets (a small C program, same fan-out and process count) and, if asked, what pyzmq does in
the same shapes. The last two forms have fixed membership, read runs and compare every payload; with one sender they
deliver no own copies.
A figure counts only if it is complete: every receiver delivered every message, in order, with the right content.
"""

from __future__ import annotations

import asyncio
import os
import platform
import socket
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ringcast.bench.memory import measure_in_memory
from ringcast.bench.user_form import figures as user_figures
from ringcast.bench.user_form import measure_user_form
from ringcast.errors import UsageError
from ringcast.lab import Stage, free_ports, namespace

FORMS = ("user", "single", "batch")
MULTICAST = ("239.255.77.77", 45_588, "127.0.0.1")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is measured. `frame_bytes` 1400 is what a LAN carries."""

    members: int = 4
    senders: int = 1
    size: int = 1_000
    seconds: float = 3.0
    transport: str = "udp"
    ip_multicast: bool = False
    frame_bytes: int = 64_000
    record: str | None = None
    loss_percent: int = 0
    key: str | None = None  # a key file: every frame is sealed (batch and single form)

    def __post_init__(self) -> None:
        if not 2 <= self.members <= 64:
            raise UsageError(f"--members must be 2 to 64, got {self.members}")
        if not 1 <= self.senders <= self.members:
            raise UsageError(f"--senders must be 1 to the number of members ({self.members}), got {self.senders}")
        if self.transport not in ("udp", "tcp", "memory"):
            raise UsageError(f"--transport must be udp, tcp or memory, got {self.transport!r}")
        if not 0 <= self.loss_percent <= 90:
            raise UsageError(f"--loss-percent must be 0 to 90, got {self.loss_percent}")
        if self.ip_multicast and self.transport != "udp":
            raise UsageError("--ip-multicast goes with --transport udp")

    @property
    def needs_namespace(self) -> bool:
        return self.ip_multicast or self.loss_percent > 0


async def measure(shape: Shape, form: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
    """One measurement: start the processes, send for `seconds` in this form, wait until everything has arrived."""
    if form == "user":
        return await _measure_user_form(shape)
    if shape.transport == "memory":
        return _figures(shape, *await measure_in_memory(shape.members, shape.senders, shape.size, shape.seconds, form))
    names = [f"m{number}" for number in range(shape.members)]
    members = dict(zip(names, (f"127.0.0.1:{port}" for port in _ports(shape)), strict=True))
    # With several senders a member's own copies count, as in the benchmark that we compare with.
    own = shape.senders > 1
    async with Stage() as stage:
        for name in names:
            await stage.start(name)
        for name in names:
            await stage.puppets[name](
                "open",
                group="bench",
                me=name,
                members=members,
                transport=shape.transport,
                key=shape.key,
                multicast=MULTICAST if shape.ip_multicast else None,
                config={"self_delivery": own, "frame_bytes": shape.frame_bytes, **(config or {})},
                record=shape.record,
            )
        senders = names[: shape.senders]
        await _warm_up(stage, shape)
        before = await stage.everybody("report")
        sends = [stage.puppets[n].begin("send", **_order(shape, form)) for n in senders]
        waits = [
            stage.puppets[name](
                "until_ends", ends={s: 1 for s in senders if own or s != name}, limit=shape.seconds + 120
            )
            for name in names
        ]
        await asyncio.gather(*waits)
        sent = [await task for task in sends]
        reports = await stage.everybody("report")
        for name, report in reports.items():
            for figure in ("cpu_seconds", "retransmitted", "overflows"):
                report[figure] -= before[name][figure]  # what the run itself cost, without the start
        await stage.everybody("close")
    return _figures(shape, reports, dict(zip(senders, sent, strict=True)))


async def _measure_user_form(shape: Shape) -> dict[str, Any]:
    if shape.transport == "memory":
        from ringcast.bench.memory import measure_user_form_in_memory

        reports = await measure_user_form_in_memory(shape.members, shape.senders, shape.size, shape.seconds)
        return user_figures(reports, shape.size)
    places = [f"127.0.0.1:{port}" for port in _ports(shape)]
    how = {
        "transport": shape.transport,
        "multicast": MULTICAST if shape.ip_multicast else None,
        "frame_bytes": shape.frame_bytes,
        "record": shape.record,
    }
    return await asyncio.to_thread(
        measure_user_form, shape.members, shape.senders, shape.size, shape.seconds, places, **how
    )


async def _warm_up(stage: Stage, shape: Shape) -> None:
    """Everybody sends one message, so that connections stand and code is warm; then everything counts from zero."""
    for puppet in stage.puppets.values():
        await puppet("send", size=shape.size, count=1)
    own = shape.senders > 1
    for name, puppet in stage.puppets.items():
        await puppet("until_ends", ends={other: 1 for other in stage.puppets if own or other != name})
    await stage.everybody("reset")


def _order(shape: Shape, form: str) -> dict[str, Any]:
    return {"size": shape.size, "seconds": shape.seconds, "form": form, "limit": shape.seconds + 120}


def _ports(shape: Shape) -> list[int]:
    return free_ports(shape.members, socket.SOCK_STREAM if shape.transport == "tcp" else socket.SOCK_DGRAM)


def _figures(shape: Shape, reports: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    receivers = [report for name, report in reports.items() if any(s != name for s in sent)]
    rates = [_rate(report) for report in receivers]
    others = [_rate(report, without=name) for name, report in reports.items() if any(s != name for s in sent)]
    return {
        "messages_per_second_per_receiver": statistics.median(rate for rate, _ in rates),
        "megabytes_per_second_per_receiver": statistics.median(nbytes for _, nbytes in rates) / 1e6,
        "megabytes_per_second_from_others": statistics.median(nbytes for _, nbytes in others) / 1e6,
        "complete": all(_is_complete(name, report, sent, shape.senders > 1) for name, report in reports.items()),
        "retransmitted": sum(report["retransmitted"] for report in reports.values()),
        "overflows": sum(report["overflows"] for report in reports.values()),
        "rss_megabytes_max": max(report["rss_megabytes"] for report in reports.values()),
        "cpu_seconds": {name: round(report["cpu_seconds"], 2) for name, report in reports.items()},
        "cpu_us_per_message": _cpu_us(reports, sent),
        "rss_megabytes": {name: round(report["rss_megabytes"], 1) for name, report in reports.items()},
        "sent": {name: answer["sent"] for name, answer in sent.items()},
    }


def _cpu_us(reports: dict[str, Any], sent: dict[str, Any]) -> float:
    """Of all processes together."""
    spent: float = sum(report["cpu_seconds"] for report in reports.values())
    return spent / max(1, sum(int(answer["sent"]) for answer in sent.values())) * 1e6


def _rate(report: dict[str, Any], without: str | None = None) -> tuple[float, float]:
    """(messages, bytes) per second at one receiver; `without` = its own name leaves its own copies out."""
    received = [seen for sender, seen in report["received"].items() if seen["messages"] and sender != without]
    first, last = min(seen["first_ns"] for seen in received), max(seen["last_ns"] for seen in received)
    seconds = max(last - first, 1) / 1e9
    return sum(s["messages"] for s in received) / seconds, sum(s["nbytes"] for s in received) / seconds


def _is_complete(name: str, report: dict[str, Any], sent: dict[str, Any], own: bool) -> bool:
    for sender, answer in sent.items():
        if sender == name and not own:
            continue
        seen = report["received"].get(sender)
        if seen is None or seen["messages"] != answer["sent"] or seen["wrong"]:
            return False
    return True


def run_multicast(
    shape: Shape, *, peers: bool, raw: bool, say: Say, in_batches: bool = False, forms: Sequence[str] = FORMS
) -> dict[str, Any]:
    """The whole of `ringcast bench multicast`. `in_batches`: everybody under the kernel's SCHED_BATCH."""
    if in_batches:
        schedule_in_batches()
    if shape.needs_namespace and not namespace.is_inside():
        raise UsageError("IP multicast and lossy links are measured inside a network namespace only")
    if shape.loss_percent:
        namespace.lose(shape.loss_percent)
    forms = [form for form in FORMS if form in forms]
    found: dict[str, dict[str, Any]] = {}
    for form in forms:
        say(f"{form} form: {shape.members} processes, {shape.senders} sending {shape.size} B for {shape.seconds} s")
        recorded = shape if form == forms[-1] else replace(shape, record=None)  # one recording for one run
        found[form] = asyncio.run(measure(recorded, form))
    result = _together(found)
    if raw and shape.transport != "memory" and "batch" in found:
        result |= _raw(shape, result, say)
    return result | _peers(shape, forms, say, result.get("left_out", {})) if peers else result | {"peers": {}}


def _together(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The last form in full (the batch form, if it was measured), and beside it how fast the others are."""
    *beside, last = found
    result = dict(found[last])
    if last != "batch":
        del result["messages_per_second_per_receiver"]
    for form in found if last != "batch" else beside:
        result[f"{form}_form_messages_per_second_per_receiver"] = found[form]["messages_per_second_per_receiver"]
    result["cpu_us_per_message"] = {form: figures["cpu_us_per_message"] for form, figures in found.items()}
    result["complete"] = all(figures["complete"] for figures in found.values())
    result["retransmitted"] = sum(figures["retransmitted"] for figures in found.values())
    result["rss_megabytes_max"] = max(figures["rss_megabytes_max"] for figures in found.values())
    result["scheduling"] = "SCHED_BATCH" if os.sched_getscheduler(0) == os.SCHED_BATCH else "usual"
    result["python"] = f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}"
    return result


def schedule_in_batches() -> None:
    """Let who is awake finish its slice before somebody who just woke gets the core: bursts stay bursts.

    Needs no rights. Every process of the run inherits it: ours, the raw limit and pyzmq.
    """
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _raw(shape: Shape, result: dict[str, Any], say: Say) -> dict[str, Any]:
    from ringcast.bench.raw import Mode, beside_raw

    mode: Mode = "tcp" if shape.transport == "tcp" else "udp-multicast" if shape.ip_multicast else "udp-fanout"
    # Own copies never touch a socket, and the raw limit has none: what came from others is compared.
    others = result["megabytes_per_second_from_others"]
    return beside_raw(others, mode, members=shape.members, senders=shape.senders, seconds=shape.seconds, say=say)


def _peers(shape: Shape, forms: Sequence[str], say: Say, left_out: dict[str, str]) -> dict[str, Any]:
    from ringcast.bench.zmq_peers import lacks_pyzmq, measure_peers

    say("pyzmq PUB/SUB in the same shape")
    if lacking := lacks_pyzmq():
        say(f"left out: pyzmq: {lacking['pyzmq']}")
        return {"peers": {}, "left_out": left_out | lacking}
    rates = measure_peers(
        senders=shape.senders, members=shape.members, size=shape.size, seconds=shape.seconds, forms=forms
    )
    return {"peers": rates}
