"""G18 is broken in each way it can be, and found each time; in told stories and in a world whose code is spoiled."""

import asyncio
from typing import Any

import pytest

from ringcast.checkers import Finding, judge
from ringcast.core import Node, ProvideState
from ringcast.model import Kind
from ringcast.runtime.state import StateExchange
from ringcast.testing import Violated, World
from ringcast.trace.story import Story, addresses
from unit.testing.stores import Words

IN_STATE = {"why": "it is part of the state", "told": "state"}


class Tale(Story):
    """`a` and `b` are a group, and `b` gives its state to `j`, which joins with view 2."""

    def handed(self, member: str, sender: str, first: int, count: int = 1, **fields: Any) -> "Tale":
        self.event(member, Kind.HANDED, sender, first=first, count=count, view=None, **fields)
        return self

    def read(self, member: str, sender: str, first: int, count: int = 1) -> "Tale":
        self.deliver(member, sender, first, count)
        return self.handed(member, sender, first, count)

    def state(
        self, member: str, peer: str, step: str, digest: str = "d1", purpose: str = "join", nbytes: int = 9
    ) -> "Tale":
        detail = {"step": step, "purpose": purpose} | ({} if step == "cut" else {"digest": digest})
        self.event(member, Kind.STATE, peer, value=0 if step == "cut" else nbytes, detail=detail)
        return self

    def begin(self) -> "Tale":
        self.view("ab", at="ab")
        self.read("b", "a", 1, 10)
        return self

    def joined(self) -> "Tale":
        self.view("abj", 2)
        self.offset("j", "a", 10, "join")
        return self


def find(story: Story, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings["G18"]


def sentence(story: Story) -> str:
    finding = find(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def whole() -> Tale:
    return Tale("abj").begin().joined().state("b", "j", "cut").state("b", "j", "given").state("j", "b", "loaded")


def test_a_state_cut_at_the_view_and_followed_by_what_is_behind_it_is_held() -> None:
    finding = find(whole().read("j", "a", 11, 2))
    assert (finding.verdict, finding.examined) == ("held", 3)


def test_items_that_are_not_for_the_application_do_not_count() -> None:
    story = Tale("abj").begin().deliver("b", "a", 11, 2).taken("b", "a", 11, 2, value=1)
    story.view("abj", 2).offset("j", "a", 12, "join")
    story.deliver("b", "a", 13, 1).taken("b", "a", 13, 1, value=1)
    assert isinstance(story, Tale)
    assert find(story.state("b", "j", "cut").state("b", "j", "given").state("j", "b", "loaded")).verdict == "held"


def test_a_state_cut_too_late_is_found() -> None:
    story = Tale("abj").begin().joined().read("b", "a", 11).state("b", "j", "cut")
    assert "had been given up to 11 of a#1, and the cut of a#1|2 is at 10" in sentence(story)


def test_a_state_cut_too_early_is_found() -> None:
    story = Tale("abj").begin().deliver("b", "a", 11, 3)
    assert isinstance(story, Tale)
    assert "up to 10 of a#1, and the cut of a#1|2 is at 13" in sentence(story.joined().state("b", "j", "cut"))


def test_an_ordered_message_that_is_not_in_the_state_is_found() -> None:
    story = Tale("abj").begin().event("b", Kind.DEQUEUE, "a", first=1, count=2, value=5)
    assert isinstance(story, Tale)
    assert "up to 0 of a#1" in sentence(story.joined().state("b", "j", "cut"))


def test_other_bytes_are_found() -> None:
    story = Tale("abj").begin().joined().state("b", "j", "cut").state("b", "j", "given")
    assert "j#1 got another state of b#1 at a#1|2" in sentence(story.state("j", "b", "loaded", digest="d2"))


def test_half_a_state_is_found_and_is_unknown_if_the_giver_was_cut_off() -> None:
    story = Tale("abj").begin().joined().state("b", "j", "cut").state("j", "b", "loaded")
    assert find(story, cut="b").verdict == "unjudged"
    story = Tale("abj").begin().joined().state("b", "j", "cut").state("j", "b", "loaded")
    assert "j#1 holds a state of a#1|2 that b#1 never gave whole" in sentence(story)


def test_a_message_before_the_state_is_found() -> None:
    story = Tale("abj").begin().joined().state("b", "j", "cut").state("b", "j", "given")
    assert "j#1 was handed messages of a#1 before" in sentence(story.read("j", "a", 11).state("j", "b", "loaded"))


def test_a_message_that_is_in_the_state_too_is_found() -> None:
    """Another provider began at a later view, and what was delivered before it is handed over all the same."""
    story = Tale("abj").begin().joined().deliver("j", "a", 11, 2).deliver("b", "a", 11, 2)
    assert isinstance(story, Tale)
    story.handed("b", "a", 11, 2).view("bj", 3)
    story.state("b", "j", "cut").state("b", "j", "given").state("j", "b", "loaded").handed("j", "a", 11, 2)
    assert "j#1 was handed 11 of a#1, which is in the state" in sentence(story)


@pytest.mark.parametrize("spooled", [False, True])
def test_a_message_thrown_away_that_is_not_in_the_state_is_found(spooled: bool) -> None:
    story = Tale("abj").begin().joined().state("b", "j", "cut").state("b", "j", "given").deliver("j", "a", 11, 2)
    if spooled:
        story.event("j", Kind.SPOOLED, "a", first=11, count=2, view=None).event("j", Kind.UNREAD, detail=IN_STATE)
    else:
        story.event("j", Kind.UNREAD, "a", first=11, count=2, view=None, detail=IN_STATE)
    assert isinstance(story, Tale)
    assert "j#1 threw away 11 of a#1" in sentence(story.state("j", "b", "loaded"))


def merged(digest: str, together: bool) -> Tale:
    story = Tale("abc")
    story.view("abc", 5, subgroups=[addresses("a"), addresses("bc")])
    story.state("a", "a", "merged", purpose="merge").state("a", "a", "loaded", purpose="merge")
    for member in "bc":
        story.state("a", member, "given", purpose="merge" if member == "b" else "x")
    story.state("b", "a", "loaded", purpose="merge")
    story.state("c", "c", "loaded", digest, purpose="merge")
    if not together:
        story.view("c", 6, creator="c")
    return story


def test_one_merged_state_is_held_and_two_are_found_among_those_who_go_on_together() -> None:
    assert find(merged("d1", together=True)).verdict == "held"
    assert find(merged("d2", together=False)).verdict == "held"
    assert "behind a#1|5 there is more than one merged state" in sentence(merged("d2", together=True))


# ---- in a world


def join_under_load() -> World:
    with World(Words, 3, seed=7) as world:
        for number in range(20):
            world.do("A", world.apps["A"].say(f"a{number}"))
        world.crash("C")
        world.advance(2)
        world.start("C")
        for number in range(20):
            world.do("B", world.apps["B"].say(f"b{number}"))
        world.settle()
        assert len(world.same(lambda app: app.words)) == 40
    return world


def test_a_world_with_state_is_examined() -> None:
    finding = judge(join_under_load().recordings()).findings["G18"]
    assert finding.verdict == "held" and finding.examined >= 6, finding


def test_a_chunk_that_is_changed_on_its_way_is_found_in_a_world(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Node.give_state
    monkeypatch.setattr(Node, "give_state", lambda node, now, to, chunk: right(node, now, to, chunk + b" "))
    with pytest.raises(Violated, match="G18"):
        join_under_load()


def test_a_provider_that_reads_on_before_it_gives_its_state_is_found_in_a_world(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def send(app: Words, number: int) -> None:
        await app.group.send(b"%d" % number)

    tasks: list[asyncio.Future[None]] = []

    def late(desk: StateExchange, order: ProvideState) -> None:
        async def give() -> None:
            await asyncio.sleep(0.05)
            await desk._giving.provide(order)

        tasks.append(asyncio.ensure_future(give()))

    monkeypatch.setattr(StateExchange, "provide", late)
    with pytest.raises(Violated, match=r"G18: \w+#\d+ gave its state when"), World(Words, 3, seed=1) as world:
        world.crash("C")
        world.advance(2)
        world.start("C")
        for number in range(100):
            world.spawn("A", send(world.apps["A"], number))
            world.advance(0.01)
        world.settle()


# ---- the one order: what a state includes depends on who gave it


class Orderly(Tale):
    """`j` loads at view 2 and spools; `b`, its provider, is gone with view 3, and `a` gives its state at that cut."""

    def dequeued(self, members: str, sender: str, first: int, count: int = 1) -> "Orderly":
        for member in members:
            self.event(member, Kind.DEQUEUE, sender, first=first, count=count, value=5)
        return self

    def spooled(self, sender: str, first: int, count: int = 1, other: int = 0) -> "Orderly":
        self.event("j", Kind.SPOOLED, sender, first=first, count=count, view=None, value=1, other=other)
        return self

    def unread(self, sender: str | None, first: int = 0, count: int = 0) -> "Orderly":
        value = 0 if sender is None else 1
        self.event("j", Kind.UNREAD, sender, first=first, count=count, view=None, value=value, detail=IN_STATE)
        return self

    def loaded_from_the_next(self) -> "Orderly":
        self.view("aj", 3)
        return self

    def given(self, giver: str = "a") -> "Orderly":
        self.state(giver, "j", "cut").state(giver, "j", "given").state("j", giver, "loaded")
        return self


def loading() -> Orderly:
    story = Orderly("abj")
    story.view("ab", at="ab")
    story.view("abj", 2)
    return story


def test_an_ordered_message_that_went_to_the_provider_too_is_part_of_its_state() -> None:
    story = loading().dequeued("aj", "b", 1).spooled("b", 1, other=1).handed("a", "b", 1, value=1)
    assert isinstance(story, Orderly)
    story.loaded_from_the_next().unread(None).unread("b", 1).given()
    assert find(story).verdict == "held"


def test_an_ordered_message_thrown_away_for_the_state_of_one_that_never_got_it_is_found() -> None:
    story = loading().dequeued("bj", "a", 1, 2).spooled("a", 1, 2, other=1)
    story.dequeued("aj", "b", 1).spooled("b", 1).handed("a", "b", 1, value=1)
    story.loaded_from_the_next().unread(None).unread("b", 1)
    own = story.unread("a", 1, 2).given()
    assert find(own).verdict == "held"  # `a` sent it itself: without self-delivery it has it.
    story = loading().dequeued("bj", "b", 1, 2).spooled("b", 1, 2, other=1).loaded_from_the_next().unread(None)
    assert "j#1 threw away the ordered 1 of b#1 for a state that does not" in sentence(story.unread("b", 1, 2).given())


def test_an_ordered_message_thrown_away_with_the_spool_is_found_where_the_giver_never_got_it() -> None:
    """As a recording of before says it: all of the spool counted as part of the state."""
    story = loading().dequeued("bj", "b", 1, 2).spooled("b", 1, 2).loaded_from_the_next().unread(None).given()
    assert "j#1 threw away the ordered 1 of b#1" in sentence(story)
    story = loading().dequeued("abj", "b", 1, 2).spooled("b", 1, 2)
    story.handed("a", "b", 1, 2, value=1)
    assert find(story.loaded_from_the_next().unread(None).given()).verdict == "held"


def test_an_ordered_message_that_went_to_others_than_the_provider_is_read_behind_its_state() -> None:
    story = loading().dequeued("bj", "b", 1, 2).spooled("b", 1, 2, other=1).loaded_from_the_next().unread(None).given()
    assert find(story.handed("j", "b", 1, 2, value=1)).verdict == "held"


def test_an_ordered_message_that_is_in_the_state_and_read_again_is_found() -> None:
    story = loading().dequeued("abj", "b", 1, 2).spooled("b", 1, 2, other=1)
    story.handed("a", "b", 1, 2, value=1)
    story.loaded_from_the_next().unread(None).given()
    assert "j#1 was handed 1 of b#1, which is in the state" in sentence(story.handed("j", "b", 1, 2, value=1))


def test_what_the_giver_had_from_the_state_that_it_loaded_itself_is_in_its_state_too() -> None:
    story = Orderly("abcj")
    story.view("ab", at="ab")
    story.view("abj", 2)
    story.dequeued("bj", "b", 1).spooled("b", 1, other=1).handed("b", "b", 1, value=1)
    story.view("abjc", 3)
    story.state("b", "c", "cut").state("b", "c", "given").state("c", "b", "loaded")
    story.view("ajc", 4)
    thrown = story.unread(None).unread("b", 1).given("c")
    assert find(thrown).verdict == "held"


def test_what_the_giver_had_from_a_state_and_is_read_again_is_found() -> None:
    story = Orderly("abcj")
    story.view("ab", at="ab")
    story.view("abj", 2)
    story.dequeued("bj", "b", 1).spooled("b", 1, other=1).handed("b", "b", 1, value=1)
    story.view("abjc", 3)
    story.state("b", "c", "cut").state("b", "c", "given").state("c", "b", "loaded")
    story.view("ajc", 4)
    story.unread(None).given("c")
    assert "j#1 was handed 1 of b#1" in sentence(story.handed("j", "b", 1, value=1))
