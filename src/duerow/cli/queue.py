"""Commands about queues and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, legible, print_json, print_table
from duerow.message import Message, Status

SHORT: Final = 80
"""Characters of a payload or an error that a table shows."""

Name = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]


def stats(
    url: Url,
    name: Annotated[str | None, typer.Argument(metavar="QUEUE", help="Only this queue.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Count the messages of each queue: new, failed and waiting to be tried again, dead."""
    with connected(url, prefix, schema) as database:
        names = database.queues() if name is None else [name]
        counts = {queue: database.queue(queue).count(by="status") for queue in names}
    if as_json:
        print_json([{"queue": queue, **count, "all": sum(count.values())} for queue, count in counts.items()])
        return
    if not counts:
        typer.echo("no queue has messages")
        return
    rows = [(queue, count["new"], count["error"], count["dead"]) for queue, count in counts.items()]
    print_table(("queue", "new", "error", "dead"), rows, numbers=("new", "error", "dead"))


def list_messages(
    url: Url,
    name: Name,
    status: Annotated[Status | None, typer.Option(help="Only messages of this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
    after: Annotated[int | None, typer.Option(metavar="ID", help="Begin after this message.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """List messages in the order of their ids, a page at a time."""
    with connected(url, prefix, schema) as database:
        found = database.queue(name).find(status=status, limit=limit, after=after)
    messages = [legible(message) for message in found]
    print_messages(messages, as_json)
    if len(messages) == limit and not as_json:
        typer.echo(f"there may be more: --after {messages[-1].id}")


def print_messages(messages: Sequence[Message], as_json: bool) -> None:
    """Print messages as JSON, or as a table without the columns that none of them fills."""
    if as_json:
        print_json(messages)
        return
    if not messages:
        typer.echo("no messages")
        return
    columns = ("id", "status", "key", "due (UTC)", "attempts", "leased by", "payload", "last error")
    rows = [_row(message) for message in messages]
    kept = [place for place in range(len(columns)) if any(row[place] is not None for row in rows)]
    shown = [[row[place] for place in kept] for row in rows]
    print_table([columns[place] for place in kept], shown, numbers=("id", "attempts"))


def _row(message: Message) -> Sequence[Any]:
    """Return what a table shows of a message, None for what it has not."""
    due = message.due_at and f"{message.due_at:%Y-%m-%d %H:%M:%S}"
    payload = msgspec.json.encode(message.payload).decode()
    error = message.last_error and _short(message.last_error.message)
    known = (message.id, message.status, message.key, due, message.attempts, message.leased_by)
    return (*known, _short(payload), error)


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
