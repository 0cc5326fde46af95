"""SQL Server 2019 and later, through pyodbc and aioodbc: one UPDATE … OUTPUT claims, skipping rows locked by others.

None of this has run on a server yet: the statements were reviewed, and checked by a T-SQL parser. See the design note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    Integer,
    Select,
    Table,
    TableClause,
    Text,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects.mssql import NVARCHAR
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.errors import DuerowError
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import LINE, Dialect, JsonText, Member, const
from duerow.stores.sql.dialects.base.payload_indexes import NoPayloadIndexes
from duerow.stores.sql.dialects.mssql.compiler import (
    BYTEWISE,
    CODE_POINTS,
    MOMENT,
    TsqlNow,
    Word,
    plain_text,
    written,
)
from duerow.stores.sql.dialects.mssql.errors import OUT_OF_TIME, explained, state_of
from duerow.stores.sql.dialects.mssql.given_rows import TsqlRows
from duerow.stores.sql.dialects.mssql.json_paths import member, read_json
from duerow.stores.sql.dialects.mssql.schema import TsqlSchema
from duerow.stores.sql.dialects.mssql.server import TsqlServer
from duerow.stores.sql.dialects.mssql.writes import TsqlWrites

LOCK_WAIT: Final = 30_000
"""How many milliseconds duerow's own connections wait for a lock before they repeat the transaction."""


class SqlServer(NoPayloadIndexes, TsqlRows, TsqlWrites, TsqlServer, TsqlSchema, Dialect):
    """Rows found by other rows are changed by UPDATE … OUTPUT; an upsert is an UPDATE and an INSERT.

    Indexes of payload fields are not supported: they would need a computed column of JSON_VALUE, which does not
    distinguish kinds of values.
    """

    name = "mssql"
    product = "SQL Server"
    callers: Mapping[str, Caller] = {"pyodbc": Caller("mssql+pyodbc", lambda raw: bool(raw.autocommit))}
    moment: TypeEngine[Any] = MOMENT
    json = JsonText(f"NVARCHAR(MAX) COLLATE {BYTEWISE}")
    word: TypeEngine[Any] = Word()
    told_word: TypeEngine[Any] = Word()
    text: TypeEngine[Any] = NVARCHAR(700, collation=BYTEWISE)
    bytewise = CODE_POINTS
    takes_parts = True
    asks_for_indexes = True
    savepoints: tuple[str, str, str | None] = "SAVE TRANSACTION duerow_row", "ROLLBACK TRANSACTION duerow_row", None
    compares_rows = False
    dropping: Mapping[str, Any] = {"mssql_drop_default": True}
    chunk = 1_000  # 5,000 locks in a statement would lock the whole table, and changing a row takes several
    most_values: int | None = 2_100

    def plain(self) -> SqlDialect:
        """Return the dialect that compiles statements."""
        return written()

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the same dialect for every driver."""
        return written()

    # Time, text and JSON.

    def now(self) -> ColumnElement[Any]:
        """Return the server's time in UTC, which is the same everywhere in a statement."""
        return TsqlNow()

    def clock(self) -> ColumnElement[Any]:
        """Return the time as an expression, because users' statements do not declare the variable."""
        return cast(func.sysutcdatetime(), self.moment)

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Add days, seconds and microseconds separately: DATEADD only takes 32-bit numbers."""
        second, day = const(1_000_000), const(86_400)
        seconds = span.op("/")(second)
        parts = {
            "DAY": seconds.op("/")(day),
            "SECOND": seconds.op("%")(day),
            "MICROSECOND": span.op("%")(second),
        }
        for unit, number in parts.items():
            moment = func.dateadd(literal_column(unit), number, moment, type_=self.moment)
        return moment

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the number of microseconds since 1970."""
        epoch: ColumnElement[Any] = literal_column("CAST('1970-01-01' AS DATETIME2(6))")
        return func.datediff_big(literal_column("MICROSECOND"), epoch, moment, type_=BigInteger())

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look up the path with OPENJSON."""
        return member(document, names)

    def read_json(self, value: Any) -> Any:
        """Return the value that follows its kind."""
        return read_json(value)

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a bound 64-bit FLOAT."""
        return literal(value, Double())

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Append a dot to both sides, because trailing spaces are significant; brackets are escaped."""
        known = collate(plain_text(text).op("+")(literal_column("N'.'")), BYTEWISE)
        return known.like(literal(pattern.replace("[", "\\[") + ".", Text()), escape="\\")

    def indexes(self, table: Table) -> Executable:
        """Read the indexes from the catalog; disabled indexes cannot be used, and a heap has no name."""
        index = TableClause("indexes", column("object_id"), column("name"), column("is_disabled"), schema="sys")
        usable = case((index.c.is_disabled == const(0), const(1)), else_=const(0))
        here = index.c.object_id == func.object_id(literal(self.named(table), Text()), type_=Integer())
        return select(index.c.name, usable.label("usable")).where(here, index.c.name.is_not(None))

    def write_moment(self, moment: datetime | None) -> str | None:
        """Return the moment in UTC as text, in the only format that does not depend on session settings."""
        return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Name the index: rows read in another order would all be locked and then sorted.

        A filtered index can only be named if the query literally contains its condition.
        """
        name = table.info.get(LINE, f"{table.name}_{'heads' if grouped else 'due'}")
        index = self.plain().identifier_preparer.quote(name).replace("%", "%%")
        return found.where(table.c.due_at.is_not(None)).with_hint(table, f"INDEX({index})")

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Put nulls last explicitly in ascending order; in descending order they already come last."""
        return [column.desc()] if descending else [case((column.is_(None), const(1)), else_=const(0)), column]

    def locked(self, query: Select[Any], table: Table) -> Select[Any]:
        """Return the query with a hint in the form of SQLAlchemy's own dialect: T-SQL has no FOR UPDATE."""
        return query.with_hint(table, "WITH (ROWLOCK, UPDLOCK)")

    def shown_moment(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Format the moment with CONVERT, in the ODBC style."""
        return func.convert(literal_column("VARCHAR(19)"), moment, const(120))

    def shown_number(self, number: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the number as NVARCHAR."""
        return cast(number, NVARCHAR(20))

    def lease_failure(self, said: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return JSON with the escaped message between quotes."""
        return func.concat(
            const('{"message":"'),
            func.string_escape(said, const("json")),
            const('","traceback":null,"type":"LeaseEnded"}'),
            type_=self.json,
        )

    # Transactions and errors.

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Take an application lock that ends with the transaction, because a savepoint cannot be queried."""
        # If the driver begins transactions implicitly, the server begins one at the first statement that reads a table.
        connection.exec_driver_sql("SELECT TOP (1) 1 FROM sys.schemas").fetchall()
        connection.exec_driver_sql(
            f"EXEC sp_getapplock @Resource = N'duerow_{mark}', @LockMode = N'Exclusive', @LockOwner = N'Transaction'"
        )

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Return whether the transaction still holds the lock."""
        mode = f"APPLOCK_MODE(N'public', N'duerow_{mark}', N'Transaction')"
        found = connection.exec_driver_sql(f"SELECT CASE WHEN @@TRANCOUNT > 0 THEN {mode} END").scalar_one()
        return bool(found == "Exclusive")

    @contextmanager
    def timed(self, raw: Any, milliseconds: int) -> Iterator[None]:
        """Make cursors created within the block time out after this long, rounded to whole seconds for ODBC."""
        before, raw.timeout = raw.timeout, -(-milliseconds // 1_000)
        try:
            yield
        finally:
            raw.timeout = before

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether the ODBC driver timed out waiting for a response."""
        return state_of(error) == OUT_OF_TIME

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, based on the server's error number or else the SQLSTATE."""
        return explained(error)
