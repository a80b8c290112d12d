"""Short lives of real nodes, with changed copies of their own frames thrown at them all the time."""

from __future__ import annotations

from random import Random

from ringcast.core import Drop
from ringcast.model import MS, SECOND, Address, Config, profile
from simulation.fuzzing.lies import lying
from simulation.fuzzing.mutation import mutated
from unit.core.membership.world import Proc, World

KEPT = 400  # frames of this life that may come again, changed


class FuzzedWorld(World):
    """Each frame that arrives is followed by `extra` changed ones, for anybody, until there were `most`."""

    def __init__(self, seed: int, extra: int, most: int, corpus: list[bytes]) -> None:
        super().__init__(seed)
        self.most = most
        self.fuzz = Random(f"fuzz {seed}")
        self.extra = extra
        self.corpus = corpus
        self.injected = 0
        self.taken = 0
        self.everybody = {Address("X", 1, "mem:X"): None}

    def _arrive(self, name: str, frame: bytes) -> None:
        if len(self.corpus) < KEPT:
            self.corpus.append(frame)
        else:
            self.corpus[self.fuzz.randrange(KEPT)] = frame
        super()._arrive(name, frame)
        if self.injected >= self.most:
            return
        for known in self.procs.values():
            self.everybody[known.address] = None
        names = list(self.procs)
        for _ in range(self.extra):
            proc = self.procs[self.fuzz.choice(names)]
            if not proc.alive:
                continue
            data = self.fuzz.choice(self.corpus)
            self.injected += 1
            if self.fuzz.random() < 0.5:
                decoded = proc.codec.decode(mutated(self.fuzz, data, self.corpus))
            else:
                decoded = lying(self.fuzz, proc.address, data, list(self.everybody))
            if isinstance(decoded, Drop):
                continue
            self.taken += 1
            proc.settle(proc.node.on_packet(self.now, *decoded))


def config() -> Config:
    return profile("test", capacity=16, stream_capacity=8)


def live(seed: int, extra: int, most: int, corpus: list[bytes]) -> FuzzedWorld:
    """Join with state, send in every way, split, merge, leave; whether it goes well is not the question."""
    world = FuzzedWorld(seed, extra, most, corpus)
    random = Random(f"life {seed}")
    for name in "ABC":
        world.start(name, config(), with_state=random.random() < 0.5, reunites=random.random() < 0.3)
        world.run_for(200 * MS)
    for _ in range(6):
        for proc in list(world.procs.values()):
            if proc.alive and proc.view is not None:
                act(world, proc, random)
        if random.random() < 0.3:
            cut = random.choice("ABC")
            world.blocked = lambda sender, receiver, cut=cut: (sender == cut) != (receiver == cut)  # type: ignore[misc]
        elif random.random() < 0.5:
            world.blocked = lambda sender, receiver: False
        world.run_for(int(random.uniform(0.1, 1.0) * SECOND))
    return world


def act(world: FuzzedWorld, proc: Proc, random: Random) -> None:
    node, others = proc.node, [m for m in proc.node.view.members if m != proc.address]
    choice = random.randrange(5)
    if choice == 0:
        world.send(proc.name, b"x" * random.choice((0, 1, 100, 5_000)), b"y")
    elif choice == 1 and others and node.may_send_to(others[:1], 10):
        proc.settle(node.send_to(world.now, others[:1], b"private"))
    elif choice == 2 and node.fit_in_order([3], None):
        proc.settle(node.queue(world.now, [b"all"], None)[1] + node.flush(world.now))
    elif choice == 3 and others and node.fit_in_order([4], others[:1]):
        proc.settle(node.queue(world.now, [b"some"], others[:1])[1] + node.flush(world.now))
    elif random.random() < 0.2:
        world.leave(proc.name)
