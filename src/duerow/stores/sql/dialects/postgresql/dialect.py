"""PostgreSQL 13 and later, through psycopg, psycopg2 or asyncpg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    URL,
    BigInteger,
    BindParameter,
    ColumnClause,
    ColumnElement,
    Connection,
    FromClause,
    Insert,
    Integer,
    Interval,
    Select,
    Table,
    TableClause,
    Text,
    and_,
    bindparam,
    case,
    cast,
    column,
    extract,
    false,
    func,
    literal,
    literal_column,
    null,
    select,
    true,
)
from sqlalchemy import Sequence as IdSequence
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import OID, insert
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql.base import Executable

from duerow.clock import FIRST, LAST
from duerow.errors import DuerowError
from duerow.store import Capabilities, Record, examined
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import ArrowWay, Dialect, JsonText, const
from duerow.stores.sql.dialects.base.server import asked
from duerow.stores.sql.dialects.postgresql.arrays import PostgresArrays, Unseen
from duerow.stores.sql.dialects.postgresql.errors import QUERY_CANCELED, explained, state_of
from duerow.stores.sql.dialects.postgresql.json_paths import PostgresJson
from duerow.stores.sql.dialects.postgresql.storage import CreateStored

BLIND_WAYS: Final = ("enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_hashjoin", "enable_mergejoin")
"""The kinds of plans that PostgreSQL's planner avoids, if possible, on duerow's own connections.

Every statement of duerow's can use an index. A table that was never analyzed, or was empty when a statement was
prepared, misleads the planner: a claim of 1,000 out of 300,000 rows took seconds because it sorted the queue.
"""

MARK: Final = "duerow.turn"
"""The variable that marks a handler's transaction."""

_CATALOGUE: Final = "pg_catalog"


def _quoted(table: Table) -> str:
    return f'"{table.schema}"."{table.name}"' if table.schema else f'"{table.name}"'


def _ids(prefix: str, schema: str | None) -> IdSequence:
    """Return the sequence that generates message ids."""
    return IdSequence(f"{prefix}message_id_seq", schema=schema)


def _commits_alone(raw: Any) -> bool:
    return bool(raw.autocommit) and int(raw.info.transaction_status) == 0  # libpq's code for an idle connection


class PostgreSQL(PostgresJson, PostgresArrays, Dialect):
    """A claim is one statement: ids are picked with FOR UPDATE SKIP LOCKED, then updated by primary key."""

    name = "postgresql"
    capabilities = Capabilities(receives=True)
    callers: Mapping[str, Caller] = {
        "psycopg": Caller("postgresql+psycopg", _commits_alone),
        "psycopg2": Caller("postgresql+psycopg2", _commits_alone),
    }
    json = told_json = JsonText("JSON")
    bytewise = "C"
    keeps_dead_entries = True
    writes_in_parts = sends_ahead = True
    names_at_once = 500
    savepoints: tuple[str, str, str | None] = (
        "SAVEPOINT duerow_row",
        "ROLLBACK TO SAVEPOINT duerow_row",
        "SET CONSTRAINTS ALL IMMEDIATE",
    )
    apart: tuple[Executable, Executable] | None = (
        select(func.set_config("duerow.apart", "on", true())),
        select(func.coalesce(func.current_setting("duerow.apart", true()), "") != "on"),
    )

    def now(self) -> ColumnElement[Any]:
        """Return the time when the statement began, even late in a long transaction."""
        return func.statement_timestamp(type_=self.moment)

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment that is later by a span."""
        microseconds = span.op("*", return_type=Interval())(literal_column("INTERVAL '1 microsecond'"))
        return moment.op("+", return_type=self.moment)(microseconds)

    def unseen(self, value: BindParameter[Any]) -> ColumnElement[Any]:
        """Return the value as a subquery.

        For a value that the planner sees, PostgreSQL plans a prepared statement anew each time if it expects fewer rows
        than for any value. So it does for claims where many messages wait, and that takes longer than the claim.
        """
        return Unseen(value)

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the number as a subquery, which is evaluated once for all rows; earlier moments become FIRST."""
        first: ColumnElement[Any] = literal_column(f"TIMESTAMPTZ '{FIRST.year:04}-{FIRST:%m-%d} 00:00:00+00'")
        seconds = extract("epoch", func.greatest(moment, first, type_=self.moment))
        return select(cast(seconds * const(1_000_000), BigInteger)).scalar_subquery()

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return text cast to JSON, which also validates it; a column of given rows is already JSON."""
        return text if isinstance(text, ColumnClause) and text.type is self.told_json else cast(text, self.json)

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the JSON cast to text, so that the driver does not parse it."""
        return cast(json, Text)

    def indexes(self, table: Table) -> Executable:
        """Read the indexes from the catalog; an index whose creation was interrupted cannot be used."""
        index = TableClause(
            "pg_index", column("indexrelid"), column("indrelid"), column("indisvalid"), schema=_CATALOGUE
        )
        known = TableClause("pg_class", column("oid"), column("relname"), schema=_CATALOGUE)
        names = select(known.c.relname, index.c.indisvalid).join_from(index, known, known.c.oid == index.c.indexrelid)
        return names.where(index.c.indrelid == func.to_regclass(_quoted(table)))

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return LIKE unchanged, with its own escape character."""
        return text.like(literal(pattern, Text()))

    def same_group(self, group: ColumnElement[Any], given: ColumnElement[Any]) -> tuple[ColumnElement[bool], ...]:
        """Return a range that contains one group, so that `group_order` differs from the order of ids.

        Otherwise, if there are few groups, PostgreSQL expects to find a row of the group soon, and reads all messages
        in the order of ids.
        """
        return group >= given, group <= given

    def group_order(self, rows: FromClause) -> tuple[ColumnElement[Any], ...]:
        """Return the order of the index of groups, which the primary key does not provide."""
        return rows.c.group, rows.c.id

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment in UTC, whatever the session's time zone is."""
        if value is None or value.tzinfo is UTC:
            return value  # type: ignore[no-any-return]
        try:
            moment: datetime = value.astimezone(UTC)
        except OverflowError:  # drivers other than psycopg return infinity as Python's last datetime
            return FIRST if value.year == FIRST.year else LAST
        return moment

    def record(self, row: Sequence[Any]) -> Record:
        """Return the row as a record, with its moments in UTC."""
        if row[15].tzinfo is UTC:
            return examined(row)
        return super().record(row)

    def shown_moment(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Format the moment with TO_CHAR, in UTC whatever the session's time zone is."""
        return func.to_char(func.timezone(const("UTC"), moment), const("YYYY-MM-DD HH24:MI:SS"))

    def json_string(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Convert the text with TO_JSON."""
        return func.to_json(text)

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a LATERAL query with a limit, which has only one possible plan; a join might read a whole index."""
        equal = (column == given.c[name] for name, column in names.items())
        one = select(*shown).where(*equal, *which).correlate(given).limit(const(1))
        found = (one.with_for_update() if locked else one).lateral("found")
        return select(*found.c).select_from(given.join(found, true()))

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Hide the comparison in a CASE: waiting rows have similar tokens, which would mislead the planner."""
        return case((ours == theirs, true()), else_=false())

    def equal_given(self, table: Table, given: FromClause, names: Sequence[str]) -> list[ColumnElement[bool]]:
        """Return a join that looks up the row for each given row by its key; tokens are compared afterwards."""
        return [
            self.same(table.c.token, given.c.token) if name == "token" else self.keyed(table.c[name], given.c[name])
            for name in names
        ]

    def insert(self, table: Table) -> Insert:
        """Return PostgreSQL's INSERT."""
        return insert(table)

    def wake(self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str) -> Select[Any]:
        """Notify only if a consumer is sleeping: at commit, NOTIFY takes a lock on the whole server."""
        return select(func.pg_notify(const(channel), waiting.c.queue)).where(which, waiting.c.until > now)

    def announce(self, channel: str, name: ColumnElement[str]) -> Select[Any]:
        """Notify even if there may be no listener: such announcements are rare."""
        return select(func.pg_notify(const(channel), name))

    def create_table(self, table: Table, storage: Mapping[str, float]) -> CreateTable:
        """Return the statement with the storage parameters."""
        return CreateStored(table, storage)

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the table's sequence."""
        ids = _ids(prefix, schema)
        counted = func.generate_series(1, self.unseen(bindparam("count", type_=Integer()))).table_valued("n")
        return select(ids.next_value()).select_from(counted)

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return USAGE on the schema, and on the sequence of ids: a batch with keys takes its ids in advance."""
        preparer = self.plain().identifier_preparer
        named = [("USAGE", f"SCHEMA {preparer.quote(schema)}")] if schema else []
        ids = preparer.format_sequence(_ids(prefix, schema))
        return [*named, *([("USAGE", f"SEQUENCE {ids}")] if adds else [])]

    def table_exists(self, table: Table) -> Executable:
        """Query a row if the name resolves to a table on the search path.

        Reading pg_class finds tables that others have just created; to_regclass alone may use outdated cache entries.
        """
        known = TableClause("pg_class", column("oid"), schema=_CATALOGUE)
        return select(literal(1)).select_from(known).where(known.c.oid == func.to_regclass(_quoted(table)))

    def identity(self, table: Table) -> Executable:
        """Query the database, its server's start time, and the table that a name resolves to on the search path.

        Any user may read the start time, and no two servers start in the same microsecond; the system identifier would
        not do, because copies of a server share it. The ids of database and table distinguish search paths.
        """
        here: Any = literal_column("pg_catalog.current_database()")
        number = "(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"
        started = "extract(epoch FROM pg_catalog.pg_postmaster_start_time())"
        leads_to = cast(func.to_regclass(literal(_quoted(table), Text())), OID)
        told: tuple[Any, ...] = (here, literal_column(started), literal_column(number), leads_to)
        return asked(*(cast(one, Text) for one in told))

    def has_rights(self, needed: Sequence[tuple[Table, str]]) -> Executable:
        """Query each right on each table; a table that is not there makes the answer NULL or false."""
        found = {table: func.to_regclass(literal(_quoted(table), Text())) for table, _ in needed}
        held = (func.has_table_privilege(cast(found[table], OID), const(right)) for table, right in needed)
        return select(and_(*held))

    def migration_lock(self, prefix: str) -> Executable:
        """Take an advisory lock that ends with the transaction."""
        return select(func.pg_advisory_xact_lock(func.hashtext(f"{prefix}migrate")))

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Take and release an advisory lock of the session, because the index is created outside a transaction."""
        name = func.hashtext(f"{prefix}index")
        return select(func.pg_try_advisory_lock(name)), select(func.pg_advisory_unlock(name))

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Set a variable for the transaction, and lift the restrictions on plans for the handler's queries."""
        freely = [func.set_config(way, null(), true()) for way in (BLIND_WAYS if own else ())]
        connection.execute(select(func.set_config(MARK, mark, true()), *freely))

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Read the variable, and restore the restrictions on plans for the settlement that follows."""
        blindly = [func.set_config(way, const("off"), true()) for way in (BLIND_WAYS if own else ())]
        found = connection.execute(select(func.current_setting(MARK, true()), *blindly)).scalar_one()
        return bool(found == mark)

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Set the transaction's statement_timeout for the duration of the read; a shorter timeout is kept."""
        before = "current_setting('statement_timeout')"
        shorter = f"{before}::interval > '0 s' AND {before}::interval < '{milliseconds} ms'"
        limit = f"CASE WHEN {shorter} THEN {before} ELSE '{milliseconds}' END"
        keep = f"set_config('duerow.statement_timeout', {before}, true)"
        return (
            f"SELECT {keep}, set_config('statement_timeout', {limit}, true)",
            text,
            "SELECT set_config('statement_timeout', current_setting('duerow.statement_timeout'), true)",
        )

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether the error is query_canceled."""
        return state_of(error) == QUERY_CANCELED

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return adbc-driver-postgresql, which accepts libpq URLs, with the planner settings of other connections."""
        return ArrowWay(
            driver="adbc_driver_postgresql",
            address=url.set(drivername="postgresql").render_as_string(hide_password=False),
            prepare="SELECT " + ", ".join(f"set_config('{way}', 'off', false)" for way in (*BLIND_WAYS, "jit")),
            written=postgresql.dialect(paramstyle="numeric_dollar"),  # type: ignore[no-untyped-call]
        )

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's error, based on its SQLSTATE."""
        return explained(error)
