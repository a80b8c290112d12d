"""Two versions of the wire meet: the one that wants to join is refused in a sentence, and the others say so too."""

from __future__ import annotations

import asyncio
import logging

import pytest

import ringcast
from integration.strangers import GROUP
from ringcast.security import Key
from ringcast.wire import header, limits, origin


@pytest.mark.parametrize("key", [None, Key(bytes(range(32))).secret], ids=["clear", "sealed"])
def test_a_joiner_of_another_version_is_refused_on_both_sides(
    key: bytes | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        options = {"key": key, "inspect": False, "leave_on_sigterm": False}
        async with asyncio.timeout(60), ringcast.join(GROUP, **options) as group:  # type: ignore[arg-type]
            for module in (header, origin):  # what is made from now on is of a later version
                monkeypatch.setattr(module, "VERSION", limits.VERSION + 1)
            with pytest.raises(ringcast.JoinRefused, match=r"speaks version 1 of the wire and .* version"):
                await ringcast.join(GROUP, seeds=[group.me.endpoint], **options)  # type: ignore[arg-type]
            monkeypatch.undo()
            assert len(group.members) == 1
            lost = group.status()["transport"]["lost"]
            assert lost[f"wire version {limits.VERSION + 1}, this is version {limits.VERSION}"] > 0

    caplog.set_level(logging.WARNING, "ringcast")
    asyncio.run(story())
    assert "speaks version 2 of the wire" in caplog.text
