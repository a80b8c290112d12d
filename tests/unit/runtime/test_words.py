"""Names in words are short, and as long as they must be."""

import pytest

from ringcast.runtime.words import Waiting, Why, short


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("C#dmw9bjm has acked up to 5", "C has acked up to 5"),
        ("view A#dmw9bjm|3: {A#dmw9bjm, B#1x}", "view A|3: {A, B}"),
        ("C#2 runs in the place of C#1, says A#9", "C#2 runs in the place of C#1, says A"),
        ("127.0.0.1:7001#dm9 at 127.0.0.1:7001", "127.0.0.1:7001 at 127.0.0.1:7001"),
        ("nothing waits", "nothing waits"),
    ],
)
def test_incarnations_are_told_only_where_a_name_has_several(text: str, said: str) -> None:
    assert short(text) == said


def test_a_reason_reads_as_its_first_half() -> None:
    assert f"send waited: {Why('window 1/1', 'B reads')}" == "send waited: window 1/1"


def test_a_wait_is_told_with_what_would_free_it() -> None:
    assert str(Waiting("send", "window 1/1", 3.21, "B reads on")) == (
        "send waits for 3.2 s: window 1/1\n    it goes on when B reads on"
    )
    assert str(Waiting("send", "window 1/1", 3.21)) == "send waits for 3.2 s: window 1/1"
