"""Keys of a simulated world: every frame is sealed, and the key is changed while the world lives, all from the seed.

Each machine has a key file of its own. A change has three steps (add, primary, retire); a step reaches the machines one
after the other, at drawn moments, and the next one begins when all have it. A process that starts reads its machine's
file as it then is.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from ringcast.runtime import GroupKeys
from ringcast.security import Key, Keyring, Seal
from ringcast.wire import Onlooker

if TYPE_CHECKING:
    from ringcast.sim.world import SimulatedWorld

Plan = list[tuple[int, str, Keyring]]
"""When, at which machine, which file."""


class SimulatedKeys:
    """`changes`: how often the key is changed until `until_ns`."""

    def __init__(self, world: SimulatedWorld, names: Sequence[str], changes: int, until_ns: int) -> None:
        self._world = world
        self._random = Random(f"{world.seed}/keys")
        self._starts = 0
        first = Keyring((self._new_key(),))
        self._files = dict.fromkeys(names, first)
        self.changed = 0
        every = [first.primary]
        for at_ns, name, keyring in self._plan(first, names, changes, until_ns):
            every += [key for key in keyring.keys if key not in every]
            world.clock.at(at_ns, self._copy, name, keyring)
        self._see_through(Seal(world.group, Keyring(tuple(every)), self._random.randbytes))

    def for_process(self, name: str) -> GroupKeys:
        """Of a process that starts now."""
        self._starts += 1
        salts = Random(f"{self._world.seed}/{name}/salt/{self._starts}")
        file = self._files.setdefault(name, next(iter(self._files.values())))  # a new machine: copied from another
        return GroupKeys(self._world.group, file, salts.randbytes)

    def _new_key(self) -> Key:
        return Key(self._random.randbytes(32))

    def _plan(self, keyring: Keyring, names: Sequence[str], changes: int, until_ns: int) -> Plan:
        plan: Plan = []
        step_ns = until_ns // (3 * changes + 1)
        begin_ns = 0
        for _ in range(changes):
            old, new = keyring.primary, self._new_key()
            added = keyring.with_added(new)
            keyring = added.with_primary(new.name).with_retired(old.name)
            for step in (added, added.with_primary(new.name), keyring):
                begin_ns += step_ns
                plan += [(begin_ns + self._random.randrange(step_ns), name, step) for name in names]
        return plan

    def _copy(self, name: str, keyring: Keyring) -> None:
        self._files[name] = keyring
        self.changed += 1
        keys = self._world[name].keys if self._world.is_alive(name) else None
        if keys is not None:
            keys.reload(keyring)

    def _see_through(self, seal: Seal) -> None:
        """Faults and tests that look for certain packets still find them."""
        onlooker = Onlooker(self._world.group)

        def packet_of(frame: bytes) -> object:
            clear = seal.peek(frame)
            return None if clear is None else onlooker.packet_of(clear)

        self._world.network.packet_of = packet_of  # type: ignore[assignment]
