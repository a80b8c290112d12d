"""G8, G9 and G10 are broken in each way they can be, and found each time (D07, P20)."""

from typing import Any

from ringcast.checkers import Finding, judge
from ringcast.model import Kind, ViewId
from ringcast.trace.story import Story, address, addresses, digest

GROUPS = [addresses("ab"), addresses("cd")]
MERGED = ViewId(5, address("a"))


def said(story: Story, whose: str, origin: str, entry: tuple[int, int, int], **detail: Any) -> Story:
    low, delivered, received = entry
    full = {"origin": address(origin), "merge_id": "m1", **detail}
    return story.event("a", Kind.DIGEST, whose, first=low, value=delivered, other=received, detail=full)


def find(story: Story, name: str, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings[name]


def sentence(story: Story, name: str) -> str:
    finding = find(story, name)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def test_g8_entries_of_the_members_themselves_are_held() -> None:
    finding = find(said(said(Story("ab"), "a", "a", (7, 20, 20)), "b", "b", (5, 25, 25)), "G8")
    assert (finding.verdict, finding.examined) == ("held", 2)


def test_g8_hearsay_is_found() -> None:
    assert "took the entry of b#1 from a#1" in sentence(said(Story("ab"), "b", "a", (5, 25, 25)), "G8")


def test_g8_what_is_said_about_members_that_go_away_is_not_judged() -> None:
    assert find(said(Story("ab"), "b", "a", (5, 25, 25), about="going-away"), "G8").verdict == "unjudged"


def merge_view(story: Story, rows: dict[str, Any], at: str | None = None, **detail: Any) -> Story:
    return story.view("abcd", 5, at=at, subgroups=GROUPS, digest=digest(rows), **detail)


def test_g9_a_whole_merge_is_held() -> None:
    finding = find(merge_view(Story("abcd"), {"a": 15, "b": 7, "c": 10, "d": 9}), "G9")
    assert (finding.verdict, finding.examined) == ("held", 4)


def test_g9_a_merge_view_without_an_entry_is_found() -> None:
    assert "without a digest entry of d#1" in sentence(merge_view(Story("abcd"), {"a": 15, "b": 7, "c": 10}), "G9")


def overlap(rows: dict[str, Any], leader: bool = True) -> Story:
    """D07: A says of itself 7 20 (20), B's subgroup says of A 2 10 (10)."""
    story = Story("abcd").event("a", Kind.MERGE, detail={"step": "start" if leader else "accept", "merge_id": "m1"})
    said(said(story, "a", "a", (7, 20, 20)), "a", "b", (2, 10, 10))
    for name in "bcd":  # An entry that nobody gave is a fault of its own.
        said(story, name, name, (0, 0, 0))
    return merge_view(story, rows, merge_id="m1")


def test_g9_overlaps_take_the_maximum() -> None:
    assert find(overlap({"a": (7, 20, 20), "b": 0, "c": 0, "d": 0}), "G9").verdict == "held"
    assert "maximum of what was said is 7 20 (20)" in sentence(
        overlap({"a": (2, 10, 10), "b": 0, "c": 0, "d": 0}), "G9"
    )
    assert "has a#1: 7 21 (21)" in sentence(overlap({"a": (7, 21, 21), "b": 0, "c": 0, "d": 0}), "G9")


def test_g9_another_coordinator_may_know_less() -> None:
    assert find(overlap({"a": (7, 21, 21), "b": 0, "c": 0, "d": 0}, leader=False), "G9").verdict == "held"


def apart(received_from_c: int) -> Story:
    """P20: A has its own 20 and 10 from B; it has some from C, from whom it was apart."""
    story = Story("abcd").view("abcd").send("a", 20).deliver("a", "b", 1, 10)
    return story.deliver("a", "c", 1, received_from_c).view("ab", 4)


def test_g10_the_numbers_of_the_seed_are_held() -> None:
    """P20: digest A15 B7 C10 D9; A keeps 20 and 10, takes C and D."""
    story = apart(3).offset("a", "c", 10, "merge", view=MERGED).offset("a", "d", 9, "merge", view=MERGED)
    finding = find(merge_view(story, {"a": 15, "b": 7, "c": 10, "d": 9}, at="a"), "G10")
    assert (finding.verdict, finding.examined) == ("held", 2)


def test_g10_an_offset_may_stand_behind_the_view() -> None:
    story = merge_view(apart(3), {"a": 15, "b": 7, "c": 10, "d": 0}, at="a").offset("a", "c", 10, "merge")
    assert find(story, "G10").verdict == "held"


def test_g10_an_overwritten_own_entry_is_found() -> None:
    story = apart(12).offset("a", "a", 15, "merge", view=MERGED)
    assert "overwrote its own entry" in sentence(merge_view(story, {"a": 15, "c": 10}, at="a"), "G10")


def test_g10_a_higher_or_equal_entry_must_be_kept() -> None:
    for received in (10, 12):
        story = apart(received).offset("a", "c", 10, "merge", view=MERGED)
        assert f"up to {received} from c#1 and reset" in sentence(merge_view(story, {"c": 10}, at="a"), "G10")


def test_g10_a_lower_entry_must_be_reset_to_the_digest() -> None:
    assert "stayed at 3 for c#1" in sentence(merge_view(apart(3), {"c": 10}, at="a"), "G10")
    story = apart(3).offset("a", "c", 11, "merge", view=MERGED)
    assert "says 10 for c#1" in sentence(merge_view(story, {"c": 10}, at="a"), "G10")


def test_g10_members_of_one_subgroup_leave_each_other_alone() -> None:
    story = apart(10).offset("a", "b", 15, "merge", view=MERGED)
    assert "together" in sentence(merge_view(story, {"b": 15, "c": 10}, at="a"), "G10")


def test_g10_an_installation_that_was_cut_off_is_not_judged() -> None:
    assert find(merge_view(apart(3), {"c": 10}, at="a"), "G10", cut="a").violation_count == 0
