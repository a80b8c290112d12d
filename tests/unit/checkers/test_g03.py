"""G3 is broken in each way it can be, and found each time."""

from ringcast.checkers import Finding, judge
from ringcast.model import ViewId
from ringcast.trace.story import Story, address, digest


def purge(story: Story, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings["G3"]


def sentence(story: Story, cut: str = "") -> str:
    finding = purge(story, cut)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def trio() -> Story:
    return Story("abc").view("abc").send("a", 9).taken("b", "a", 1, 9).taken("c", "a", 1, 9).ack("a", "b", 9)


def test_purging_what_all_have_acked_is_held() -> None:
    finding = purge(trio().ack("a", "c", 5).purge("a", 5))
    assert finding.verdict == "held" and finding.examined == 5


def test_one_ack_too_low_is_found() -> None:
    assert "purged up to 6, but c#1 had acked only up to 5" in sentence(trio().ack("a", "c", 5).purge("a", 6))


def test_a_receiver_that_never_acked_is_found() -> None:
    assert "c#1 had acked only up to 0" in sentence(trio().purge("a", 1))


def test_an_ack_that_comes_after_the_purge_does_not_help() -> None:
    assert "acked only up to 0" in sentence(trio().purge("a", 5).ack("a", "c", 9))


def test_a_member_that_the_view_removed_no_longer_counts() -> None:
    assert purge(trio().view("ab", 2).purge("a", 9)).verdict == "held"


def test_a_new_member_counts_from_the_offset_in_the_digest() -> None:
    story = Story("ab").view("a").send("a", 5).view("ab", 2, digest=digest({"a": 5, "b": 0}), at="a").purge("a", 5)
    assert purge(story).verdict == "held"
    assert "b#1 had acked only up to 5" in sentence(story.send("a", 1).purge("a", 6))


def test_a_new_member_counts_from_the_offset_in_its_own_recording() -> None:
    story = Story("ab").view("a").send("a", 5).offset("b", "a", 5, "join", view=ViewId(2, address("a")))
    story.view("ab", 2).purge("a", 5)
    assert purge(story).verdict == "held"
    assert "acked only up to 5" in sentence(story.send("a", 1).purge("a", 6))


def test_an_offset_that_may_have_been_cut_off_is_unjudged() -> None:
    story = Story("ab").view("a").send("a", 5).view("ab", 2, at="a").purge("a", 5)
    finding = purge(story, cut="b")
    assert finding.verdict == "unjudged" and "the offset that b#1 was given" in finding.missing[0]


def test_a_cut_receiver_that_was_there_before_must_still_have_acked() -> None:
    story = trio().view("abc", 2).purge("a", 5)
    assert "c#1 had acked only up to 0" in sentence(story, cut="c")


def test_an_old_ack_of_a_member_that_was_away_does_not_count() -> None:
    story = trio().ack("a", "c", 9).purge("a", 9).view("ab", 2).send("a", 1).ack("a", "b", 10)
    assert "c#1 had acked only up to 0" in sentence(story.view("abc", 3).purge("a", 10))


def test_purging_more_than_was_sent_is_found() -> None:
    assert "had sent only up to 9" in sentence(trio().ack("a", "b", 12).ack("a", "c", 12).purge("a", 12))


def test_a_false_ack_is_found() -> None:
    story = Story("ab").view("ab").send("a", 9).taken("b", "a", 1, 4).ack("a", "b", 9).purge("a", 9)
    assert "b#1 acked 9 to a#1, but had taken only up to 4" in sentence(story)


def test_what_a_cut_receiver_took_is_unknown() -> None:
    story = Story("ab").view("ab").send("a", 9).taken("b", "a", 1, 4).ack("a", "b", 9).purge("a", 9)
    assert purge(story, cut="b").verdict == "held"


def test_another_stream_needs_the_ack_of_its_peer() -> None:
    story = Story("ab").view("ab").send("a", 2, stream=4, peer="b").purge("a", 2, stream=4, peer="b")
    assert "b#1 had acked only up to 0" in sentence(story)


def test_who_comes_from_another_side_of_a_merge_counts_from_the_offset_in_the_digest() -> None:
    """Simulated seed 214: b went through views without a and came back; it had it all, but its acks were lost."""
    sides = {"subgroups": [[address("a")], [address("b")]], "digest": digest({"a": 5, "b": 0})}
    story = Story("ab").view("ab").send("a", 5).ack("a", "b", 4).view("ab", 7, creator="b", at="a", **sides)
    assert purge(story.purge("a", 5)).verdict == "held"
    assert "b#1 had acked only up to 5" in sentence(story.send("a", 1).purge("a", 6))


def test_who_was_on_our_side_of_a_merge_counts_from_its_acks() -> None:
    together = {"subgroups": [[address("a"), address("b")], [address("c")]], "digest": digest({"a": 5, "b": 0, "c": 0})}
    story = Story("abc").view("ab").send("a", 5).taken("b", "a", 1, 4).ack("a", "b", 4)
    story.view("abc", 7, at="a", **together)
    assert "b#1 had acked only up to 4" in sentence(story.purge("a", 5))


def test_who_came_with_an_offset_keeps_it_through_the_next_view() -> None:
    """Simulated seed 1: b came with a merge at 5, had nothing to ack, and another merge followed at once."""
    sides = {"subgroups": [[address("a")], [address("b")]], "digest": digest({"a": 5, "b": 0})}
    again = {"subgroups": [[address("a"), address("b")], [address("c")]], "digest": digest({"a": 5, "b": 0, "c": 0})}
    story = Story("abc").view("a").send("a", 5).view("ab", 2, at="a", **sides).view("abc", 3, at="a", **again)
    assert purge(story.purge("a", 5)).verdict == "held"
    assert "had acked only up to 5" in sentence(story.send("a", 1).purge("a", 6))
