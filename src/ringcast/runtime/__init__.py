"""Real members: the asyncio driver of the core and the Group that applications hold."""

from ringcast.runtime.arguments import HostPort, RecordTo, To, WhenFull
from ringcast.runtime.discovery import (
    DirectoryDiscovery,
    Discovery,
    DnsDiscovery,
    MulticastDiscovery,
    StaticDiscovery,
)
from ringcast.runtime.driver import Driver, Entry
from ringcast.runtime.fixed import enter_fixed, open_fixed
from ringcast.runtime.forks import ends_with_fork
from ringcast.runtime.group import Group
from ringcast.runtime.host import Host
from ringcast.runtime.inspection import ask, find_members, names_here, processes_here, watch
from ringcast.runtime.joining import Found, Joining, Place, join
from ringcast.runtime.keys import GroupKeys
from ringcast.runtime.mark_file import Done, MarkStore
from ringcast.runtime.readers import CALLING_THREAD
from ringcast.runtime.reading import OpenRun
from ringcast.runtime.receipts import Receipt
from ringcast.runtime.rejoin import OnExclusion, Partition
from ringcast.runtime.reunion import MergeState
from ringcast.runtime.state_giving import GetState
from ringcast.runtime.state_loading import SetState
from ringcast.runtime.status import Status
from ringcast.runtime.watching import as_event
from ringcast.runtime.words import Waiting, short, what_is_unread
from ringcast.security import KeySource
from ringcast.transport import Transport

__all__ = [
    "CALLING_THREAD",
    "DirectoryDiscovery",
    "Discovery",
    "DnsDiscovery",
    "Done",
    "Driver",
    "Entry",
    "Found",
    "GetState",
    "Group",
    "GroupKeys",
    "Host",
    "HostPort",
    "Joining",
    "KeySource",
    "MarkStore",
    "MergeState",
    "MulticastDiscovery",
    "OnExclusion",
    "OpenRun",
    "Partition",
    "Place",
    "Receipt",
    "RecordTo",
    "SetState",
    "StaticDiscovery",
    "Status",
    "To",
    "Transport",
    "Waiting",
    "WhenFull",
    "as_event",
    "ask",
    "ends_with_fork",
    "enter_fixed",
    "find_members",
    "join",
    "names_here",
    "open_fixed",
    "processes_here",
    "short",
    "watch",
    "what_is_unread",
]
