"""The ack map against a plain dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringcast.window import AckMap

MEMBERS = st.sampled_from("ABCDE")
VIEWS = st.dictionaries(MEMBERS, st.integers(0, 20))


@given(VIEWS, st.lists(st.tuples(MEMBERS, st.integers(0, 40)) | VIEWS))
def test_an_ack_map_is_a_dict_of_maxima(view: dict[str, int], steps: list[tuple[str, int] | dict[str, int]]) -> None:
    acks, model = AckMap(view), dict(view)
    for step in steps:
        before = min(model.values(), default=0)
        if isinstance(step, dict):
            model = {who: model.get(who, offset) for who, offset in step.items()}
            rose = acks.set_members(step)
        else:
            who, upto = step
            if who in model:
                model[who] = max(model[who], upto)
            rose = acks.on_ack(who, upto)
        acks.check()
        minimum = min(model.values(), default=0)
        assert (acks.minimum, rose) == (minimum, minimum > before)
        assert acks.laggards() == [who for who, upto in model.items() if upto == minimum]
        assert (len(acks), [acks.get(who) for who in "ABCDE"]) == (len(model), [model.get(who) for who in "ABCDE"])
