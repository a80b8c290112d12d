"""Who is in the group: the view handler (seed 004) and the roll call that changes a view."""

from ringcast.core.membership.decisions import (
    AcceptMerge,
    CancelHeld,
    Decision,
    RejectMerge,
    ResumeCause,
    Resumed,
    Settled,
    StartMerge,
    StartViewChange,
    Suspension,
    TellBusy,
    TellRollCall,
    UnwatchLeader,
    WatchLeader,
)
from ringcast.core.membership.handler import ViewHandler
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.membership.rules import Phase

__all__ = [
    "AcceptMerge",
    "CancelHeld",
    "Decision",
    "Phase",
    "RejectMerge",
    "Request",
    "RequestKind",
    "ResumeCause",
    "Resumed",
    "Settled",
    "StartMerge",
    "StartViewChange",
    "Suspension",
    "TellBusy",
    "TellRollCall",
    "UnwatchLeader",
    "ViewHandler",
    "WatchLeader",
]
