"""Commands about the tables."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, unchecked
from duerow.cli.output import print_json, tell
from duerow.errors import ConfigurationError

Role = Annotated[
    str | None, typer.Option(metavar="NAME", help="What that role is called; without, the prefix and this word.")
]


def migrate(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Create the tables, or bring them up to this version; safe to run again and again."""
    with closing(unchecked(url, prefix, schema)) as database:
        made = database.migrate()
    if as_json:
        print_json({"migrations": made})
    else:
        tell("\n".join(f"made {name}" for name in made) or "the tables are up to date")


def sql(
    url: Url,
    roles: Annotated[bool, typer.Option("--roles", help="The SQL that grants roles their rights instead.")] = False,
    producer: Role = None,
    consumer: Role = None,
    operator: Role = None,
    reader: Role = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Print the SQL that creates the tables, or grants rights on them, for whoever may run it; nothing is changed."""
    names = {"producer": producer, "consumer": consumer, "operator": operator, "reader": reader}
    named = next((role for role, name in names.items() if name is not None), None)
    if named is not None and not roles:
        raise ConfigurationError(f"--{named} names a role, for which --roles is missing")
    with closing(unchecked(url, prefix, schema)) as database:
        text = database.roles_sql(**names) if roles else database.migration_sql()
    if as_json:
        print_json({"sql": text})
    else:
        tell(text.removesuffix("\n"))
