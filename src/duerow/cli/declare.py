"""The command that stores a program's queue settings."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from duerow.cli.audit import record
from duerow.cli.options import AsJson
from duerow.cli.output import print_json, tell
from duerow.cli.worker import find_named
from duerow.cli.workers import QUEUES
from duerow.errors import ConfigurationError, shown
from duerow.queue.definition import Declaration, differences
from duerow.sync.database import Database


def declare(
    named: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="A queue of a program, a database whose queues have handlers, or a list of queues.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; only print what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Store the settings that a program gives its queues, so that commands and other programs see them."""
    found = queues_of(find_named(named, "queue", "shop.mail:mail"), named)
    done = asyncio.run(_declared(found, dry_run))
    if as_json:
        print_json([{"queue": one.queue, "changed": bool(one), "changes": _changes(one)} for one in done])
        return
    for one in done:
        changes = _changes(one)
        word = "would change" if dry_run else "is declared"
        tell(f"{one.queue} {word}: {'; '.join(changes)}" if changes else f"{one.queue} is already declared")


def queues_of(found: Any, named: str) -> list[Any]:
    """Return the queues of an object of a program; raise ConfigurationError if it has none."""
    if isinstance(found, QUEUES):
        return [found]
    if isinstance(found, list | tuple) and found:
        return [queue for one in found for queue in queues_of(one, named)]
    handled = getattr(found, "handled", None)
    if handled:
        return list(handled.values())
    raise ConfigurationError(
        f"{named} is {shown(found)}: name a queue, a list of queues, or a database whose queues have handlers"
    )


async def _declared(queues: Sequence[Any], dry_run: bool) -> list[Declaration]:
    """Declare queues of either face."""
    done: list[Declaration] = []
    for queue in queues:
        if not dry_run and isinstance(queue.database, Database):
            record(queue.database, "declare", queue.name)
        declaration = queue.declare(dry_run=dry_run)
        done.append(await declaration if inspect.isawaitable(declaration) else declaration)
    return done


def _changes(one: Declaration) -> list[str]:
    changed = ["new"] if one.stored is None else [str(each) for each in differences(one.stored, one.declared)]
    return [
        *changed,
        *(f"index {name} created" for name in one.created),
        *(f"index {name} dropped" for name in one.dropped),
    ]
