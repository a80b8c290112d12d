"""The seed's comparison of two message instances, as one integer per instance.

An instance is *staged* with `seq_lower`, the counter value seen before it was copied anywhere, and later *committed*
with `seq`, the counter value it was given. It is certain to come after every message whose seq is at most its
seq_lower. The four cases of the seed (neither committed, either one, both) are the comparison of these keys:

    staged:     2 * seq_lower + 1      just behind the message that holds seq_lower
    committed:  2 * seq

Invariant: committing never moves an instance forward, because seq > seq_lower.

The numbers are plain counter values. Where counters start again (a new view), the layer above decides between them.
"""


def staged_key(seq_lower: int) -> int:
    return 2 * seq_lower + 1


def committed_key(seq: int) -> int:
    return 2 * seq
