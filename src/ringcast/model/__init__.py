"""Values that every room shares: addresses, views, digests, messages, events, the config. Pure; knows no protocol."""

from ringcast.model.address import MAX_ENDPOINT, MAX_INCARNATION, MAX_NAME, Address, check_name
from ringcast.model.config import MIB, MS, SECOND, Config, Profile, profile
from ringcast.model.digest import Digest, Entry, consolidate, is_reset
from ringcast.model.event import (
    INCOMPLETE,
    SCHEMA_VERSION,
    STREAMS_PER_EPOCH,
    TRAFFIC,
    Event,
    Kind,
    content_of,
    view_events,
)
from ringcast.model.majority import Electorate, Mark, combined, first_mark
from ringcast.model.message import (
    Batch,
    Delivery,
    GroupEvent,
    Message,
    Notice,
    Rejoin,
    StatesApart,
    Undelivered,
    ViewChange,
)
from ringcast.model.order import TOTAL, Order
from ringcast.model.terms import Terms
from ringcast.model.view import View, ViewId
from ringcast.model.view_id import ViewNumbers

__all__ = [
    "INCOMPLETE",
    "MAX_ENDPOINT",
    "MAX_INCARNATION",
    "MAX_NAME",
    "MIB",
    "MS",
    "SCHEMA_VERSION",
    "SECOND",
    "STREAMS_PER_EPOCH",
    "TOTAL",
    "TRAFFIC",
    "Address",
    "Batch",
    "Config",
    "Delivery",
    "Digest",
    "Electorate",
    "Entry",
    "Event",
    "GroupEvent",
    "Kind",
    "Mark",
    "Message",
    "Notice",
    "Order",
    "Profile",
    "Rejoin",
    "StatesApart",
    "Terms",
    "Undelivered",
    "View",
    "ViewChange",
    "ViewId",
    "ViewNumbers",
    "check_name",
    "combined",
    "consolidate",
    "content_of",
    "first_mark",
    "is_reset",
    "profile",
    "view_events",
]
