"""The log: quiet unless asked for, one line per record on standard error, as `key=value` or as JSON.

The library itself only calls `logging.getLogger("ringcast...")`; who embeds it decides what happens to that. Fields of
a record (`ringcast_event` and others, see runtime/event_log.py) stand behind its message.
"""

from __future__ import annotations

import json
import logging
import os
from typing import TypeVar

from ringcast.cli.output import on_one_line, printable
from ringcast.errors import ConfigError

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_PREFIX = "ringcast_"
T = TypeVar("T")


class KeyValueFormatter(logging.Formatter):
    """time=... level=... logger=... message="..." and the record's fields.

    A record is one line whatever its values hold: what others sent cannot look like a line or a field of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        message = on_one_line(record.getMessage().replace('"', "'"))
        line = f'time={_when(self, record)} level={record.levelname.lower()} logger={record.name} message="{message}"'
        line += "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        return line if record.exc_info is None else f"{line}\n{printable(self.formatException(record.exc_info))}"


def _quoted(value: str) -> str:
    plain = on_one_line(value)
    return '"' + plain.replace('"', "'") + '"' if not plain or set(plain) & set(' "=') else plain


class JsonFormatter(logging.Formatter):
    """The same as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _when(self, record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info is not None:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


_FORMATS: dict[str, type[logging.Formatter]] = {"text": KeyValueFormatter, "json": JsonFormatter}


def set_up_logging(verbose: int) -> None:
    """Warnings only, unless `-v` (info), `-vv` (debug) or RINGCAST_LOG ask for more; RINGCAST_LOG_FORMAT=json."""
    wanted = _chosen("RINGCAST_LOG", _LEVELS, "warning")
    level = min(wanted, (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    handler = logging.StreamHandler()
    handler.setFormatter(_chosen("RINGCAST_LOG_FORMAT", _FORMATS, "text")())
    root = logging.getLogger("ringcast")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False


def _chosen(variable: str, values: dict[str, T], default: str) -> T:
    wanted = os.environ.get(variable, default).lower()
    if wanted not in values:
        raise ConfigError(f"{variable} must be one of {', '.join(values)}, got {wanted!r}")
    return values[wanted]


def _when(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}"


def _fields(record: logging.LogRecord) -> dict[str, str]:
    return {name.removeprefix(_PREFIX): str(v) for name, v in vars(record).items() if name.startswith(_PREFIX)}
