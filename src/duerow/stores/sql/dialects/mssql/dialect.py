"""SQL Server 2019 and later, through pyodbc and aioodbc: one UPDATE … OUTPUT claims, rows that others hold are passed.

Nothing here was carried out by a server yet: the statements were read by people and by a parser of T-SQL. See the
design note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    FromClause,
    Integer,
    Select,
    SmallInteger,
    Table,
    TableClause,
    Text,
    and_,
    bindparam,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
    tuple_,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects.mssql import DATETIME2, NVARCHAR
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.clock import span
from duerow.errors import (
    ConfigurationError,
    Conflict,
    DuerowError,
    NotSupported,
)
from duerow.store import Capabilities, IndexKind, Record, examined
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import LINE, ArrowWay, JsonText, Member, const
from duerow.stores.sql.dialects.identities import asked
from duerow.stores.sql.dialects.mssql.compiler import (
    BYTEWISE,
    CODE_POINTS,
    MOMENT,
    NTH,
    TsqlNow,
    Word,
    bare,
    plain_text,
    tables_of,
    written,
)
from duerow.stores.sql.dialects.mssql.errors import OUT_OF_TIME, explained, state_of
from duerow.stores.sql.dialects.mssql.json_paths import member, read_json
from duerow.stores.sql.dialects.mssql.keys import is_users, typed
from duerow.stores.sql.dialects.mssql.writes import (
    Add,
    IfMissing,
    NeverLocked,
    NumberedInsert,
    Put,
    TsqlChange,
    escaped,
    rows_of,
)
from duerow.stores.sql.dialects.returning import WritesReturnRows

OLDEST: Final = 15
"""SQL Server 2019: the first with collations of UTF-8. All of Azure count as later."""

AZURE: Final = frozenset((5, 8))
"""The editions of the engine that are services of Azure, whose versions say nothing."""

LOCK_WAIT: Final = 30_000
"""Milliseconds for which duerow's own connections wait for a lock before the transaction is carried out again."""

_MOMENT: Final = MOMENT
_LIST: Final = Text()

_FOUND: Final = "ROWLOCK, UPDLOCK, FORCESEEK"
"""Rows that are looked up by their keys, one after the other: a small table is never read, nor locked, as a whole."""

_FREE: Final = "ROWLOCK, UPDLOCK, READPAST, FORCESEEK"
"""As before; what somebody else holds is left to him."""

_encode = msgspec.json.Encoder().encode


class SqlServer(WritesReturnRows):
    """Rows are changed by UPDATE … OUTPUT from the rows that lead to them; an upsert is an UPDATE and an INSERT."""

    name = "mssql"
    names = frozenset(("mssql",))
    capabilities = Capabilities(wakes_consumers=False, receives=True)
    callers: Mapping[str, Caller] = {"pyodbc": Caller("mssql+pyodbc", lambda raw: bool(raw.autocommit))}
    moment: TypeEngine[Any] = _MOMENT
    span: TypeEngine[Any] = BigInteger()
    json = JsonText(f"NVARCHAR(MAX) COLLATE {BYTEWISE}")
    word: TypeEngine[Any] = Word()
    told_word: TypeEngine[Any] = Word()
    text: TypeEngine[Any] = NVARCHAR(700, collation=BYTEWISE)
    bytewise = CODE_POINTS
    checks_json = False
    takes_parts = True
    asks_for_indexes = True
    writes_alone = False
    server_clock = True
    keeps_dead_entries = False
    savepoints: tuple[str, str, str | None] = "SAVE TRANSACTION duerow_row", "ROLLBACK TRANSACTION duerow_row", None
    compares_rows = False
    dropping: Mapping[str, Any] = {"mssql_drop_default": True}
    chunk = 1_000
    most_values: int | None = 2_100
    """A statement that holds 5,000 locks would lock the whole table, and a changed row takes several."""
    chunk_bytes = 8 << 20
    apart: tuple[Executable, Executable] | None = None

    def plain(self) -> SqlDialect:
        """Return the dialect in which statements are written."""
        return written()

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the same for every driver."""
        return written()

    # Time, text and JSON.

    def now(self) -> ColumnElement[Any]:
        """Return the server's time in UTC, the same wherever it stands in a statement."""
        return TsqlNow()

    def clock(self) -> ColumnElement[Any]:
        """Return it as a value: statements of others declare no variable."""
        return cast(func.sysutcdatetime(), self.moment)

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return it as it is: every bound value is written with its type."""
        return moment

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Add days, seconds and microseconds each by themselves: DATEADD takes 32 bits."""
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
        """Return how long it is since 1970."""
        epoch: ColumnElement[Any] = literal_column("CAST('1970-01-01' AS DATETIME2(6))")
        return func.datediff_big(literal_column("MICROSECOND"), epoch, moment, type_=BigInteger())

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the text as it is."""
        return text

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the column as it is: JSON is kept as text."""
        return json

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look the path up with OPENJSON."""
        return member(document, names)

    def read_json(self, value: Any) -> Any:
        """Return what stands behind its kind."""
        return read_json(value)

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a bound FLOAT, of 64 bits."""
        return literal(value, Double())

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Compare with a dot behind both, since trailing spaces count; a bracket means itself."""
        known = collate(plain_text(text).op("+")(literal_column("N'.'")), BYTEWISE)
        return known.like(literal(pattern.replace("[", "\\[") + ".", Text()), escape="\\")

    # Indexes of payload fields.

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """See `create_index`."""
        raise _no_index()

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """See `create_index`."""
        raise _no_index()

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """See `create_index`."""
        raise _no_index()

    def create_index(
        self,
        name: str,
        table: Table,
        names: Sequence[str],
        kind: IndexKind,
        which: ColumnElement[bool],
        apart: bool,
    ) -> Sequence[Any]:
        """Refuse: an index holds a computed column, which can only be of JSON_VALUE, and that tells no kinds apart."""
        raise _no_index()

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """See `create_index`."""
        raise _no_index()

    def indexes(self, table: Table) -> Executable:
        """Read them from the catalogue; one that is disabled cannot be used, and a table without any has no name."""
        index = TableClause("indexes", column("object_id"), column("name"), column("is_disabled"), schema="sys")
        usable = case((index.c.is_disabled == const(0), const(1)), else_=const(0))
        here = index.c.object_id == func.object_id(literal(self._named(table), Text()), type_=Integer())
        return select(index.c.name, usable.label("usable")).where(here, index.c.name.is_not(None))

    # Moments.

    def write_moment(self, moment: datetime | None) -> str | None:
        """Return the moment in UTC as text, in the one form that no setting of a session reads otherwise."""
        return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")

    def write_span(self, length: timedelta | None) -> int | None:
        """Return microseconds."""
        return None if length is None else span(length)

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment in UTC, as it is kept."""
        return None if value is None else value.replace(tzinfo=UTC)

    def sound(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return that they are: a column holds what its type says."""
        return True

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what says that it is in UTC."""
        return _in_utc

    def record(self, row: Sequence[Any]) -> Record:
        """Return the row as a record, its moments in UTC."""
        values: list[Any] = [_in_utc(value) if isinstance(value, datetime) else value for value in row]
        return examined(values)

    # Given rows.

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return OPENJSON of one bound array of rows, beside what is alike: one parameter, where 2,100 are the most."""
        differing = [label for label in columns if label not in alike]
        shown = ["CAST(line.[key] AS INT) AS nth" if differing else "1 AS nth"]
        shown += [_given(f"cell.[{label}]", label, columns[label]) for label in differing]
        shown += [_alike(f":{name}_{label}", label, columns[label]) for label in columns if label in alike]
        rows = f" FROM {_json_rows(name, {label: columns[label] for label in differing})}" if differing else ""
        binds = [bindparam(f"{name}_{label}", type_=columns[label]) for label in columns if label in alike]
        if differing:
            binds.append(bindparam(name, type_=_LIST))
        typed = [column(label, columns[label]) for label in [*differing, *(each for each in columns if each in alike)]]
        query = text(f"SELECT {', '.join(shown)}{rows}")
        return query.bindparams(*binds).columns(column(NTH, Integer()), *typed).subquery(name)

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the columns that differ as JSON text: an array of rows, a single list of values for `among`."""
        if list(columns) == ["value"]:
            return {f"{name}_value": _encode(list(columns["value"])).decode()}
        return {name: _encode(list(zip(*columns.values(), strict=True))).decode()} if columns else {}

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return a condition that nobody executes: see `change_picked`."""
        return column.in_(ids)

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return a condition that nobody executes: see `change_picked`."""
        return [tuple_(*columns).in_(found)]

    def delete_matches(self, message: Table, given: FromClause, ids: Sequence[str]) -> list[ColumnElement[bool]]:
        """Return that both are equal."""
        return [message.c[name] == given.c[name] for name in (*ids, "token")]

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return `IN` of the values of a bound array."""
        value = _given("[value]", "value", column.type)
        query = text(f"SELECT {value} FROM OPENJSON(CAST(:{name}_value AS NVARCHAR(MAX)))")  # noqa: S608 - of names of ours
        listed = query.bindparams(bindparam(f"{name}_value", type_=_LIST)).columns(literal_column("value", column.type))
        return column.in_(select(listed.subquery(f"{name}_listed").c.value))

    def joined(
        self, found: Select[Any], given: FromClause, table: FromClause, match: ColumnElement[bool]
    ) -> Select[Any]:
        """Return a join in which each row of the table is looked up."""
        return found.join_from(given, table, match).with_hint(table, "FORCESEEK")

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return the same join, in the order given."""
        table = next(iter(names.values())).table
        equal = and_(*(column == given.c[name] for name, column in names.items()), *which)
        found = self.joined(select(*shown), given, table, equal)
        return found.with_for_update(of=table) if locked else found

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that they are equal."""
        return ours == theirs

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Name the index: whatever is read in another order has to be sorted, and all of it is locked.

        An index of some rows can be named only where the query says in so many words that it is about these.
        """
        name = table.info.get(LINE, f"{table.name}_{'heads' if grouped else 'due'}")
        index = self.plain().identifier_preparer.quote(name).replace("%", "%%")
        return found.where(table.c.due_at.is_not(None)).with_hint(table, f"INDEX({index})")

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Order by whether it is null: that comes first by itself, and last only in descending order."""
        return [column.desc()] if descending else [case((column.is_(None), const(1)), else_=const(0)), column]

    # Writes, and what they answer.

    def insert(self, table: Table) -> Any:
        """Return an INSERT that numbers messages in the order given."""
        added = NumberedInsert(table)
        if "due_at" in table.c and "place_at" in table.c:
            added.sequence = _ids(table.name, table.schema)
        return added

    def change(
        self,
        table: Table,
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]] = (),
        given: FromClause | None = None,
    ) -> Executable:
        """Return UPDATE … OUTPUT."""
        return TsqlChange(table, given, and_(*which), values, returning, _FOUND)

    def change_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        values: Mapping[str, Any],
        returning: Sequence[ColumnElement[Any]],
    ) -> Executable:
        """Return UPDATE … OUTPUT from the rows that are picked, of which all that the query says is tested again."""
        source, match = self._picked(table, picked)
        return TsqlChange(table, source, match, values, returning, _read(picked))

    def remove(
        self,
        table: Table,
        given: FromClause,
        names: Sequence[str],
        which: Sequence[ColumnElement[bool]] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return DELETE … OUTPUT."""
        match = and_(*(table.c[name] == given.c[name] for name in names), *which)
        return TsqlChange(table, given, match, None, returning, _FOUND)

    def remove_picked(
        self,
        table: Table,
        picked: Select[Any],
        which: Sequence[ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Executable:
        """Return DELETE … OUTPUT of the rows that are picked, as `change_picked`."""
        source, match = self._picked(table, picked)
        return TsqlChange(table, source, match, None, returning, _read(picked))

    def _picked(self, table: Table, picked: Select[Any]) -> tuple[FromClause, ColumnElement[bool]]:
        again = picked.whereclause
        source = picked.subquery("picked")
        keys = [key == source.c[key.key] for key in table.primary_key]
        if again is None or table not in tables_of(picked):
            return source, and_(*keys)
        if LINE in table.info:  # in a form that no index serves: the rows are looked up by their keys alone
            again = case((again, const(1)), else_=const(0)) == const(1)
        return source, and_(*keys, again)

    def locked(self, query: Select[Any], table: Table) -> Select[Any]:
        """Return it with a hint, as SQLAlchemy's own dialect writes hints: T-SQL has no FOR UPDATE."""
        return query.with_hint(table, "WITH (ROWLOCK, UPDLOCK)")

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """Look for each key with a lock that nobody can insert it past, and add the rows whose key is free."""
        names, rows = rows_of(added)
        index, once = f"{added.table.name}_key", added.told is not None and not told_ids
        sequence = None if told_ids else added.sequence
        mixed = told_ids and not getattr(bare(rows.selected_columns["status"]), "is_literal", False)
        return Add(added.table, rows, names, keys, only, returning, index, once, added.order, sequence, mixed)

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Look for the row with such a lock, and add it if there is none."""
        rows = select(*(value.label(name) for name, value in values.items()))
        return Add(table, rows, list(values), [key], None, [key])

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return an UPDATE of the rows that are there, and an INSERT of the others, in one transaction."""
        return Put(added, keys, new, only, ())

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Answer what either of them wrote."""
        answered: Executable = put.returning(*returning)
        return answered

    def wake(self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str) -> None:
        """Nothing to do: consumers poll."""
        return

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the failure of the attempt whose lease ended unsettled, as JSON text."""
        ended = func.convert(literal_column("VARCHAR(19)"), message.c.leased_until, const(120))
        said = func.concat(
            const("was in hand when its worker died: lease of "),
            message.c.leased_by,
            const(" ended at "),
            ended,
            const(" UTC, attempt "),
            message.c.attempts,
            const(" of "),
            func.coalesce(cast(attempts, NVARCHAR(20)), const("any number")),
        )
        return func.concat(
            const('{"message":"'),
            func.string_escape(said, const("json")),
            const('","traceback":null,"type":"LeaseEnded"}'),
            type_=self.json,
        )

    # The tables.

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the sequence, which belong to no transaction."""
        zeros = "REPLICATE(CAST(',0' AS VARCHAR(MAX)), :count - 1)"
        query = text(f"SELECT NEXT VALUE FOR {_ids(message.name, schema)} AS id FROM OPENJSON('[0' + {zeros} + ']')")  # noqa: S608 - of names that were checked
        return query.bindparams(bindparam("count", type_=Integer())).columns(column("id", BigInteger))

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return a column whose default is the next value of a sequence: one that numbers itself takes no ids."""
        default = text(f"NEXT VALUE FOR {_ids(f'{prefix}message', schema)}")
        return Column("id", BigInteger, primary_key=True, autoincrement=False, server_default=default)

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return UPDATE of the sequence of ids, which is the right to take its next value."""
        return [("UPDATE", _ids(f"{prefix}message", schema))] if adds else []

    def ddl(self, statement: Any) -> Any:
        """Say which rows an index is of in T-SQL, and keep a primary key of words apart from the rows."""
        if isinstance(statement, CreateIndex):
            index = statement.element
            where = index.dialect_options["postgresql"]["where"]
            index.dialect_options["mssql"]["where"] = None if where is None else text(_filter(str(where)))
        if isinstance(statement, CreateTable):
            table = statement.element
            if sum(isinstance(key.type, Word) for key in table.primary_key) > 1:
                table.primary_key.dialect_options["mssql"]["clustered"] = False  # which holds 900 bytes at the most
            if statement.if_not_exists:
                return IfMissing(table)
            if "leased_until" in table.c:
                return NeverLocked(table)
        return statement

    def table_exists(self, table: Table) -> Executable:
        """Return a row if the database has the table."""
        name = literal(self._named(table), Text())
        found = func.object_id(name, literal_column("N'U'"), type_=Integer())
        return select(literal_column("1").label("found")).where(found.is_not(None))

    def _named(self, table: Table) -> str:
        return self.plain().identifier_preparer.format_table(table)

    def identity(self, table: Table) -> Executable:
        """Ask for the database, its server, what the server calls it alone, and the table that a name leads to."""
        broker = "(SELECT service_broker_guid FROM sys.databases WHERE database_id = DB_ID())"
        return asked(
            literal_column("DB_NAME()"),
            literal_column("CAST(SERVERPROPERTY('ServerName') AS NVARCHAR(256))"),
            literal_column(f"CAST({broker} AS NVARCHAR(36))"),
            func.object_id(literal(self._named(table), Text()), literal_column("N'U'"), type_=Integer()),
        )

    def migration_lock(self, prefix: str) -> Executable:
        """Return a lock that ends with the transaction."""
        return text(
            "DECLARE @granted INT; "
            f"EXEC @granted = sp_getapplock @Resource = N'{prefix}migrate', @LockMode = N'Exclusive', "
            "@LockOwner = N'Transaction', @LockTimeout = 3600000; "
            "IF @granted < 0 THROW 51222, N'another process migrates for more than an hour', 1;"
        )

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Refuse: see `create_index`."""
        raise _no_index()

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Return the schema, and the sequence of ids."""
        ids = _ids(f"{prefix}message", schema)
        first: list[Any] = []
        if schema:
            name = _quoted(schema)
            said = f"CREATE SCHEMA {name}".replace("'", "''")
            first = [text(f"IF SCHEMA_ID(N'{escaped(schema)}') IS NULL EXEC(N'{_colons(said)}')")]
        create = f"CREATE SEQUENCE {ids} AS BIGINT START WITH 1 INCREMENT BY 1 CACHE 1000"
        return [*first, text(_colons(f"IF OBJECT_ID(N'{escaped(ids)}', N'SO') IS NULL {create}"))]

    def server(self) -> Executable:
        """Ask for the version, for the edition, and for what JSON and plain reads need."""
        asked = {
            "version": "CAST(SERVERPROPERTY('ProductMajorVersion') AS INT)",
            "edition": "CAST(SERVERPROPERTY('EngineEdition') AS INT)",
            "level": "(SELECT compatibility_level FROM sys.databases WHERE database_id = DB_ID())",
            "versioned": "(SELECT is_read_committed_snapshot_on FROM sys.databases WHERE database_id = DB_ID())",
        }
        return select(*(literal_column(written).label(name) for name, written in asked.items()))

    def unfit(self, tables: Sequence[Table], ours: bool) -> Executable | None:
        """Ask for the triggers of a user's table: with any, a statement that changes it cannot answer its rows."""
        if ours:
            return None
        names = ("name", "parent_id", "is_disabled")
        trigger = TableClause("triggers", *(column(name) for name in names), schema="sys")
        of_them = [
            trigger.c.parent_id == func.object_id(literal(self._named(table), Text()), type_=Integer())
            for table in tables
        ]
        return select(trigger.c.name).where(or_(*of_them), trigger.c.is_disabled == const(0))

    def check_tables(self, rows: Sequence[Sequence[Any]]) -> None:
        """Raise if there is any."""
        for (name,) in rows:
            raise ConfigurationError(
                f"the table has the trigger {name}, and SQL Server answers no rows of a statement that changes a table "
                "with a trigger: its rows cannot be claimed; push messages to a queue of duerow's own tables instead"
            )

    def check_server(self, row: Sequence[Any]) -> None:
        """Raise unless it is SQL Server 2019 or later, or Azure's, with OPENJSON, and reads wait for no writer."""
        version, edition, level, versioned = row
        if edition not in AZURE and (version or 0) < OLDEST:
            raise ConfigurationError(
                f"this server is SQL Server of version {version}; duerow needs 15 (2019) or later, for UTF-8"
            )
        if level < 130:
            raise ConfigurationError(
                f"this database has compatibility level {level}, which has no OPENJSON; ALTER DATABASE CURRENT SET "
                "COMPATIBILITY_LEVEL = 150, or any from 130 on"
            )
        if not versioned:
            raise ConfigurationError(
                "in this database reads wait for whoever writes, so that an open transaction that pushed would keep "
                "consumers and settlements waiting: ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON"
            )

    # Transactions and errors.

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Take a lock of the application that is gone with its transaction; a savepoint cannot be looked at."""
        # A driver that begins by itself has the server begin with the first statement that reads a table.
        connection.exec_driver_sql("SELECT TOP (1) 1 FROM sys.schemas").fetchall()
        connection.exec_driver_sql(
            f"EXEC sp_getapplock @Resource = N'duerow_{mark}', @LockMode = N'Exclusive', @LockOwner = N'Transaction'"
        )

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Return whether the transaction still has it."""
        mode = f"APPLOCK_MODE(N'public', N'duerow_{mark}', N'Transaction')"
        found = connection.exec_driver_sql(f"SELECT CASE WHEN @@TRANCOUNT > 0 THEN {mode} END").scalar_one()
        return bool(found == "Exclusive")

    def restore(self, connection: Connection, own: bool) -> None:
        """Nothing to do: the lock was gone with the transaction."""

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return None: here transactions write beside each other."""
        return None

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Leave it to the driver."""
        return "", text, ""

    @contextmanager
    def timed(self, raw: Any, milliseconds: int) -> Iterator[None]:
        """Have cursors that are made within the block give up after so many seconds, as ODBC counts them."""
        before, raw.timeout = raw.timeout, -(-milliseconds // 1_000)
        try:
            yield
        finally:
            raw.timeout = before

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether ODBC's driver gave up waiting for an answer."""
        return state_of(error) == OUT_OF_TIME

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return None: no driver gives its rows as Arrow."""
        return None

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's: by the server's number, else by SQLSTATE."""
        return explained(error)


def _read(picked: Select[Any]) -> str:
    """Return how picked rows are read once more: passing over what others hold, if the query does."""
    asked = picked._for_update_arg
    return _FREE if asked is not None and asked.skip_locked else _FOUND


def _json_rows(name: str, columns: Mapping[str, TypeEngine[Any]]) -> str:
    """Return the rows of a bound JSON array, each an array of cells, with their numbers."""
    typed = ", ".join(
        f"[{label}] {'NVARCHAR(4000)' if is_users(label, kind) else _read_as(kind)} '$[{place}]'"
        for place, (label, kind) in enumerate(columns.items())
    )
    return f"OPENJSON(CAST(:{name} AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ({typed}) AS cell"


def _read_as(kind: TypeEngine[Any]) -> str:
    """Return the type as which a cell is read."""
    match kind:
        case Word():
            return "NVARCHAR(4000)"
        case DATETIME2():
            return "DATETIME2(6)"
        case Boolean():
            return "BIT"
        case BigInteger():
            return "BIGINT"
        case SmallInteger():
            return "SMALLINT"
        case Integer():
            return "INT"
    return "NVARCHAR(MAX)"


def _given(cell: str, label: str, kind: TypeEngine[Any]) -> str:
    """Return a cell as a column of its type."""
    if is_users(label, kind):
        return f"{typed(cell, kind)} AS [{label}]"
    if isinstance(kind, Word):
        return f"CAST(CAST({cell} AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [{label}]"
    if label == "value" and isinstance(kind, Integer):
        return f"CAST({cell} AS {_read_as(kind)}) AS [{label}]"
    if isinstance(kind, Text | NVARCHAR | JsonText):  # else two collations meet, of which neither wins
        return f"{cell} COLLATE {BYTEWISE} AS [{label}]"
    return f"{cell} AS [{label}]"


def _alike(placeholder: str, label: str, kind: TypeEngine[Any]) -> str:
    """Return the one value of a column in which all rows are alike."""
    return f"{typed(placeholder, kind) if is_users(label, kind) else placeholder} AS [{label}]"


def _filter(where: str) -> str:
    """Return which rows an index is of, with T-SQL's names and words."""
    return re.sub(r"\bkey\b", "[key]", where).replace('"group"', "[group]").replace("<> ''", "<> 0x")


def _ids(table: str, schema: str | None) -> str:
    """Return the name of the sequence that numbers the rows of a table."""
    return f"[{table}_id]" if schema is None else f"{_quoted(schema)}.[{table}_id]"


def _quoted(name: str) -> str:
    return "[" + name.replace("]", "]]") + "]"


def _colons(sql: str) -> str:
    return sql.replace(":", "\\:")


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC)


def _no_index() -> NotSupported:
    return NotSupported(
        "an index of a payload field cannot be on SQL Server: leave indexed= out; conditions are served without one"
    )
