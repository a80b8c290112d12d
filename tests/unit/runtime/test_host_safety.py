"""What other users of this machine, forks and applications that forget to leave can do to a member: little."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import ringcast
from ringcast.cli.output import printable
from ringcast.core import Loose
from ringcast.core.control import Hello
from ringcast.errors import TransportError, UsageError
from ringcast.model import Address, profile
from ringcast.runtime import inspection
from ringcast.runtime.discovery import DirectoryDiscovery
from ringcast.transport import Endpoint
from ringcast.wire import Codec


def alone(**options: object) -> ringcast.Joining:
    return ringcast.join("host", name="A", config=profile("test"), leave_on_sigterm=False, **options)  # type: ignore[arg-type]


# ---- the operator's socket


def test_a_directory_that_somebody_else_made_does_not_keep_a_member_from_joining(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    open_to_all = tmp_path / "run"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    monkeypatch.delenv("RINGCAST_SOCKETS", raising=False)
    monkeypatch.setattr(inspection, "socket_directory", lambda: open_to_all)

    async def story() -> None:
        async with alone() as group:
            assert group.members == (group.me,)

    asyncio.run(story())
    assert any("cannot be asked by operators" in record.message for record in caplog.records)
    assert inspection.find_members() == {}, "nor is anybody asked there"


def test_a_member_that_stands_still_keeps_its_socket_and_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "socket_directory", lambda: tmp_path)
    tmp_path.chmod(0o700)
    still, gone = tmp_path / "g@127.0.0.1:1.sock", tmp_path / "g@127.0.0.1:2.sock"
    with socket.socket(socket.AF_UNIX) as stopped, socket.socket(socket.AF_UNIX) as dead:
        stopped.bind(str(still))
        stopped.listen(0)
        dead.bind(str(gone))
        dead.close()
        with socket.socket(socket.AF_UNIX) as asker:
            asker.connect(str(still))  # Nobody accepts: there is no room for another.
            assert list(inspection.find_members()) == ["g@127.0.0.1:1"]
            assert still.exists() and not gone.exists()


def test_a_directory_that_was_chosen_and_is_not_private_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    (tmp_path / "real").mkdir(mode=0o700)
    link.symlink_to(tmp_path / "real")
    monkeypatch.setenv("RINGCAST_SOCKETS", str(link))

    async def story() -> None:
        with pytest.raises(TransportError, match="mode 700"):
            await alone()

    asyncio.run(story())


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    assert printable("a\x1b[2Jb\x9bc\x07\nd\té") == "a\\x1b[2Jb\\x9bc\\x07\nd\té"


def test_an_address_with_control_characters_is_dropped() -> None:
    bad = Address("x", 1, "10.0.0.1:7\x1b[2J")
    dropped = Codec("g", Address("A", 1, "mem:A")).decode(Codec("g", bad).encode(Loose(Hello())))
    assert not isinstance(dropped, tuple)


# ---- discovery


def test_whatever_lies_in_a_discovery_directory_the_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(f"{path} is another user's")

    def entry(name: str, until: float, endpoint: str = "127.0.0.1:7") -> Path:
        path = tmp_path / f"g.{name}.json"
        path.write_text(json.dumps({"endpoint": endpoint, "until": until}))
        return path

    async def story() -> list[Endpoint]:
        discovery = DirectoryDiscovery(tmp_path)
        await discovery.open("g", Endpoint("127.0.0.1", 1))
        os.mkfifo(tmp_path / "g.fifo.json")
        (tmp_path / "g.link.json").symlink_to("/etc/passwd")
        (tmp_path / "g.directory.json").mkdir()
        (tmp_path / "g.garbage.json").write_bytes(b"\xff" * 5_000)
        (tmp_path / "g.deep.json").write_bytes(b'{"x":' + b"[" * 1_500)
        (tmp_path / "g.text.json").write_bytes(b'{"endpoint": "\xff\xff", "until": 1e99}')
        entry("good", time.time() + 100)
        entry("expired", 1.0)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", refuse)  # expired, and not ours to remove
            async with asyncio.timeout(30):
                found = await discovery.find()
        await discovery.close()
        return found

    assert asyncio.run(story()) == [Endpoint("127.0.0.1", 7)]


def test_a_discovery_that_raises_is_said_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        calls = 0

        async def open(self, group: str, me: Endpoint) -> None: ...

        async def find(self) -> list[Endpoint]:
            self.calls += 1
            if self.calls < 3:
                raise ZeroDivisionError("a mistake in a discovery")
            return []

        async def close(self) -> None: ...

    async def story() -> None:
        async with asyncio.timeout(60), alone(discovery=Broken(), inspect=False) as group:
            assert group.members == (group.me,)

    asyncio.run(story())
    assert sum("the search for others failed" in record.message for record in caplog.records) == 1


def test_seeds_may_be_pairs_of_host_and_port() -> None:
    async def story() -> None:
        async with alone(inspect=False) as first:
            endpoint = Endpoint.parse(first.me.endpoint)
            seeds = [(endpoint.host, endpoint.port)]
            joining = ringcast.join("host", name="B", seeds=seeds, config=profile("test"), inspect=False)
            async with asyncio.timeout(60), joining as second:
                assert len(second.members) == 2

    asyncio.run(story())


# ---- forks, and applications that do not leave


def test_a_forked_child_has_no_group() -> None:
    async def story() -> None:
        async with alone(inspect=False) as group:
            reads, writes = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    await group.send(b"from the child")
                    os.write(writes, b"sent")
                except UsageError as error:
                    os.write(writes, str(error).encode())
                finally:
                    os._exit(0)
            os.close(writes)
            said = os.read(reads, 1_000).decode()
            os.waitpid(child, 0)  # noqa: ASYNC222
            assert "belongs to the parent of this process" in said
            await group.send(b"from the parent")
            async for event in group:
                if isinstance(event, ringcast.Message):
                    assert event.payload == b"from the parent"
                    break

    asyncio.run(story())


def test_a_loop_that_ends_without_leaving_ends_the_heartbeats_too() -> None:
    before = threading.active_count()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))

        async def story() -> ringcast.Group:
            first = await alone(inspect=False)
            second = await ringcast.join(
                "host", name="B", seeds=[first.me.endpoint], config=profile("test"), inspect=False
            )
            assert second.members == (first.me, second.me)
            assert threading.active_count() > before
            return second

        asyncio.run(story())
    deadline = time.monotonic() + 30
    while any(thread.name == "ringcast heartbeats" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "only turns a hang into a failure"
        time.sleep(0.01)


def test_a_group_that_is_dropped_without_closing_says_so_and_leaves(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with alone(inspect=False) as first:
            second = await ringcast.join(
                "host", name="B", seeds=[first.me.endpoint], config=profile("test"), leave_on_sigterm=False
            )
            assert len(second.members) == 2
            async with asyncio.timeout(60):
                await first.wait_for(members=2)
                del second
                async for event in first:
                    if isinstance(event, ringcast.ViewChange) and event.view.members == (first.me,):
                        break

    asyncio.run(story())
    assert [r.levelname for r in caplog.records if "nobody refers to group 'host' any more" in r.message] == ["WARNING"]
    assert not any(thread.name == "ringcast heartbeats" for thread in threading.enumerate())


@pytest.mark.parametrize("read", [aiter, ringcast.Group.batches])
def test_a_group_that_somebody_reads_is_not_dropped(
    read: Callable[[ringcast.Group], AsyncIterator[object]], caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        group = await alone(inspect=False)
        events, seen = read(group), weakref.ref(group)
        await group.send(b"x")
        del group
        while not isinstance(await anext(events), ringcast.Message | ringcast.Batch):
            pass
        still = seen()
        assert still is not None, "the iterator keeps it"
        await still.close()

    asyncio.run(story())
    assert not any("nobody refers" in record.message for record in caplog.records)


def test_a_group_that_was_closed_is_collected_with_an_application_that_refers_to_it() -> None:
    class Service:
        group: ringcast.Group

        def get_state(self) -> bytes:
            return b""

        async def set_state(self, chunks: AsyncIterator[bytes]) -> None: ...

    async def story() -> weakref.ref[Service]:
        service = Service()
        service.group = await alone(inspect=False, get_state=service.get_state, set_state=service.set_state)
        await service.group.close()
        return weakref.ref(service)

    seen = asyncio.run(story())
    gc.collect()
    assert seen() is None


def test_a_group_that_was_closed_still_answers_after_a_collection() -> None:
    async def story() -> ringcast.Group:
        group = await alone(inspect=False)
        await group.close()
        return group

    group = asyncio.run(story())
    gc.collect()
    assert group.me.name in [member.name for member in group.members]
    assert group.status()["members"]


def test_a_group_that_was_closed_or_whose_loop_has_ended_is_dropped_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def closed() -> None:
        group = await alone(inspect=False)
        await group.close()

    async def returned() -> ringcast.Group:
        return await alone(inspect=False)

    asyncio.run(closed())
    asyncio.run(returned())
    assert not any("nobody refers" in record.message for record in caplog.records)


def test_a_blocked_loop_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with alone(inspect=False) as group:
            await group.send(b"x")
            driver = group._driver
            driver._say_blocked(1_500_000_000)

    with caplog.at_level(logging.WARNING, "ringcast"):
        asyncio.run(story())
    assert any("stood still for 1.5 s" in record.message for record in caplog.records)


def test_a_socket_of_another_user_is_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        asked: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.read())
            writer.close()

        path = tmp_path / "g@a.sock"
        server = await asyncio.start_unix_server(answer, path)
        with pytest.raises(TransportError, match="is a socket of somebody else"):
            async for _ in inspection.watch(path):
                raise AssertionError("somebody else was believed")
        server.close()
        await asyncio.sleep(0)
        assert asked in ([], [b""])

    monkeypatch.setattr(inspection, "_is_of_this_user", lambda line: False)
    asyncio.run(body())
