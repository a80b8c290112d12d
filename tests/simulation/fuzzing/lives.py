"""Short lives of real groups, with changed copies of their own frames thrown at them all the time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from random import Random

from ringcast.core import Drop
from ringcast.errors import RingcastError
from ringcast.model import MS, SECOND, Address, profile
from ringcast.sim import Application, Cluster, FrameRule, Process
from ringcast.wire import Codec
from simulation.fuzzing.lies import lying
from simulation.fuzzing.mutation import mutated
from simulation.members import Members

KEPT = 400  # frames of this life that may come again, changed


class FuzzedWorld(Members):
    """Each frame that is sent is followed by `extra` changed ones, for anybody, until there were `most`."""

    def __init__(self, seed: int, extra: int, most: int, corpus: list[bytes]) -> None:
        self.fuzz = Random(f"fuzz {seed}")
        programs = [Application, Stateful, Merging]
        self._program = self.fuzz.choice(programs)
        super().__init__(seed, config=profile("test", capacity=16, stream_capacity=8), make_app=self._make)
        self.most = most
        self.extra = extra
        self.corpus = corpus
        self.injected = 0
        self.taken = 0  # of these so many can be read
        self.senders = {Address("X", 1, "mem:X"): None}
        FrameRule(self.network, self._pass_on, "*", "*", "*")

    def _make(self, cluster: Cluster, name: str) -> Application:
        return self._program(cluster.random(name, "reading"))

    def ended(self, process: Process, error: BaseException | None) -> None:
        """Lies may end a process, if it is told so with an error of ringcast's own."""
        if not isinstance(error, RingcastError):
            super().ended(process, error)

    def _pass_on(self, rule: FrameRule, sender: str, to: str, frame: bytes) -> None:
        if len(self.corpus) < KEPT:
            self.corpus.append(frame)
        else:
            self.corpus[self.fuzz.randrange(KEPT)] = frame
        self.network.release(sender, to, frame)
        if self.injected < self.most:
            self.senders |= dict.fromkeys(process.address for process in self.alive() if process.has_begun)
            for _ in range(self.extra):
                self._inject(sender)

    def _inject(self, sender: str) -> None:
        to = self[self.fuzz.choice(self.names)]
        if to.is_over or not to.has_begun:
            return
        data = self.fuzz.choice(self.corpus)
        self.injected += 1
        if self.fuzz.random() < 0.5:
            changed = mutated(self.fuzz, data, self.corpus)
        else:
            changed = lying(self.fuzz, to.address, data, list(self.senders))
        self.taken += not isinstance(Codec("g", to.address).decode(changed), Drop)
        self.network.release(sender, to.name, changed)


class Stateful(Application):
    def get_state(self) -> bytes:
        return b"state" * 500

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        async for _ in chunks:
            pass


class Merging(Stateful):
    def merge_state(self, sides: Mapping[tuple[Address, ...], bytes]) -> bytes:
        return b"".join(sides.values())[:5_000]


def live(seed: int, extra: int, most: int, corpus: list[bytes]) -> FuzzedWorld:
    """Join, perhaps with state, send in every way, split, merge, leave; whether it goes well is not the question."""
    world = FuzzedWorld(seed, extra, most, corpus)
    random = Random(f"life {seed}")
    for name in "ABC":
        world.start(name)
        world.run_for(200 * MS)
    for _ in range(6):
        for process in list(world.alive()):
            if process.group is not None:
                act(world, process.name, random)
        if random.random() < 0.3:
            world.cut(random.choice("ABC"), "others")
        elif random.random() < 0.5:
            world.mend()
        world.run_for(int(random.uniform(0.1, 1.0) * SECOND))
    world.end_all()
    return world


def act(world: FuzzedWorld, name: str, random: Random) -> None:
    others = [process.name for process in world.alive() if process.name != name and process.has_begun]
    choice = random.randrange(5)
    if choice == 0:
        world.send(name, b"x" * random.choice((0, 1, 100, 5_000)), b"y")
    elif choice == 1 and others:
        world.send(name, b"private", to=others[:1])
    elif choice == 2:
        world.queue(name, b"all")
    elif choice == 3 and others:
        world.queue(name, b"some", to=others[:1])
    elif random.random() < 0.2:
        world.leave(name)
