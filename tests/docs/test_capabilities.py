"""The table of what each database cannot is what the stores say of themselves."""

from pathlib import Path

import pytest

from duerow.store import PARTS, Capabilities
from duerow.store.wire.calls import THROUGH_HTTP
from duerow.stores.memory.store import MemoryStore
from duerow.stores.mongodb.plans.context import UNKNOWN
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
    7: THROUGH_HTTP,
}

AS_THE_SERVER = "as the server"
"""What the table says of what a store behind HTTP can do if the server's store can."""


def test_every_capability_has_a_row() -> None:
    assert [name_of(row) for row in ROWS] == list(Capabilities.__dataclass_fields__)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_says_what_the_stores_say(row: list[str]) -> None:
    row = ["yes" if cell == AS_THE_SERVER else cell for cell in row]
    assert {place: row[place] for place in STORES} == {place: said(told, row) for place, told in STORES.items()}
    assert getattr(MySQL.capabilities, name_of(row)) == getattr(MariaDB.capabilities, name_of(row))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_mongodb_has_on_a_replica_set_alone_is_not_assumed_before_it_was_asked(row: list[str]) -> None:
    assert row[4] in ("yes", "no", "replica set") or row[4] == said(UNKNOWN, row)
    if row[4] == "no":
        assert not getattr(UNKNOWN, name_of(row))


def said(told: Capabilities, row: list[str]) -> str:
    value = getattr(told, name_of(row))
    if isinstance(value, frozenset):
        lacking = " and ".join(f"`{part}`" for part in sorted(PARTS - value))
        return f"all but {lacking}" if lacking else "all"
    return "yes" if value else "no"


def name_of(row: list[str]) -> str:
    return row[0].split("`")[1]
