"""Numbers as people write them in scenario files, times with a unit, runs of seqnos; and payloads that say theirs."""

from __future__ import annotations

from ringcast.errors import UsageError

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def payload_of(sender: str, number: int, size: int) -> bytes:
    """Message `number` of a sender, as long as asked or as its own name needs."""
    head = f"{sender}:{number}:".encode()
    return head + bytes(range(256)) * (max(0, size - len(head)) // 256) + bytes(max(0, size - len(head)) % 256)


def as_ns(text: str) -> int:
    """A duration like 100ms or 1.5s."""
    for unit in ("ns", "us", "ms", "s"):
        number = text.removesuffix(unit)
        if number != text and _is_number(number):
            return round(float(number) * _UNITS[unit])
    raise UsageError(f"{text!r} is not a time with a unit (ns, us, ms, s)")


def as_value(text: str) -> object:
    """A field's value: yes, no, a whole number, a share, or a time."""
    if text in ("yes", "no"):
        return text == "yes"
    if _is_number(text):
        return float(text) if "." in text else int(text)
    return as_ns(text)


def in_seconds(t_ns: int) -> str:
    return f"{t_ns / 1e9:.9f}".rstrip("0").rstrip(".") + "s"


def runs_of(numbers: list[int]) -> str:
    """1..3, 7: as ranges, in the order given."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in runs) or "nothing"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
