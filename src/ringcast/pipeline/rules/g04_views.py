"""G4, views: ids only grow at a member; a member is in every view it installs; one id has one content everywhere.

No kernel of its own: views are control events. Comparison: ids by neighbours at each member; contents by the first
member that installed the id. Equality is transitive, so comparing with the first decides for all.
"""

from __future__ import annotations

from ringcast.model import Kind
from ringcast.pipeline.rules.fact import Out, address_of, name_of
from ringcast.pipeline.rules.run import Installed, Run

GUARANTEE = "G4"


def compare(run: Run, out: Out) -> None:
    contents: dict[tuple[int, str], tuple[str, Installed]] = {}
    out.examined(len(run.control(Kind.VIEW)) - len(run.malformed))
    for sentence in run.malformed:
        out.lacks(sentence)
    for member in run:
        before = None
        for view in (stay.view for stay in member.stays if stay.view is not None):
            if before is not None and _order(view.id) <= _order(before):
                sentence = f"{member} installed view {_text(view.id)} after {_text(before)}"
                out.violation(view.index, sentence, member=member.key)
            if view.previous is not None and view.previous != before:
                was = "no view" if before is None else _text(before)
                sentence = (
                    f"{member} says that view {_text(view.id)} follows {_text(view.previous)}, but it was in {was}"
                )
                out.violation(view.index, sentence, member=member.key)
            if member.key not in view.members:
                sentence = f"{member} installed view {_text(view.id)}, of which it is not a member"
                out.violation(view.index, sentence, member=member.key)
            first, known = contents.setdefault(view.id, (member.key, view))
            if view.content != known.content:
                sentence = f"view {_text(view.id)} has another content at {member} than at {name_of(first)}"
                out.violation(view.index, sentence, first, member.key)
            before = view.id


def _order(view: tuple[int, str]) -> tuple[int, object]:
    return view[0], address_of(view[1])


def _text(view: tuple[int, str]) -> str:
    return f"{view[0]}|{name_of(view[1])}"
