"""Commands that tell why a message is not running, pause queues, and bring dead letters back."""

from __future__ import annotations

from typing import Annotated

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, print_json
from duerow.message import OnDuplicate

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
        reasons = database.queue(name).why(id, key=key)
    if as_json:
        print_json(reasons)
        return
    for reason in reasons:
        typer.echo(f"{reason.code}: {reason.text}")


def pause(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None) -> None:
    """Let a queue hand out nothing until it is resumed; what is leased can be settled."""
    with connected(url, prefix, schema) as database:
        database.queue(name).pause()
    typer.echo(f"{name} is paused")


def resume(url: Url, name: Name, prefix: Prefix = PREFIX, schema: Schema = None) -> None:
    """Let a paused queue hand out again."""
    with connected(url, prefix, schema) as database:
        database.queue(name).resume()
    typer.echo(f"{name} hands out again")


def redrive(
    url: Url,
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="The dead-letter queue.")],
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most; default: all.")] = None,
    on_duplicate: Annotated[
        OnDuplicate, typer.Option(help="What to do when a live message has the key by now; reject leaves it here.")
    ] = "reject",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, only count.")] = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Send the messages of a dead-letter queue back to the queues that they came from."""
    with connected(url, prefix, schema) as database:
        done = database.queue(name).redrive(limit, on_duplicate=on_duplicate, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    went = "could go back" if dry_run else "went back"
    stayed = f", {done.skipped} stayed because their key is taken" if done.skipped else ""
    typer.echo(f"{done.count} {went}{stayed}")
