"""The command that copies or moves a queue to another database."""

from __future__ import annotations

from typing import Annotated

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, connected, span
from duerow.cli.output import print_json, tell
from duerow.phrases import counted
from duerow.queue.copy import Copied
from duerow.sync.copy import copy as copy_queue

LEFT = 1
"""The exit code if messages were left in the source."""


def copy(
    url: Url,
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")],
    into: Annotated[str, typer.Option(metavar="URL", help="The target database; its tables must exist.")],
    move: Annotated[bool, typer.Option("--move", help="Remove the messages from the source.")] = False,
    to: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="The queue's name in the target; default: the same.")
    ] = None,
    history: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long the target keeps finished turns, 0 for not at all; default: as declared.",
        ),
    ] = None,
    no_dead_letters: Annotated[
        bool, typer.Option("--no-dead-letters", help="Leave the dead-letter queue out.")
    ] = False,
    keep_settings: Annotated[
        bool,
        typer.Option("--keep-settings", help="Allow the target to have other settings for the queue, and keep them."),
    ] = False,
    beside: Annotated[bool, typer.Option("--beside", help="Allow other messages in the target's queue.")] = False,
    run: Annotated[
        str, typer.Option(metavar="NAME", help="The name of this copy; a run with the same name continues it.")
    ] = "copy",
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    into_prefix: Annotated[str, typer.Option(metavar="NAME", help="The --prefix of the target.")] = PREFIX,
    into_schema: Annotated[str | None, typer.Option(metavar="NAME", help="The --schema of the target.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy or move a queue, with its dead letters and history, to another database. Run it again to continue."""
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
    """Print how many messages and turns arrived, and how many messages were left behind and why."""
    verb = "moved" if done.moved else "copied"
    letters, turns = counted(done.letters, "dead letter"), counted(done.turns, "finished turn")
    tell(f"{verb} {counted(done.messages, 'message')}, {letters}, {turns}")
    if done.before or done.turns_before:
        before = counted(done.before, "message or dead letter", "messages and dead letters")
        tell(f"copied by an earlier run: {before}, {counted(done.turns_before, 'finished turn')}")
    if done.leased:
        tell(f"{'left behind because they are leased' if done.moved else 'leased in the source'}: {done.leased}")
    if done.taken:
        tell(f"left behind because the target has a live message with their key: ids {', '.join(map(str, done.taken))}")
    if done.behind:
        tell(f"left behind because they wait in a group for another message that was left behind: {done.behind}")
    if done.changed:
        tell(f"left behind because they were changed during the copy: {done.changed}")
