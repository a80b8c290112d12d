"""`ringcast page` where others reach it: encrypted, or plain behind a proxy; never without the token."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="the page needs starlette: pip install 'ringcast[page]'")


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The address that was printed, on loopback, with its token."""
    command = [sys.executable, "-m", "ringcast", "page", "--json", "--seed", "1", "--bind", "0.0.0.0:0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"].replace("0.0.0.0", "127.0.0.1")
    finally:
        process.terminate()
        process.wait(timeout=30)


def asks_for_its_token(address: str) -> CookieJar:
    """Nothing without the token; with it the page, and from then on the cookie does."""
    jar, context = CookieJar(), ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its certificate was made for this test
    https, cookies = urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor(jar)
    browser = urllib.request.build_opener(https, cookies)
    parts = urlsplit(address)
    bare = f"{parts.scheme}://{parts.netloc}/"
    for path in ("", "api/scene", "static/main.js", "?token=wrong"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            browser.open(bare + path, timeout=60)
    assert b"<title>ringcast</title>" in browser.open(address, timeout=60).read()
    assert b'"scene"' in browser.open(bare + "api/scene", timeout=60).read()
    return jar


def test_with_a_certificate_it_is_https_and_the_cookie_stays_there(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate of this test")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    files = ["-subj", "/CN=page", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, *made, *files], check=True, capture_output=True)
    with served("--certificate", str(certificate), "--private-key", str(key)) as address:
        assert address.startswith("https://") and "?token=" in address
        assert [cookie.secure for cookie in asks_for_its_token(address)] == [True]


def test_plain_behind_a_proxy_it_still_asks_for_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("a-token-of-our-own\n")
    with served("--plain", "--token-file", str(token)) as address:
        assert address.startswith("http://") and address.endswith("?token=a-token-of-our-own")
        asks_for_its_token(address)


def test_connections_that_say_nothing_make_room_and_the_page_answers() -> None:
    with served("--bind", "127.0.0.1:0") as address:
        place = urlsplit(address)
        silent = [socket.create_connection((place.hostname, place.port), timeout=60) for _ in range(80)]
        for line in silent[:16]:
            assert line.recv(1) == b"", "closed: one of the oldest"
        asks_for_its_token(address)
        for line in silent:
            line.close()


def test_on_loopback_it_asks_for_its_token_too() -> None:
    """Another user of the host reads there what the members themselves would not answer to him."""
    with served("--bind", "127.0.0.1:0") as address:
        asks_for_its_token(address)
