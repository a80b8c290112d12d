"""A recorded frame of every kind still reads as it did and is written as it was: the bytes of the wire have not moved.

`tools/trace_hashes.py --frames` records them again, where a change of the wire is meant.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringcast.sim.frames import FRAME_KINDS, words_of
from ringcast.wire import Codec, Onlooker
from ringcast.wire.header import for_everybody

FRAMES = json.loads((Path(__file__).parent / "testdata" / "frames.json").read_text())
NONE = "none"  # of challenges and proofs, which no decoder sees


def test_nearly_every_kind_was_recorded() -> None:
    rare = {"behind", "elsewhere", "joinrefused", "primaryelsewhere", "reset", "reunionfailed"}
    assert set(FRAME_KINDS) - set(FRAMES) <= rare


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != NONE])
def test_a_recorded_frame_says_what_it_said(kind: str) -> None:
    frame = for_everybody(bytes.fromhex(FRAMES[kind][2]))
    taken = Onlooker("sim").decode(frame)
    assert isinstance(taken, tuple), taken
    sender, packet = taken
    assert kind in words_of(packet)
    assert Codec("sim", sender).encode(packet) == frame
