"""What an orchestrator and Prometheus ask a real member over HTTP, and members asked by name."""

import asyncio
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import ringcast
from ringcast.lab import free_ports
from ringcast.runtime import ask, find_members, processes_here

pytest.importorskip("prometheus_client", reason="the extra ringcast[metrics] is not installed")


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


async def answer(port: int, path: str) -> tuple[int, str]:
    return await asyncio.to_thread(get, f"http://127.0.0.1:{port}{path}")


async def a_life() -> None:
    (port,) = free_ports(1)
    at = f"127.0.0.1:{port}"
    # It expects two, so it is on its way for a while: alive, not ready, and it can be asked why.
    config = ringcast.profile("test", expect=20.0)
    joining = asyncio.ensure_future(_joined("shop", name="anna", metrics=at, expect=2, config=config))
    while (await asyncio.to_thread(_is_refused, port)) and not joining.done():
        await asyncio.sleep(0.01)
    assert (await answer(port, "/healthz"))[0] == 200
    code, why = await answer(port, "/readyz")
    assert code == 503 and why.startswith("anna may not send: ")
    other = await ringcast.join("shop", name="bert", seeds=_endpoint_of_anna(), config=config)
    anna = await joining
    await anna.wait_for(2, timeout=30)
    assert (await answer(port, "/readyz")) == (200, "anna may send\n")
    code, text = await answer(port, "/metrics")
    assert code == 200 and 'ringcast_view_members{group="shop",member="anna"} 2.0' in text
    assert 'ringcast_lag_messages{group="shop",member="anna",peer="bert"} 0.0' in text
    assert (await answer(port, "/elsewhere"))[0] == 404
    with pytest.raises(ringcast.TransportError, match=r"cannot answer HTTP at .*: the address is in use"):
        await ringcast.join("shop", metrics=at, seeds=anna.me.endpoint, config="test")
    for address in ("bert", "shop@bert", other.me.endpoint):
        assert (await asyncio.to_thread(ask, address, "status"))["me"] == str(other.me)
    assert await asyncio.to_thread(lambda: set(processes_here(find_members()).values())) == {os.getpid()}
    with pytest.raises(ringcast.UsageError, match=r"did you mean bert\?"):
        await asyncio.to_thread(ask, "brt", "status")
    await other.leave()
    await anna.leave()
    assert _is_refused(port)


async def _joined(*arguments: str, **options: object) -> ringcast.Group:
    return await ringcast.join(*arguments, **options)  # type: ignore[arg-type]


def _endpoint_of_anna() -> str:
    return next(iter(find_members())).partition("@")[2]


def _is_refused(port: int) -> bool:
    try:
        get(f"http://127.0.0.1:{port}/healthz")
    except OSError:
        return True
    return False


def test_a_member_is_watched_from_its_first_moment_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path))
    asyncio.run(a_life())
