"""What a member records of primary views, and how it gets to the disk: one write under way, the newest behind it."""

from __future__ import annotations

from ringcast.core.control import Ask, Fill, RollCallId
from ringcast.core.effects import KeepMark
from ringcast.core.membership.primary_record import MarkWriter, PrimaryRecord
from ringcast.core.steps import Steps
from ringcast.model import MS, Address, Electorate, Mark, View, ViewId

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
V = View(ViewId(4, A), (A, B, C))
MARK = Mark(Electorate(V.id, (A, B, C)))
NEXT, LATER = Electorate(ViewId(5, A), (A, B)), Electorate(ViewId(6, A), (A, B))


def attempt(number: int) -> RollCallId:
    return RollCallId(V.id, 0, number)


def fill(number: int, primary: Electorate | None) -> Fill:
    return Fill(attempt(number), (), (), primary=primary)


def kept(steps: Steps) -> list[KeepMark]:
    return [step for step in steps if isinstance(step, KeepMark)]


def test_one_write_is_under_way_and_only_the_newest_waits_behind_it() -> None:
    writer = MarkWriter(MARK, is_kept=True)
    first, second, third = (MARK.recorded(Electorate(ViewId(number, A), (A, B))) for number in (5, 6, 7))
    assert writer.keep(0, first) == [KeepMark(1, first)]
    assert writer.keep(10, second) == writer.keep(20, third) == []
    assert not writer.holds(third)
    assert writer.on_kept(1_200 * MS, 1) == [KeepMark(2, third)]
    assert writer.on_kept(2_400 * MS, 2) == []
    assert writer.holds(third)


def test_how_long_the_disk_takes_is_its_slowest_recent_write() -> None:
    writer = MarkWriter(MARK, is_kept=True)
    seen, now = [], 0
    for number, took in enumerate((4, 1_200, 4, 4, 4), 1):
        writer.keep(now, MARK.recorded(Electorate(ViewId(number, A), (A, B))))
        assert writer.writing_ns(now + 3 * MS) == 3 * MS
        now += took * MS
        writer.on_kept(now, number)
        seen.append(writer.recent_ns // MS)
    assert seen == [4, 1_200, 1_050, 918, 803]
    assert writer.writing_ns(now) == 0


def test_a_later_attempt_counts_what_an_earlier_one_recorded_of_the_same_view() -> None:
    """A disk takes longer than the limit to fill up; what it stores for the first attempt is what the second needs."""
    record = PrimaryRecord(B, MARK, is_kept=True)
    assert [order.number for order in kept(record.on_fill(0, fill(1, NEXT)))] == [1]
    record.on_ask(Ask(attempt(2), (), ()))
    assert record.on_fill(1, fill(2, NEXT)) == []
    assert not record.has_recorded
    record.on_kept(2, 1)
    assert record.has_recorded


def test_another_view_is_recorded_for_itself_behind_the_first() -> None:
    record = PrimaryRecord(B, MARK, is_kept=True)
    record.on_fill(0, fill(1, NEXT))
    record.on_ask(Ask(attempt(2), (), ()))
    record.on_fill(1, fill(2, LATER))
    (order,) = kept(record.on_kept(2, 1))
    assert order.mark.attempts == (LATER,)
    assert not record.has_recorded
    record.on_kept(3, 2)
    assert record.has_recorded


def test_what_will_be_overwritten_does_not_count() -> None:
    """NEXT is stored, and LATER is on its way in its place: NEXT is to be stored again before anybody relies on it."""
    record = PrimaryRecord(B, MARK, is_kept=True)
    record.on_fill(0, fill(1, NEXT))
    record.on_kept(1, 1)
    record.on_ask(Ask(attempt(2), (), ()))
    record.on_fill(2, fill(2, LATER))
    record.on_ask(Ask(attempt(3), (), ()))
    record.on_fill(3, fill(3, NEXT))
    assert not record.has_recorded
    (again,) = kept(record.on_kept(4, 2))
    assert again.mark.attempts == (NEXT,) and not record.has_recorded
    record.on_kept(5, 3)
    assert record.has_recorded


def test_filling_up_for_a_merge_waits_for_no_disk() -> None:
    record = PrimaryRecord(B, MARK, is_kept=True)
    primary = V.members
    view = View(ViewId(5, A), primary, mark=MARK.of_view(primary, Electorate(ViewId(5, A), primary)))
    assert len(kept(record.on_view(0, view))) == 1  # It is being stored for a while.
    assert record.on_fill(1, fill(1, None)) == []
    assert record.has_recorded and not record.is_stored


def test_a_mark_covers_what_binds_by_no_more() -> None:
    both = MARK.recorded(NEXT).recorded(LATER)
    assert both.covers(MARK.recorded(LATER)) and both.covers(MARK) and both.covers(both)
    assert not MARK.recorded(NEXT).covers(both)
    assert not both.covers(both._replace(last=NEXT)) and not both.covers(both._replace(votes=((A, B),)))
