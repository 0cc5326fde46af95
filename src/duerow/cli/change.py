"""Commands that find messages by a condition and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import typer
from msgspec import UNSET

from duerow.cli.audit import record
from duerow.cli.failures import Missing
from duerow.cli.options import (
    PREFIX,
    AsJson,
    Prefix,
    Schema,
    Url,
    connected,
    json_of,
    moment,
    queue_in,
    require_message,
    span,
)
from duerow.cli.output import print_json, print_table, tell
from duerow.cli.queue import Name, print_messages
from duerow.errors import ConfigurationError
from duerow.message import Message
from duerow.queue.counts import Count
from duerow.queue.edits import Changed
from duerow.sync.queue import Queue

Where = Annotated[
    str | None,
    typer.Option(metavar="CONDITION", help='All messages that match, such as "payload.companyId = 3345".'),
]
Id = Annotated[int | None, typer.Option("--id", metavar="ID", help="The message with this id.")]
Key = Annotated[str | None, typer.Option(metavar="KEY", help="The live message with this key.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; only print how many would change.")]
EvenIfLeased = Annotated[
    bool,
    typer.Option("--even-if-leased", help="Also change leased messages; their consumers can no longer settle them."),
]


class Chosen(NamedTuple):
    """The options shared by all commands that change messages: where they are, which ones, and how to report."""

    url: str
    prefix: str
    schema: str | None
    queue: str
    id: int | None
    key: str | None
    where: str | None
    dry_run: bool
    as_json: bool

    def change(
        self,
        done: str,
        method: Callable[..., Changed],
        options: Mapping[str, Any],
        recorded: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a change, make it, and print how many messages were changed.

        Args:
            done: the word to print, such as "removed".
            method: the method of `Queue`; the audit records its name.
            options: its arguments, except those that select the messages.
            recorded: what the audit records in place of these arguments; None: the arguments.

        Raises:
            Missing: the one message that was asked for does not exist.
            ConfigurationError: its status does not allow the change.
        """
        which = {"id": self.id, "key": self.key, "where": self.where}
        with connected(self.url, self.prefix, self.schema) as database:
            queue = queue_in(database, self.queue)
            if not self.dry_run:
                details = options if recorded is None else recorded
                record(database, method.__name__, self.queue, **which, **details)
            changed = method(queue, **which, **options, dry_run=self.dry_run)
            _require_found(queue, changed, self.id, self.key)
        _print_changed(done, changed, self.dry_run, self.as_json)


def find(
    url: Url,
    name: Name,
    where: Annotated[
        str | None,
        typer.Argument(metavar="CONDITION", help='A condition, such as "payload.companyId = 3345 and attempts > 3".'),
    ] = None,
    order: Annotated[
        str, typer.Option(metavar="FIELD", help="Sort by this message field; -FIELD sorts in descending order.")
    ] = "id",
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many.")] = 20,
    after: Annotated[
        int | None, typer.Option(metavar="ID", help="Start after this message, in the chosen order.")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Print only how many there are.")] = False,
    by: Annotated[str | None, typer.Option(metavar="FIELD", help="Count them by the values of this field.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Count all of them, not only the first 10,000.")] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Find the messages that match a condition, or count them."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        if by is not None:
            counts = queue.count(where, by=by, exact=exact or None)
            _print_counts(by, list(counts.items()), counts.capped, as_json)
        elif count:
            number = queue.count(where, exact=exact or None)
            _print_count(number, as_json)
        else:
            found = queue.find(where, order=order, limit=limit, after=_last(queue, order, after))
            print_messages(found, as_json)
            if len(found) == limit and not as_json:
                tell(f"there may be more; continue with --after {found[-1].id}")


def _last(queue: Queue[Any], order: str, after: int | None) -> int | Message | None:
    """Return where to start: an id if the messages are sorted by id, otherwise the message, whose fields are needed."""
    if after is None or order.removeprefix("-") == "id":
        return after
    message = queue.get(after)
    if message is None:
        raise Missing(
            f"queue {queue.name!r} no longer has message {after}, so its place in the order of {order} is unknown"
        )
    return message


def edit(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    payload: Annotated[str | None, typer.Option(metavar="JSON", help="The new payload.")] = None,
    patch: Annotated[str | None, typer.Option(metavar="JSON", help="A JSON merge patch for the payload.")] = None,
    headers: Annotated[
        str | None, typer.Option(metavar="JSON", help="A JSON object of headers to set; null removes one.")
    ] = None,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Change the payload or headers of messages."""
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    options = {
        "payload": _json("--payload", payload),
        "patch": _json("--patch", patch),
        "headers": None if headers is None else _json("--headers", headers),
        "even_if_leased": even_if_leased,
    }
    given = {"payload": payload, "patch": patch, "headers": headers}
    # Without the new values: a payload may contain secrets.
    recorded = {"fields": [field for field, text in given.items() if text is not None]}
    chosen.change("edited", Queue.edit, options, {**recorded, "even_if_leased": even_if_leased})


def remove(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Remove messages from the queue."""
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    chosen.change("removed", Queue.remove, {"even_if_leased": even_if_leased})


def cancel(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    dry_run: DryRun = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Cancel live messages, including those being handled.

    Their handlers are notified at once if the database can do that, otherwise within a second.
    """
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    chosen.change("cancelled", Queue.cancel, {})


def requeue(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Start dead, failed or stopped messages over: due now, with no attempts."""
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    chosen.change("requeued", Queue.requeue, {"even_if_leased": even_if_leased})


def reschedule(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    due: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The due time, with a time zone: 2026-03-01T12:00:00Z."),
    ] = None,
    delay: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Due this long from now; 0 is now.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop them until they are rescheduled or requeued.")] = False,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Change the due time of messages, or stop them; a dead message gets one more attempt."""
    if sum((due is not None, delay is not None, stop)) != 1:
        raise ConfigurationError("give exactly one of --due TIME, --delay SECONDS and --stop")
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    options = {
        "due": UNSET if delay is not None else moment("--due", due),
        "delay": None if delay is None else span("--delay", delay),
        "even_if_leased": even_if_leased,
    }
    recorded = {"due": due, "delay": delay, "stop": stop, "even_if_leased": even_if_leased}
    chosen.change("stopped" if stop else "rescheduled", Queue.reschedule, options, recorded)


def reprioritise(
    url: Url,
    name: Name,
    priority: Annotated[
        int, typer.Argument(metavar="PRIORITY", help="Lower numbers go first; write a negative one after --.")
    ],
    id: Id = None,
    key: Key = None,
    where: Where = None,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Change the priority of messages."""
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    chosen.change("reprioritised", Queue.reprioritise, {"priority": priority, "even_if_leased": even_if_leased})


def _json(option: str, text: str | None) -> Any:
    return UNSET if text is None else json_of(option, text)


def _require_found(queue: Queue[Any], changed: Changed, id: int | None, key: str | None) -> None:
    """Raise if one message was asked for and not changed: it is missing, or its status does not allow the change."""
    if changed.count or changed.skipped or (id is None and key is None):
        return
    found = require_message(queue, id, key)
    raise ConfigurationError(f"message {found.id} is {found.status}, so nothing was changed")


def _print_changed(done: str, changed: Changed, dry_run: bool, as_json: bool) -> None:
    """Print how many messages were changed, or would be, and how many were skipped."""
    if as_json:
        print_json({"count": changed.count, "skipped": changed.skipped, "dry_run": dry_run})
        return
    skipped = f", {changed.skipped} skipped (leased, or their key is taken)" if changed.skipped else ""
    tell(f"{changed.count} {'would be ' if dry_run else ''}{done}{skipped}")


def _print_count(number: Count, as_json: bool) -> None:
    if as_json:
        print_json({"count": int(number), "capped": number.capped})
    else:
        tell(str(number))


def _print_counts(by: str, counts: list[tuple[Any, int]], capped: bool, as_json: bool) -> None:
    if as_json:
        values = [{"value": value, "count": number} for value, number in counts]
        print_json({"counts": values, "capped": capped})
        return
    print_table((by, "messages"), [("null" if value is None else value, n) for value, n in counts], ("messages",))
    if capped:
        tell("counted the first 10,000 messages; --exact counts all of them")
