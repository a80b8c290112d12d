"""A group on a fixed list of members: everybody knows everybody from the start, and nobody joins or leaves.

All members start in the same first view. A process that restarts cannot come back into a fixed group: its old place
is still counted. That is what `join` is for.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringcast.core import Node
from ringcast.errors import ConfigError, RingcastError
from ringcast.model import Address, Config, View, ViewId, check_name, profile
from ringcast.runtime.arguments import RecordTo
from ringcast.runtime.driver import Driver, Entry
from ringcast.runtime.dropped import given_to_application
from ringcast.runtime.exposure import check_transport
from ringcast.runtime.group import Group
from ringcast.runtime.host import Host, RealHost
from ringcast.runtime.keys import GroupKeys, chosen_key
from ringcast.runtime.origins import watch_origins
from ringcast.security import KeySource
from ringcast.trace import RecordingOptions, recording_options
from ringcast.transport import Transport, resolve
from ringcast.wire import Codec

MOST_BUFFER = 1 << 30  # what a config can say; streams claim more, because they never overflow


async def open_fixed(
    group: str,
    me: str,
    members: Mapping[str, str],
    *,
    transport: Transport,
    config: Config | None = None,
    record: RecordTo | None = None,
    key: KeySource | None = None,
    unencrypted: bool = False,
) -> Group:
    """Open this process's place, `me`, in the group whose members (name -> endpoint) never change.

    `key` is as in `join`: without it, what RINGCAST_KEY_FILE names, unless `unencrypted`.
    """
    config = config or profile("local")
    _check(group, me, members)
    addresses = tuple([Address(name, 0, str(await resolve(at))) for name, at in members.items()])
    mine = next(address for address in addresses if address.name == me)
    view = View(ViewId(1, addresses[0]), addresses)
    to = None if record is None else recording_options(record)
    source = chosen_key(key, unencrypted)
    check_transport(transport, is_sealed=source is not None, unencrypted=unencrypted)
    keys = None if source is None else GroupKeys(group, source)
    return given_to_application(await enter_fixed(group, mine, view, transport, config, to, RealHost(), Entry(), keys))


async def enter_fixed(
    group: str,
    me: Address,
    view: View,
    transport: Transport,
    config: Config,
    record: RecordingOptions | None,
    host: Host,
    entry: Entry,
    keys: GroupKeys | None = None,
) -> Group:
    """The place of `me` in a view that nobody changes."""
    if keys is not None:
        transport = keys.over(transport)
    await transport.open(entry.on_frames)
    asked = config.receive_buffer_bytes
    try:
        config = within_transport(config, transport)
        node = Node(me, config, view, {}, multicasts=transport.multicasts)
    except RingcastError:
        transport.close()
        raise
    recorder = host.recorder(me, group, config, record)
    driver = Driver(node, Codec(group, me), transport, recorder, now_ns=host.now_ns)
    driver.contains_faults = host.contains_faults
    driver.hands_over = host.hands_over
    driver.asked_buffer_bytes = asked
    if keys is not None:
        driver.hold_keys(keys)
    origins = watch_origins(group, transport, host.now_ns, entry.on_frames)
    if origins is not None:
        origins.set_me(me)
        driver.origins = origins
    entry.hold(driver)
    place = Group(group, driver)
    driver.begin()
    return place


def _check(group: str, me: str, members: Mapping[str, str]) -> None:
    for name in (group, *members):
        wrong = check_name(name)
        if wrong is not None:
            raise ConfigError(wrong)
    if me not in members:
        raise ConfigError(f"member {me!r} is not among {', '.join(members)}")


def within_transport(config: Config, transport: Transport) -> Config:
    """Frames no larger than the open transport takes, windows no larger than what its receive buffer holds."""
    frame = min(config.frame_bytes, transport.max_frame)
    buffer = min(transport.receive_buffer, MOST_BUFFER)
    window = min(config.window_bytes, max(frame, buffer))
    return config.with_changes(frame_bytes=frame, receive_buffer_bytes=buffer, window_bytes=window)
