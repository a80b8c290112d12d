"""How failure detection meets membership: what is heard goes to the detector, what it finds becomes a suspicion.

Heartbeats go out from here unless the driver sends them from a thread of its own. Nothing is decided here.
"""

from __future__ import annotations

from ringcast.core.control import AreYouThere, AskAbout, Control, Heard, Heartbeat, Suspicion
from ringcast.core.deadlines import earliest
from ringcast.core.failure import (
    AskIfAlive,
    AskOthers,
    AssureAlive,
    Complain,
    Decision,
    FailureDetector,
    HeartbeatTo,
    Readmission,
    Suspect,
    Unsuspect,
    Vouch,
)
from ringcast.core.membership import Membership, Say, Steps, Tell
from ringcast.core.merging import Merging
from ringcast.core.pulse import Pulse
from ringcast.model import Address, Config, Event, View


class Vigilance:
    """Who of the others lives, and how they learn that we do."""

    def __init__(
        self,
        me: Address,
        config: Config,
        membership: Membership,
        merging: Merging,
        readmission: Readmission,
        *,
        beats: bool,
    ) -> None:
        self.detector = FailureDetector(me, config)
        self.pulse = Pulse(config.heartbeat_ns, is_own=beats)
        self.readmission = readmission
        self._view: View | None = None
        self._membership = membership
        self._merging = merging

    # ---- facts

    def on_heard(self, now_ns: int, sender: Address) -> Steps:
        """Any packet came from this sender."""
        found = self.detector.on_heard(now_ns, sender)
        return self._carry(now_ns, found) if found else []

    def on_message(self, now_ns: int, sender: Address, message: Control) -> Steps | None:
        """None: not a message about life and death."""
        match message:
            case Heartbeat():
                return self._carry(now_ns, self.detector.on_heartbeat(now_ns, sender, message.progress))
            case AreYouThere():
                return [Tell(sender, self.pulse.heartbeat())]
            case Suspicion():
                return self.on_told(now_ns, sender, message.members)
            case AskAbout():
                return self._carry(now_ns, self.detector.on_asked_about(now_ns, sender, message.peer))
            case Heard():
                return self._carry(now_ns, self.detector.on_vouched(now_ns, sender, message.peer))
            case _:
                return None

    def on_told(self, now_ns: int, sender: Address, suspects: tuple[Address, ...]) -> Steps:
        """Another one thinks these dead: see for ourselves."""
        return self._carry(now_ns, self.detector.on_told(now_ns, sender, suspects))

    def suspect(self, now_ns: int, peer: Address) -> Steps:
        return self._carry(now_ns, self.detector.suspect(now_ns, peer))

    def on_unreachable(self, now_ns: int, peer: Address) -> Steps:
        return self._carry(now_ns, self.detector.on_unreachable(now_ns, peer))

    def on_view(self, now_ns: int, view: View) -> Steps:
        self.pulse.view = view.id
        for member in () if self._view is None else self._view.members:
            if member not in view and self.detector.complaints.has_lasted(member):
                self.readmission.on_excluded(now_ns, member)
        self._view = view
        return self._carry(now_ns, self.detector.on_view(now_ns, view))

    # ---- findings

    def _carry(self, now_ns: int, found: list[Decision]) -> Steps:
        out: Steps = []
        for finding in found:
            out += self._step(now_ns, finding)
        return out

    def _step(self, now_ns: int, finding: Decision) -> Steps:
        match finding:
            case AskIfAlive():
                return [Tell(finding.peer, AreYouThere())]
            case AskOthers():
                return [Tell(helper, AskAbout(finding.peer)) for helper in finding.helpers]
            case Vouch():
                return [Tell(finding.to, Heard(finding.peer))]
            case Complain():
                return [Tell(member, Suspicion((finding.peer,))) for member in finding.tell]
            case AssureAlive():
                return [Tell(finding.to, self.pulse.heartbeat())]
            case Suspect():
                return self._suspect(now_ns, finding)
            case Unsuspect():
                self._membership.withdraw(finding.peer)
                return []
            case HeartbeatTo():
                return self.pulse.beat_to(now_ns, finding.peers)
            case Event():
                return [finding]

    def _suspect(self, now_ns: int, finding: Suspect) -> Steps:
        out: Steps = [Say(member, Suspicion((finding.peer,))) for member in finding.tell]
        out += self._merging.on_suspect(now_ns, finding.peer)
        return out + self._membership.suspect(now_ns, finding.peer, str(finding.reason), final=False)

    # ---- time

    def deadline_ns(self) -> int | None:
        return earliest(self.pulse.due_ns, self.detector.deadline_ns())

    def on_time(self, now_ns: int) -> Steps:
        return self.pulse.on_time(now_ns) + self._carry(now_ns, self.detector.on_time(now_ns))
