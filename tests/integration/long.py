"""Whether stories are told at full length: RINGCAST_LONG=1 (`make long`); else short enough for every `make test`."""

import os

IS_LONG = os.environ.get("RINGCAST_LONG", "0") not in ("", "0")


def either(long: float, short: float) -> float:
    return long if IS_LONG else short
