"""Test your own service against partitions: the same code that runs on a real Group, in the simulated world.

    from ringcast.testing import World

    with World(KeyValueStore, members=5, seed=7) as world:
        world.partition("AB")
        world.do("A", world.apps["A"].put("x", "1"))
        world.heal()
        world.settle()
        assert world.same(lambda app: app.data) == {"x": "1"}

Real Groups, driven by the real driver, on a clock and a network that are simulated: nothing waits for real, a seed
replays bit for bit, and at the end the guarantees G1 to G18 are judged. docs/testing-your-service.md is the guide;
`ringcast_world` is the same as a pytest fixture.
"""

from ringcast.sim import (
    FRAME_KINDS,
    App,
    Broke,
    Diverged,
    FrameRule,
    Link,
    Process,
    Unsettled,
    Violated,
    VirtualLoop,
    WorldFailed,
)
from ringcast.testing.world import World

__all__ = [
    "FRAME_KINDS",
    "App",
    "Broke",
    "Diverged",
    "FrameRule",
    "Link",
    "Process",
    "Unsettled",
    "Violated",
    "VirtualLoop",
    "World",
    "WorldFailed",
]
