"""What is known about one peer's life: when it was heard, how far its core loop has come, what is doubted.

A peer is trusted, doubted (the direct question was put, its answer awaited) or suspected. Each doubt has a reason, and
only what speaks against that reason ends it: a heartbeat shows that a process lives, not that its loop turns.
Not a timer: the detector asks at its deadlines.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringcast.core.failure.decisions import Reason


@dataclass(slots=True)
class Health:
    heard_ns: int
    progressed_ns: int
    progress: int | None = None  # none yet: it sends us no heartbeats
    is_slow: bool = False
    doubt: Reason | None = None
    is_suspected: bool = False
    since_ns: int = 0  # when the doubt began; then when the suspicion was raised last
    asked_ns: int = 0
    was_told: bool = False  # the doubt came from another member
    is_unheard: bool = False  # others hear it and we do not
    vouched_ns: int | None = None  # when another member said last that it hears this peer, since the doubt began
    complained_ns: int = 0

    def doubt_it(self, now_ns: int, reason: Reason, *, told: bool = False) -> None:
        self.doubt, self.is_suspected, self.was_told = reason, False, told
        self.since_ns = self.asked_ns = now_ns
        self.vouched_ns = None

    def suspect(self, now_ns: int, reason: Reason) -> None:
        self.doubt, self.is_suspected, self.since_ns = reason, True, now_ns

    def trust(self) -> None:
        self.doubt, self.is_suspected, self.was_told = None, False, False
        self.is_unheard, self.vouched_ns = False, None

    def note_progress(self, now_ns: int, progress: int) -> bool:
        """True if the core loop has turned since the last heartbeat."""
        if progress == self.progress:
            return False
        self.progress, self.progressed_ns = progress, now_ns
        return True

    def forgive(self, now_ns: int, slept_ns: int) -> None:
        """We slept ourselves; what we did not hear meanwhile says nothing about the peer."""
        self.heard_ns = min(now_ns, self.heard_ns + slept_ns)
        self.progressed_ns = min(now_ns, self.progressed_ns + slept_ns)
        self.since_ns = min(now_ns, self.since_ns + slept_ns)
        self.asked_ns = min(now_ns, self.asked_ns + slept_ns)
        self.complained_ns = min(now_ns, self.complained_ns + slept_ns)
        if self.vouched_ns is not None:
            self.vouched_ns = min(now_ns, self.vouched_ns + slept_ns)
