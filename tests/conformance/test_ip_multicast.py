"""IP multicast only ever runs in a network namespace made for it: the stories are told there, by a second pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from needs.probes import SEARCH_PATH, command_path

STORIES = Path(__file__).with_name("multicast_stories.py")

# Loopback carries IPv4 groups only; IPv6 ones need an interface that is not loopback, here one end of a cable.
SET_UP = """
ip link set lo up multicast on && ip route add 239.0.0.0/8 dev lo
ip link add m0 mtu 65535 type veth peer name m1 mtu 65535 && ip link set m0 up && ip link set m1 up
ip addr add fd77::1/64 dev m0 nodad
ip link add s0 mtu 1000 type veth peer name s1 mtu 1000 && ip link set s0 up && ip link set s1 up
ip addr add 10.9.0.1/24 dev s0
"""


@pytest.mark.needs("namespaces", "ipv6")
def test_ip_multicast_keeps_its_promises() -> None:
    unshare = command_path("unshare") or "unshare"
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    again = f"set -e; {SET_UP} exec {sys.executable} -m pytest -q -p no:cacheprovider {STORIES}"
    run = subprocess.run(
        [unshare, flags, "--", "sh", "-c", again],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": SEARCH_PATH},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
