"""Answers to roll calls and views have fields that the version before does not know: both versions read both."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from ringcast.core.control import Answer, NewView, RollCallId
from ringcast.model import Address, Entry, ViewId
from ringcast.wire import decode_control, encode_control

A = Address("A", 1, "mem:A")
ANSWER = Answer(RollCallId(ViewId(3, A), 0, 1), Entry(0, 2, 2), (), 4, 64, 1_000)


def with_fields(**changes: int | None) -> bytes:
    """The answer as written, with these fields; None leaves one out."""
    written = encode_control(ANSWER)
    fields = msgspec.msgpack.decode(written[1:])
    for name, value in changes.items():
        fields.pop(name, None)
        if value is not None:
            fields[name] = value
    return written[:1] + msgspec.msgpack.encode(fields)


def test_an_answer_without_a_word_of_the_disk_is_read() -> None:
    assert decode_control(with_fields(disk_ns=None, storing_ns=None)) == ANSWER


def test_an_answer_with_fields_that_are_not_known_here_is_read() -> None:
    """As a member of the version before reads one with `disk_ns` and `storing_ns`."""
    assert decode_control(with_fields(of_a_later_version=7)) == ANSWER


def test_how_the_disk_does_is_read_as_it_was_written() -> None:
    said = replace(ANSWER, disk_ns=5, storing_ns=7)
    assert decode_control(encode_control(said)) == said


def test_a_view_without_a_word_of_who_loads_on_other_sides_is_read() -> None:
    view = NewView(ANSWER.id, ViewId(4, A), (A,), (), (), 64, 1_000, (Entry(0, 0, 0),), (), loading=(A,))
    written = encode_control(view)
    assert decode_control(written) == view
    fields = msgspec.msgpack.decode(written[1:])
    del fields["loading"]
    assert decode_control(written[:1] + msgspec.msgpack.encode(fields)) == replace(view, loading=())
