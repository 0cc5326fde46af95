"""What SQL Server says is told as what it means, by its number; what it cannot do is refused. No server is needed."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from sqlalchemy import Integer
from sqlalchemy.dialects.mssql.pyodbc import MSDialect_pyodbc

from duerow.errors import (
    ConfigurationError,
    Conflict,
    DuerowError,
    NotSupported,
    SchemaOutdated,
    StoreRefused,
    StoreUnavailable,
)
from duerow.plan import BEGIN, run
from duerow.store import Indexed, Settings
from duerow.stores.sql.connections.compiled import Texts
from duerow.stores.sql.dialects.mssql.compiler import written
from duerow.stores.sql.dialects.mssql.dialect import SqlServer
from duerow.stores.sql.dialects.mssql.family import mssql
from duerow.stores.sql.entities.columns import StateTable
from duerow.stores.sql.entities.keys import Key
from duerow.stores.sql.entities.plans import EntityStore
from duerow.stores.sql.plans.schema import check_database
from duerow.stores.sql.plans.store import SqlStore

MEANINGS: list[tuple[str, list[int], type[DuerowError]]] = [
    ("40001", [1205], Conflict),
    ("HYT00", [1222], Conflict),
    ("23000", [2601, 2627], Conflict),
    ("42000", [3960], Conflict),
    ("08S01", [10054, 64], StoreUnavailable),
    ("42000", [596, 701, 3906, 9002, 10928, 40197, 40613], StoreUnavailable),
    ("42S02", [208], SchemaOutdated),
    ("42S22", [207], SchemaOutdated),
    ("42000", [229, 262, 4060, 650, 334], ConfigurationError),
    ("28000", [18456], ConfigurationError),
    ("42000", [102, 8152, 2628, 8003, 8622], StoreRefused),
]


class Error(Exception):
    """An error as pyodbc raises it: the state, and a text that ends with the server's number."""


Error.__module__ = "pyodbc"


def said(state: str, number: int) -> Error:
    text = f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]Row (7) of [x] ({number}) (SQLExecDirectW)"
    return Error(state, text)


@pytest.mark.parametrize(("state", "numbers", "meaning"), MEANINGS)
def test_each_number_of_an_error_has_its_meaning(state: str, numbers: list[int], meaning: type[DuerowError]) -> None:
    for number in numbers:
        assert type(SqlServer().explain(said(state, number))) is meaning, number


def test_what_the_driver_itself_says_is_known_by_its_state() -> None:
    explain = SqlServer().explain
    for state, meaning in (("08001", StoreUnavailable), ("HYT00", StoreUnavailable), ("IM002", ConfigurationError)):
        assert type(explain(Error(state, f"[{state}] [unixODBC][Driver Manager] (0) (SQLDriverConnect)"))) is meaning
    assert explain(ValueError("08001")) is None


def test_servers_that_cannot_keep_the_promises_are_refused() -> None:
    check = SqlServer().check_server
    check((15, 3, 150, True))
    check((16, 2, 130, True))
    check((12, 5, 150, True))  # Azure SQL says that it is of version 12
    for row, why in (
        ((14, 3, 140, True), "version 14; duerow needs 15"),
        ((15, 3, 120, True), "compatibility level 120"),
        ((15, 3, 150, False), "SET READ_COMMITTED_SNAPSHOT ON"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            check(row)


def test_an_index_of_a_payload_field_is_refused_before_anything_changes() -> None:
    store = SqlStore(SqlServer(), "duerow_", None, None)
    steps: list[Any] = []

    def carry_out(step: Any) -> list[Any]:
        steps.append(step)
        return []

    for dry_run in (True, False):
        with pytest.raises(NotSupported, match="leave indexed= out"):
            run(store.metadata.index("mail", (Indexed(("companyId",), "integer"),), dry_run), carry_out)
    assert [step for step in steps if step is not BEGIN and step.statement.writes] == []


def test_a_table_with_a_trigger_is_refused_as_a_queue_and_duerows_own_are_not_asked() -> None:
    state = StateTable("order", "shop", (Key("id", Integer()),), "sending")
    rows = EntityStore(SqlServer(), MSDialect_pyodbc(), state, False, None)
    asked: list[str] = []

    def answer(step: Any) -> list[Any]:
        text, values = Texts(SqlServer(), written(), raw=True).of(step)
        asked.append(text)
        return [("audit",)] if "sys.triggers" in text and values == ("shop.[order]",) else [(15, 3, 150, True)]

    with pytest.raises(ConfigurationError, match="the table has the trigger audit, and SQL Server returns no rows"):
        run(rows.schema.check(), answer)
    assert len(asked) == 2
    run(check_database(SqlStore(SqlServer(), "duerow_", None, None).context), answer)
    assert len(asked) == 3


def test_without_its_driver_the_family_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyodbc", "aioodbc"):
        monkeypatch.setitem(sys.modules, module, None)
    for opening in (mssql.open, mssql.aopen):
        with pytest.raises(ConfigurationError, match=r"pip install 'duerow\[mssql\]'"):
            opening("mssql://nobody@127.0.0.1/none", Settings())


def test_an_error_of_the_database_names_the_constraint_and_repeats_no_value() -> None:
    server = "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"
    twice = (
        f"[23000] {server}Violation of UNIQUE KEY constraint 'one_key'. Cannot insert duplicate key in object "
        "'dbo.duerow_message'. The duplicate key value is (mail, it's secret). (2627) (SQLExecDirectW)"
    )
    cut = f"[42000] {server}Data would be truncated. Truncated value: 'secret'. (2628) (SQLExecDirectW)"
    told = [str(SqlServer().explain(Error(text[1:6], text))) for text in (twice, cut)]
    assert "'" not in told[0]
    assert "duplicate key (one_key, dbo.duerow_message)" in told[0]
    assert told[1] == "SQL Server refused a statement (2628)"
    assert all("secret" not in text for text in told)
