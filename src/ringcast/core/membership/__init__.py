"""Who is in the group: the view handler (seed 004) and the roll call that changes a view."""

from ringcast.core.membership.decisions import (
    AcceptMerge,
    CancelHeld,
    Decision,
    RejectMerge,
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
from ringcast.core.membership.handler_table import Phase
from ringcast.core.membership.membership import Membership
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.membership.resumer import ResumeCause
from ringcast.core.membership.steps import Adopt, Digested, FillTo, Hold, Release, Step, Steps
from ringcast.core.random_source import RandomSource

__all__ = [
    "AcceptMerge",
    "Adopt",
    "CancelHeld",
    "Decision",
    "Digested",
    "FillTo",
    "Hold",
    "Membership",
    "Phase",
    "RandomSource",
    "RejectMerge",
    "Release",
    "Request",
    "RequestKind",
    "ResumeCause",
    "Settled",
    "StartMerge",
    "StartViewChange",
    "Step",
    "Steps",
    "Suspension",
    "TellBusy",
    "TellRollCall",
    "UnwatchLeader",
    "ViewHandler",
    "WatchLeader",
]
