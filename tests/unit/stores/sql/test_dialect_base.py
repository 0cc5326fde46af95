"""What a new SQL database has to write: little, since the base classes of dialects hold the common case."""

import re
from pathlib import Path

import pytest

import duerow
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite

SOURCE = Path(duerow.__file__).parent
BASE = "duerow.stores.sql.dialects.base."
DIALECTS = [PostgreSQL, SQLite, MariaDB, MySQL, SqlServer]
MOST = 35
"""How many members a new database may have to write at most."""


def members(cls: type) -> set[str]:
    """Return what a class itself defines or declares."""
    return {name for name in (*vars(cls), *vars(cls).get("__annotations__", {})) if not name.startswith("_")}


CONTRACT = {cls: members(cls) for cls in Dialect.__mro__ if cls.__module__.startswith(BASE)}


def must_be_written() -> set[str]:
    declared = {name for names in CONTRACT.values() for name in names}
    return {name for name in declared if not hasattr(Dialect, name)} | Dialect.__abstractmethods__


def test_a_new_database_writes_at_most_35_members() -> None:
    assert len(must_be_written()) <= MOST


def test_a_dialect_without_one_of_them_cannot_be_made() -> None:
    abstract = Dialect.__abstractmethods__
    assert abstract
    for left_out in abstract:
        written = {name: lambda self: None for name in abstract - {left_out}}
        with pytest.raises(TypeError, match=left_out):
            type("New", (Dialect,), written)()
    assert type("New", (Dialect,), {name: lambda self: None for name in abstract})()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.__name__)
def test_each_dialect_writes_the_members_that_have_no_default(dialect: type[Dialect]) -> None:
    assert {name for name in must_be_written() if not hasattr(dialect, name)} == set()
    assert dialect.__abstractmethods__ == frozenset()


def test_each_member_of_the_contract_is_used() -> None:
    code = "".join(path.read_text() for path in sorted((SOURCE / "stores").rglob("*.py")))
    code += (SOURCE / "entity" / "operations.py").read_text()
    declared = {name for names in CONTRACT.values() for name in names}
    assert {name for name in declared if not re.search(rf"\.{name}\b", code)} == set()
