"""What a host that has proved nothing may cost: by host, by all of them, and apart from those that are known."""

from __future__ import annotations

import pytest

from ringcast.errors import ConfigError
from ringcast.transport import SECOND, StrangerLimits, Strangers
from ringcast.transport.strangers import KNOWN_TIMES, host_of

LIMITS = StrangerLimits(
    connects_per_second=10, connects_of_all=30, handshakes_per_second=2, handshakes_of_all=5, hosts=8
)


class Door:
    def __init__(self) -> None:
        self.now_ns = 0
        self.strangers = Strangers(lambda: self.now_ns, LIMITS)

    def connects(self, host: str, tries: int = 1_000) -> int:
        return sum(self.strangers.may_connect(host) for _ in range(tries))

    def handshakes(self, host: str, tries: int = 1_000) -> int:
        return sum(self.strangers.may_shake_hands(host) for _ in range(tries))


def test_one_host_has_its_allowance_and_gets_it_again_with_time() -> None:
    door = Door()
    assert door.connects("10.0.0.1") == 10
    door.now_ns += SECOND // 2
    assert door.connects("10.0.0.1") == 5
    assert door.handshakes("10.0.0.1") == 2


def test_all_hosts_together_have_a_bound() -> None:
    door = Door()
    assert sum(door.connects(f"10.0.0.{number}", 20) for number in range(100)) == 30
    assert sum(door.handshakes(f"10.0.0.{number}", 20) for number in range(100)) == 5


def test_a_host_that_proved_something_is_not_held_up_by_the_others() -> None:
    door = Door()
    door.strangers.prove("10.0.0.200")
    door.strangers.set_members(["10.0.0.201"])
    for number in range(100):
        door.connects(f"10.0.0.{number}", 20)
        door.handshakes(f"10.0.0.{number}", 20)
    for known in ("10.0.0.200", "10.0.0.201"):
        assert door.connects(known) == 10 * KNOWN_TIMES, "and it is bounded as well"
        assert door.handshakes(known) == 2 * KNOWN_TIMES


def test_a_host_of_a_member_keeps_what_it_used_up_when_the_view_changes() -> None:
    door = Door()
    door.strangers.set_members(["10.0.0.1"])
    assert door.connects("10.0.0.1") == 40
    door.strangers.set_members(["10.0.0.1", "10.0.0.2"])
    assert door.connects("10.0.0.1") == 0 and door.connects("10.0.0.2") == 40


def test_what_is_remembered_is_bounded() -> None:
    door = Door()
    for number in range(1_000):
        door.connects(f"10.0.{number // 250}.{number % 250}", 1)
        door.strangers.prove(f"10.1.{number // 250}.{number % 250}")
    assert door.strangers.remembered == 2 * LIMITS.hosts


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("2001:db8::9", "2001:db8:0:0::/64"),
        ("fe80::1%eth0", "fe80:0:0:0::/64"),
        ("::1", "0:0:0:0::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_network_of_64_bits_counts_as_one_host(host: str, counted: str) -> None:
    assert host_of(host) == counted


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="hosts must be above 0, not 0"):
        StrangerLimits(hosts=0)
