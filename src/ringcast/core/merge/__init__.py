"""One group again after a partition, without hearsay and without repeating a message (seed 000)."""

from ringcast.core.merge.aggregates import Aggregate, Told, merge_view
from ringcast.core.merge.detection import MergeDetector
from ringcast.core.merge.election import Party, choose_leader, parties_of, sanitised
from ringcast.core.merge.leader import MergeLeader
from ringcast.core.merge.participant import MergeParticipant

__all__ = [
    "Aggregate",
    "MergeDetector",
    "MergeLeader",
    "MergeParticipant",
    "Party",
    "Told",
    "choose_leader",
    "merge_view",
    "parties_of",
    "sanitised",
]
