"""The log: quiet unless asked for, one `key=value` line per record on standard error.

The library itself only calls `logging.getLogger("ringcast...")`; who embeds it decides what happens to that.
"""

from __future__ import annotations

import logging
import os

from ringcast.errors import ConfigError

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class KeyValueFormatter(logging.Formatter):
    """time=... level=... logger=... message="..." """

    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}"
        message = record.getMessage().replace('"', "'")
        line = f'time={when} level={record.levelname.lower()} logger={record.name} message="{message}"'
        return line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}"


def set_up_logging(verbose: int) -> None:
    """Warnings only, unless `-v` (info), `-vv` (debug) or RINGCAST_LOG ask for more."""
    wanted = os.environ.get("RINGCAST_LOG", "warning").lower()
    if wanted not in _LEVELS:
        raise ConfigError(f"RINGCAST_LOG must be one of {', '.join(_LEVELS)}, got {wanted!r}")
    level = min(_LEVELS[wanted], (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    handler = logging.StreamHandler()
    handler.setFormatter(KeyValueFormatter())
    root = logging.getLogger("ringcast")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
