"""Five real processes under load, each with a key file of its own: the key is changed twice, and nothing is lost.

RINGCAST_ROTATIONS is how often; `make rotations` does it ten times.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from integration.judging import expect_held
from ringcast.lab import Company, Stage
from ringcast.security import REASONS, Keyring, new_key, write_keyring

NAMES = list("ABCDE")
SENDERS = ["A", "C", "E"]
ROTATIONS = int(os.environ.get("RINGCAST_ROTATIONS", "2"))


async def rotate(record: Path, keys: Path, transport: str) -> dict[str, Any]:
    async with Stage() as stage:
        company = Company(stage, record, transport=transport)
        keyring = Keyring((new_key(),))
        files = {name: keys / f"{name}.key" for name in NAMES}
        for path in files.values():
            write_keyring(path, keyring, is_new=True)
        company._give_places(NAMES)
        await asyncio.gather(*(company.enter(name, expect=5, key=str(files[name])) for name in NAMES))
        await company.until_view(NAMES)
        before = await company.ask(NAMES, "history")
        company.load(SENDERS, rate=400)
        for _ in range(ROTATIONS):
            old, new = keyring.primary, new_key()
            for step in ("add", "primary", "retire"):
                if step == "add":
                    keyring = keyring.with_added(new)
                elif step == "primary":
                    keyring = keyring.with_primary(new.name)
                else:
                    keyring = keyring.with_retired(old.name)
                for name in NAMES:  # one machine after the other, while all of them send
                    write_keyring(files[name], keyring)
                    answer = await company[name]("reload_keys")
                    assert answer["keys"] == [key.name for key in keyring.keys]
                    await asyncio.sleep(0.05)
        loads = await company.hush()
        reports = await company.settle()
        after = await company.ask(NAMES, "history")
        statuses = await company.ask(NAMES, "status")
        await company.ask(NAMES, "leave")
    return {"loads": loads, "reports": reports, "before": before, "after": after, "statuses": statuses}


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_the_key_is_changed_twice_under_load(tmp_path: Path, transport: str) -> None:
    (tmp_path / "keys").mkdir()
    told = asyncio.run(rotate(tmp_path / "recordings", tmp_path / "keys", transport))
    for name in NAMES:
        assert told["before"][name]["views"] == told["after"][name]["views"], "nobody was excluded"
        assert len(told["statuses"][name]["keys"]["retired"]) == ROTATIONS
        lost = told["statuses"][name]["transport"]["lost"]
        assert not {why for why in REASONS if why in lost}, lost
        received = told["reports"][name]["received"]
        assert {sender: seen["wrong"] for sender, seen in received.items() if seen["wrong"]} == {}
    expect_held(tmp_path / "recordings", "G1", "G2", "G3", "G4", "G5")
