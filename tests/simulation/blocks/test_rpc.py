"""Calls in the simulated world: every member asked is one answer; handlers run once, are cancelled, keep one order."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from ringcast import TOTAL, Address, Batch, Order, RingcastError, UsageError, View, WaitExpired
from ringcast.blocks import Answer, Gone, RemoteError, Rpc
from ringcast.blocks.block import Block
from ringcast.testing import World
from simulation.blocks.kit import FIRST_SEED, SEEDS, Log, Service, cut_and_crash, differing, finish, is_caught


class Sums(Service):
    """Adds, fails, waits, and says whether its waiting was cancelled."""

    def make(self) -> list[Block]:
        self.rpc = Rpc("sums")
        self.cancelled = 0
        self.waiting = 0

        @self.rpc.handler
        async def add(a: int, b: int = 1, *, twice: bool = False) -> int:
            return (a + b) * (2 if twice else 1)

        @self.rpc.handler
        async def fail(text: str) -> None:
            raise KeyError(text)

        @self.rpc.handler
        async def wait(seconds: float) -> str:
            self.waiting += 1
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return self.shared.me.name

        @self.rpc.handler
        async def give_up() -> None:
            waiting = asyncio.ensure_future(asyncio.sleep(60))
            waiting.cancel()
            await waiting

        @self.rpc.handler
        async def raise_surrogate() -> None:
            raise OSError(os.fsdecode(b"\xff"))

        self.add, self.fail, self.wait, self.give_up = add, fail, wait, give_up
        self.raise_surrogate = raise_surrogate
        return [self.rpc]

    def address(self, name: str) -> Address:
        return next(member for member in self.shared.group.members if member.name == name)


def test_one_member_is_called_with_typed_arguments_and_its_error_has_type_and_text() -> None:
    with World(Sums, members=2) as world:
        a = world.apps["A"]
        b = a.address("B")
        assert world.do("A", a.add.on(b)(1, 2)) == 3
        assert world.do("A", a.add.on(b)(1, twice=True)) == 4
        assert world.do("A", a.add.on(a.shared.me)(5)) == 6
        assert world.do("A", a.add(1, 1)) == 2
        with pytest.raises(RemoteError) as raised:
            world.do("A", a.fail.on(b)("tea"))
        assert (raised.value.member, raised.value.kind, raised.value.text) == (b, "KeyError", "'tea'")
        with pytest.raises(RemoteError, match="ValidationError"):
            world.do("A", a.add.on(b)("no number"))
        with pytest.raises(TypeError):
            world.do("A", a.add.on(b)(1, 2, True, 4))


def test_answers_come_as_they_come_or_gathered() -> None:
    with World(Sums, members=5) as world:
        a = world.apps["A"]

        async def names(gather: Any) -> list[str]:
            return sorted(answer.value for answer in await a.wait.on_all(gather=gather)(0.1))

        assert world.do("A", names("all")) == list("ABCDE")
        assert len(world.do("A", names("majority"))) == 3
        assert len(world.do("A", names("first"))) == 1

        async def each() -> list[int]:
            return [answer.value async for answer in a.add.each([a.address("B"), a.address("C")])(1, 1)]

        assert world.do("A", each()) == [2, 2]
        world.advance(1)
        assert not a.rpc._calls and not any(app.rpc._running for app in world.apps.values())


def test_a_timeout_and_a_cancelled_caller_reach_the_handler() -> None:
    with World(Sums, members=2) as world:
        a, b = world.apps["A"], world.apps["B"]
        with pytest.raises(WaitExpired, match="has not answered 'wait' within"):
            world.do("A", a.wait.on(a.address("B"), timeout=0.5)(60))
        world.advance(0.5)
        assert (b.waiting, b.cancelled) == (1, 1)
        calling = world.spawn("A", a.wait.on(a.address("B"))(60))
        world.advance(0.5)
        calling.cancel()
        world.advance(0.5)
        assert (b.waiting, b.cancelled) == (2, 2)
        (late,) = world.do("A", a.wait.on_all([a.address("B")], timeout=0.2)(60))
        assert isinstance(late.error, WaitExpired) and not late.ok


def test_a_member_that_goes_is_the_answer_gone_and_a_caller_that_goes_cancels() -> None:
    with World(Sums, members=3) as world:
        a, b = world.apps["A"], world.apps["B"]
        calling = world.spawn("A", a.wait.on_all()(20))
        behind = world.spawn("C", world.apps["C"].wait.on(world.apps["C"].address("B"))(3600))
        world.advance(0.5)
        world.crash("C")
        world.agree()
        world.advance(25)
        answers = calling.result()
        assert [answer.value for answer in answers if answer.ok] in (["A", "B"], ["B", "A"])
        (gone,) = [answer for answer in answers if not answer.ok]
        assert isinstance(gone.error, Gone) and gone.member.name == "C"
        assert b.cancelled == 1, "C is gone, so nobody waits for B's handler"
        with pytest.raises(Gone):
            world.do("A", a.add.on(gone.member)(1))
        del behind


@pytest.mark.parametrize("paused", ["A", "B"])
def test_a_pause_of_either_ends_the_call_and_its_handler(paused: str) -> None:
    with World(Sums, members=3) as world:
        a, b = world.apps["A"], world.apps["B"]
        calling = world.spawn("A", a.wait.on(a.address("B"))(3600))
        world.advance(0.5)
        world.freeze(paused)
        world.advance(10)
        world.thaw(paused)
        world.advance(0)
        world.settle(60)
        world.advance(1)
        assert isinstance(calling.exception(), Gone)
        assert not b.rpc._running and b.cancelled == 1


@pytest.mark.parametrize("order", [Order.FIFO, Order.TOTAL])
def test_what_was_asked_of_a_newcomer_before_the_cut_of_its_state_is_answered_as_gone(order: Order) -> None:
    """The first provider dies; the state of the next is cut in the view behind the call, which is in it."""
    with World(Sums, members=3) as world:
        a = world.apps["A"]
        world.start("D")
        world.drop("state", sender="C", to="D")
        world.advance(0.5)
        d = a.address("D")
        all_of_them = world.spawn("A", a.add.on_all(order=order)(1, 2))
        the_newcomer = world.spawn("A", a.add.on(d, order=order)(1, 2))
        both = world.spawn("A", a.add.on_all([a.address("B"), d], order=order)(1, 2))
        world.advance(0.1)
        world.crash("C")
        world.agree()
        world.advance(1)
        assert sorted(answer.member.name for answer in all_of_them.result() if answer.ok) == ["A", "B", "C"]
        assert the_newcomer.result() == 3, "it came to D alone, so it is in no state"
        from_both = {answer.member.name: answer for answer in both.result()}
        if order is Order.FIFO:
            assert from_both["D"].value == 3
        else:
            with pytest.raises(Gone, match="D#1 had no state yet and has not answered"):
                assert from_both["D"].value, "it went to B too, so it is in the state of B"
        assert world.do("A", a.add.on(d, order=order)(1, 2)) == 3


@pytest.mark.parametrize("asker", ["B", "C"])
@pytest.mark.parametrize("order", [Order.FIFO, Order.TOTAL])
def test_what_was_asked_of_a_member_before_it_loaded_a_later_state_is_answered_as_gone(
    order: Order, asker: str
) -> None:
    """C waits for the merged state, of which nothing comes; its merger dies, and B's state is cut behind the call."""
    with World(Sums, members=3) as world:
        app = world.apps[asker]
        world.partition("A")
        world.advance(8)
        world.heal()
        world.drop("state", "A", "C")
        assert world.run_until(lambda: len(world.apps["B"].shared.view.members) == 3)
        world.advance(0.2)
        all_of_them = world.spawn(asker, app.add.on_all(order=order)(1, 2))
        alone = world.spawn(asker, app.add.on(app.address("C"), order=order)(1, 2))
        world.advance(0.2)
        world.crash("A")
        world.agree()
        world.advance(1)
        assert sorted(answer.member.name for answer in all_of_them.result() if answer.ok) == ["A", "B"]
        assert alone.result() == 3, "it came to C alone, so it is in no state"


def test_who_is_busy_or_has_no_such_handler_says_so() -> None:
    class Small(Sums):
        def make(self) -> list[Block]:
            blocks = super().make()
            self.rpc._at_once = 2
            return blocks

    with World(Small, members=2) as world:
        a = world.apps["A"]
        b = a.address("B")
        for _ in range(2):
            world.spawn("A", a.wait.on(b)(5))
        world.advance(0.1)
        with pytest.raises(RemoteError, match="Busy"):
            world.do("A", a.add.on(b)(1))
        world.advance(6)
        assert world.do("A", a.add.on(b)(1)) == 2
        del world.apps["B"].rpc._procedures["add"]
        with pytest.raises(RemoteError, match="'add' is no handler of 'sums'"):
            world.do("A", a.add.on(b)(1))


def error_before_another_call(handler: str, order: Order) -> RemoteError:
    """What A gets for a call to this handler of B. A call behind it is answered."""
    with World(Sums, members=2) as world:
        a = world.apps["A"]
        b = a.address("B")
        failing = world.spawn("A", getattr(a, handler).on(b, order=order)())
        behind = world.spawn("A", a.add.on(b, order=order)(1, 2))
        world.advance(1)
        error = failing.exception()
        assert isinstance(error, RemoteError)
        assert behind.result() == 3
    return error


@pytest.mark.parametrize("order", [Order.FIFO, Order.TOTAL])
def test_a_handler_that_ends_itself_by_a_cancellation_is_an_error_at_its_caller(order: Order) -> None:
    """What it waited for was cancelled, not the call: the caller must not wait for ever, nor the next ordered call."""
    assert error_before_another_call("give_up", order).kind == "CancelledError"


@pytest.mark.parametrize("order", [Order.FIFO, Order.TOTAL])
def test_the_text_of_an_error_may_be_what_no_message_can_hold(order: Order) -> None:
    """The name of a file with bytes that are no text has surrogates."""
    assert error_before_another_call("raise_surrogate", order).text == "\\udcff"


def test_calls_on_a_group_that_has_ended_end() -> None:
    with World(Sums, members=1) as world:
        app = world.apps["A"]
        app.shared._end(RingcastError("the end"))
        late = Rpc("late", app.add._function)
        app.shared.add(late)
        with pytest.raises(RingcastError, match="the end"):
            world.do("A", late.of(app.add._function).on(app.shared.me)(1))


def test_a_handler_is_checked_where_it_is_made() -> None:
    with pytest.raises(UsageError, match="at least 1 handler"):
        Rpc("checks", at_once=0)
    rpc = Rpc("checks")

    def plain() -> None: ...

    async def many(*values: int) -> None: ...

    async def once() -> None: ...

    for wrong in (plain, many):
        with pytest.raises(UsageError):
            rpc.handler(wrong)  # type: ignore[arg-type]
    rpc.handler(once)
    with pytest.raises(UsageError, match="already"):
        rpc.handler(once)


# ---- random calls under faults


class History:
    def __init__(self) -> None:
        self.ran: Counter[tuple[str, str]] = Counter()  # (asked, question) -> how often its handler ran
        self.logs: list[Log] = []
        self.unfinished: list[str] = []
        self.wrong: list[str] = []


class LoggedRpc(Rpc):
    """Notes what was delivered in order, to be compared with what ran."""

    log: Log

    def _on_batch(self, batch: Batch) -> None:
        if batch.order is TOTAL:
            self.log += [("op", payload[-20:]) for payload in batch.payloads]
        super()._on_batch(batch)

    def _on_view(self, view: View) -> None:
        self.log.append(("view", view.id))
        super()._on_view(view)


class Talker(Service):
    """Asks others at random, of itself and in order."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.ordered: list[str] = []
        self.is_done = False
        super().__init__()

    def on_loaded(self, view: int) -> None:
        self.rpc.log.append(("load", view))

    def make(self) -> list[Block]:
        self.rpc = LoggedRpc("talk")
        self.rpc.log = []
        self.history.logs.append(self.rpc.log)

        @self.rpc.handler
        async def ask(question: str, seconds: float) -> str:
            self.history.ran[str(self.shared.me), question] += 1
            await asyncio.sleep(seconds)
            if question.endswith("7"):
                raise ValueError(question)
            return f"{self.shared.me.name} to {question}"

        @self.rpc.handler
        async def step(question: str) -> int:
            before = len(self.ordered)
            await asyncio.sleep(0.001)
            if len(self.ordered) != before:
                self.history.wrong.append(f"two ordered handlers ran at once at {self.shared.me}")
            self.ordered.append(question)
            return len(self.ordered)

        self.ask, self.step = ask, step
        return [self.rpc]

    async def live(self) -> None:
        me = self.shared.me
        random = Random(f"{me}")
        for number in range(40):
            await asyncio.sleep(random.random() / 10)
            if self.is_enough:
                break
            question = f"{me}/{number}".rjust(20, "-")
            try:
                async with asyncio.timeout(20):
                    if random.random() < 0.3:
                        await self.step.on_all(order=TOTAL, timeout=5)(question)
                    else:
                        await self._ask(question, random)
            except RingcastError:
                await asyncio.sleep(0.1)
            except TimeoutError:
                self.history.unfinished.append(question)
        self.is_done = True
        await asyncio.Event().wait()

    async def _ask(self, question: str, random: Random) -> None:
        asked = random.sample(self.shared.members, random.randint(1, len(self.shared.members)))
        gather = random.choice(["first", "majority", "all"])
        seconds, limit = random.choice([(0, 4), (0, None), (0.01, None), (0.5, None), (3600, 1)])
        call = self.ask.on_all(asked, gather=gather, timeout=limit)  # type: ignore[arg-type]
        answers = await call(question, seconds)
        self.history.wrong += wrong_answers(answers, asked, gather, question, self.history)


def wrong_answers(
    answers: list[Answer[str]], asked: list[Address], gather: str, question: str, history: History
) -> list[str]:
    """What the promise forbids: two answers of one member, one of a stranger, a value that its handler did not give."""
    found = []
    members = [answer.member for answer in answers]
    if len(set(members)) != len(members) or not set(members) <= set(asked):
        found.append(f"{question}: answers of {members}, asked were {asked}")
    good = sum(answer.ok for answer in answers)
    enough = {"first": 1, "majority": len(asked) // 2 + 1, "all": len(asked) + 1}[gather]
    if good < enough and len(answers) != len(asked):
        found.append(f"{question}: {gather} ended with {good} good of {len(answers)}")
    for answer in answers:
        ran = history.ran[str(answer.member), question]
        told = answer.ok or isinstance(answer.error, RemoteError)
        if ran > 1 or (told and ran != 1):
            found.append(f"{question}: the handler of {answer.member} ran {ran} times")
        if answer.ok and (answer.value != f"{answer.member.name} to {question}" or question.endswith("7")):
            found.append(f"{question}: {answer.member} answered {answer.value!r}")
        if isinstance(answer.error, RemoteError) and not (answer.error.kind == "ValueError" and question[-1] == "7"):
            found.append(f"{question}: {answer.error}")
    return found


def trouble(world: World) -> None:
    world.trouble(5, faults=4)


def troubled(seed: int, story: Callable[[World], None] = trouble) -> list[str]:
    """What went against the promise of Rpc in one seed."""
    history = History()
    with World(lambda: Talker(history), members=4, seed=seed) as world:
        story(world)
        finish(world, lambda: all(app.is_done for app in world.apps.values()), 25)
        world.advance(1)
        found = [*history.wrong, *differing(history.logs)]
        found += [f"{question} never ended" for question in history.unfinished]
        for name, app in world.apps.items():
            delivered = [item for what, item in app.rpc.log if what == "op"]
            ran = [question.encode() for question in app.ordered]
            if ran != delivered:
                found.append(f"{name} was given {len(delivered)} ordered calls and ran {len(ran)}, or in another order")
            if app.rpc._calls or app.rpc._running:
                found.append(f"{name} still has calls {list(app.rpc._calls)} and handlers {list(app.rpc._running)}")
        return found


# 112: a member went from a view directly to a merge view with its caller, who had gone on without it in between.
# 501: a member called others who had gone on without it; its request reached them behind the merge, and ran for ever.
@pytest.mark.parametrize("seed", [112, 501, *range(FIRST_SEED, FIRST_SEED + SEEDS)])
def test_whatever_goes_wrong_every_call_ends_with_true_answers(seed: int) -> None:
    assert troubled(seed) == []


def _answers_to_the_last_call(self: Rpc, sender: Address, number: int, what: int, body: bytes) -> None:
    right(self, sender, max(self._calls, default=0), what, body)


def _view_is_ignored(self: Rpc, view: View) -> None:
    self.log.append(("view", view.id))  # type: ignore[attr-defined]


async def _cancels_nobody(self: Rpc, number: int, destinations: list[Address | None]) -> None:
    pass


async def _ordered_at_once(self: Rpc) -> None:
    while self._ordered:
        self._start(*self._ordered.popleft())
    self._worker = None


right: Callable[..., None] = Rpc._answered
PLANTED: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "an answer goes to the last call": (Rpc, "_answered", _answers_to_the_last_call),
    "who has gone is waited for": (LoggedRpc, "_on_view", _view_is_ignored),
    "a call that ended cancels nobody": (Rpc, "_cancel", _cancels_nobody),
    "ordered calls run side by side": (Rpc, "_work", _ordered_at_once),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*PLANTED[mistake])
    assert any(is_caught(partial(troubled, seed, story)) for seed in range(4) for story in (cut_and_crash, trouble))
