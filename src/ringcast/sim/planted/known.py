"""The mistakes we know: each was made somewhere, or nearly made here.

KNOWN are those of which it was measured that they are caught, within how many seeds, and by what. CANDIDATES match the
code and can be planted, but nobody has stated yet how many seeds they need.
"""

from __future__ import annotations

from ringcast.sim.planted.membership import MEMBERSHIP
from ringcast.sim.planted.multicast import MULTICAST

KNOWN = MULTICAST
CANDIDATES = MEMBERSHIP
