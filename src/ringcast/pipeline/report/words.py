"""What each guarantee is called and what it says, in plain words."""

TITLES = {
    "G1": "FIFO",
    "G2": "Bounded windows",
    "G3": "Purged means delivered",
    "G4": "Views",
    "G5": "Agreed cut",
    "G6": "Separation of merges and view changes",
    "G7": "Every suspension ends",
    "G8": "No hearsay",
    "G9": "Merge is whole",
    "G10": "Merge repeats nothing",
    "G11": "Local order",
    "G12": "Atomic queueing",
    "G13": "Causality",
    "G14": "Nothing blocks for ever",
}

STATEMENTS = {
    "G1": "Everybody got a sender's messages in order, none missing, none twice.",
    "G2": "No window ever held more messages than it has room for.",
    "G3": "A sender forgot a message only when every receiver had it.",
    "G4": "View numbers only grow, a member is in its own views, and one view means the same to all.",
    "G5": "Members that went on together had delivered the same before.",
    "G6": "No coordinator merged while it changed a view, or the reverse.",
    "G7": "Whoever was told to hold was released, for a known cause.",
    "G8": "In a merge every member spoke for itself.",
    "G9": "No merge was completed with a member's place unknown.",
    "G10": "No merge delivered anything again or threw away what was ahead.",
    "G11": "Ordered messages of one sender stayed in the order in which it sent them.",
    "G12": "Ordered messages came in one order to all who received them.",
    "G13": "No answer was ordered before its question, not even through another channel.",
    "G14": "Every wait ended in time, and those who live share one view.",
}

EXAMINED = {
    "G1": "messages delivered",
    "G2": "window sizes",
    "G3": "messages purged",
    "G4": "views installed",
    "G5": "pairs of members compared",
    "G6": "view changes and merges",
    "G7": "suspensions",
    "G8": "digest entries",
    "G9": "merge views",
    "G10": "windows in merges",
    "G11": "messages dequeued",
    "G12": "messages dequeued",
    "G13": "messages queued",
    "G14": "waits and final views",
}
