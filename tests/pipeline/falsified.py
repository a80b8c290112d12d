"""Falsified recordings: each tells a good story and, with `lie`, the same with one thing changed that a guarantee
forbids. Written from the text of the guarantees alone, by somebody who had read neither the rules nor the checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ringcast.model import Kind
from ringcast.trace import Recording
from ringcast.trace.story import MS, Story, address, addresses, digest

PRIVATE = 5  # epoch 1, channel 1
LIMIT_NS = 2_000 * MS


@dataclass(frozen=True, slots=True)
class Falsified:
    """`guarantee` must be among those violated when `tell(True)` is judged; `tell(False)` violates nothing."""

    name: str
    guarantee: str
    tell: Callable[[bool], list[Recording]]


FALSIFIED: list[Falsified] = []


def falsified(guarantee: str, name: str) -> Callable[[Callable[[bool], list[Recording]]], None]:
    def add(tell: Callable[[bool], list[Recording]]) -> None:
        FALSIFIED.append(Falsified(name, guarantee, tell))

    return add


def queue(story: Story, member: str, first: int, count: int, seq: int, to: object = "view") -> Story:
    story.event(member, Kind.QUEUE_START, first=first, count=count, detail={"to": to})
    return story.event(member, Kind.QUEUE_FINISH, first=first, count=count, value=seq)


def dequeue(story: Story, member: str, *messages: tuple[str, int, int]) -> Story:
    """(sender, number, seq) one after the other."""
    for sender, number, seq in messages:
        story.event(member, Kind.DEQUEUE, sender, first=number, count=1, value=seq)
    return story


def private(
    story: Story, sender: str, receiver: str, count: int, taken: int | None = None, acked: int | None = None
) -> Story:
    """`sender` sends so many private messages; so many of them are delivered and taken, so many acked."""
    taken = count if taken is None else taken
    story.send(sender, count, PRIVATE, peer=receiver)
    story.deliver(receiver, sender, 1, taken, stream=PRIVATE).taken(receiver, sender, 1, taken, stream=PRIVATE)
    return story.ack(sender, receiver, taken if acked is None else acked, stream=PRIVATE)


# windows and streams


@falsified("G1", "an offset between members that were never apart")
def _(lie: bool) -> list[Recording]:
    """a's 4 and 5 reach nobody; the next view, of the same members, moves everybody's window behind them."""
    story = Story("abc", self_delivery=False).view("abc").send("a", 5)
    for name in "bc":
        story.deliver(name, "a", 1, 3)
        if not lie:
            story.deliver(name, "a", 4, 2)
    if lie:
        for name in "bc":
            story.offset(name, "a", 5, "view", view=story.views[name]._replace(number=2))
    story.view("abc", 2).send("a", 1)
    for name in "bc":
        story.deliver(name, "a", 6, 1)
    return story.recordings()


@falsified("G1", "a message that its sender never sent")
def _(lie: bool) -> list[Recording]:
    story = Story("abc", self_delivery=False).view("abc").send("a", 3)
    for name in "bc":
        story.deliver(name, "a", 1, 3 + lie)
    return story.view("abc", 2).recordings()


@falsified("G1", "a number that its sender left out")
def _(lie: bool) -> list[Recording]:
    """a's sends go from 3 to 5; the receivers have a 4."""
    story = Story("abc", self_delivery=False).view("abc").send("a", 3).send("a", 2 - lie, first=4 + lie)
    for name in "bc":
        story.deliver(name, "a", 1, 5)
    return story.view("abc", 2).recordings()


@falsified("G2", "more held than the view allows, by a capacity of the member's own")
def _(lie: bool) -> list[Recording]:
    """The view agreed on four; b says that its window may hold 64."""
    story = Story("ab", capacity=64).view("ab", capacity=4)
    story.send("a", 4).deliver("b", "a", 1, 4, value=4, other=4).taken("b", "a", 1, 4)
    story.ack("a", "b", 4).deliver("a", "a", 1, 4, other=4).taken("a", "a", 1, 4).purge("a", 4)
    held, capacity = (6, 64) if lie else (2, 4)
    story.send("a", 2).deliver("b", "a", 5, 2, value=held, other=capacity)
    return story.recordings()


@falsified("G2", "a view agrees on a larger window than a member of it has")
def _(lie: bool) -> list[Recording]:
    return Story("ab", capacity=8).view("ab", capacity=16 if lie else 8).passed("ab", "a", 3).recordings()


@falsified("G2", "a view agrees on more bytes than a member of it may hold")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", window_bytes=1_000).view("ab", window_bytes=1_001 if lie else 1_000)
    return story.passed("ab", "a", 3).recordings()


@falsified("G2", "a private window that overruns and says otherwise")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", capacity=4).view("ab")
    story.send("a", 3, PRIVATE, peer="b")
    if not lie:
        story.deliver("b", "a", 1, 3, stream=PRIVATE).taken("b", "a", 1, 3, stream=PRIVATE)
        story.ack("a", "b", 3, stream=PRIVATE).purge("a", 3, PRIVATE, peer="b")
    return story.send("a", 3, PRIVATE, peer="b", value=3).recordings()


@falsified("G3", "purged before the newest member had it")
def _(lie: bool) -> list[Recording]:
    story = Story("abj").view("ab").passed("ab", "a", 3)
    for name in "abj":
        second = story.views["a"]._replace(number=2)
        if name == "j":
            story.offset("j", "a", 3, "join", view=second).offset("j", "b", 0, "join", view=second)
        else:
            story.offset(name, "j", 0, "view", view=second)
    story.offset("j", "j", 0, "join", view=story.views["a"]._replace(number=2))
    story.view("abj", 2, creator="a", digest=digest({"a": (3, 3, 3), "b": 0, "j": 0})).send("a", 2)
    for name in "abj":
        story.deliver(name, "a", 4, 2).taken(name, "a", 4, 2)
    story.ack("a", "b", 5)
    if not lie:
        story.ack("a", "j", 5)
    return story.purge("a", 5).recordings()


@falsified("G3", "an ack of private messages that were not taken")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab")
    return private(story, "a", "b", 5, taken=3, acked=5 if lie else 3).recordings()


# views


@falsified("G4", "one view id, members in another order")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc", at="ab")
    return story.view("acb" if lie else "abc", at="c").recordings()


@falsified("G4", "one view id, two primary marks")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc", at="ab", primary=True)
    return story.view("abc", at="c", primary=not lie).recordings()


@falsified("G4", "one view id, two window sizes")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc", at="ab")
    return story.view("abc", at="c", capacity=64 - lie).recordings()


@falsified("G4", "one view id, two bounds in bytes")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc", at="ab", window_bytes=64_000)
    return story.view("abc", at="c", window_bytes=64_000 - lie).recordings()


@falsified("G4", "one view id, a member that votes as two processes")
def _(lie: bool) -> list[Recording]:
    """c was started again and votes as the process before, as a and b have it; c itself says that it is a new voter."""
    votes = {"votes": [[address("c"), address("c")._replace(incarnation=9)]]}
    story = Story("abc").view("abc", at="ab", primary=True, **votes)
    return story.view("abc", at="c", primary=True, **({} if lie else votes)).recordings()


@falsified("G4", "a number again, with a smaller creator")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab", 2, creator="b")
    return story.view("ab", 2 if lie else 3, creator="a").recordings()


@falsified("G5", "a joiner gets what was sent before its view")
def _(lie: bool) -> list[Recording]:
    story = Story("abj").view("ab").passed("ab", "a", 5)
    second = story.views["a"]._replace(number=2)
    story.offset("j", "a", 3 if lie else 5, "join", view=second)
    story.view("abj", 2, creator="a")
    if lie:
        story.deliver("j", "a", 4, 2)
    return story.recordings()


def change(story: Story, coordinator: str, asked: str, number: int, outcome: str | None = "installed") -> Story:
    """A roll call of `coordinator`, up to its end unless that is None."""
    call = {"id": f"{coordinator}#1|{number}/0.1", "purpose": "view"}
    story.event(
        coordinator, Kind.ROLL_CALL, value=1, detail={"step": "start", "asked": addresses(asked), "going": [], **call}
    )
    if outcome:
        story.event(coordinator, Kind.ROLL_CALL, value=1, detail={"step": "end", "outcome": outcome, **call})
    return story


@falsified("G6", "a view change begins while its coordinator merges")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("ab").view("c", 1)
    merge = {"merge_id": "a#1~1"}
    story.event("a", Kind.MERGE, "a", detail={"step": "start", "parties": [addresses("ab"), addresses("c")], **merge})
    story.event("a", Kind.MERGE, "a", detail={"step": "accept", **merge})
    if lie:
        change(story, "a", "ab", 1)
    story.event("a", Kind.MERGE, "a", detail={"step": "end", "outcome": "cancelled", "why": "c is silent", **merge})
    if not lie:
        change(story, "a", "ab", 1)
    return story.recordings()


@falsified("G6", "a party that speaks through one who does not lead it")
def _(lie: bool) -> list[Recording]:
    """b is second in its view, suspects nobody, and takes its view into a merge."""
    story = Story("abcx").view("abc").view("x", 1).passed("abc", "a", 1)
    merge = {"merge_id": "x#1~1"}
    party = "b" if lie else "a"
    story.event("x", Kind.MERGE, "x", detail={"step": "start", "parties": [addresses("x"), addresses("abc")], **merge})
    story.event("x", Kind.MERGE, "x", detail={"step": "accept", **merge})
    story.event(party, Kind.MERGE, "x", detail={"step": "accept", **merge})
    for name in ("x", party):
        story.event(name, Kind.MERGE, "x", detail={"step": "end", "outcome": "cancelled", "why": "", **merge})
    return story.recordings()


@falsified("G6", "the handler goes on before the view has reached anybody")
def _(lie: bool) -> list[Recording]:
    """a resumes when its roll call has ended; b gets the view after that, and suspects are none."""
    story = Story("ab").view("ab")
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view", "merge_id": None})
    change(story, "a", "ab", 1).view("ab", 2, at="a")
    ended = {"cause": "view-installed", "has_view": True, "cancelled": []}
    if lie:
        story.event("a", Kind.RESUME, value=1, other=1, detail=ended)
    story.view("ab", 2, at="b")
    if not lie:
        story.event("a", Kind.RESUME, value=1, other=1, detail=ended)
    return story.recordings()


@falsified("G7", "a holder lets go, and nothing stands behind it")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc")
    call = {"id": "a#1|1/0.1"}
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view", "merge_id": None})
    begin = {"step": "start", "purpose": "view", "asked": addresses("abc"), "going": [], **call}
    story.event("a", Kind.ROLL_CALL, value=1, detail=begin)
    for name in "abc":
        story.event(name, Kind.ROLL_CALL, value=1, detail={"step": "promise", **call})
    if lie:
        story.event("b", Kind.ROLL_CALL, value=1, detail={"step": "release", **call})
    story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "end", "outcome": "installed", **call})
    story.view("abc", 2)
    ended = {"cause": "view-installed", "has_view": True, "cancelled": []}
    return story.event("a", Kind.RESUME, value=1, other=1, detail=ended).recordings()


def change_suspended(story: Story) -> Story:
    """a's roll call on the first view of ab, and the second view at a, which ends its suspension when all have it."""
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view", "merge_id": None})
    return change(story, "a", "ab", 1).view("ab", 2, at="a")


def changed(story: Story, number: int, *going: str, outcome: str = "installed") -> Story:
    """a changes its view `number`, of abc; who goes, in each attempt. b promises to the first and gets no view."""
    until_ns = story.now_ns + LIMIT_NS
    story.event("a", Kind.SUSPEND, value=number, other=until_ns, detail={"cause": "view", "merge_id": None})
    for attempt, away in enumerate(going, 1):
        asked = [name for name in "abc" if name not in away]
        call = {"id": f"a#1|{number}/0.{attempt}"}
        begin = {"step": "start" if attempt == 1 else "again", "purpose": "view", **call}
        begin |= {"asked": addresses(asked), "going": addresses(away)}
        story.event("a", Kind.ROLL_CALL, value=attempt, detail=begin)
    if number == 1:
        story.event("b", Kind.ROLL_CALL, value=1, detail={"step": "promise", **call})
    story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "end", "outcome": outcome, **call})
    ended = {"cause": "view-failed", "has_view": False, "cancelled": addresses("abc")}
    if outcome == "installed":
        story.view("".join(asked), number + 1, at="a", creator="a")
        ended = {"cause": "view-installed", "has_view": True, "cancelled": []}
    return story.event("a", Kind.RESUME, value=number, other=number, detail=ended)


def let_go(story: Story) -> Story:
    return story.event("b", Kind.ROLL_CALL, value=1, detail={"step": "release", "id": "a#1|1/0.1"})


@falsified("G7", "a holder lets go behind a later roll call of its asker, which did not leave it out")
def _(lie: bool) -> list[Recording]:
    """The first view never reached b. True: the next roll call asked b and then left it out, and its cancel ends what b
    still held (seed 300880)."""
    story = changed(Story("abc").view("abc"), 1, "")
    return let_go(changed(story, 2, "", "c" if lie else "b")).recordings()


@falsified("G7", "a holder lets go behind a later roll call of its asker, which never asked it")
def _(lie: bool) -> list[Recording]:
    """Whoever was not asked is sent no cancel. True: it was asked, and the roll call ended without a view."""
    story = changed(Story("abc").view("abc"), 1, "")
    return let_go(changed(story, 2, "b") if lie else changed(story, 2, "", outcome="cancelled")).recordings()


@falsified("G7", "a holder lets go before the roll call that leaves it out")
def _(lie: bool) -> list[Recording]:
    story = changed(Story("abc").view("abc"), 1, "")
    if lie:
        let_go(story)
    changed(story, 2, "", "b")
    return story.recordings() if lie else let_go(story).recordings()


@falsified("G7", "a holder lets go before its limit, and its clock runs as all others do")
def _(lie: bool) -> list[Recording]:
    """True: it runs twice as fast, by a fault, and the holder's limit comes after half the time."""
    story = Story("abc", resumer_ns=LIMIT_NS).view("abc")
    fast = {"what": "clock", "members": ["c" if lie else "b"], "amount": 1_000_000.0}
    story.event("a", Kind.FAULT, view=None, detail=fast)
    changed(story, 1, "")
    story.now_ns += LIMIT_NS // 2
    return let_go(story).recordings()


@falsified("G7", "a holder goes on by the view that it let go, and nothing held that up")
def _(lie: bool) -> list[Recording]:
    """True: a fault held meanwhile. The view came past the holder's limit, by somebody else (seed 340221)."""
    story = Story("ab", resumer_ns=LIMIT_NS).view("ab")
    if not lie:
        story.event("a", Kind.FAULT, view=None, detail={"what": "no-requests", "members": None})
    story.event("b", Kind.ROLL_CALL, value=1, detail={"step": "promise", "id": "a#1|1/0.1"})
    change_suspended(story).now_ns += LIMIT_NS
    return let_go(story).view("ab", 2, at="b").recordings()


@falsified("G7", "a holder holds on in the view that it was asked for, up to its limit")
def _(lie: bool) -> list[Recording]:
    """A fault held, but not the view. True: it came when the holder had let go."""
    story = Story("ab", resumer_ns=LIMIT_NS).view("ab")
    story.event("a", Kind.FAULT, view=None, detail={"what": "no-requests", "members": None})
    story.event("b", Kind.ROLL_CALL, value=1, detail={"step": "promise", "id": "a#1|1/0.1"})
    change_suspended(story)
    (story.view("ab", 2, at="b") if lie else story).now_ns += LIMIT_NS
    return let_go(story).view("ab", 3 if lie else 2, at="ab" if lie else "b").recordings()


@falsified("G7", "a cancel that is said to be sent and never comes")
def _(lie: bool) -> list[Recording]:
    """a's roll call ends without a view; b holds until its own limit, suspects nobody, and goes on with a."""
    story = Story("ab", resumer_ns=LIMIT_NS).view("ab")
    call = {"id": "a#1|1/0.1"}
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view", "merge_id": None})
    begin = {"step": "start", "purpose": "view", "asked": addresses("ab"), "going": [], **call}
    story.event("a", Kind.ROLL_CALL, value=1, detail=begin)
    for name in "ab":
        story.event(name, Kind.ROLL_CALL, value=1, detail={"step": "promise", **call})
    story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "end", "outcome": "cancelled", **call})
    ended = {"cause": "view-failed", "has_view": False, "cancelled": addresses("ab")}
    story.event("a", Kind.RESUME, value=1, other=1, detail=ended)
    if lie:
        story.now_ns += LIMIT_NS
    story.event("b", Kind.ROLL_CALL, value=1, detail={"step": "release", **call})
    return story.view("ab", 2).recordings()


@falsified("G7", "a suspension that ends by a merge that never was")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab")
    until_ns = story.now_ns + LIMIT_NS
    story.event("a", Kind.SUSPEND, value=1, other=until_ns, detail={"cause": "merge", "merge_id": "a#1~1"})
    if not lie:
        story.event("a", Kind.MERGE, "a", detail={"step": "start", "merge_id": "a#1~1"})
        story.event("a", Kind.MERGE, "a", detail={"step": "end", "outcome": "cancelled", "merge_id": "a#1~1"})
    ended = {"cause": "merge-ended", "has_view": False, "cancelled": addresses("b")}
    return story.event("a", Kind.RESUME, value=1, other=2, detail=ended).recordings()


@falsified("G7", "the Resumer comes before its time")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab")
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view", "merge_id": None})
    if not lie:
        story.now_ns += LIMIT_NS
    ended = {"cause": "resumer", "has_view": False, "cancelled": addresses("b")}
    return story.event("a", Kind.RESUME, value=1, other=4, detail=ended).recordings()


# merge


def merged(lie: str, sent_by_c: int = 5) -> Story:
    """ab and cd become one; `lie` names what is told otherwise."""
    story = Story("abcd").view("ab").view("cd", 1).passed("ab", "a", 3)
    if sent_by_c:
        story.passed("cd", "c", sent_by_c)
    merge = {"merge_id": "a#1~1"}
    story.event("a", Kind.MERGE, "a", detail={"step": "start", "parties": [addresses("ab"), addresses("cd")], **merge})
    for name in "ac":
        story.event(name, Kind.MERGE, "a", detail={"step": "accept", **merge})
    entries = {"a": 3, "b": 0, "c": sent_by_c + 4 * (lie == "too high"), "d": 0}
    for name, number in entries.items():
        if lie == "from nowhere" and name == "d":
            continue
        said = {"origin": address(name), "about": "member", **merge}
        story.event("a", Kind.DIGEST, name, first=number, value=number, other=number, detail=said)
    story.event("a", Kind.MERGE, "a", detail={"step": "view", **merge})
    third = story.views["a"]._replace(number=2)
    for side, others in (("ab", "cd"), ("cd", "ab")):
        for name in side:
            for other in others:
                story.offset(name, other, entries[other], "merge", view=third)
    if lie == "never apart":
        story.offset("b", "a", 3, "merge", view=third)
    for name in "abcd":
        told = {**entries, "a": entries["a"] - 1} if lie == "older" and name == "b" else entries
        rows = digest({whose: (number, number, number) for whose, number in told.items()})
        story.view("abcd", 2, at=name, subgroups=[addresses("ab"), addresses("cd")], digest=rows, **merge)
    for name in "ac":
        story.event(name, Kind.MERGE, "a", detail={"step": "end", "outcome": "installed", **merge})
    return story


@falsified("G8", "an entry above what its member ever sent")
def _(lie: bool) -> list[Recording]:
    return merged("too high" if lie else "").recordings()


@falsified("G8", "a digest older by one at one member")
def _(lie: bool) -> list[Recording]:
    return merged("older" if lie else "").recordings()


@falsified("G9", "an entry of a MergeView that nobody gave")
def _(lie: bool) -> list[Recording]:
    return merged("from nowhere" if lie else "").recordings()


@falsified("G10", "a merge sets back a window of members that had met before")
def _(lie: bool) -> list[Recording]:
    """b had 5 of c, was cut off, and comes back by a merge that knows only 3 of them: it gets two of them again."""
    story = Story("bc", self_delivery=False).view("cb").send("c", 5).deliver("b", "c", 1, 5)
    story.view("b", 2).view("c", 2)
    second = story.views["c"]._replace(number=3)
    number = 3 if lie else 5
    if lie:
        story.offset("b", "c", 3, "merge", view=second)
    said = {"origin": address("c"), "about": "member", "merge_id": "c#1~1"}
    story.event("c", Kind.DIGEST, "c", first=number, value=number, other=number, detail=said)
    story.event("c", Kind.DIGEST, "b", detail={**said, "origin": address("b")})
    rows = digest({"c": (number, number, number), "b": 0})
    story.view("cb", 3, subgroups=[addresses("c"), addresses("b")], digest=rows, merge_id="c#1~1")
    if lie:
        story.deliver("b", "c", 4, 2)
    return story.recordings()


# order


@falsified("G11", "a sender's second message is ordered before its first, everywhere alike")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab")
    places = {1: 2, 2: 1} if lie else {1: 1, 2: 2}
    for number, seq in places.items():
        queue(story, "a", number, 1, seq)
    for name in "ab":
        dequeue(story, name, *sorted((("a", number, seq) for number, seq in places.items()), key=lambda m: m[2]))
    return story.recordings()


@falsified("G12", "a torn batch: its last message behind another's")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc")
    queue(queue(story, "a", 5, 3, 1), "b", 1, 1, 2)
    for name in "abc":
        torn = lie and name == "c"
        story.event(name, Kind.DEQUEUE, "a", first=5, count=2 if torn else 3, value=1)
        dequeue(story, name, ("b", 1, 2))
        if torn:
            story.event(name, Kind.DEQUEUE, "a", first=7, count=1, value=1)
    return story.recordings()


@falsified("G16", "an ordered message lost at one destination that goes on")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc")
    queue(queue(story, "a", 1, 1, 1), "b", 1, 1, 2)
    for name in "abc":
        dequeue(story, name, *([] if lie and name == "c" else [("a", 1, 1)]), ("b", 1, 2))
    return story.view("abc", 2).recordings()


@falsified("G16", "an ordered message that nobody queued")
def _(lie: bool) -> list[Recording]:
    story = Story("abc").view("abc")
    queue(story, "a", 1, 1, 1)
    for name in "abc":
        dequeue(story, name, ("a", 1, 1), *([("b", 1, 2)] if lie else []))
    return story.view("abc", 2).recordings()


@falsified("G12", "three that agree in pairs only, each by numbers that grow")
def _(lie: bool) -> list[Recording]:
    """x before y at d, y before z at e, z before x at f; what each says of their places fits what it did."""
    story = Story("abcdef").view("abcdef")
    for name, seq, to in (("a", 1, "df"), ("b", 2, "de"), ("c", 3, "ef")):
        queue(story, name, 1, 1, seq, addresses(to))
    dequeue(story, "d", ("a", 1, 1), ("b", 1, 2))
    dequeue(story, "e", ("b", 1, 2), ("c", 1, 3))
    dequeue(story, "f", *((("c", 1, 3), ("a", 1, 4)) if lie else (("a", 1, 1), ("c", 1, 3))))
    return story.recordings()


@falsified("G12", "one message with two places in the order")
def _(lie: bool) -> list[Recording]:
    """c dequeues a's message where everybody does, and once more at a later place."""
    story = Story("abc").view("abc")
    queue(story, "a", 1, 1, 1)
    queue(story, "b", 1, 1, 2)
    for name in "abc":
        dequeue(story, name, ("a", 1, 1), ("b", 1, 2), *([("a", 1, 3)] if lie and name == "c" else []))
    return story.recordings()


@falsified("G12", "one place in the order, two messages")
def _(lie: bool) -> list[Recording]:
    """Two senders were told the same seq; the receivers order the two messages differently behind it."""
    story = Story("abcd").view("abcd")
    queue(story, "a", 1, 1, 1)
    queue(story, "b", 1, 1, 1 if lie else 2)
    for name in "abcd":
        messages = [("a", 1, 1), ("b", 1, 1 if lie else 2)]
        dequeue(story, name, *(reversed(messages) if lie and name in "cd" else messages))
    return story.recordings()


def on_clocks(story: Story) -> list[Recording]:
    """Everybody on a clock of its own."""
    return [
        Recording.of(replace(r.header, clock=f"clock of {r.member.name}"), [*r.events], closed=r.closed)
        for r in story.recordings()
    ]


def answered(lie: bool, tell: Callable[[Story], object]) -> list[Recording]:
    """a's question has its place; `tell` lets b hear of it, and b's answer gets its place: in front, if it lies."""
    story = Story("abc").view("abc")
    question, answer = (2, 1) if lie else (1, 2)
    queue(story, "a", 1, 1, question)
    tell(story)
    queue(story, "b", 1, 1, answer)
    for name in "abc":
        dequeue(story, name, *sorted([("a", 1, question), ("b", 1, answer)], key=lambda m: m[2]))
    return on_clocks(story)


@falsified("G13", "an answer before its question, behind a multicast message, on three clocks")
def _(lie: bool) -> list[Recording]:
    return answered(lie, lambda story: story.passed("abc", "a", 1))


@falsified("G13", "an answer before its question, behind a private message, on three clocks")
def _(lie: bool) -> list[Recording]:
    return answered(lie, lambda story: private(story, "a", "b", 1))


@falsified("G13", "an answer before its question, told by somebody between, on three clocks")
def _(lie: bool) -> list[Recording]:
    """a writes to c, c then multicasts."""
    return answered(lie, lambda story: private(story, "a", "c", 1).passed("abc", "c", 1))


# waits


@falsified("G14", "a wait that outlives its own limit, and nothing was healed")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab")
    story.event("a", Kind.WAIT_START, value=1, other=story.now_ns + LIMIT_NS, detail={"what": "flush"})
    story.now_ns += LIMIT_NS * (30 if lie else 1)
    return story.event("a", Kind.WAIT_END, value=1, detail={"how": "limit"}).recordings()


def live_on(story: Story, names: str, each_ns: int) -> None:
    """Their recordings reach beyond the bound, so they are judged as members that live."""
    for name in names:
        story.now_ns += each_ns
        story.event(name, Kind.WAIT_START, value=1, other=0, detail={"what": "send"})
        story.event(name, Kind.WAIT_END, value=1, detail={"how": "done"})


def healed(views: Callable[[Story], object]) -> list[Recording]:
    """c dies, then everything is healed; `views` tells which views follow, and a long time passes."""
    story = Story("abc").view("abc")
    story.event("a", Kind.FAULT, detail={"what": "crashed", "members": ["c"]})
    story.recorders["c"].close(story.now_ns, "crashed")
    story.event("a", Kind.HEAL, value=LIMIT_NS, detail={"what": "all"})
    views(story)
    live_on(story, "ab", 10 * LIMIT_NS)
    recordings = [r for name, r in zip(story.recorders, story.recordings(cut="c"), strict=True) if name != "c"]
    return [*recordings, story.recorders["c"].recording()]


@falsified("G14", "the dead stays in the last view")
def _(lie: bool) -> list[Recording]:
    return healed(lambda story: None if lie else story.view("ab", 2))


@falsified("G14", "a process that was there at the heal and is in no view")
def _(lie: bool) -> list[Recording]:
    story = Story("abj").view("ab")
    story.event("j", Kind.WAIT_START, value=1, other=100 * LIMIT_NS, detail={"what": "join"})
    story.event("a", Kind.HEAL, value=LIMIT_NS, detail={"what": "all"})
    if not lie:
        story.view("abj", 2, creator="a").event("j", Kind.WAIT_END, value=1, detail={"how": "done"})
    story.now_ns += 10 * LIMIT_NS
    for name in "abj":
        story.event(name, Kind.WAIT_START, value=2, other=0, detail={"what": "send"})
        story.event(name, Kind.WAIT_END, value=2, detail={"how": "done"})
    return story.recordings()


@falsified("G14", "a joiner that waits past the bound, and is let in long after it")
def _(lie: bool) -> list[Recording]:
    story = Story("abj").view("ab")
    story.event("j", Kind.WAIT_START, value=1, other=100 * LIMIT_NS, detail={"what": "join"})
    story.event("a", Kind.HEAL, value=LIMIT_NS, detail={"what": "all"})
    if lie:
        story.now_ns += 10 * LIMIT_NS
    story.view("abj", 2, creator="a").event("j", Kind.WAIT_END, value=1, detail={"how": "done"})
    story.now_ns += 10 * LIMIT_NS
    for name in "abj":
        story.event(name, Kind.WAIT_START, value=2, other=0, detail={"what": "send"})
        story.event(name, Kind.WAIT_END, value=2, detail={"how": "done"})
    return story.recordings()


@falsified("G14", "a group that died out while a process of it waits")
def _(lie: bool) -> list[Recording]:
    """a and b crash before the heal; c was there, waits, and founds no group of its own if it lies."""
    story = Story("abc").view("ab")
    story.event("c", Kind.WAIT_START, value=1, other=100 * LIMIT_NS, detail={"what": "join"})
    for name in "ab":
        story.event("c", Kind.FAULT, detail={"what": "crashed", "members": [name]})
        story.recorders[name].close(story.now_ns, "crashed")
    story.event("c", Kind.HEAL, value=LIMIT_NS, detail={"what": "all"})
    if not lie:
        story.view("c", 2).event("c", Kind.WAIT_END, value=1, detail={"how": "done"})
    story.now_ns += 10 * LIMIT_NS
    story.event("c", Kind.WAIT_START, value=2, other=0, detail={"what": "send"})
    story.event("c", Kind.WAIT_END, value=2, detail={"how": "done"})
    return story.recordings()


@falsified("G14", "one that lives is excluded after all had shared a view")
def _(lie: bool) -> list[Recording]:
    """Within the bound, and it is back in time."""
    story = Story("abc").view("ab").view("c", 1)
    story.event("a", Kind.HEAL, value=10 * LIMIT_NS, detail={"what": "all"})
    story.view("abc", 2)
    if lie:
        story.view("ab", 3).view("c", 3).view("abc", 4)
    live_on(story, "abc", 20 * LIMIT_NS)
    return story.recordings()


@falsified("G14", "one that lives is excluded by a roll call that began when all shared a view")
def _(lie: bool) -> list[Recording]:
    """True: it began before the last of them had come to the view, so whoever made it could not know (seed 290624)."""
    story = Story("abc").view("ab").view("c", 1)
    story.event("a", Kind.HEAL, value=10 * LIMIT_NS, detail={"what": "all"})
    story.view("abc", 2, at="ab")
    begin = {"step": "start", "purpose": "view", "asked": addresses("ab"), "going": addresses("c"), "id": "a#1|2/0.1"}
    for name in "ca" if lie else "ac":
        if name == "a":
            story.event("a", Kind.ROLL_CALL, detail=begin)
        else:
            story.view("abc", 2, at="c", creator="a")
    story.view("ab", 3).view("c", 3).view("abc", 4)
    live_on(story, "abc", 20 * LIMIT_NS)
    return story.recordings()


@falsified("G14", "one that lives is excluded, when all shared a view, by a maker that leaves later")
def _(lie: bool) -> list[Recording]:
    """True: it began before the last of those who stay had come to the view."""
    story = Story("mabc").view("mab").view("c", 1)
    story.event("a", Kind.HEAL, value=10 * LIMIT_NS, detail={"what": "all"})
    story.view("mabc", 2, at="mab")
    begin = {"step": "start", "purpose": "view", "asked": addresses("mab"), "going": addresses("c"), "id": "m#1|2/0.1"}
    for name in "cm" if lie else "mc":
        if name == "m":
            story.event("m", Kind.ROLL_CALL, detail=begin)
        else:
            story.view("mabc", 2, at="c", creator="m")
    story.view("mab", 3).view("abc", 4)
    story.recorders["m"].close(story.now_ns)
    live_on(story, "abc", 20 * LIMIT_NS)
    return story.recordings()


@falsified("G14", "one that lives is excluded by a later attempt, long after all shared a view")
def _(lie: bool) -> list[Recording]:
    """The roll call asked it and began before it had come. True: it came in the last moment before the next attempt."""
    story = Story("abc").view("ab").view("c", 1)
    story.event("a", Kind.HEAL, value=10 * LIMIT_NS, detail={"what": "all"})
    story.view("abc", 2, at="ab")
    call = {"step": "start", "purpose": "view", "asked": addresses("abc"), "going": [], "id": "a#1|2/0.1"}
    story.event("a", Kind.ROLL_CALL, detail=call).view("abc", 2, at="c", creator="a")
    if lie:
        story.now_ns += LIMIT_NS
    again = {"step": "again", "asked": addresses("ab"), "going": addresses("c"), "id": "a#1|2/0.2"}
    story.event("a", Kind.ROLL_CALL, value=2, detail=call | again)
    story.view("ab", 3).view("c", 3).view("abc", 4)
    live_on(story, "abc", 20 * LIMIT_NS)
    return story.recordings()


@falsified("G14", "views that follow each other for nothing")
def _(lie: bool) -> list[Recording]:
    def views(story: Story) -> None:
        story.view("ab", 2)
        if lie:
            story.now_ns += 3 * LIMIT_NS
            story.view("ab", 3).view("ab", 4).view("ab", 5)

    return healed(views)


# what the application gets


def got(story: Story, *steps: tuple[Kind, int, int]) -> Story:
    for kind, first, count in steps:
        story.event("b", kind, "a", first=first, count=count)
    return story


@falsified("G15", "acked before it was handed over")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", self_delivery=False).view("ab").send("a", 3).deliver("b", "a", 1, 3)
    steps = [(Kind.HANDED, 1, 3), (Kind.TAKEN, 1, 3)]
    return got(story, *(reversed(steps) if lie else steps)).recordings()


@falsified("G15", "handed over before it was delivered")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", self_delivery=False).view("ab").send("a", 3)
    if not lie:
        story.deliver("b", "a", 1, 3)
    got(story, (Kind.HANDED, 1, 3))
    if lie:
        story.deliver("b", "a", 1, 3)
    return got(story, (Kind.TAKEN, 1, 3)).recordings()


@falsified("G15", "dropped in the middle, and the rest handed over")
def _(lie: bool) -> list[Recording]:
    """b's application is not given the second message: an UNREAD says so, and it is given the third."""
    story = Story("ab", self_delivery=False).view("ab").send("a", 3).deliver("b", "a", 1, 3)
    got(story, (Kind.HANDED, 1, 1))
    if lie:
        story.event("b", Kind.UNREAD, "a", first=2, count=1, detail={"why": "no room", "told": "closed"})
    else:
        got(story, (Kind.HANDED, 2, 1))
    return got(story, (Kind.HANDED, 3, 1), (Kind.TAKEN, 1, 3)).recordings()


@falsified("G15", "thrown away with the spool although it came to this member alone")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", self_delivery=False).view("ab").send("a", 3, PRIVATE, peer="b")
    story.deliver("b", "a", 1, 3, stream=PRIVATE)
    story.event("b", Kind.SPOOLED, "a", first=1, count=3, stream=PRIVATE).taken("b", "a", 1, 3, stream=PRIVATE)
    story.event("b", Kind.UNREAD, detail={"why": "it is part of the state that is loaded", "told": "state"})
    if not lie:
        story.event("b", Kind.HANDED, "a", first=1, count=3, stream=PRIVATE)
    return story.ack("a", "b", 3, stream=PRIVATE).recordings()


@falsified("G16", "given up although its destination stays")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab")
    private(story, "a", "b", 5, taken=3)
    if lie:
        story.event("a", Kind.UNDELIVERED, "b", stream=PRIVATE, first=4, count=2, value=2)
    else:
        story.deliver("b", "a", 4, 2, stream=PRIVATE).taken("b", "a", 4, 2, stream=PRIVATE).ack(
            "a", "b", 5, stream=PRIVATE
        )
    return story.view("ab", 2).recordings()


@falsified("G16", "a private message of one stream, delivered by another")
def _(lie: bool) -> list[Recording]:
    """a writes to b; c delivers it."""
    story = Story("abc").view("abc")
    private(story, "a", "b", 2)
    if lie:
        story.deliver("c", "a", 1, 2, stream=PRIVATE)
    return story.view("abc", 2).recordings()


# primary views and state


@falsified("G17", "a majority made of observers")
def _(lie: bool) -> list[Recording]:
    story = Story("abcxy").view("abcxy", observers=addresses("xy"), primary=True)
    return story.view("bxy", 2, observers=addresses("xy"), primary=lie).recordings()


@falsified("G17", "an older primary view gets a second successor")
def _(lie: bool) -> list[Recording]:
    """abcde, then abc; later cde, which has a majority of the first and only one of the second."""
    story = Story("abcde").view("abcde", primary=True).view("abc", 2, primary=True)
    story.view("de", 2, primary=False)
    return story.view("cde", 3, primary=lie).recordings()


def state(story: Story, member: str, peer: str, step: str, of: str, purpose: str = "join", **fields: Any) -> Story:
    detail = {"step": step, "purpose": purpose} | ({} if step == "cut" else {"digest": of})
    return story.event(member, Kind.STATE, peer, value=0 if step == "cut" else 9, detail=detail, **fields)


def joined(lie: str) -> list[Recording]:
    """b gives j its state at view 2, behind a's third message."""
    story = Story("abj").view("ab").send("a", 3)
    for name in "ab":
        story.deliver(name, "a", 1, 3)
    story.event("b", Kind.HANDED, "a", first=1, count=3)
    second = story.views["a"]._replace(number=2)
    for peer, number in (("a", 3), ("b", 0), ("j", 0)):
        story.offset("j", peer, number, "join", view=second)
    story.view("abj", 2, creator="a").send("a", 2)
    for name in "abj":
        story.deliver(name, "a", 4, 2)
    if lie == "one more":
        story.event("b", Kind.HANDED, "a", first=4, count=1)
    state(story, "b", "j", "cut", "1")
    state(story, "b", "j", "given", "1")
    if lie != "one more":
        story.event("b", Kind.HANDED, "a", first=4, count=1)
    story.event("b", Kind.HANDED, "a", first=5, count=1)
    if lie == "too early":
        story.event("j", Kind.HANDED, "a", first=4, count=1)
    if lie != "never":
        state(story, "j", "b", "loaded", "1")
    if lie != "too early":
        story.event("j", Kind.HANDED, "a", first=4, count=1)
    return story.event("j", Kind.HANDED, "a", first=5, count=1).recordings()


@falsified("G18", "the provider gives a state with one message too many")
def _(lie: bool) -> list[Recording]:
    return joined("one more" if lie else "")


@falsified("G18", "the joiner is given a message before its state")
def _(lie: bool) -> list[Recording]:
    return joined("too early" if lie else "")


@falsified("G18", "the joiner goes on without the state that was given to it")
def _(lie: bool) -> list[Recording]:
    return joined("never" if lie else "")


@falsified("G18", "one that founded no group is given a message before its state")
def _(lie: bool) -> list[Recording]:
    """True: j had a state of its own when it was given another one, as after a merge whose merger is gone (331476)."""
    story, first = Story("jb"), "jb" if lie else "j"
    story.view(first).send("j", 1)
    for name in first:
        story.deliver(name, "j", 1, 1)
    story.event("j", Kind.HANDED, "j", first=1, count=1)
    for peer, number in (("j", 1), ("b", 0)) if not lie else ():
        story.offset("b", peer, number, "join", view=story.views["j"]._replace(number=2))
    if lie:
        story.event("b", Kind.HANDED, "j", first=1, count=1)
    story.view("jb", 2, creator="j")
    state(story, "b", "j", "cut", "1")
    state(story, "b", "j", "given", "1")
    return state(story, "j", "b", "loaded", "1").recordings()


@falsified("G18", "a merged state made twice, and not the same")
def _(lie: bool) -> list[Recording]:
    story = merged("", sent_by_c=0)
    state(story, "c", "a", "cut", "c", "side")
    state(story, "c", "a", "given", "c", "side")
    state(story, "a", "c", "got", "c", "side")
    state(story, "a", "a", "merged", "m", "merge")
    for name in "bcd":
        if lie and name == "d":
            state(story, "c", "c", "merged", "n", "merge")
        of, giver = ("n", "c") if lie and name == "d" else ("m", "a")
        state(story, giver, name, "given", of, "merge")
        state(story, name, giver, "loaded", of, "merge")
    return story.recordings()


@falsified("G18", "two merged states behind one MergeView, loaded by members that never parted")
def _(lie: bool) -> list[Recording]:
    """True: they parted before either was made, and were together again when both had been loaded."""
    story = merged("", sent_by_c=0)
    cut = story.views["a"]
    story.view("abcd", 3)
    if not lie:
        story.view("ab", 4).view("cd", 4)
    for name in "ac":
        state(story, name, name, "merged", name, "merge", view=cut)
    if not lie:
        story.view("abcd", 5)
    for name in "ac":
        state(story, name, name, "loaded", name, "merge", view=cut)
    return story.recordings()


# content


@falsified("G1", "other content under a seqno than was sent")
def _(lie: bool) -> list[Recording]:
    """a's second message reaches b with a byte changed; b cuts its runs differently."""
    story = Story("ab", self_delivery=False).view("ab").send("a", 2, content=30).send("a", 2, content=70)
    story.deliver("b", "a", 1, 1, content=10).deliver("b", "a", 2, 2, content=51 if lie else 50)
    return story.deliver("b", "a", 4, 1, content=40).view("ab", 2).recordings()


@falsified("G1", "other content in a private message than was sent")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab").send("a", 1, PRIVATE, peer="b", content=30)
    story.deliver("b", "a", 1, 1, stream=PRIVATE, content=31 if lie else 30).taken("b", "a", 1, 1, stream=PRIVATE)
    return story.ack("a", "b", 1, stream=PRIVATE).recordings()


@falsified("G5", "two members that got different content from one that is gone")
def _(lie: bool) -> list[Recording]:
    """a sends one thing to b and another to c under the same number, and dies; its recording is cut before it."""
    story = Story("abc", self_delivery=False).view("abc").send("a", 1)
    story.deliver("b", "a", 1, 1, content=30).deliver("c", "a", 1, 1, content=31 if lie else 30)
    return story.view("bc", 2).recordings("a")


# what both once held although it was not so


@falsified("G15", "counted as taken before it was delivered and handed over")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", self_delivery=False).view("ab").send("a", 3)
    if lie:
        story.taken("b", "a", 1, 3)
    story.deliver("b", "a", 1, 3).event("b", Kind.HANDED, "a", first=1, count=3)
    if not lie:
        story.taken("b", "a", 1, 3)
    return story.ack("a", "b", 3).purge("a", 3).recordings()


@falsified("G15", "one that acks and never says what its application was given, beside one that does")
def _(lie: bool) -> list[Recording]:
    story = Story("abc", self_delivery=False).view("abc").send("a", 3)
    for name in "bc":
        story.deliver(name, "a", 1, 3)
        if name == "b" or not lie:
            story.event(name, Kind.HANDED, "a", first=1, count=3)
        story.taken(name, "a", 1, 3).ack("a", name, 3)
    return story.purge("a", 3).recordings()


@falsified("G3", "acked before it was sent")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", self_delivery=False).view("ab").send("a", 2 if lie else 3)
    story.deliver("b", "a", 1, 3).taken("b", "a", 1, 3).ack("a", "b", 3)
    return (story.send("a", 1) if lie else story).purge("a", 3).recordings()


@falsified("G3", "a private message acked before it was sent")
def _(lie: bool) -> list[Recording]:
    story = Story("ab").view("ab").send("a", 2 if lie else 3, PRIVATE, peer="b")
    story.deliver("b", "a", 1, 3, stream=PRIVATE).taken("b", "a", 1, 3, stream=PRIVATE)
    story.ack("a", "b", 3, stream=PRIVATE)
    return (story.send("a", 1, PRIVATE, peer="b") if lie else story).recordings()


@falsified("G3", "acked and purged before the receiver took it, by the one exact clock")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", self_delivery=False).view("ab").send("a", 3).deliver("b", "a", 1, 3).taken("b", "a", 1, 2)
    if not lie:
        story.taken("b", "a", 3, 1)
    story.ack("a", "b", 3).purge("a", 3)
    return (story.taken("b", "a", 3, 1) if lie else story).recordings()


@falsified("G6", "a view that its maker installs without having suspended its view handler")
def _(lie: bool) -> list[Recording]:
    story = Story("abc", resumer_ns=LIMIT_NS).view("abc")
    if not lie:
        story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view"})
        asked = {"purpose": "view", "asked": addresses("ab"), "going": addresses("c"), "id": "a#1|1/0.1"}
        story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "start", **asked})
    story.view("ab", 2)
    if not lie:
        story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "end", "outcome": "installed", "id": "a#1|1/0.1"})
        ended = {"cause": "view-installed", "has_view": True, "cancelled": addresses("c")}
        story.event("a", Kind.RESUME, value=1, detail=ended)
    return story.recordings()


@falsified("G6", "a view that its maker installs without a roll call")
def _(lie: bool) -> list[Recording]:
    story = Story("ab", resumer_ns=LIMIT_NS).view("ab")
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + LIMIT_NS, detail={"cause": "view"})
    call = {"purpose": "view", "asked": addresses("ab"), "going": [], "id": "a#1|1/0.1"}
    if not lie:
        story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "start", **call})
    story.view("ab", 2)
    if not lie:
        story.event("a", Kind.ROLL_CALL, value=1, detail={"step": "end", "outcome": "installed", "id": call["id"]})
    ended = {"cause": "view-installed", "has_view": True, "cancelled": []}
    return story.event("a", Kind.RESUME, value=1, detail=ended).recordings()
