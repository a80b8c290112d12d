"""What a script meets first: names as letters, rules for who starts later, a world that it does not close."""

import subprocess
import sys

import pytest

from ringcast import Group, UsageError
from ringcast.blocks import Apart, Channel
from ringcast.testing import Link, World

UNCLOSED = """
import asyncio
from ringcast.testing import World

async def app(group):
    try:
        async for _ in group:
            pass
    finally:
        await asyncio.sleep(0)

world = World(app, 3)
world.advance(1)
"""


async def read(group: Group) -> None:
    async for _ in group:
        pass


def test_a_world_takes_a_link() -> None:
    with World(read, 2, link=Link()) as world:
        world.agree()


def test_a_text_names_a_member_or_its_letters_do_wherever_it_is_taken() -> None:
    with World(read, ["A", "B", "C", "AB2"]) as world:
        with world.hold("*", "AB", "C") as letters:
            assert (letters._senders, letters._to) == (("A", "B"), ("C",))
        with world.hold("*", "AB2", ["A", "C"]) as name:
            assert (name._senders, name._to) == (("AB2",), ("A", "C"))
        world.partition("AB2", "ABC")
        assert [fault.members for fault in world.faults.active] == [("AB2",), ("A", "B", "C")]


def test_a_rule_may_be_for_a_member_that_starts_later() -> None:
    with World(read, 2) as world:
        rule = world.drop("heartbeat", "D", "A", times=1)
        world.start("D")
        assert world.run_until(lambda: rule.caught == 1)
        with pytest.raises(UsageError, match="name"):
            world.drop("*", "x" * 1000)


def test_a_world_that_a_script_did_not_close_ends_in_silence() -> None:
    done = subprocess.run([sys.executable, "-c", UNCLOSED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_channel_needs_no_merge_state_and_says_so_where_one_would_be_needed() -> None:
    channel = Channel("x", get_state=lambda: b"", set_state=lambda state: None)
    with pytest.raises(Apart, match="channel 'x' was given no merge_state"):
        channel._merge({})
    with pytest.raises(UsageError, match="needs get_state and set_state together"):
        Channel("x", get_state=lambda: b"")
