"""G8, no hearsay. Joined half only: each DIGEST event of a merge names whose entry it is and who said it; they must
be equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringcast.model import Kind
from ringcast.pipeline.rules.joined import Tables, examined, found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GUARANTEE = "G8"


def joined(tables: Tables) -> list[DataFrame]:
    from pyspark.sql import functions as F

    is_about_member = F.coalesce(F.col("about"), F.lit("member")) != "going-away"
    entries = tables.control(Kind.DIGEST).where(F.col("merge_id").isNotNull() & is_about_member)
    told = F.format_string("in %s the entry of a member came from somebody else", "merge_id")
    known = entries.where("origin is not null")
    return [
        examined(GUARANTEE, known),
        found(GUARANTEE, known.where("origin <> peer"), told),
        tables.lacking(GUARANTEE, entries.where("origin is null"), F.lit("who said a digest entry")),
    ]
