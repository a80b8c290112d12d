"""Both kinds of bus, so that every promise of the contract is tested on both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringcast.bus import LocalBus, SharedBus

RING_BYTES = 1 << 14


@pytest.fixture(params=["local", "shared"])
def bus(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalBus | SharedBus]:
    if request.param == "local":
        made: LocalBus | SharedBus = LocalBus.open("test", ring_bytes=RING_BYTES, max_peers=4)
    else:
        pytest.importorskip("ringcast.native._bus")
        made = SharedBus.open("test", directory=tmp_path, ring_bytes=RING_BYTES, max_peers=4)
    with made:
        yield made


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedBus]:
    pytest.importorskip("ringcast.native._bus")
    with SharedBus.open("test", directory=tmp_path, ring_bytes=RING_BYTES, max_peers=4) as made:
        yield made
