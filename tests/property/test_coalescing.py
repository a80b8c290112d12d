"""The native reader of runs gives what the plain one gives, for any frames at all, in any order, damaged or not."""

import gc
import struct
import weakref
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringcast.core import Ack, Channel, Drop, Envelope, Highest, Piece, Run, Tag
from ringcast.model import Address, ViewId
from ringcast.runtime.coalescing import MOST_OPEN, Decoded, coalesced, coalescer, join
from ringcast.transport import Frame
from ringcast.wire import Codec

native = pytest.importorskip("ringcast.native._coalescing", reason="the native part was not built")

ME = Address("me", 7, "mem:me")
SENDERS = [Address(f"s{number}", number, f"mem:{number}") for number in range(20)]
VIEWS = [ViewId(1, SENDERS[0]), ViewId(2, SENDERS[1])]


@st.composite
def frames(draw: st.DrawFn) -> list[bytes]:
    """What a few senders say: runs that mostly continue each other, repairs of others' runs, acks, nonsense."""
    made: list[bytes] = []
    following = dict.fromkeys(SENDERS, 1)
    for _ in range(draw(st.integers(1, 25))):
        sender = draw(st.sampled_from(SENDERS[: draw(st.sampled_from([2, 20]))]))
        items = draw(item_lists)
        first = following[sender] + draw(st.sampled_from([0, 0, 0, 0, 1]))
        origin = draw(st.sampled_from([sender, sender, sender, SENDERS[3]]))
        view = VIEWS[draw(st.sampled_from([0, 0, 0, 1]))]
        run = Run(Channel.GROUP, view, origin, first, draw(st.integers(0, first - 1)), items, sum(map(len, items)))
        packet = draw(st.one_of(st.just(run), st.just(run), acks(view), announcements(view)))
        frame = Codec("g", sender).encode(packet, draw(st.sampled_from([None, None, ME])))
        if packet is run:
            following[sender] = first + len(items)
        made.append(damage(draw, frame) if draw(st.integers(0, 3)) == 3 else frame)
    return made


def acks(view: ViewId) -> st.SearchStrategy[Ack]:
    return st.builds(lambda stream, upto: Ack(*stream, upto), streams(view), numbers)


def announcements(view: ViewId) -> st.SearchStrategy[Highest]:
    return st.builds(
        lambda stream, one, other: Highest(*stream, max(one, other), min(one, other)), streams(view), numbers, numbers
    )


def streams(view: ViewId) -> st.SearchStrategy[tuple[Channel, Tag]]:
    return st.sampled_from([(Channel.GROUP, view), (Channel.PEER, 1), (Channel.PEER, 2), (Channel.CONTROL, 1)])


numbers = st.sampled_from([0, 1, 5, 255, 256, 2**63 - 1])

item_lists = st.one_of(
    st.builds(lambda size, count: [b"x" * size] * count, st.integers(1, 9), st.integers(1, 5)),
    st.lists(st.binary(max_size=5), min_size=1, max_size=5),
    st.builds(lambda item: [Piece(item)], st.binary(min_size=1, max_size=9)),
    st.builds(lambda item: [Envelope(item)], st.binary(max_size=9)),
)


def damage(draw: st.DrawFn, frame: bytes) -> bytes:
    """Change, cut off or add some bytes."""
    spoiled = bytearray(frame)
    for _ in range(draw(st.integers(0, 3))):
        spoiled[draw(st.integers(0, len(spoiled) - 1))] = draw(st.integers(0, 255))
    return bytes(spoiled[: draw(st.sampled_from([len(spoiled), draw(st.integers(0, len(spoiled)))]))]) + draw(extras)


extras = st.sampled_from([b"", b"", b"x"])


def in_one_buffer(said: list[bytes]) -> list[Frame]:
    return [memoryview(bytearray(frame)) for frame in said]


def kinds(decoded: list[Decoded]) -> list[object]:
    """What equality does not see: the types of items and what a run says of itself."""
    runs = [each[1] for each in decoded if not isinstance(each, Drop) and isinstance(each[1], Run)]
    return [(run.has_pieces, list(map(type, run.items))) for run in runs]


@settings(max_examples=100, deadline=None)
@given(st.lists(frames(), min_size=1, max_size=3))
def test_both_ways_of_reading_a_wake_agree(wakes: list[list[bytes]]) -> None:
    codec, plain_codec = Codec("g", ME), Codec("g", ME)
    quick = coalescer(codec.decode)
    assert isinstance(quick, native.Coalescer)
    for said in wakes:
        read, plain = quick(in_one_buffer(said)), coalesced(plain_codec.decode, said)
        assert read == plain
        assert kinds(read) == kinds(plain)


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_any_bytes_at_all_are_read_as_the_codec_reads_them(said: list[bytes]) -> None:
    assert coalescer(Codec("g", ME).decode)(said) == coalesced(Codec("g", ME).decode, said)


@pytest.mark.parametrize("many", [MOST_OPEN, MOST_OPEN + 1])
def test_of_more_senders_than_are_remembered_all_begin_anew(many: int) -> None:
    writers = [Codec("g", Address(f"s{number}", number, "mem:s")) for number in range(many)]
    said = [
        codec.encode(Run(Channel.GROUP, VIEWS[0], codec.me, first, 0, [b"ab"], 2))
        for first in (1, 2)
        for codec in writers
    ]
    read = coalescer(Codec("g", ME).decode)(said)
    assert read == coalesced(Codec("g", ME).decode, said)
    assert len(read) == (many if many == MOST_OPEN else 2 * many)


def test_acks_and_announcements_of_more_streams_than_are_remembered_are_read_as_the_codec_reads_them() -> None:
    writer = Codec("g", SENDERS[0])
    said = [
        writer.encode(packet, ME)
        for _ in range(2)
        for tag in range(1, 100)
        for packet in (Ack(Channel.PEER, tag, tag), Highest(Channel.PEER, tag, 2 * tag, tag))
    ]
    read = coalescer(Codec("g", ME).decode)(said)
    assert read == coalesced(Codec("g", ME).decode, said)
    assert not any(isinstance(each, Drop) for each in read)


@pytest.mark.parametrize("end", ["<qq", "<q"])
def test_numbers_that_are_not_sound_are_refused_behind_a_known_beginning_too(end: str) -> None:
    sound = [Ack(Channel.GROUP, VIEWS[0], 5), Highest(Channel.GROUP, VIEWS[0], 5, 3)]
    [frame] = [Codec("g", SENDERS[0]).encode(packet) for packet in sound if (type(packet) is Ack) is (end == "<q")]
    wrong = {"<q": [(-1,)], "<qq": [(-1, -1), (5, -1), (5, 6)]}[end]
    spoiled = [frame[: -struct.calcsize(end)] + struct.pack(end, *numbers) for numbers in wrong]
    read = coalescer(Codec("g", ME).decode)([frame, *spoiled, frame])
    assert read == coalesced(Codec("g", ME).decode, [frame, *spoiled, frame])
    assert [isinstance(each, Drop) for each in read] == [False, *(True for _ in wrong), False]


def rewritten(codec: Codec) -> Iterator[Frame]:
    """Three runs, one after the other in the same buffer."""
    buffer = memoryview(bytearray(1_000))
    for first in (1, 3, 5):
        frame = codec.encode(Run(Channel.GROUP, VIEWS[0], SENDERS[0], first, 0, [b"ab%d" % first, b"cd%d" % first], 6))
        buffer[: len(frame)] = frame
        yield buffer[: len(frame)]
        buffer[:] = bytes(len(buffer))


def test_what_was_read_does_not_change_with_the_buffer() -> None:
    [decoded] = coalescer(Codec("g", ME).decode)(rewritten(Codec("g", SENDERS[0])))
    assert not isinstance(decoded, Drop) and isinstance(decoded[1], Run)
    assert decoded[1].items == [b"ab1", b"cd1", b"ab3", b"cd3", b"ab5", b"cd5"]


def test_an_error_of_the_reader_or_of_the_decoder_comes_out_and_leaves_nothing_behind() -> None:
    def broken(frame: Frame) -> Decoded:
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        coalescer(broken)([b"x"])
    with pytest.raises(TypeError):
        coalescer(Codec("g", ME).decode)(["text"])  # type: ignore[list-item]


def test_a_coalescer_that_was_given_nothing_says_so() -> None:
    empty = native.Coalescer.__new__(native.Coalescer)
    with pytest.raises(RuntimeError, match="never given its parts"):
        empty([b"x"])


def test_a_coalescer_lets_go_of_what_it_was_given() -> None:
    class Decoder:
        def __init__(self) -> None:
            self.again = native.Coalescer(self.decode, join, Run, Piece, Channel.GROUP, Ack, Highest)

        def decode(self, frame: Frame) -> Decoded:
            return Drop("nonsense", None)

    decoder = Decoder()
    gone = weakref.ref(decoder)
    assert decoder.again([b"x", b"y"]) == [Drop("nonsense", None)] * 2
    del decoder
    gc.collect()
    assert gone() is None
