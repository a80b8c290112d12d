"""The keys of one member: where they come from, how they are read again, and what an operator may know of them.

Only names of keys are shown. A keyring that cannot be read again leaves the old one in use, and the caller is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypedDict

from ringcast.errors import ConfigError, UsageError
from ringcast.runtime.forks import ends_with_fork
from ringcast.security import (
    KEY_FILE_VARIABLE,
    NOT_SEALED,
    OTHER_VERSION,
    UNKNOWN_KEY,
    Keyring,
    KeySource,
    Seal,
    read_keyring,
)
from ringcast.transport import SealedTransport, Transport, sealed_transport


class KeyMarks(TypedDict):
    """The keys of a member by name, and how often it changed the key of its session."""

    primary: str
    accepted: list[str]
    retired: list[str]
    epoch: int


class GroupKeys:
    """What one place in a group is sealed with, as long as it lives; incarnations come and go."""

    def __init__(self, group: str, source: KeySource, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self.seal = Seal(group, read_keyring(source), random_bytes)
        self._told: dict[str, int] = {}  # of each reason: how often it was told of
        self._transport: SealedTransport | None = None
        ends_with_fork(self.seal)

    def over(self, transport: Transport) -> Transport:
        self._transport = sealed_transport(transport, self.seal)
        return self._transport

    def speak_for(self, incarnation: int, on_unopened: Callable[[str, int], None]) -> None:
        """From now on this incarnation seals. It is told of what cannot be opened: reason and how many since."""
        self.seal.set_incarnation(incarnation)
        assert self._transport is not None
        counters = self._transport.counters

        def tell(reason: str) -> None:
            total = counters.lost[reason]
            told = self._told.get(reason, 0)
            if total >= 2 * told:  # doubling: whoever floods is told of a few times
                self._told[reason] = total
                on_unopened(reason, total - told)

        self._transport.on_unopened = tell

    def reload(self, source: KeySource | None = None) -> Keyring:
        """Read the keyring again, from where it came or from elsewhere."""
        chosen = self._source if source is None else source
        keyring = read_keyring(chosen)
        self._source = chosen
        self.seal.use(keyring)
        return keyring

    def status(self) -> KeyMarks:
        keyring = self.seal.keyring
        return {
            "primary": keyring.primary.name,
            "accepted": [key.name for key in keyring.keys[1:]],
            "retired": list(keyring.retired),
            "epoch": self.seal.epoch,
        }


def chosen_key(key: KeySource | None, unencrypted: bool) -> KeySource | None:
    """What was given, or what the environment names; None: frames travel in clear."""
    if unencrypted and key is not None:
        raise ConfigError("key= and unencrypted=True contradict each other: give one of them")
    if key is None and not unencrypted:
        return os.environ.get(KEY_FILE_VARIABLE) or None
    return key


_HINTS = {
    UNKNOWN_KEY: "does a process here or there have another key file? (ringcast key show FILE)",
    NOT_SEALED: "does a process have no key, or does somebody else use this port?",
    OTHER_VERSION: "members of one group need the same version of ringcast",
}


def unopened_in_words(reason: str) -> str:
    """Why frames were dropped, and what an operator may look for."""
    return f"{reason}; {_HINTS[reason]}" if reason in _HINTS else reason


def without_keys() -> UsageError:
    return UsageError("this member joined without a key: there is nothing to read again")
