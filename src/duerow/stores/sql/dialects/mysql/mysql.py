"""MySQL 8.0.19 and later: like MariaDB, but without sequences, RETURNING and SET STATEMENT, and with its own syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import eq
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Numeric,
    Select,
    Table,
    TableClause,
    Text,
    and_,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import CHAR
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.elements import BinaryExpression
from sqlalchemy.sql.visitors import replacement_traverse

from duerow.errors import ConfigurationError
from duerow.store import IndexKind
from duerow.stores.sql.dialects.base import Member, const
from duerow.stores.sql.dialects.mysql.mariadb import MariaDB
from duerow.stores.sql.dialects.mysql.mysql_writes import (
    AddMessages,
    AddRows,
    AddThenRead,
    ChangeInOrder,
    Numbered,
    Numbers,
    RemoveSafely,
    ids_table,
    in_order,
    ordered,
    passing,
    reads,
    single,
)
from duerow.stores.sql.dialects.mysql.server import numbers_of
from duerow.stores.sql.dialects.mysql.values import AsFloat, step
from duerow.stores.sql.dialects.mysql.writes import MySqlChange, bound
from duerow.stores.sql.statements.in_parts import FOUND, AddIfMissing, Checked, Then

OLDEST: Final = (8, 0, 19)
"""The first version whose documentation covers everything used here."""


_MOST_INTEGER: Final[ColumnElement[Any]] = literal_column("9223372036854775807")


def written(paramstyle: str) -> SqlDialect:
    """Return the SQLAlchemy dialect in the state it has after connecting to MySQL 8.

    Args:
        paramstyle: how placeholders are written.
    """
    made = mysql.dialect(paramstyle=paramstyle)
    made.use_mysql_for_share = made.supports_for_update_of = True
    return made


_IDENTIFIED_BY: Final = (
    "COALESCE((SELECT NULLIF(variable_value, '') FROM performance_schema.global_variables"
    " WHERE variable_name = 'group_replication_group_name'), @@server_uuid)"
)
"""The servers of a replication group share one identity; any other server has its own."""


class MySQL(MariaDB):
    """The differences of MySQL from MariaDB."""

    product = "MySQL"
    bytewise = "utf8mb4_0900_bin"
    identified_by = _IDENTIFIED_BY
    answers_held = False
    numbers_given = True
    says_if_exists = False
    takes_ids = "SELECT, INSERT, DELETE"
    changes = ChangeInOrder
    removes = RemoveSafely

    def plain(self) -> SqlDialect:
        """Return the SQLAlchemy dialect for MySQL 8, with positional placeholders."""
        return written("format")

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Set max_execution_time only for the read's statement, as a hint in its first SELECT."""
        return "", text.replace("SELECT", f"SELECT /*+ MAX_EXECUTION_TIME({milliseconds}) */", 1), ""

    def check_version(self, version: str) -> None:
        """Raise unless it is MySQL 8.0.19 or later."""
        if numbers_of(version) < OLDEST:
            raise ConfigurationError(f"this server is MySQL {version}; duerow needs 8.0.19 or later")

    def server(self) -> Executable:
        """Query the same values; a future version will remove the variable that READ COMMITTED depends on."""
        names = ("variable_name", "variable_value")
        known = TableClause("session_variables", *(column(name) for name in names), schema="performance_schema")
        logged = select(known.c.variable_value).where(known.c.variable_name == const("binlog_format"))
        logs: ColumnElement[Any] = literal_column("@@log_bin")
        packet: ColumnElement[Any] = literal_column("@@max_allowed_packet")
        return select(
            func.version(),
            logs.label("logs"),
            func.coalesce(logged.scalar_subquery(), const("ROW")).label("format"),
            packet.label("packet"),
        )

    # JSON.

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Look up the path with JSON_EXTRACT, which returns MySQL's own JSON; JSON_TYPE returns its kind."""
        value = self._extract(document, names)
        kind = func.json_type(value, type_=Text())
        plain = func.json_unquote(value, type_=Text())
        is_unsigned = kind == const("UNSIGNED INTEGER")  # the kind of most numbers that need more than 32 bits
        is_whole = or_(kind == const("INTEGER"), and_(is_unsigned, cast(plain, Numeric(20, 0)) <= _MOST_INTEGER))
        return Member(
            absent=func.coalesce(kind, const("NULL")) == const("NULL"),
            text=collate(case((kind == const("STRING"), plain)), self.bytewise),
            boolean=collate(case((kind == const("BOOLEAN"), plain)), self.bytewise),
            whole=case((is_whole, cast(value, BigInteger))),
            real=case((is_whole, null()), (or_(kind == const("DOUBLE"), is_unsigned), AsFloat(value))),
            json=cast(value, CHAR(charset="utf8mb4")),
        )

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Return the value if it is of this kind."""
        if kind in ("text", "boolean"):
            return super().key(document, names, kind)
        value = self._extract(document, names)
        numbers = [const("INTEGER"), const("UNSIGNED INTEGER"), const("DOUBLE")]
        return case((func.json_type(value, type_=Text()).in_(numbers), AsFloat(value)))

    def _extract(self, document: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[Any]:
        """Return the value at a path; null if the text is not JSON, or has a number that no type can hold."""
        path = literal("$" + "".join(map(step, names)), Text())
        readable = case((func.json_valid(document), document))
        return func.json_extract(readable, path, type_=Text())

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return a function that marks a moment as UTC, even if it is text: in MySQL 8.0, NULLIF turns it into text."""
        return _in_utc

    # Reads.

    def first(self, column: ColumnElement[Any], *which: ColumnElement[bool]) -> Select[Any]:
        """Return the first entry in the index, ordered by its leading columns too: MySQL would sort for each row."""
        begin = [each.left for each in which if isinstance(each, BinaryExpression) and each.operator is eq]
        return select(column).where(*which).order_by(*begin, column).limit(const(1))

    def by_group(self, found: Select[Any], table: Table) -> Select[Any]:
        """Name the index: the planner may prefer another one, which starts with the queue and contains all its rows."""
        index = self.plain().identifier_preparer.quote(f"{table.name}_group")
        return found.with_hint(table, f"FORCE INDEX ({index})")

    # Writes.

    def insert(self, table: Table) -> Any:
        """Return an INSERT; for messages, an INSERT that assigns their ids."""
        is_messages = "due_at" in table.c and "place_at" in table.c
        return AddMessages(table, self._numbers(table.name, table.schema)) if is_messages else AddRows(table)

    def _numbers(self, message: str, schema: str | None) -> Numbers:
        ids = ids_table(message, schema)
        found = self.given(FOUND, {"id": BigInteger()}, frozenset())
        return Numbers(ids, RemoveSafely(ids, found, ids.c.id == found.c.id))

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return the statement that generates ids with the table for them."""
        return self._numbers(message.name, schema)

    def _kept(self, table: Table, values: Mapping[str, Any]) -> list[Column[Any]]:
        """Return the columns whose old values must be passed in so that assignments can be ordered, numbers first."""
        read, kept = reads(table, values), []
        while len(order := in_order(read)) < len(read):
            circle = [name for name in values if name not in order]
            told = min(circle, key=lambda name: not isinstance(table.c[name].type, Integer))
            read = {name: others - {told} for name, others in read.items()}
            kept.append(table.c[told])
        return kept

    def _write(
        self, table: Table, values: Mapping[str, Any], given: FromClause | None, which: Sequence[ColumnElement[bool]]
    ) -> MySqlChange:
        kept = self._kept(table, values)
        if not kept:
            return super()._write(table, values, given, which)
        if which:
            raise NotImplementedError("on MySQL no old values can be told beside given ones")
        found = self.given(FOUND, {each.name: each.type for each in (*table.primary_key, *kept)}, frozenset())

        def tell(element: Any, **_: Any) -> Any:
            return found.c[element.name] if isinstance(element, Column) and element in set(kept) else None

        told = {name: replacement_traverse(bound(value), {}, tell) for name, value in values.items()}
        return self.changes(table, found, self._is_one(table, found), told)

    def remove_where(
        self, table: Table, which: Sequence[ColumnElement[bool]], returning: Sequence[ColumnElement[Any]]
    ) -> Executable:
        """Read and lock the rows, and delete them."""
        picked = select(*table.primary_key).where(*which).with_for_update()
        return self.remove_picked(table, picked, which, returning)

    def add_free(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        only: ColumnElement[bool],
        returning: Sequence[ColumnElement[Any]],
        told_ids: bool,
    ) -> Executable:
        """If a row's key is taken, lock the row that holds it; the ids that exist afterward were added."""
        if isinstance(added, Numbered):
            return single(added) if returning else added.passing()
        return AddThenRead(passing(added))

    def add_new(self, table: Table, values: Mapping[str, ColumnElement[Any]], key: ColumnElement[Any]) -> Executable:
        """Look up the row, add it if it is missing, and look it up again."""
        look = select(key).where(key == values[key.name]).with_for_update()
        return AddIfMissing(look, AddRows(table).values(dict(values)))

    def put(
        self,
        added: Any,
        keys: Sequence[ColumnElement[Any]],
        new: Callable[[Any], Mapping[str, Any]],
        only: ColumnElement[bool] | None = None,
    ) -> Any:
        """Return the INSERT with ON DUPLICATE KEY UPDATE; the new values come from the query that it inserts."""
        values = dict(new(_Told(**added.told)))
        if only is not None:
            values = {name: case((only, value), else_=added.table.c[name]) for name, value in values.items()}
        return added.on_duplicate_key_update(list(ordered(added.table, values).items()))

    def answer_put(self, put: Any, returning: Sequence[ColumnElement[Any]], written: ColumnElement[bool]) -> Executable:
        """Read the rows that match `written` after the INSERT."""
        match = and_(*(key == put.given.c[key.name] for key in put.table.primary_key), written)
        return Then(put, self.joined(select(*returning), put.given, put.table, match).with_for_update(of=put.table))

    # The tables.

    def id_column(self, prefix: str, schema: str | None) -> Column[int]:
        """Return a column without a default: ids come from a separate table."""
        return Column("id", BigInteger, primary_key=True, autoincrement=False)

    def _made_ids(self, message: str, schema: str | None) -> Any:
        """Return the statement that creates the table that generates ids."""
        return self.ddl(CreateTable(ids_table(message, schema)))

    def ddl(self, statement: Any) -> Any:
        """Make a statement repeatable by looking for the index first.

        For JSON nested deeper than 100 levels, JSON_VALID fails instead of returning 0, so no column accepts such JSON.
        """
        if isinstance(statement, CreateIndex):
            index: Any = statement.element
            return Checked(self._index(index.table, index.name), statement, there=False)
        if isinstance(statement, CreateTable):
            table: Any = statement.element
            for name in [each.name for each in table.columns if each.type is self.json]:
                table.append_constraint(CheckConstraint(func.json_valid(table.c[name]) >= const(0)))
        return super().ddl(statement)

    def _lock(self, prefix: str, what: str) -> ColumnElement[Any]:
        """Return a name shortened to the length that MySQL allows."""
        return func.sha2(super()._lock(prefix, what), const(224))


def _in_utc(value: Any) -> datetime:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC)


class _Told(dict[str, Any]):
    """The expressions of a row to be inserted, by column name."""

    __getattr__ = dict.__getitem__
