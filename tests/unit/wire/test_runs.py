"""Runs that look like the last one of their sender are read the short way, to the same result."""

from __future__ import annotations

import pytest

from ringcast.core import Channel, Drop, Envelope, Piece, Run
from ringcast.model import Address, ViewId
from ringcast.wire import Codec
from ringcast.wire.header import group_tag, pack_address, pack_head

A, B = Address("A", 1, "127.0.0.1:7001"), Address("B", 2, "127.0.0.1:7002")
V1, V2 = ViewId(1, A), ViewId(2, B)


def run(first: int, items: list[bytes], view: ViewId = V1) -> Run:
    return Run(Channel.GROUP, view, A, first, first - 1, items, sum(map(len, items)))


def test_runs_of_changing_shapes_and_views_come_back_as_they_went() -> None:
    writer, reader = Codec("g", A), Codec("g", B)
    runs = [
        run(1, [b"ab", b"cd"]),
        run(3, [b"ef"]),
        run(4, [b"longer", b"as long"[:6]]),
        run(6, [b"x", b"of other lengths"]),
        run(8, [b"ab", b"cd"], V2),
        run(10, [Envelope(b"sealed")], V2),
        run(11, [b""], V2),
        run(12, [Piece(b"more follows")], V2),
        run(12, [Piece(b"and more")], V2),
        run(12, [b"z"] * 2_000, V2),
        run(2_012, [b"ab", b"cd"], V1),
    ]
    for sent in runs:
        decoded = reader.decode(memoryview(bytearray(writer.encode(sent))))
        assert decoded == (A, sent)
        assert not isinstance(decoded, Drop) and isinstance(decoded[1], Run)
        assert [type(item) for item in decoded[1].items] == [type(item) for item in sent.items]


def test_what_was_read_does_not_change_with_the_buffer() -> None:
    writer, reader = Codec("g", A), Codec("g", B)
    for sent in (run(1, [b"ab", b"cd"]), run(3, [b"ef", b"gh"])):
        buffer = bytearray(writer.encode(sent))
        decoded = reader.decode(memoryview(buffer))
        buffer[:] = bytes(len(buffer))
        assert decoded == (A, sent)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("items", [[b"ab", b"cd"], [Piece(b"abcd")]])
def test_any_changed_number_or_length_gives_a_run_or_a_drop_known_or_not(known: bool, items: list[bytes]) -> None:
    frame = Codec("g", A).encode(run(5, items))
    for at in range(len(frame)):
        for value in (0, 1, 255):
            reader = Codec("g", B)
            if known:
                reader.decode(frame)
            changed = frame[:at] + bytes([value]) + frame[at + 1 :]
            decoded, fresh = reader.decode(changed), Codec("g", B).decode(changed)
            assert decoded == fresh
            assert isinstance(decoded, Drop) or isinstance(decoded[1], Run) or value != frame[at]


def test_a_frame_cut_short_after_its_shape_was_learned_is_a_drop() -> None:
    reader, frame = Codec("g", B), Codec("g", A).encode(run(5, [b"ab", b"cd"]))
    reader.decode(frame)
    assert all(isinstance(reader.decode(frame[:end]), Drop) for end in range(len(frame)))


@pytest.mark.parametrize("flags", [2, 10, 11, 16, 17, 128])
@pytest.mark.parametrize("known", [False, True])
def test_a_run_with_flags_that_nobody_writes_is_a_drop(flags: int, known: bool) -> None:
    reader, frame = Codec("g", B), Codec("g", A).encode(run(5, [b"ab"]))
    if known:
        reader.decode(frame)
    at = len(pack_head(1, group_tag("g"), A)) + 1
    changed = frame[:at] + bytes([flags]) + frame[at + 1 :]
    assert reader.decode(changed) == Drop("a run with flags that do not go together", A)


def test_a_run_that_names_its_sender_as_somebody_else_is_a_drop() -> None:
    frame = Codec("g", A).encode(Run(Channel.GROUP, V1, B, 5, 4, [b"ab"], 2))
    changed = frame.replace(pack_address(B), pack_address(A))
    assert changed != frame
    assert Codec("g", B).decode(changed) == Drop("a repair of the sender's own", A)
