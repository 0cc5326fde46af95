"""Commands that search a queue by a condition, and change what is found."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from msgspec import UNSET

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
    typer.Option(metavar="CONDITION", help='All messages of which it holds: "payload.companyId = 3345".'),
]
Id = Annotated[int | None, typer.Option("--id", metavar="ID", help="The message with this id.")]
Key = Annotated[str | None, typer.Option(metavar="KEY", help="The live message that holds this key.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing, only say how many would be.")]
EvenIfLeased = Annotated[
    bool, typer.Option("--even-if-leased", help="Also messages that a consumer works on; it will be refused.")
]


def find(
    url: Url,
    name: Name,
    where: Annotated[
        str | None,
        typer.Argument(metavar="CONDITION", help='Such as "payload.companyId = 3345 and attempts > 3".'),
    ] = None,
    order: Annotated[str, typer.Option(metavar="FIELD", help="A message field; with a - the largest first.")] = "id",
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20,
    after: Annotated[
        int | None, typer.Option(metavar="ID", help="Begin after this message, in the order asked for.")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Only count them.")] = False,
    by: Annotated[str | None, typer.Option(metavar="FIELD", help="Count them by the values of this field.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Count all, not only the first 10,000.")] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Find the messages of which a condition holds, or count them."""
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
                tell(f"there may be more: --after {found[-1].id}")


def _last(queue: Queue[Any], order: str, after: int | None) -> int | Message | None:
    """Return behind what to begin: in another order than that of ids it takes a message to tell its place."""
    if after is None or order.removeprefix("-") == "id":
        return after
    message = queue.get(after)
    if message is None:
        raise Missing(
            f"queue {queue.name!r} has no message {after} any more, so its place in the order of {order} is not known"
        )
    return message


def edit(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    payload: Annotated[str | None, typer.Option(metavar="JSON", help="The new payload.")] = None,
    patch: Annotated[str | None, typer.Option(metavar="JSON", help="A merge patch of the payload.")] = None,
    headers: Annotated[
        str | None, typer.Option(metavar="JSON", help="An object of headers to set; null removes one.")
    ] = None,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Give messages another payload or other headers."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        changed = queue.edit(
            id,
            key=key,
            where=where,
            payload=_json("--payload", payload),
            patch=_json("--patch", patch),
            headers=None if headers is None else _json("--headers", headers),
            dry_run=dry_run,
            even_if_leased=even_if_leased,
        )
        _require_found(queue, changed, id, key)
    _print_changed("edited", changed, dry_run, as_json)


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
    """Take messages out of the queue."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        changed = queue.remove(id, key=key, where=where, dry_run=dry_run, even_if_leased=even_if_leased)
        _require_found(queue, changed, id, key)
    _print_changed("removed", changed, dry_run, as_json)


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
    """Let messages begin anew: due now, with no attempts; for dead, failed and stopped ones."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        changed = queue.requeue(id, key=key, where=where, dry_run=dry_run, even_if_leased=even_if_leased)
        _require_found(queue, changed, id, key)
    _print_changed("requeued", changed, dry_run, as_json)


def reschedule(
    url: Url,
    name: Name,
    id: Id = None,
    key: Key = None,
    where: Where = None,
    due: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When they are due, with a time zone: 2026-03-01T12:00:00Z."),
    ] = None,
    delay: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="How long from now; 0 is now.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Never, until they are rescheduled or requeued.")] = False,
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Give messages another due time, or stop them; a dead one runs once more."""
    if sum((due is not None, delay is not None, stop)) != 1:
        raise ConfigurationError("say when: --due TIME, --delay SECONDS or --stop, one of them")
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        changed = queue.reschedule(
            id,
            key=key,
            where=where,
            due=UNSET if delay is not None else moment("--due", due),  # type: ignore[arg-type]
            delay=None if delay is None else span("--delay", delay),
            dry_run=dry_run,
            even_if_leased=even_if_leased,
        )
        _require_found(queue, changed, id, key)
    _print_changed("stopped" if stop else "rescheduled", changed, dry_run, as_json)


def reprioritise(
    url: Url,
    name: Name,
    priority: Annotated[
        int, typer.Argument(metavar="PRIORITY", help="Lower goes first; a negative one is written behind --.")
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
    """Give messages another priority."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        changed = queue.reprioritise(
            id, key=key, where=where, priority=priority, dry_run=dry_run, even_if_leased=even_if_leased
        )
        _require_found(queue, changed, id, key)
    _print_changed("reprioritised", changed, dry_run, as_json)


def _json(option: str, text: str | None) -> Any:
    return UNSET if text is None else json_of(option, text)


def _require_found(queue: Queue[Any], changed: Changed, id: int | None, key: str | None) -> None:
    """Raise if a message was named and nothing became of it: there is none, or it is in no state for that."""
    if changed.count or changed.skipped or (id is None and key is None):
        return
    found = require_message(queue, id, key)
    raise ConfigurationError(f"message {found.id} is {found.status}, so nothing was changed")


def _print_changed(done: str, changed: Changed, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({"count": changed.count, "skipped": changed.skipped, "dry_run": dry_run})
        return
    skipped = f", {changed.skipped} skipped: at work, or their key is taken" if changed.skipped else ""
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
        tell("of the first 10,000 messages; --exact counts all")
