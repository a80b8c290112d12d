"""Who is in the group: the view handler (seed 004) and the roll call that changes a view."""

from ringcast.core.chance import Chance
from ringcast.core.membership.decisions import (
    AcceptMerge,
    CancelHeld,
    Decision,
    RejectMerge,
    ResumeCause,
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
from ringcast.core.membership.membership import Membership
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.membership.rules import Phase
from ringcast.core.membership.steps import Adopt, Digested, FillTo, Hold, Release, Ring, Say, Step, Steps, Tell

__all__ = [
    "AcceptMerge",
    "Adopt",
    "CancelHeld",
    "Chance",
    "Decision",
    "Digested",
    "FillTo",
    "Hold",
    "Membership",
    "Phase",
    "RejectMerge",
    "Release",
    "Request",
    "RequestKind",
    "ResumeCause",
    "Ring",
    "Say",
    "Settled",
    "StartMerge",
    "StartViewChange",
    "Step",
    "Steps",
    "Suspension",
    "Tell",
    "TellBusy",
    "TellRollCall",
    "UnwatchLeader",
    "ViewHandler",
    "WatchLeader",
]
