"""One member as a process, told what to do by JSON lines on standard input; answers go to standard output.

Each command `{"id": n, "do": name, …}` gets one answer when it is done: `{"id": n, …}` or `{"id": n, "error": …}`.
Commands run side by side, so a member can be asked why its send waits while it waits. Ends when its input ends.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any

import msgspec

from ringcast.errors import RingcastError
from ringcast.lab.interleaving import Interleaving
from ringcast.lab.load import Load
from ringcast.lab.ordered_load import OrderedLoad
from ringcast.lab.pattern import CYCLE, Pattern
from ringcast.lab.ping import Pinger, percentiles_us
from ringcast.lab.states import History, Holder, holder_of
from ringcast.lab.subsets import Subsets
from ringcast.lab.tally import END, Tally
from ringcast.lab.transports import make_transport
from ringcast.model import Batch, Config, Notice, Rejoin, StatesApart, ViewChange, profile
from ringcast.runtime import Group, join, open_fixed
from ringcast.transport import Endpoint, Transport

Answer = dict[str, Any]
CHUNK_BYTES = 1 << 20  # given to the group at once


class PuppetProcess:
    """The member, its group and what it has received."""

    def __init__(self) -> None:
        self.group: Group | None = None
        self.transport: Transport | None = None
        self.tally = Tally()
        self.interleaving = Interleaving()
        self.pinger: Pinger | None = None
        self.load: Load | OrderedLoad | None = None
        self.rejoins: list[Answer] = []
        self.apart: list[str] = []  # why states did not become one
        self.holder: Holder | None = None
        self._sent = 0
        self._reading = asyncio.Event()
        self._reading.set()
        self._changed = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None

    # ---- commands

    async def open(self, order: Answer) -> Answer:
        """With `members`: a place in a fixed group. Without: join by `seeds`, as `me`, at `bind`."""
        config = profile(order.get("profile", "local"), **order.get("config", {}))
        if "members" in order:
            self.transport = make_transport(order, order["members"][order["me"]], config)
            opening = open_fixed(
                order["group"],
                order["me"],
                order["members"],
                transport=self.transport,
                config=config,
                record=order.get("record"),
                key=order.get("key"),
                unencrypted=order.get("key") is None,
            )
        else:
            self.transport = make_transport(order, order["bind"], config)
            opening = self._join(order, config)
        self.group = await opening
        if order.get("inspect", False):
            await self.group.inspect()
        self.subsets = Subsets(self.group)
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(_end_with)
        return {"me": list(self.group.me), "receive_buffer": self.transport.receive_buffer}

    async def _join(self, order: Answer, config: Config) -> Group:
        assert self.transport is not None
        self.holder = holder_of(order["state"]) if "state" in order else None
        return await join(
            order["group"],
            name=order["me"],
            seeds=order.get("seeds", ()),
            transport=self.transport,
            config=config,
            expect=order.get("expect", 0),
            observer=order.get("observer", False),
            record=order.get("record"),
            inspect=False,
            timeout=order.get("timeout", 60.0),
            on_exclusion=order.get("on_exclusion", "merge"),
            get_state=None if self.holder is None else self.holder.get_state,
            set_state=None if self.holder is None else self.holder.set_state,
            merge_state=self.holder.merge_state if isinstance(self.holder, History) else None,
            partition=order.get("partition", "all"),
            found=order.get("found", True),
            primary_mark=order.get("primary_mark"),
            quorum=order.get("quorum", 0),
            key=order.get("key"),
            unencrypted=order.get("key") is None,
        )

    async def reload_keys(self, order: Answer) -> Answer:
        return {"keys": self._group().reload_keys()}

    async def leave(self, order: Answer) -> Answer:
        await self._group().leave()
        return {}

    async def until_view(self, order: Answer) -> Answer:
        """Wait until the view has exactly these members (names); with `primary`: and is primary."""
        wanted = sorted(order["names"])

        def is_here() -> bool:
            view = self._group().view
            is_wanted = view.is_primary or not order.get("primary", False)
            return is_wanted and sorted(member.name for member in view.members) == wanted

        async with self._changed:
            await self._changed.wait_for(is_here)
        return {"view": str(self._group().view.id), "coordinator": str(self._group().coordinator)}

    async def send(self, order: Answer) -> Answer:
        """`count` messages, or as many as go in `seconds` (at most `rate` a second); ends with a marker and a flush."""
        group, size = self._group(), order["size"]
        pattern = Pattern(group.me.name, size)
        started, cpu = time.monotonic(), time.process_time()
        limit = order.get("count", 1 << 62)
        until = started + order.get("seconds", 3600.0)
        sent = 0
        batch = order.get("form", "batch") == "batch"
        in_order = order.get("in_order", False)
        send, send_many = (group.queue, group.queue_many) if in_order else (group.send, group.send_many)
        chunk = min(max(1, CHUNK_BYTES // size), 2048 if batch else 256, order.get("chunk", CYCLE))
        pace = order.get("rate")
        while sent < limit and time.monotonic() < until:
            payloads = pattern.run(self._sent, min(chunk, limit - sent))
            if batch:
                await send_many(payloads)
            else:
                for payload in payloads:
                    await send(payload)
            sent += len(payloads)
            self._sent += len(payloads)
            if pace is not None:
                await asyncio.sleep(max(0.0, started + sent / pace - time.monotonic()))
        await send(END)
        if order.get("flush", True):
            await group.flush(order.get("timeout", 60.0))
        return {"sent": sent, "seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - cpu}

    async def start_load(self, order: Answer) -> Answer:
        """Send `rate` messages a second until `stop_load`; this answers when that has come."""
        kind = OrderedLoad if order.get("in_order", False) else Load
        self.load = kind(self._group(), self._sent, order["size"], order["rate"], order.get("chunk", 50))
        answer = await self.load.run()
        self._sent += answer["sent"]
        return answer

    async def stop_load(self, order: Answer) -> Answer:
        if self.load is not None:
            self.load.stop()
        return {}

    async def stall(self, order: Answer) -> Answer:
        """Block the event loop, as an application does that computes in it."""
        time.sleep(order["seconds"])  # noqa: ASYNC251  that is the point
        return {}

    async def state(self, order: Answer) -> Answer:
        """What the application holds, in figures that can be compared."""
        return {} if self.holder is None else self.holder.summary()

    async def history(self, order: Answer) -> Answer:
        """Every view, every loss of place and every state that stayed apart, as the application saw them."""
        views, me = self.tally.views, str(self._group().me)
        return {"me": me, "views": views, "rejoins": self.rejoins, "apart": self.apart}

    async def until_rejoined(self, order: Answer) -> Answer:
        """Wait until this member lost its place so many times, and is in a view again."""

        def is_back() -> bool:
            return len(self.rejoins) >= order.get("times", 1) and self._group().me in self._group().view

        async with self._changed:
            await self._changed.wait_for(is_back)
        return await self.history(order)

    async def until_ends(self, order: Answer) -> Answer:
        """Wait until the end markers of these senders (name -> how many in all) have come; or another view than `view`.

        `complete` says whether all have come.
        """
        wanted: dict[str, int] = order["ends"]

        def all_here() -> bool:
            got = self.tally.by_sender
            return all(name in got and got[name].ends >= count for name, count in wanted.items())

        def is_over() -> bool:
            return all_here() or str(self._group().view.id) != order.get("view", str(self._group().view.id))

        async with self._changed:
            await self._changed.wait_for(is_over)
        return {**await self.report(order), "complete": all_here()}

    async def report(self, order: Answer) -> Answer:
        group, transport = self._group(), self.transport
        assert transport is not None
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "received": self.tally.to_json(),
            "interleaving": self.interleaving.digest(),
            "sent": self._sent,
            "view": [str(member) for member in group.members],
            "view_id": str(group.view.id),
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "page_faults": usage.ru_minflt,
            "user_seconds": usage.ru_utime,
            "rss_megabytes": usage.ru_maxrss / 1024,
            "rss_now_megabytes": _rss_now(),
            "counters": transport.counters.as_dict(),
            "overflows": transport.overflows,
            "drops": group.drops,
            "retransmitted": group.retransmitted,
        }

    async def reset(self, order: Answer) -> Answer:
        """Forget what was received; a new measurement begins."""
        for seen in self.tally.by_sender.values():
            seen.messages = seen.nbytes = seen.first_ns = seen.last_ns = seen.ends = 0
        gc.collect()
        return {}

    async def listen(self, order: Answer) -> Answer:
        """Answer pings from now on."""
        self.pinger = Pinger(self._group(), order.get("private", False))
        return {}

    async def ping(self, order: Answer) -> Answer:
        await self.listen(order)
        assert self.pinger is not None
        if order.get("closed_loop", False):
            await self.pinger.ping_in_turn(order["seconds"], order["size"])
        else:
            await self.pinger.ping(order["rate"], order["seconds"], order["size"])
        return percentiles_us(self.pinger.round_trips_ns)

    async def order_subsets(self, order: Answer) -> Answer:
        """Send `count` messages to random subsets in one order; then read everything that was finished by then."""
        group = self._group()
        await self.subsets.send(order["count"], order["seed"])
        await group.barrier()
        return {}

    async def ordered(self, order: Answer) -> Answer:
        """What was read of them, after everything that was finished anywhere before now."""
        await self._group().barrier()
        return {"read": self.subsets.read}

    async def time_places(self, order: Answer) -> Answer:
        """How long `count` ordered sends take, one after the other, until each has its place."""
        group, taken = self._group(), []
        for _ in range(order["count"]):
            started = time.monotonic_ns()
            await (await group.queue(b"*" * order["size"]))
            taken.append(time.monotonic_ns() - started)
        return percentiles_us(taken)

    async def barrier(self, order: Answer) -> Answer:
        return {"stamp": await self._group().barrier()}

    async def explain(self, order: Answer) -> Answer:
        group = self._group()
        return {"text": group.explain(), "waiting": [asdict(wait) for wait in group.waiting()]}

    async def status(self, order: Answer) -> Answer:
        return dict(self._group().status())

    async def pause(self, order: Answer) -> Answer:
        self._reading.clear()
        return {}

    async def resume(self, order: Answer) -> Answer:
        self._reading.set()
        return {}

    async def block(self, order: Answer) -> Answer:
        assert self.transport is not None
        self.transport.block([Endpoint.parse(at) for at in order["endpoints"]])
        return {}

    async def unblock(self, order: Answer) -> Answer:
        assert self.transport is not None
        self.transport.unblock()
        return {}

    async def close(self, order: Answer) -> Answer:
        await self._group().close()
        return {}

    def _group(self) -> Group:
        if self.group is None:
            raise RingcastError("no group is open in this process")
        return self.group

    # ---- reading

    async def _read(self) -> None:
        async for event in self._group().batches():
            if not self._reading.is_set():
                await self._reading.wait()
            if type(event) is not Batch:
                self._note(event)
                async with self._changed:
                    self._changed.notify_all()
                continue
            if self.subsets.concerns(event):
                self.subsets.take(event)
                continue
            if self.pinger is not None and self.pinger.concerns(event):
                await self.pinger.take(event)
                continue
            if self.holder is not None:
                self.holder.take(event)
            ended = event.payloads[-1].startswith(END)
            self.tally.take(event)
            self.interleaving.take(event)
            if ended:
                async with self._changed:
                    self._changed.notify_all()

    def _note(self, event: Batch | Notice) -> None:
        if isinstance(event, ViewChange):
            self.tally.on_view(event.view)
        elif isinstance(event, Rejoin):
            self.tally.on_rejoin()
            self.rejoins.append({"was": str(event.was), "why": event.why})
        elif isinstance(event, StatesApart):
            self.apart.append(event.why)

    # ---- the line

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReader(limit=1 << 20)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        running: dict[asyncio.Task[None], None] = {}
        while line := await lines.readline():
            task = asyncio.create_task(self._answer(msgspec.json.decode(line)))
            running[task] = None
            task.add_done_callback(lambda done: running.pop(done))
        for task in list(running):
            task.cancel()
        if self.group is not None:
            await self.group.close()

    async def _answer(self, order: Answer) -> None:
        command: Callable[[Answer], Awaitable[Answer]] | None = getattr(self, order["do"], None)
        try:
            if command is None:
                raise RingcastError(f"unknown command {order['do']!r}")
            answer = await command(order)
        except RingcastError as error:
            answer = {"error": str(error), "type": type(error).__name__}
        except Exception as error:  # a bug: whoever asked hears of it at once, instead of waiting for its limit
            traceback.print_exception(error)
            answer = {"error": f"{type(error).__name__}: {error}", "type": type(error).__name__}
        sys.stdout.buffer.write(msgspec.json.encode({"id": order["id"], **answer}) + b"\n")
        sys.stdout.buffer.flush()


def _end_with(reading: asyncio.Task[None]) -> None:
    """A member that can no longer read is of no use: end the process, so that the stage hears of it."""
    if not reading.cancelled() and reading.exception() is not None:
        traceback.print_exception(reading.exception())
        os._exit(1)


def _rss_now() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def run(loop: str) -> None:
    """On asyncio's own event loop, or on uvloop."""
    if loop == "uvloop":
        import_module("uvloop").run(PuppetProcess().serve())
    else:
        asyncio.run(PuppetProcess().serve())


if __name__ == "__main__":
    run(*sys.argv[1:2] or ["asyncio"])
