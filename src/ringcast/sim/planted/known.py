"""The mistakes we know: each was made somewhere, or nearly made here.

Of each it was measured that it is caught, within how many seeds, and by what (docs/design/planted-bugs.md).
"""

from __future__ import annotations

from ringcast.errors import UsageError
from ringcast.sim.planted.candidates import CANDIDATES
from ringcast.sim.planted.membership import MEMBERSHIP
from ringcast.sim.planted.merge import MERGE
from ringcast.sim.planted.multicast import MULTICAST
from ringcast.sim.planted.ordering import ORDERING
from ringcast.sim.planted.planting import Planted
from ringcast.sim.planted.primary import PRIMARY
from ringcast.sim.planted.reading import READING
from ringcast.sim.planted.runtime import RUNTIME
from ringcast.sim.planted.state import STATE

KNOWN = (*MULTICAST, *MEMBERSHIP, *PRIMARY, *MERGE, *ORDERING, *STATE, *READING, *RUNTIME)


def known(name: str) -> Planted:
    """The planted bug of this name; underlines stand for spaces, as in scenario files."""
    for bug in (*KNOWN, *CANDIDATES):
        if bug.name == name.replace("_", " "):
            return bug
    raise UsageError(f"there is no planted bug {name!r}; known are: {', '.join(bug.name for bug in KNOWN)}")
