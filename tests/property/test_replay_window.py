"""The replay window against a set that remembers everything."""

import random

from hypothesis import given
from hypothesis import strategies as st

from ringcast.security import ReplayWindow, replay


@given(st.integers(0, 2**32), st.integers(1, 400))
def test_a_number_is_new_exactly_once_within_the_window(seed: int, steps: int) -> None:
    chance, window = random.Random(seed), ReplayWindow()
    came: set[int] = set()
    for _ in range(steps):
        top = max(came, default=0)
        number = max(1, top + chance.choice((1, 1, 1, 0, -1, chance.randint(-2 * replay.SIZE, replay.SIZE))))
        if number <= top - replay.SIZE:
            assert window.is_too_old(number)
            continue
        assert not window.is_too_old(number)
        assert window.has_come(number) is (number in came)
        window.note(number)
        came.add(number)
        assert window.highest == max(came)
