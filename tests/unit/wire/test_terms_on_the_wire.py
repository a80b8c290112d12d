"""What a group must have in common, as recorded bytes: messages with it, and those from before there was any."""

from __future__ import annotations

import pytest

from ringcast.core.control import Control, Join, JoinRefused, MergeId, MergeReq, MergeRsp
from ringcast.model import Address, Terms, ViewId
from ringcast.wire import decode_control, encode_control

A = Address("A", 1, "mem:A")
MERGE, V, TERMS = MergeId(A, 2), ViewId(3, A), Terms(1_500, 1, primary=True, reunites=False)

JOIN = "a86f62736572766572c3aa776974685f7374617465c2a8636170616369747940ac77696e646f775f6279746573cd03e8"
REQ = (
    "a86d657267655f69649293a14101a56d656d3a4102a476696577920393a14101a56d656d3a41a76d656d626572739193a14101a56d656d3a41"
)
OLD_TERMS = (
    "a57465726d7384ad6d6573736167655f6279746573cd05dc"
    "ae63617061636974795f666c6f6f7201a77072696d617279c3a87265756e69746573c2"
)
TOLD_TERMS = OLD_TERMS.replace("6d7384", "6d7385") + "a671756f72756d00"  # with the quorum
NO_MARK = "a46d61726bc0"


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        ("0486" + JOIN + TOLD_TERMS + NO_MARK, Join(True, False, 64, 1_000, TERMS)),
        ("2384" + REQ + TOLD_TERMS, MergeReq(MERGE, V, (A,), TERMS)),
        ("0e81a3776879a178", JoinRefused("x")),
    ],
)
def test_messages_are_written_as_recorded(recorded: str, message: Control) -> None:
    assert encode_control(message).hex() == recorded
    assert decode_control(bytes.fromhex(recorded)) == message


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        ("0484" + JOIN, Join(True, False, 64, 1_000)),
        ("0485" + JOIN + OLD_TERMS, Join(True, False, 64, 1_000, TERMS)),
        ("2383" + REQ, MergeReq(MERGE, V, (A,))),
        ("2384" + REQ + OLD_TERMS, MergeReq(MERGE, V, (A,), TERMS)),
    ],
)
def test_messages_from_before_there_were_terms_are_still_read(recorded: str, message: Control) -> None:
    assert decode_control(bytes.fromhex(recorded)) == message


def test_a_refusal_of_a_merge_carries_the_terms_of_who_refuses() -> None:
    refusal = MergeRsp(MERGE, False, "why", TERMS)
    assert decode_control(encode_control(refusal)) == refusal
