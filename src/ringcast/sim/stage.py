"""The commands of scenario files, on one simulated world.

    world A B C seed=1 capacity=5 loss=0.1 living   make it: config fields, link fields; `living` = with membership
    send A 10 size=100 to=B,C                       messages of A, to the group or to some
    queue A 10 size=100 to=B,C                      the same, in the one order
    catch A>B data 3 times=2                        lose the first packets of a kind, or with one seqno ('*' = any)
    fault loss 0.5 A B / end loss                   begin and end a fault (see faults.py)
    run 100ms / settle 10s / agree 10s              time passes: so long, until nothing waits, until all share a view
    crash A / start A / leave A / close A           processes come and go
    read / windows / views / drops / judge          what there is to see
    options, config, link, load, policy, planned, simulate  a whole run as drawn from a seed (see written.py)

What happens while time passes is told as in `story`, unless a command begins with `quietly`.
Times have a unit: ns, us, ms, s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partialmethod

from ringcast.checkers import judge
from ringcast.errors import RingcastError, UsageError
from ringcast.model import Address, Config, profile
from ringcast.sim.cluster import Cluster
from ringcast.sim.faults import Fault
from ringcast.sim.frames import FrameRule, drop
from ringcast.sim.network import Link
from ringcast.sim.options import Options
from ringcast.sim.planted import known, plant
from ringcast.sim.policies import Policy
from ringcast.sim.run import simulate
from ringcast.sim.story import tell
from ringcast.sim.units import as_ns, payload_of, runs_of
from ringcast.sim.workload import Load
from ringcast.sim.written import fault_of, fields_of, options_of

_FOREVER_NS = 1 << 62
_LINK_WORDS = tuple(spec.name.removesuffix("_ns") for spec in fields(Link))


class Stage:
    """One scenario's world, and what was already told of it."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._told: dict[Address, int] = {}  # how many events of each member were told
        self._sent: dict[str, int] = {}
        self._is_quiet = False
        self._options = Options(0)

    @property
    def cluster(self) -> Cluster:
        if self._cluster is None:
            raise UsageError("there is no world yet; begin with: world A B C")
        return self._cluster

    def act(self, command: str) -> Iterator[str]:
        """What a command says; a mistake in it is said too."""
        verb, *words = command.split()
        self._is_quiet = verb == "quietly"
        if self._is_quiet:
            verb, *words = words
        do: Callable[..., Iterator[str]] | None = getattr(self, f"do_{verb}", None)
        if do is None:
            yield f"error: unknown command {verb!r}"
            return
        plain = [word for word in words if "=" not in word]
        named = dict(word.split("=", 1) for word in words if "=" in word)
        try:
            yield from do(*plain, **named)
        except (RingcastError, ValueError, TypeError, KeyError, AssertionError) as error:
            yield f"error: {error}"

    # ---- the world

    def do_world(self, *words: str, seed: str = "0", multicasts: str = "no", **named: str) -> Iterator[str]:
        names = [word for word in words if word != "living"]
        link = {name: text for name, text in named.items() if name in _LINK_WORDS}
        config = {name: text for name, text in named.items() if name not in _LINK_WORDS}
        self._cluster = Cluster(
            names,
            seed=int(seed),
            config=profile("test", **fields_of(Config, config)),
            link=Link(**fields_of(Link, link)),
            multicasts=multicasts == "yes",
            fixed="living" not in words,
        )
        yield from self._story()

    def do_send(self, name: str, count: str = "1", size: str = "0", to: str = "") -> Iterator[str]:
        first = self._sent.get(name, 0) + 1
        self._sent[name] = last = first + int(count) - 1
        payloads = [payload_of(name, number, int(size)) for number in range(first, last + 1)]
        self.cluster.send(name, *payloads, to=to.split(",") if to else ())
        waiting = len(self.cluster.application(name).outbox)
        yield f"{name} sent {runs_of(list(range(first, last + 1 - min(waiting, int(count)))))}" + (
            f", {waiting} wait" if waiting else ""
        )

    def do_queue(self, name: str, count: str = "1", size: str = "0", to: str = "") -> Iterator[str]:
        first = self._sent.get(name, 0) + 1
        self._sent[name] = last = first + int(count) - 1
        for number in range(first, last + 1):
            self.cluster.queue(name, payload_of(name, number, int(size)), to=to.split(",") if to else None)
        yield f"{name} queued {runs_of(list(range(first, last + 1)))}"

    def do_catch(self, pair: str, kind: str, seqno: str = "", times: str = "1") -> Iterator[str]:
        sender, _, to = pair.partition(">")
        FrameRule(self.cluster.network, drop, kind, sender, to, int(times), int(seqno) if seqno else None)
        yield from ()

    def do_fault(self, kind: str, *words: str) -> Iterator[str]:
        amount = float(words[0]) if words and words[0][0] in "-.0123456789" else 0.0
        members = tuple(word for word in words if word in self.cluster.processes)
        self.cluster.faults.begin(Fault(kind, 0, _FOREVER_NS, members, amount))
        yield from self._story()

    def do_end(self, kind: str) -> Iterator[str]:
        for fault in [fault for fault in self.cluster.faults.active if fault.kind == kind]:
            self.cluster.faults.end(fault)
        yield from self._story()

    def do_heal(self, bound: str = "0s") -> Iterator[str]:
        self.cluster.heal(as_ns(bound))
        yield from self._story()

    def _on_cluster(self, verb: str, name: str) -> Iterator[str]:
        getattr(self.cluster, verb)(name)
        yield from self._story()

    do_crash = partialmethod(_on_cluster, "crash")
    do_start = partialmethod(_on_cluster, "start")
    do_leave = partialmethod(_on_cluster, "leave")
    do_close = partialmethod(_on_cluster, "close")

    # ---- time

    def do_run(self, duration: str) -> Iterator[str]:
        self.cluster.run_for(as_ns(duration))
        yield from self._story()

    def do_settle(self, limit: str = "10s") -> Iterator[str]:
        is_settled = self.cluster.run_until(self.cluster.is_settled, as_ns(limit))
        yield from self._story()
        yield "settled" if is_settled else f"not settled after {limit}"

    def do_agree(self, limit: str = "10s") -> Iterator[str]:
        is_agreed = self.cluster.run_until(self.cluster.share_a_view, as_ns(limit))
        yield from self._story()
        yield "one view" if is_agreed else f"no common view after {limit}"

    # ---- what there is to see

    def do_read(self, *names: str) -> Iterator[str]:
        for name in names or self.cluster.names:
            application = self.cluster.application(name)
            for what, read in (("from", application.multicasts), ("privately from", application.private)):
                for sender, payloads in read.items():
                    numbers = [int(payload.split(b":")[1]) for payload in payloads]
                    yield f"{name} read {what} {sender}: {runs_of(numbers)}"
            if application.ordered:
                yield f"{name} read in order: " + " ".join(
                    payload.decode().rstrip(":").replace(":", "") for _, payload in application.ordered
                )

    def do_windows(self, *names: str) -> Iterator[str]:
        for name in names or self.cluster.names:
            group = self.cluster[name].node.group
            sending = group.outgoing.window
            yield f"{name} sends [{sending.low}|{sending.high}]"
            for origin, incoming in group.incoming.items():
                window = incoming.window
                yield f"{name} of {origin} [{window.freed}|{window.handed}|{window.highest}]"

    def do_views(self) -> Iterator[str]:
        for member in self.cluster.alive():
            yield f"{member.address} {member.node.view if member.node.has_group else 'is in no group'}"

    def do_drops(self, *names: str) -> Iterator[str]:
        for name in names or self.cluster.names:
            for reason, count in sorted(self.cluster[name].driver.drops.items()):
                yield f"{name} dropped {count}: {reason}"
            if self.cluster.application(name).lost:
                yield f"{name} is lost: {self.cluster.application(name).lost}"

    def do_judge(self) -> Iterator[str]:
        self.cluster.end_all()
        judgement = judge(self.cluster.recordings())
        held = [name for name, finding in judgement.findings.items() if finding.verdict == "held"]
        yield f"{judgement.verdict}: {' '.join(held)}"
        for finding in judgement.findings.values():
            yield from (f"{violation.guarantee}: {violation.sentence}" for violation in finding.violations)

    # ---- a whole run

    def do_options(self, **named: str) -> Iterator[str]:
        self._options = Options(**options_of(named))
        yield from ()

    def do_config(self, **named: str) -> Iterator[str]:
        self._options = replace(self._options, config=profile("test", **fields_of(Config, named)))
        yield from ()

    def _option(self, name: str, kind: type[Link | Load | Policy], **named: str) -> Iterator[str]:
        self._options = replace(self._options, **{name: kind(**fields_of(kind, named))})  # type: ignore[arg-type]
        yield from ()

    do_link = partialmethod(_option, "link", Link)
    do_load = partialmethod(_option, "load", Load)
    do_policy = partialmethod(_option, "policy", Policy)

    def do_planned(self, *words: str, **named: str) -> Iterator[str]:
        self._options = replace(self._options, faults=(*self._options.faults, fault_of(list(words), named)))
        yield from ()

    def do_simulate(self, planted: str = "") -> Iterator[str]:
        """Run it, perhaps with a planted bug in it; say what failed, most telling first."""
        with plant(known(planted)) if planted else nullcontext():
            outcome = simulate(self._options)
        yield from outcome.sentences[:5] or ["good"]

    def _story(self) -> Iterator[str]:
        """What was not told yet."""
        recordings = self.cluster.recordings()
        lines = [line.strip() for line in tell(recordings, told=self._told)]
        self._told = {recording.member: recording.count for recording in recordings}
        return iter([] if self._is_quiet else lines)
