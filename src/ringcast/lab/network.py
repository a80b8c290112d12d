"""A small network of namespaces: one per member process, cabled to two switches that a trunk joins.

    A ─┐                ┌─ D          `cut_trunk` (a link) or `block_trunk` (a firewall) parts the sides;
    B ─┤ left ══ right ─┤─ E          `deafen` drops what a member would hear from some others (one way)
    C ─┘                └─ F

Everything lives in namespaces below one holder process, so nothing can leak into the machine's own network, and all
of it is gone when the holder ends. Needs root or user namespaces, and `ip`, `nsenter`, `unshare`; `deafen` needs `nft`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Literal

from ringcast.errors import UsageError

Side = Literal["left", "right"]

_SWITCHES = """
ip link add left type bridge && ip link set left up
ip link add right type bridge && ip link set right up
ip link add trunk type veth peer name knurt
ip link set trunk master left up && ip link set knurt master right up
"""
# Run inside the new namespace of a member: it makes its own cable, because it alone knows when it is there. The port of
# a process that was killed goes away with its namespace, which takes a moment: pull it out first.
_CABLE = """
set -e
{enter} ip link del {port} 2>/dev/null || true
{enter} ip link add {port} type veth peer name eth0 netns $$
{enter} ip link set {port} master {side} up
ip addr add {address}/24 dev eth0 && ip link set eth0 up && ip link set lo up
exec "$@"
"""
_FAMILY = "10.77.0"


class Network:
    """The switches, and who is plugged in. Use as `async with`."""

    def __init__(self) -> None:
        self._holder: asyncio.subprocess.Process | None = None
        self._addresses: dict[str, str] = {}

    async def __aenter__(self) -> Network:
        flags = ["-n"] if os.geteuid() == 0 else ["-Urn"]
        script = f"set -e\n{_SWITCHES}\necho ready\nexec cat"
        self._holder = await asyncio.create_subprocess_exec(
            "unshare",
            *flags,
            "sh",
            "-c",
            script,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must not take the network away before the members are ended
        )
        assert self._holder.stdout is not None
        if await self._holder.stdout.readline() != b"ready\n":
            raise UsageError("no network of namespaces could be made here; is this root, and is iproute2 installed?")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._holder is not None and self._holder.stdin is not None
        self._holder.stdin.close()
        await self._holder.wait()

    def plug(self, name: str, side: Side = "left") -> tuple[list[str], str]:
        """A command prefix that runs a member in a namespace of its own, and the address that it has there."""
        address = self._addresses.setdefault(name, f"{_FAMILY}.{len(self._addresses) + 1}")
        port = f"port{address.rpartition('.')[2]}"
        cable = _CABLE.format(enter=" ".join(self._enter()), port=port, side=side, address=address)
        return [*self._enter(), "unshare", "-n", "sh", "-c", cable, "sh"], address

    def address(self, name: str) -> str:
        return self._addresses[name]

    async def cut_trunk(self) -> None:
        """Take the link down. The kernel may need up to a second to notice when it is up again."""
        await self._run("ip", "link", "set", "trunk", "down")

    async def heal_trunk(self) -> None:
        await self._run("ip", "link", "set", "trunk", "up")

    async def block_trunk(self) -> None:
        """The same by firewall: at once, and at once gone, so that times can be measured. Needs nft."""
        rules = [
            "add table bridge cut",
            "add chain bridge cut passing { type filter hook forward priority 0; }",
            'add rule bridge cut passing iifname "trunk" drop',
            'add rule bridge cut passing oifname "trunk" drop',
        ]
        await self._run("nft", *_joined(rules))

    async def unblock_trunk(self) -> None:
        await self._run("nft", "delete", "table", "bridge", "cut")

    async def deafen(self, pid: int, speakers: Sequence[str]) -> None:
        """The member with this process id hears nothing of these; they still hear it."""
        rules = [
            "add table inet deaf",
            "add chain inet deaf arriving { type filter hook input priority 0; }",
            f"add rule inet deaf arriving ip saddr {{ {', '.join(map(self.address, speakers))} }} drop",
        ]
        await self._run("nft", *_joined(rules), inside=pid)

    async def cure(self, pid: int) -> None:
        await self._run("nft", "delete", "table", "inet", "deaf", inside=pid)

    def _enter(self, pid: int | None = None) -> list[str]:
        assert self._holder is not None
        owner = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(pid or self._holder.pid), *owner, "-n"]

    async def _run(self, *command: str, inside: int | None = None) -> None:
        child = await asyncio.create_subprocess_exec(
            *self._enter(inside), *command, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
        )
        _, said = await child.communicate()
        if child.returncode != 0:
            raise UsageError(f"{' '.join(command)}: {said.decode().strip()}")


def _joined(rules: list[str]) -> list[str]:
    """nft takes several commands as one, separated by semicolons."""
    return [" ; ".join(rules)]
