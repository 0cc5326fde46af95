"""The command that moves messages to another queue."""

from __future__ import annotations

from typing import Annotated

import typer

from duerow.cli.change import Chosen, DryRun, EvenIfLeased, Id, Key, Where
from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url
from duerow.cli.queue import Name
from duerow.message import OnDuplicate
from duerow.sync.queue import Queue


def transfer(
    url: Url,
    name: Name,
    to: Annotated[str, typer.Option(metavar="QUEUE", help="The queue to move them to.")],
    id: Id = None,
    key: Key = None,
    where: Where = None,
    on_duplicate: Annotated[
        OnDuplicate,
        typer.Option(
            help="What to do if a live message there has the same key; reject leaves the message where it is."
        ),
    ] = "reject",
    dry_run: DryRun = False,
    even_if_leased: EvenIfLeased = False,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Move messages to another queue of the database; they keep their due times."""
    chosen = Chosen(url, prefix, schema, name, id, key, where, dry_run, as_json)
    options = {"to": to, "on_duplicate": on_duplicate, "even_if_leased": even_if_leased}
    chosen.change("transferred", Queue.transfer, options)
