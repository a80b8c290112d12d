"""Finding others: static seeds, a shared directory with leases, DNS, UDP multicast (in a namespace of its own)."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import dns.resolver
import pytest

from ringcast.errors import ConfigError, TransportError
from ringcast.lab import namespace
from ringcast.runtime.discovery import (
    DirectoryDiscovery,
    DnsDiscovery,
    MulticastDiscovery,
    NoAnswerYet,
    StaticDiscovery,
    directory,
)
from ringcast.transport import DEFAULT_LIMITS, Endpoint

ME, OTHER = Endpoint("127.0.0.1", 7001), Endpoint("127.0.0.1", 7002)


def test_static_seeds_are_given_without_oneself_and_without_the_unknown() -> None:
    async def body() -> list[Endpoint]:
        discovery = StaticDiscovery([str(ME), str(OTHER), str(OTHER), "no.such.host.invalid:7001"])
        await discovery.open("g", ME)
        return await discovery.find()

    assert asyncio.run(body()) == [OTHER]


def test_seeds_of_which_none_can_be_found_have_no_answer_yet() -> None:
    async def body() -> None:
        discovery = StaticDiscovery(["no.such.host.invalid:7001"])
        await discovery.open("g", ME)
        await discovery.find()

    with pytest.raises(NoAnswerYet, match=r"no\.such\.host\.invalid"):
        asyncio.run(body())


def test_a_shared_directory_shows_who_is_there_and_forgets_who_closed(tmp_path: Path) -> None:
    async def body() -> None:
        mine, others = DirectoryDiscovery(tmp_path), DirectoryDiscovery(tmp_path)
        await mine.open("g", ME)
        await others.open("g", OTHER)
        assert await mine.find() == [OTHER]
        assert await others.find() == [ME]
        await others.close()
        assert await mine.find() == []
        await mine.close()

    asyncio.run(body())
    assert list(tmp_path.iterdir()) == []


def test_a_writer_follows_no_link_and_waits_for_no_fifo(tmp_path: Path) -> None:
    """The name of the new file could be foreseen: a link there led the entry into a file of somebody else."""
    precious = tmp_path / "precious"
    precious.write_text("not an entry")
    directory = tmp_path / "shared"
    directory.mkdir()
    mine = f"g.{ME}"
    for prepared in (f"{mine}.{os.getpid()}.new", f"{mine}.json"):
        (directory / prepared).symlink_to(precious)

    async def body() -> None:
        discovery, other = DirectoryDiscovery(directory, lease_seconds=0.03), DirectoryDiscovery(directory)
        await discovery.open("g", ME)
        os.unlink(directory / f"{mine}.{os.getpid()}.new")
        os.mkfifo(directory / f"{mine}.{os.getpid()}.new")
        await asyncio.sleep(0.05)  # long enough that it is renewed
        await other.open("g", OTHER)
        assert await asyncio.wait_for(other.find(), 30) == [ME]
        await discovery.close()
        await other.close()

    asyncio.run(body())
    assert precious.read_text() == "not an entry"
    assert [path.name for path in directory.iterdir()] == [f"{mine}.{os.getpid()}.new"], "nothing of ours is left"


def test_a_directory_that_stands_still_stops_no_loop_and_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a network file system whose server is gone: a call into it never returns."""
    stands_still = threading.Event()
    monkeypatch.setattr(directory, "LIMIT_SECONDS", 0.05)

    def call(*arguments: object) -> None:
        stands_still.wait()
        raise OSError("the server is gone")  # What it gave would be used: as a descriptor, for one.

    async def body() -> None:
        discovery = DirectoryDiscovery(tmp_path)
        await discovery.open("g", ME)
        monkeypatch.setattr(os, "scandir", call)
        for _ in range(3):
            with pytest.raises(NoAnswerYet, match="does not answer"):
                await discovery.find()
        await discovery.close()
        with pytest.raises(TransportError, match="does not answer"):
            stuck = DirectoryDiscovery(tmp_path)
            monkeypatch.setattr(os, "open", call)
            await stuck.open("g", OTHER)

    asyncio.run(body())
    monkeypatch.undo()
    stands_still.set()


def test_a_stale_or_broken_entry_does_no_harm(tmp_path: Path) -> None:
    long_ago = {"endpoint": str(OTHER), "until": time.time() - 1_000_000}
    (tmp_path / "g.stale.json").write_text(json.dumps(long_ago))
    (tmp_path / "g.broken.json").write_text("{")
    (tmp_path / "g.wrong.json").write_text(json.dumps({"endpoint": "nonsense", "until": time.time() + 1_000}))
    (tmp_path / "other.group.json").write_text(json.dumps({"endpoint": str(OTHER), "until": time.time() + 1_000}))

    async def body() -> list[Endpoint]:
        discovery = DirectoryDiscovery(tmp_path)
        await discovery.open("g", ME)
        found = await discovery.find()
        await discovery.close()
        return found

    assert asyncio.run(body()) == []
    assert not (tmp_path / "g.stale.json").exists()


def test_a_directory_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TransportError, match="file"):
        asyncio.run(DirectoryDiscovery(tmp_path / "file").open("g", ME))


def test_dns_gives_every_address_of_a_name_and_nothing_for_an_unknown_one() -> None:
    async def body() -> tuple[list[Endpoint], list[Endpoint]]:
        known, unknown = DnsDiscovery("localhost", 7002), DnsDiscovery("no.such.host.invalid", 7002)
        await known.open("g", ME)
        await unknown.open("g", ME)
        return await known.find(), await unknown.find()

    known, unknown = asyncio.run(body())
    assert OTHER in known
    assert unknown == []


class Service:
    """SRV records and addresses as a test sets them, in place of the name server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, records: list[tuple[str, int]]) -> None:
        self.records = records
        self.addresses: dict[str, str] = {}
        self.errors: dict[str, int] = {}
        monkeypatch.setattr("dns.asyncresolver.resolve", self.resolve)
        monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", self.getaddrinfo)

    async def resolve(self, name: str, kind: str) -> list[SimpleNamespace]:
        if not self.records:
            raise dns.resolver.NXDOMAIN
        return [SimpleNamespace(target=f"{target}.", port=port) for target, port in self.records]

    async def getaddrinfo(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if host not in self.addresses:
            raise socket.gaierror(self.errors.get(host, socket.EAI_NONAME), "not known")
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (self.addresses[host], port))]


async def found_by(discovery: DnsDiscovery) -> list[Endpoint]:
    await discovery.open("g", ME)
    return await discovery.find()


@pytest.mark.parametrize("error", [socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_AGAIN, socket.EAI_FAIL])
def test_a_dead_srv_target_among_three_leaves_the_others(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Y20."""
    service = Service(monkeypatch, [("b", 7002), ("dead", 7003), ("c", 7004)])
    service.addresses = {"b": "127.0.0.1", "c": "127.0.0.2"}
    service.errors = {"dead": error}
    found = asyncio.run(found_by(DnsDiscovery("_ringcast._udp.example.org")))
    assert found == [OTHER, Endpoint("127.0.0.2", 7004)]


def test_a_service_without_records_or_with_dead_targets_only_has_no_answer_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Y20."""
    service = Service(monkeypatch, [])
    with pytest.raises(NoAnswerYet, match=r"no SRV record of '_ringcast\._udp\.example\.org'"):
        asyncio.run(found_by(DnsDiscovery("_ringcast._udp.example.org")))
    service.records = [("dead", 7003)]
    with pytest.raises(NoAnswerYet, match="dead has no address"):
        asyncio.run(found_by(DnsDiscovery("_ringcast._udp.example.org")))


@pytest.mark.parametrize("error", [socket.EAI_NONAME, socket.EAI_NODATA])
def test_a_name_without_addresses_has_no_members_yet(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Y20: the name is known and has no record of this type, or it is not known."""
    Service(monkeypatch, []).errors = {"orders.svc": error}
    assert asyncio.run(found_by(DnsDiscovery("orders.svc", 7001))) == []


def test_dns_needs_a_port_or_a_service_name() -> None:
    with pytest.raises(ConfigError, match="needs a port"):
        DnsDiscovery("example.org")


IN_NAMESPACE = """
import asyncio
from ringcast.runtime.discovery import MulticastDiscovery
from ringcast.transport import Endpoint

async def main():
    members = [Endpoint("127.0.0.1", 7001 + n) for n in range(3)]
    ways = [MulticastDiscovery(interface="127.0.0.1") for _ in members]
    for way, member in zip(ways, members):
        await way.open("g", member)
    stranger = MulticastDiscovery(interface="127.0.0.1")
    await stranger.open("another group", Endpoint("127.0.0.1", 9999))
    assert sorted(await ways[0].find()) == members[1:], await ways[0].find()
    assert await stranger.find() == []
    for way in (*ways, stranger):
        await way.close()

asyncio.run(main())
"""


@pytest.mark.needs("namespaces")
def test_udp_multicast_finds_the_members_of_ones_own_group() -> None:
    command = namespace.command_inside([sys.executable, "-c", IN_NAMESPACE])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_flood_of_questions_is_answered_so_often_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic_ns", lambda: 7)
    discovery = MulticastDiscovery(interface="127.0.0.1")
    discovery._me, discovery._tag = ME, b"tag4"
    asked = 3 * DEFAULT_LIMITS.questions_per_second
    with socket.socket(type=socket.SOCK_DGRAM) as member, socket.socket(type=socket.SOCK_DGRAM) as asker:
        for sock in (member, asker):
            sock.bind(("127.0.0.1", 0))
            sock.setblocking(False)
        answered = 0
        for _ in range(asked):
            asker.sendto(b"RC?1tag4".ljust(128, b"\0"), member.getsockname())
            discovery._on_readable(member)
            try:
                answered += bool(asker.recv(256))
            except BlockingIOError:
                pass
    assert answered == DEFAULT_LIMITS.questions_per_second
