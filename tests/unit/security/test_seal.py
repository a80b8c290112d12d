"""Sealed frames: opened once by whoever holds the key, refused with the reason by everybody else."""

import itertools
import sys
import threading

import pytest

from ringcast.errors import UsageError
from ringcast.security import OVERHEAD, Key, Keyring, Seal, replay, seal

OLD, NEW = Key(b"o" * 32), Key(b"n" * 32)
RING = Keyring((OLD,))
_salts = itertools.count(1)


def make(keyring: Keyring = RING, group: str = "g") -> Seal:
    return Seal(group, keyring, lambda size: next(_salts).to_bytes(size, "big"), incarnation=7)


def opened(by: Seal, frame: bytes) -> bytes | str:
    clear = by.open(memoryview(frame))
    return clear if isinstance(clear, str) else bytes(clear)


@pytest.mark.parametrize("size", [0, 1, 1_340, 65_000])
def test_a_frame_arrives_as_it_was(size: int) -> None:
    frame = bytes(size)
    sealed = make().seal(frame)
    assert len(sealed) == size + OVERHEAD and opened(make(), sealed) == frame


def test_the_same_frame_is_never_sealed_alike() -> None:
    one, two = make(), make()
    assert len({one.seal(b"same"), one.seal(b"same"), two.seal(b"same")}) == 3


def test_a_frame_is_taken_once() -> None:
    sender, receiver = make(), make()
    first, second = sender.seal(b"1"), sender.seal(b"2")
    assert [opened(receiver, frame) for frame in (second, first, first, second)] == [
        *(b"2", b"1"),
        *(seal.REPLAYED, seal.REPLAYED),
    ]


def test_what_is_older_than_the_window_is_refused() -> None:
    sender, receiver = make(), make()
    first = sender.seal(b"first")
    assert sender._sending is not None
    sender._sending.numbers = itertools.count(1 + replay.SIZE)
    last = sender.seal(b"")
    assert opened(receiver, last) == b"" and opened(receiver, first) == seal.TOO_OLD


def test_every_changed_bit_is_refused_and_changes_nothing() -> None:
    sender, receiver = make(), make()
    sealed = sender.seal(b"payload")
    for bit in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        assert opened(receiver, bytes(changed)) in seal.REASONS
    assert not receiver._sessions and not receiver._epochs
    assert opened(receiver, sealed) == b"payload"


def test_every_length_but_its_own_is_refused() -> None:
    sender, receiver = make(), make()
    sealed = sender.seal(b"payload")
    for size in range(len(sealed)):
        assert opened(receiver, sealed[:size]) in seal.REASONS
    assert opened(receiver, sealed + b"\0") == seal.NOT_GENUINE
    assert opened(receiver, sealed) == b"payload"


def test_each_refusal_has_its_reason() -> None:
    receiver = make(Keyring((NEW,), (OLD.name,)))
    assert opened(receiver, make(Keyring((Key(b"x" * 32),))).seal(b"a")) == seal.UNKNOWN_KEY
    assert opened(receiver, make().seal(b"a")) == seal.RETIRED_KEY
    assert opened(receiver, make(Keyring((NEW,)), "other").seal(b"a")) == seal.OTHER_GROUP
    assert opened(receiver, b"RC" + bytes(100)) == seal.NOT_SEALED
    assert opened(receiver, b"RC") == seal.NOT_SEALED
    assert opened(receiver, b"RS" + bytes(10)) == seal.TRUNCATED
    assert opened(receiver, b"RS\x03" + bytes(100)) == seal.OTHER_VERSION


def test_no_cipher_is_derived_for_a_session_that_was_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver, genuine = make(), make().seal(b"a")
    derived = _count_derivations(receiver, monkeypatch)
    for byte in range(seal.SESSION_BYTES):
        assert opened(receiver, genuine[:byte] + bytes([genuine[byte] ^ 1]) + genuine[byte + 1 :]) in seal.REASONS
    forger = make(Keyring((Key(b"f" * 32),))).seal(b"a")
    assert opened(receiver, forger[:8] + bytes.fromhex(OLD.name) + forger[12:]) == seal.NOT_GENUINE
    assert derived == [] and not receiver._tried


def test_a_true_session_with_forged_frames_is_derived_once_and_a_few_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiver = make()
    derived = _count_derivations(receiver, monkeypatch)
    genuine = [make().seal(b"a") for _ in range(2 * seal.MOST_TRIED)]
    for frame in genuine:
        for _ in range(3):
            assert opened(receiver, frame[:-1] + bytes([frame[-1] ^ 1])) == seal.NOT_GENUINE
    assert len(derived) == len(genuine) and len(receiver._tried) == seal.MOST_TRIED
    assert not receiver._sessions and not receiver._epochs
    assert [opened(receiver, frame) for frame in genuine] == [b"a"] * len(genuine)
    assert not receiver._tried


def _count_derivations(receiver: Seal, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    derived: list[bytes] = []
    cipher = receiver._cipher

    def counted(key: Key, session: bytes) -> object:
        derived.append(session)
        return cipher(key, session)

    monkeypatch.setattr(receiver, "_cipher", counted)
    return derived


def test_the_groups_whole_name_counts_not_its_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "crc32", lambda name: 1)
    assert opened(make(group="g"), make(group="other").seal(b"a")) == seal.NOT_GENUINE


def test_the_key_changes_while_frames_are_on_their_way() -> None:
    sender, receiver = make(), make()
    before = sender.seal(b"before")
    both = RING.with_added(NEW)
    for one in (sender, receiver):
        one.use(both)
    sender.use(both.with_primary(NEW.name))
    after = sender.seal(b"after")
    assert opened(receiver, after) == b"after" and opened(receiver, before) == b"before"
    last = make().seal(b"old")
    receiver.use(both.with_primary(NEW.name).with_retired(OLD.name))
    assert opened(receiver, last) == seal.RETIRED_KEY
    assert opened(receiver, before) == seal.RETIRED_KEY


def test_an_epoch_ends_before_its_numbers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "EPOCH_FRAMES", 3)
    sender, receiver = make(), make()
    frames = [sender.seal(bytes([number])) for number in range(10)]
    assert sender.epoch == 3 and [opened(receiver, frame) for frame in frames] == [bytes([n]) for n in range(10)]
    assert opened(receiver, frames[0]) == seal.TOO_OLD, "two epochs ago"
    assert opened(receiver, frames[8]) == seal.REPLAYED, "the epoch before"
    assert len(receiver._sessions) == 2


def test_a_new_incarnation_has_a_key_of_its_own() -> None:
    sender = make()
    before = sender.seal(b"a")
    sender.set_incarnation(8)
    assert before[: seal.SESSION_BYTES] != sender.seal(b"a")[: seal.SESSION_BYTES]


def test_sessions_are_bounded_and_those_that_speak_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "MOST_SESSIONS", 8)
    receiver, lasting = make(), make()
    first = lasting.seal(b"x")
    assert opened(receiver, first) == b"x"
    for _ in range(50):
        assert opened(receiver, make().seal(b"y")) == b"y"
        assert opened(receiver, lasting.seal(b"x")) == b"x"
    assert len(receiver._sessions) == len(receiver._epochs) == 8
    assert opened(receiver, first) == seal.REPLAYED


def test_a_child_of_fork_seals_nothing() -> None:
    sender = make()
    sender.on_forked()
    with pytest.raises(UsageError, match="forked"):
        sender.seal(b"a")
    sender.set_incarnation(9)
    with pytest.raises(UsageError):
        sender.seal(b"a")


def test_a_seal_shows_no_secret() -> None:
    assert repr(make()) == f"Seal(key {OLD.name}, epoch 0)"


RECORDED = (
    "52530200761bd4019ded5d91000102030405060708090a0b0c0d0e0f0700000000000000"
    "00000000c1d0dce2010000007745a814f82daab5758e47fca4fb78a061277d574ddc7bbc"
)
RECORDED_OF_VERSION_1 = (
    "52530100761bd4019ded5d91000102030405060708090a0b0c0d0e0f0700000000000000"
    "000000000100000083208e2dde61a66468655d77666e1d9a23bcb51124681053"
)


def test_a_recorded_frame_is_still_sealed_and_opened_alike() -> None:
    """The layout and the derivation of keys have not moved: members of before can be spoken to."""
    sender = Seal("g", RING, lambda size: bytes(range(size)), incarnation=7)
    assert sender.seal(b"recorded").hex() == RECORDED
    assert opened(make(), bytes.fromhex(RECORDED)) == b"recorded"
    assert opened(make(), bytes.fromhex(RECORDED_OF_VERSION_1)) == seal.OTHER_VERSION


def test_what_was_forgotten_for_others_is_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who recorded many sessions replays them: those that had to make room came back as if they were new."""
    monkeypatch.setattr(seal, "MOST_SESSIONS", 8)
    receiver, recorded = make(), make()
    frames = [recorded.seal(b"%d" % number) for number in range(5)]
    assert [opened(receiver, frame) for frame in frames[:4]] == [b"0", b"1", b"2", b"3"]
    for _ in range(2 * 8):
        opened(receiver, make().seal(b"y"))
    assert [opened(receiver, frame) for frame in frames] == [seal.TOO_OLD] * 4 + [b"4"]
    assert not {opened(receiver, frame) for frame in frames} - {seal.TOO_OLD, seal.REPLAYED}


def test_an_epoch_before_those_that_were_forgotten_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "MOST_SESSIONS", 2)
    receiver, sender = make(), make()
    first = sender.seal(b"in the first epoch")
    for incarnation in (8, 9, 10):
        sender.set_incarnation(incarnation)
        opened(receiver, sender.seal(b"x"))
    for _ in range(4):
        opened(receiver, make().seal(b"y"))
    assert not receiver._epochs.keys() & receiver._ended.keys()
    assert opened(receiver, first) == seal.TOO_OLD


def test_sessions_of_others_take_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 recorded sessions, one frame of each, cost 135 MB."""
    monkeypatch.setattr(seal, "MOST_ENDED", 100)
    receiver = make()
    for _ in range(seal.MOST_SESSIONS + 150):
        assert opened(receiver, make().seal(b"y")) == b"y"
    held = sum(receiving.came.itemsize * len(receiving.came) for receiving in receiver._sessions.values())
    assert held <= 32 << 20
    assert len(receiver._ended) == 100


def test_without_a_global_lock_two_threads_never_get_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    sender = make()
    numbers = sender._sending.numbers  # type: ignore[union-attr]
    assert isinstance(numbers, seal._LockedCount)
    taken: list[list[int]] = [[], []]
    threads = [threading.Thread(target=lambda of=of: of.extend(itertools.islice(numbers, 20_000))) for of in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken[0] + taken[1]) == list(range(1, 40_001))
    assert opened(make(), sender.seal(b"x")) == b"x"
