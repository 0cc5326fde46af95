"""Commands that tell why a message is not running, pause and drain queues, and bring dead letters back."""

from __future__ import annotations

from typing import Annotated

import typer

from duerow.cli.options import (
    PREFIX,
    AsJson,
    Create,
    Prefix,
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

Name = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]


def why(
    url: Url,
    name: Name,
    id: Annotated[int | None, typer.Argument(metavar="ID", help="The message's id.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The key of a live message, instead of its id.")
    ] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Tell why a message is not running: every reason that holds."""
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
    """Let a queue hand out nothing until it is resumed; what is leased can be settled."""
    with connected(url, prefix, schema) as database:
        queue_in(database, name, create).pause()
    if as_json:
        print_json({"queue": name, "paused": True})
        return
    tell(f"{name} is paused")


def resume(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Let a queue that was paused or drained hand out and take messages again."""
    with connected(url, prefix, schema) as database:
        queue_in(database, name).resume()
    if as_json:
        print_json({"queue": name, "paused": False, "draining": False})
        return
    tell(f"{name} hands out again")


def drain(
    url: Url,
    name: Name,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="How long to wait; default: as long as it takes.")
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Only let the queue take no new messages.")] = False,
    create: Create = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Let a queue take no new messages, and wait until it is empty; resume ends it."""
    with connected(url, prefix, schema) as database:
        most = None if timeout is None else span("--timeout", timeout)
        queue_in(database, name, create).drain(most, wait=not no_wait)
    if as_json:
        print_json({"queue": name, "draining": True, "empty": None if no_wait else True})
        return
    tell(f"{name} takes no new messages" if no_wait else f"{name} takes no new messages and is empty")


def queues(
    url: Url,
    name: Annotated[str | None, typer.Argument(metavar="QUEUE", help="Only this queue.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show what the database says of its queues: what was declared of them, and whether they are paused or drained."""
    with connected(url, prefix, schema) as database:
        if name is not None:
            queue_in(database, name)
        found = [one for one in database.definitions() if name in (None, one.name)]
    if as_json:
        print_json(found)
        return
    if not found:
        tell("nothing was declared" if name is None else f"nothing was declared of {name}")
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
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most; default: all.")] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Only those of which it holds where they are."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="How many a second at most; default: as fast as it goes.")
    ] = None,
    on_duplicate: Annotated[
        OnDuplicate, typer.Option(help="What to do when a live message has the key by now; reject lets it be.")
    ] = "reject",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, only count.")] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Bring the dead letters of a queue back; those of a dead-letter queue to the queues that they came from."""
    with connected(url, prefix, schema) as database:
        done = queue_in(database, name).redrive(
            limit, where=where, rate=rate, on_duplicate=on_duplicate, dry_run=dry_run
        )
    if as_json:
        print_json(done)
        return
    went = "could go back" if dry_run else "went back"
    stayed = f", {done.skipped} stayed because their key is taken" if done.skipped else ""
    tell(f"{done.count} {went}{stayed}")


def purge(
    url: Url,
    name: Name,
    confirm: Annotated[str, typer.Option(metavar="QUEUE", help="The queue's name again.")],
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Take all messages out of a queue, leased and dead ones as well."""
    with connected(url, prefix, schema) as database:
        gone = queue_in(database, name).purge(confirm)
    if as_json:
        print_json({"queue": name, "count": gone})
        return
    tell(f"{gone} removed")


def workers(
    url: Url,
    name: Annotated[str | None, typer.Argument(metavar="QUEUE", help="Only those of this queue.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Show the workers that said in the last day that they are there; they say so every ten seconds."""
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
