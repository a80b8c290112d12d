"""What every story with recordings ends with: the checkers find nothing, and say how much they looked at."""

from pathlib import Path

from ringcast.checkers import judge
from ringcast.trace import read_run


def expect_held(record: Path, *guarantees: str) -> dict[str, int]:
    """Every guarantee held, and these were examined at all."""
    judgement = judge(read_run([record]))
    assert judgement.verdict == "held", judgement.reasons
    examined = {name: judgement.findings[name].examined for name in guarantees}
    print(f"{judgement.events} events; examined {examined}")
    assert all(examined.values()), examined
    return examined
