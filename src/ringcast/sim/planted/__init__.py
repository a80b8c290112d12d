"""Known mistakes, planted one at a time into a simulated run, to show that the checkers catch them.

The core holds no switch for any of this. A planted bug names one method (or function) and the edit that makes it wrong;
while it is planted, that method is replaced by the edited one. An edit that no longer matches the code it replaces is
an error, so a bug cannot silently become no bug.
"""

from ringcast.sim.planted.candidates import CANDIDATES
from ringcast.sim.planted.hunt import Caught, hunt, hunt_all, options_for
from ringcast.sim.planted.known import KNOWN, known
from ringcast.sim.planted.planting import Planted, plant
from ringcast.sim.planted.table import refresh, table_of

__all__ = [
    "CANDIDATES",
    "KNOWN",
    "Caught",
    "Planted",
    "hunt",
    "hunt_all",
    "known",
    "options_for",
    "plant",
    "refresh",
    "table_of",
]
