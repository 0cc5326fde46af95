"""Log records as lines of JSON, including the ids in duerow's records."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

import msgspec


class JsonFormatter(logging.Formatter):
    """Formats each record as a JSON object on one line: `time`, `level`, `logger`, `message` and further fields.

    Records of duerow's workers have `event`, `queue` and `worker`, and where they apply, `message_id`, `message_ids`,
    `count`, `attempt`, `key`, `cause`, `retry_at`, `schedule` and `trace_id`. Within an OpenTelemetry span, `trace_id`
    and `span_id` are added. It formats the records of any logger, and can be named in `logging.config`: `{"formatters":
    {"json": {"()": "duerow.telemetry.log.JsonFormatter"}}}`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        more = {name: value for name, value in vars(record).items() if name not in _COMMON}
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_ids_of_span(),
            **more,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return harmless_json(msgspec.json.encode(line, enc_hook=str).decode())


def harmless_json(text: str) -> str:
    """Return a line of JSON with its unprintable characters escaped."""
    return text if text.isprintable() else "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _ids_of_span() -> dict[str, str]:
    """Return the ids of the current span; none if nothing is traced."""
    trace = sys.modules.get("opentelemetry.trace")  # nothing is traced in a process that has not imported it
    if trace is None:
        return {}
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": trace.format_trace_id(context.trace_id), "span_id": trace.format_span_id(context.span_id)}


_COMMON: Final = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""The attributes of every record; any others were given as `extra`."""
