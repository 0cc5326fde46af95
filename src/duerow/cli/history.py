"""Commands that show finished turns of messages, and push messages again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from duerow.cli.audit import record
from duerow.cli.operations import Name
from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, queue_in, require_message
from duerow.cli.output import legible, payload_text, print_filled, print_json, short, tell
from duerow.queue.history import Event

Where = Annotated[
    str | None,
    typer.Option(metavar="CONDITION", help="All turns that match, such as \"outcome = 'failed' and attempts > 3\"."),
]


def history(
    url: Url,
    name: Name,
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="CONDITION", help="A condition, such as \"outcome = 'dead' and payload.companyId = 3345\"."
        ),
    ] = None,
    id: Annotated[
        int | None, typer.Option("--id", metavar="ID", help="Only the turns of the message with this id.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many.")] = 20,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show the finished turns of a queue, latest first, if it keeps a history."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        events = [legible(event) for event in queue.history(where, id=id, limit=limit)]
        if id is not None and where is None and not events:
            require_message(queue, id, None)
    if as_json:
        print_json(events)
        return
    print_turns(events)


def print_turns(events: Sequence[Event[Any]]) -> None:
    """Print turns as a table, or "no turns" if there are none."""
    if not events:
        tell("no turns")
        return
    rows = [
        (
            event.id,
            event.key,
            event.outcome if event.moved_to is None else f"{event.outcome} to {event.moved_to}",
            event.attempts,
            f"{event.finished_at:%Y-%m-%d %H:%M:%S}",
            event.worker,
            event.error and short(event.error.message),
            short(payload_text(event.payload)),
        )
        for event in events
    ]
    columns = ("id", "key", "outcome", "attempt", "finished (UTC)", "worker", "error", "payload")
    print_filled(columns, rows, numbers=("id", "attempt"))


def replay(
    url: Url,
    name: Name,
    id: Annotated[int | None, typer.Option("--id", metavar="ID", help="The message with this id.")] = None,
    where: Where = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Push at most this many; default: all.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Push nothing; only print how many would be pushed.")
    ] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Push messages from the history again: those that are done, moved, dropped or dead."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        if not dry_run:
            record(database, "replay", name, id=id, where=where, limit=limit)
        done = queue.replay(id, where=where, limit=limit, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    pushed = "would be pushed again" if dry_run else "pushed again"
    skipped = f", {done.skipped} skipped because their key is taken" if done.skipped else ""
    tell(f"{done.count} {pushed}{skipped}")
