"""MariaDB 10.6 and later, through PyMySQL and asyncmy: rows are locked first and then written by their primary keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    URL,
    BigInteger,
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
    column,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import VARCHAR
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateSchema, CreateTable, ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.errors import Conflict
from duerow.store import Capabilities, IndexKind
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import LINE, LONGEST_KEY, ArrowWay, JsonText, Keyed, const
from duerow.stores.sql.dialects.mysql.server import OUT_OF_TIME, Server, code_of, commits_alone, schema_of
from duerow.stores.sql.dialects.mysql.values import LONGEST_WORD, MOMENT
from duerow.stores.sql.dialects.mysql.writes import Writes, ids_of
from duerow.stores.sql.statements.in_parts import Checked


class MariaDB(Writes, Server):
    """A write of rows whose answer matters is two: a locking read, and a write by primary key in one transaction.

    Attributes:
        says_if_exists: whether changes of tables can say IF EXISTS, and IF NOT EXISTS.
        takes_ids: the rights on what hands out ids that taking one needs.
    """

    name = "mysql"
    names = frozenset(("mysql", "mariadb"))
    capabilities = Capabilities(wakes_consumers=False, receives=True)
    callers: Mapping[str, Caller] = {
        "pymysql": Caller("mysql+pymysql", commits_alone),
        "asyncmy": Caller("mysql+asyncmy", commits_alone, awaited=True),
    }
    moment: TypeEngine[Any] = MOMENT
    span: TypeEngine[Any] = BigInteger()
    json = JsonText("LONGTEXT")
    word: TypeEngine[Any] = VARCHAR(LONGEST_WORD)
    told_word: TypeEngine[Any] = Text()
    text: TypeEngine[Any] = VARCHAR(700)
    checks_json = False
    partial_indexes = False
    derived: Mapping[str, tuple[TypeEngine[Any], str]] = {
        "line": (SmallInteger(), "IF(due_at IS NULL, NULL, `group` IS NOT NULL)"),
        "rests": (SmallInteger(), "IF(due_at IS NULL AND behind_at IS NULL, 1, NULL)"),
        "stopped": (SmallInteger(), "IF(due_at IS NULL AND behind_at IS NULL AND status <> 'dead', 1, NULL)"),
        "live_key": (VARCHAR(LONGEST_WORD), "IF(status IN ('new', 'error'), `key`, NULL)"),
        "live_group": (VARCHAR(LONGEST_WORD), "IF(status IN ('new', 'error'), `group`, NULL)"),
        "lent_group": (VARCHAR(LONGEST_WORD), "IF(leased_by IS NOT NULL, `group`, NULL)"),
    }
    says_if_exists = True
    takes_ids = "SELECT, INSERT"
    asks_for_indexes = True
    answers_held = True
    keys: tuple[type, ...] = (int, UUID, date)  # whether an index finds text depends on collations
    takes_parts = True
    ranges_by_rows = False
    writes_alone = False
    server_clock = True
    keeps_dead_entries = False
    savepoints: tuple[str, str, str | None] = "SAVEPOINT duerow_row", "ROLLBACK TO SAVEPOINT duerow_row", None
    chunk = 5_000
    most_values: int | None = None  # drivers write them into the text
    chunk_bytes = 2 << 20  # a packet has 16 MiB unless the server says otherwise, and a character up to 8 bytes
    apart: tuple[Executable, Executable] | None = None

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect, as of MariaDB, with placeholders by position."""
        return mysql.dialect(is_mariadb=True, paramstyle="format")

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the same for each driver, whether or not a connection was made yet.

        Values go by position, so that each is escaped only for the statements that have it.
        """
        return self.plain()

    # Reads.

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return the first in the index: min() of rows that are not told by constants reads them all."""
        return select(column).where(*which).order_by(column).limit(const(1))

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Order by whether it is null: that comes first by itself, and last only in descending order."""
        return [column.desc()] if descending else [column.is_(None), column]

    def below(
        self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any], held: bool
    ) -> ColumnElement[Any]:
        """Compare the first of all with the bound: that is no constant, so rows from it on would all be looked at."""
        first = query.order_by(id).limit(const(1))
        first = first.with_for_update(read=True, skip_locked=True) if held else first
        return func.nullif(func.least(first.scalar_subquery(), bound), bound)

    def none_below(self, query: Select[Any], id: ColumnElement[Any], bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return that there is no first, or that it is not below."""
        return self.below(query, id, bound, held=False).is_(None)

    def in_group(self, rows: FromClause, grouped: bool) -> ColumnElement[bool]:
        """Return what the index of lines has; nothing without a due time is in it."""
        found: ColumnElement[bool] = rows.c.line == const(int(grouped))
        return found

    def live_key(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column that is null unless the message is alive."""
        return rows.c.live_key, (rows.c.live_key.is_not(None),)

    def live_group(self, rows: FromClause, live: ColumnElement[bool]) -> Keyed:
        """Return the column that is null unless the message is alive."""
        return rows.c.live_group, ()

    def lent_group(self, rows: FromClause) -> Keyed:
        """Return the column that is null unless somebody has the message."""
        return rows.c.lent_group, ()

    def resting(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return what the index of those that rest has."""
        return (rows.c.rests == const(1),)

    def stopped(self, rows: FromClause) -> tuple[ColumnElement[bool], ...]:
        """Return what the index of those that are stopped has."""
        return (rows.c.stopped == const(1),)

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Name the index: whatever is read in another order has to be sorted, and all of it is locked."""
        index = self.plain().identifier_preparer.quote(table.info.get(LINE, f"{table.name}_due"))
        return found.with_hint(table, f"FORCE INDEX ({index})")

    def by_group(self, found: Select[Any], table: Table) -> Select[Any]:
        """Return it as it is."""
        return found

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the failure of the attempt whose lease ended unsettled, as JSON text."""
        ended = func.date_format(message.c.leased_until, const("%Y-%m-%d %H:%i:%s"))
        said = func.concat(
            const("was in hand when its worker died: lease of "),
            message.c.leased_by,
            const(" ended at "),
            ended,
            const(" UTC, attempt "),
            message.c.attempts,
            const(" of "),
            func.coalesce(attempts, const("any number")),
        )
        return func.concat(
            const('{"message":'),
            func.json_quote(said),
            const(',"traceback":null,"type":"LeaseEnded"}'),
            type_=self.json,
        )

    def wake(self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str) -> None:
        """Nothing to do: consumers poll."""
        return

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the sequence, which belong to no transaction."""
        ids = ids_of(message.name, schema)
        numbers = "JSON_TABLE(CONCAT('[0', REPEAT(',0', :count - 1), ']'), '$[*]' COLUMNS (n INT PATH '$')) AS numbers"
        query = text(f"SELECT NEXTVAL({ids}) AS id FROM {numbers}")  # noqa: S608 - of names that were checked
        return query.bindparams(bindparam("count", type_=Integer())).columns(column("id", BigInteger))

    # The tables.

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return the column that was made for the index."""
        kinds: dict[IndexKind, TypeEngine[Any]] = {"text": Text(), "boolean": Text()}
        return literal_column(f"{table.name}.`{name}`", type_=kinds.get(kind, Double()))

    def create_index(
        self,
        name: str,
        table: Table,
        names: Sequence[str],
        kind: IndexKind,
        which: ColumnElement[bool],
        apart: bool,
    ) -> Sequence[Any]:
        """Make a column of the key, which takes no room in the rows, and its index, while others go on writing."""
        compiler = self.plain().statement_compiler(self.plain(), None)
        readable = func.json_valid(table.c.payload) == const(1)  # what is nested too deep makes a write fail otherwise
        held = case((and_(which, readable), self.key(table.c.payload, names, kind)))
        written = compiler.process(held, include_table=False, literal_binds=True).replace(":", "\\:")
        typed = {"text": f"VARCHAR({LONGEST_KEY})", "boolean": "VARCHAR(5)"}.get(kind, "DOUBLE")
        named, column = self._named(table), f"`{name}` {typed} GENERATED ALWAYS AS ({written}) VIRTUAL"
        return [
            self._repeatable(f"ALTER TABLE {named} ADD COLUMN", column, self._column(table, name), there=False),
            self._repeatable(
                "CREATE INDEX", f"`{name}` ON {named} (`{name}`, id)", self._index(table, name), there=False
            ),
        ]

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Take both away."""
        named = self._named(table)
        return [
            self._repeatable(f"ALTER TABLE {named} DROP INDEX", f"`{name}`", self._index(table, name), there=True),
            self._repeatable(f"ALTER TABLE {named} DROP COLUMN", f"`{name}`", self._column(table, name), there=True),
        ]

    def _repeatable(self, verb: str, what: str, look: Executable, there: bool) -> Any:
        """Return a change of the tables that can run again, since each is final by itself.

        Args:
            verb: what it begins with.
            what: the rest.
            look: a query that answers a row if the thing is there.
            there: whether it must be, or must not.
        """
        if not self.says_if_exists:
            return Checked(look, text(f"{verb} {what}"), there)
        return text(f"{verb} IF {'' if there else 'NOT '}EXISTS {what}")

    def _named(self, table: Table) -> str:
        return self.plain().identifier_preparer.format_table(table)

    def indexes(self, table: Table) -> Executable:
        """Read them from the catalogue; all can be used."""
        return self._things("statistics", "index_name", table).distinct()

    def _index(self, table: Table, name: str) -> Executable:
        return self._things("statistics", "index_name", table, name)

    def _column(self, table: Table, name: str) -> Executable:
        return self._things("columns", "column_name", table, name)

    def _things(self, catalogue: str, kind: str, table: Table, name: str | None = None) -> Select[Any]:
        """Return a query for what a table has, or for one thing of it."""
        names = ("table_schema", "table_name", kind)
        known = TableClause(catalogue, *(column(name) for name in names), schema="information_schema")
        here = (known.c.table_schema == schema_of(table), known.c.table_name == table.name)
        found = select(known.c[kind], const(1)).where(*here)
        return found if name is None else found.where(known.c[kind] == const(name))

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return a column whose default is the next value of a sequence of its own."""
        default = text(f"NEXTVAL({ids_of(f'{prefix}message', schema)})")
        return Column("id", BigInteger, primary_key=True, autoincrement=False, server_default=default)

    def number_column(self) -> Column[int]:
        """Return a column that numbers the rows of its table by itself."""
        return Column("id", BigInteger, primary_key=True, autoincrement=True)

    def ddl(self, statement: Any) -> Any:
        """Let it run again, since each is final by itself; and have the tables compare text as the promises need it."""
        if isinstance(statement, CreateTable | CreateIndex):
            statement.if_not_exists = True
        if isinstance(statement, CreateTable):
            options = {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": self.bytewise}
            statement.element.kwargs.update(options)
        return statement

    def table_exists(self, table: Table) -> Executable:
        """Return a row if the database has the table."""
        known = TableClause("tables", column("table_schema"), column("table_name"), schema="information_schema")
        return select(literal_column("1")).where(
            known.c.table_schema == schema_of(table), known.c.table_name == table.name
        )

    def migration_lock(self, prefix: str) -> Executable:
        """Return a lock of the session; a change of the schema ends the transaction."""
        return select(func.get_lock(self._lock(prefix, "migrate"), const(3_600)))

    def migration_unlock(self, prefix: str) -> Executable:
        """Return what gives it back."""
        return select(func.release_lock(self._lock(prefix, "migrate")))

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return a lock of the session."""
        name = self._lock(prefix, "index")
        return select(func.get_lock(name, const(0))), select(func.release_lock(name))

    def _lock(self, prefix: str, what: str) -> ColumnElement[Any]:
        """Return the name of a lock."""
        return func.concat(func.coalesce(func.database(), const("")), const(f".{prefix}{what}"))

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Return the database, and the sequence of ids."""
        ids: Any = text(f"CREATE SEQUENCE IF NOT EXISTS {ids_of(f'{prefix}message', schema)} CACHE 1000 ENGINE=InnoDB")
        return [*([CreateSchema(schema, if_not_exists=True)] if schema else []), ids]

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return the rights on what hands out ids, which has the name of a table."""
        return [(self.takes_ids, ids_of(f"{prefix}message", schema))] if adds else []

    # Transactions and errors.

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Set a savepoint, which is gone with its transaction."""
        connection.exec_driver_sql(f"SAVEPOINT duerow_{mark}")

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Release the savepoint; return whether there was one."""
        try:
            connection.exec_driver_sql(f"RELEASE SAVEPOINT duerow_{mark}")
        except DBAPIError as error:
            if code_of(error.orig) != _NO_SAVEPOINT:
                raise
            return False
        return True

    def restore(self, connection: Connection, own: bool) -> None:
        """Nothing to do: the savepoint was gone with the transaction."""

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return None: here transactions write beside each other."""
        return None

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Give the read's own statement another max_statement_time."""
        return "", f"SET STATEMENT max_statement_time={milliseconds / 1_000:.3f} FOR {text}", ""

    def timed(self, raw: Any, milliseconds: int) -> AbstractContextManager[None]:
        """Leave it to the server."""
        return nullcontext()

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether a statement was ended for its time: MariaDB's number, and MySQL's."""
        return code_of(error) in OUT_OF_TIME

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return None: no driver gives its rows as Arrow."""
        return None


_NO_SAVEPOINT: Final = 1305
