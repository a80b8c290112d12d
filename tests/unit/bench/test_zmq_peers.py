import pytest

from ringcast.bench.told import MemberFailed
from ringcast.bench.zmq_peers import FORMS, VARIANTS, Outcome, Variant, judge, measure_peers, measure_variant

pytestmark = pytest.mark.needs("zmq")


SHAPES = [
    (variant, senders)
    for variant in VARIANTS
    for senders in ((1, 2) if variant.scheme == "tcp" else (1,))
    if variant.fits(tuple(FORMS), senders)
]


@pytest.mark.parametrize(("variant", "senders"), SHAPES, ids=lambda one: getattr(one, "name", one))
def test_every_message_reaches_every_receiver(variant: Variant, senders: int) -> None:
    outcome = measure_variant(variant, senders=senders, members=3, size=1000, seconds=0.1)
    assert outcome.missing == 0
    assert outcome.messages_per_second > 0


def tally(**seen: int) -> dict[str, int]:
    return {"sent": 0, "received": 0, "expected": 0, "first_ns": 0, "last_ns": 1_000_000_000} | seen


def test_what_a_receiver_misses_is_counted() -> None:
    tallies = [tally(sent=100), tally(received=100, expected=100), tally(received=97, expected=100)]
    assert judge(tallies, [False, True, True]) == Outcome(messages_per_second=98.5, missing=3)


def test_with_several_senders_own_messages_count_as_received() -> None:
    tallies = [tally(sent=40, received=10, expected=10), tally(sent=10, received=40, expected=40)]
    assert judge(tallies, [True, True]) == Outcome(messages_per_second=50.0, missing=0)


def test_an_incomplete_figure_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringcast.bench.zmq_peers.measure_variant", lambda variant, **shape: Outcome(1.0, 7))
    names = measure_peers(senders=1, members=2, size=100, seconds=0.1)
    assert next(iter(names)) == "pyzmq tcp single (incomplete: 7 lost)"


def test_a_process_that_cannot_run_is_one_sentence() -> None:
    with pytest.raises(MemberFailed, match=r"a process of ringcast.bench.zmq_member ended early: ValueError"):
        measure_variant(Variant("tcp", "single"), senders=1, members=2, size=-1, seconds=0.1)
