"""How statements write time, JSON and comparisons."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Double, Select, Table, Text, cast, func, literal

from duerow.stores.sql.dialects.base.constants import const
from duerow.stores.sql.dialects.base.json_values import Member
from duerow.stores.sql.dialects.base.types import Types


class Expressions(Types):
    """How statements write time, JSON and comparisons."""

    # Time.

    @abstractmethod
    def now(self) -> ColumnElement[Any]:
        """Return the database's own time for duerow's statements; only called if `server_clock` is true."""

    def clock(self) -> ColumnElement[Any]:
        """Return the database's own time, at its own precision, for users' statements: they are not passed a time."""
        return self.now()

    @abstractmethod
    def later(self, moment: ColumnElement[Any], span: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment that is later by a span."""

    @abstractmethod
    def microseconds(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment that all rows share, as microseconds since 1970: drivers read numbers fastest."""

    def told(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a bound moment as an expression of its type; unchanged if drivers bind it with its type."""
        return moment

    # JSON.

    def from_text(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return bound text in the form that a JSON column accepts."""
        return text

    def as_text(self, json: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a JSON column as the text that was written."""
        return json

    @abstractmethod
    def member(self, document: ColumnElement[Any], names: Sequence[str]) -> Member:
        """Return the value at a path of object members in a JSON column; no row makes the statement fail."""

    def real(self, value: float) -> ColumnElement[Any]:
        """Return a float in the form that is compared with `Member.real`."""
        return cast(literal(value, Double()), Double)

    # Comparisons.

    @abstractmethod
    def like(self, text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
        """Return whether text matches a pattern; `duerow.where` documents `%`, `_` and the backslash in it."""

    def same(self, ours: ColumnElement[Any], theirs: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether two tokens are equal, in a form that does not mislead the planner."""
        return ours == theirs

    def unseen(self, value: BindParameter[Any]) -> ColumnElement[Any]:
        """Return a bound value that the planner does not see, so that it plans a statement once for all values."""
        return value

    def any_of(self, column: ColumnElement[Any], values: Sequence[BindParameter[Any]]) -> ColumnElement[bool]:
        """Return whether a column equals one of several bound values, which the planner does not see."""
        return column.in_(values)

    def one_of(self, column: ColumnElement[Any], ids: Select[Any]) -> ColumnElement[bool]:
        """Return whether a column's value is in the result of a subquery, which is evaluated once."""
        return column.in_(ids)

    def nulls_last(self, column: ColumnElement[Any], descending: bool = False) -> Sequence[ColumnElement[Any]]:
        """Return an order in which null comes last."""
        return [(column.desc() if descending else column.asc()).nulls_last()]

    # The failure of an attempt whose lease expired before it was settled.

    def ended_lease(self, message: Table, attempts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the failure for a row whose lease expired unsettled, as text in the form of codec.encode_failure."""
        said = self.concatenated(
            const("was in hand when its worker died: lease of "),
            message.c.leased_by,
            const(" ended at "),
            self.shown_moment(message.c.leased_until),
            const(" UTC, attempt "),
            message.c.attempts,
            const(" of "),
            func.coalesce(self.shown_number(attempts), const("any number")),
        )
        return self.lease_failure(said)

    def concatenated(self, *parts: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return texts and numbers joined into one text."""
        return func.concat(*parts)

    def lease_failure(self, said: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the JSON of a failure with this message."""
        text = func.concat(
            const('{"message":'),
            self.json_string(said),
            const(',"traceback":null,"type":"LeaseEnded"}'),
            type_=self.json,
        )
        return self.from_text(text)

    @abstractmethod
    def shown_moment(self, moment: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a moment in readable form, in UTC and to the second: 2024-12-31 23:59:59."""

    def shown_number(self, number: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a number as text."""
        return cast(number, Text)

    def json_string(self, text: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return text as a JSON string."""
        return func.json_quote(text)
