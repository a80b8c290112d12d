"""G16 is broken in each way it can be, and found each time; Y23: an ordered message lost at one destination."""

from typing import Any

import pytest

from ringcast.checkers import Finding, judge
from ringcast.core.multicast import GivingUp
from ringcast.model import Kind
from ringcast.testing import Violated, World
from ringcast.trace.story import Story, addresses
from unit.testing.stores import Log

STREAM = 5  # epoch 1, channel of private messages


class Tale(Story):
    def queue(self, member: str, first: int, count: int = 1, to: str = "") -> "Tale":
        detail: dict[str, Any] = {"to": addresses(to) if to else "view"}
        self.event(member, Kind.QUEUE_START, first=first, count=count, detail=detail)
        return self

    def dequeue(self, members: str, sender: str, first: int, count: int = 1) -> "Tale":
        for member in members:
            self.event(member, Kind.DEQUEUE, sender, first=first, count=count, value=first)
        return self

    def tell(self, member: str, to: str, count: int = 1) -> "Tale":
        self.send(member, count, STREAM, peer=to)
        return self

    def on(self, members: str, number: int, **detail: Any) -> "Tale":
        self.view(members, number, **detail)
        return self

    def undelivered(self, member: str, to: str, first: int, count: int) -> "Tale":
        self.event(member, Kind.UNDELIVERED, to, stream=STREAM, first=first, count=count, value=count)
        return self


def find(story: Story, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings["G16"]


def sentence(story: Story) -> str:
    finding = find(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


# ---- the one order


def test_messages_to_all_and_to_some_that_reach_them_are_held() -> None:
    story = Tale("abc").on("abc", 1).queue("a", 1, 2).queue("a", 3, to="ab")
    finding = find(story.dequeue("abc", "a", 1, 2).dequeue("ab", "a", 3).on("abc", 2))
    assert (finding.verdict, finding.examined) == ("held", 8)


def test_an_ordered_message_lost_at_one_destination_is_found_y23() -> None:
    story = Tale("abc").on("abc", 1).queue("a", 1, 2).dequeue("ab", "a", 1, 2).dequeue("c", "a", 1).on("abc", 2)
    assert "c#1 never dequeued 2 of a#1 in a#1|1, from where it went to a#1|2" in sentence(story)
    assert find(story).violations[0].members[0].name == "c"


def test_one_that_goes_another_way_may_lack_it() -> None:
    story = Tale("abc").on("abc", 1).queue("a", 1).dequeue("ab", "a", 1).on("ab", 2)
    assert find(story.on("c", 2, creator="c")).verdict == "held"


def test_an_ordered_message_at_one_to_whom_it_was_not_queued_is_found() -> None:
    story = Tale("abc").on("abc", 1).queue("a", 1, to="ab").dequeue("abc", "a", 1).on("abc", 2)
    assert "c#1 dequeued 1 of a#1, which was not queued to it" in sentence(story)


def test_an_ordered_message_that_nobody_queued_is_found_unless_its_sender_was_cut_off() -> None:
    """Y23: dequeued and never queued."""
    story = Tale("abc").on("abc", 1).queue("a", 1).dequeue("abc", "a", 1, 2).on("abc", 2)
    assert find(story, cut="a").verdict == "held"
    story = Tale("abc").on("abc", 1).queue("a", 1).dequeue("abc", "a", 1, 2).on("abc", 2)
    assert "2 of a#1 was dequeued, and a#1 never queued it" in sentence(story)


def test_a_member_without_self_delivery_need_not_get_its_own() -> None:
    story = Tale("ab", self_delivery=False).on("ab", 1).queue("a", 1).dequeue("b", "a", 1).on("ab", 2)
    assert find(story).verdict == "held"


# ---- private messages


def sent() -> Tale:
    story = Tale("ab").on("ab", 1).tell("a", "b", 5)
    story.deliver("b", "a", 1, 3, stream=STREAM).ack("a", "b", 2, stream=STREAM)
    return story


def test_a_destination_that_leaves_and_is_named_is_held() -> None:
    assert find(sent().on("a", 2).undelivered("a", "b", 3, 3)).verdict == "held"


def test_a_destination_that_leaves_without_a_word_is_found() -> None:
    assert "b#1 had not acked 3..5 of the private messages of a#1" in sentence(sent().on("a", 2))
    assert find(sent().on("a", 2), cut="a").verdict == "held", "it may have said it later"
    assert "which said nothing when it left" in sentence(sent().on("a", 2).on("a", 3).undelivered("a", "b", 3, 3))


def test_a_sender_that_crashes_in_the_moment_of_the_view_says_nothing_more() -> None:
    """Simulated seed 195 (any): a crash at the step `view:installed`."""
    story = sent().on("a", 2)
    story.recorders["a"].close(story.now_ns, "crashed")
    assert find(story).verdict == "held"
    story = sent().on("a", 2)
    story.recorders["a"].close(story.now_ns + 1, "crashed")
    assert "which said nothing when it left" in sentence(story), "it had time"


def test_naming_too_few_is_found() -> None:
    assert "4..5 were named, 3..5 were not acked" in sentence(sent().on("a", 2).undelivered("a", "b", 4, 2))


def test_giving_up_a_member_is_found() -> None:
    assert "which is a member of its view" in sentence(sent().undelivered("a", "b", 3, 3))


def test_a_stream_that_begins_anew_with_less_than_was_not_acked_is_found() -> None:
    fresh = {"stream": STREAM + 4, "peer": "b", "first": 1}
    assert find(sent().send("a", 3, **fresh)).verdict == "held"
    assert "which began another stream" in sentence(sent().send("a", 1, **fresh))


def test_a_private_message_that_was_sent_to_somebody_else_is_found() -> None:
    story = Tale("abc").on("abc", 1).tell("a", "b").deliver("c", "a", 1, 1, stream=STREAM)
    assert "c#1 delivered 1 of a stream of a#1 that a#1 never sent to it" in sentence(story)


# ---- in a world


async def tell(app: Log, to: str, text: str) -> None:
    peer = next(member for member in app.group.members if member.name == to)
    await app.group.send(text.encode(), to=[peer])


def say_to_one_that_is_cut_off() -> World:
    with World(Log, 3, seed=2) as world:
        world.partition("C")
        for number in range(5):
            world.spawn("A", tell(world.apps["A"], "C", str(number)))
        world.advance(3)
        world.heal()
        world.settle()
    return world


def test_who_is_cut_off_is_named_in_a_world() -> None:
    world = say_to_one_that_is_cut_off()
    finding = judge(world.recordings()).findings["G16"]
    assert finding.verdict == "held" and finding.examined
    assert any(event.kind is Kind.UNDELIVERED for recording in world.recordings() for event in recording.events)


def test_a_stream_that_is_dropped_without_a_word_is_found_in_a_world(monkeypatch: pytest.MonkeyPatch) -> None:
    right = GivingUp._end
    monkeypatch.setattr(GivingUp, "_end", lambda self, now, peer: right(self, now, peer)[:0])
    with pytest.raises(Violated, match="G16: C#1 had not acked"):
        say_to_one_that_is_cut_off()
