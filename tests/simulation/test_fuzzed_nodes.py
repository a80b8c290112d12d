"""Changed copies of real frames, and lies in other members' names, thrown at nodes that live: nothing raises.

`make fuzz` does the same with a million frames, and with ten million for the decoders alone.
"""

from simulation.fuzzing.run import fuzz_decoders, fuzz_nodes


def test_no_frame_makes_a_node_raise_or_break_an_invariant() -> None:
    found = fuzz_nodes(first_seed=0, frames=2_000)
    assert found["frames"] >= 2_000 and found["well-formed"] > 200


def test_no_bytes_make_a_decoder_raise() -> None:
    found = fuzz_decoders(seed=0, inputs=5_000)
    assert found["inputs"] == 5_000 and found["read"] > 100
