"""How statements are written in T-SQL: the parts where SQLAlchemy's own compiler would need to know the tables.

T-SQL has no boolean values, no row values, no FOR UPDATE, and no clock that is guaranteed to return the same time
twice in a statement. The compiler here replaces each of them with a T-SQL equivalent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Alias,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    Integer,
    Join,
    Label,
    Select,
    SmallInteger,
    Table,
    TableClause,
    Text,
    and_,
    case,
    literal_column,
    or_,
)
from sqlalchemy import select as select
from sqlalchemy.dialects.mssql import DATETIME2
from sqlalchemy.dialects.mssql.base import MSDialect, MSIdentifierPreparer, MSSQLCompiler, MSTypeCompiler
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import (
    AsBoolean,
    BinaryExpression,
    BooleanClauseList,
    ClauseList,
    False_,
    Grouping,
    Null,
    True_,
    Tuple,
    UnaryExpression,
)
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.util import ClauseAdapter
from sqlalchemy.types import UserDefinedType

from duerow.stores.sql.dialects.base import LINE, JsonText

CODE_POINTS: Final = "code points"
"""Marks text to be compared by code point, including trailing spaces; see `Points`."""

BYTEWISE: Final = "Latin1_General_100_BIN2"
UTF8: Final = "Latin1_General_100_BIN2_UTF8"

LONGEST_WORD: Final = 350
"""Code units of UTF-16: 512 bytes of UTF-8 in at most 255 characters never need more."""

WORD_BYTES: Final = "utf-16-le"
"""The encoding of a `Word`."""

NTH: Final = "nth"
"""The column of given rows that numbers them in order."""

_PREDICATES: Final = frozenset(
    (
        *(operators.eq, operators.ne, operators.lt, operators.le, operators.gt, operators.ge),
        *(operators.is_, operators.is_not, operators.in_op, operators.not_in_op),
        *(operators.like_op, operators.not_like_op, operators.between_op, operators.not_between_op),
    )
)
_STRICTLY: Final[dict[Any, Any]] = {
    **{operators.lt: operators.lt, operators.le: operators.lt},
    **{operators.gt: operators.gt, operators.ge: operators.gt},
}
"""For each comparison of rows, the comparison of their first values, which decides unless those are equal."""

_Compiling: Final[Any] = MSSQLCompiler
MOMENT: Final[Any] = DATETIME2(precision=6)  # type: ignore[no-untyped-call]


class Word(UserDefinedType[str]):
    """Text stored as its bytes in UTF-16, so that it is compared byte for byte.

    SQL Server converts NVARCHAR to these bytes and back without loss, whatever the database's collation is.
    """

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return the column's type in DDL and casts."""
        return f"VARBINARY({2 * LONGEST_WORD})"


class TsqlNow(FunctionElement[datetime]):
    """The server's time, read once before the statement."""

    type = MOMENT
    inherit_cache = True


class Points(FunctionElement[Any]):
    """Text as bytes of UTF-8, which sort in the order of code points."""

    inherit_cache = True


class WordOf(FunctionElement[Any]):
    """Text as a `Word`."""

    type = Word()
    inherit_cache = True


class TextOf(FunctionElement[Any]):
    """A `Word` as text."""

    type = Text()
    inherit_cache = True


class NextId(FunctionElement[int]):
    """The next number of a sequence, optionally in the order of some columns."""

    type = BigInteger()
    inherit_cache = False

    def __init__(self, sequence: str, order: Sequence[ColumnElement[Any]]) -> None:
        super().__init__()
        self.sequence, self.order = sequence, order


class Compiler(MSSQLCompiler):
    """Writes statements for SQL Server; the time is a variable of the batch."""

    reads_time = False

    def __init__(self, *args: Any, **kw: Any) -> None:
        _Compiling.__init__(self, *args, **kw)
        if self.reads_time and isinstance(getattr(self, "string", None), str):
            self.string = f"DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); {self.string}"

    # Conditions and boolean values.

    def condition(self, element: Any, **kw: Any) -> str:
        """Return an element for a place where T-SQL requires a condition."""
        if isinstance(element, True_ | False_):
            return "1 = 1" if isinstance(element, True_) else "1 = 0"
        written: str = self.process(element, **kw)
        return written if is_predicate(element) else f"{written} = 1"

    def value(self, element: Any, **kw: Any) -> str:
        """Return an element for a place where T-SQL requires a value: a condition becomes 1 or 0, and unknown 0."""
        written: str = self.process(element, **kw)
        return f"CASE WHEN {written} THEN 1 ELSE 0 END" if is_predicate(element) else written

    def visit_case(self, clause: Any, **kw: Any) -> str:
        """Write CASE, whose branches consist of conditions and values."""
        whens = "".join(f"WHEN {self.condition(when)} THEN {self.value(then)} " for when, then in clause.whens)
        otherwise = "" if clause.else_ is None else f"ELSE {self.value(clause.else_)} "
        return f"CASE {whens}{otherwise}END"

    def visit_clauselist(self, clauselist: Any, **kw: Any) -> str:
        """Write a list; the members of AND and OR are conditions."""
        if not isinstance(clauselist, BooleanClauseList):
            return str(_Compiling.visit_clauselist(self, clauselist, **kw))
        word = " AND " if clauselist.operator is operators.and_ else " OR "
        return word.join(self.condition(each, **kw) for each in clauselist.clauses)

    def visit_expression_clauselist(self, clauselist: Any, **kw: Any) -> str:
        """As `visit_clauselist`."""
        if not isinstance(clauselist, BooleanClauseList):
            return str(_Compiling.visit_expression_clauselist(self, clauselist, **kw))
        return self.visit_clauselist(clauselist, **kw)

    def function_argspec(self, func: Any, **kw: Any) -> str:
        """Write arguments, which are values."""
        return "(" + ", ".join(self.value(each) for each in func.clauses) + ")"

    def visit_coalesce_func(self, fn: Any, **kw: Any) -> str:
        """Write COALESCE, of words if any value is a word; JSON next to a user's column keeps its stored form.

        Text in two collations conflicts unless one of them is named here.
        """
        values = list(fn.clauses)
        if any(_is_users_json(each) for each in values):
            kept = " COLLATE DATABASE_DEFAULT"
            return "COALESCE(" + ", ".join(f"{self.value(each)}{kept}" for each in values) + ")"
        if any(isinstance(each.type, Word) for each in values):
            values = [each if isinstance(each.type, Word) else WordOf(each) for each in values]
        return "COALESCE(" + ", ".join(map(self.value, values)) + ")"

    # Comparisons.

    def visit_binary(self, binary: Any, *args: Any, **kw: Any) -> str:
        """Write a comparison: rows value by value, a word and text as words, and text by code point as bytes."""
        left, right, operator = binary.left, binary.right, binary.operator
        if isinstance(bare(left), Tuple):
            return str(self.process(_by_columns(bare(left), bare(right), operator).self_group(), **kw))
        if operator is operators.collate and _collation(right) == CODE_POINTS:
            return str(self.process(_points(left), **kw))
        if operator in _PREDICATES:
            alike = _alike(left, right)
            if alike is not None:
                binary = BinaryExpression(*alike, operator, type_=binary.type, modifiers=binary.modifiers)
        return str(_Compiling.visit_binary(self, binary, *args, **kw))

    def visit_bindparam(self, bindparam: Any, *args: Any, **kw: Any) -> str:
        """Write a placeholder with its type, which drivers would otherwise guess from the value."""
        written = str(_Compiling.visit_bindparam(self, bindparam, *args, **kw))
        return _cast(written, bindparam.type)

    def visit_cast(self, cast: Any, **kw: Any) -> str:
        """Write CAST, except for a word, which a cast would truncate."""
        if isinstance(cast.clause.type, Word) and isinstance(cast.type, Word):
            return str(self.process(cast.clause, **kw))
        return str(_Compiling.visit_cast(self, cast, **kw))

    # Rows.

    def visit_select(self, select_stmt: Any, *args: Any, **kw: Any) -> str:
        """Write SELECT with hints instead of FOR UPDATE, and without conditions among its columns."""
        return str(_Compiling.visit_select(self, _selectable(select_stmt), *args, **kw))

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        """Write TOP with its number in parentheses, so that the number can be any expression."""
        limit = select._limit_clause
        top = "" if limit is None else f"TOP ({self.process(limit, **kw)}) "
        return f"DISTINCT {top}" if select._distinct else top

    def _use_top(self, select: Any) -> bool:
        return select._offset_clause is None and select._limit_clause is not None

    def get_from_hint_text(self, table: Any, text: str | None) -> str:
        """Write the hints of a table."""
        return f"WITH ({text})"

    @contextmanager
    def within(self, *froms: Any) -> Iterator[None]:
        """Let subqueries refer to the rows of these tables."""
        known = set(froms)
        self.stack.append({"correlate_froms": known, "asfrom_froms": known, "selectable": froms[0]})
        try:
            yield
        finally:
            self.stack.pop()

    def output(self, table: Any, columns: Sequence[Any], which: str) -> str:
        """Write OUTPUT: the `inserted` rows after a change, or the `deleted` ones before it."""
        if not columns:
            return ""
        adapter = ClauseAdapter(table.alias(which))
        return " OUTPUT " + ", ".join(self.value(adapter.traverse(each)) for each in columns)


class TsqlTypes(MSTypeCompiler):
    """Writes types: text is Unicode."""

    def visit_text(self, type_: Any, **kw: Any) -> str:
        """Write the type of text."""
        return "NVARCHAR(MAX)"


class TsqlNames(MSIdentifierPreparer):
    """Writes names; those that only some parsers treat as keywords are put in brackets too."""

    reserved_words = MSIdentifierPreparer.reserved_words | {"definition"}


class TSql(MSDialect):
    """SQLAlchemy's dialect of SQL Server, with the compiler above and ODBC's placeholders."""

    statement_compiler = Compiler
    type_compiler_cls = TsqlTypes
    preparer = TsqlNames
    supports_statement_cache = False
    supports_native_boolean = False
    _supports_offset_fetch = True


def written(paramstyle: Any = "qmark") -> TSql:
    """Return the dialect that compiles statements."""
    return TSql(paramstyle=paramstyle)  # type: ignore[no-untyped-call]


def is_predicate(element: Any) -> bool:
    """Return whether an element is a condition in T-SQL rather than a value."""
    element = bare(element)
    if isinstance(element, BooleanClauseList | AsBoolean):
        return True
    if isinstance(element, UnaryExpression):
        return element.operator in (operators.inv, operators.exists)
    if isinstance(element, BinaryExpression):
        return element.operator in _PREDICATES or bool(getattr(element.operator, "is_comparison", False))
    return False


def _is_users_json(element: Any) -> bool:
    """Return whether an element is a JSON column in a user's own table."""
    of_a_table = isinstance(element, Column) and isinstance(element.table, Table)
    return of_a_table and isinstance(element.type, JsonText) and LINE in element.table.info


def bare(element: Any) -> Any:
    """Return an element without its label and its parentheses."""
    while isinstance(element, Grouping | Label):
        element = element.element
    return element


def _collation(element: Any) -> str | None:
    return getattr(element, "collation", None)


def _is_collated(element: Any) -> bool:
    element = bare(element)
    return (
        isinstance(element, BinaryExpression)
        and element.operator is operators.collate
        and _collation(element.right) == CODE_POINTS
    )


def plain_text(element: Any) -> Any:
    """Return text without its collation, and a word as text."""
    element = bare(element).left if _is_collated(element) else element
    return TextOf(element) if isinstance(element.type, Word) else element


def _points(element: Any) -> Points:
    return Points(plain_text(element))


def _is_word(element: Any) -> bool:
    return isinstance(getattr(element, "type", None), Word) and not _is_collated(element)


def _alike(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Return both sides of a comparison in a form that can be compared; None if they already are."""
    if getattr(bare(right), "is_select", False) or isinstance(bare(right), True_ | False_):
        return None
    if isinstance(bare(right), ClauseList):  # IN
        if _is_word(left) or _is_collated(left):
            make = WordOf if _is_word(left) else _points
            return left, Grouping(ClauseList(*map(make, bare(right).clauses), group=False))
        return None
    if isinstance(right, Null):
        return None
    for ours, theirs, swapped in ((left, right, False), (right, left, True)):
        other: Any = None
        if _is_collated(ours) and not _is_collated(theirs):
            other = _points(theirs)
        elif _is_word(ours) and not _is_word(theirs) and not _is_collated(theirs):
            other = WordOf(theirs)
        if other is not None:
            return (other, ours) if swapped else (ours, other)
    return None


def _by_columns(left: Any, right: Any, operator: Any) -> ColumnElement[bool]:
    """Return a comparison of rows by their first values, or by the rest if those are equal."""
    ours, theirs = list(left.clauses), list(right.clauses)
    if operator is operators.eq:
        return and_(*(mine == their for mine, their in zip(ours, theirs, strict=True)))
    last = operator(ours[-1], theirs[-1])
    for mine, their in reversed(list(zip(ours, theirs, strict=True))[:-1]):
        last = or_(_STRICTLY[operator](mine, their), and_(mine == their, last))
    return last  # type: ignore[no-any-return]


def _cast(placeholder: str, kind: Any) -> str:
    match kind:
        case Word():
            return f"CAST(CAST({placeholder} AS NVARCHAR(4000)) AS VARBINARY(8000))"  # so that nothing is truncated
        case DATETIME2():
            return f"CAST({placeholder} AS DATETIME2(6))"
        case Boolean():
            return f"CAST({placeholder} AS BIT)"
        case BigInteger():
            return f"CAST({placeholder} AS BIGINT)"
        case SmallInteger():
            return f"CAST({placeholder} AS SMALLINT)"
        case Integer():
            return f"CAST({placeholder} AS INT)"
        case Double():
            return f"CAST({placeholder} AS FLOAT)"
    return placeholder


def _selectable(select: Any) -> Any:
    """Return a query whose columns are values, and whose row locks are written as hints."""
    columns = list(select._raw_columns)
    shown = [_shown(each) for each in columns]
    if any(new is not old for new, old in zip(shown, columns, strict=True)):
        select = select.with_only_columns(*shown)
    asked = select._for_update_arg
    if asked is None:
        return select
    tables = asked.of or tables_of(select)
    said = {table: text for (table, _), text in select._hints.items()}
    for table in tables:
        hints = [said[table]] if table in said else []
        select = select.with_hint(table, ", ".join([*hints, *_locks(asked)]))
    unlocked = select._generate()
    unlocked._for_update_arg = None
    return unlocked


def tables_of(query: Select[Any]) -> list[Any]:
    """Return the tables that a query itself reads, including those under aliases."""
    found: list[Any] = []
    for source in query.get_final_froms():
        ends = [source.left, source.right] if isinstance(source, Join) else [source]
        found += [end for end in ends if isinstance(end.element if isinstance(end, Alias) else end, TableClause)]
    return found


def _locks(asked: Any) -> list[str]:
    """Return the hints that lock rows until the transaction ends, against changes or also against other locks."""
    locks = ["ROWLOCK", "REPEATABLEREAD" if asked.read else "UPDLOCK"]
    return [*locks, "READPAST"] if asked.skip_locked else locks


def _shown(column: Any) -> Any:
    name = column.name if isinstance(column, Label) else None
    if is_predicate(column):
        found: Any = case((bare(column), literal_column("1")), else_=literal_column("0"))
    elif isinstance(bare(column), True_ | False_):
        found = literal_column("1" if isinstance(bare(column), True_) else "0")
    elif _is_collated(column):
        inner = bare(column).left
        found = inner if isinstance(inner.type, Word) else WordOf(inner)
    else:
        return column
    return found.label(name)


@compiles(TsqlNow)
def _write_now(element: TsqlNow, compiler: Any, **kw: Any) -> str:
    compiler.reads_time = True
    return "@now"


@compiles(Points)
def _write_points(element: Points, compiler: Any, **kw: Any) -> str:
    text = compiler.process(element.clauses, **kw)
    return f"CAST(CAST(({text}) COLLATE {UTF8} AS VARCHAR(MAX)) AS VARBINARY(MAX))"


@compiles(WordOf)
def _write_word(element: WordOf, compiler: Any, **kw: Any) -> str:
    text = compiler.process(element.clauses, **kw)
    text = f"N{text}" if text.startswith("'") else f"CAST({text} AS NVARCHAR(4000))"
    return f"CAST({text} AS VARBINARY(8000))"


@compiles(TextOf)
def _write_text(element: TextOf, compiler: Any, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS NVARCHAR({LONGEST_WORD}))"


@compiles(NextId)
def _write_next(element: NextId, compiler: Any, **kw: Any) -> str:
    order = ", ".join(compiler.process(each, **kw) for each in element.order)
    return f"NEXT VALUE FOR {element.sequence}" + (f" OVER (ORDER BY {order})" if order else "")
