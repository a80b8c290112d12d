"""Checkers: one file per guarantee, each a pure fold over trace events, and the verdict over all of them.

The same checker judges a simulated run and a recording of real processes. Imports only model and trace.
"""

from ringcast.checkers.clocks import Clocks
from ringcast.checkers.contacts import CONTACT_KINDS, Contacts, noted
from ringcast.checkers.judge import CHECKERS, GUARANTEES, Judgement, decide, judge, parse_require
from ringcast.checkers.shape import Checker, Closed, Evidence, Finding, Report, Violation, describe, run_text
from ringcast.checkers.together import nothing_read, together
from ringcast.checkers.troubles import Troubles
from ringcast.checkers.truth import Recorded, Truth, truth_of, truths
from ringcast.checkers.views import installed

__all__ = [
    "CHECKERS",
    "CONTACT_KINDS",
    "GUARANTEES",
    "Checker",
    "Clocks",
    "Closed",
    "Contacts",
    "Evidence",
    "Finding",
    "Judgement",
    "Recorded",
    "Report",
    "Troubles",
    "Truth",
    "Violation",
    "decide",
    "describe",
    "installed",
    "judge",
    "noted",
    "nothing_read",
    "parse_require",
    "run_text",
    "together",
    "truth_of",
    "truths",
]
