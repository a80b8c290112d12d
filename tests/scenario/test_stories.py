"""A story whose answer is not the one in its file fails; without that no story would prove anything."""

from pathlib import Path

import pytest

from scenario.stories import play


def echo(words: list[str]) -> list[str]:
    return words[1:]


def test_a_story_with_the_right_answers_passes(tmp_path: Path) -> None:
    story = tmp_path / "story.txt"
    story.write_text("# said\nsay hello\nsay you\n----\nhello\nyou\n\nsay\n----\nnothing\n")
    play(story, echo)


@pytest.mark.parametrize("answer", ["goodbye", "hello\nhello", "nothing", ""])
def test_a_story_with_a_wrong_answer_fails(tmp_path: Path, answer: str) -> None:
    story = tmp_path / "story.txt"
    story.write_text(f"say hello\n----\n{answer}\n")
    with pytest.raises(AssertionError):
        play(story, echo)
