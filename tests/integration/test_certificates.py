"""Members with certificates over TLS: each is heard in its own name only, and who has none is not heard."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import ringcast
from conformance.certificates import Authority
from integration.strangers import GROUP, free_port, read_payload
from ringcast import Group
from ringcast.core import Channel, Loose, Run
from ringcast.core.control import Leave
from ringcast.transport import Endpoint
from ringcast.transport.counters import NO_CERTIFICATE, NOT_ITS_NAME
from ringcast.wire import Codec

NAMES = ("anna", "bela", "cyra")


def join(name: str, first: int, files: dict[str, str], **options: Any) -> ringcast.Joining:
    bind = f"127.0.0.1:{first if name == NAMES[0] else 0}"
    seeds = [f"127.0.0.1:{first}"]
    return ringcast.join(
        *(GROUP,),
        bind=bind,
        seeds=seeds,
        transport="tcp",
        inspect=False,
        leave_on_sigterm=False,
        **files,
        **options,
    )


def lost(group: Group, reason: str) -> int:
    counts: dict[str, int] = group._driver.transport.counters.lost
    return counts.get(reason, 0)


async def until(is_true: Any) -> None:
    while not is_true():
        await asyncio.sleep(0.01)


def test_a_member_speaks_only_for_itself(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def story() -> None:
        async with asyncio.timeout(120), AsyncExitStack() as stack:
            first = free_port()
            groups = [await stack.enter_async_context(join(name, first, authority.files_for(name))) for name in NAMES]
            assert [group.me.name for group in groups] == list(NAMES), "named by their certificates"
            await until(lambda: all(len(group.members) == 3 for group in groups))
            view = groups[0].view
            payload = b"x" * 1_000_000
            await groups[2].send(payload)
            for group in groups:
                assert payload in await read_payload(group, payload)
            # cyra, a member with a certificate of its own, forges what anna would say
            anna, bela, cyra = groups
            forged: list[Any] = [Loose(Leave()), Run(Channel.GROUP, view.id, anna.me, 1, 0, [b"forged"], 6)]
            for packet in forged:
                frame = Codec(GROUP, anna.me).encode(packet)
                assert cyra._driver.transport.send(Endpoint.parse(bela.me.endpoint), frame)
            await until(lambda: lost(bela, NOT_ITS_NAME) == len(forged))
            await cyra.send(b"after")
            assert b"forged" not in await read_payload(bela, b"after")
            assert [group.view for group in groups] == [view] * 3

    asyncio.run(story())


def test_who_has_no_certificate_of_the_authority_is_not_heard(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path / "other")

    async def story() -> None:
        first = free_port()
        async with asyncio.timeout(120), join("anna", first, authority.files_for("anna")) as anna:
            for options in ({"key": None, "name": "plain"}, other.files_for("mallory")):
                bind = {"transport": "tcp", "inspect": False, "leave_on_sigterm": False}
                seeds = [f"127.0.0.1:{first}"]
                async with ringcast.join(GROUP, seeds=seeds, **bind, **options) as alone:  # type: ignore[arg-type]
                    assert len(alone.members) == 1
            with socket.create_connection(("127.0.0.1", first)) as line:
                line.sendall(b"GET / HTTP/1.1\r\n\r\n")
                await until(lambda: lost(anna, NO_CERTIFICATE) >= 3)
            assert len(anna.members) == 1

    asyncio.run(story())


def test_what_does_not_go_together_is_refused_in_a_sentence(tmp_path: Path) -> None:
    files, others = Authority(tmp_path).files_for("anna"), Authority(tmp_path / "other").files_for("bela")
    cases: list[tuple[str, dict[str, Any]]] = [
        ("go together", {"certificate": files["certificate"]}),
        ("transport='tcp'", {**files, "transport": "udp"}),
        ("give one of them", {**files, "transport": "tcp", "unencrypted": True}),
        ("is for anna", {**files, "transport": "tcp", "name": "bela"}),
        ("cannot be used", {**files, "transport": "tcp", "private_key": others["private_key"]}),
    ]
    for sentence, options in cases:
        with pytest.raises(ringcast.ConfigError, match=sentence):
            ringcast.join(GROUP, **options)
    Path(files["private_key"]).chmod(0o644)
    with pytest.raises(ringcast.ConfigError, match="chmod 600"):
        ringcast.join(GROUP, transport="tcp", **files)


def test_certificates_are_read_again_while_the_group_runs(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def story() -> None:
        async with asyncio.timeout(120), AsyncExitStack() as stack:
            first = free_port()
            groups = [await stack.enter_async_context(join(name, first, authority.files_for(name))) for name in NAMES]
            await until(lambda: all(len(group.members) == 3 for group in groups))
            view = groups[0].view
            for name, group in zip(NAMES, groups, strict=True):
                authority.files_for(name)  # a new one in the same file
                group.reload_certificates()
            await groups[0].send(b"after the change")
            for group in groups:
                assert b"after the change" in await read_payload(group, b"after the change")
                assert group.view == view
            (tmp_path / "anna.crt").write_text("nothing")
            with pytest.raises(ringcast.ConfigError, match="cannot be used"):
                groups[0].reload_certificates()
            with pytest.raises(ringcast.UsageError, match="without a key"):
                groups[0].reload_keys()

    asyncio.run(story())
