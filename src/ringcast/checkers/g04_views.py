"""G4, views: ids only grow at a member; a member is in every view it installs; one id has one content everywhere.

In a partition several views coexist, so nothing is said about views with different ids at different members.
"""

from __future__ import annotations

from ringcast.checkers.shape import Closed, Evidence, Finding, Report
from ringcast.checkers.views import Installed, installed
from ringcast.model import Address, Event, Kind, ViewId


class ViewChecker:
    guarantee = "G4"
    kinds = (Kind.VIEW,)

    def __init__(self) -> None:
        self._report = Report(self.guarantee)
        self._current: dict[Address, ViewId] = {}
        self._contents: dict[ViewId, tuple[Address, Installed]] = {}

    def on_event(self, member: Address, index: int, event: Event) -> None:
        view = installed(event)
        self._report.examined += 1
        evidence = Evidence.of(member, index, event)
        current = self._current.get(member)
        if current is not None and view.id <= current:
            self._violated(member, f"{member} installed {view.id} after {current}: ids only grow", evidence)
        if view.previous is not None and view.previous != current:
            came = f"{member} says that {view.id} follows {view.previous}"
            self._violated(member, f"{came}, but it was in {current or 'no view'}", evidence)
        if member not in view.members:
            self._violated(member, f"{member} installed {view.id}, of which it is not a member", evidence)
        self._current[member] = view.id
        self._compare(member, view, evidence)

    def _compare(self, member: Address, view: Installed, evidence: Evidence) -> None:
        first, known = self._contents.setdefault(view.id, (member, view))
        if content(view) != content(known):
            sentence = f"{view.id} means {_names(view)} at {member} and {_names(known)} at {first}"
            self._report.violated((member, first), evidence.index, sentence, evidence)

    def _violated(self, member: Address, sentence: str, evidence: Evidence) -> None:
        self._report.violated((member,), evidence.index, sentence, evidence)

    def finish(self, closed: Closed) -> Finding:
        return self._report.finding()


def content(view: Installed) -> tuple[object, ...]:
    """What must be equal wherever this id is installed. The previous view differs: members come from different ones."""
    limits = view.capacity, view.window_bytes
    return view.members, view.observers, view.subgroups, limits, view.primary, view.votes


def _names(view: Installed) -> str:
    groups = f" of {len(view.subgroups)} subgroups" if view.subgroups else ""
    limits = f"capacity {view.capacity} and {view.window_bytes} window bytes"
    mark = "" if view.primary is None else ", primary" if view.primary else ", not primary"
    return f"[{', '.join(map(str, view.members))}]{groups} with {limits}{mark}"
