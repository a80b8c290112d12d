"""Members as people know them: `alice`, and `alice (2)` for a process that was started again under her name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MEMBER = re.compile(r"[^\s#,/'\"()\[\]]+#[0-9a-z]+")


class Names:
    """Short names for members; `members` in the order of their incarnations. A member nobody recorded keeps its own."""

    def __init__(self, members: Iterable[str]) -> None:
        self._shown: dict[str, str] = {}
        lives: dict[str, int] = {}
        for member in members:
            name = member.partition("#")[0]
            life = lives[name] = lives.get(name, 0) + 1
            self._shown[member] = name if life == 1 else f"{name} ({life})"

    def of(self, member: str) -> str:
        return self._shown.get(member, member)

    def within(self, text: str) -> str:
        """A sentence with every member in it named so."""
        return _MEMBER.sub(lambda found: self.of(found.group()), text)

    def view(self, view_id: str) -> str:
        """A view id `creator#incarnation|number` (or the other way round) as people say it."""
        return self.within(view_id)
