"""A member's status as metrics: every name with its unit, every value where the status has it."""

import asyncio
import errno
import os
import re
from pathlib import Path

import pytest

from ringcast.errors import ConfigError
from ringcast.runtime import join, metrics
from ringcast.runtime.http_server import PLAIN, HttpServer
from ringcast.runtime.metrics import METRICS, exposition
from unit.runtime.test_group import World, in_world, read

parser = pytest.importorskip("prometheus_client.parser", reason="the extra ringcast[metrics] is not installed")

UNITS = ("_total", "_seconds", "_messages", "_bytes", "_members", "_calls")
STATES = ("ringcast_ready", "ringcast_primary", "ringcast_coordinator", "ringcast_view_number")  # without a unit
ROOT = Path(__file__).resolve().parents[3]


def samples(text: str) -> dict[tuple[str, str], float]:
    """By name and the value of the metric's own label."""
    found = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            own = [value for name, value in sample.labels.items() if name not in ("group", "member")]
            found[sample.name, own[0] if own else ""] = sample.value
    return found


def test_every_name_ends_with_its_unit_and_stands_once() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert [name for name in names if not name.endswith(UNITS) and name not in STATES] == []


@in_world
async def test_prometheus_reads_what_the_status_says(world: World) -> None:
    a, b = await world.open("A", "B")
    await a.send_many([b"x"] * 5)
    await read(b, 5)
    found = samples(b.metrics())
    assert found["ringcast_received_messages_total", "A"] == 5
    assert found["ringcast_view_members", ""] == 2 and found["ringcast_ready", ""] == 1
    assert found["ringcast_coordinator", ""] == 0 and samples(a.metrics())["ringcast_coordinator", ""] == 1
    assert samples(a.metrics())["ringcast_sent_messages_total", ""] == a.status()["windows"]["send"]["high"] == 5
    assert 'group="g",member="B"' in b.metrics()


@in_world
async def test_two_incarnations_of_one_name_stay_two_series(world: World) -> None:
    a, _ = await world.open("A", "B")
    status = a.status()
    status["members"] += ["B#1"]
    status["peers"]["B#1"] = status["peers"]["B#0"]
    found = samples(exposition(status))
    assert ("ringcast_lag_messages", "B#0") in found and ("ringcast_lag_messages", "B#1") in found


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'ringcast\[metrics\]'"):
        join("g", metrics="127.0.0.1:9464")


def test_the_operations_page_lists_each_metric_with_its_help() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    listed = dict(re.findall(r"^\| `(ringcast_\w+)` \| ([^|]+) \|", page, re.M))
    assert listed == {
        metric.name: metric.help + (f" (label `{metric.label}`)" if metric.label else "") for metric in METRICS
    }


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"GET /here HTTP/1.1\r\n\r\n", 200),
        (b"GET /here?x=1 HTTP/1.0\r\n\r\n", 200),
        (b"GET /elsewhere HTTP/1.1\r\n\r\n", 404),
        (b"POST /here HTTP/1.1\r\n\r\n", 405),
        (b"GET /here\r\n\r\n", 400),
        (b"\xff\x00 \x01 HTTP/1.1\r\n\r\n", 405),
        (b"", 400),
    ],
)
def test_requests_are_answered_or_refused(head: bytes, code: int) -> None:
    answer = HttpServer({"/here": lambda: (200, PLAIN, "yes\n")}).respond(head)
    assert answer.startswith(f"HTTP/1.1 {code} ".encode())
    assert (b"yes\n" in answer) == (code == 200)


def test_head_is_answered_without_a_body() -> None:
    answer = HttpServer({"/here": lambda: (200, PLAIN, "yes\n")}).respond(b"HEAD /here HTTP/1.1\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n") and b"Content-Length: 4" in answer


@pytest.mark.parametrize("name", ["grafana-dashboard.json", "prometheus-alerts.yml"])
def test_dashboard_and_alerts_use_metrics_that_there_are(name: str) -> None:
    used = set(re.findall(r"\bringcast_\w+", (ROOT / "deploy" / name).read_text()))
    assert used and used <= {metric.name for metric in METRICS}


def test_each_alert_is_explained() -> None:
    alerts = re.findall(r"alert: (\w+)", (ROOT / "deploy" / "prometheus-alerts.yml").read_text())
    page = (ROOT / "docs" / "operations.md").read_text()
    assert alerts and [alert for alert in alerts if f"| `{alert}` |" not in page] == []


def test_a_hole_in_the_recording_is_in_the_status_and_in_the_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood in the recording itself only, where nobody looks while the member runs."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    async def story() -> None:
        options = {"config": "test", "inspect": False, "leave_on_sigterm": False}
        async with asyncio.timeout(60), join("g", name="A", record=tmp_path, **options) as group:  # type: ignore[arg-type]
            assert group.status()["recording_lost"] == 0
            monkeypatch.setattr(os, "pwrite", full)
            while not group.status()["recording_lost"]:
                await group.send(b"x")
                await asyncio.sleep(0.01)
            assert samples(group.metrics())["ringcast_recording_lost_events_total", ""] > 0
        async with asyncio.timeout(60), join("g", name="B", **options) as group:  # type: ignore[arg-type]
            assert group.status()["recording_lost"] is None
            assert ("ringcast_recording_lost_events_total", "") not in samples(group.metrics())

    asyncio.run(story())
