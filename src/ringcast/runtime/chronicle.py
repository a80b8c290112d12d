"""What became of the others, as far as this member knows: who went, when and why, and what the last merge joined.

Folded from the events of membership that the node tells its recorder, and from the views; nothing is kept per message.
Bounded: the last DEPARTED members that went are remembered. Not a recording: it is for people who ask a running
member, and is forgotten with the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from ringcast.model import Address, Event, Kind, View, ViewId
from ringcast.window import ReceiveWindow

DEPARTED = 64


@dataclass(frozen=True, slots=True)
class Departure:
    """A member that is in the view no more. `had` = how far its messages had come here by then."""

    member: Address
    at_ns: int
    view: ViewId  # the first without it
    why: str  # what the suspicion said; empty if this member had none
    silent_ns: int  # how long nothing had been heard from it
    has_left: bool
    had: int


@dataclass(frozen=True, slots=True)
class Apart:
    """A member of another side of a merge. `missed` = what it sent meanwhile; None if it was never met before."""

    member: Address
    missed: int | None


@dataclass(frozen=True, slots=True)
class Reunion:
    """A merge, as seen from here."""

    at_ns: int
    view: View
    apart: tuple[Apart, ...]


@dataclass(frozen=True, slots=True)
class Suspicion:
    at_ns: int
    why: str
    silent_ns: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A joiner that was not let in yet, and what it was told."""

    at_ns: int
    answer: str


class Happened(TypedDict):
    """How often, since this incarnation began."""

    views: int
    suspicions: int
    exclusions: int  # members that views left behind and that had not asked to leave
    merges: int
    failed_merges: int


class Chronicle:
    """One incarnation's memory of the others. `heard` is the driver's: when each was heard last."""

    def __init__(self, me: Address, heard: Mapping[Address, int]) -> None:
        self.me = me
        self.view: View | None = None
        self.since_ns = 0  # when the view came
        self.departed: dict[Address, Departure] = {}
        self.reunion: Reunion | None = None
        self.joiners: dict[Address, Asked] = {}
        self.apart: dict[Address, tuple[int, str]] = {}  # coordinators of sides that cannot merge with ours: when, why
        self.happened: Happened = {"views": 0, "suspicions": 0, "exclusions": 0, "merges": 0, "failed_merges": 0}
        self.failed_merge: tuple[int, str] | None = None  # when, and why
        self.suspended: tuple[int, str] | None = None  # a view change or merge that runs at this coordinator
        self._heard = heard
        self._suspicions: dict[Address, Suspicion] = {}
        self._leaving: dict[Address, None] = {}
        self._digest: dict[Address, int] = {}
        self._windows: dict[Address, ReceiveWindow[Any]] = {}

    # ---- events of membership

    def on_event(self, event: Event) -> None:
        detail: Mapping[str, Any] = event.detail or {}
        match event.kind:
            case Kind.SUSPECT if event.peer is not None:
                self._on_suspect(event.t_ns, event.peer, detail["why"])
            case Kind.ROLL_CALL:
                self._leaving.update(dict.fromkeys(detail.get("leaving", ())))
            case Kind.REQUESTED if event.peer is not None:
                self._on_requested(event.t_ns, event.peer, detail)
            case Kind.SUSPEND:
                self.suspended = (event.t_ns, detail["cause"])
            case Kind.RESUME:
                self.suspended = None
            case Kind.MERGE if detail.get("outcome") == "cancelled":
                self.failed_merge = (event.t_ns, detail["why"])
                self.happened["failed_merges"] += 1
            case Kind.VIEW:
                self._digest = {Address(*entry[0]): entry[1] for entry in detail.get("digest", ())}
            case _:
                pass

    def _on_suspect(self, now_ns: int, peer: Address, why: str) -> None:
        """The first reason is the cause; what follows from it repeats."""
        if peer not in self._suspicions:
            self.happened["suspicions"] += 1
            self._suspicions[peer] = Suspicion(now_ns, why, now_ns - self._heard.get(peer, now_ns))

    def _on_requested(self, now_ns: int, peer: Address, detail: Mapping[str, Any]) -> None:
        if detail["what"] == "TERMS":
            self.apart[peer] = (now_ns, detail["answer"])
            while len(self.apart) > DEPARTED:
                del self.apart[next(iter(self.apart))]
        elif detail["what"] in ("LEAVE", "COORD_LEAVE"):
            self._leaving[peer] = None
        elif detail["what"] in ("JOIN", "JOIN_WITH_STATE"):
            self.joiners[peer] = Asked(now_ns, detail["answer"])
            while len(self.joiners) > DEPARTED:
                del self.joiners[next(iter(self.joiners))]

    # ---- views

    def on_view(self, now_ns: int, view: View, windows: Mapping[Address, ReceiveWindow[Any]]) -> None:
        before, self.view, self.since_ns = self.view, view, now_ns
        self.happened["views"] += 1
        if before is not None and view.is_merge:
            self._reunite(now_ns, view)
        for member in () if before is None else before.members:
            if member not in view:
                self._depart(now_ns, view, member)
        for newcomer in () if before is None else (member for member in view.members if member not in before):
            self._replace(newcomer)
        for member in view.members:
            self.departed.pop(member, None)
            self.joiners.pop(member, None)
            self.apart.pop(member, None)
        self._suspicions.clear()
        self._leaving.clear()
        self.failed_merge = None
        self._windows = dict(windows)

    def _depart(self, now_ns: int, view: View, member: Address) -> None:
        window, suspicion = self._windows.get(member), self._suspicions.get(member)
        has_left = suspicion is None and member in self._leaving
        self.happened["exclusions"] += not has_left
        self.departed[member] = Departure(
            member,
            now_ns,
            view.id,
            "" if suspicion is None else suspicion.why,
            now_ns - self._heard.get(member, now_ns) if suspicion is None else suspicion.silent_ns,
            has_left,
            0 if window is None else window.ready,
        )
        while len(self.departed) > DEPARTED:
            del self.departed[next(iter(self.departed))]

    def _replace(self, newcomer: Address) -> None:
        """A process that was started again, here or at another place, is not missed any more."""
        for gone in [
            gone for gone in self.departed if newcomer.name == gone.name or newcomer.endpoint == gone.endpoint
        ]:
            del self.departed[gone]

    def _reunite(self, now_ns: int, view: View) -> None:
        self.happened["merges"] += 1
        others = [member for side in view.subgroups if self.me not in side for member in side]
        self.reunion = Reunion(now_ns, view, tuple(Apart(member, self._missed(member)) for member in others))

    def _missed(self, member: Address) -> int | None:
        """What it sent while apart from us: from where its stream stood here to where the merge lets it begin."""
        gone, window = self.departed.get(member), self._windows.get(member)
        had = gone.had if gone is not None else None if window is None else window.ready
        return None if had is None else max(0, self._digest.get(member, had) - had)
