"""docs/config.md lists every field of Config with its unit, default and range, as they are."""

import re
from dataclasses import fields
from pathlib import Path

from ringcast.model import Config

PAGE = Path(__file__).resolve().parents[3] / "docs" / "config.md"


def shown(name: str, value: object) -> str:
    return f"{value / 1e9:g}" if name.endswith("_ns") and isinstance(value, int) else str(value)


def test_the_page_lists_every_field_as_it_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]*)\| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.M)
    expected = []
    for spec in fields(Config):
        bounds = [shown(spec.name, spec.metadata[end]) for end in ("low", "high")] if spec.metadata else []
        expected.append((spec.name.removesuffix("_ns"), shown(spec.name, spec.default), " – ".join(bounds)))
    assert [(name, default, limits.strip()) for name, _, default, limits, _, _ in rows] == expected
    units = {name: unit for name, unit, *_ in rows}
    assert all(units[f.name.removesuffix("_ns")] == "s" for f in fields(Config) if f.name.endswith("_ns"))
    assert all(units[f.name] == "bytes" for f in fields(Config) if f.name.endswith("_bytes"))
