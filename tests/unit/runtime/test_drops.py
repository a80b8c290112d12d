"""Drops are counted by reason, within bounds."""

from ringcast.runtime.drops import MOST_CHARACTERS, MOST_REASONS, OTHER, Drops


def test_a_reason_is_counted_as_often_as_it_comes() -> None:
    drops = Drops()
    drops.add("too old")
    drops.add("too old", 2)
    drops.add("too large")
    assert drops == {"too old": 3, "too large": 1}


def test_what_peers_can_make_us_remember_is_bounded() -> None:
    drops = Drops()
    for number in range(2 * MOST_REASONS):
        drops.add(f"the number {number}" + "x" * 1_000)
    drops.add("the number 0" + "x" * 1_000)
    assert len(drops) == MOST_REASONS + 1 and max(map(len, drops)) == MOST_CHARACTERS
    assert drops[OTHER] == MOST_REASONS and sum(drops.values()) == 2 * MOST_REASONS + 1
