"""A group that its application forgets: noticed, said, and left.

Whatever keeps a group going refers to it: sockets, timers, the operator's socket. It would stay a member as long as its
loop runs, and nobody could ever read or close it. So the application gets an object of its own, which has everything in
common with the one that all those refer to. Nothing but the application and what it reads from refers to it; when it
is collected without having been closed, the member leaves in good order.
"""

from __future__ import annotations

import asyncio
import logging
import weakref

from ringcast.runtime.group import Group

_log = logging.getLogger("ringcast")
_leaving: set[asyncio.Task[None]] = set()  # the loop refers to its tasks weakly


def given_to_application(group: Group) -> Group:
    """The same group, as an object that nobody else refers to."""
    held = object.__new__(Group)
    held.__dict__ = group.__dict__ = dict(group.__dict__)  # of its own: CPython 3.13 takes values kept in the first
    # object for garbage with it, though the second one shows them
    watch = weakref.finalize(held, _on_dropped, weakref.ref(group))  # what keeps it going refers to it, this does not
    watch.atexit = False  # the end of the process is told to the others by silence
    return held


def _on_dropped(seen: weakref.ref[Group]) -> None:
    """In whichever thread the collector runs."""
    group = seen()
    if group is None or group._closing is not None or group._home.is_forked or group._home.loop.is_closed():
        return
    group._home.loop.call_soon_threadsafe(_leave, group)


def _leave(group: Group) -> None:
    if group._is_going:
        return
    _log.warning(
        "%s: nobody refers to group %r any more, and it was not closed: it leaves. Keep the group, or use async with",
        group.me,
        group.name,
    )
    task = asyncio.create_task(group.leave(), name=f"ringcast leaves {group.name}")
    _leaving.add(task)
    task.add_done_callback(_leaving.discard)
