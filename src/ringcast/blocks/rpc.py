"""Calls to members of a group: handlers are plain `async def`, answers come as they come or gathered.

    rpc = Rpc("sums")

    @rpc.handler
    async def add(a: int, b: int) -> int:
        return a + b

    await add.on(member)(1, 2)                 one
    await add.on_all(gather="majority")(1, 2)  all, until more than half have answered
    async for answer in add.each()(1, 2): ...  as they come

Arguments and results travel as msgpack, checked against the annotations where they arrive; never pickle. A call that
ends early (timeout, cancellation, enough answers) cancels the handlers that still run; so does the caller's leaving.
With `order=TOTAL` the handlers run one after the other in the one order of all, at every member the same, and are not
cancelled: such calls are steps of a state machine, which no member may skip. A handler of theirs must not wait for the
group itself.
"""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from struct import Struct
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from ringcast import TOTAL, Address, Batch, NotMember, Order, RingcastError, UsageError, View
from ringcast.blocks.block import UNREADABLE, Block
from ringcast.blocks.calls import Answer, Call, Gather
from ringcast.blocks.errors import Gone, RemoteError

P = ParamSpec("P")
R = TypeVar("R")

AT_ONCE = 1024  # handlers that run at one member, and ordered calls that wait there
MAX_ERROR_TEXT = 2000

_HEAD = Struct(">BQ")  # what, number of the call
_REQUEST, _RESULT, _ERROR, _CANCEL = range(4)

_encode = msgspec.msgpack.Encoder().encode
_decode_error = msgspec.msgpack.Decoder(tuple[str, str]).decode


class Procedure(Generic[P, R]):
    """A handler as callers see it. Called itself, it runs here."""

    def __init__(self, rpc: Rpc, function: Callable[P, Coroutine[Any, Any, R]]) -> None:
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._rpc = rpc
        self._function = function
        self._arguments, self._keywords = _arguments_of(function)
        self._arguments_decoder = msgspec.msgpack.Decoder(self._arguments)
        self._result_decoder = msgspec.msgpack.Decoder(_hints(function).get("return", Any))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return self._function(*args, **kwargs)

    def on(
        self, member: Address, *, timeout: float | None = None, order: Order = Order.FIFO
    ) -> Callable[P, Coroutine[Any, Any, R]]:
        """Call one member: its result, or RemoteError, Gone or WaitExpired."""

        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            asked = self._rpc._begin(self.name, [member], timeout)
            try:
                await self._rpc._ask(asked, self._request(args, kwargs), order)
                answer = await asked.next()
            finally:
                self._rpc._finish(asked, order)
            assert answer is not None
            return self._typed(answer).value

        return call

    def on_all(
        self,
        members: Iterable[Address] | None = None,
        *,
        gather: Gather = "all",
        timeout: float | None = None,
        order: Order = Order.FIFO,
    ) -> Callable[P, Coroutine[Any, Any, list[Answer[R]]]]:
        """Call these, or all of the view: the answers in the order in which they came.

        `first` and `majority` (of those asked) count good answers and end as soon as there are enough; members that
        failed, are gone or too late are answers as well, with an error.
        """
        if gather not in ("first", "majority", "all"):
            raise UsageError(f"gather must be 'first', 'majority' or 'all', got {gather!r}")

        async def call(*args: P.args, **kwargs: P.kwargs) -> list[Answer[R]]:
            asked = self._rpc._begin(self.name, members, timeout)
            try:
                await self._rpc._ask(asked, self._request(args, kwargs), order)
                return [self._typed(answer) for answer in await asked.gather(gather)]
            finally:
                self._rpc._finish(asked, order)

        return call

    def each(
        self,
        members: Iterable[Address] | None = None,
        *,
        timeout: float | None = None,
        order: Order = Order.FIFO,
    ) -> Callable[P, AsyncIterator[Answer[R]]]:
        """The same, answer by answer as they come; leaving the loop cancels the rest."""

        async def call(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Answer[R]]:
            asked = self._rpc._begin(self.name, members, timeout)
            try:
                await self._rpc._ask(asked, self._request(args, kwargs), order)
                while (answer := await asked.next()) is not None:
                    yield self._typed(answer)
            finally:
                self._rpc._finish(asked, order)

        return call

    def _request(self, args: Any, kwargs: Any) -> bytes:
        name = self.name.encode()
        return bytes([len(name)]) + name + _encode(self._arguments(*args, **kwargs))

    def _typed(self, answer: Answer[Any]) -> Answer[R]:
        if answer.error is not None:
            return answer
        try:
            return Answer(answer.member, self._result_decoder.decode(answer.result or b""))
        except UNREADABLE as error:
            return Answer(answer.member, error=RemoteError(answer.member, "a result of another type", str(error)))

    async def _run(self, raw: bytes) -> bytes:
        values = msgspec.structs.astuple(self._arguments_decoder.decode(raw))
        at = len(values) - len(self._keywords)
        result = await self._function(*values[:at], **dict(zip(self._keywords, values[at:], strict=True)))
        return _encode(result)


class Rpc(Block):
    """The handlers of this member, and calls to those of others. It has no state, so it may be added at any time."""

    def __init__(
        self, name: str = "rpc", *handlers: Callable[..., Coroutine[Any, Any, Any]], at_once: int = AT_ONCE
    ) -> None:
        super().__init__(name)
        if at_once < 1:
            raise UsageError(f"{name!r} must be allowed at least 1 handler at once, got {at_once}")
        self._procedures: dict[str, Procedure[..., Any]] = {}
        self._calls: dict[int, Call] = {}
        self._last = 0
        self._running: dict[tuple[Address, int], asyncio.Task[None]] = {}
        self._sending: dict[asyncio.Task[None], None] = {}  # cancellations on their way
        self._ordered: deque[tuple[Address, int, bytes]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._at_once = at_once
        self.malformed = 0  # messages that are none of ours
        for function in handlers:
            self.handler(function)

    def handler(self, function: Callable[P, Coroutine[Any, Any, R]]) -> Procedure[P, R]:
        """Let others call this function, by its name; its annotations say what travels."""
        procedure = Procedure(self, function)
        if procedure.name in self._procedures:
            raise UsageError(f"{self.name!r} has a handler {procedure.name!r} already")
        if len(procedure.name.encode()) > 255:
            raise UsageError(f"the name of handler {procedure.name[:32]!r}… is too long")
        self._procedures[procedure.name] = procedure
        return procedure

    def of(self, function: Callable[P, Coroutine[Any, Any, R]]) -> Procedure[P, R]:
        """The procedure that was made of this function."""
        procedure = self._procedures.get(function.__name__)
        if procedure is None:
            raise UsageError(f"{function.__name__!r} is no handler of {self.name!r}")
        return procedure  # type: ignore[return-value]  # made of that very function

    # ---- calling

    def _begin(self, procedure: str, members: Iterable[Address] | None, timeout: float | None) -> Call:
        asked = list(self._port.group.view.members if members is None else members)
        self._last += 1
        call = self._calls[self._last] = Call(self._last, procedure, asked, timeout, to_all=members is None)
        return call

    async def _ask(self, call: Call, request: bytes, order: Order) -> None:
        """Returns when the request is sent: to the whole view with its newcomers, or to the asked who are here."""
        port, body = self._port, _HEAD.pack(_REQUEST, call.number) + request
        send = port.queue if order is TOTAL else port.send
        while True:
            if not port.gate.is_open:
                await call.within_limit(port.gate.until_open())
            self._mark_gone(call, port.group.view.members)
            if not call.awaited:
                return
            to = None if call.to_all else list(call.awaited)
            try:
                await send(body, to=to, timeout=call.seconds_left())
            except NotMember:
                await asyncio.sleep(0)  # Somebody left while this waited: ask the others.
                continue
            call.sent_in, call.is_ordered = port.group.view.id.number, order is TOTAL
            call.is_to_one = to is not None and len(to) == 1
            if call.to_all:
                call.ask_too(port.group.view.members)
            return

    def _finish(self, call: Call, order: Order) -> None:
        """Nobody waits for the rest any more."""
        del self._calls[call.number]
        if call.error is None and self._ended is None and order is not TOTAL:
            self._send_cancel(call, (*call.awaited, *call.late))

    def _send_cancel(self, call: Call, members: Iterable[Address]) -> None:
        """On the stream of the request, so that it comes behind it: to the view or to each."""
        late = [member for member in members if member in self._port.group.view]
        if late:
            task = asyncio.get_running_loop().create_task(self._cancel(call.number, [None] if call.to_all else late))
            self._sending[task] = None
            task.add_done_callback(self._sending.pop)

    async def _cancel(self, number: int, destinations: Sequence[Address | None]) -> None:
        for destination in destinations:
            try:
                await self._port.send(_HEAD.pack(_CANCEL, number), to=destination)
            except RingcastError:
                pass  # It left, or this member did: its handler is cancelled by the view.

    # ---- what the group tells it

    def _on_batch(self, batch: Batch) -> None:
        sender = batch.sender
        for payload in batch.payloads:
            if len(payload) < _HEAD.size:
                self.malformed += 1
                continue
            what, number = _HEAD.unpack_from(payload)
            body = payload[_HEAD.size :]
            if what == _REQUEST and batch.order is TOTAL:
                self._ordered.append((sender, number, body))
                if self._worker is None:
                    self._worker = asyncio.get_running_loop().create_task(self._work())
            elif what == _REQUEST:
                self._start(sender, number, body)
            elif what == _CANCEL:
                if (running := self._running.pop((sender, number), None)) is not None:
                    running.cancel()
            elif what in (_RESULT, _ERROR):
                self._answered(sender, number, what, body)
            else:
                self.malformed += 1

    def _answered(self, sender: Address, number: int, what: int, body: bytes) -> None:
        call = self._calls.get(number)
        if call is None:
            return
        if what == _RESULT:
            call.put(Answer(sender, body))
            return
        try:
            kind, text = _decode_error(body)
        except UNREADABLE as error:
            self.malformed += 1
            kind, text = "an error that cannot be read", str(error)
        call.put(Answer(sender, error=RemoteError(sender, kind, text)))

    def _on_view(self, view: View) -> None:
        """Who comes from another side of a merge was gone in between, even if no view here says so (a pause).

        A request to such a member alone may reach it behind the merge: it is told that nobody waits.
        """
        me = self._port.group.me
        together = next((side for side in view.subgroups if me in side), view.members)
        for call in list(self._calls.values()):
            if call.sent_in is None or call.sent_in >= view.id.number:
                self._mark_gone(call, view.members)
                continue
            back = [member for member in call.awaited if member in view and member not in together]
            self._mark_gone(call, together)
            if not call.is_ordered:
                self._send_cancel(call, back)
        for key in [key for key in self._running if key[0] not in together]:
            self._running.pop(key).cancel()

    def _on_begun(self, member: Address, view: int) -> None:
        """True if a newcomer may never read this request: asked before the cut of its state, and not of it alone.

        Without order that is any to some members; in the one order its provider may have been asked too, and the state
        has the request then.
        """
        for call in self._calls.values():
            may_be_in_a_state = call.to_all or (call.is_ordered and not call.is_to_one)
            if call.sent_in is not None and call.sent_in < view and may_be_in_a_state:
                call.put(Answer(member, error=Gone(member, "had no state yet")))

    def _mark_gone(self, call: Call, here: tuple[Address, ...]) -> None:
        for member in [member for member in call.awaited if member not in here]:
            call.put(Answer(member, error=Gone(member)))

    def _fail(self, error: RingcastError) -> None:
        for call in self._calls.values():
            call.fail(error.unknown("whether the handlers ran cannot be known"))

    def _end(self, error: RingcastError) -> None:
        super()._end(error)
        for task in [*self._running.values(), *self._sending, *([self._worker] if self._worker else [])]:
            task.cancel()
        self._running.clear()

    # ---- handling

    def _start(self, caller: Address, number: int, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        if len(self._running) >= self._at_once:
            answer = _error(number, "Busy", f"{len(self._running)} handlers run here, no more are begun")
            task = loop.create_task(self._answer(caller, answer))
            self._sending[task] = None
            task.add_done_callback(self._sending.pop)
            return
        key = (caller, number)
        task = self._running[key] = loop.create_task(self._handle(caller, number, body))
        task.add_done_callback(lambda _: self._running.pop(key, None))

    async def _work(self) -> None:
        """Ordered calls, one after the other."""
        try:
            while self._ordered:
                caller, number, body = self._ordered.popleft()
                self._tell_room()
                await self._handle(caller, number, body)
        finally:
            self._worker = None

    async def _handle(self, caller: Address, number: int, body: bytes) -> None:
        await self._answer(caller, await self._answer_of(number, body))

    async def _answer_of(self, number: int, body: bytes) -> bytes:
        length = 1 + body[0] if body else 0
        name = body[1:length].decode(errors="replace")
        procedure = self._procedures.get(name)
        if procedure is None:
            return _error(number, "UnknownProcedure", f"{name!r} is no handler of {self.name!r} here")
        try:
            return _HEAD.pack(_RESULT, number) + await procedure._run(body[length:])
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            return _error(number, "CancelledError", "what the handler waited for was cancelled")  # The call was not.
        except Exception as error:
            return _error(number, type(error).__name__, str(error))

    async def _answer(self, caller: Address, answer: bytes) -> None:
        try:
            await self._port.send(answer, to=caller)
        except UsageError as error:
            if not isinstance(error, NotMember):  # The answer is larger than a message may be.
                await self._answer(caller, _error(_HEAD.unpack_from(answer)[1], "UsageError", str(error)))
        except RingcastError:
            pass  # The caller left, or this member did: nobody waits.

    # ---- flow control: ordered calls may not be refused, so they hold the group

    @property
    def _unread(self) -> int:
        return len(self._ordered)

    @property
    def _is_full(self) -> bool:
        return len(self._ordered) >= self._at_once


def _error(number: int, kind: str, text: str) -> bytes:
    """A text may hold what is no text on the wire (surrogates of a file's name)."""
    text = text[:MAX_ERROR_TEXT].encode(errors="backslashreplace").decode()
    return _HEAD.pack(_ERROR, number) + _encode((kind, text))


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise UsageError(f"the annotations of {function.__name__!r} cannot be read: {error}") from None


def _arguments_of(function: Callable[..., Any]) -> tuple[type[msgspec.Struct], list[str]]:
    """What its arguments are on the wire: an array in the order of the parameters; and those given by keyword only."""
    if not inspect.iscoroutinefunction(function):
        raise UsageError(f"a handler must be an `async def`, {function!r} is not")
    hints, fields, keywords = _hints(function), [], []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"a handler cannot have *{parameter.name}: name the arguments of {function.__name__!r}")
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords.append(parameter.name)
        hint = hints.get(parameter.name, Any)
        has_default = parameter.default is not parameter.empty
        fields.append((parameter.name, hint, parameter.default) if has_default else (parameter.name, hint))
    try:
        return msgspec.defstruct(f"{function.__name__}_arguments", fields, array_like=True), keywords
    except TypeError as error:
        raise UsageError(f"the arguments of {function.__name__!r} cannot travel: {error}") from None
