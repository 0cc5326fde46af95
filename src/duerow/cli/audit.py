"""The record of the changes that commands make, and the command that shows all recorded changes."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, moment
from duerow.cli.output import print_filled, print_json, short, tell
from duerow.conditions.model import Condition
from duerow.queue.audit import AT_ONCE, AUDIT, KEEP_AUDIT, AuditEntry, audit_entry, written
from duerow.queue.history import Event
from duerow.sync.database import Database
from duerow.sync.queue import Queue
from duerow.where import as_condition, field

PAGE: Final = 500
"""How many entries an export reads at once."""

CHANGER: Final[ContextVar[str | None]] = ContextVar("duerow_changer", default=None)
"""The name that --by gives for this command's changes."""


def record(database: Database, action: str, queue: str | None = None, **details: Any) -> None:
    """Record what a command is about to change, with the options that were given."""
    said = {name: value for name, value in details.items() if value is not None and value is not False}
    target = opened(database)
    target.push(written(changer(), "cli", socket.gethostname(), action, queue, said))
    target.pop_many(AT_ONCE)


def changer() -> str:
    """Return the name to record for this command's changes: that of --by, else the operating system's user name."""
    if said := CHANGER.get():
        return said
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user id has no name, as in some containers
        return ""


def opened(database: Database) -> Queue[Any]:
    """Return the queue of the entries. Its stored definition, if there is one, says how long they are kept."""
    queue = database.as_defined(AUDIT)
    return queue if queue.keeping and queue.keeping.history else database.queue(AUDIT, history=KEEP_AUDIT)


def audit(
    url: Url,
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="CONDITION", help="A condition, such as \"payload.action = 'remove' and payload.by = 'ana'\"."
        ),
    ] = None,
    queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="Only changes to this queue.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only changes since this time: 2026-03-01T12:00:00Z.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many, latest first.")] = 20,
    export: Annotated[bool, typer.Option("--export", help="Print all of them, one JSON object per line.")] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show who changed what, when and from where: on the command line, in the dashboard or over the HTTP API."""
    condition = chosen(where, queue, moment("--since", since))
    with connected(url, prefix, schema) as database:
        if export:
            for one in exported(opened(database), condition):
                print_json(one)
            return
        found = [audit_entry(one) for one in opened(database).history(condition, limit=limit)]
    if as_json:
        print_json(found)
    elif not found:
        tell("nothing was changed")
    else:
        print_filled(("when (UTC)", "by", "from", "via", "action", "queue", "details"), list(map(_row, found)))


def chosen(where: str | None, queue: str | None, since: datetime | None) -> Condition | None:
    """Return the condition that combines the options; None if there are none."""
    parts: list[Condition] = [] if where is None else [as_condition(where)]
    if queue is not None:
        parts.append(field("payload.queue") == queue)
    if since is not None:
        parts.append(field("created_at") >= since)
    found: Condition | None = None
    for part in parts:
        found = part if found is None else found & part
    return found


def exported(queue: Queue[Any], condition: Condition | None) -> Iterator[AuditEntry]:
    """Yield all entries, latest first, reading one page at a time."""
    last: Event[Any] | None = None
    while found := queue.history(condition, limit=PAGE, after=last):
        yield from map(audit_entry, found)
        last = found[-1]


def _row(entry: AuditEntry) -> tuple[object, ...]:
    details = ", ".join(f"{name}={value}" for name, value in entry.details.items())
    return (
        f"{entry.at:%Y-%m-%d %H:%M:%S}",
        entry.by or None,
        entry.address or None,
        entry.means,
        entry.action,
        entry.queue,
        short(details) or None,
    )
