"""PostgreSQL 13 and later, through psycopg, psycopg2 or asyncpg."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    URL,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Double,
    FromClause,
    Insert,
    Integer,
    Interval,
    Numeric,
    Select,
    Table,
    TableClause,
    Text,
    and_,
    any_,
    bindparam,
    case,
    cast,
    collate,
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
from sqlalchemy import Dialect as SqlDialect
from sqlalchemy import (
    Sequence as IdSequence,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import OID, insert
from sqlalchemy.schema import CreateSchema, ExecutableDDLElement
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.clock import FIRST, LAST, span
from duerow.errors import Conflict, DuerowError
from duerow.store import Capabilities, IndexKind, Record, examined
from duerow.stores.sql.connections.callers import Caller
from duerow.stores.sql.dialects.base import LONGEST_KEY, ArrowWay, JsonText, Member, const, decode_json
from duerow.stores.sql.dialects.identities import asked
from duerow.stores.sql.dialects.postgresql.errors import QUERY_CANCELED, explained, state_of
from duerow.stores.sql.dialects.returning import WritesReturnRows

_SEPARATOR = "\x1f"

_PLACE = re.compile(r"\s*[-+]?[0-9].*", re.DOTALL)
"""Names that may be read as the place of an element in a list."""

BLIND_WAYS: Final = ("enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_hashjoin", "enable_mergejoin")
"""What PostgreSQL may not plan on duerow's own connections unless there is no other way.

Every statement of ours is served by an index. A table that was never analysed, or was empty when a statement was
prepared, misleads the planner: a claim of 1,000 out of 300,000 rows took seconds by sorting the queue.
"""

MARK: Final = "duerow.turn"
"""The variable that marks the transaction of a handler."""


_INTEGER = "^-?[0-9]{1,19}$"
_LEAST_INTEGER, _MOST_INTEGER = "-9223372036854775808", "9223372036854775807"
_PLAIN = "^(-?[0-9]{1,15}([.][0-9]{1,15})?)$"
"""Numbers as JSON text that every float type can hold; without an exponent."""

_MODEST = "^[^eE]+([eE][-+]?[0-9]{1,3})?$"
_LONGEST = 400
"""Numbers as JSON text that NUMERIC can hold: with a small exponent and not too many digits."""

_CATALOGUE: Final = "pg_catalog"

_MOST, _LEAST = "1.7976931348623157e308", "4.9406564584124654e-324"
"""The largest finite float, and the smallest above zero."""


def _word(value: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a JSON value as text, a string without its quotes."""
    return value.op("#>>", return_type=Text())(literal_column("CAST('{}' AS TEXT[])"))


def _led_to(document: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[Any]:
    """Return what names lead to: found by one walk through the text, where `->` walks through it for each name.

    One walk would take a name of digits for a place in a list.
    """
    words = [cast(literal(name, Text()), Text) for name in names]
    if len(names) > 1 and not any(_PLACE.fullmatch(name) for name in names):
        return func.json_extract_path(document, *words, type_=JsonText("JSON"))
    for word in words:
        document = document.op("->")(word)
    return document


def _is_modest(word: ColumnElement[str]) -> ColumnElement[bool]:
    """Return whether NUMERIC can hold a number."""
    return and_(func.length(word) <= const(_LONGEST), word.op("~", is_comparison=True)(const(_MODEST)))


def _float(word: ColumnElement[str]) -> ColumnElement[Any]:
    """Return a modest number as a float; null beyond the largest, zero below the smallest."""
    size = func.abs(cast(word, Numeric))
    return case(
        (size > cast(literal_column(_MOST), Numeric), null()),
        (size < cast(literal_column(_LEAST), Numeric), cast(const(0), Double)),
        else_=cast(word, Double),
    )


def _quoted(table: Table) -> str:
    return f'"{table.schema}"."{table.name}"' if table.schema else f'"{table.name}"'


def _ids(prefix: str, schema: str | None) -> IdSequence:
    """Return the sequence that numbers messages."""
    return IdSequence(f"{prefix}message_id_seq", schema=schema)


def _array_of(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return a bound array literal as an array."""
    return cast(cast(bindparam(name, type_=Text()), Text), ARRAY(kind))


def _literal(values: Sequence[Any]) -> str:
    """Return values as the text of a PostgreSQL array."""
    if all(type(value) is int for value in values):
        return "{" + ",".join(map(str, values)) + "}"
    if all(type(value) is str for value in values):
        joined = _SEPARATOR.join(values)
        if joined.count(_SEPARATOR) == len(values) - 1:
            return '{"' + _escaped(joined).replace(_SEPARATOR, '","') + '"}'
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    return "NULL" if value is None else f'"{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _commits_alone(raw: Any) -> bool:
    return bool(raw.autocommit) and int(raw.info.transaction_status) == 0  # libpq's idle


class PostgreSQL(WritesReturnRows):
    """One statement claims: the ids are picked with FOR UPDATE SKIP LOCKED, then updated by primary key."""

    name = "postgresql"
    names = frozenset(("postgresql",))
    capabilities = Capabilities(receives=True)
    callers: Mapping[str, Caller] = {
        "psycopg": Caller("postgresql+psycopg", _commits_alone),
        "psycopg2": Caller("postgresql+psycopg2", _commits_alone),
    }
    moment: TypeEngine[Any] = DateTime(timezone=True)
    span: TypeEngine[Any] = BigInteger()  # microseconds: the days of an INTERVAL are as long as the session's zone says
    json = JsonText("JSON")
    bytewise = "C"
    word: TypeEngine[Any] = Text(collation="C")
    checks_json = False
    writes_alone = False
    server_clock = True
    keeps_dead_entries = True
    savepoints: tuple[str, str, str | None] = (
        "SAVEPOINT duerow_row",
        "ROLLBACK TO SAVEPOINT duerow_row",
        "SET CONSTRAINTS ALL IMMEDIATE",
    )
    apart: tuple[Executable, Executable] | None = (
        select(func.set_config("duerow.apart", "on", true())),
        select(func.coalesce(func.current_setting("duerow.apart", true()), "") != "on"),
    )

    def plain(self) -> SqlDialect:
        """Return SQLAlchemy's dialect for printing statements without values."""
        return postgresql.dialect()  # type: ignore[no-untyped-call]

    def written(self, driver: SqlDialect, raw: bool) -> SqlDialect:
        """Return the driver's own."""
        return driver

    def now(self) -> ColumnElement[Any]:
        """Return the time at which the statement began, also late in a long transaction."""
        return func.statement_timestamp(type_=self.moment)

    def clock(self) -> ColumnElement[Any]:
        """Return the same."""
        return self.now()

    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment so much later."""
        microseconds = span.op("*", return_type=Interval())(literal_column("INTERVAL '1 microsecond'"))
        return moment.op("+", return_type=self.moment)(microseconds)

    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return it as a subquery, which is evaluated once for all rows; one before all years as the first of them."""
        first: ColumnElement[Any] = literal_column(f"TIMESTAMPTZ '{FIRST.year:04}-{FIRST:%m-%d} 00:00:00+00'")
        seconds = extract("epoch", func.greatest(moment, first, type_=self.moment))
        return select(cast(seconds * const(1_000_000), BigInteger)).scalar_subquery()

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return text cast to JSON, which also checks it."""
        return cast(text, self.json)

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the text itself, whatever the driver would make of JSON."""
        return cast(json, Text)

    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Walk down with `->`, which takes names only, and cast nothing that was not found castable before.

        A number is first taken as NUMERIC, which holds all that `_MODEST` lets through, to see whether it is a float.
        """
        value = _led_to(document, names)
        kind = func.json_typeof(value)
        word = _word(value)
        is_number = kind == const("number")
        within = cast(word, Numeric).between(literal_column(_LEAST_INTEGER), literal_column(_MOST_INTEGER))
        is_whole = case((and_(is_number, word.op("~", is_comparison=True)(const(_INTEGER))), within), else_=false())
        return Member(
            absent=func.coalesce(kind, const("null")) == const("null"),
            text=collate(case((kind == const("string"), word)), self.bytewise),
            boolean=collate(case((kind == const("boolean"), word)), self.bytewise),
            whole=case((is_whole, cast(word, Numeric))),
            real=case((is_whole, null()), (and_(is_number, _is_modest(word)), _float(word))),
            json=cast(value, Text),
        )

    def key(self, document: ColumnElement[Any], names: Sequence[str], kind: IndexKind) -> ColumnElement[Any]:
        """Walk down as `member` does; a number is held as the float next to it.

        Each walk reads the whole document, and each claim makes an entry: for plain numbers one walk is enough, since
        in JSON's own text a string has quotes.
        """
        value = document
        for name in names:
            value = value.op("->")(cast(const(name), Text))
        type_, word = func.json_typeof(value), _word(value)
        match kind:
            case "text":
                return collate(case((type_ == const("string"), func.left(word, const(LONGEST_KEY)))), self.bytewise)
            case "boolean":
                return collate(case((type_ == const("boolean"), word)), self.bytewise)
        plain = func.substring(cast(value, Text), const(_PLAIN), type_=Text())
        odd = case((and_(type_ == const("number"), _is_modest(word)), _float(word)))
        return func.coalesce(cast(plain, Double), odd, type_=Double())

    def key_of(self, number: int | float) -> ColumnElement[Any]:
        """Return the float next to it."""
        return self.real(float(number))

    def indexes(self, table: Table) -> Executable:
        """Read them from the catalogue; one whose making broke off cannot be used."""
        index = TableClause(
            "pg_index", column("indexrelid"), column("indrelid"), column("indisvalid"), schema=_CATALOGUE
        )
        known = TableClause("pg_class", column("oid"), column("relname"), schema=_CATALOGUE)
        names = select(known.c.relname, index.c.indisvalid).join_from(index, known, known.c.oid == index.c.indexrelid)
        return names.where(index.c.indrelid == func.to_regclass(_quoted(table)))

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a bound DOUBLE PRECISION, which loses nothing of a float."""
        return cast(literal(value, Double()), Double)

    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return LIKE as it is, with its own escape character."""
        return text.like(literal(pattern, Text()))

    def read_json(self, value: Any) -> Any:
        """Return the text decoded."""
        return None if value is None else decode_json(value)

    def write_moment(self, moment: datetime | None) -> datetime | None:
        """Return the moment as it is: drivers take aware datetimes."""
        return moment

    def write_span(self, length: timedelta | None) -> int | None:
        """Return microseconds."""
        return None if length is None else span(length)

    def read_moment(self, value: Any) -> datetime | None:
        """Return the moment in UTC, whatever the session's time zone is."""
        if value is None or value.tzinfo is UTC:
            return value  # type: ignore[no-any-return]
        try:
            moment: datetime = value.astimezone(UTC)
        except OverflowError:  # drivers other than psycopg give what is infinite as the last moment that Python has
            return FIRST if value.year == FIRST.year else LAST
        return moment

    def moment_reader(self, value: Any) -> Callable[[Any], Any] | None:
        """Return None if the driver gave this moment in UTC already."""
        return None if value.tzinfo is UTC else self.read_moment

    def record(self, row: Sequence[Any]) -> Record:
        """Return the row as a record, its moments in UTC."""
        if row[15].tzinfo is UTC:
            return examined(row)
        return examined([self.read_moment(value) if isinstance(value, datetime) else value for value in row])

    def given(self, name: str, columns: Mapping[str, TypeEngine[Any]], alike: frozenset[str]) -> Any:
        """Return unnest of one array for each column that differs, beside what is alike."""
        differing = {label: kind for label, kind in columns.items() if label not in alike}
        same = [
            cast(bindparam(f"{name}_{label}", type_=columns[label]), columns[label]).label(label)
            for label in columns
            if label in alike
        ]
        if not differing:
            return select(*same).subquery(name)
        arrays = (_array_of(f"{name}_{label}", kind) for label, kind in differing.items())
        rows = func.unnest(*arrays).table_valued(*(column(label, kind) for label, kind in differing.items()))
        if not same:
            return rows.render_derived(name=name)
        unnested = rows.render_derived(name=f"{name}_rows")
        return select(*unnested.c, *same).select_from(unnested).subquery(name)

    def pack(self, name: str, columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return one array literal for each column: for thousands of values far faster than any driver's own way."""
        return {f"{name}_{label}": _literal(values) for label, values in columns.items()}

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return `= ANY (ARRAY(…))`: evaluated once, so its limit holds, and always served by the column's index."""
        return column == any_(func.array(ids.scalar_subquery(), type_=ARRAY(BigInteger)))

    def one_of_rows(self, columns: Sequence[ColumnElement[Any]], found: Select[Any]) -> list[ColumnElement[bool]]:
        """Return a join with a WITH query, which is evaluated once since it locks, and looked up by primary key."""
        due = found.cte("due")
        return [column == picked for column, picked in zip(columns, due.c, strict=True)]

    def delete_matches(self, message: Table, given: FromClause, ids: Sequence[str]) -> list[ColumnElement[bool]]:
        """Return a join, which is looked up by primary key from the given rows."""
        return [*(message.c[id] == given.c[id] for id in ids), self.same(message.c.token, given.c.token)]

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        """Return `= ANY (array)`: as `IN (SELECT …)` a whole index may be read, and compared with each value.

        What no index serves is compared with each row: then the array is read once, in a query of its own, and not
        for each row, which takes as long as to read the row.
        """
        values = _array_of(f"{name}_value", column.type)
        if not isinstance(column, Column):
            values = cast(select(values).scalar_subquery(), ARRAY(column.type))
        return column == any_(values)

    def look_up(
        self,
        shown: Sequence[ColumnElement[Any]],
        given: FromClause,
        which: Sequence[ColumnElement[bool]],
        names: Mapping[str, ColumnElement[Any]],
        locked: bool,
    ) -> Select[Any]:
        """Return a LATERAL query with a limit, which can be planned in one way only; a join may read a whole index."""
        equal = (column == given.c[name] for name, column in names.items())
        one = select(*shown).where(*equal, *which).correlate(given).limit(const(1))
        found = (one.with_for_update() if locked else one).lateral("found")
        return select(*found.c).select_from(given.join(found, true()))

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Hide the comparison in a CASE: tokens of waiting rows are all alike, which would mislead the planner."""
        return case((ours == theirs, true()), else_=false())

    def insert(self, table: Table) -> Insert:
        """Return PostgreSQL's INSERT."""
        return insert(table)

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the failure of the attempt whose lease ended unsettled, as JSON text."""
        ended = func.to_char(func.timezone(const("UTC"), message.c.leased_until), const("YYYY-MM-DD HH24:MI:SS"))
        said = func.concat(
            const("was in hand when its worker died: lease of "),
            message.c.leased_by,
            const(" ended at "),
            ended,
            const(" UTC, attempt "),
            message.c.attempts,
            const(" of "),
            func.coalesce(cast(attempts, Text), const("any number")),
        )
        text = func.concat(const('{"message":'), func.to_json(said), const(',"traceback":null,"type":"LeaseEnded"}'))
        return cast(text, self.json)

    def wake(self, waiting: Table, which: ColumnElement[bool], now: ColumnElement[Any], channel: str) -> Select[Any]:
        """Notify only where a consumer sleeps: NOTIFY takes a lock of the whole server at commit."""
        return select(func.pg_notify(const(channel), waiting.c.queue)).where(which, waiting.c.until > now)

    def next_ids(self, message: Table, prefix: str, schema: str | None) -> Executable:
        """Return values of the table's own sequence."""
        ids = _ids(prefix, schema)
        counted = func.generate_series(1, cast(bindparam("count", type_=Integer()), Integer)).table_valued("n")
        return select(ids.next_value()).select_from(counted)

    def beside_tables(self, prefix: str, schema: str | None, adds: bool) -> Sequence[tuple[str, str]]:
        """Return USAGE of the schema, and of the sequence of ids: a batch with keys asks it for them beforehand."""
        preparer = self.plain().identifier_preparer
        named = [("USAGE", f"SCHEMA {preparer.quote(schema)}")] if schema else []
        ids = preparer.format_sequence(_ids(prefix, schema))
        return [*named, *([("USAGE", f"SEQUENCE {ids}")] if adds else [])]

    def table_exists(self, table: Table) -> Executable:
        """Return a row if the name leads to a table on the search path.

        To read pg_class is to hear of tables that others have made since: to_regclass alone may answer from memory.
        """
        known = TableClause("pg_class", column("oid"), schema=_CATALOGUE)
        return select(literal(1)).select_from(known).where(known.c.oid == func.to_regclass(_quoted(table)))

    def identity(self, table: Table) -> Executable:
        """Ask for the database, when its server was started, and the table that a name leads to on the search path.

        Anybody may ask for the start, and no two servers share that microsecond; copies share the system's identifier.
        The numbers of database and table tell a search path from another one.
        """
        here: Any = literal_column("pg_catalog.current_database()")
        number = "(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"
        started = "extract(epoch FROM pg_catalog.pg_postmaster_start_time())"
        leads_to = cast(func.to_regclass(literal(_quoted(table), Text())), OID)
        told: tuple[Any, ...] = (here, literal_column(started), literal_column(number), leads_to)
        return asked(*(cast(one, Text) for one in told))

    def migration_lock(self, prefix: str) -> Executable:
        """Return an advisory lock that ends with the transaction."""
        return select(func.pg_advisory_xact_lock(func.hashtext(f"{prefix}migrate")))

    def index_lock(self, prefix: str) -> tuple[Executable, Executable]:
        """Return an advisory lock of the session, since an index is made outside of a transaction."""
        name = func.hashtext(f"{prefix}index")
        return select(func.pg_try_advisory_lock(name)), select(func.pg_advisory_unlock(name))

    def prelude(self, prefix: str, schema: str | None) -> Sequence[ExecutableDDLElement]:
        """Return the schema."""
        return [CreateSchema(schema, if_not_exists=True)] if schema else []

    def mark(self, connection: Connection, mark: str, own: bool) -> None:
        """Set a variable that lasts as long as the transaction; let the handler's own queries be planned freely."""
        freely = [func.set_config(way, null(), true()) for way in (BLIND_WAYS if own else ())]
        connection.execute(select(func.set_config(MARK, mark, true()), *freely))

    def marked(self, connection: Connection, mark: str, own: bool) -> bool:
        """Read the variable, and have the settlement that follows planned as all of ours."""
        blindly = [func.set_config(way, const("off"), true()) for way in (BLIND_WAYS if own else ())]
        found = connection.execute(select(func.current_setting(MARK, true()), *blindly)).scalar_one()
        return bool(found == mark)

    def restore(self, connection: Connection, own: bool) -> None:
        """Nothing to do: what was set lasted as long as the transaction."""

    def outwaited(self, error: BaseException) -> Conflict | None:
        """Return None: here transactions write beside each other."""
        return None

    def limited(self, text: str, milliseconds: int) -> tuple[str, str, str]:
        """Have the transaction's statement_timeout be that for the length of the read; a shorter one is kept."""
        before = "current_setting('statement_timeout')"
        shorter = f"{before}::interval > '0 s' AND {before}::interval < '{milliseconds} ms'"
        limit = f"CASE WHEN {shorter} THEN {before} ELSE '{milliseconds}' END"
        keep = f"set_config('duerow.statement_timeout', {before}, true)"
        return (
            f"SELECT {keep}, set_config('statement_timeout', {limit}, true)",
            text,
            "SELECT set_config('statement_timeout', current_setting('duerow.statement_timeout'), true)",
        )

    def timed(self, raw: Any, milliseconds: int) -> AbstractContextManager[None]:
        """Leave it to the server."""
        return nullcontext()

    def ran_out_of_time(self, error: BaseException) -> bool:
        """Return whether it is query_canceled."""
        return state_of(error) == QUERY_CANCELED

    def arrow(self, url: URL) -> ArrowWay | None:
        """Return adbc-driver-postgresql, which takes what libpq does; plan as on duerow's other connections."""
        return ArrowWay(
            driver="adbc_driver_postgresql",
            address=url.set(drivername="postgresql").render_as_string(hide_password=False),
            prepare="SELECT " + ", ".join(f"set_config('{way}', 'off', false)" for way in (*BLIND_WAYS, "jit")),
            written=postgresql.dialect(paramstyle="numeric_dollar"),  # type: ignore[no-untyped-call]
        )

    def explain(self, error: BaseException) -> DuerowError | None:
        """Return duerow's error for a driver's, by SQLSTATE."""
        return explained(error)
