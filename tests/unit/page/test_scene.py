"""From events to what is drawn: stories told by hand, and the scene that the page gets."""

from ringcast.model import Address, Event, Kind
from ringcast.page import Scene
from ringcast.page.scene import MOST_FAULTS, MOST_SPANS
from ringcast.trace import Recording
from ringcast.trace.story import Story

HARNESS = Address("harness", 0, "sim:harness")
SECOND = 1_000_000_000


def folded(recordings: list[Recording]) -> Scene:
    scene = Scene()
    events = [
        (event.t_ns, n, recording.member, event) for n, recording in enumerate(recordings) for event in recording.events
    ]
    for _, _, who, event in sorted(events, key=lambda item: item[:2]):
        scene.on_event(who, event)
    return scene


def member(scene: Scene, name: str) -> dict[str, object]:
    return next(drawn for drawn in scene.drawn()["members"] if drawn["name"] == name)


def test_a_view_colours_its_members_and_names_the_coordinator() -> None:
    scene = folded(Story("abc").view("abc").recordings(cut="abc"))
    drawn = scene.drawn()
    assert drawn["current_views"] == [drawn["views"][0]["id"]]
    assert [one["coordinator"] for one in drawn["members"]] == [True, False, False]
    assert [one["to"] for one in drawn["spans"]] == [None, None, None]


def test_two_views_at_once_are_two_current_views() -> None:
    story = Story("abcd").view("abcd").view("ab", 2).view("cd", 2, creator="c")
    assert len(folded(story.recordings(cut="abcd")).drawn()["current_views"]) == 2


def test_a_window_shows_low_high_and_how_far_each_receiver_is() -> None:
    story = Story("ab", capacity=8).view("ab").send("a", 5).deliver("b", "a", 1, 3).ack("a", "b", 2).purge("a", 2)
    drawn = member(folded(story.recordings(cut="ab")), "a")
    assert (drawn["low"], drawn["high"], drawn["held"], drawn["capacity"]) == (2, 5, 3, 8)
    assert list(drawn["delivered"].values()) == [3]  # type: ignore[attr-defined]


def test_control_messages_are_no_messages_of_the_application() -> None:
    story = Story("ab").view("ab").send("a", 4, stream=2).deliver("b", "a", 1, 4, stream=2).send("a", 1, stream=5)
    scene = folded(story.recordings(cut="ab"))
    assert (member(scene, "a")["sent"], member(scene, "b")["received"]) == (1, 0)


def test_a_rate_is_that_of_the_last_second_of_event_time() -> None:
    story = Story("ab").view("ab").send("a", 50)
    scene = folded(story.recordings(cut="ab"))
    assert member(scene, "a")["sent_per_second"] == 50
    scene.on_time(scene.now_ns + 2 * SECOND)
    assert member(scene, "a")["sent_per_second"] == 0


def test_a_crash_ends_the_span_and_the_waits() -> None:
    story = Story("ab").view("ab").event("b", Kind.WAIT_START, value=1, detail={"what": "send"})
    recordings = story.recordings(cut="ab")
    scene = folded(recordings)
    assert member(scene, "b")["waiting"] != []
    scene.on_event(recordings[1].member, Event(Kind.CLOSED, scene.now_ns + 1, detail={"how": "crashed"}))
    drawn = member(scene, "b")
    assert (drawn["state"], drawn["waiting"]) == ("crashed", [])
    assert scene.drawn()["spans"][1]["to"] is not None


def test_faults_that_begin_and_end_together_are_drawn_as_one() -> None:
    scene = Scene()
    for pair in (["A", "B"], ["B", "A"]):
        scene.on_event(HARNESS, Event(Kind.FAULT, SECOND, detail={"what": "one-way", "members": pair, "amount": 0.0}))
    assert [(fault["what"], fault["whom"]) for fault in scene.drawn()["faults"]] == [("cut", ["A | B"])]
    scene.on_event(HARNESS, Event(Kind.HEAL, 2 * SECOND, detail={"what": "all"}))
    assert [(fault["what"], fault["to"]) for fault in scene.drawn()["faults"]] == [("cut", 1.0), ("heal", 1.0)]


def test_the_harness_is_no_member() -> None:
    scene = Scene()
    scene.on_event(HARNESS, Event(Kind.START, 0))
    assert scene.drawn()["members"] == []


def test_a_merge_is_told_step_by_step_with_its_outcome() -> None:
    story = Story("ab").view("a").view("b", creator="b")
    for step, more in (("start", {}), ("call", {}), ("end", {"outcome": "installed"})):
        story.event("a", Kind.MERGE, detail={"merge_id": [["a", 1, "x"], 1], "step": step, **more})
    merge = folded(story.recordings(cut="ab")).drawn()["merges"][0]
    assert [step["step"] for step in merge["steps"]] == ["start", "call", "end"]
    assert (merge["id"], merge["end"]) == ("a#1~1", "installed")


def test_nothing_grows_without_a_bound() -> None:
    scene = Scene()
    story = Story("a")
    for number in range(1, MOST_SPANS + 50):
        story.view("a", number)
    scene = folded(story.recordings(cut="a"))
    for number in range(MOST_FAULTS + 50):
        scene.on_event(HARNESS, Event(Kind.FAULT, number, detail={"what": "loss", "members": [], "amount": number}))
    drawn = scene.drawn()
    assert len(drawn["spans"]) == MOST_SPANS
    assert len(drawn["faults"]) == MOST_FAULTS


def test_a_cut_of_two_sides_names_them_and_ends_with_the_heal_of_a_real_harness() -> None:
    scene = Scene()
    scene.on_event(HARNESS, Event(Kind.FAULT, SECOND, detail={"what": "cut", "left": ["A", "B"], "right": ["C"]}))
    scene.on_event(HARNESS, Event(Kind.HEAL, 3 * SECOND, value=1))
    cut, heal = scene.drawn()["faults"]
    assert (cut["what"], cut["whom"], cut["from"], cut["to"]) == ("cut", ["A B | C"], 0.0, 2.0)
    assert heal["what"] == "heal"


def test_links_dead_both_ways_between_two_sides_are_a_cut_and_others_are_not() -> None:
    def whom(pairs: list[str]) -> list[tuple[str, list[str]]]:
        scene = Scene()
        for pair in pairs:
            detail = {"what": "one-way", "members": list(pair), "amount": 0.0}
            scene.on_event(HARNESS, Event(Kind.FAULT, SECOND, detail=detail))
        return [(fault["what"], fault["whom"]) for fault in scene.drawn()["faults"]]

    assert whom(["DA", "AD", "DB", "BD"]) == [("cut", ["D | A B"])]
    assert whom(["AC", "CA", "AD", "DA", "BC", "CB", "BD", "DB"]) == [("cut", ["A B | C D"])]
    assert whom(["AB"]) == [("one-way", ["A B"])]
    assert whom(["AB", "BA", "BC", "CB", "CD", "DC"]) == [("one-way", ["A B", "B A", "B C", "C B", "C D", "D C"])]
