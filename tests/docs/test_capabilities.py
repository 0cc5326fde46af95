"""The table of what each database cannot is what the stores say of themselves."""

from pathlib import Path

import pytest

from duerow.store import Capabilities
from duerow.stores.memory.plans import MemoryStore
from duerow.stores.mongodb.plans.core import UNKNOWN
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql import MySQL
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.dialects.sqlite.dialect import SQLite

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "urls.md"

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().partition("## What a database cannot")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| `")
]

STORES = {
    1: SQLite.capabilities,
    2: PostgreSQL.capabilities,
    3: MariaDB.capabilities,
    5: SqlServer.capabilities,
    6: MemoryStore().capabilities,
}


def test_every_capability_has_a_row() -> None:
    assert [name_of(row) for row in ROWS] == list(Capabilities.__dataclass_fields__)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_says_what_the_stores_say(row: list[str]) -> None:
    assert {place: row[place] for place in STORES} == {
        place: "yes" if getattr(told, name_of(row)) else "no" for place, told in STORES.items()
    }
    assert getattr(MySQL.capabilities, name_of(row)) == getattr(MariaDB.capabilities, name_of(row))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_mongodb_has_on_a_replica_set_alone_is_not_assumed_before_it_was_asked(row: list[str]) -> None:
    assert row[4] in ("yes", "no", "replica set")
    if row[4] == "no":
        assert not getattr(UNKNOWN, name_of(row))


def name_of(row: list[str]) -> str:
    return row[0].split("`")[1]
