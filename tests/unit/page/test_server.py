"""Who may look and who may act: hosts, the token, acts from the page itself, bad requests in a sentence."""

import asyncio
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest

from ringcast.errors import UsageError
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.page import Live, Simulated, serve
from ringcast.page.server import make_app
from unit.page.asgi import Client

ACT = {"x-ringcast": "act"}


@pytest.fixture
def page() -> Iterator[Client]:
    with Client(make_app(Simulated(1, 2), ("localhost",))) as client:
        yield client


def test_the_page_and_its_scene_are_served_with_a_strict_policy(page: Client) -> None:
    answer = page.get("/")
    assert answer.status == 200
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert page.get("/static/main.js").status == 200
    assert len(page.get("/api/scene").json()["scene"]["members"]) == 2


def test_a_foreign_host_name_is_refused(page: Client) -> None:
    assert page.get("/api/scene", {"host": "evil.example"}).status == 421


def test_an_act_of_a_foreign_page_is_refused(page: Client) -> None:
    assert page.post("/api/act", {"do": "pause"}).status == 403
    assert page.post("/api/act", {"do": "pause"}, ACT).json() == {"ok": True}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"do": 3}', b"\xff"])
def test_a_bad_act_is_answered_in_a_sentence(page: Client, body: bytes) -> None:
    answer = page.post("/api/act", body, ACT)
    assert answer.status == 400
    assert answer.json()["error"]


def test_an_act_that_cannot_be_done_says_why(page: Client) -> None:
    answer = page.post("/api/act", {"do": "kill", "member": "Z"}, ACT)
    assert (answer.status, "Z" in answer.json()["error"]) == (409, True)


def test_the_log_is_paged_by_number(page: Client) -> None:
    first = page.get("/api/log").json()
    assert first["lines"]
    again = page.get("/api/log", since=first["last"], epoch=first["epoch"]).json()
    assert again["lines"] == []
    assert page.get("/api/log", since="x").status == 400


def test_without_the_token_nothing_is_shown_and_with_it_the_cookie_carries_on() -> None:
    with Client(make_app(Simulated(1, 2), (), "a secret of ours")) as client:
        for path in ("/", "/api/scene", "/api/log", "/static/main.js"):
            assert client.get(path).status == 401
        assert client.get("/", token="wrong").status == 401
        answer = client.get("/", token="a secret of ours")
        assert (answer.status, answer.headers["location"]) == (303, "/")
        assert client.get("/api/scene").status == 200


@pytest.mark.parametrize("token", ["", " ", "short", "fifteen letters", "sixteen\nletters!", "sechzehn Umläute"])
def test_a_token_that_can_be_guessed_is_refused(token: str) -> None:
    """An empty one opened the page to everybody."""
    with pytest.raises(UsageError, match="at least 16"):
        make_app(Simulated(1, 2), (), token)


def test_a_body_is_read_up_to_its_bound() -> None:
    """300 MB were read before they were measured."""
    read = 0

    async def receive() -> dict[str, object]:
        nonlocal read
        read += 65_536
        return {"type": "http.request", "body": bytes(65_536), "more_body": True}

    async def story() -> int:
        app = make_app(Simulated(1, 2))
        async with app.router.lifespan_context(app):
            statuses: list[int] = []

            async def send(message: MutableMapping[str, Any]) -> None:
                statuses.append(message.get("status", 0))

            headers = [(b"host", b"localhost"), (b"x-ringcast", b"act")]
            scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/api/act", "root_path": ""}
            scope |= {"scheme": "http", "query_string": b"", "server": ("localhost", 80), "client": ("127.0.0.1", 1)}
            async with asyncio.timeout(30):
                await app(scope | {"headers": headers}, receive, send)
            return statuses[0]

    assert asyncio.run(story()) == 413
    assert read <= 3 * 65_536


@pytest.mark.parametrize(
    ("bind", "options"),
    [
        ("127.0.0.1", {}),
        ("127.0.0.1:http", {}),
        ("0.0.0.0:0", {}),  # beyond loopback without encryption
        ("127.0.0.1:0", {"certificate": "here.pem"}),
    ],
)
def test_serving_where_it_must_not_is_refused(bind: str, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        serve(Live(), bind, print, **options)  # type: ignore[arg-type]


def test_a_real_group_cannot_be_changed() -> None:
    with pytest.raises(UsageError):
        Live().act("kill", {"member": "A"})


def test_what_happens_while_nobody_looks_does_not_pile_up() -> None:
    """A live source takes in what members tell it also without a browser; nothing is drawn for it."""

    async def story() -> None:
        live = Live()
        live.pause = 0.001
        app = make_app(live)
        async with app.router.lifespan_context(app):
            who = Address("a", 1, "x")
            live._news.append((who, Event(Kind.VIEW, 1, ViewId(1, who), detail={"members": [who]})))
            async with asyncio.timeout(30):
                while live._news:
                    await asyncio.sleep(0.001)
        assert [member["name"] for member in live.scene.drawn()["members"]] == ["a"]

    asyncio.run(story())
