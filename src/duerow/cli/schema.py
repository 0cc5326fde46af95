"""Commands about the tables."""

from __future__ import annotations

from contextlib import closing

from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, Url, unchecked
from duerow.cli.output import print_json, tell


def migrate(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Create the tables, or bring them up to this version; safe to run again and again."""
    with closing(unchecked(url, prefix, schema)) as database:
        made = database.migrate()
    if as_json:
        print_json({"migrations": made})
    else:
        tell("\n".join(f"made {name}" for name in made) or "the tables are up to date")


def sql(url: Url, prefix: Prefix = PREFIX, schema: Schema = None, as_json: AsJson = False) -> None:
    """Print the SQL that creates the tables, for whoever may run it; nothing is changed."""
    with closing(unchecked(url, prefix, schema)) as database:
        text = database.migration_sql()
    if as_json:
        print_json({"sql": text})
    else:
        tell(text.removesuffix("\n"))
