"""The rights that each role needs on the tables, and the statements that grant them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql.base import Executable

from duerow.errors import ConfigurationError, NotSupported
from duerow.errors import shown as briefly
from duerow.stores.sql.dialects.base import Dialect, const
from duerow.stores.sql.migrations import MIGRATIONS
from duerow.stores.sql.statements import Statement
from duerow.stores.sql.tables import Tables

_NONE: Final = ""
_READ: Final = "SELECT"
_SET: Final = "SELECT, UPDATE"
_PUT: Final = "SELECT, INSERT, UPDATE"
_HAND_ON: Final = "SELECT, INSERT, DELETE"
_ALL: Final = "SELECT, INSERT, UPDATE, DELETE"

ROLES: Final = {
    "producer": "pushes messages, one at a time or in batches",
    "consumer": "runs workers and pipelines",
    "operator": "does everything that does not change the tables themselves",
    "reader": "only reads",
}
"""The roles and their purposes."""


class Rights(NamedTuple):
    """The rights of each role on the rows of a table; an empty string if the role needs none."""

    producer: str
    consumer: str
    operator: str = _ALL
    reader: str = _READ


RIGHTS: Final[Mapping[str, Rights]] = {
    # A push replaces or hastens the holders of keys, and deletes the rows it added if a key was taken meanwhile.
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
    "pipeline": Rights(_NONE, _PUT),  # running a pipeline declares it
    # Batches are staged once and published once. Locking rows requires the right to change them.
    "staging": Rights(_ALL, _ALL),
    "staged": Rights(_HAND_ON, _HAND_ON),
    "noted": Rights(_PUT, _ALL),
    "schema": Rights(_READ, _READ, operator=_READ),
}
"""The rights on each table, by its name without the prefix. Rights are the same on every database."""

WORKED_ON: Final = ("message", "waiting", "queue", "consumer", "schedule", "history", "remembered", "counter")
"""The tables that every worker reads or writes; pipelines and batches use others."""

LONGEST_ROLE: Final = 63
"""The maximum number of characters in the name of a role: PostgreSQL's limit."""


def grants(tables: Tables, dialect: Dialect, names: Mapping[str, str]) -> str:
    """Return the statements that grant each role its rights; see `SchemaStore.roles_sql`."""
    called = {role: _checked(role, names.get(role, f"{tables.prefix}{role}")) for role in ROLES}
    return "\n".join(
        f"-- {name}: {ROLES[role]}\n" + "".join(f"{line};\n" for line in _granted(tables, dialect, role, name))
        for role, name in called.items()
    )


@lru_cache(maxsize=32)
def rights_query(tables: Tables, dialect: Dialect) -> Statement | None:
    """Return a query whether the user has every right that a worker needs; None if the database cannot tell."""
    needed = [(getattr(tables, name), right) for name in WORKED_ON for right in RIGHTS[name].consumer.split(", ")]
    query = dialect.has_rights(needed)
    return None if query is None else Statement(query)


@lru_cache(maxsize=32)
def tried(tables: Tables, dialect: Dialect) -> Mapping[str, Statement]:
    """Return, for each right that a worker needs, a statement that needs this right and changes nothing.

    The keys name the rights. Servers check rights before they look for rows, so the statements need no rows.
    The mapping is empty if the database has no roles.
    """
    try:
        dialect.beside_tables(tables.prefix, tables.schema, True)
    except NotSupported:
        return {}
    there = {table.name for table in created(tables, dialect)}
    statements: dict[str, Statement] = {}
    for name in WORKED_ON:
        table: Table = getattr(tables, name)
        if table.name in there:
            shown = dialect.plain().identifier_preparer.format_table(table)
            for right in RIGHTS[name].consumer.split(", "):
                statements[f"{right} on {shown}"] = Statement(_trial(right, table, dialect))
    return statements


def _trial(right: str, table: Table, dialect: Dialect) -> Executable:
    never = const(1) == const(0)
    columns = [column for column in table.columns if column.name not in dialect.derived]
    match right:
        case "INSERT":
            return insert(table).from_select(columns, select(*columns).where(never))
        case "UPDATE":
            return update(table).values({columns[0]: columns[0]}).where(never)
        case "DELETE":
            return delete(table).where(never)
        case _:
            return select(columns[0]).where(never)


def created(tables: Tables, dialect: Dialect) -> list[Table]:
    """Return the tables that exist on a database, in the order in which they are created."""
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
    """Return the name of a role if it can be quoted; otherwise raise ConfigurationError."""
    if not 0 < len(name) <= LONGEST_ROLE or not name.isprintable() or "%" in name:
        raise ConfigurationError(
            f"the role of the {role} cannot be called {briefly(name)}; use 1 to {LONGEST_ROLE} printable characters "
            "without %"
        )
    return name
