"""Real members: the asyncio driver of the core and the Group that applications hold."""

from ringcast.runtime.driver import Driver
from ringcast.runtime.fixed import open_fixed
from ringcast.runtime.group import Group
from ringcast.runtime.words import Waiting

__all__ = ["Driver", "Group", "Waiting", "open_fixed"]
