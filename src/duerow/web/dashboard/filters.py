"""The filters of the templates: how numbers, times and payloads are shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from markupsafe import Markup, escape

from duerow.message import Failure
from duerow.queue.schedule import Schedule
from duerow.queue.stats import Stats

NONE: Final = "\N{EN DASH}"
"""The placeholder for nothing."""

PREVIEW: Final = 160
"""How many characters of a payload a list shows."""

_MICROSECOND: Final = timedelta(microseconds=1)


def number(value: float | None) -> str:
    """Return a number with separators; rates have two digits."""
    if value is None:
        return NONE
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.1f}".removesuffix(".0")


def short(value: float | None) -> str:
    """Return a number in short form: 12.3k, 4.6M."""
    if value is None:
        return NONE
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            divided = value / (limit if unit != "k" else 1e3)
            return f"{divided:.3g}{unit}" if divided < 1000 else f"{divided:.0f}{unit}"
    return number(value)


def counted(stats: Stats, name: str) -> str:
    """Return a number of a queue's statistics, with a + if the count stopped early."""
    return f"{getattr(stats, name):,}{'+' if name in stats.capped else ''}"


def span(value: timedelta | float | None) -> str:
    """Return a span of time in a suitable unit: 340 ms, 1.2 s, 5 min."""
    if value is None:
        return NONE
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds == 0:
        return "0"
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{_digits(seconds * 1000)} ms"
    for limit, unit, size in ((100, "s", 1), (6000, "min", 60), (48 * 3600, "h", 3600)):
        if seconds < limit:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds / 86400)} d"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def moment(value: datetime | None, empty: str = NONE) -> Markup | str:
    """Return a time, which the browser shows relative to now."""
    if value is None:
        return empty
    iso = value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Markup('<time class="ago" datetime="{}">{}</time>').format(iso, f"{value:%d %b %H:%M:%S}")


def exact(value: datetime | None, empty: str = NONE) -> Markup | str:
    """Return a time to the millisecond, in UTC."""
    if value is None:
        return empty
    iso = value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Markup('<time class="exact" datetime="{}">{}</time>').format(
        iso, f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}"
    )


def preview(payload: Any) -> str:
    """Return the beginning of a payload on one line."""
    if isinstance(payload, bytes):
        return f"{len(payload):,} bytes"
    if isinstance(payload, str):
        return payload[:PREVIEW]
    text = plain(payload)
    return text if len(text) <= PREVIEW else f"{text[: PREVIEW - 1]}…"


def plain(payload: Any) -> str:
    """Return a payload as JSON on one line."""
    try:
        return msgspec.json.encode(payload, enc_hook=str).decode()
    except (msgspec.MsgspecError, TypeError, ValueError):
        return str(payload)


def pretty(payload: Any) -> str:
    """Return a payload as JSON on many lines."""
    return msgspec.json.format(plain(payload).encode(), indent=2).decode()


def coloured(payload: Any) -> Markup:
    """Return a payload as indented JSON with syntax highlighting; all of it is escaped."""
    return _coloured(payload, 0)


def _coloured(value: Any, depth: int) -> Markup:
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and value:
        parts = [
            Markup('{}<span class="j-name">{}</span>: {}').format(inner, plain(str(name)), _coloured(one, depth + 1))
            for name, one in value.items()
        ]
        return Markup("{{\n{}\n{}}}").format(Markup(",\n").join(parts), outer)
    if isinstance(value, list | tuple) and value:
        parts = [Markup("{}{}").format(inner, _coloured(one, depth + 1)) for one in value]
        return Markup("[\n{}\n{}]").format(Markup(",\n").join(parts), outer)
    kind = "text" if isinstance(value, str) else "word" if value is None or isinstance(value, bool) else "number"
    if isinstance(value, dict | list | tuple):
        return escape(plain(value))
    return Markup('<span class="j-{}">{}</span>').format(kind, plain(value))


def hexdump(payload: bytes, most: int = 1024) -> str:
    """Return bytes as a hex dump, followed by the printable characters."""
    lines = []
    for start in range(0, min(len(payload), most), 16):
        row = payload[start : start + 16]
        hexed = " ".join(f"{byte:02x}" for byte in row)
        lines.append(f"{start:08x}  {hexed:<47}  {''.join(chr(byte) if 32 <= byte < 127 else '.' for byte in row)}")
    if len(payload) > most:
        lines.append(f"… {len(payload) - most:,} more bytes")
    return "\n".join(lines)


def said(failure: Failure) -> str:
    """Return the message of an error, without its type if it begins with that."""
    text = failure.message.removeprefix(failure.type)
    return f": {text}" if text and text == failure.message else text


def spark_page(consumer: str) -> str | None:
    """Return the address of the Spark UI from the consumer name of a run on Spark; None if it has none."""
    found = re.search(r":spark (https?://[A-Za-z0-9.:\[\]-]+)/", consumer)
    return None if found is None else found[1]


def field(payload: Any, path: str) -> Any:
    """Return the value at a path such as `customer.id` of a payload; None if it has none."""
    for name in path.split("."):
        payload = payload.get(name) if isinstance(payload, dict) else None
    return payload


def recurrence(schedule: Schedule) -> str:
    """Return when a schedule ticks, in words."""
    if schedule.cron is not None:
        return schedule.cron
    if schedule.every is not None:
        return f"every {span(schedule.every)}"
    return f"daily at {', '.join(schedule.daily or ())}"


def when_typed(schedule: Schedule) -> str:
    """Return when a schedule ticks, as it is typed into a form."""
    if schedule.cron is not None:
        return schedule.cron
    if schedule.every is not None:
        return f"{schedule.every.total_seconds():g}s"
    return " ".join(schedule.daily or ())


def percent(part: float, whole: float) -> str:
    """Return a share in percent."""
    return f"{100 * part / whole:.0f} %" if whole else NONE


FILTERS: Final = {
    "number": number,
    "short": short,
    "counted": counted,
    "span": span,
    "moment": moment,
    "exact": exact,
    "preview": preview,
    "plain": plain,
    "pretty": pretty,
    "coloured": coloured,
    "hexdump": hexdump,
    "said": said,
    "spark_page": spark_page,
    "field": field,
    "recurrence": recurrence,
    "when_typed": when_typed,
}
