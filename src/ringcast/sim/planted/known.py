"""The mistakes we know: each was made somewhere, or nearly made here."""

from __future__ import annotations

from ringcast.sim.planted.membership import MEMBERSHIP
from ringcast.sim.planted.multicast import MULTICAST

KNOWN = (*MULTICAST, *MEMBERSHIP)
