"""Strategies for packets and addresses as they may travel."""

from hypothesis import strategies as st

from ringcast.core import Ack, Channel, Highest, Packet, Piece, Request, Reset, Run, Unrepairable
from ringcast.model import MAX_ENDPOINT, MAX_INCARNATION, MAX_NAME, Address, ViewId

MAX_SEQNO = 2**63 - 1
MAX_VIEW_NUMBER = 2**48

# A character has at most four bytes, so these stay within their limits without throwing draws away.
names = st.text(
    st.characters(categories=("L", "N", "P", "S"), exclude_characters="#/,"), min_size=1, max_size=MAX_NAME // 4
)
endpoints = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=MAX_ENDPOINT // 4)  # what can be printed
addresses = st.builds(Address, names, st.integers(0, MAX_INCARNATION), endpoints)
view_ids = st.builds(ViewId, st.integers(0, MAX_VIEW_NUMBER), addresses)
seqnos = st.integers(0, MAX_SEQNO)
streams = st.one_of(
    st.tuples(st.just(Channel.GROUP), view_ids),
    st.tuples(st.sampled_from([Channel.PEER, Channel.CONTROL]), st.integers(1, MAX_SEQNO)),
)
item_lists = st.one_of(
    st.lists(st.binary(max_size=300), min_size=1, max_size=50),
    st.builds(lambda size, count: [b"x" * size] * count, st.integers(0, 40), st.integers(1, 1500)),
    st.builds(lambda item: [Piece(item)], st.binary(min_size=1, max_size=2000)),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    channel, tag = draw(streams)
    items = draw(item_lists)
    low = draw(st.integers(0, MAX_SEQNO - len(items) - 1))
    first = draw(st.integers(low + 1, MAX_SEQNO - len(items)))
    return Run(channel, tag, draw(addresses), first, low, items, sum(map(len, items)))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    channel, tag = draw(streams)
    pairs = draw(st.lists(st.tuples(st.integers(1, MAX_SEQNO), st.integers(1, MAX_SEQNO)), min_size=1, max_size=200))
    return Request(channel, tag, draw(addresses), tuple((min(pair), max(pair)) for pair in pairs))


@st.composite
def highests(draw: st.DrawFn) -> Highest:
    channel, tag = draw(streams)
    low, high = sorted((draw(seqnos), draw(seqnos)))
    return Highest(channel, tag, high, low)


packets: st.SearchStrategy[Packet] = st.one_of(
    runs(),
    requests(),
    highests(),
    st.builds(lambda stream, upto: Ack(*stream, upto), streams, seqnos),
    st.builds(lambda stream, low: Unrepairable(*stream, low), streams, seqnos),
    st.builds(lambda stream: Reset(*stream), streams),
)
