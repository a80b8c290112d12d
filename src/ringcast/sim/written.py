"""A run's options as commands of a scenario file, so that a shrunk failure can be kept, read and replayed.

    options seed=17 members=3 fixed=yes safety=2.5s bound=5s
    config capacity=5
    link delay=1ms loss=0.1
    load per_second=20 sizes=10,100 private_share=0.2 burst=1
    policy observers=1 partition=primary quorum=3
    planned loss 0.3 A B from=1.2s until=2s
    simulate

Only what differs from the plain run is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from ringcast.model import Config, profile
from ringcast.sim.faults import Fault
from ringcast.sim.network import Link
from ringcast.sim.options import Options
from ringcast.sim.policies import Policy
from ringcast.sim.units import as_ns, as_value, in_seconds
from ringcast.sim.workload import Load


def commands_of(options: Options) -> Iterator[str]:
    """The commands that make these options, without the last one, `simulate`."""
    yield (
        f"options seed={options.seed} members={options.members} fixed={_word(options.fixed)}"
        f" multicasts={_word(options.multicasts)}"
        f" safety={in_seconds(options.safety_ns)} bound={in_seconds(options.bound_ns)}"
        + (f" workload={options.workload}" if options.workload != "mixed" else "")
    )
    for verb, value, plain in (
        ("config", options.config, profile("test")),
        ("link", options.link, Link()),
        ("load", options.load, Load()),
        ("policy", options.policy, Policy()),
    ):
        changed = list(_differences(value, plain))
        if changed:
            yield " ".join([verb, *changed])
    for fault in options.faults:
        yield f"planned {fault} from={in_seconds(fault.at_ns)} until={in_seconds(fault.until_ns)}"


def _differences(value: Any, plain: Any) -> Iterator[str]:
    for spec in fields(value):
        now = getattr(value, spec.name)
        if now != getattr(plain, spec.name):
            yield f"{spec.name.removesuffix('_ns')}={_text(spec.name, now)}"


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return _word(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return in_seconds(value) if name.endswith("_ns") and isinstance(value, int) else str(value)


def _word(value: bool) -> str:
    return "yes" if value else "no"


# ---- and back


def options_of(named: dict[str, str]) -> dict[str, Any]:
    """What `options` says, as fields of Options."""
    read: dict[str, Any] = {"seed": int(named["seed"])}
    for name in ("fixed", "multicasts"):
        read[name] = named.get(name, "no") == "yes"
    if "workload" in named:
        read["workload"] = named["workload"]
    if "members" in named:
        read["members"] = int(named["members"])
    for name in ("safety", "bound"):
        if name in named:
            read[f"{name}_ns"] = as_ns(named[name])
    return read


def fields_of(kind: type[Config | Link | Load | Policy], named: dict[str, str]) -> dict[str, Any]:
    """Fields of a config, a link, a load or a policy; durations without their `_ns`."""
    known = {spec.name for spec in fields(kind)}
    read: dict[str, Any] = {}
    for name, text in named.items():
        full = name if name in known else f"{name}_ns"
        if full not in known:
            raise ValueError(f"{kind.__name__.lower()} has no field {name!r}")
        if full == "sizes":
            read[full] = tuple(map(int, text.split(",")))
        else:
            read[full] = text if full == "partition" else as_value(text)
    return read


def fault_of(words: list[str], named: dict[str, str]) -> Fault:
    """What `planned` says."""
    kind, *rest = words
    amount = float(rest.pop(0)) if rest and rest[0][0] in "-.0123456789" else 0.0
    return Fault(kind, as_ns(named["from"]), as_ns(named["until"]), tuple(rest), amount)
