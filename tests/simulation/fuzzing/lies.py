"""Well-formed frames that say something else: packets of real traffic with other numbers, names, parts and senders."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

from ringcast.core import Drop, Loose, Packet, Run
from ringcast.core.packets import Channel, Envelope, Piece
from ringcast.model import Address
from ringcast.wire import Codec, decode_control, encode_control
from simulation.fuzzing.mutation import NUMBERS


def lying(random: Random, to: Address, frame: bytes, everybody: list[Address]) -> bytes:
    """This frame after one thing in it was changed, for everybody; sometimes in another's name.

    What cannot be read or written stays as it is.
    """
    addressed = frame[:8] + bytes(4) + frame[12:]  # to everybody
    decoded = Codec("g", to).decode(addressed)
    if isinstance(decoded, Drop):
        return addressed
    sender, packet = decoded
    changed = _changed_packet(random, packet, everybody)
    if random.random() < 0.3:
        sender = random.choice(everybody)
    try:
        return bytes(Codec("g", sender).encode(changed))
    except Exception:  # what cannot be written is not sent
        return addressed


def _changed_packet(random: Random, packet: Packet, everybody: list[Address]) -> Packet:
    if isinstance(packet, Loose):
        return replace(packet, message=changed(random, packet.message, everybody))
    if isinstance(packet, Run) and random.random() < 0.7:
        items = [_changed_item(random, packet, item, everybody) for item in packet.items]
        return replace(packet, items=items, nbytes=sum(map(len, items)), each=0)
    name = random.choice([spec.name for spec in fields(packet) if spec.name in ("tag", "first", "low", "upto", "high")])
    return replace(packet, **{name: changed(random, getattr(packet, name), everybody)})


def _changed_item(random: Random, run: Run, item: bytes, everybody: list[Address]) -> bytes:
    if run.channel is Channel.CONTROL and type(item) is bytes:
        message = decode_control(item)
        if not isinstance(message, Drop):
            return encode_control(changed(random, message, everybody))
    kind = type(item) if random.random() < 0.9 else random.choice((bytes, Piece, Envelope))
    cut = random.choice((0, 1, len(item) // 2, len(item)))
    return kind(item[:cut] + bytes(random.choice((0, 0, 1, 8))))


def changed(random: Random, value: Any, everybody: list[Address]) -> Any:
    """One value somewhere inside is another one of its kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice((value + 1, max(0, value - 1), *NUMBERS))
    if isinstance(value, str):
        return random.choice((value, "", "z" * 200, "\x1b[2J"))
    if isinstance(value, Address):
        return random.choice(everybody)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        at = random.randrange(len(value))
        return value._replace(**{value._fields[at]: changed(random, value[at], everybody)})
    if isinstance(value, tuple):
        return _changed_list(random, value, everybody)
    if is_dataclass(value) and fields(value):
        name = random.choice(fields(value)).name
        return replace(value, **{name: changed(random, getattr(value, name), everybody)})  # type: ignore[type-var]
    return value


def _changed_list(random: Random, value: tuple[Any, ...], everybody: list[Address]) -> tuple[Any, ...]:
    choice = random.randrange(5)
    if choice == 0 or not value:
        return value[:-1]
    at = random.randrange(len(value))
    if choice == 1:
        return (*value, value[at])
    if choice == 2:
        return tuple(random.sample(value, len(value)))
    return (*value[:at], changed(random, value[at], everybody), *value[at + 1 :])
