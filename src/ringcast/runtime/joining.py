"""`ringcast.join`: find or found a group, be a member, leave it.

    async with ringcast.join("chat", seeds=["10.0.0.1:7001"]) as group:
        await group.send(b"hello")

Returns when the first view is there, and leaves at the end of the block: also when the task is cancelled, and on
SIGTERM if nobody else has asked for that signal.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ringcast.core import Entrance, Node
from ringcast.errors import ConfigError, GroupClosed, RingcastError, StateError, TransportError, UsageError, WaitExpired
from ringcast.model import Address, Config, Mark, check_name, first_mark
from ringcast.runtime import arguments
from ringcast.runtime.absences import nobody_answered
from ringcast.runtime.discovery import Discovery, NoAnswerYet, StaticDiscovery
from ringcast.runtime.driver import Driver, Entry
from ringcast.runtime.dropped import given_to_application
from ringcast.runtime.exposure import check_exposure, check_transport
from ringcast.runtime.fixed import within_transport
from ringcast.runtime.group import Group
from ringcast.runtime.heartbeats import Heartbeats
from ringcast.runtime.host import Host, RealHost
from ringcast.runtime.identity import Identity, identity_of
from ringcast.runtime.keys import GroupKeys, chosen_key
from ringcast.runtime.mark_file import MarkStore
from ringcast.runtime.operations import answer_over_http, answering_place
from ringcast.runtime.origins import Origins, watch_origins
from ringcast.runtime.rejoin import Comeback, OnExclusion, Partition
from ringcast.runtime.remembered import Remembered
from ringcast.runtime.reunion import MergeState
from ringcast.runtime.sigterm import SigtermLeaves
from ringcast.runtime.state_giving import GetState
from ringcast.runtime.state_loading import SetState
from ringcast.runtime.words import why_not_joined
from ringcast.security import KeySource
from ringcast.trace import RecordingOptions, recording_options
from ringcast.transport import Datagrams, TcpTransport, Transport, UdpTransport
from ringcast.wire import LEAST_FRAME, Codec, decode_control, encode_control, may_be_of

_log = logging.getLogger("ringcast")

Found = bool | Literal["first"]
MTU_CLASS = 1_500  # frames up to this size promise not to be split on the way


@dataclass(slots=True)
class Place:
    """Everything `join` was told."""

    group: str
    name: str | None
    transport: Transport
    discovery: Discovery
    config: Config
    expect: int
    observer: bool
    record: RecordingOptions | None
    inspect: bool
    timeout: float | None
    on_exclusion: OnExclusion
    get_state: GetState | None
    set_state: SetState | None
    merge_state: MergeState | None = None
    partition: Partition = "all"
    primary_mark: Path | None = None
    quorum: int = 0
    marks: MarkStore | None = None  # open while this place is held, with `primary_mark`
    leave_on_sigterm: bool = True
    metrics: str | None = None
    found: Found | None = True  # None: not if the group would be primary with nobody else expected
    remember: Path | None = None
    remembered: Remembered | None = None  # open while this place is held, with `remember`
    host: Host = field(default_factory=RealHost)
    entry: Entry = field(default_factory=Entry)
    searching: asyncio.Task[None] | None = field(default=None)
    origins: Origins | None = None
    keys: GroupKeys | None = None  # `transport` is sealed with them
    identity: Identity | None = None
    until: float | None = None  # the loop's time at which the limit of the join ends
    leaving: asyncio.Task[None] | None = None  # the join is over, and its place goes in good order


class Joining:
    """What `join` returns: await it for a Group, or use it as `async with`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._is_begun = False
        self._group: Group | None = None
        self._signal = SigtermLeaves()

    def __await__(self) -> Generator[Any, None, Group]:
        return self._enter().__await__()

    async def _enter(self) -> Group:
        if self._is_begun:
            raise UsageError(f"this join of group {self._place.group!r} was used before: call join again for another")
        self._is_begun = True
        return given_to_application(await enter(self._place))

    async def __aenter__(self) -> Group:
        self._group = await self._enter()
        if self._place.leave_on_sigterm:
            self._signal.listen()
        return self._group

    async def __aexit__(self, *_: object) -> None:
        assert self._group is not None
        try:
            await self._group.leave()
        finally:
            self._signal.end()


def join(
    group: str,
    *,
    name: str | None = None,
    bind: arguments.HostPort = "127.0.0.1:0",
    advertise: arguments.HostPort | None = None,
    seeds: arguments.HostPort | Iterable[arguments.HostPort] = (),
    discovery: Discovery | None = None,
    transport: Transport | str = "udp",
    config: Config | str = "local",
    expect: int = 0,
    found: Found | None = None,
    remember: str | Path | None = None,
    observer: bool = False,
    record: arguments.RecordTo | None = None,
    inspect: bool = True,
    timeout: float | None = 60.0,
    on_exclusion: OnExclusion = "merge",
    get_state: GetState | None = None,
    set_state: SetState | None = None,
    merge_state: MergeState | None = None,
    partition: Partition = "all",
    primary_mark: str | Path | None = None,
    quorum: int = 0,
    key: KeySource | None = None,
    certificate: str | Path | None = None,
    private_key: str | Path | None = None,
    authority: str | Path | None = None,
    unencrypted: bool = False,
    leave_on_sigterm: bool = True,
    metrics: arguments.HostPort | None = None,
) -> Joining:
    """Join the group of this name, or found it if nobody has it.

    `seeds` are places where members may be: one or several, each as "host:port" or ("host", port); or give a
    `discovery`. A name that cannot be looked up yet is tried again until the limit. `bind` is this member's own place,
    loopback by default, and `advertise` what others should use instead. `key` is the file of the key that all members
    share (`ringcast key new`), or its contents as bytes; without it RINGCAST_KEY_FILE names the file. Beyond loopback a
    key is needed, or a certificate, or `unencrypted=True` has to be said: frames are then neither encrypted nor
    authenticated.
    `certificate`, `private_key` and `authority` (PEM files) are the other way, over TCP: everybody shows a certificate
    of the authority, and is heard in the name that stands in it only; `name` must be one of its names.
    `expect` waits for that many before founding a group.
    `found` says whether this process founds the group when nobody answers: True; False, never; or "first", only if the
    first of the `seeds` is its own place. Without it: True; but with `partition="primary"` a process that expects
    nobody (`expect`, `quorum`, a mark file that knows others) founds none, for it would be primary alone, also beside
    a primary group that it cannot reach. It then waits for others. A group that was founded although others were to be
    looked for is warned of in the log.
    `remember` is a file in which this member keeps where the others were and the highest view number that it saw: a
    process that is started again looks for them too, and founds above that number, so that fencing tokens grow.
    `config` is a profile's name (local, lan, wan, test) or a Config. `record` is a directory for the
    recording, or `record(directory, run=…)`.
    `timeout` bounds the whole join in seconds, the loading of the state included; None waits without limit.
    `on_exclusion` says what a member does that runs again after the others went on without it (it was frozen, or cut
    off): "merge" keeps its incarnation, goes on alone and comes back by merge; "rejoin" drops its place and comes back
    by itself as a new incarnation, after a `Rejoin` among its events.
    With `set_state` this member joins with the state that the others hold: it is called with an asynchronous iterator
    of chunks and must return before any message is seen; it may be called again from the beginning. `get_state` gives
    this member's state to later joiners: bytes, or an iterator of chunks, as of the moment it is called.
    With `merge_state` (and both of the others) the states of the sides become one after a partition: at one member it
    is called with the state of each side, by the side's members, and gives one state, which `set_state` of every member
    gets directly behind the MergeView. All members are to be given it, or none.
    `partition` says which sides of a partition go on: "all", and they merge; or "primary", only the one with a majority
    of the last primary view. The others get NotPrimary when they send, and come back as new incarnations (as with
    "rejoin") with the state of the primary side. All members are to be given the same.
    `primary_mark` is a file of this member's own in which it keeps what it knows of primary views, so that a process
    that is started again votes as before and two sides are never primary, whoever restarts. `quorum` is the other way
    to that: a view is primary if it has at least so many members, always the same number at all of them, more than half
    of all there can ever be.
    `leave_on_sigterm=False` leaves SIGTERM alone. Otherwise, in the main thread and if nobody else has asked for that
    signal, it ends the `async with` block: the member leaves, and the process ends with 143.
    `metrics` is where this member answers over HTTP from before its first view: `/metrics` for Prometheus, `/healthz`
    (its event loop turns) and `/readyz` (it may send). Needs `ringcast[metrics]`.
    """
    if partition not in ("all", "primary"):
        raise ConfigError(f"partition must be 'all' or 'primary', got {partition!r}")
    arguments.check_primary(partition, primary_mark, quorum, name)
    if merge_state is not None and (get_state is None or set_state is None):
        raise ConfigError("merge_state needs get_state and set_state beside it")
    if on_exclusion not in ("merge", "rejoin"):
        raise ConfigError(f"on_exclusion must be 'merge' or 'rejoin', got {on_exclusion!r}")
    for text in (group, *([name] if name else [])):
        wrong = check_name(text)
        if wrong is not None:
            raise ConfigError(wrong)
    arguments.check_timeout(timeout)
    arguments.check_expect(expect)
    if found not in (None, True, False, "first"):
        raise ConfigError(f"found must be True, False or 'first', got {found!r}")
    settings, static, own = arguments.config_of(config), StaticDiscovery(seeds), arguments.place_of(bind, "bind")
    if found == "first" and (discovery is not None or static.is_empty):
        raise ConfigError("found='first' needs seeds, of which the first founds the group")
    shown = None if advertise is None else arguments.place_of(advertise, "advertise")
    identity = identity_of(certificate, private_key, authority, key, unencrypted, transport)
    name = name if identity is None else identity.checked_name(name)
    source = None if identity is not None else chosen_key(key, unencrypted)
    is_sealed = source is not None or identity is not None
    if isinstance(transport, str):
        check_exposure(own, is_sealed=is_sealed, unencrypted=unencrypted)
    else:
        check_transport(transport, is_sealed=is_sealed, unencrypted=unencrypted)
    keys = None if source is None else GroupKeys(group, source)
    carrier = make_transport(transport, own, shown, settings, identity) if isinstance(transport, str) else transport
    return Joining(
        Place(
            group,
            name,
            carrier if keys is None else keys.over(carrier),
            discovery or static,
            settings,
            expect,
            observer,
            None if record is None else recording_options(record),
            inspect,
            timeout,
            on_exclusion,
            get_state,
            set_state,
            merge_state,
            partition,
            None if primary_mark is None else Path(primary_mark),
            quorum,
            leave_on_sigterm=leave_on_sigterm,
            metrics=None if metrics is None else answering_place(metrics),
            found=True if found is None and partition == "all" else found,
            remember=None if remember is None else Path(remember),
            keys=keys,
            identity=identity,
        )
    )


def make_transport(
    kind: str, bind: str, advertise: str | None, config: Config, identity: Identity | None = None
) -> Transport:
    if kind == "tcp":
        tls = None if identity is None else identity.tls
        return TcpTransport(bind, advertise=advertise, tls=tls, speaks_for=may_be_of, least_frame=LEAST_FRAME)
    if kind != "udp":
        raise ConfigError(f"transport must be 'udp', 'tcp' or a Transport, got {kind!r}")
    return UdpTransport(
        bind,
        advertise=advertise,
        datagrams=Datagrams(config.frame_bytes, never_split=config.frame_bytes <= MTU_CLASS),
        receive_buffer_bytes=config.receive_buffer_bytes,
        send_buffer_bytes=config.send_buffer_bytes,
    )


async def enter(place: Place) -> Group:
    """Open, look for others, and wait for the first view and the state; all of it within the limit."""
    place.until = None if place.timeout is None else asyncio.get_running_loop().time() + place.timeout
    await _open_transport(place)
    place.origins = watch_origins(place.group, place.transport, place.host.now_ns, place.entry.on_frames)
    group: Group | None = None
    try:
        if place.primary_mark is not None:
            place.marks = place.host.marks(place.primary_mark, place.group, place.name or "")
        if place.remember is not None:
            place.remembered = Remembered(place.remember, place.group)
        driver = make_driver(place, place.expect)
        group = Group(place.group, driver)
        group._at_end(lambda: _close_remembered(place))
        group._at_end(lambda: _close_marks(place))
        group._at_end(lambda: _stop_searching(place))
        group._state.hold(place.get_state, place.set_state)
        if place.get_state is not None and place.set_state is not None and place.merge_state is not None:
            group._merge_states_with((place.get_state, place.set_state, place.merge_state))
        group._state.begin()
        on_exclusion: OnExclusion = "rejoin" if place.partition == "primary" else place.on_exclusion
        renew = partial(make_driver, place, 0)
        Comeback(group, driver, place.entry, renew, on_exclusion)
        async with _limit(place, lambda: why_not_joined(driver)):
            if place.inspect:
                await _inspect(group)  # Before the first view: who cannot get in is asked why.
            if place.metrics is not None:
                group._at_end(await answer_over_http(group, place.metrics))
            await place.discovery.open(place.group, place.transport.local)
            await _keep_mark(place, driver)
        driver.begin()
        place.searching = asyncio.create_task(_search(place))
        await _first_view(place, driver, group)
        _warn_of_founding(place, driver)
        await _load_state(place, group)
    except BaseException as error:
        if place.leaving is None or isinstance(error, asyncio.CancelledError):
            await _give_up(place, group, error)
        raise
    return group


async def _open_transport(place: Place) -> None:
    try:
        async with _limit(place, lambda: "its own place could not be opened yet"):
            await place.transport.open(place.entry.on_frames)
    except WaitExpired:
        place.transport.close()
        raise


@asynccontextmanager
async def _limit(place: Place, why: Callable[[], object]) -> AsyncIterator[None]:
    """End what is awaited in here with the limit of the join, and with an error that says what it waited for."""
    try:
        async with asyncio.timeout_at(place.until) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise WaitExpired(f"no view of group {place.group!r} within {place.timeout} s: {why()}") from None


def _warn_of_founding(place: Place, driver: Driver) -> None:
    """A second group beside one that cannot be reached is found out late: say so at once."""
    if len(driver.node.view.members) > 1:
        return
    if alone := nobody_answered(driver):
        _log.warning("%s has founded the group %r %s", driver.node.me, place.group, alone)
    elif (known := 1 + len(driver.heard)) < place.expect:
        words = "%s has founded the group %r: %d were expected, and %d known"
        _log.warning(words, driver.node.me, place.group, place.expect, known)


async def _inspect(group: Group) -> None:
    """A directory that somebody else made first keeps operators from asking, not this member from joining."""
    try:
        await group.inspect()
    except TransportError as error:
        if "RINGCAST_SOCKETS" in os.environ:
            raise
        _log.warning("%s cannot be asked by operators: %s", group.me, error)


async def _keep_mark(place: Place, driver: Driver) -> None:
    """The first one, before anybody hears of this member.

    Who dies as it joins comes back as the voter that others have counted; and how many were expected is still known, so
    that a process which is cut off then is not primary alone (seed 240583).
    """
    if place.marks is None or place.marks.known is not None:
        return
    kept: asyncio.Future[RingcastError | None] = asyncio.get_running_loop().create_future()
    driver.keep_first_mark(lambda error: None if kept.done() else kept.set_result(error))
    if error := await kept:
        raise error


async def _give_up(place: Place, group: Group | None, error: BaseException) -> None:
    """Nothing of it goes on: not its `set_state` either, which may be under way."""
    if isinstance(error, WaitExpired):
        _release_marks(place)
    if group is not None:
        why = error if isinstance(error, RingcastError) else GroupClosed(f"the join was given up: {error!r}")
        group._end(why, "never joined")
        await group._close_what_ends_with_it()
    else:
        if place.entry.driver is not None:
            place.entry.driver.close("never joined")
        await _stop_searching(place)
        await _close_marks(place)
        await _close_remembered(place)
    place.transport.close()


async def _close_marks(place: Place) -> None:
    if place.marks is not None:
        marks, place.marks = place.marks, None
        await marks.close()


def _release_marks(place: Place) -> None:
    """Let go of the mark file without waiting for what is being written, because the disk may stand still."""
    if place.marks is not None:
        marks, place.marks = place.marks, None
        marks.release()


async def _close_remembered(place: Place) -> None:
    if place.remembered is not None:
        remembered, place.remembered = place.remembered, None
        await remembered.close()


def make_driver(place: Place, expect: int) -> Driver:
    """A new incarnation at the transport's endpoint."""
    endpoint, host = str(place.transport.local), place.host
    me = Address(place.name or endpoint, host.incarnation(), endpoint)
    config = within_transport(place.config, place.transport)
    mark = _mark(place, me, expect)
    entrance = Entrance(
        expect=expect,
        observer=place.observer,
        with_state=place.set_state is not None,
        reunites=place.merge_state is not None,
        mark=mark,
        founds=_founds(place, mark, expect),
        after=0 if place.remembered is None else place.remembered.highest,
        keeps_mark=place.marks is not None,
        beats=host.beats_itself,
    )
    multicasts = place.transport.multicasts
    node = Node.joining(me, config, host.random(me), encode_control, decode_control, entrance, multicasts=multicasts)
    recorder = host.recorder(me, place.group, config, place.record)
    heartbeats = None if host.beats_itself else _heartbeats(place, node)
    driver = Driver(node, Codec(place.group, me), place.transport, recorder, heartbeats, host.now_ns)
    driver.marks = place.marks
    if place.remembered is not None:
        driver.on_view = partial(place.remembered.on_view, me)
    driver.contains_faults = host.contains_faults
    driver.hands_over = host.hands_over
    driver.asked_buffer_bytes = place.config.receive_buffer_bytes
    if place.keys is not None:
        driver.hold_keys(place.keys)
    driver.identity = place.identity
    if place.origins is not None:
        place.origins.set_me(me)
        place.origins.on_other_version = driver.on_other_version
        driver.origins = place.origins
    place.entry.hold(driver)
    return driver


def _founds(place: Place, mark: Mark | None, expect: int) -> bool:
    """May this incarnation found a group? "first" is found out with the seeds (`_search`)."""
    if place.found is None:  # Who knows a primary view, or counts on others, is not primary alone.
        return mark is None or expect > 0 or mark.last.view.number > 0 or mark.last.expect > 1 or place.quorum > 0
    return place.found is True


def _mark(place: Place, me: Address, expect: int) -> Mark | None:
    """What this incarnation knows of primary views: what the one before it knew, in this process or in the last."""
    if place.partition != "primary":
        return None
    before = None if place.entry.driver is None else place.entry.driver.node
    if before is not None and before.mark is not None:
        return before.mark.kept_by(me, before.me)
    if place.marks is not None and place.marks.known is not None:
        was, mark = place.marks.known
        return mark.kept_by(me, was, expect)._replace(quorum=place.quorum)
    return first_mark(me, expect, place.quorum)


def _heartbeats(place: Place, node: Node) -> Heartbeats:
    coordination = node.coordination
    assert coordination is not None
    codec = Codec(place.group, node.me)
    is_over = asyncio.get_running_loop().is_closed
    return Heartbeats(
        codec, place.transport, lambda: coordination.detector.heartbeats.progress, node.config.heartbeat_ns, is_over
    )


async def _load_state(place: Place, group: Group) -> None:
    """Leave again for want of a state; the join waits for that only as long as its limit lasts."""
    try:
        async with asyncio.timeout_at(place.until):
            await group._state.until_loaded()
        if group._closing is not None:
            raise group._closing
    except StateError:
        await _leave_again(place, group)
        raise
    except TimeoutError:
        await _leave_again(place, group)
        raise WaitExpired(
            f"no state of group {place.group!r} within the {place.timeout} s of the join: set_state has not returned"
        ) from None


async def _leave_again(place: Place, group: Group) -> None:
    place.leaving = asyncio.create_task(group.leave())
    place.leaving.add_done_callback(_retrieve)
    await asyncio.wait([place.leaving], timeout=_left(place))


def _retrieve(leaving: asyncio.Task[None]) -> None:
    """Ignore what leaving raises: the join has said it already."""
    if not leaving.cancelled():
        leaving.exception()


def _left(place: Place) -> float | None:
    """Seconds until the limit of the join."""
    return None if place.until is None else max(0.0, place.until - asyncio.get_running_loop().time())


async def _first_view(place: Place, driver: Driver, group: Group) -> None:
    try:
        with group._waits.during("join", _left(place), lambda: why_not_joined(driver)):
            async with asyncio.timeout_at(place.until):
                await driver.until_view()
    except TimeoutError:
        raise WaitExpired(
            f"no view of group {place.group!r} within {place.timeout} s: {why_not_joined(driver)}"
        ) from None


async def _search(place: Place) -> None:
    """Ask where others may be: often until there is a view, then rarely, so that a partition that heals is noticed."""
    said: dict[str, None] = {}
    while True:
        driver = place.entry.driver
        assert driver is not None
        if driver.first_mark_ns is not None:  # It has not begun.
            await asyncio.sleep(0.2)
            continue
        try:
            found = await place.discovery.find()
            static = place.discovery if isinstance(place.discovery, StaticDiscovery) else None
            is_all = static is not None and static.is_complete
            if place.found == "first" and static is not None and static.is_first:
                driver.node.let_found()
            own, before = str(place.transport.local), () if place.remembered is None else place.remembered.members
            endpoints = driver.asked = list(dict.fromkeys([*map(str, found), *(e for e in before if e != own)]))
            driver.execute(driver.node.on_discovered(driver.now_ns(), endpoints, is_all=is_all))
        except NoAnswerYet as error:
            driver.node.on_undiscovered(str(error))
        except RingcastError as error:
            if not driver.node.has_group:
                driver.fail_view(error)
                return
        except Exception as error:  # a mistake in a discovery must not end the search in silence
            if str(error) not in said:
                said[str(error)] = None
                _log.error("%s: the search for others failed, and goes on: %r", driver.node.me, error)
            driver.node.on_undiscovered(repr(error))
        await asyncio.sleep(0.2 if not driver.node.has_group else 5.0)


async def _stop_searching(place: Place) -> None:
    if place.searching is not None:
        place.searching.cancel()
    await place.discovery.close()
