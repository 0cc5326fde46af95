"""The record of what commands change, and the command that shows what everybody has changed."""

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
"""How many entries are read at once to be exported."""

CHANGER: Final[ContextVar[str | None]] = ContextVar("duerow_changer", default=None)
"""In whose name this command changes something, as --by says."""


def record(database: Database, action: str, queue: str | None = None, **details: Any) -> None:
    """Write down what a command is going to change; what was not said is left out."""
    said = {name: value for name, value in details.items() if value is not None and value is not False}
    target = opened(database)
    target.push(written(changer(), "cli", socket.gethostname(), action, queue, said))
    target.pop_many(AT_ONCE)


def changer() -> str:
    """Return in whose name this command changes something: as --by says, else the user of the operating system."""
    if said := CHANGER.get():
        return said
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no user has this number, as in some containers
        return ""


def opened(database: Database) -> Queue[Any]:
    """Return the queue of the entries; kept for as long as its stored definition says, if there is one."""
    queue = database.as_defined(AUDIT)
    return queue if queue.keeping and queue.keeping.history else database.queue(AUDIT, history=KEEP_AUDIT)


def audit(
    url: Url,
    where: Annotated[
        str | None,
        typer.Argument(metavar="CONDITION", help="Such as \"payload.action = 'remove' and payload.by = 'ana'\"."),
    ] = None,
    queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="Only changes to this queue.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only changes since then: 2026-03-01T12:00:00Z.")
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
        print_filled(("when (UTC)", "by", "from", "by means of", "action", "queue", "details"), list(map(_row, found)))


def chosen(where: str | None, queue: str | None, since: datetime | None) -> Condition | None:
    """Return the condition on entries that options say together."""
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
    """Yield all entries, the latest first, a page at a time."""
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
