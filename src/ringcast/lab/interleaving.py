"""The order in which one member read the messages of all senders, as a number that can be compared with others'.

Each sender's own messages are checked by the tally; what is left is how they interleave. Neighbouring messages of one
sender count as one stretch, so it does not matter how they were handed over.
"""

from __future__ import annotations

from hashlib import blake2b

from ringcast.model import Batch


class Interleaving:
    def __init__(self) -> None:
        self.messages = 0
        self._hash = blake2b(digest_size=16)
        self._sender = ""
        self._stretch = 0

    def take(self, batch: Batch) -> None:
        self.messages += len(batch.payloads)
        if batch.sender.name != self._sender:
            self._close_stretch()
            self._sender = batch.sender.name
        self._stretch += len(batch.payloads)

    def _close_stretch(self) -> None:
        self._hash.update(f"{self._sender} {self._stretch},".encode())
        self._stretch = 0

    def digest(self) -> str:
        """Of everything so far; what comes later still counts."""
        so_far = self._hash.copy()
        so_far.update(f"{self._sender} {self._stretch},".encode())
        return so_far.hexdigest()
