"""From recordings to a report on disk: what the pipeline found, with the events around each violation."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringcast.checkers import Judgement
from ringcast.model import Address, Event, Kind, ViewId
from ringcast.pipeline.checking import Request, Say, as_uri, local_segments, use_outcome_of_one
from ringcast.pipeline.reading import read
from ringcast.pipeline.results import Outcome
from ringcast.report import About, Judged, Look, Place, gather, look_into, render
from ringcast.trace import read_recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = Mapping[str, Any]


def write_report(request: Request, output: Path, about: About, say: Say) -> Judgement:
    """Judge and measure the recordings of one run and write the report; the judgement is what it says."""

    def use(outcome: Outcome, spark: SparkSession | None) -> Judgement:
        look = _in_files(request) if spark is None else _by_spark(spark, request, outcome.run)
        output.write_text(render(gather(judged_of(outcome, look), about)), encoding="utf-8")
        return outcome.judgement

    return use_outcome_of_one(request, use, say)


def judged_of(outcome: Outcome, look: Look = lambda places: {}) -> Judged:
    """What the tables of a run say."""
    tables = outcome.tables
    addresses = {row["member"]: Address(row["name"], row["incarnation"], row["endpoint"]) for row in tables["members"]}
    control = [
        (addresses[row["member"]], _event(row, addresses)) for row in tables["control"] if row["member"] in addresses
    ]
    judge = tables["verdicts"][0]["judge"]
    return Judged(judge, outcome.judgement, tables["members"], tables["metrics"], control, look)


def _event(row: Row, addresses: Mapping[str, Address]) -> Event:
    """An event from a row of the table `control` or `events`."""
    creator = row["view_creator"]
    view = None if row["view"] is None else ViewId(row["view"], _address(creator, addresses))
    peer = None if row["peer"] is None else _address(row["peer"], addresses)
    numbers = {name: row.get(name) or 0 for name in ("stream", "first", "count", "ordinal", "value", "other")}
    detail = None if row["detail"] is None else json.loads(row["detail"])
    return Event(Kind[row["kind"]], row["t_ns"], view, peer, **numbers, detail=detail)


def _address(member: str, addresses: Mapping[str, Address]) -> Address:
    """Of a member that nobody recorded only its full name is known."""
    name, _, incarnation = member.partition("#")
    return addresses.get(member) or Address(name, int(incarnation or "0", 36), "")


def _in_files(request: Request) -> Look:
    def look(places: Collection[Place]) -> Mapping[Place, Event]:
        directories = dict.fromkeys(path.parent for path in local_segments(request.uris))
        recordings = [read_recording(directory) for directory in directories]
        wanted = {member for member, _ in places}
        return look_into([recording for recording in recordings if str(recording.member) in wanted], places)

    return look


def _by_spark(spark: SparkSession, request: Request, run: str) -> Look:
    def look(places: Collection[Place]) -> Mapping[Place, Event]:
        events = read(spark, [as_uri(uri) for uri in request.uris])
        members, indexes = sorted({m for m, _ in places}), sorted({i for _, i in places})
        near = events.where((events["run"] == run) & events["member"].isin(members) & events["index"].isin(indexes))
        rows = [row.asDict() for row in near.collect()]
        wanted = set(places)
        return {
            (row["member"], row["index"]): _event(row, {}) for row in rows if (row["member"], row["index"]) in wanted
        }

    return look
