"""Whatever views the members have, whatever happens meanwhile: left alone they end in one view (G14 for the merge).

Real components in the small world of the unit tests; the checkers G6, G7 and G8 look at everything that was traced.
"""

from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ringcast.model import SECOND, View, ViewId
from unit.core.merge.world import World, member


def with_any_views(seed: int) -> World:
    """Up to six members holding any of up to four views; one id has one content, and a creator is not behind it."""
    chance = Random(seed)
    names = "ABCDEF"[: chance.randint(2, 6)]
    world = World(" ".join(f"{name}:{name}" for name in names), seed)
    views = []
    for place in range(chance.randint(1, 4)):
        chosen = chance.sample(names, chance.randint(1, len(names)))
        view_id = ViewId(chance.randint(1, 6) * 10 + place, member(chance.choice(chosen)))
        views.append(View(view_id, tuple(map(member, chosen))))
    for name, peer in world.peers.items():
        held = [view for view in views if member(name) in view]
        if held:
            peer.begin_in(chance.choice(held))
    return world


def is_possible(world: World) -> bool:
    return all(world[peer.view.id.creator.name].view.id >= peer.view.id for peer in world.living)


def suspect_until_gone(world: World, name: str) -> None:
    for peer in world.living:

        def again(peer=peer) -> None:  # type: ignore[no-untyped-def]
            if member(name) in peer.view:
                peer.suspect(member(name))
                world.after(1 * SECOND, peer, again)

        world.after(4 * SECOND, peer, again)


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), st.sampled_from(["quiet", "crash", "cut", "loss"]))
def test_any_views_end_in_one(seed: int, trouble: str) -> None:
    world = with_any_views(seed)
    assume(is_possible(world))
    chance = Random(f"{seed}/trouble")
    names = list(world.peers)
    if trouble == "crash":
        world.run(1.5 * chance.random())
        victim = chance.choice(names)
        world.crash(victim)
        suspect_until_gone(world, victim)
    elif trouble == "cut":
        side = {name: chance.random() < 0.5 for name in names}
        world.is_cut = lambda sender, to: side[sender] != side[to]
        world.run(3 * chance.random())
        world.is_cut = lambda sender, to: False
    elif trouble == "loss":
        part = 0.3 * chance.random()
        world.is_cut = lambda sender, to: world.now_ns < 8 * SECOND and chance.random() < part
    world.run_until_one(60)
