"""What cannot be measured here is named and left out; the other figures stay."""

import pytest

from ringcast.bench import bus, multicast
from ringcast.bench.bus_channels import available
from ringcast.bench.multicast import Shape

WHY = {"pyzmq": "it is not installed (pip install 'ringcast[bench]')"}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("ringcast.bench.zmq_peers.find_spec", lambda name: None)
    return []


def test_multicast_without_pyzmq(said: list[str]) -> None:
    shape = Shape(members=2, seconds=0.05, transport="memory")
    result = multicast.run_multicast(shape, peers=True, raw=False, say=said.append, forms=("batch",))
    assert (result["peers"], result["left_out"], result["complete"]) == ({}, WHY, True)
    assert said[-1] == f"left out: pyzmq: {WHY['pyzmq']}"


def test_what_else_is_left_out_stays_named(said: list[str]) -> None:
    found = multicast._peers(Shape(), ("batch",), said.append, {"raw limit": "no compiler"})
    assert found["left_out"] == {"raw limit": "no compiler"} | WHY


@pytest.mark.needs("native")
def test_the_bus_without_pyzmq(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("pyzmq" in channel.name for channel in available())
    monkeypatch.setattr(bus, "measure_channels", lambda *shape: ({}, {}))
    result = bus.run_bus(bus.BusShape(seconds=0.05), peers=True, say=said.append)
    assert (result["left_out"], said[-1]) == (WHY, f"left out: pyzmq: {WHY['pyzmq']}")
