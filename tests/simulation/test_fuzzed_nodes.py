"""Changed copies of real frames, and lies in other members' names, thrown at nodes that live: nothing raises.

`make fuzz` does the same with a million frames, and with ten million for the decoders alone; `make fuzz-guided` is led
by coverage, and what it found worth keeping is read here.
"""

import pytest

from simulation.fuzzing.run import fuzz_blocks, fuzz_decoders, fuzz_nodes
from simulation.fuzzing.targets import TARGETS, kept


def test_no_frame_makes_a_node_raise_or_break_an_invariant() -> None:
    found = fuzz_nodes(first_seed=0, frames=2_000)
    assert found["frames"] >= 2_000 and found["well-formed"] > 200


def test_no_message_of_a_member_ends_the_blocks_of_others_or_lets_them_differ() -> None:
    assert fuzz_blocks(first_seed=0, messages=300)["messages"] == 300


def test_no_bytes_make_a_decoder_raise() -> None:
    found = fuzz_decoders(seed=0, inputs=7_000)
    assert found["inputs"] == 7_000
    assert all(count > 2 for what, count in found.items() if what.startswith("read by")), found


@pytest.mark.parametrize("target", TARGETS)
def test_no_kept_input_makes_a_decoder_raise(target: str) -> None:
    """Each reached code that no other did: some are read, some are refused."""
    answers = [TARGETS[target](data) for data in kept(target)]
    assert True in answers and False in answers
