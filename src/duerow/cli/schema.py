"""Commands for the tables."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, unchecked
from duerow.cli.output import print_json, tell
from duerow.errors import ConfigurationError

Role = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The name of this role; default: the prefix followed by the option's name."),
]


def migrate(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Create the tables, or update them to this version; safe to repeat."""
    with closing(unchecked(url, prefix, schema)) as database:
        made = database.migrate()
    if as_json:
        print_json({"migrations": made})
    else:
        tell("\n".join(f"applied {name}" for name in made) or "the tables are up to date")


def sql(
    url: Url,
    roles: Annotated[bool, typer.Option("--roles", help="Print the SQL that grants rights to roles instead.")] = False,
    producer: Role = None,
    consumer: Role = None,
    operator: Role = None,
    reader: Role = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
    as_json: AsJson = False,
) -> None:
    """Print the SQL that creates the tables or grants rights on them, for a DBA to run. Changes nothing."""
    names = {"producer": producer, "consumer": consumer, "operator": operator, "reader": reader}
    named = next((role for role, name in names.items() if name is not None), None)
    if named is not None and not roles:
        raise ConfigurationError(f"--{named} names a role, so it also needs --roles")
    with closing(unchecked(url, prefix, schema)) as database:
        text = database.roles_sql(**names) if roles else database.migration_sql()
    if as_json:
        print_json({"sql": text})
    else:
        tell(text.removesuffix("\n"))
