"""Which ordered messages readers were given and are still handling.

A message is handled when its reader asks for the next event, leaves its loop, or ends. A reader is a loop over the
group (known by its iterator, which goes with the loop), or a task or thread that calls `receive`.
Not what was read: that is the position in the one order. What has no place in the order is not looked at.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from ringcast.order import Stamp
from ringcast.runtime.readers import MOST_READERS, Caller, caller, is_gone


class Reader:
    """One loop, or one caller of `receive`."""

    __slots__ = ("__weakref__", "place", "who")

    def __init__(self) -> None:
        self.place: Stamp | None = None  # of the first ordered message that it has not handled yet
        self.who: Caller | None = None  # which task or thread was given that

    def give(self, place: object, who: Caller | None = None) -> None:
        """Note that a reader gets messages with this place in the one order; `who`, if it is not the running task."""
        if self.place is None and isinstance(place, Stamp):
            self.who = caller() if who is None else who
            self.place = place


class Handling:
    """`on_handled`: a reader has handled what it had, while somebody waits for that."""

    def __init__(self) -> None:
        self.on_handled: Callable[[], None] = lambda: None
        self.is_awaited = False
        self._loops: dict[int, weakref.ref[Reader]] = {}
        self._callers: dict[Caller, Reader] = {}

    # ---- readers

    def loop(self) -> Reader:
        """A reader for as long as the loop holds it."""
        reader = Reader()
        key = id(reader)

        def gone(_: object) -> None:
            self._loops.pop(key, None)
            self.tell()

        self._loops[key] = weakref.ref(reader, gone)
        return reader

    def caller(self, who: Caller | None) -> Reader:
        """The reader that this task or thread is when it calls `receive`."""
        if who is None:
            return Reader()
        reader = self._callers.get(who)
        if reader is None:
            for other in [other for other in list(self._callers) if is_gone(other)]:
                self._callers.pop(other, None)
            while len(self._callers) >= MOST_READERS:
                del self._callers[next(iter(self._callers))]
            reader = self._callers[who] = Reader()
        return reader

    @property
    def is_shared(self) -> bool:
        """Is there more than one reader? Then each message is given by a question, so that it is known who has it."""
        return len(self._loops) + len(self._callers) > 1

    def ask(self, reader: Reader) -> None:
        """Note that a reader asks for the next event: it has handled what it was given, in whatever form."""
        has_handled = reader.place is not None
        if self.is_shared and (who := caller()) is not None:
            if who in self._callers and self._callers[who] is not reader:
                has_handled = has_handled or self._callers.pop(who).place is not None
            for other in self._readers():
                if other.who is who:
                    other.place, other.who, has_handled = None, None, True
        reader.place = reader.who = None
        if has_handled:
            self.tell()

    def tell(self) -> None:
        """A reader has handled something."""
        if self.is_awaited:
            self.on_handled()

    # ---- who waits for them

    def waits(self, who: Caller | None) -> None:
        """This task or thread waits for others: what it was given itself counts as handled."""
        for reader in self._readers():
            if reader.who is who and who is not None:
                reader.place = reader.who = None
                self.tell()

    def busy(self, place: Stamp) -> Reader | None:
        """Somebody who still handles a message up to this place."""
        for reader in self._readers():
            at, who = reader.place, reader.who
            if at is not None and at <= place and who is not None and not is_gone(who):
                return reader
        return None

    def _readers(self) -> list[Reader]:
        loops = [reader for ref in list(self._loops.values()) if (reader := ref()) is not None]
        return [*loops, *list(self._callers.values())]
