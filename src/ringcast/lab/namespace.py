"""A private network for what must not leave this machine: IP multicast, cuts by firewall.

`enter` starts the current command again inside a new network namespace whose loopback is up and carries multicast.
Needs root, or a kernel that lets users make namespaces (`unshare -Urn`); `why_not` says in words when neither is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from ringcast.errors import UsageError

MARK = "RINGCAST_IN_NAMESPACE"


def is_inside() -> bool:
    return os.environ.get(MARK) == "1"


def why_not() -> str | None:
    """Why a network namespace cannot be made here, or None if it can."""
    for tool in ("unshare", "ip"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (Debian packages util-linux and iproute2)"
    tried = subprocess.run([*_unshare(), "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"the kernel refuses a network namespace: {tried.stderr.strip()}"


def command_inside(command: Sequence[str]) -> list[str]:
    """This command, run in a new namespace with a working loopback."""
    prepare = 'ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo && exec "$@"'
    return [*_unshare(), "env", f"{MARK}=1", "sh", "-c", prepare, "sh", *command]


def enter() -> None:
    """Replace this process by itself, inside a new namespace. Returns only if it is inside already."""
    if not is_inside():
        command = command_inside([sys.executable, *sys.orig_argv[1:]])
        os.execvp(command[0], command)


def lose(percent: int) -> None:
    """Inside only: drop this share of all arriving UDP packets, at random."""
    if not is_inside():
        raise UsageError("packets are lost on purpose only inside a network namespace")
    if shutil.which("nft") is None:
        raise UsageError("losing packets needs nft (Debian package nftables)")
    rules = (
        "add table inet ringcast",
        "add chain inet ringcast arriving { type filter hook input priority 0; }",
        f"add rule inet ringcast arriving meta l4proto udp numgen random mod 100 < {percent} drop",
    )
    done = subprocess.run(["nft", "-f", "-"], input="\n".join(rules), capture_output=True, text=True)
    if done.returncode != 0:
        raise UsageError(f"nft refused: {done.stderr.strip()}")


def _unshare() -> list[str]:
    return ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-Urn"]
