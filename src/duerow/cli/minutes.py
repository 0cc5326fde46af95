"""The command that shows the work of the last hour, minute by minute."""

from __future__ import annotations

from duerow.cli.options import PREFIX, AsJson, Prefix, QueueName, Schema, Url, connected, queue_in
from duerow.cli.output import print_filled, print_json, tell
from duerow.queue.stats import Minute


def minutes(url: Url, name: QueueName, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Show the work done on a queue in each minute of the last hour."""
    with connected(url, prefix, schema) as database:
        found = queue_in(database, name).minutes()
    if as_json:
        print_json([_plain(one) for one in found])
        return
    if not found:
        tell("nothing was done in the last hour")
        return
    names = ("done", "failed", "dead", "moved")
    rows = [
        (f"{one.start:%Y-%m-%d %H:%M}", *(getattr(one.ended, part) for part in names), *_times(one)) for one in found
    ]
    columns = ("minute (UTC)", *names, "waiting p95 (s)", "handling p95 (s)")
    print_filled(columns, rows, numbers=columns[1:])


def _times(one: Minute) -> tuple[str | None, str | None]:
    waiting, handling = one.waiting_time, one.handling_time
    return (
        None if waiting is None else f"{waiting.p95.total_seconds():.3f}",
        None if handling is None else f"{handling.p95.total_seconds():.3f}",
    )


def _plain(one: Minute) -> dict[str, object]:
    seconds = {
        name: None
        if times is None
        else {part: getattr(times, part).total_seconds() for part in times.__struct_fields__}
        for name, times in (("waiting_seconds", one.waiting_time), ("handling_seconds", one.handling_time))
    }
    return {"start": one.start, "ended": one.ended, **seconds}
