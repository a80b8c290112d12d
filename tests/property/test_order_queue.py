"""The queue against a dumb second implementation: sort everything on every read, with the seed's own comparison."""

from functools import cmp_to_key

from hypothesis import given, settings
from hypothesis import strategies as st

from ringcast.order import OrderQueue

Entry = list[int | None]  # [seq_lower, seq]


def seed_less(a: tuple[Entry, tuple[int, int]], b: tuple[Entry, tuple[int, int]]) -> bool:
    ((a_lower, a_seq), a_name), ((b_lower, b_seq), b_name) = a, b
    assert a_lower is not None and b_lower is not None
    if a_seq is None and b_seq is None:
        return (a_lower, a_name) < (b_lower, b_name)
    if a_seq is None:
        assert b_seq is not None
        return a_lower < b_seq
    if b_seq is None:
        return a_seq <= b_lower
    return a_seq < b_seq


def readable(held: dict[tuple[int, int], Entry]) -> tuple[int, int] | None:
    ranked = sorted(((e, n) for n, e in held.items()), key=cmp_to_key(lambda a, b: -1 if seed_less(a, b) else 1))
    return ranked[0][1] if ranked and ranked[0][0][1] is not None else None


@settings(max_examples=300)
@given(st.data())
def test_the_queue_reads_as_a_sort_by_the_seeds_comparison_would(data: st.DataObject) -> None:
    queue: OrderQueue[int, None] = OrderQueue()
    held: dict[tuple[int, int], Entry] = {}
    counter, numbers = 0, [0, 0, 0]
    popped: list[int] = []
    for _ in range(data.draw(st.integers(1, 40))):
        staged = [name for name, entry in held.items() if entry[1] is None]
        action = data.draw(st.sampled_from(["stage", "pop"] + ["commit", "rekey", "remove"] * bool(staged)))
        before = readable(held) is not None
        revealed = False
        if action == "stage":
            sender = data.draw(st.integers(0, 2))
            numbers[sender] += 1
            queue.stage(sender, numbers[sender], counter, None)
            held[sender, numbers[sender]] = [counter, None]
        elif action == "pop":
            front = queue.pop()
            assert (front and (front.sender, front.number)) == readable(held)
            if front is not None:
                assert front.seq is not None
                popped.append(front.seq)
                del held[front.sender, front.number]
            continue
        else:
            name = data.draw(st.sampled_from(staged))
            if action == "commit":
                counter += 1
                held[name][1] = counter
                revealed = queue.commit(*name, counter)
            elif action == "rekey":
                held[name][0] = counter
                revealed = queue.rekey(*name, counter)
            else:
                del held[name]
                revealed = queue.remove(*name)
        assert revealed == (not before and readable(held) is not None)
        assert len(queue) == len(held)
    assert popped == sorted(popped)
