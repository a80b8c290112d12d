"""A simulated world and a recording behind the page: acts, time, going back, violations with their place."""

import asyncio
from pathlib import Path

import pytest

from ringcast.errors import UsageError
from ringcast.page import Recorded, Simulated
from ringcast.page.simulated import acts_of
from ringcast.trace import FileRecorder
from ringcast.trace.story import Story


def views(source: Simulated | Recorded) -> int:
    return len(source.scene.drawn()["current_views"])


async def passing(source: Simulated, seconds: float) -> None:
    for _ in range(round(seconds / 0.25)):
        await source.tick(0.25)


def test_a_cut_makes_two_views_and_a_heal_one() -> None:
    async def story() -> None:
        source = Simulated(3, 4)
        await source.open()
        assert views(source) == 1
        source.act("split", {"side": ["A", "B"]})
        await passing(source, 6)
        assert views(source) == 2
        source.act("heal", {})
        await passing(source, 8)
        assert views(source) == 1
        await source.close()

    asyncio.run(story())


def test_going_back_shows_the_same_as_then_and_a_shared_run_is_the_same_run() -> None:
    async def story() -> None:
        source = Simulated(5, 3)
        await source.open()
        await passing(source, 1)
        source.act("kill", {"member": "C"})
        await passing(source, 4)
        then, acts, t = source.scene.drawn(), source.about()["acts"], source.about()["time"]
        await passing(source, 3)
        source.act("back", {"t": t})
        assert source.scene.drawn() == then
        other = Simulated(0, 5)
        await other.open()
        other.act("again", {"seed": 5, "members": 3, "acts": acts, "t": t})
        assert other.scene.drawn() == then
        await source.close()
        await other.close()

    asyncio.run(story())


def test_a_step_ends_at_the_next_event_that_changes_the_course() -> None:
    async def story() -> None:
        source = Simulated(1, 3)
        await source.open()
        source.act("freeze", {"member": "B"})
        before = len(source.log.since(0, 0, False, 10_000))
        source.act("step", {})
        assert len(source.log.since(0, 0, False, 10_000)) > before
        assert not source.about()["playing"]
        await source.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("dance", {}),
        ("kill", {}),
        ("kill", {"member": "Z"}),
        ("cut", {}),
        ("cut", {"links": [["A"]]}),
        ("cut", {"links": [["A", "Z"]]}),
        ("speed", {"factor": 0}),
        ("back", {"t": "yesterday"}),
        ("again", {"seed": 1, "acts": "1:cut"}),
    ],
)
def test_an_act_that_cannot_be_done_is_refused_in_a_sentence(what: str, words: dict[str, object]) -> None:
    async def story() -> None:
        source = Simulated(1, 2)
        await source.open()
        with pytest.raises(UsageError):
            source.act(what, words)
        await source.close()

    asyncio.run(story())


def test_acts_survive_the_way_through_a_link() -> None:
    text = "1.5:cut:A,B;2:heal:"
    assert [(act.t_ns, act.what, act.members) for act in acts_of(text)] == [
        (1_500_000_000, "cut", ("A", "B")),
        (2_000_000_000, "heal", ()),
    ]


def recorded(story: Story, root: Path) -> Path:
    for recording in story.recordings():
        recorder = FileRecorder(root, recording.header)
        for event in list(recording.events)[1:-1]:
            recorder.append(event)
        recorder.close(story.now_ns)
    return root


def test_a_recording_is_shown_at_any_moment_and_links_a_violation_to_its_events(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 3)
    story.send("a", 2).deliver("b", "a", 5, 1)  # 4 is missing: G1
    source = Recorded([recorded(story, tmp_path)])
    asyncio.run(source.open())
    about = source.about()
    found = next(one for one in about["verdict"]["guarantees"] if one["name"] == "G1")
    assert found["verdict"] == "violated"
    violation = found["violations"][0]
    assert 0 < violation["t"] <= about["length"]
    assert violation["events"]
    everything = source.scene.drawn()
    source.act("seek", {"t": 0.0})
    assert source.scene.drawn()["events"] < everything["events"]
    source.act("seek", {"t": about["length"]})
    assert source.scene.drawn() == everything


def test_members_on_two_clocks_are_laid_side_by_side_by_their_first_common_view(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 3)
    for number, recording in enumerate(story.recordings()):
        header = type(recording.header)(recording.member, "g", recording.header.config, clock=f"clock {number}")
        recorder = FileRecorder(tmp_path, header, number * 5_000_000_000_000)
        for event in list(recording.events)[1:-1]:
            event.t_ns += number * 5_000_000_000_000
            recorder.append(event)
        recorder.close(story.now_ns + number * 5_000_000_000_000)
    source = Recorded([tmp_path])
    asyncio.run(source.open())
    assert source.about()["length"] < 60
    assert len(source.about()["clocks"]) == 2


def test_a_recording_goes_to_an_event_and_from_turn_to_turn(tmp_path: Path) -> None:
    story = Story("ab").view("ab").passed("ab", "a", 3).view("ab", 2).passed("ab", "b", 3)
    source = Recorded([recorded(story, tmp_path)])
    asyncio.run(source.open())
    source.act("seek", {"who": "a#1", "index": 1})
    assert [span["member"] for span in source.scene.drawn()["spans"]] == ["a#1"]
    shown = []
    for _ in range(4):
        source.act("step", {})
        shown.append(len(source.scene.drawn()["spans"]))
    assert shown == [2, 3, 4, 4]  # b's first view, the second view at each, the end
    with pytest.raises(UsageError, match="no event 99 of a#1"):
        source.act("seek", {"who": "a#1", "index": 99})
