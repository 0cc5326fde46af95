"""Every table that a migration makes has rights, and what cannot have roles says so."""

from typing import Any

import pytest

from duerow.errors import ConfigurationError, NotSupported
from duerow.store import Settings, find_backend
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.plans.store import SqlStore
from duerow.stores.sql.rights import RIGHTS, ROLES, created
from duerow.stores.sql.tables import Tables

DIALECTS = {"postgresql": PostgreSQL(), "mariadb": MariaDB(), "mysql": MySQL(), "mssql": SqlServer()}


def tables_of(dialect: Dialect) -> dict[str, Any]:
    """The tables that the migrations make, by their names without the prefix."""
    made = created(Tables(dialect, "some_", None), dialect)
    return {table.name.removeprefix("some_"): table for table in made}


def test_every_table_of_a_migration_has_its_rights_declared_and_no_rights_are_left_of_one_that_is_gone() -> None:
    assert set(tables_of(DIALECTS["postgresql"])) == set(RIGHTS)
    for dialect in DIALECTS.values():
        assert set(tables_of(dialect)) <= set(RIGHTS)


def test_operators_may_write_and_readers_read_every_table_and_none_may_write_which_migrations_were_made() -> None:
    for name, rights in RIGHTS.items():
        assert rights.reader == "SELECT"
        assert (rights.operator == "SELECT") is (name == "schema")
    assert set(RIGHTS["schema"]) == {"SELECT"}
    assert RIGHTS["message"]._fields == tuple(ROLES)


@pytest.mark.parametrize("name", DIALECTS)
def test_each_role_is_granted_its_rights_table_by_table(name: str) -> None:
    dialect = DIALECTS[name]
    lines = SqlStore(dialect, "some_", None, None).schema.roles_sql({"reader": "select"}).splitlines()
    for table in tables_of(dialect):
        for role in ROLES:
            needed = getattr(RIGHTS[table], role)
            grantee = dialect.plain().identifier_preparer.quote("select") if role == "reader" else f"some_{role}"
            assert (f"GRANT {needed} ON some_{table} TO {grantee};" in lines) is bool(needed), (table, role)


@pytest.mark.parametrize("wrong", ["", "x" * 64, "a%b", "a\nb"])
def test_a_role_that_cannot_be_quoted_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="the role of the operator cannot be called"):
        SqlStore(PostgreSQL(), "duerow_", None, None).schema.roles_sql({"operator": wrong})


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///nowhere.db", "SQLite has no roles.*permissions of the file"),
        ("memory://", "the in-memory store has no roles"),
        ("mongodb://localhost/shop", "MongoDB.*createRole.*readWrite"),
    ],
)
def test_a_database_without_roles_says_what_protects_it(url: str, says: str) -> None:
    store, _ = find_backend(url).open(url, Settings())
    with pytest.raises(NotSupported, match=says):
        store.schema.roles_sql({})
