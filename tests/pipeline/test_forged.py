"""Forged recordings (`forged.py`): both judges come to an end and never raise. `make fuzz` has thousands of them."""

from __future__ import annotations

from random import Random

import pytest

pytest.importorskip("numpy", reason="the pipeline needs numpy: pip install 'ringcast[pipeline]'")

from pipeline.forged import judge
from ringcast.trace.details import as_address, as_digest, as_view_id

FOUND = (2611, 2632)  # an incarnation that is True; an entry of a digest that is a list


@pytest.mark.parametrize("seed", [*range(20), *FOUND])
def test_judges_come_to_a_verdict(seed: int) -> None:
    assert judge(Random(f"forged {seed}")) in ("held", "violated", "unjudged")


def test_only_numbers_are_numbers_in_a_detail() -> None:
    for read, value in (
        (as_address, ["a", True, "mem:a"]),
        (as_view_id, [True, ["a", 1, "mem:a"]]),
        (as_digest, [[["a", 1, "mem:a"], 1, [2], 3]]),
        (as_digest, [[["a", 1, "mem:a"], 1, 2.5, 3]]),
    ):
        with pytest.raises(ValueError, match="not a"):
            read(value)
