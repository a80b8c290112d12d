"""The table of who may say what to whom, cell by cell, and what a node does with what it does not take."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from random import Random

import pytest

from ringcast.core import (
    Ack,
    Channel,
    Deliver,
    Drop,
    Effect,
    Highest,
    Install,
    Loose,
    Lost,
    Node,
    Packet,
    Run,
    Unicast,
    Unrepairable,
)
from ringcast.core.admission import STREAMS, TAKEN_OF_MEMBERS, takes
from ringcast.core.control import DECLARED, Ask, Control, Fill, Leave, NewView, RollCallId, Suspicion
from ringcast.core.control.declaration import Carrier, Sender, State
from ringcast.model import SECOND, Address, Entry, View, ViewId, profile
from ringcast.wire import decode_control, encode_control

# type: carriers (D datagram, S stream), then from whom while LOOKING, IN_VIEW, PROMISED (m member, f found, o outsider)
TABLE = """
Hello D mfo mfo mfo
Announce D mfo mfo mfo
Heartbeat D - mfo mfo
AreYouThere D mfo mfo mfo
AskAbout D - m m
Heard D - m m
Suspicion DS - m m
Unheard D - m m
AskEcho D - mfo mfo
Echo D - mfo mfo
Stranger D - m m
Join S mfo mfo mfo
JoinRefused S f - -
Busy S f m m
Elsewhere S f m m
Leave S - mfo mfo
StateConfirmed S - m mfo
StateProgress S - m mfo
ReunionFailed S mfo m mfo
Ask S mfo mfo mfo
Fill S - - m
Cancel S - m m
NewView S f mfo mfo
Answer S - m m
Behind S - m m
Refusal S - m m
Filled S - m m
ViewAck S - m m
ViewRefusal S - m m
AskView D - mfo mfo
ViewAnswer S - mfo mfo
Sighted S - m m
MergeReq S - mfo mfo
MergeRsp S - mfo mfo
MergeCall S - mfo mfo
MergeDigest S - mfo mfo
MergeView S - mfo mfo
CancelMerge S - mfo mfo
Relayed S - mfo mfo
PrimaryElsewhere S - m m
Staged D - m m
"""
STREAM_TABLE = """
GROUP mfo m m
PEER - m m
CONTROL mfo mfo mfo
STATE mfo m mfo
"""
LETTERS = {Sender.MEMBER: "m", Sender.FOUND: "f", Sender.OUTSIDER: "o"}
CARRIERS = {Carrier.DATAGRAM: "D", Carrier.STREAM: "S"}
KINDS: dict[str, type] = {kind.__name__: kind for kind in DECLARED}


def blank(kind: type) -> Control:
    """A message of this type, whatever it says: the table looks at types only."""
    message: Control = object.__new__(kind)
    return message


def test_the_table_names_every_control_message_and_every_channel() -> None:
    rows = [line.split()[0] for line in TABLE.split("\n") if line]
    assert sorted(rows) == sorted(KINDS)
    assert sorted(STREAMS) == sorted(Channel)
    assert all(isinstance(fields(kind), tuple) for kind in KINDS.values())


@pytest.mark.parametrize("row", [line for line in TABLE.split("\n") if line])
def test_a_message_is_taken_in_exactly_these_cells(row: str) -> None:
    name, carriers, *by_state = row.split()
    for (state, letters), carrier, sender in product(zip(State, by_state, strict=True), Carrier, Sender):
        expected = CARRIERS[carrier] in carriers and LETTERS[sender] in letters
        message = blank(KINDS[name])
        came = Loose(message) if carrier is Carrier.DATAGRAM else message
        assert takes(came, sender, state) is expected, (state, carrier, sender)


@pytest.mark.parametrize("row", [line for line in STREAM_TABLE.split("\n") if line])
def test_a_packet_of_a_stream_is_taken_in_exactly_these_cells(row: str) -> None:
    name, *by_state = row.split()
    for (state, letters), sender in product(zip(State, by_state, strict=True), Sender):
        assert takes(Ack(Channel[name], 1, 1), sender, state) is (LETTERS[sender] in letters), (state, sender)


def test_what_members_may_always_say_is_what_the_tables_give_them_in_a_view() -> None:
    messages: list[Packet] = [Loose(blank(kind)) for kind in KINDS.values()]
    for packet in [*messages, *(Ack(channel, 1, 1) for channel in Channel)]:
        in_view = [takes(packet, Sender.MEMBER, state) for state in (State.IN_VIEW, State.PROMISED)]
        what = type(packet.message) if isinstance(packet, Loose) else packet.channel
        assert (what in TAKEN_OF_MEMBERS) is all(in_view), packet


# ---- a node in a view of three, and what others say to it

A, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
X = Address("X", 1, "mem:X")
VIEW = View(ViewId(5, A), (A, B, C), capacity=64, window_bytes=1 << 16)
NOW = SECOND


def member(me: Address = B) -> Node:
    """A member that has been told VIEW by A, whom it asked."""
    config = profile("test")
    node = Node.joining(me, config, Random("admission"), encode_control, decode_control)
    node.begin(NOW)
    coordination = node.coordination
    assert coordination is not None
    entries = (Entry(0, 0, 0),) * 3
    told = NewView(RollCallId(ViewId(4, A), 0, 1), VIEW.id, VIEW.members, (), (), 64, 1 << 16, entries, (0, 0))
    effects = coordination.on_message(NOW, A, told)
    assert any(isinstance(effect, Install) for effect in effects)
    return node


def on_stream(node: Node, sender: Address, message: Control, epoch: int = 9) -> list[Effect]:
    data = encode_control(message)
    return node.on_packet(NOW, sender, Run(Channel.CONTROL, epoch, sender, 1, 0, [data], len(data)))


def reasons(effects: list[Effect]) -> list[str]:
    return [effect.reason for effect in effects if isinstance(effect, Drop)]


ROLL_CALL = RollCallId(VIEW.id, 0, 1)


def test_a_roll_call_in_a_single_datagram_holds_nobody() -> None:
    node = member()
    effects = node.on_packet(NOW, A, Loose(Ask(ROLL_CALL, (), ())))
    assert reasons(effects) == ["Ask alone in a datagram, not taken from this process now"]
    assert node.space().slots > 0


def test_an_outsiders_roll_call_is_refused_and_holds_nobody() -> None:
    node = member()
    on_stream(node, X, Ask(ROLL_CALL, (A, C), ()))
    assert node.space().slots > 0
    assert node.coordination is not None and not node.coordination.detector.suspects
    assert not node.coordination.membership.suspicions.members


def test_a_leave_in_a_single_datagram_evicts_nobody() -> None:
    node = member(A)
    effects = node.on_packet(NOW, C, Loose(Leave()))
    assert effects == [Drop("Leave alone in a datagram, not taken from this process now", C)]


def test_a_suspicion_of_an_outsider_questions_nobody() -> None:
    node = member()
    assert reasons(on_stream(node, X, Suspicion((A, C)))) == ["Suspicion, not taken from this process now"]
    assert reasons(node.on_packet(NOW, X, Loose(Suspicion((A, C)))))


@pytest.mark.parametrize(
    "packet",
    [Highest(Channel.GROUP, VIEW.id, 9, 9), Unrepairable(Channel.GROUP, VIEW.id, 9), Ack(Channel.GROUP, VIEW.id, 9)],
)
def test_an_outsiders_word_on_the_multicast_costs_nobody_its_place(packet: Packet) -> None:
    effects = member().on_packet(NOW, X, packet)
    assert reasons(effects) and not any(isinstance(effect, Lost) for effect in effects)


def test_a_run_in_another_members_name_is_not_delivered() -> None:
    """Only who fills up to a cut is sent a member's messages by another one."""
    node = member()
    forged = Run(Channel.GROUP, VIEW.id, C, 1, 0, [b"forged"], 6)
    for sender in (X, A):
        effects = node.on_packet(NOW, sender, forged)
        assert reasons(effects) == ["a run in another's name that nobody asked for"]
        assert not any(isinstance(effect, Deliver) for effect in effects)


def test_a_run_of_a_later_view_from_an_outsider_takes_no_room() -> None:
    node = member()
    for first in range(1, 100):
        run = Run(Channel.GROUP, ViewId(9, X), X, first, 0, [b"x"], 1)
        assert reasons(node.on_packet(NOW, X, run)) == ["a run of a later view, from a process outside this one"]


def test_a_private_message_and_a_state_of_an_outsider_do_not_reach_the_application() -> None:
    node = member()
    for channel in (Channel.PEER, Channel.STATE):
        effects = node.on_packet(NOW, X, Run(channel, 1, X, 1, 0, [b"\1" + bytes(20)], 21))
        assert reasons(effects) and not any(isinstance(effect, Deliver | Unicast) for effect in effects)
    assert not node.peers.incoming


def test_a_cut_is_taken_from_the_asker_only() -> None:
    node = member()
    on_stream(node, A, Ask(ROLL_CALL, (), ()))
    assert node.space().slots == 0
    on_stream(node, C, Fill(ROLL_CALL, (0, 0, 0), ()))
    coordination = node.coordination
    assert coordination is not None and coordination.membership.follower is not None
    promise = coordination.membership.follower.promise
    assert promise is not None and promise.asker == A and not promise.is_filling


def test_a_process_that_looks_for_a_group_takes_a_view_only_from_whom_it_found() -> None:
    config = profile("test")
    node = Node.joining(B, config, Random("looking"), encode_control, decode_control)
    node.begin(NOW)
    entries = (Entry(0, 0, 0),) * 3
    told = NewView(RollCallId(ViewId(4, A), 0, 1), VIEW.id, VIEW.members, (), (), 64, 1 << 16, entries, (0, 0))
    assert reasons(on_stream(node, X, told)) == ["NewView, not taken from this process now"]
    assert not node.has_group


def test_each_control_message_has_a_component_that_takes_it() -> None:
    coordination = member().coordination
    assert coordination is not None
    in_node = {"Staged"}  # the node itself gives it to the one order
    assert {kind.__name__ for kind in DECLARED} - {kind.__name__ for kind in coordination._taken_by} == in_node
