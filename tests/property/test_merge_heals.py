"""Whatever views the members have, whatever happens meanwhile: left alone they end in one view (G14 for the merge).

Real groups; all checkers look at everything that was recorded.
"""

from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ringcast.model import SECOND, View, ViewId, profile
from simulation.members import Members, address_of, holding


def any_views(seed: int) -> dict[str, View]:
    """Up to six members holding any of up to four views; one id has one content."""
    chance = Random(seed)
    names = "ABCDEF"[: chance.randint(2, 6)]
    views = []
    for place in range(chance.randint(1, 4)):
        chosen = chance.sample(names, chance.randint(1, len(names)))
        view_id = ViewId(chance.randint(1, 6) * 10 + place, address_of(chance.choice(chosen)))
        views.append(View(view_id, tuple(map(address_of, chosen))))
    alone = {name: View(ViewId(number, address_of(name)), (address_of(name),)) for number, name in enumerate(names, 1)}
    mine = {name: [view for view in views if address_of(name) in view] or [alone[name]] for name in names}
    return {name: chance.choice(choices) for name, choices in mine.items()}


def is_possible(views: dict[str, View]) -> bool:
    """Who made a view is not behind it."""
    return all(views[view.id.creator.name].id >= view.id for view in views.values())


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), st.sampled_from(["quiet", "crash", "cut", "loss"]))
def test_any_views_end_in_one(seed: int, trouble: str) -> None:
    views = any_views(seed)
    assume(is_possible(views))
    world = holding(views, seed, profile("lan"))
    chance = Random(f"{seed}/trouble")
    if trouble == "crash":
        world.run_for(int(1.5 * chance.random() * SECOND))
        world.crash(chance.choice(world.names))
    elif trouble == "cut":
        world.cut("".join(name for name in world.names if chance.random() < 0.5), "others")
        world.run_for(int(3 * chance.random() * SECOND))
        world.mend()
    elif trouble == "loss":
        world.fault("loss", amount=0.3 * chance.random())
        world.clock.after(8 * SECOND, world.mend)
    assert become_one(world)
    assert world.verdict() == []


def become_one(world: Members) -> bool:
    return world.run_until(world.share_a_view, 60 * SECOND, SECOND // 100)
