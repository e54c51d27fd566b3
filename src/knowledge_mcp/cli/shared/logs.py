"""Logging of the commands: standard library only, stderr only, text or JSON, one line per event.

The formatters are our own because structlog would add 30 to 40 ms to each start of the server, a quarter of its limit.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Literal, cast

from knowledge_mcp.support.events import EVENT_FIELDS, in_one_line

_OWN_LOGGERS = ("knowledge_mcp", "__main__")  # the second is a command of ours that runs as `python -m`
"""Loggers that get the configured level. Libraries log from WARNING: parsers log every token with its text at DEBUG."""
_TEXT_LIMIT = 4000
"""Maximum characters of one text in a log line: a full screen, so that a long text cannot flood the log."""
_LEVELS = {"WARNING": "warn", "CRITICAL": "error"}


class _Stderr(logging.StreamHandler[Any]):
    """Write to the current `sys.stderr`, so that a progress bar can replace it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        """Ignore: the stream is always the current one."""


def _when(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", getattr(record, EVENT_FIELDS, {}))


def _exception(record: logging.LogRecord) -> str:
    if record.exc_info is None or record.exc_info[0] is None:
        return ""
    return "".join(traceback.format_exception(*record.exc_info)).rstrip()


class TextFormatter(logging.Formatter):
    """Write `time LEVEL event name=value …`, control characters escaped so that one event stays one line."""

    def format(self, record: logging.LogRecord) -> str:
        parts = [_when(record), f"{record.levelname:<7}", _one_line(record.getMessage())]
        parts.extend(f"{name}={_plain(value)}" for name, value in _fields(record).items())
        line = " ".join(parts)
        trace = _exception(record)
        return f"{line}\n{trace}" if trace else line


class JsonFormatter(logging.Formatter):
    """Write one JSON object per line, in the form given in the specification of the repositories.

    `timestamp`, `level` (error, warn, info, debug), `message` (the event's name), `context` with `component` (the part
    of the program), `operation` (the tool or command, if there is one) and `requestId`; the event's fields in
    `data`; an exception's `name`, `message` and `stack` in `error`.
    """

    def format(self, record: logging.LogRecord) -> str:
        data = dict(_fields(record))
        context: dict[str, Any] = {"component": record.name.removeprefix("knowledge_mcp.")}
        if (operation := data.get("tool")) is not None:
            context["operation"] = operation
        if (request := data.pop("request_id", None)) is not None:
            context["requestId"] = request
        line: dict[str, Any] = {
            "timestamp": _when(record),
            "level": _LEVELS.get(record.levelname, record.levelname.lower()),
            "message": record.getMessage(),
            "context": context,
        }
        if data:
            line["data"] = data
        if record.exc_info is not None and record.exc_info[1] is not None:
            exc = record.exc_info[1]
            line["error"] = {"name": type(exc).__name__, "message": str(exc), "stack": _exception(record)}
        return _escaped(json.dumps(line, ensure_ascii=False, default=str))


def _one_line(text: str) -> str:
    return in_one_line(text, _TEXT_LIMIT)


def _escaped(line: str) -> str:
    """Escape what JSON leaves unchanged: non-ASCII control characters, line separators, direction marks."""
    return line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _plain(value: object) -> str:
    if isinstance(value, str):
        text = _one_line(value)
        return text if text and " " not in text and "=" not in text and '"' not in text else json.dumps(text)
    return _one_line(json.dumps(value, ensure_ascii=False, default=str))


def set_up_logging(level: str, form: Literal["text", "json"] = "text") -> None:
    """Send the process's log to stderr; call once, before anything else can set up logging.

    A handler on the root logger also keeps libraries from installing one of their own (`logging.basicConfig`).

    Args:
        level: `DEBUG`, `INFO`, `WARNING` or `ERROR`.
        form: `text` or `json`.
    """
    handler = _Stderr()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.getLevelNamesMapping()[level], logging.WARNING))
    for name in _OWN_LOGGERS:
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False
