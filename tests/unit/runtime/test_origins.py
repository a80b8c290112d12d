"""Where a frame comes from, frame by frame: members, newcomers, liars and address translation."""

from __future__ import annotations

import pytest

from ringcast.core import Loose, Packet
from ringcast.core.control import AreYouThere, Hello
from ringcast.model import SECOND, Address
from ringcast.runtime import origins
from ringcast.runtime.origins import Origins
from ringcast.transport import Endpoint, Source
from ringcast.wire import Codec, OriginFrames

ME, B, X = (Address(name, 1, f"10.0.0.{number}:7000") for number, name in enumerate("MBX", 1))
AT_B, AT_X = ("10.0.0.2", 7000), ("10.0.0.3", 7000)
ELSEWHERE = ("10.0.0.9", 9)
SECRET = b"0123456789abcdef"


class Watched:
    """One place, what it sent and what it took after a proof."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.sent: list[tuple[Endpoint, bytes]] = []
        self.taken: list[bytes] = []
        self.lost: list[str] = []
        self.origins = Origins("g", SECRET, lambda: self.now_ns, self._send, self.taken.append, self.lost.append)
        self.origins.set_me(ME)
        self.origins.set_members([Endpoint(*AT_B)])

    def _send(self, to: Endpoint, frame: bytes) -> bool:
        self.sent.append((to, frame))
        return True

    def admits(self, source: Source, sender: Address, packet: Packet | None = None) -> bool:
        frame = Codec("g", sender).encode(packet or Loose(Hello()))
        return self.origins.admits(source, memoryview(frame), source)

    def prove(self, source: Source, sender: Address) -> None:
        """The process at that address answers the last challenge, from there."""
        to, challenge = self.sent[-1]
        assert str(to) == sender.endpoint
        proof = OriginFrames("g", sender).proof(challenge)
        assert proof is not None and len(proof) <= len(challenge)
        self.origins.admits(source, proof, source)


def test_a_member_is_taken_from_its_endpoint_and_from_nowhere_else() -> None:
    watched = Watched()
    assert watched.admits(AT_B, B)
    assert not watched.admits(ELSEWHERE, B)
    assert watched.lost == [origins.UNPROVED]


def test_a_newcomer_is_challenged_at_the_endpoint_it_names_and_its_first_frame_is_taken_after_the_proof() -> None:
    watched = Watched()
    assert not watched.admits(AT_X, X)
    hello = Codec("g", X).encode(Loose(Hello()))
    assert [to for to, _ in watched.sent] == [Endpoint(*AT_X)]
    assert len(watched.sent[0][1]) <= len(hello), "no more bytes than came"
    watched.prove(AT_X, X)
    assert watched.taken == [hello]
    assert watched.admits(AT_X, X) and len(watched.sent) == 1


def test_a_proof_counts_from_where_the_frame_came_only() -> None:
    watched = Watched()
    watched.admits(ELSEWHERE, B)  # in the member's name: the member gets the challenge, and answers from its own place
    watched.prove(AT_B, B)
    assert not watched.admits(ELSEWHERE, B)
    assert watched.taken == []


def test_a_member_behind_an_address_translation_is_proved_like_anybody() -> None:
    watched = Watched()
    watched.admits(ELSEWHERE, B)
    watched.prove(ELSEWHERE, B)
    assert watched.admits(ELSEWHERE, B) and watched.admits(AT_B, B)
    assert all(watched.admits(ELSEWHERE, B) for _ in range(5 * origins.OUTSIDER_PER_SECOND)), "no allowance"
    watched.origins.set_members([])
    assert not all(watched.admits(ELSEWHERE, B) for _ in range(5 * origins.OUTSIDER_PER_SECOND)), "gone: it has one"
    watched.origins.set_members([Endpoint(*AT_B)])
    assert all(watched.admits(ELSEWHERE, B) for _ in range(5 * origins.OUTSIDER_PER_SECOND)), "and is back"


def test_who_has_proved_one_endpoint_speaks_for_no_other() -> None:
    watched = Watched()
    watched.admits(AT_X, X)
    watched.prove(AT_X, X)
    assert not watched.admits(AT_X, B)


def test_a_frame_shorter_than_the_proof_is_not_answered() -> None:
    watched = Watched()
    assert not watched.admits(AT_X, X, Loose(AreYouThere()))
    assert watched.sent == []


def test_challenges_kept_frames_and_proved_endpoints_are_bounded() -> None:
    watched = Watched()
    for number in range(3_000):
        sender = Address("s", 1, f"10.1.{number // 250}.{number % 250}:7")
        watched.admits((sender.endpoint.partition(":")[0], 7), sender)
    assert len(watched.sent) == origins.PER_SECOND
    assert len(watched.origins._kept) == origins.MOST_KEPT
    for number in range(2_000):
        watched.now_ns += SECOND // origins.PER_SECOND + 1
        sender = Address("s", 1, f"10.1.{number // 250}.{number % 250}:7")
        source = (sender.endpoint.partition(":")[0], 8)
        watched.admits(source, sender)
        watched.prove(source, sender)
    assert len(watched.origins.outsiders) == origins.MOST_OUTSIDERS


def test_an_outsider_has_an_allowance_that_time_gives_back() -> None:
    watched = Watched()
    watched.admits(AT_X, X)
    watched.prove(AT_X, X)
    taken = sum(watched.admits(AT_X, X) for _ in range(10 * origins.OUTSIDER_PER_SECOND))
    assert taken == origins.OUTSIDER_PER_SECOND
    watched.now_ns += SECOND
    assert watched.admits(AT_X, X)


def test_who_was_a_member_speaks_as_an_outsider() -> None:
    watched = Watched()
    watched.origins.set_members([])
    assert watched.admits(AT_B, B) and not watched.admits(ELSEWHERE, B)


def test_what_is_for_the_process_before_this_uses_up_no_allowance() -> None:
    watched = Watched()
    watched.admits(AT_X, X)
    watched.prove(AT_X, X)
    before = ME._replace(incarnation=0)
    frame = Codec("g", X).encode(Loose(Hello()), before)
    left = sum(watched.origins.admits(AT_X, frame, AT_X) for _ in range(10 * origins.OUTSIDER_PER_SECOND))
    assert left == origins.UNREADABLE_PER_SECOND, "more of them are counted, and not looked at"
    assert watched.admits(AT_X, X)


@pytest.mark.parametrize("begin", [b"RC\x01\x01", b"RC\x09\x01", b"RS\x02\x00"])
def test_frames_that_only_the_decoder_can_name_are_named_a_few_times_a_second(begin: bytes) -> None:
    """Each of them costs a decoding: they would keep the loop as busy as frames of members, and prove nothing."""
    watched = Watched()
    frame = begin + b"another group" + bytes(40)
    taken = sum(watched.origins.admits(AT_X, frame, AT_X) for _ in range(10_000))
    assert taken == origins.UNREADABLE_PER_SECOND
    assert watched.lost == [origins.UNREADABLE] * (10_000 - taken)
    watched.now_ns += SECOND
    assert watched.origins.admits(AT_X, frame, AT_X)


def test_what_is_of_another_group_or_cut_off_is_left_to_the_decoder() -> None:
    watched = Watched()
    other = Codec("another", X).encode(Loose(Hello()))
    for frame in (b"RC", other, other[:15], b"RS" + bytes(80)):
        assert watched.origins.admits(AT_X, frame, AT_X)
    assert watched.sent == [] and watched.lost == []


def test_garbage_is_dropped_at_its_first_bytes() -> None:
    watched = Watched()
    for frame in (b"", b"R", bytes(30), b"\xff" * 1_000):
        assert not watched.origins.admits(AT_X, memoryview(frame), AT_X)
    assert watched.sent == [] and watched.lost == [origins.GARBAGE] * 4


def test_one_that_floods_does_not_use_up_the_challenges_of_newcomers() -> None:
    watched = Watched()
    for _ in range(10 * origins.PER_SECOND):
        assert not watched.admits(ELSEWHERE, B)
    assert len(watched.sent) == 1
    watched.admits(AT_X, X)
    watched.prove(AT_X, X)
    assert watched.admits(AT_X, X)
    watched.now_ns += origins.CHALLENGE_AGAIN_NS
    watched.admits(ELSEWHERE, B)
    assert len(watched.sent) == 3, "it is challenged again: an answer may be lost"


def test_challenged_sources_are_bounded() -> None:
    watched = Watched()
    for number in range(3 * origins.MOST_OUTSIDERS):
        watched.now_ns += SECOND
        watched.admits(("10.9.9.9", 1 + number), B)
    assert len(watched.origins._challenged) == origins.MOST_OUTSIDERS
