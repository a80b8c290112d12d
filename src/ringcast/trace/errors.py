"""What can be wrong with a recording. A cut recording is not an error: it is read up to the cut."""

from ringcast.errors import RingcastError


class TraceError(RingcastError):
    """A recording cannot be opened, or what was asked for is not one."""
