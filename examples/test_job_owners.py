"""Every job counts once: while members crash, stand still and are cut off, as seeds think of it.

pytest examples/test_job_owners.py --ringcast-seeds 5
"""

from collections.abc import Callable

from job_owners import JobOwners

from ringcast.testing import World

JOBS = [f"job{number}" for number in range(6)]


def check_that_every_job_counts_once(world: World) -> None:
    for key in JOBS:
        world.do("A", world.apps["A"].put(key))
    world.trouble(4, faults=5)
    world.agree()
    world.advance(3)
    world.settle()
    assert world.same(lambda queue: queue.counted) == dict.fromkeys(JOBS, 1)


def test_every_job_counts_once(ringcast_world: Callable[..., World]) -> None:
    check_that_every_job_counts_once(ringcast_world(JobOwners, members=4, partition="primary"))
