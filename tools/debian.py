"""Installs Debian packages that a step needs, when it may; otherwise says which one is missing.

It may when it runs as root, apt-get exists and RINGCAST_NO_APT is not set. Nothing is ever removed or upgraded.
As a script: `debian.py nft=nftables ip=iproute2` looks for each command and never fails: what needs it will say so.
"""

import functools
import os
import shutil
import subprocess
import sys

APT_OPTIONS = ["-qq", "-o", "DPkg::Lock::Timeout=120", "--no-install-recommends"]


def has_command(name: str) -> bool:
    # Debian keeps nft and ip in sbin, which is on root's PATH only.
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") is not None


def may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None and "RINGCAST_NO_APT" not in os.environ


def install(package: str) -> str | None:
    """Installs one package; returns a sentence if that was not possible."""
    if not may_install():
        return f"The Debian package {package} is missing; install it with: apt-get install {package}"
    print(f"Installing the Debian package {package} ...", flush=True)
    failure = _refresh_lists() or _apt("install", "-y", *APT_OPTIONS, package)
    return f"Installing the Debian package {package} failed: {failure}" if failure else None


@functools.cache
def _refresh_lists() -> str | None:
    return _apt("update", "-qq")


def _apt(*arguments: str) -> str | None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run = subprocess.run(["apt-get", *arguments], env=environment, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    lines = run.stderr.strip().splitlines() or ["apt-get gave no reason"]
    return lines[-1]


def main(wanted: list[str]) -> None:
    for command, _, package in (pair.partition("=") for pair in wanted):
        if not has_command(command) and (sentence := install(package)):
            print(sentence, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
