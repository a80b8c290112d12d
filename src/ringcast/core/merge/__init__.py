"""One group again after a partition, without hearsay and without repeating a message (seed 000)."""

from ringcast.core.merge.consolidate import Aggregate, Told, consolidate, merge_view
from ringcast.core.merge.decisions import (
    AnnounceTo,
    BringUp,
    Detection,
    GoToPrimary,
    HoldRollCall,
    Leading,
    LeftBehind,
    MergeEnded,
    MergeOver,
    Overlap,
    Propose,
    RaiseMerge,
    SpreadView,
    SuspectDissenter,
    Taking,
)
from ringcast.core.merge.detection import MergeDetector
from ringcast.core.merge.election import choose_leader
from ringcast.core.merge.leader import MergeLeader
from ringcast.core.merge.participant import MergeParticipant
from ringcast.core.merge.parties import Party, parties_of, sanitised
from ringcast.core.random_source import RandomSource

__all__ = [
    "Aggregate",
    "AnnounceTo",
    "BringUp",
    "Detection",
    "GoToPrimary",
    "HoldRollCall",
    "Leading",
    "LeftBehind",
    "MergeDetector",
    "MergeEnded",
    "MergeLeader",
    "MergeOver",
    "MergeParticipant",
    "Overlap",
    "Party",
    "Propose",
    "RaiseMerge",
    "RandomSource",
    "SpreadView",
    "SuspectDissenter",
    "Taking",
    "Told",
    "choose_leader",
    "consolidate",
    "merge_view",
    "parties_of",
    "sanitised",
]
