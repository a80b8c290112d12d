"""Scenario files: what is read, what is said, what is written."""

import pytest

from ringcast.errors import UsageError
from ringcast.model import MS, SECOND
from ringcast.sim import Fault, Link, Load, Options, Stage, draw, play, scenario_of
from ringcast.sim.units import as_ns, as_value, in_seconds, runs_of
from ringcast.sim.written import commands_of


def test_a_story_is_given_back_with_what_was_said() -> None:
    text = "# Why.\nworld A\nsend A 2\nread\n----\nsomething else\n"
    assert play(text, Stage().act) == (
        "# Why.\nworld A\nsend A 2\nread\n----\n"
        "0.0000 s  A#1      installs view A#1|1 [A]\nA sent 1..2\nA read from A#1: 1..2\n"
    )


def test_comments_alone_and_several_blocks_keep_their_places() -> None:
    text = "# Only words.\n\nquietly world A\n----\n\nviews\n----\nA#1 A#1|1 [A#1]\n"
    assert play(text, Stage().act) == text


def test_a_block_without_dashes_is_an_error_that_names_the_line() -> None:
    with pytest.raises(UsageError, match="line 3"):
        play("# Why.\nworld A\n", Stage().act)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("dance", "error: unknown command 'dance'"),
        ("send A", "error: there is no world yet; begin with: world A B C"),
        ("world A colour=red", "error: config has no field 'colour'"),
        ("world A capacity=0", "error: capacity must be a whole number from 1 to 1048576, got 0"),
    ],
)
def test_a_mistake_is_said_and_not_raised(command: str, said: str) -> None:
    assert list(Stage().act(command)) == [said]


def test_what_was_told_is_not_told_again() -> None:
    stage = Stage()
    list(stage.act("world A B"))
    assert list(stage.act("fault loss 0.5 A B")) == ["0.0000 s  *        begins: loss 0.5 A B"]
    assert list(stage.act("end loss")) == ["0.0000 s  *        ends: loss 0.5 A B"]


def test_a_drawn_run_can_be_written_and_read_back() -> None:
    for seed in range(30):
        options = draw(seed, fixed=seed % 2 == 0)
        stage = Stage()
        for command in commands_of(options):
            assert list(stage.act(command)) == []
        assert stage._options == options


def test_only_what_differs_from_the_plain_run_is_written() -> None:
    options = Options(3, faults=(Fault("loss", 100 * MS, 2 * SECOND, ("A", "B"), 0.25),), load=Load(burst=5))
    assert list(commands_of(options)) == [
        "options seed=3 members=3 fixed=no multicasts=no safety=10s bound=5s",
        "load burst=5",
        "planned loss 0.25 A B from=0.1s until=2s",
    ]
    assert scenario_of(options, "Why.", ["G1: x"]).endswith("until=2s\nsimulate\n----\nG1: x\n")


@pytest.mark.parametrize(("text", "ns"), [("1ns", 1), ("2us", 2000), ("1.5ms", 1_500_000), ("3s", 3 * SECOND)])
def test_times_have_units(text: str, ns: int) -> None:
    assert as_ns(text) == ns
    assert as_ns(in_seconds(ns)) == ns


@pytest.mark.parametrize("text", ["", "5", "ms", "5 ms", "5h"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        as_ns(text)


def test_values_are_read_as_what_they_are() -> None:
    assert [as_value(text) for text in ("yes", "no", "7", "0.5", "2ms")] == [True, False, 7, 0.5, 2 * MS]


def test_runs_of_numbers_are_told_as_ranges_in_their_order() -> None:
    assert runs_of([1, 2, 3, 7, 5, 6]) == "1..3, 7, 5..6"
    assert runs_of([]) == "nothing"


def test_the_link_of_a_world_is_what_was_asked_for() -> None:
    stage = Stage()
    list(stage.act("world A B delay=5ms loss=0.5 capacity=9"))
    assert stage.cluster.network.link == Link(delay_ns=5 * MS, loss=0.5)
    assert stage.cluster.config.capacity == 9
