"""Seals and opens frames: AES-256-GCM, one call per frame, under a key of this process's session.

    "RS" | version 1 | 0 | group 4 | key name 4 | salt 16 | incarnation 8 | epoch 4 | check 4
    number 4 | the frame, encrypted | tag 16

Everything before the frame is authenticated with it (additional data). The first line is the *session*:
its key is derived by HKDF from the shared key with the salt, which is random, and with the session's bytes and the
group's whole name; so no two processes, incarnations or epochs share a key, whatever the clock says, and the number
alone is the nonce. An epoch ends after `EPOCH_FRAMES`, with a new incarnation, and with a new primary key.

Its check is a keyed checksum of what stands before it, under a key that is derived once from the shared key: a session
that was made up is refused for the price of one short hash, and no key is derived for it. The check keeps floods cheap
and proves nothing; that a frame is genuine is told by its tag alone.

A frame is taken once: of each session the numbers that came are remembered, and of each process the two latest epochs.
Of frames that are not genuine nothing is remembered but the last few ciphers that were derived for them.
A child of fork seals nothing: it would repeat numbers.
Not an identity: whoever holds the key can seal in anybody's name.
"""

from __future__ import annotations

import itertools
import struct
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2s
from typing import TYPE_CHECKING
from zlib import crc32

from ringcast.errors import ConfigError, UsageError
from ringcast.security.keyring import Key, Keyring
from ringcast.security.replay import SIZE, new_window

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Frame = bytes | memoryview

MAGIC = b"RS"
VERSION = 2  # 1 had no check
SALT_BYTES = 16
EPOCH_FRAMES = 1 << 24  # of full size, far below what GCM stands under one key
MOST_SESSIONS = 512  # of others, remembered with a window of 64 KiB each; those used last stay
MOST_ENDED = 16_384  # processes whose sessions were forgotten: of each how far it had come
MOST_TRIED = 64  # sessions of which nothing genuine came yet

_BEGIN = struct.Struct("<2sBBI4s")
_REST = struct.Struct("<QI")
CHECK_BYTES = 4
_NUMBER = struct.Struct("<I")
_pack, _unpack = _NUMBER.pack, _NUMBER.unpack
_GROUP_AT, _KEY_AT, _SALT_AT = 4, 8, 12
_CHECK_AT = _BEGIN.size + SALT_BYTES + _REST.size
SESSION_BYTES = _CHECK_AT + CHECK_BYTES
HEAD_BYTES = SESSION_BYTES + _NUMBER.size
TAG_BYTES = 16
OVERHEAD = HEAD_BYTES + TAG_BYTES
_NONCE_START = bytes(8)
_LARGEST = 65_536
_NO_WINDOW = array("I")

NOT_SEALED = "not encrypted, and this member takes only what is"
TRUNCATED = "cut off before the end of its seal"
OTHER_VERSION = "sealed by another version"
OTHER_GROUP = "sealed for another group"
UNKNOWN_KEY = "sealed with a key that is not in this member's keyring"
RETIRED_KEY = "sealed with a key that was retired"
NOT_GENUINE = "changed on the way, or forged"
REPLAYED = "seen before"
TOO_OLD = "too old to tell whether it was seen before"

REASONS = (
    *(NOT_SEALED, TRUNCATED, OTHER_VERSION, OTHER_GROUP, UNKNOWN_KEY, RETIRED_KEY),
    *(NOT_GENUINE, REPLAYED, TOO_OLD),
)


class _Sending:
    """The session that this process seals with. Replaced as a whole: two threads use it."""

    __slots__ = ("encrypt", "numbers", "session")

    def __init__(self, cipher: AESGCM, session: bytes) -> None:
        self.encrypt = cipher.encrypt
        self.session = session
        # For two threads. next() is one step under the lock of the interpreter; without that lock it has its own.
        self.numbers: Iterator[int] = itertools.count(1) if _has_global_lock() else _LockedCount()


class _LockedCount(Iterator[int]):
    """1, 2, ... for any number of threads: a number that is given twice would break the encryption of two frames."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def __next__(self) -> int:
        with self._lock:
            return next(self._numbers)


def _has_global_lock() -> bool:
    """No in a build of Python with free threads, from 3.13 on."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


class _Receiving:
    """A session of another process."""

    __slots__ = ("came", "decrypt_into", "latest", "seen_at")

    def __init__(self, cipher: AESGCM) -> None:
        self.decrypt_into = cipher.decrypt_into
        self.came = _NO_WINDOW  # until something came that is genuine (replay.py)
        self.latest = 0  # the highest number that was taken
        self.seen_at = 0  # which one that was when it was last spared


class _Opener:
    """A key of the keyring as it is used for sessions of others."""

    __slots__ = ("_check", "key")

    def __init__(self, key: Key, group: bytes) -> None:
        self.key = key
        self._check = blake2s(key=_check_key(key.secret), digest_size=CHECK_BYTES)
        self._check.update(group + b"\0")

    def check(self, session: bytes) -> bytes:
        """Of a session's bytes up to its check."""
        check = self._check.copy()
        check.update(session)
        return check.digest()


class Seal:
    """One process's seal in one group. `random_bytes` gives the salt."""

    overhead = OVERHEAD

    def __init__(
        self, group: str, keyring: Keyring, random_bytes: Callable[[int], bytes], incarnation: int = 0
    ) -> None:
        self._name = group.encode()
        self._group = crc32(self._name)
        self._group_bytes = self._group.to_bytes(4, "little")
        self._salt = random_bytes(SALT_BYTES)
        self._incarnation = incarnation
        self._epoch = 0
        self._lock = threading.Lock()
        self._sessions: OrderedDict[bytes, _Receiving] = OrderedDict()
        self._tried: OrderedDict[bytes, _Receiving] = OrderedDict()
        self._epochs: dict[bytes, dict[int, bytes]] = {}  # by salt: the latest epoch and the one before, with sessions
        self._ended: OrderedDict[bytes, dict[int, int]] = OrderedDict()  # by salt: forgotten epochs, and their latest
        self._buffer = memoryview(bytearray(_LARGEST))
        self._keyring = keyring
        self._openers = self._openers_of(keyring)
        self._sending: _Sending | None = self._new_session()

    def __repr__(self) -> str:
        return f"Seal(key {self._keyring.primary.name}, epoch {self._epoch})"

    @property
    def keyring(self) -> Keyring:
        return self._keyring

    @property
    def epoch(self) -> int:
        return self._epoch

    def set_incarnation(self, incarnation: int) -> None:
        """From now on this incarnation speaks."""
        with self._lock:
            self._incarnation = incarnation
            self._renew()

    def use(self, keyring: Keyring) -> None:
        """Another keyring: what it does not hold is no longer opened, and its primary key is sealed with."""
        with self._lock:
            is_other = keyring.primary != self._keyring.primary
            self._keyring, self._openers = keyring, self._openers_of(keyring)
            self._tried.clear()
            for session in [s for s in self._sessions if s[_KEY_AT:_SALT_AT] not in self._openers]:
                self._forget(session)
            if is_other:
                self._renew()

    def on_forked(self) -> None:
        """In the child: it would repeat the numbers of its parent."""
        self._sending = None
        self._lock = threading.Lock()

    # ---- sealing

    def seal(self, frame: bytes) -> bytes:
        sending = self._sending
        if sending is None:
            raise UsageError("this process was forked from the one that joined: it has no key of its own")
        number = next(sending.numbers)
        if number > EPOCH_FRAMES:
            with self._lock:
                if self._sending is sending:
                    self._renew()
            return self.seal(frame)
        packed = _pack(number)
        head = sending.session + packed
        return head + sending.encrypt(_NONCE_START + packed, frame, head)

    def _renew(self) -> None:
        if self._sending is not None:
            self._epoch += 1
            self._sending = self._new_session()

    def _new_session(self) -> _Sending:
        key = self._keyring.primary
        name = bytes.fromhex(key.name)
        begin = _BEGIN.pack(MAGIC, VERSION, 0, self._group, name)
        session = begin + self._salt + _REST.pack(self._incarnation, self._epoch)
        session += self._openers[name].check(session)
        return _Sending(self._cipher(key, session), session)

    def _cipher(self, key: Key, session: bytes) -> AESGCM:
        derive, cipher = _primitives()
        salt = session[_SALT_AT : _SALT_AT + SALT_BYTES]
        return cipher(derive(key.secret, salt, b"ringcast session 1\0" + session + self._name))

    def _openers_of(self, keyring: Keyring) -> dict[bytes, _Opener]:
        return {bytes.fromhex(key.name): _Opener(key, self._name) for key in keyring.keys}

    # ---- opening

    def open(self, sealed: Frame) -> Frame | str:
        """The frame, valid until the next call; or why it is none."""
        head = bytes(sealed[:HEAD_BYTES])
        size = len(sealed) - OVERHEAD
        receiving = self._sessions.get(head[:SESSION_BYTES])
        if receiving is None or size < 0:
            return self._open_first(sealed, head)
        packed = head[SESSION_BYTES:]
        (number,) = _unpack(packed)
        came, at = receiving.came, number % SIZE
        if came[at] >= number:
            return REPLAYED if came[at] == number else TOO_OLD
        clear = self._buffer[:size]
        try:
            receiving.decrypt_into(_NONCE_START + packed, sealed[HEAD_BYTES:], head, clear)
        except Exception:  # InvalidTag, or too long for the buffer; nothing of this frame is used
            return NOT_GENUINE
        came[at] = number
        if number > receiving.latest:
            receiving.latest = number
        return clear

    def _open_first(self, sealed: Frame, head: bytes) -> Frame | str:
        """Of a session that is not known yet. Nothing is kept of it before a frame of it is genuine."""
        if len(sealed) < OVERHEAD:
            return TRUNCATED if head[:2] == MAGIC else NOT_SEALED
        session = head[:SESSION_BYTES]
        receiving = self._stranger(session)
        if isinstance(receiving, str):
            return receiving
        packed = head[SESSION_BYTES:]
        clear = self._buffer[: len(sealed) - OVERHEAD]
        try:
            receiving.decrypt_into(_NONCE_START + packed, sealed[HEAD_BYTES:], head, clear)
        except Exception:  # as in `open`
            return NOT_GENUINE
        (number,) = _unpack(packed)
        salt, epoch = _process_of(session)
        before = self._ended.get(salt, {}).get(epoch, 0)
        if number <= before:  # of a session that was forgotten: this one may have come then
            return TOO_OLD
        receiving.came = new_window(before)  # only now: whoever forges must not make us allocate
        receiving.came[number % SIZE] = receiving.latest = number
        self._remember(session, receiving)
        return clear

    def peek(self, sealed: bytes) -> bytes | None:
        """What a frame holds, whether or not it came before, and without a trace of it; None if it is not genuine."""
        session = sealed[:SESSION_BYTES]
        opener = self._openers.get(session[_KEY_AT:_SALT_AT])
        if opener is None or len(sealed) < OVERHEAD:
            return None
        head = sealed[:HEAD_BYTES]
        try:
            return self._cipher(opener.key, session).decrypt(
                _NONCE_START + head[SESSION_BYTES:], sealed[HEAD_BYTES:], head
            )
        except Exception:  # InvalidTag
            return None

    def _stranger(self, session: bytes) -> _Receiving | str:
        """A session that is not known yet; or why it is refused before anything is tried."""
        if session[:2] != MAGIC:
            return NOT_SEALED
        if session[2] != VERSION or session[3] != 0:
            return OTHER_VERSION
        if session[_GROUP_AT:_KEY_AT] != self._group_bytes:
            return OTHER_GROUP
        name = session[_KEY_AT:_SALT_AT]
        opener = self._openers.get(name)
        if opener is None:
            return RETIRED_KEY if name.hex() in self._keyring.retired else UNKNOWN_KEY
        if opener.check(session[:_CHECK_AT]) != session[_CHECK_AT:]:
            return NOT_GENUINE
        salt, epoch = _process_of(session)
        if epoch < max((*self._epochs.get(salt, ()), *self._ended.get(salt, ())), default=0) - 1:
            return TOO_OLD
        return self._tried.get(session) or self._try(opener.key, session)

    def _try(self, key: Key, session: bytes) -> _Receiving:
        """Made by a holder of the key once; whether this frame of it is genuine is not known yet."""
        while len(self._tried) >= MOST_TRIED:
            self._tried.popitem(last=False)
        receiving = self._tried[session] = _Receiving(self._cipher(key, session))
        return receiving

    def _remember(self, session: bytes, receiving: _Receiving) -> None:
        self._tried.pop(session, None)
        salt, epoch = _process_of(session)
        epochs = self._epochs.setdefault(salt, {})
        epochs[epoch] = session
        for past in [past for past in epochs if past < max(epochs) - 1]:
            self._sessions.pop(epochs.pop(past), None)
        receiving.seen_at = receiving.latest
        self._sessions[session] = receiving
        while len(self._sessions) > MOST_SESSIONS:
            self._forget_one()

    def _forget_one(self) -> None:
        """The oldest that has said nothing new since it was last looked at."""
        while True:
            session, receiving = next(iter(self._sessions.items()))
            if receiving.seen_at == receiving.latest:
                self._end(session, receiving.latest)
                return self._forget(session)
            receiving.seen_at = receiving.latest
            self._sessions.move_to_end(session)

    def _end(self, session: bytes, latest: int) -> None:
        """Keep how far a session had come that is forgotten: nothing of it is taken twice if it speaks again."""
        salt, epoch = _process_of(session)
        ended = self._ended.pop(salt, {}) | {epoch: latest}
        self._ended[salt] = {known: at for known, at in ended.items() if known >= max(ended) - 1}
        while len(self._ended) > MOST_ENDED:
            self._ended.popitem(last=False)

    def _forget(self, session: bytes) -> None:
        del self._sessions[session]
        salt, epoch = _process_of(session)
        epochs = self._epochs[salt]
        del epochs[epoch]
        if not epochs:
            del self._epochs[salt]


def _process_of(session: bytes) -> tuple[bytes, int]:
    """Its salt and its epoch."""
    at = _SALT_AT + SALT_BYTES
    return session[_SALT_AT:at], _REST.unpack_from(session, at)[1]


def is_sealed(frame: Frame) -> bool:
    return bytes(frame[:2]) == MAGIC


def _check_key(secret: bytes) -> bytes:
    return _primitives()[0](secret, b"", b"ringcast session check 1\0")


@cache
def _primitives() -> tuple[Callable[[bytes, bytes, bytes], bytes], type[AESGCM]]:
    """HKDF-SHA256, which derives a key from a secret, a salt and what else it belongs to; and the cipher."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise ConfigError("a key needs the package cryptography: pip install 'cryptography>=47'") from None
    return lambda secret, salt, info: HKDF(SHA256(), 32, salt, info).derive(secret), AESGCM
