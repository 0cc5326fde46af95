"""Queries and changes of the rows of a queue state, as SQLAlchemy ORM statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    Update,
    and_,
    any_,
    bindparam,
    case,
    exists,
    false,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Mapper

from duerow.clock import Clock
from duerow.entity.handler import is_ours
from duerow.errors import ConfigurationError
from duerow.errors import shown as briefly
from duerow.message import LIVE, Message, check_due
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.entities.columns import PARTS, DatabaseTime, LaterTime, Moment, StateTable
from duerow.stores.sql.entities.keys import parts_of

E = TypeVar("E")

NUMBERS: Final = ("ready", "delayed", "leased", "dead")
STATUSES: Final = (*LIVE, "done", "dead")


class Standing(msgspec.Struct, frozen=True):
    """The statistics of a state's queue.

    Attributes:
        queue: the queue's name.
        ready: rows that are due, including those whose lease has expired.
        delayed: rows that are not due yet.
        leased: rows that a consumer holds, among the first `CAP` rows that are not due.
        dead: rows that failed for good.
        oldest_due_at: the due time of the row that has been ready longest; None if none is ready.
        next_due_at: when the next row becomes due; None if none will.
        capped: the names of the counts that stopped early.
    """

    queue: str
    ready: int
    delayed: int
    leased: int
    dead: int
    oldest_due_at: datetime | None
    next_due_at: datetime | None
    capped: frozenset[str] = frozenset()

    def shown(self, name: str) -> str:
        """Return a count as text, with a + if it stopped early."""
        return f"{getattr(self, name)}{'+' if name in self.capped else ''}"


def id_of(entity: Any) -> Any:
    """Return the `id` of a row's message: its primary key, as a tuple if it has several columns."""
    parts = entity.__mapper__.primary_key_from_instance(entity)
    return parts[0] if len(parts) == 1 else tuple(parts)


class EntityQueries(Generic[E]):
    """The statements for one state.

    Args:
        mapper: the mapper of the model.
        table: the table and columns that store the state.
        clock: a clock to use instead of the database's.
        dialect: the database.
    """

    def __init__(self, mapper: Mapper[E], table: StateTable, clock: Clock | None, dialect: Dialect) -> None:
        self._dialect = dialect
        self._model, self._clock, self._queue = mapper.class_, clock, table.queue
        self._rows: Any = mapper.local_table
        self._inherits = mapper.inherits is not None
        columns = self._rows.c
        self._keys = table.keys
        self._ids: tuple[ColumnElement[Any], ...] = tuple(columns[key.name] for key in table.keys)
        self._of: dict[str, ColumnElement[Any]] = {part: columns[table.column(part)] for part in PARTS}

    # Read.

    @cached_property
    def one(self) -> Select[Any]:
        """Read a row by its primary key, with the values of `of_id`; built once."""
        names = (bindparam(f"key_{place}", type_=column.type) for place, column in enumerate(self._ids))
        return select(self._model).where(*(column == name for column, name in zip(self._ids, names, strict=True)))

    @cached_property
    def one_locked(self) -> Select[Any]:
        """Like `one`, but lock the row against writes; foreign keys can still reference it."""
        return self._dialect.locked(self.one, self._rows)

    def of_id(self, id: Any) -> dict[str, Any]:
        """Return the bound values for `one`, given an id."""
        return {f"key_{place}": value for place, value in enumerate(parts_of(self._keys, id))}

    def by_ids(self, ids: Sequence[Any], dialect: str) -> Select[Any]:
        """Read rows by primary key; on PostgreSQL, integer keys are bound as one array."""
        return select(self._model).where(self._is_among(ids, dialect))

    def _is_among(self, ids: Sequence[Any], dialect: str) -> ColumnElement[bool]:
        if len(self._ids) > 1 and not self._dialect.compares_rows:
            rows = (
                (column == part for column, part in zip(self._ids, parts_of(self._keys, id), strict=True)) for id in ids
            )
            return or_(false(), *(and_(*row) for row in rows))
        if len(self._ids) > 1:
            return tuple_(*self._ids).in_(ids)
        if dialect == "postgresql" and self._keys[0].is_integer:
            return self._ids[0] == any_(literal(ids, ARRAY(BigInteger)))
        return self._ids[0].in_(ids)

    def in_line(self, found: Iterable[E], messages: Sequence[Message], key: str) -> dict[Any, E]:
        """Return the rows of messages whose leases are still valid, by id, in the order of the messages."""
        by_id = {id_of(entity): entity for entity in found}
        ours = [message.id for message in messages if is_ours(by_id.get(message.id), key, message)]
        return {id: by_id[id] for id in ours}

    def find(self, where: Sequence[Any], status: str | None, order_by: Any, limit: int, after: Any) -> Select[Any]:
        """Read a page of the rows that match conditions.

        Raises:
            ConfigurationError: the status does not exist, or `after` is combined with another order.
        """
        if after is not None and order_by is not None:
            raise ConfigurationError("after= continues after an id, in the order of ids; leave order_by= or after= out")
        behind = () if after is None else (self._is_behind(after),)
        order = self._ids if order_by is None else order_by
        found = select(self._model).where(*where, *self._of_status(status), *behind)
        return found.order_by(*(order if isinstance(order, list | tuple) else (order,))).limit(limit)

    def _is_behind(self, id: Any) -> ColumnElement[bool]:
        parts = parts_of(self._keys, id)
        if len(parts) == 1:
            return self._ids[0] > literal(parts[0], self._ids[0].type)
        values = list(map(literal, parts, (column.type for column in self._ids)))
        if self._dialect.compares_rows:
            return tuple_(*self._ids) > tuple_(*values)
        *firsts, last = zip(self._ids, values, strict=True)
        behind = last[0] > last[1]
        for column, value in reversed(firsts):
            behind = or_(column > value, and_(column == value, behind))
        return behind

    def count(self, where: Sequence[Any], status: str | None, by: Any, limit: int | None) -> Select[Any]:
        """Count rows by a value, up to a limit plus one."""
        value: Any = literal_column("0") if by is None else by
        found = select(value.label("value")).select_from(self._model).where(*where, *self._of_status(status))
        some = found.limit(None if limit is None else limit + 1).subquery("found")
        return select(some.c.value, func.count()).group_by(some.c.value)

    def standing(self, cap: int | None) -> Select[Any]:
        """Count due, delayed, leased and dead rows, using an index for each."""
        due, limit = self._of["due_at"], None if cap is None else cap + 1
        ready = select(due.label("due")).where(due <= self._now).order_by(due).limit(limit).subquery("ready")
        lent = case((due == self._of["leased_until"], 1)).label("lent")
        later = select(due.label("due"), lent).where(due > self._now).order_by(due).limit(limit).subquery("later")
        dead = select(self._ids[0]).where(self._of["status"] == literal_column("'dead'")).limit(limit).subquery("dead")

        def of(part: FromClause, number: Any) -> Any:
            return select(number).select_from(part).scalar_subquery()

        lent_of_later = func.count(later.c.lent)  # on MariaDB a sum would not be an integer
        return select(
            of(ready, func.count()),
            of(later, func.count() - lent_of_later),
            of(later, lent_of_later),
            of(dead, func.count()),
            of(ready, func.min(ready.c.due)),
            of(later, func.min(later.c.due)),
        )

    def stands(self, row: Any, cap: int | None) -> Standing:
        """Return the statistics from the row that `standing` returned."""
        *numbers, oldest, following = row
        capped = frozenset(
            name for name, number in zip(NUMBERS, numbers, strict=True) if cap is not None and number > cap
        )
        ready, delayed, leased, dead = (number if cap is None else min(number, cap) for number in numbers)
        return Standing(self._queue, ready, delayed, leased, dead, oldest, following, capped)

    def _of_status(self, status: str | None) -> tuple[ColumnElement[bool], ...]:
        if status not in (None, *STATUSES):
            raise ConfigurationError(f"a status must be one of {STATUSES}, not {briefly(status)}")
        return () if status is None else (self._of["status"] == literal_column(f"'{status}'"),)

    @property
    def _now(self) -> ColumnElement[Any]:
        return DatabaseTime() if self._clock is None else literal(self._clock.now(), Moment())

    # Change.

    def rescheduled(self, due: Any, delay: timedelta | None) -> dict[str, Any]:
        """Return the new values of rows with a new due time; None stops them.

        Raises:
            ConfigurationError: not exactly one of due and delay was given.
            InvalidMessage: the due time or delay is out of range.
        """
        if (due is UNSET) == (delay is None):
            raise ConfigurationError("reschedule takes either due or delay; due=None stops a row")
        if due is None:
            return {"due_at": null()}
        at, later = check_due(None if due is UNSET else due, delay)
        status = self._of["status"]
        alive = case((status == literal_column("'dead'"), literal_column("'error'")), else_=status)
        return {"due_at": literal(at, Moment()) if later is None else self._later(later), "status": alive}

    def requeued(self) -> dict[str, Any]:
        """Return the new values of requeued rows."""
        anew: dict[str, Any] = {"status": literal_column("'new'"), "attempts": literal_column("0")}
        return {"due_at": self._now, **anew, "last_attempt_at": null(), "last_error": null()}

    def meant(self, where: Sequence[Any], id: Any, stops: bool) -> tuple[ColumnElement[bool], ...]:
        """Return the condition for rows that are not done: one row by its id, or the rows that match conditions.

        Raises:
            ConfigurationError: both or neither were given.
        """
        if (id is None) == (not where):
            raise ConfigurationError("give either id= or conditions on the columns of the rows")
        statuses = LIVE if stops else (*LIVE, "dead")
        parts = () if id is None else parts_of(self._keys, id)
        which = where if id is None else [column == part for column, part in zip(self._ids, parts, strict=True)]
        return (*which, self._of["status"].in_([literal_column(f"'{one}'") for one in statuses]))

    def numbers(self, meant: Sequence[Any]) -> Select[Any]:
        """Count free and leased rows among the chosen ones, and return one consumer that holds a lease."""
        free: ColumnElement[Any] = func.count(case((self._free, 1)))
        return select(free, func.count() - free, func.max(self._of["leased_by"])).select_from(self._model).where(*meant)

    def change(self, meant: Sequence[Any], values: Mapping[str, Any], even_if_leased: bool) -> Update:
        """Change rows; a consumer that holds one of them can no longer settle it."""
        turned = {"place_at": null(), "leased_by": null(), "leased_until": null(), "finished_at": null()}
        after = {self._of[part]: value for part, value in {**turned, **values}.items()}
        after[self._of["token"]] = self._of["token"] + 1
        which = meant if even_if_leased else (*meant, self._free)
        return update(self._rows).where(*self._of_model(which)).values(after)

    def _of_model(self, which: Sequence[Any]) -> Sequence[Any]:
        """Return conditions for the table that match only rows of the model, and may use columns that it inherits."""
        if not self._inherits:
            return which
        # DISTINCT makes this a derived table: not every database can change a table while reading it in a subquery.
        found = select(*self._ids).select_from(self._model).where(*which).correlate(None).distinct().subquery("found")
        if len(self._ids) > 1 and not self._dialect.compares_rows:
            same = (column == its for column, its in zip(self._ids, found.c, strict=True))
            return (exists().select_from(found).where(*same),)
        return ((tuple_(*self._ids) if len(self._ids) > 1 else self._ids[0]).in_(select(*found.c)),)

    @property
    def _free(self) -> ColumnElement[bool]:
        due, until = self._of["due_at"], self._of["leased_until"]
        return or_(until.is_(None), due.is_(None), due != until, until <= self._now)

    def _later(self, delay: timedelta) -> ColumnElement[Any]:
        return LaterTime(delay) if self._clock is None else literal(self._clock.now() + delay, Moment())
