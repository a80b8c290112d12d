"""The store against a partition, in ten lines; and against whatever a seed thinks of.

pytest examples/test_replicated_store.py --ringcast-seeds 20
"""

from collections.abc import Callable

from replicated_store import Store

from ringcast.testing import World


def test_both_sides_of_a_partition_end_with_the_same_data(ringcast_world: Callable[..., World]) -> None:
    world = ringcast_world(Store, members=5)
    world.partition("AB")  # from now on A and B hear nothing of C, D and E
    world.advance(5)
    world.do("A", world.apps["A"].put("colour", "green"))
    world.do("C", world.apps["C"].put("size", "large"))
    world.heal()
    world.settle()
    assert world.same(Store.values) == {"colour": "green", "size": "large"}


def test_whatever_goes_wrong_everybody_ends_with_the_same_data(ringcast_world: Callable[..., World]) -> None:
    world = ringcast_world(Store, members=4)
    for number in range(3):
        for name, app in world.apps.items():
            world.spawn(name, app.put("last", f"{name}{number}"))
        world.trouble(3, faults=4)
        world.settle()
        world.same(Store.values)
