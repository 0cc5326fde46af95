"""MariaDB 10.6 and later, through PyMySQL and asyncmy: rows are locked first and then written by primary key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
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
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.store import IndexKind
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import LINE, LONGEST_KEY, Dialect, JsonText, const
from duerow.stores.sql.dialects.base.reads import DerivedColumns
from duerow.stores.sql.dialects.mysql.server import OUT_OF_TIME, MySqlInstance, code_of, commits_alone
from duerow.stores.sql.dialects.mysql.values import LONGEST_WORD, MOMENT
from duerow.stores.sql.dialects.mysql.writes import MySqlWrites, ids_of
from duerow.stores.sql.statements.in_parts import Checked

_NO_SAVEPOINT: Final = 1305
"""The error for a savepoint that does not exist."""


class MariaDB(DerivedColumns, MySqlWrites, MySqlInstance, Dialect):
    """A write that returns rows is two statements: a locking read, then a write by primary key, in one transaction.

    Attributes:
        says_if_exists: whether ALTER TABLE supports IF EXISTS and IF NOT EXISTS.
        takes_ids: the rights that a role needs to generate ids.
    """

    name = "mysql"
    names = frozenset(("mysql", "mariadb"))
    callers: Mapping[str, Caller] = {
        "pymysql": Caller("mysql+pymysql", commits_alone),
        "asyncmy": Caller("mysql+asyncmy", commits_alone, awaited=True),
    }
    moment: TypeEngine[Any] = MOMENT
    json = JsonText("LONGTEXT")
    word: TypeEngine[Any] = VARCHAR(LONGEST_WORD)
    text: TypeEngine[Any] = VARCHAR(700)
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
    keys: tuple[type, ...] = (int, UUID, date)  # whether an index can find text depends on collations
    takes_parts = True
    ranges_by_rows = False
    most_values: int | None = None  # drivers write the values into the text
    chunk_bytes = 2 << 20  # a packet is 16 MiB by default, and a character up to 8 bytes

    def plain(self) -> SqlDialect:
        """Return the SQLAlchemy dialect for MariaDB, with positional placeholders."""
        return mysql.dialect(is_mariadb=True, paramstyle="format")

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the same dialect for each driver, whether or not it has connected yet.

        Values are passed by position, so that each is escaped only for the statements that use it.
        """
        return self.plain()

    # Reads.

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return the first entry in the index: min() reads all rows unless they are selected by constants."""
        return select(column).where(*which).order_by(column).limit(const(1))

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Put nulls last explicitly in ascending order; in descending order they already come last."""
        return [column.desc()] if descending else [column.is_(None), column]

    def below(self, query: Select[Any], rows: FromClause, bound: ColumnElement[Any], held: bool) -> ColumnElement[Any]:
        """Compare the group's first id with the bound: MariaDB would read all rows from a non-constant bound on."""
        first = query.order_by(*self.group_order(rows)).limit(const(1))
        first = first.with_for_update(read=True, skip_locked=True) if held else first
        return func.nullif(func.least(first.scalar_subquery(), bound), bound)

    def none_below(self, query: Select[Any], rows: FromClause, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return the condition that the group has no first id, or that it is not below the bound."""
        return self.below(query, rows, bound, held=False).is_(None)

    def by_line(self, found: Select[Any], table: Table, grouped: bool) -> Select[Any]:
        """Name the index: rows read in another order would all be locked and then sorted."""
        index = self.plain().identifier_preparer.quote(table.info.get(LINE, f"{table.name}_due"))
        return found.with_hint(table, f"FORCE INDEX ({index})")

    def shown_moment(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Format the moment with DATE_FORMAT."""
        return func.date_format(moment, const("%Y-%m-%d %H:%i:%s"))

    def shown_number(self, number: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the number unchanged: CONCAT accepts numbers."""
        return number

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the sequence, which does not take part in transactions."""
        ids = ids_of(message.name, schema)
        numbers = "JSON_TABLE(CONCAT('[0', REPEAT(',0', :count - 1), ']'), '$[*]' COLUMNS (n INT PATH '$')) AS numbers"
        query = text(f"SELECT NEXTVAL({ids}) AS id FROM {numbers}")  # noqa: S608 - built from checked names
        return query.bindparams(bindparam("count", type_=Integer())).columns(column("id", BigInteger))

    # The tables.

    def indexed_key(self, table: Table, name: str, names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return the column that was created for the index."""
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
        """Create a virtual column for the key, which takes no space in the rows, and its index; writes continue."""
        compiler = self.plain().statement_compiler(self.plain(), None)
        readable = func.json_valid(table.c.payload) == const(1)  # otherwise a write of JSON nested too deep would fail
        held = case((and_(which, readable), self.key(table.c.payload, names, kind)))
        written = compiler.process(held, include_table=False, literal_binds=True).replace(":", "\\:")
        typed = {"text": f"VARCHAR({LONGEST_KEY})", "boolean": "VARCHAR(5)"}.get(kind, "DOUBLE")
        named, column = self.named(table), f"`{name}` {typed} GENERATED ALWAYS AS ({written}) VIRTUAL"
        return [
            self._repeatable(f"ALTER TABLE {named} ADD COLUMN", column, self._column(table, name), there=False),
            self._repeatable(
                "CREATE INDEX", f"`{name}` ON {named} (`{name}`, id)", self._index(table, name), there=False
            ),
        ]

    def drop_index(self, name: str, table: Table, apart: bool) -> Sequence[Any]:
        """Drop the index and its virtual column."""
        named = self.named(table)
        return [
            self._repeatable(f"ALTER TABLE {named} DROP INDEX", f"`{name}`", self._index(table, name), there=True),
            self._repeatable(f"ALTER TABLE {named} DROP COLUMN", f"`{name}`", self._column(table, name), there=True),
        ]

    def _repeatable(self, verb: str, what: str, look: Executable, there: bool) -> Any:
        """Return a schema change that can safely be repeated, because each one commits implicitly.

        Args:
            verb: the first words of the statement.
            what: the rest of the statement.
            look: a query that returns a row if the object exists.
            there: whether the object must exist, or must not.
        """
        if not self.says_if_exists:
            return Checked(look, text(f"{verb} {what}"), there)
        return text(f"{verb} IF {'' if there else 'NOT '}EXISTS {what}")

    def indexes(self, table: Table) -> Executable:
        """Read the indexes from the catalog; all of them can be used."""
        return self._things("statistics", "index_name", table).distinct()

    def _index(self, table: Table, name: str) -> Executable:
        return self._things("statistics", "index_name", table, name)

    def _column(self, table: Table, name: str) -> Executable:
        return self._things("columns", "column_name", table, name)

    def _things(self, catalogue: str, kind: str, table: Table, name: str | None = None) -> Select[Any]:
        """Return a query for the columns or indexes of a table, or for one of them."""
        names = ("table_schema", "table_name", kind)
        known = TableClause(catalogue, *(column(name) for name in names), schema="information_schema")
        here = (known.c.table_schema == self.schema_of(table), known.c.table_name == table.name)
        found = select(known.c[kind], const(1)).where(*here)
        return found if name is None else found.where(known.c[kind] == const(name))

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return a column whose default is the next value of the table's own sequence."""
        default = text(f"NEXTVAL({ids_of(f'{prefix}message', schema)})")
        return Column("id", BigInteger, primary_key=True, autoincrement=False, server_default=default)

    def number_column(self) -> Column[int]:
        """Return an AUTO_INCREMENT column."""
        return Column("id", BigInteger, primary_key=True, autoincrement=True)

    def ddl(self, statement: Any) -> Any:
        """Make a statement repeatable, because each change commits implicitly; make tables compare text bytewise."""
        if isinstance(statement, CreateTable | CreateIndex):
            statement.if_not_exists = True
        if isinstance(statement, CreateTable):
            options = {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": self.bytewise}
            statement.element.kwargs.update(options)
        return statement

    def migration_lock(self, prefix: str) -> Executable:
        """Take a lock of the session, because a schema change ends the transaction."""
        return select(func.get_lock(self._lock(prefix, "migrate"), const(3_600)))

    def migration_unlock(self, prefix: str) -> Executable:
        """Return the statement that releases the lock."""
        return select(func.release_lock(self._lock(prefix, "migrate")))

    def _lock(self, prefix: str, what: str) -> ColumnElement[Any]:
        """Return the name of a lock."""
        return func.concat(func.coalesce(func.database(), const("")), const(f".{prefix}{what}"))

    def prelude(self, prefix: str, schema: str | None) -> Sequence[Any]:
        """Create the database, and the sequence or table that generates ids."""
        return [*super().prelude(prefix, schema), self._made_ids(f"{prefix}message", schema)]

    def _made_ids(self, message: str, schema: str | None) -> Any:
        """Return the statement that creates the sequence of ids."""
        return text(f"CREATE SEQUENCE IF NOT EXISTS {ids_of(message, schema)} CACHE 1000 ENGINE=InnoDB")

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return the rights on the sequence or table that generates ids, which is named like a table."""
        return [(self.takes_ids, ids_of(f"{prefix}message", schema))] if adds else []

    # Transactions and errors.

    def has_no_savepoint(self, error: BaseException | None) -> bool:
        """Return whether the error has the number for a missing savepoint."""
        return code_of(error) == _NO_SAVEPOINT

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Set max_statement_time only for the read's statement."""
        return "", f"SET STATEMENT max_statement_time={milliseconds / 1_000:.3f} FOR {text}", ""

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether a statement was stopped at its time limit, based on MariaDB's or MySQL's error number."""
        return code_of(error) in OUT_OF_TIME
