"""What members say to each other about the group itself, as frozen values: views, roll calls, joins, merges.

Reliable ones travel as bytes on the control stream between two incarnations; periodic ones (`Hello`, `Announce`,
`Heartbeat`) and others that may be lost travel alone in a `Loose` packet. `wire` gives each its number and its bytes.
Sequences are aligned where they can be: `entries` with `members`, `cuts` with the members of the base view.
"""

from ringcast.core.control.ids import (
    NO_STATE,
    NOTHING_TO_SETTLE,
    Carried,
    Holding,
    MergeId,
    Reunion,
    RollCallId,
    Settlement,
    Side,
    Source,
    Standing,
    Survivor,
    Transfer,
)
from ringcast.core.control.merge import (
    AskView,
    CancelMerge,
    MergeCall,
    MergeDigest,
    MergeReq,
    MergeRsp,
    MergeView,
    Relayed,
    Sighted,
    ViewAnswer,
)
from ringcast.core.control.order import (
    Staged,
)
from ringcast.core.control.presence import (
    Announce,
    AreYouThere,
    AskAbout,
    Busy,
    Elsewhere,
    Heard,
    Heartbeat,
    Hello,
    Join,
    JoinRefused,
    Leave,
    ReunionFailed,
    StateConfirmed,
    StateProgress,
    Stranger,
    Suspicion,
)
from ringcast.core.control.primary import (
    PrimaryElsewhere,
)
from ringcast.core.control.roll_call import (
    Answer,
    Ask,
    Behind,
    Cancel,
    Fill,
    Filled,
    NewView,
    Refusal,
    ViewAck,
    ViewRefusal,
)

Control = (
    Hello
    | Announce
    | Heartbeat
    | AreYouThere
    | AskAbout
    | Heard
    | Join
    | JoinRefused
    | Leave
    | Busy
    | Elsewhere
    | StateConfirmed
    | StateProgress
    | ReunionFailed
    | Suspicion
    | Stranger
    | Ask
    | Answer
    | Behind
    | Refusal
    | Fill
    | Filled
    | Cancel
    | NewView
    | ViewAck
    | ViewRefusal
    | Staged
    | AskView
    | ViewAnswer
    | Sighted
    | MergeReq
    | MergeRsp
    | MergeCall
    | MergeDigest
    | MergeView
    | CancelMerge
    | Relayed
    | PrimaryElsewhere
)

__all__ = [
    "NOTHING_TO_SETTLE",
    "NO_STATE",
    "Announce",
    "Answer",
    "AreYouThere",
    "Ask",
    "AskAbout",
    "AskView",
    "Behind",
    "Busy",
    "Cancel",
    "CancelMerge",
    "Carried",
    "Control",
    "Elsewhere",
    "Fill",
    "Filled",
    "Heard",
    "Heartbeat",
    "Hello",
    "Holding",
    "Join",
    "JoinRefused",
    "Leave",
    "MergeCall",
    "MergeDigest",
    "MergeId",
    "MergeReq",
    "MergeRsp",
    "MergeView",
    "NewView",
    "PrimaryElsewhere",
    "Refusal",
    "Relayed",
    "Reunion",
    "ReunionFailed",
    "RollCallId",
    "Settlement",
    "Side",
    "Sighted",
    "Source",
    "Staged",
    "Standing",
    "StateConfirmed",
    "StateProgress",
    "Stranger",
    "Survivor",
    "Suspicion",
    "Transfer",
    "ViewAck",
    "ViewAnswer",
    "ViewRefusal",
]
