"""The trace hash: equal for equal histories in any process, different for any difference."""

import os
import subprocess
import sys

from ringcast.model import Address, Event, Kind
from ringcast.trace import run_hash, trace_hash

A, B = Address("a", 1, "x"), Address("b", 1, "x")
EVENTS = [Event(Kind.VIEW, 1, peer=A, detail={"members": [A, B], "capacity": 4}), Event(Kind.SEND, 2, first=1, count=3)]

SCRIPT = """
from ringcast.model import Address, Event, Kind
from ringcast.trace import trace_hash
d = {k: 1 for k in {"x", "yy", "zzz", "w"}}
print(trace_hash([Event(Kind.VIEW, 1, peer=Address("a", 1, "x"), detail=d)]))
"""


def test_the_order_of_keys_does_not_matter() -> None:
    turned = [Event(Kind.VIEW, 1, peer=A, detail={"capacity": 4, "members": [A, B]}), EVENTS[1]]
    assert trace_hash(EVENTS) == trace_hash(turned)


def test_any_field_and_the_order_of_events_matter() -> None:
    assert trace_hash(EVENTS) != trace_hash(EVENTS[::-1])
    assert trace_hash(EVENTS) != trace_hash([EVENTS[0], Event(Kind.SEND, 2, first=1, count=4)])


def test_a_run_has_one_hash_whatever_order_its_members_come_in() -> None:
    assert run_hash({A: EVENTS, B: []}) == run_hash({B: [], A: EVENTS})
    assert run_hash({A: EVENTS, B: []}) != run_hash({A: [], B: EVENTS})


def test_two_hash_seeds_give_one_hash() -> None:
    def run(seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True, capture_output=True).stdout

    assert run("1") == run("2")
