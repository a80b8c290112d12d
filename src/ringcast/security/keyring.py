"""A keyring: the keys that a group's members share, as a value and as text.

    ringcast keyring 1
    primary 8f3a12cd <32 bytes in base64>     what this member seals with
    accepted 77aa01b2 <32 bytes in base64>    what it opens too
    retired 0c4d9e11                          what it no longer opens; only the name is left

A key's name is derived from it one way, so names may be shown, logged and sent in clear. A secret is never part of a
`repr`, an error or a log line.
Changing the key of a running group: add the new one everywhere, then make it primary everywhere, then retire the old
one everywhere; at each moment everybody opens what anybody seals.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass, field

from ringcast.errors import ConfigError, UsageError

SECRET_BYTES = 32
NAME_BYTES = 4
MOST_KEYS = 64
MOST_RETIRED = 64
FIRST_LINE = "ringcast keyring 1"


@dataclass(frozen=True, slots=True)
class Key:
    """One secret. Its name says nothing of it."""

    secret: bytes = field(repr=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:
            raise ConfigError(
                f"a key has {SECRET_BYTES} bytes, not {len(self.secret)}; make one: ringcast key new -o FILE"
            )
        named = hashlib.sha256(b"ringcast key name 1\0" + self.secret).digest()
        object.__setattr__(self, "name", named[:NAME_BYTES].hex())


@dataclass(frozen=True, slots=True)
class Keyring:
    """`keys[0]` is the primary one."""

    keys: tuple[Key, ...]
    retired: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.keys:
            raise ConfigError("a keyring needs at least one key; make one: ringcast key new -o FILE")
        if len(self.keys) > MOST_KEYS:
            raise ConfigError(f"a keyring holds at most {MOST_KEYS} keys, not {len(self.keys)}")
        if len({key.name for key in self.keys}) < len(self.keys):
            raise ConfigError("a keyring holds each key once")

    @property
    def primary(self) -> Key:
        return self.keys[0]

    def find(self, name: str) -> Key:
        """By its name or the beginning of it."""
        found = [key for key in self.keys if name and key.name.startswith(name)]
        if len(found) != 1:
            names = ", ".join(key.name for key in self.keys)
            raise UsageError(f"{'several keys begin' if found else 'no key begins'} with {name!r}; there are {names}")
        return found[0]

    # ---- changes, each a new keyring

    def with_added(self, key: Key) -> Keyring:
        """The key is opened from now on, and not yet sealed with."""
        return Keyring((*self.keys, key), self.retired)

    def with_primary(self, name: str) -> Keyring:
        chosen = self.find(name)
        return Keyring((chosen, *(key for key in self.keys if key is not chosen)), self.retired)

    def with_retired(self, name: str) -> Keyring:
        """The key is forgotten; only its name stays."""
        chosen = self.find(name)
        if chosen is self.primary:
            raise UsageError(f"{chosen.name} is the primary key: make another primary first (ringcast key primary)")
        kept = tuple(key for key in self.keys if key is not chosen)
        return Keyring(kept, (*self.retired, chosen.name)[-MOST_RETIRED:])

    # ---- text

    def as_text(self) -> str:
        lines = [FIRST_LINE]
        for key in self.keys:
            kind = "primary" if key is self.primary else "accepted"
            lines.append(f"{kind} {key.name} {base64.b64encode(key.secret).decode()}")
        lines += [f"retired {name}" for name in self.retired]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str = "this text") -> Keyring:
        """Errors name the line, never what is in it."""
        lines = text.splitlines()
        if not lines or lines[0].strip() != FIRST_LINE:
            raise ConfigError(f"{where} is not a keyring; make one: ringcast key new -o FILE")
        keys: list[Key] = []
        retired: list[str] = []
        for number, line in enumerate(lines[1:], 2):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "retired" and len(words) == 2:
                retired.append(words[1])
                continue
            key = _key_of(words)
            if key is None or (words[0] == "primary") is bool(keys):
                raise ConfigError(
                    f"line {number} of {where} is not right: one primary key first, then accepted, retired"
                )
            keys.append(key)
        return cls(tuple(keys), tuple(retired[-MOST_RETIRED:]))


def new_key() -> Key:
    return Key(os.urandom(SECRET_BYTES))


def is_like_a_key(text: str) -> bool:
    """Does a word of it hold as many bytes as a key, in base64 or in hex? Such a text is not repeated in errors."""
    for word in text.split():
        for decode in (base64.b64decode, base64.urlsafe_b64decode, bytes.fromhex):
            try:
                if len(decode(word)) == SECRET_BYTES:
                    return True
            except ValueError:
                pass
    return False


def _key_of(words: list[str]) -> Key | None:
    if len(words) != 3 or words[0] not in ("primary", "accepted"):
        return None
    try:
        key = Key(base64.b64decode(words[2], validate=True))
    except (binascii.Error, ConfigError):
        return None
    return key if key.name == words[1] else None
