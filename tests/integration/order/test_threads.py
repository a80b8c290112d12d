"""O01 with real threads and real sockets: writers in ten threads over three members, one order for all."""

import threading
from contextlib import ExitStack

from ringcast import TOTAL, Message, profile, sync

WRITERS, EACH = 10, 50


def read(group: sync.Group, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        event = group.receive(timeout=60)
        if isinstance(event, Message):
            found.append(event.payload)
    return found


def write(group: sync.Group, writer: int) -> None:
    for number in range(EACH):
        group.send(f"{writer}:{number}".encode(), order=TOTAL, timeout=60)


def test_o01_ten_threads_of_fifty_messages_over_three_members_are_read_in_one_order() -> None:
    with ExitStack() as stack:
        first = stack.enter_context(sync.join("o01", name="A", config=profile("local"), inspect=False))
        others = [
            stack.enter_context(
                sync.join("o01", name=name, seeds=[first.me.endpoint], config=profile("local"), inspect=False)
            )
            for name in "BC"
        ]
        groups = [first, *others]
        while len(first.members) < 3:
            first.receive(timeout=60)
        orders: dict[int, list[bytes]] = {}
        readers = [
            threading.Thread(target=lambda at=at: orders.update({at: read(groups[at], WRITERS * EACH)}), daemon=True)
            for at in range(3)
        ]
        writers = [threading.Thread(target=write, args=(groups[w % 3], w), daemon=True) for w in range(WRITERS)]
        for thread in (*readers, *writers):
            thread.start()
        for thread in (*writers, *readers):
            thread.join(timeout=120)
        assert sorted(orders) == [0, 1, 2] and orders[0] == orders[1] == orders[2]
        for writer in range(WRITERS):
            mine = [payload for payload in orders[0] if payload.startswith(b"%d:" % writer)]
            assert mine == [f"{writer}:{number}".encode() for number in range(EACH)]
