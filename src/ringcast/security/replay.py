"""Which numbers of one sender's session have come: each is taken once.

Invariant: slot n % SIZE holds the highest number of its class that came. So a number that is higher than its slot has
never come, whatever came before it, and nothing has to be cleared when the window moves. A number that is lower than
its slot is older than the window: nobody knows whether it came, and it is refused.
A window is a plain array, which `Seal` reads and writes itself: this is on the way of every frame.
"""

from __future__ import annotations

from array import array

SIZE = 16_384
"""As many datagrams as a receive buffer holds: what waits in one socket while another is read is not too old."""


def new_window(highest: int = 0) -> array[int]:
    """Nothing above `highest` came yet, and what is not above it is refused. Numbers begin at 1 and have 32 bits."""
    return array("I", (highest,)) * SIZE
