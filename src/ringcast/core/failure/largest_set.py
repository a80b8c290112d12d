"""The set that stays when members of a view do not hear each other: a largest one of which all hear each other.

The input is who complains about whom, as everybody was told; the answer is the same at everybody who was told the same.
A complaint in either direction is a bad link, and of each bad link one end goes.

Exact where at most EXACT members have a bad link: the most members stay, and if they can, one of them is no observer,
because only observers would have nobody to lead them. Of several such sets the one stays that has the first member in
the order of preference: members of whom no complaint is unconfirmed, in the order of the view; then the others; then
observers. A complaint is confirmed if the other end complains, too, or if anybody else complains about the same member.
So who complains alone goes itself: one member that lies, or is too slow to hear, excludes nobody but itself.

With more members that have a bad link it is greedy: again and again the member with the most bad links goes, of equals
the last in the order of preference; then whoever has no bad link to any that stayed comes back, in that order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ringcast.model import Address

EXACT = 16

Complaint = tuple[Address, Address]  # who does not hear, and whom


def who_stays(
    members: Sequence[Address], observers: Collection[Address], complaints: Collection[Complaint]
) -> tuple[Address, ...]:
    """Return who stays, in the order of `members`."""
    order = _preference(members, observers, complaints)
    places = {member: place for place, member in enumerate(order)}
    bad = [0] * len(order)  # by place: a bit for each member that it has a bad link with
    for by, about in complaints:
        if by in places and about in places and by != about:
            bad[places[by]] |= 1 << places[about]
            bad[places[about]] |= 1 << places[by]
    concerned = [place for place, links in enumerate(bad) if links]
    fine = [place for place, links in enumerate(bad) if not links]
    may_lead = [place for place in concerned if order[place] not in observers]
    needs_one = bool(may_lead) and all(order[place] in observers for place in fine)
    search = _exact if len(concerned) <= EXACT else _greedy
    chosen = search(concerned, bad, may_lead if needs_one else [])
    kept = {order[place]: None for place in (*fine, *chosen)}
    return tuple(member for member in members if member in kept)


def _preference(
    members: Sequence[Address], observers: Collection[Address], complaints: Collection[Complaint]
) -> list[Address]:
    """Order members by whom to keep first, where two sets have the same size."""
    known = dict.fromkeys(complaints)
    times: dict[Address, int] = {}
    for _, about in known:
        times[about] = times.get(about, 0) + 1
    alone = {by: None for by, about in known if (about, by) not in known and times[about] == 1}
    rank = {member: place for place, member in enumerate(members)}
    return sorted(members, key=lambda member: (member in observers, member in alone, rank[member]))


def _exact(concerned: list[int], bad: list[int], one_of: list[int]) -> list[int]:
    """The largest set without a bad link; with one of these, if they are named."""
    everybody = sum(1 << place for place in concerned)
    sizes: dict[int, int] = {0: 0}

    def size(among: int) -> int:
        """How many of these can stay together."""
        known = sizes.get(among)
        if known is None:
            first = among & -among
            rest = among ^ first
            known = sizes[among] = max(1 + size(rest & ~bad[first.bit_length() - 1]), size(rest))
        return known

    chosen: list[int] = []
    among = everybody
    if one_of:
        led = max(one_of, key=lambda place: (size(everybody & ~bad[place] & ~(1 << place)), -place))
        chosen.append(led)
        among = everybody & ~bad[led] & ~(1 << led)
    for place in concerned:
        bit = 1 << place
        if among & bit:
            without = among ^ bit
            if 1 + size(without & ~bad[place]) >= size(without):
                chosen.append(place)
                among = without & ~bad[place]
            else:
                among = without
    return chosen


def _greedy(concerned: list[int], bad: list[int], one_of: list[int]) -> list[int]:
    """Without those with the most bad links; who may lead is kept, if somebody has to be."""
    led = min(one_of, key=lambda place: (bad[place].bit_count(), place)) if one_of else None
    staying = sum(1 << place for place in concerned)
    if led is not None:
        staying &= ~bad[led]
    while True:
        most, worst = max(((bad[place] & staying).bit_count(), place) for place in concerned if staying >> place & 1)
        if not most:
            break
        staying ^= 1 << worst
    for place in concerned:
        if not staying >> place & 1 and not bad[place] & staying:
            staying |= 1 << place
    return [place for place in concerned if staying >> place & 1]
