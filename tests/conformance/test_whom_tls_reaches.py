"""With certificates both ends look at whom they have reached: also the one that dials, on each of its connections."""

from __future__ import annotations

import asyncio
from pathlib import Path

from conformance.certificates import Authority
from conformance.kit import TLS4, Inbox, World, eventually, repeat_until, tell
from ringcast.transport import TcpTransport, Tls, mutual_tls
from ringcast.transport.counters import NO_CERTIFICATE, NOT_EXPECTED


def tls_of(files: dict[str, str]) -> Tls:
    return mutual_tls(*(Path(files[part]) for part in ("certificate", "private_key", "authority")))


async def named(world: World, authority: Authority, name: str, common: str = "") -> tuple[TcpTransport, Inbox]:
    transport, inbox = TcpTransport("127.0.0.1:0", tls=tls_of(authority.files_for(name, common))), Inbox()
    await transport.open(inbox)
    world.members.append(transport)
    return transport, inbox


def test_nothing_is_sent_to_somebody_else_than_the_member_at_an_endpoint(tmp_path: Path) -> None:
    """With a redirected path one member of the same authority read what was meant for another."""

    async def story(world: World) -> None:
        authority = Authority(tmp_path)
        (a, _), (b, inbox) = await named(world, authority, "a"), await named(world, authority, "b")
        a.expect({b.local: "c"})
        await eventually(lambda: a.send(b.local, b"for c alone") and a.counters.lost.get(NOT_EXPECTED, 0) > 0)
        await asyncio.to_thread(a.send_aside, b.local, b"a sign of life for c")
        a.expect({b.local: "b"})
        await repeat_until(lambda: a.send(b.local, b"for b"), inbox, b"for b")
        assert set(inbox.frames) == {b"for b"}

    tell(TLS4, story)


def test_a_connection_that_reached_a_seed_ends_when_a_view_says_that_somebody_else_is_there(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        authority = Authority(tmp_path)
        (a, _), (b, inbox) = await named(world, authority, "a"), await named(world, authority, "b")
        await repeat_until(lambda: a.send(b.local, b"is there anybody?"), inbox, b"is there anybody?")
        await asyncio.to_thread(a.send_aside, b.local, b"alive")
        await inbox.hold(2)
        a.expect({b.local: "c"})
        assert a.counters.lost == {NOT_EXPECTED: 1}
        before = len(inbox.frames)
        assert not await asyncio.to_thread(a.send_aside, b.local, b"alive")
        a.send(b.local, b"for c alone")
        await eventually(lambda: a.counters.lost[NOT_EXPECTED] >= 1 and b.open_connections == 0)
        assert len(inbox.frames) == before

    tell(TLS4, story)


def test_a_common_name_does_not_count_beside_an_alternative_one(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        authority = Authority(tmp_path)
        (a, _), (b, _) = await named(world, authority, "a"), await named(world, authority, "b", common="c")
        a.expect({b.local: "c"})
        await eventually(lambda: a.send(b.local, b"for c") and a.counters.lost.get(NOT_EXPECTED, 0) > 0)

    tell(TLS4, story)


def test_who_was_revoked_is_not_heard_after_the_others_read_their_files_again(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        authority = Authority(tmp_path)
        files = authority.files_for("b")
        (a, _), (c, _) = await named(world, authority, "a"), await named(world, authority, "c")
        b, inbox = TcpTransport("127.0.0.1:0", tls=tls_of(files)), Inbox()
        await b.open(inbox)
        world.members.append(b)
        for sender in (a, c):
            await repeat_until(lambda: sender.send(b.local, b"before"), inbox, b"before")  # noqa: B023
            inbox.batches.clear()
        authority.revoke("c")
        b.use_tls(tls_of(files))
        await repeat_until(lambda: a.send(b.local, b"from a"), inbox, b"from a")
        await eventually(lambda: c.send(b.local, b"from c") and b.counters.lost.get(NO_CERTIFICATE, 0) > 0)
        assert b"from c" not in inbox.frames

    tell(TLS4, story)
