"""One Ordering by itself: facts go in, effects come out, and what it gives its streams is noted."""

from collections.abc import Sequence

from ringcast.core import Effect, Unicast
from ringcast.core.control import Staged
from ringcast.core.ordering import Ordering
from ringcast.core.ordering.envelope import Announcement, Ticks, pack_announcement
from ringcast.core.packets import Envelope, Loose
from ringcast.model import Address, View, ViewId, profile

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
TRIO = View(ViewId(1, A), (A, B, C))


class Noted:
    """The streams."""

    def __init__(self) -> None:
        self.multicasts: list[Envelope] = []
        self.posts: list[tuple[tuple[Address, ...], Envelope]] = []

    def multicast(self, now_ns: int, item: Envelope) -> list[Effect]:
        self.multicasts.append(item)
        return []

    def post(self, now_ns: int, to: Sequence[Address], item: Envelope) -> list[Effect]:
        self.posts.append((tuple(to), item))
        return []


def alone(me: Address, view: View | None = TRIO, **config: int) -> tuple[Ordering, Noted]:
    noted = Noted()
    ordering = Ordering(me, profile("test", **config), noted)
    if view is not None:
        enter(ordering, view)
    return ordering, noted


def enter(ordering: Ordering, view: View) -> None:
    ordering.on_view(view, ordering.config.capacity, ordering.config.window_bytes)


def announced(seq: int, *runs: tuple[int, int, int]) -> list[bytes]:
    """What the coordinator multicasts: runs of (rank, last number, ticks) from this counter value on."""
    return [pack_announcement(Announcement(seq, [Ticks(*run) for run in runs]))]


def acked(view: View, *upto: tuple[int, int]) -> Unicast:
    """The ack to the coordinator: (rank of the sender, number staged)."""
    assert view.coordinator is not None
    return Unicast(view.coordinator, Loose(Staged(view.id, upto)))
