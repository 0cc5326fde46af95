"""Commands that explain why a message is not running, pause and drain queues, and bring dead letters back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from duerow.cli.audit import record
from duerow.cli.failures import FAILED, line_of
from duerow.cli.options import (
    PREFIX,
    AsJson,
    Create,
    MaybeQueueName,
    MessageId,
    MessageKey,
    Prefix,
    QueueName,
    Schema,
    Url,
    connected,
    queue_in,
    require_message,
    span,
)
from duerow.cli.output import print_json, print_table, tell
from duerow.message import OnDuplicate
from duerow.queue.definition import Defined
from duerow.sync.database import Database
from duerow.sync.queue import Queue

Name = QueueName


def why(
    url: Url,
    name: Name,
    id: MessageId = None,
    key: MessageKey = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Explain why a message is not running: print every reason that applies."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        if (id is None) != (key is None):
            require_message(queue, id, key)
        reasons = queue.why(id, key=key)
    if as_json:
        print_json(reasons)
        return
    for reason in reasons:
        tell(f"{reason.code}: {reason.text}")


def pause(
    url: Url,
    name: Name,
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Stop handing out messages of a queue until it is resumed. Leased messages can still be settled."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name, create)
        record(database, "pause", name)
        queue.pause()
    if as_json:
        print_json({"queue": name, "paused": True})
        return
    tell(f"{name} is paused")


def resume(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Let a paused or draining queue hand out and accept messages again."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        record(database, "resume", name)
        queue.resume()
    if as_json:
        print_json({"queue": name, "paused": False, "draining": False})
        return
    tell(f"{name} is resumed")


def drain(
    url: Url,
    name: Name,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Wait at most this long; default: no limit.")
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until the queue is empty.")] = False,
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Refuse new messages, and wait until the queue is empty. `duerow resume` accepts messages again."""
    with connected(url, prefix, schema) as database:
        most = None if timeout is None else span("--timeout", timeout)
        queue = queue_in(database, name, create)
        record(database, "drain", name)
        queue.drain(most, wait=not no_wait)
    if as_json:
        print_json({"queue": name, "draining": True, "empty": None if no_wait else True})
        return
    tell(f"{name} accepts no new messages" if no_wait else f"{name} accepts no new messages and is empty")


def queues(
    url: Url,
    name: MaybeQueueName = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show the settings of the queues: what was declared, and whether they are paused or draining."""
    with connected(url, prefix, schema) as database:
        if name is not None:
            queue_in(database, name)
        found = [one for one in database.definitions() if name in (None, one.name)]
    if as_json:
        print_json(found)
        return
    if not found:
        which = "no queue is" if name is None else f"{name} is not"
        tell(f"{which} declared, paused or draining")
        return
    print_table(("queue", "lease", "retry", "dead letter", "indexed", "state"), map(_shown, found))


def _shown(one: Defined) -> tuple[object, ...]:
    states = [word for word, holds in (("paused", one.paused), ("draining", one.draining)) if holds]
    said = one.definition
    if said is None:
        return one.name, "not declared", None, None, None, ", ".join(states)
    indexed = ", ".join(f"{field} ({kind})" for field, kind in said.indexed.items())
    return one.name, said.lease, said.retry, said.dead_letter, indexed, ", ".join(states)


def redrive(
    url: Url,
    name: Name,
    limit: Annotated[int | None, typer.Option(min=1, help="Bring back at most this many; default: all.")] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="Only dead letters that match this condition in the queue where they are."
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="At most this many per second; default: no limit.")
    ] = None,
    on_duplicate: Annotated[
        OnDuplicate,
        typer.Option(
            help="What to do if a live message now has the same key; reject leaves the dead letter where it is."
        ),
    ] = "reject",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; only print how many would go back.")
    ] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Bring dead letters back to their queue; those in a dead-letter queue go back to the queue they came from."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        if not dry_run:
            record(database, "redrive", name, where=where, limit=limit, rate=rate, on_duplicate=on_duplicate)
        done = queue.redrive(limit, where=where, rate=rate, on_duplicate=on_duplicate, dry_run=dry_run)
        reason = "" if done.count or done.skipped else _none_found(database, queue, where)
    if as_json:
        print_json(done)
        return
    went = "could go back" if dry_run else "went back"
    stayed = f", {done.skipped} stayed because their key is taken" if done.skipped else ""
    tell(f"{done.count} {went}{stayed}{reason}")


def _none_found(database: Database, queue: Queue[Any], where: str | None) -> str:
    """Return why a redrive found nothing: a dead-letter queue that only the program knows is not searched."""
    if where is not None:
        return ": no dead letter matches the condition"
    if queue.dead_letter is not None:
        return f": {queue.name} has no dead letters, neither in {queue.dead_letter} nor in {queue.name} itself"
    if any(one.definition is not None for one in database.definitions() if one.name == queue.name):
        return f": {queue.name} has no dead letters, and is declared without a dead-letter queue"
    return (
        f": {queue.name} itself has no dead letters. This database has no definition of {queue.name}; if the program "
        f"sends dead letters to another queue, redrive that queue, or let the program declare {queue.name}"
    )


def purge(
    url: Url,
    name: Name,
    confirm: Annotated[str, typer.Option(metavar="QUEUE", help="The queue's name again, to confirm.")],
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Remove all messages from a queue, including leased and dead ones."""
    with connected(url, prefix, schema) as database:
        queue = queue_in(database, name)
        record(database, "purge", name)
        gone = queue.purge(confirm)
    if as_json:
        print_json({"queue": name, "count": gone})
        return
    tell(f"{gone} removed")


def maintain(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Do one round of the workers' background tasks: push due ticks of schedules, prune history, keys and results."""
    with connected(url, prefix, schema) as database:
        done = database.maintain()
    if as_json:
        failed = {name: line_of(error) for name, error in done.failed.items()}
        next_in = None if done.next_in is None else done.next_in.total_seconds()
        print_json({"pushed": done.pushed, "pruned": done.pruned, "next_seconds": next_in, "failed": failed})
    else:
        tell(f"{done.pushed} pushed by schedules, {done.pruned} expired turns, keys and results removed")
        for name, error in done.failed.items():
            tell(f"schedule {name} could not tick: {line_of(error)}", err=True)
    if done.failed:
        raise typer.Exit(FAILED)


def workers(
    url: Url,
    name: Annotated[str | None, typer.Argument(metavar="QUEUE", help="Only the workers of this queue.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show the workers that reported in the last day. Workers report every ten seconds."""
    with connected(url, prefix, schema) as database:
        if name is not None:
            queue_in(database, name)
        found = [one for one in database.consumers() if name is None or name in one.queues]
    if as_json:
        print_json(found)
        return
    if not found:
        tell("no workers")
        return
    rows = [
        (one.name, " ".join(one.queues), " ".join(one.kinds), one.version, f"{one.seen_at:%Y-%m-%d %H:%M:%S}")
        for one in found
    ]
    print_table(("worker", "queues", "kinds", "duerow", "seen (UTC)"), rows)
