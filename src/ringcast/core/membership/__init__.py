"""Who is in the group: the view handler (seed 004) and the roll call that changes a view."""

from ringcast.core.membership.handler import Suspension, ViewHandler
from ringcast.core.membership.handler_table import Phase
from ringcast.core.membership.membership import Membership
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.membership.suspension import ResumeCause

__all__ = ["Membership", "Phase", "Request", "RequestKind", "ResumeCause", "Suspension", "ViewHandler"]
