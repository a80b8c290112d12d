"""A process of a story answers every order, also one that it could not do."""

import asyncio
import json

import pytest

from ringcast.errors import UsageError
from ringcast.lab.puppet import Answer, PuppetProcess


class Broken(PuppetProcess):
    async def refuse(self, order: Answer) -> Answer:
        raise UsageError("not now")

    async def stumble(self, order: Answer) -> Answer:
        raise KeyError("a bug")


@pytest.mark.parametrize(
    ("do", "error", "kind"),
    [
        ("refuse", "not now", "UsageError"),
        ("stumble", "KeyError: 'a bug'", "KeyError"),
        ("fly", "'fly'", "RingcastError"),
    ],
)
def test_whoever_asked_hears_what_went_wrong(
    do: str, error: str, kind: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    asyncio.run(Broken()._answer({"id": 7, "do": do}))
    said = json.loads(capfdbinary.readouterr().out)
    assert (said["id"], said["type"]) == (7, kind) and error in said["error"]
