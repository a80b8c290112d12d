"""A place that others can reach is never got by accident."""

import pytest

import ringcast
from ringcast.runtime.exposure import check_exposure


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "127.9.9.9:7001", "[::1]:7001", "localhost:7001", "mem:A"])
def test_loopback_needs_no_word(bind: str) -> None:
    check_exposure(bind, is_sealed=False, unencrypted=False)


@pytest.mark.parametrize("bind", ["0.0.0.0:7001", "10.0.0.1:7001", "[::]:7001", "host.example:7001"])
def test_anything_else_must_be_asked_for(bind: str) -> None:
    with pytest.raises(ringcast.ConfigError, match="unencrypted=True"):
        ringcast.join("g", bind=bind)
    check_exposure(bind, is_sealed=False, unencrypted=True)
    check_exposure(bind, is_sealed=True, unencrypted=False)
