"""Which rights on the tables each role needs, and the statements that grant them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from sqlalchemy import Table
from sqlalchemy.schema import CreateTable

from duerow.errors import ConfigurationError
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.migrations import MIGRATIONS
from duerow.stores.sql.tables import Tables

_NONE: Final = ""
_READ: Final = "SELECT"
_SET: Final = "SELECT, UPDATE"
_PUT: Final = "SELECT, INSERT, UPDATE"
_HAND_ON: Final = "SELECT, INSERT, DELETE"
_ALL: Final = "SELECT, INSERT, UPDATE, DELETE"

ROLES: Final = {
    "producer": "adds messages, alone and in batches",
    "consumer": "runs workers and pipelines",
    "operator": "does all that needs no change of the tables",
    "reader": "looks",
}
"""The roles, and what each is for."""


class Rights(NamedTuple):
    """What each role may do with the rows of a table; nothing: it needs none."""

    producer: str
    consumer: str
    operator: str = _ALL
    reader: str = _READ


RIGHTS: Final[Mapping[str, Rights]] = {
    # A push replaces and hastens the holders of keys, and takes back what it added if a key was taken meanwhile.
    "message": Rights(_ALL, _ALL),
    "waiting": Rights(_READ, _PUT),
    "queue": Rights(_READ, _READ),
    "consumer": Rights(_NONE, _ALL),
    "schedule": Rights(_NONE, _SET),
    "history": Rights(_NONE, _ALL),
    "remembered": Rights(_PUT, _ALL),
    "counter": Rights(_NONE, _ALL),
    "set": Rights(_NONE, _ALL),
    "part": Rights(_NONE, _HAND_ON),
    "pipeline": Rights(_NONE, _PUT),  # who runs a pipeline declares it
    # Batches are staged and published, each once. To lock rows takes the right to change them.
    "staging": Rights(_ALL, _ALL),
    "staged": Rights(_HAND_ON, _HAND_ON),
    "noted": Rights(_PUT, _ALL),
    "schema": Rights(_READ, _READ, operator=_READ),
}
"""The rights on each table, by its name without the prefix. Rights are the same on every database."""

LONGEST_ROLE: Final = 63
"""How many characters the name of a role has at the most: as many as PostgreSQL takes."""


def grants(tables: Tables, dialect: Dialect, names: Mapping[str, str]) -> str:
    """Return the statements that grant each role its rights; see `Store.roles_sql`."""
    called = {role: _checked(role, names.get(role, f"{tables.prefix}{role}")) for role in ROLES}
    return "\n".join(
        f"-- {name}: {ROLES[role]}\n" + "".join(f"{line};\n" for line in _granted(tables, dialect, role, name))
        for role, name in called.items()
    )


def created(tables: Tables, dialect: Dialect) -> list[Table]:
    """Return the tables that there are on a database, in the order in which they are made."""
    made = [statement for _, of in MIGRATIONS for statement in of(tables, dialect)]
    return [tables.version, *(one.element for one in made if isinstance(one, CreateTable))]


def _granted(tables: Tables, dialect: Dialect, role: str, name: str) -> Iterator[str]:
    preparer = dialect.plain().identifier_preparer
    grantee = preparer.quote(name)
    adds = "INSERT" in getattr(RIGHTS["message"], role)
    for needed, on in dialect.beside_tables(tables.prefix, tables.schema, adds):
        yield f"GRANT {needed} ON {on} TO {grantee}"
    for table in created(tables, dialect):
        if needed := getattr(RIGHTS[table.name.removeprefix(tables.prefix)], role):
            yield f"GRANT {needed} ON {preparer.format_table(table)} TO {grantee}"


def _checked(role: str, name: str) -> str:
    """Return the name of a role that can be quoted, or raise ConfigurationError."""
    if not 0 < len(name) <= LONGEST_ROLE or not name.isprintable() or "%" in name:
        raise ConfigurationError(
            f"the {role}'s role is called {name!r:.80}; that takes 1 to {LONGEST_ROLE} printable characters without %"
        )
    return name
