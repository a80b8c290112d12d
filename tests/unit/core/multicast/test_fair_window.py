"""A window leaves room in every receiver's buffer for all who may send at once."""

from __future__ import annotations

import pytest

from ringcast.core.multicast.packing import fair_window_bytes
from ringcast.model import MIB, Address, View, ViewId, profile

MEMBERS = tuple(Address(f"m{number}", 1, f"127.0.0.1:{7000 + number}") for number in range(64))


def view(count: int, window_bytes: int = 0) -> View:
    return View(ViewId(1, MEMBERS[0]), MEMBERS[:count], window_bytes=window_bytes)


@pytest.mark.parametrize("members, mib", [(1, 8), (2, 8), (4, 8), (5, 6), (13, 2)])
def test_together_the_windows_of_all_others_fit_one_and_a_half_buffers(members: int, mib: int) -> None:
    config = profile("local", window_bytes=8 * MIB, receive_buffer_bytes=16 * MIB)
    assert fair_window_bytes(config, view(members)) == mib * MIB


def test_what_the_view_agreed_on_is_never_exceeded() -> None:
    assert fair_window_bytes(profile("local"), view(3, 1 * MIB)) == 1 * MIB


def test_one_frame_always_fits() -> None:
    config = profile("local", receive_buffer_bytes=200_000)
    assert fair_window_bytes(config, view(64)) == config.frame_bytes
