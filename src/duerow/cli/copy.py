"""The command that copies a queue to another database, or moves it there."""

from __future__ import annotations

from typing import Annotated

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, span
from duerow.cli.output import print_json, tell
from duerow.queue.copy import Copied
from duerow.sync.copy import copy as copy_queue

LEFT = 1
"""The exit code if messages were left in the source."""


def copy(
    url: Url,
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")],
    into: Annotated[str, typer.Option(metavar="URL", help="The database that it goes to; its tables are there.")],
    move: Annotated[bool, typer.Option("--move", help="Messages leave the source.")] = False,
    to: Annotated[str | None, typer.Option(metavar="QUEUE", help="Its name there; default: the same.")] = None,
    history: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long turns are kept there, 0: they are left out; default: as the definition says.",
        ),
    ] = None,
    no_dead_letters: Annotated[
        bool, typer.Option("--no-dead-letters", help="Leave the queue of dead letters alone.")
    ] = False,
    keep_settings: Annotated[
        bool, typer.Option("--keep-settings", help="The target may declare the queue otherwise.")
    ] = False,
    beside: Annotated[bool, typer.Option("--beside", help="The target may have messages of other origin.")] = False,
    run: Annotated[str, typer.Option(metavar="NAME", help="Names the copy; the same one goes on with it.")] = "copy",
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    into_prefix: Annotated[str, typer.Option(metavar="NAME", help="As --prefix, of the target.")] = PREFIX,
    into_schema: Annotated[str | None, typer.Option(metavar="NAME", help="As --schema, of the target.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy a queue with its dead letters and its history to another database, or move it there; again to go on."""
    kept = None if history is None else span("--history", history)
    with connected(url, prefix, schema) as source, connected(into, into_prefix, into_schema) as target:
        done = copy_queue(
            source,
            target,
            name,
            move=move,
            to=to,
            history=kept,
            dead_letters=not no_dead_letters,
            keep_settings=keep_settings,
            beside=beside,
            name=run,
        )
    if as_json:
        print_json(done)
    else:
        _tell(done)
    if not done:
        raise typer.Exit(LEFT)


def _tell(done: Copied) -> None:
    """Print what arrived, and what was left with why."""
    verb = "moved" if done.moved else "copied"
    tell(f"{verb}: messages {done.messages}, dead letters {done.letters}, turns of history {done.turns}")
    if done.before or done.turns_before:
        tell(f"there already: messages and dead letters {done.before}, turns of history {done.turns_before}")
    if done.leased:
        tell(f"{'left, since they are' if done.moved else 'of them'} leased: {done.leased}")
    if done.taken:
        tell(f"left, since their key is taken there: {', '.join(map(str, done.taken))}")
    if done.behind:
        tell(f"left, since they wait in a group behind others that were left: {done.behind}")
    if done.changed:
        tell(f"left, since they were changed at that moment: {done.changed}")
