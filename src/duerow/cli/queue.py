"""Commands for queues and their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from duerow.cli.options import PREFIX, AsJson, MaybeQueueName, Prefix, QueueName, Schema, Url, connected, queue_in
from duerow.cli.output import legible, payload_text, print_filled, print_json, short, tell
from duerow.message import Message, Status
from duerow.payload.dead_letter_headers import REASON
from duerow.queue.stats import Stats
from duerow.store import Totals

Name = QueueName


def stats(
    url: Url,
    name: MaybeQueueName = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count all messages, not only the first 10,000 of each state.")
    ] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Count the ready, delayed, leased and dead messages of each queue, and show how quickly they are handled."""
    with connected(url, prefix, schema) as database:
        names = database.known_queues() if name is None else [queue_in(database, name).name]
        queues = {queue: database.queue(queue) for queue in names}
        stats = {queue: handle.stats(exact=exact) for queue, handle in queues.items()}
        counts = {queue: handle.count(by="status") for queue, handle in queues.items()} if as_json else {}
    if as_json:
        print_json([{"queue": queue, **counts[queue], **_as_json(counts[queue], stats[queue])} for queue in names])
        return
    if not stats:
        tell("the database has no queues")
        return
    numbers = ("ready", "delayed", "leased", "waiting", "stopped", "dead")
    columns = ("queue", *numbers, "done/min", "failed/min", "waiting p95", "handling p95", "state")
    rows = [
        (queue, *(_number(one, name) for name in numbers), *_shown(one), "paused" if one.paused else None)
        for queue, one in stats.items()
    ]
    print_filled(columns, rows, numbers=columns[1:-1])


def _number(stats: Stats, name: str) -> str | None:
    """Return a number for people; None: it is 0, as in most queues."""
    return stats.shown(name) if getattr(stats, name) or name in ("ready", "delayed", "leased", "dead") else None


def _as_json(count: Mapping[str, int], work: Stats) -> dict[str, Any]:
    """Return all numbers except the counts by status; times are in seconds."""
    times = {"waiting_seconds": work.waiting_time, "handling_seconds": work.handling_time}
    seconds = {
        name: None if time is None else {part: getattr(time, part).total_seconds() for part in time.__struct_fields__}
        for name, time in times.items()
    }
    names = ("ready", "delayed", "leased", "waiting", "stopped", "oldest_due_at", "next_due_at", "paused")
    standing = {name: getattr(work, name) for name in names} | {"capped": sorted(work.capped)}
    return {"all": sum(count.values()), **standing, "rates": work.rates, "lifetime": work.lifetime, **seconds}


def _shown(work: Stats) -> Sequence[str | None]:
    """Return the rates of the last five minutes and the 95th percentiles of the times; None: nothing counted."""
    if work.lifetime == Totals():
        return (None,) * 4
    rates = work.rates[5]
    times = [None if time is None else time.p95.total_seconds() for time in (work.waiting_time, work.handling_time)]
    return f"{rates.done:.1f}", f"{rates.failed:.1f}", *map(_span, times)


def _span(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def list_messages(
    url: Url,
    name: Name,
    status: Annotated[Status | None, typer.Option(help="Only messages with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many.")] = 20,
    after: Annotated[int | None, typer.Option(metavar="ID", help="Start after this message.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """List messages by id, one page at a time."""
    with connected(url, prefix, schema) as database:
        found = queue_in(database, name).find(status=status, limit=limit, after=after)
    print_messages(found, as_json)
    if len(found) == limit and not as_json:
        tell(f"there may be more; continue with --after {found[-1].id}")


def print_messages(found: Sequence[Message], as_json: bool) -> None:
    """Print messages as JSON, or as a table without empty columns."""
    messages = [legible(message) for message in found]
    if as_json:
        print_json(messages)
        return
    if not messages:
        tell("no messages")
        return
    columns = ("id", "status", "key", "due (UTC)", "attempts", "leased by", "payload", "last error")
    print_filled(columns, [_row(message) for message in messages], numbers=("id", "attempts"))


def _row(message: Message) -> Sequence[Any]:
    """Return the cells of a message; None: an empty cell."""
    due = message.due_at and f"{message.due_at:%Y-%m-%d %H:%M:%S}"
    known = (message.id, message.status, message.key, due, message.attempts, message.leased_by)
    why = error_of(message)
    return (*known, short(payload_text(message.payload)), why and short(why))


def error_of(message: Message) -> str | None:
    """Return why a message failed, once or for good; a dead letter has the reason in its headers."""
    if message.last_error is not None:
        return message.last_error.message
    reason = message.headers.get(REASON)
    return None if reason is None else str(reason)
