"""Frames of one session, in any order and again and again, against a set that remembers everything."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from ringcast.security import Key, Keyring, Seal, replay, seal

RING = Keyring((Key(b"k" * 32),))


@given(st.integers(0, 2**32), st.integers(1, 400))
def test_a_number_is_taken_once_and_refused_only_if_it_came_or_is_old(seed: int, steps: int) -> None:
    chance = random.Random(seed)
    sender, receiver = (Seal("g", RING, chance.randbytes) for _ in range(2))
    came: set[int] = set()
    for _ in range(steps):
        top = max(came, default=0)
        number = max(1, top + chance.choice((1, 1, 1, 0, -1, chance.randint(-2 * replay.SIZE, replay.SIZE))))
        assert sender._sending is not None
        sender._sending.numbers = itertools.count(number)
        opened = receiver.open(memoryview(sender.seal(b"")))
        if isinstance(opened, str):
            assert opened == seal.REPLAYED if number in came else number <= top - replay.SIZE, opened
        else:
            assert number not in came
            came.add(number)
