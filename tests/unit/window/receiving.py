"""Words in which the tests of the receive window are told: each message has its own seqno as payload."""

from ringcast.window import Admitted, ReceiveWindow

Window = ReceiveWindow[int]


def window_with(*runs: int | tuple[int, int], capacity: int = 32, offset: int = 0, retain: bool = True) -> Window:
    """Each message has its own seqno as payload."""
    window: Window = ReceiveWindow(capacity, offset, retain)
    for run in runs:
        first, last = (run, run) if isinstance(run, int) else run
        add(window, first, last)
    return window


def add(window: Window, first: int, last: int | None = None) -> Admitted:
    return window.add_run(first, list(range(first, (first if last is None else last) + 1)))


def marks(window: Window) -> tuple[int, int, int]:
    """[low|delivered|high] in the notation of the scenarios."""
    window.check()
    return window.freed, window.handed, window.highest


def drain(window: Window) -> list[int]:
    """Take everything and read it."""
    first, items = window.take_ready()
    window.mark_taken(first + len(items) - 1)
    return items


def state(window: Window) -> tuple[object, ...]:
    held = [window.get_run(seqno, seqno) for seqno in range(window.freed + 1, window.freed + window.capacity + 1)]
    return (
        *marks(window),
        window.stable,
        window.taken,
        window.ready,
        window.limit,
        window.is_orphaned,
        window.capacity,
        held,
    )
