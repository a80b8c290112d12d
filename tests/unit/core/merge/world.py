"""A small world for the merge components: real detectors, leaders, participants and view handlers on one clock.

Only what other rooms do is scripted: the network (latency, links that can be cut one way), the roll call (each member
whose view is the asker's answers for itself) and view changes (done at once among those who hear). Everything that
happens is a function of the seed.
"""

import heapq
from collections.abc import Callable, Iterable
from random import Random

from ringcast.checkers import Checker
from ringcast.checkers.g06_separation import SeparationChecker
from ringcast.checkers.g07_suspensions_end import SuspensionChecker
from ringcast.checkers.g08_no_hearsay import HearsayChecker
from ringcast.core import Loose, Unicast
from ringcast.core.control import (
    AskView,
    CancelMerge,
    MergeCall,
    MergeDigest,
    MergeId,
    MergeReq,
    MergeRsp,
    MergeView,
    Sighted,
)
from ringcast.core.effects import SendReliable
from ringcast.core.membership import ViewHandler
from ringcast.core.merge import MergeDetector, MergeLeader, MergeParticipant, Told
from ringcast.core.steps import (
    AcceptMerge,
    AnnounceTo,
    CancelHeld,
    HoldRollCall,
    LeftBehind,
    MergeEnded,
    Propose,
    RaiseMerge,
    RaiseSuspicion,
    RejectMerge,
    SpreadView,
    StartMerge,
    StartViewChange,
)
from ringcast.model import MS, SECOND, Address, Config, Entry, Event, Kind, View, ViewId, profile

LATENCY_NS = 1 * MS


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


class Peer:
    """One member: its components, and the orders they give carried out in the world."""

    def __init__(self, world: "World", me: Address, view: View, config: Config) -> None:
        self.world, self.me, self.view, self.config = world, me, view, config
        self.handler = ViewHandler(me, config)
        self.detector = MergeDetector(me, config, Random(f"{world.seed}/{me}/detector"))
        self.leader = MergeLeader(me, config, Random(f"{world.seed}/{me}/leader"))
        self.participant = MergeParticipant(me, config)
        self.entry = Entry(0, 10, 10)
        self.answers: dict[Address, Told] | None = None
        self.merges: list[View] = []
        self.events: list[Event] = []
        self.resumed: list[str] = []
        self.excluded = 0
        self.asked: MergeReq | None = None
        self.is_wedged = False  # answers no roll call

    @property
    def now_ns(self) -> int:
        return self.world.now_ns

    def start(self) -> None:
        self.begin_in(self.view)
        self.detector.on_found(self.world.endpoints)
        self.beat()

    def begin_in(self, view: View) -> None:
        self.view = view
        self.handler.on_view(self.now_ns, view)
        self.detector.on_view(self.now_ns, view)

    def beat(self) -> None:
        """Heartbeats name the view, so members of one view see who has another."""
        view = self.view
        for other in view.members:
            if other != self.me:
                self.world.send(self.me, other.endpoint, lambda peer: peer.hear(self.me, view))
        self.world.after(self.config.heartbeat_ns, self, self.beat)

    def deadline_ns(self) -> int:
        components = (self.handler, self.detector, self.leader, self.participant)
        return min((d for component in components if (d := component.deadlines.first_ns) is not None), default=1 << 62)

    def on_time(self) -> None:
        for component in (self.handler, self.detector, self.leader, self.participant):
            self.obey(component.on_time(self.now_ns))

    # ---- orders

    def obey(self, orders: Iterable[object]) -> None:
        for order in orders:
            self.carry_out(order)

    def carry_out(self, order: object) -> None:
        now = self.now_ns
        match order:
            case Event():
                self.events.append(order)
                if order.kind is Kind.RESUME and order.detail is not None:
                    self.resumed.append(str(order.detail["cause"]))
            case AnnounceTo(endpoints):
                view = self.view
                for endpoint in endpoints:
                    self.world.send(self.me, endpoint, lambda peer: peer.hear(self.me, view))
            case Unicast(peer, Loose(message=AskView())):
                self.world.send(self.me, peer.endpoint, lambda other: other.tell_view(self))
            case SendReliable(to, message):
                if to == self.me:
                    self.receive(self.me, message)
                else:
                    self.world.send(self.me, to.endpoint, lambda other: other.receive(self.me, message))
            case RaiseMerge(parties):
                self.obey(self.leader.on_raised(now, parties))
            case Propose(merge_id):
                self.obey(self.handler.on_merge(now, merge_id))
            case StartMerge(merge_id):
                self.obey(self.leader.begin(now, merge_id))
            case MergeEnded(merge_id, installed, _):
                self.obey(self.handler.on_merge_ended(now, merge_id, installed))
            case AcceptMerge():
                assert self.asked is not None
                self.obey(self.participant.on_accepted(now, self.asked))
            case RejectMerge(leader, merge_id, why):
                self.obey(self.participant.on_refused(now, leader, merge_id, why))
            case HoldRollCall(merge_id, members):
                self.roll_call(merge_id, members)
            case SpreadView(_, view, _):
                self.spread(view, self.participant.merge.members if self.participant.merge else ())
            case CancelHeld(suspension, cause):
                if suspension.merge_id is not None:
                    self.cancel(suspension.merge_id, str(cause))
            case RaiseSuspicion(peer):
                if self.view.coordinator in (self.me, peer):
                    self.obey(self.handler.on_suspect(now, peer))
            case StartViewChange(ticket, requests):
                self.change_view(ticket, [request.member for request in requests])
            case LeftBehind(later):
                self.excluded += 1
                if self.handler.suspension is None and self.participant.merge is None:
                    self.install(View(ViewId(later.id.number + 1, self.me), (self.me,)))

    # ---- messages

    def hear(self, sender: Address, view: View) -> None:
        self.obey(self.detector.on_announcement(self.now_ns, sender, view.id, view.coordinator))

    def tell_view(self, asker: "Peer") -> None:
        view = self.view
        answer = lambda other: other.obey(other.detector.on_view_answer(other.now_ns, self.me, view))  # noqa: E731
        self.world.send(self.me, asker.me.endpoint, answer)

    def receive(self, sender: Address, message: object) -> None:
        now = self.now_ns
        match message:
            case Sighted():
                self.obey(self.detector.on_sighted(now, sender, message))
            case MergeReq(merge_id):
                self.on_merge_req(sender, message)
            case MergeRsp():
                self.obey(self.leader.on_merge_rsp(now, sender, message))
            case MergeCall():
                self.obey(self.participant.on_merge_call(now, sender, message))
            case MergeDigest():
                self.obey(self.leader.on_merge_digest(now, sender, message))
            case MergeView():
                self.obey(self.participant.on_merge_view(now, sender, message))
            case CancelMerge(merge_id, why):
                self.obey(self.participant.on_cancel(now, sender, merge_id, why))

    def on_merge_req(self, sender: Address, request: MergeReq) -> None:
        now = self.now_ns
        self.obey(self.leader.on_other_merge(now, request.merge_id))
        objection = self.participant.objection(sender, request, self.view)
        if objection is not None:
            self.obey(self.participant.on_refused(now, sender, request.merge_id, objection))
            return
        self.asked = request
        self.obey(self.handler.on_merge_req(now, sender, request.merge_id))

    # ---- what other rooms do

    def roll_call(self, merge_id: MergeId, members: tuple[Address, ...]) -> None:
        answers: dict[Address, Told] = {}
        self.answers = answers
        base = self.view.id

        def finish(*blamed: Address) -> None:
            if self.answers is answers:
                self.answers = None
                number, limits = self.view.id.number, (64, 1000)
                ended = self.participant.on_roll_call_ended(
                    self.now_ns, merge_id, answers, number, limits, blamed=blamed
                )
                self.obey(ended)

        def heard(who: Address, entry: Entry | None) -> None:
            if entry is None:  # It refuses: it is in another view.
                finish(who)
                return
            answers[who] = Told(who, entry)
            if len(answers) == len(members):
                finish()

        def ask(other: "Peer") -> None:
            is_here = other.view.id == base
            if not is_here or (not other.is_wedged and other.participant.on_asked(other.now_ns, merge_id) is None):
                entry = other.entry if is_here else None
                self.world.send(other.me, self.me.endpoint, lambda me: heard(other.me, entry))

        for each in members:
            self.world.send(self.me, each.endpoint, ask)
        self.world.after(self.config.roll_call_ns, self, finish)

    def cancel(self, merge_id: MergeId, why: str) -> None:
        self.answers = None
        self.obey(self.leader.on_cancelled(self.now_ns, merge_id, why))
        self.obey(self.participant.on_released(self.now_ns, merge_id))
        for other in self.view.members:
            if other != self.me:
                self.world.send(self.me, other.endpoint, lambda peer: peer.release(merge_id))

    def release(self, merge_id: MergeId) -> None:
        self.obey(self.participant.on_released(self.now_ns, merge_id))

    def spread(self, view: View, members: Iterable[Address]) -> None:
        self.install(view)
        for other in members:
            if other != self.me:
                self.world.send(self.me, other.endpoint, lambda peer: peer.install(view))

    def change_view(self, ticket: int, gone: list[Address]) -> None:
        kept = tuple(m for m in self.view.members if m not in gone)
        self.spread(View(ViewId(self.view.id.number + 1, self.me), (self.me, *(m for m in kept if m != self.me))), kept)
        self.obey(self.handler.on_change_ended(self.now_ns, ticket, True))

    def install(self, view: View) -> None:
        if view.id <= self.view.id or self.me not in view:
            return
        self.view = view
        detail = {"members": list(view.members), "subgroups": [list(side) for side in view.subgroups]}
        self.events.append(Event(Kind.VIEW, self.now_ns, view.id, detail=detail))
        if view.is_merge:
            self.merges.append(view)
        self.obey(self.handler.on_view(self.now_ns, view))
        self.detector.on_view(self.now_ns, view)
        self.obey(self.participant.on_view(self.now_ns, view))
        self.obey(self.leader.on_view(self.now_ns, view))

    def suspect(self, who: Address) -> None:
        """What the failure detector would find out."""
        self.events.append(Event(Kind.SUSPECT, self.now_ns, self.view.id, who))
        self.obey(self.leader.on_gone(self.now_ns, who))
        leads = self.view.coordinator in (self.me, who)
        if who == self.handler.merge_leader or (who in self.view and leads):
            self.obey(self.handler.on_suspect(self.now_ns, who))


class World:
    """`World("A,B:AB C,D:CD")`: A and B have the view {A,B}. Views are numbered in the order given, or `AB/7`."""

    def __init__(self, text: str, seed: int = 0, place: str = "lan", **changes: int) -> None:
        self.seed, self.now_ns, self.sent = seed, 0, 0
        self.config = profile(place, **changes)
        self.peers: dict[str, Peer] = {}
        self.dead: set[str] = set()
        self.is_cut: Callable[[str, str], bool] = lambda sender, to: False
        self.on_send: Callable[[str, str], None] = lambda sender, to: None
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._due: dict[str, int] = {}
        self._count = 0
        for place_, part in enumerate(text.split(), start=1):
            holders, _, content = part.partition(":")
            names, _, number = content.partition("/")
            members = tuple(member(name) for name in (names.split(",") if "," in names else names) if name)
            view = View(ViewId(int(number or place_), members[0]), members)
            for holder in holders.split(","):
                self.peers[holder] = Peer(self, member(holder), view, self.config)
        self.endpoints = [peer.me.endpoint for peer in self.peers.values()]
        for peer in self.peers.values():
            peer.start()
            self._set_timer(peer)

    def __getitem__(self, name: str) -> Peer:
        return self.peers[name]

    @property
    def living(self) -> list[Peer]:
        return [peer for name, peer in self.peers.items() if name not in self.dead]

    def after(self, delay_ns: int, peer: Peer, action: Callable[[], None]) -> None:
        self._count += 1

        def act() -> None:
            if peer.me.name not in self.dead:
                action()
                self._set_timer(peer)

        heapq.heappush(self._agenda, (self.now_ns + delay_ns, self._count, act))

    def _set_timer(self, peer: Peer) -> None:
        """One pending call at the peer's deadline; calls for an earlier one find nothing due."""
        due = max(peer.deadline_ns(), self.now_ns)
        if self._due.get(peer.me.name) == due:
            return
        self._due[peer.me.name] = due

        def wake() -> None:
            if self._due[peer.me.name] == due:
                del self._due[peer.me.name]
                peer.on_time()

        self.after(due - self.now_ns, peer, wake)

    def send(self, sender: Address, endpoint: str, arrive: Callable[[Peer], None]) -> None:
        to = endpoint.partition(":")[0]
        self.sent += 1
        peer = self.peers.get(to)
        if peer is None or sender.name in self.dead or self.is_cut(sender.name, to):
            return
        if sender.name == to:
            self.after(0, peer, lambda: arrive(peer))
        else:
            self.after(LATENCY_NS, peer, lambda: arrive(peer))

    def crash(self, name: str) -> None:
        self.dead.add(name)
        for peer in self.living:
            self.after(3 * SECOND, peer, lambda peer=peer: peer.suspect(member(name)))  # type: ignore[misc]

    def run(self, seconds: float) -> None:
        until = self.now_ns + int(seconds * SECOND)
        while self._agenda and self._agenda[0][0] <= until:
            self.now_ns, _, action = heapq.heappop(self._agenda)
            action()
        self.now_ns = until

    def run_until_one(self, limit_s: float) -> float:
        """Seconds until all living members share one view that has exactly them."""
        began = self.now_ns
        while not self.is_one():
            assert self.now_ns - began < limit_s * SECOND, f"still apart: {self}"
            self.run(0.01)
        assert self.violations() == []
        return (self.now_ns - began) / SECOND

    def violations(self) -> list[str]:
        """What the real checkers of separation, suspensions and hearsay find in what was traced."""
        checkers: list[Checker] = [SeparationChecker(), SuspensionChecker(), HearsayChecker()]
        for peer in self.peers.values():
            for index, event in enumerate(peer.events):
                for checker in checkers:
                    if event.kind in checker.kinds:
                        checker.on_event(peer.me, index, event)
        return [violation.sentence for checker in checkers for violation in checker.finish({}).violations]

    def is_one(self) -> bool:
        names = sorted(peer.me for peer in self.living)
        return all(
            peer.view.id == self.living[0].view.id and sorted(peer.view.members) == names for peer in self.living
        )

    def subgroups(self) -> list[str]:
        """Of the common MergeView, in its order."""
        return ["".join(m.name for m in subgroup) for subgroup in self.living[0].view.subgroups]

    def merge_steps(self, name: str) -> list[str]:
        return [e.detail["step"] for e in self[name].events if e.kind is Kind.MERGE and e.detail is not None]

    def __str__(self) -> str:
        return "; ".join(f"{name}: {peer.view} {peer.handler.phase}" for name, peer in self.peers.items())
