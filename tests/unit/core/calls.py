"""Stand-ins for a component's neighbours: a test compares one whole list, what was sent and what was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ringcast.core.control import MergeId
from ringcast.core.membership import ViewHandler
from ringcast.core.steps import Then
from ringcast.model import Address


class Calls:
    """A neighbour behind a port. A call answers with itself, `("name", *arguments)` without the time, as the only step.

    `answers` gives other answers by the method's name. `made` has all calls, also those whose answer nobody looks at.
    """

    def __init__(self, **answers: object) -> None:
        self.answers = answers
        self.made: list[tuple[object, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: object, **named: object) -> object:
            given = arguments[1:] if arguments and type(arguments[0]) is int else arguments
            made = (name, *given, *named.values())
            self.made.append(made)
            return self.answers.get(name, [made])

        return call


def neighbour(**answers: object) -> Any:
    """The same, for a parameter that a port types."""
    return Calls(**answers)


def carried_out(steps: list[Any]) -> list[Any]:
    """The steps, with each call that waits for its turn (`Then`) made."""
    out: list[Any] = []
    for step in steps:
        out += carried_out(step.call()) if isinstance(step, Then) else [step]
    return out


def with_calls_made(component: object) -> Any:
    """The component, but each list that one of its methods returns has the calls made that wait for their turn."""
    return _WithCallsMade(component)


class _WithCallsMade:
    def __init__(self, component: object) -> None:
        object.__setattr__(self, "component", component)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.component, name)
        if not callable(found):
            return found

        def call(*arguments: object, **named: object) -> object:
            answer = found(*arguments, **named)
            return carried_out(answer) if isinstance(answer, list) else answer

        return call

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.component, name, value)


# ---- the two questions that a merge asks of the view handler, as core/merging.py and the merge leader ask them


def raise_merge(handler: ViewHandler, now_ns: int, merge_id: MergeId) -> list[Any]:
    if not handler.may_lead_merge(now_ns):
        return handler.discard_merge(now_ns, merge_id)
    return [*handler.lead_merge(now_ns, merge_id), ("start merge", merge_id)]


def ask_to_merge(
    handler: ViewHandler, now_ns: int, leader: Address, merge_id: MergeId, members: tuple[Address, ...] = ()
) -> list[Any]:
    """`members` of its view are asked for."""
    why = handler.refusal(now_ns, merge_id, members)
    if why is not None:
        refused: Any = ("reject", leader, merge_id, why)
        return handler.refuse(now_ns, merge_id, [refused])
    return [*handler.take_part(now_ns, leader, merge_id), ("accept", leader, merge_id)]
