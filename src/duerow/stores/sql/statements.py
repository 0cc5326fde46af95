"""Every statement of the SQL stores: one short function for each, built once, the same for all dialects.

Values are always bound; their names carry a suffix of `_in` where a column has the name. What each database is sent
is kept as text beside the tests and reviewed like code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Null,
    Select,
    SmallInteger,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal,
    null,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import TypeEngine

from duerow.message import LIVE
from duerow.store import Order
from duerow.stores.sql.conditions import Conditions
from duerow.stores.sql.dialects.base import Dialect, const
from duerow.stores.sql.tables import Tables
from duerow.where import Condition, Path

ENTRY: Final = ("id", "queue", "key", "kind", "payload", "headers", "group", "priority", "due", "delay")
"""The columns of messages to be inserted, in the order of `plans`."""

ONE: Final = ("queue", "kind", "payload")
"""The columns for which every single push has a value."""

RECEIPT: Final = ("id", "token")

CHANGED: Final[dict[str, tuple[str, ...]]] = {
    "payload": ("kind", "payload"),
    "headers": ("headers",),
    "priority": ("priority",),
    "due": ("due", "delay"),
    "stopped": (),
    "anew": (),
}
"""What an operator may change, and the columns of values that each takes."""


class Statement:
    """An SQL statement; compiled once for each driver by whoever executes it, if it is kept for more than one use."""

    __slots__ = ("element", "kept", "returns", "writes")

    def __init__(self, element: Any, kept: bool = True) -> None:
        self.element = element
        self.kept = kept
        self.writes = bool(element.is_dml)
        self.returns = element.is_select or bool(self.writes and element.returning_column_descriptions)


class OverRows:
    """A statement over rows of bound values; a column in which all rows are alike is bound once.

    Args:
        dialect: whose rows.
        types: the columns of the rows, and their types.
        build: makes the statement, given the rows as a table.
    """

    def __init__(
        self, dialect: Dialect, types: Mapping[str, TypeEngine[Any]], build: Callable[[Any], Executable]
    ) -> None:
        self.dialect, self.types, self.build = dialect, types, build
        self._statements: dict[frozenset[str], Statement] = {}

    def alike(self, alike: frozenset[str]) -> Statement:
        """Return the statement for rows that are alike in these columns."""
        if alike not in self._statements:
            given = self.dialect.given("given", self.types, alike)
            self._statements[alike] = Statement(self.build(given))
        return self._statements[alike]


class Statements:
    """The statements of one installation.

    Args:
        tables: its tables.
        dialect: its database.
        timed: whether each statement is given the time as the bound value `now`.
    """

    def __init__(self, tables: Tables, dialect: Dialect, timed: bool) -> None:
        self.tables, self.dialect, self.timed = tables, dialect, timed
        self.message = tables.message
        self.now: ColumnElement[Any] = self._bound("now", dialect.moment) if timed else dialect.now()
        columns = self.message.c
        shown = [
            dialect.as_text(column).label(column.name) if column.type is dialect.json else column for column in columns
        ]
        names = [column.name for column in columns]
        by_name: dict[str, ColumnElement[Any]] = dict(zip(names, shown, strict=True))
        by_name["due_at"] = func.coalesce(columns.due_at, columns.behind_at, type_=dialect.moment)
        self._record = [by_name[name] for name in RECORD]
        often_alike = {
            "first_due_at": func.nullif(columns.first_due_at, columns.created_at, type_=dialect.moment),
            "place_at": func.nullif(columns.place_at, columns.first_due_at, type_=dialect.moment),
        }
        self._lent = [often_alike.get(name, by_name[name]) for name in LENT]
        self._live = _live(self.message)
        self._resting = (columns.due_at.is_(None), columns.behind_at.is_(None))
        self.conditions = Conditions(dialect, self.message)

    # Writes.

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def insert_one(self, given: frozenset[str]) -> Statement:
        """Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.

        `given` names the columns that have a value besides the queue, the kind and the payload.
        """
        bound = {
            name: self._bound(f"{name}_in", kind) if name in given or name in ONE else null()
            for name, kind in self._entry_types.items()
            if name != "id"
        }
        added = self.dialect.insert(self.message).values(self._fresh(bound))
        if "key" in given:
            added = self._ignoring(added)
        woken = self._woken(self.tables.waiting.c.queue == bound["queue"])
        return Statement(added.returning(self.message.c.id, *([] if woken is None else [woken.scalar_subquery()])))

    @cached_property
    def insert_many(self) -> OverRows:
        """Add messages with ids handed out before; return the ids of those whose key was free. Locks in key order."""

        def build(given: Any) -> Executable:
            fresh = self._fresh({name: given.c[name] for name in ENTRY})
            rows = select(*fresh.values()).select_from(given).where(const(1) == const(1))
            rows = rows.order_by(given.c.queue, given.c.key, given.c.id)
            added = self._ignoring(self.dialect.insert(self.message).from_select(list(fresh), rows))
            return added.returning(self.message.c.id)  # type: ignore[no-any-return]

        return self._over(ENTRY, build)

    @cached_property
    def insert_keyless(self) -> OverRows:
        """Add messages without keys; return their ids, which follow the order given."""

        def build(given: Any) -> Executable:
            fresh = self._fresh({name: given.c[name] for name in ENTRY[1:]})
            rows = select(*fresh.values()).select_from(given)
            return self.dialect.insert(self.message).from_select(list(fresh), rows).returning(self.message.c.id)

        return self._over(ENTRY[1:], build)

    @cached_property
    def insert_grouped(self) -> OverRows:
        """As insert_keyless, for rows of which some are in groups; `behind`: another of its group goes before it."""

        def build(given: Any) -> Executable:
            fresh = self._fresh({name: given.c[name] for name in ENTRY[1:]})
            due = fresh["due_at"]
            fresh["due_at"] = case((given.c.behind, null()), else_=due)
            fresh["behind_at"] = case((given.c.behind, due), else_=null())
            rows = select(*fresh.values()).select_from(given)
            return self.dialect.insert(self.message).from_select(list(fresh), rows).returning(self.message.c.id)

        return self._over((*ENTRY[1:], "behind"), build)

    @cached_property
    def next_ids(self) -> Statement:
        """Hand out `count` ids, ascending."""
        return Statement(self.dialect.next_ids(self.message, self.tables.prefix, self.tables.schema))

    @cached_property
    def holders(self) -> OverRows:
        """Read the live messages that hold the given keys, locked against changes where rows can be."""

        def build(given: Any) -> Executable:
            in_order = self._held(self._record, given).order_by(self.message.c.queue, self.message.c.key)
            return in_order.with_for_update(of=self.message)

        return self._over(("queue", "key"), build)

    @cached_property
    def holder_ids(self) -> OverRows:
        """Read the ids of the live messages that hold the given keys."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            return self._held([columns.queue, columns.key, columns.id], given)

        return self._over(("queue", "key"), build)

    def _held(self, shown: Sequence[ColumnElement[Any]], given: Any) -> Select[Any]:
        equal = self.dialect.select_equal(shown, self.message, given, ("queue", "key"))
        return equal.where(self.message.c.key.is_not(None), self._live)

    @cached_property
    def replace(self) -> OverRows:
        """Give held messages the content of a new push; a lease on them ends."""

        def build(given: Any) -> Executable:
            due = self._due(given.c.due, given.c.delay)
            changed = update(self.message).where(self.message.c.id == given.c.id)
            return changed.values(
                kind=given.c.kind,
                payload=self._json(given.c.payload),
                headers=self._json(given.c.headers),
                group=given.c.group,
                priority=given.c.priority,
                status=const("new"),
                due_at=due,
                behind_at=null(),
                first_due_at=due,
                attempts=const(0),
                last_attempt_at=null(),
                last_error=null(),
                **self._turned,
            )

        return self._over(("id", *ENTRY[3:]), build)

    @cached_property
    def hasten(self) -> OverRows:
        """Make held messages that nobody has due earlier, if the given time is; return whose time changed."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            due = self._due(given.c.due, given.c.delay)
            stands = func.coalesce(columns.due_at, columns.behind_at, type_=self.dialect.moment)
            earlier = and_(columns.id == given.c.id, columns.leased_by.is_(None), stands > due)
            return update(self.message).where(earlier).values(due_at=due, behind_at=null()).returning(columns.id)

        return self._over(("id", "due", "delay"), build)

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def reserve(self, from_floor: bool) -> Statement:
        """Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.

        With `from_floor` rows due before the bound value `floor` are not looked at. Each row comes with the due time
        of the oldest row that was due when the statement began, lent or not: the floor for the next one.
        """
        lent = self._lend().where(self.dialect.one_of(self.message.c.id, self._due_ids(from_floor)))
        return Statement(lent.returning(*self._lent, *self._oldest(False, from_floor)))

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def pop(self, from_floor: bool) -> Statement:
        """Take the oldest due rows of a line without groups away; each with the time, and the floor as in `reserve`."""
        taken = delete(self.message).where(self.dialect.one_of(self.message.c.id, self._due_ids(from_floor)))
        return Statement(taken.returning(*self._record, self.now, *self._oldest(False, from_floor)))

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the store
    def pick(self, grouped: bool, from_floor: bool) -> Statement:
        """Lock the oldest due rows of a line and read their id, due time and group, and the floor as in `reserve`."""
        columns = self.message.c
        shown = (columns.id, columns.due_at, columns.group, *self._oldest(grouped, from_floor))
        return Statement(self._first_due(shown, grouped, from_floor))

    @cached_property
    def lend(self) -> OverRows:
        """Lend rows that were picked, as `reserve` does; of two of a group lent at once the second one fails."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            lent = self._lend().where(columns.id == given.c.id)
            return lent.returning(*self._lent, columns.priority, columns.group)

        return self._over(("id",), build)

    @cached_property
    def take(self) -> OverRows:
        """Take rows that were picked away, as `pop` does."""

        def build(given: Any) -> Executable:
            taken = delete(self.message).where(self.message.c.id.in_(select(given.c.id)))
            return taken.returning(*self._record, self.now)

        return self._over(("id",), build)

    @cached_property
    def blockers(self) -> OverRows:
        """Read who keeps rows of groups back, each as id: one with a lower id, one that is lent; null: nobody.

        Each is read a second time with a lock that its settlement waits for, null if that is under way: whoever puts
        a row behind another one holds that one until the row is known to wait for it.
        """
        columns = self.message.c
        other = self.message.alias("other")
        of_group, live = _of_group(other, columns), _live(other)
        before = select(other.c.id).where(*of_group, live, other.c.id < columns.id).order_by(other.c.id).limit(const(1))
        leased = select(other.c.id).where(*of_group, other.c.leased_by.is_not(None), other.c.id != columns.id)
        blocking = [one.correlate(self.message) for one in (before, leased.limit(const(1)))]
        held = [one.with_for_update(read=True, skip_locked=True) for one in blocking]

        def build(given: Any) -> Executable:
            shown = [columns.id, columns.leased_by.is_not(None), *(one.scalar_subquery() for one in (*blocking, *held))]
            return select(*shown).join_from(given, self.message, columns.id == given.c.id)

        return self._over(("id",), build)

    @cached_property
    def put_behind(self) -> OverRows:
        """Take rows of groups out of the line until it is their turn; a lease on them has ended."""
        columns = self.message.c
        error = self.dialect.ended_lease(self.message, self._bound("attempts_in", Integer()))

        def build(given: Any) -> Executable:
            return (
                update(self.message)
                .where(columns.id == given.c.id)
                .values(
                    due_at=null(),
                    behind_at=columns.due_at,
                    last_error=case((columns.leased_until.is_not(None), error), else_=columns.last_error),
                    leased_by=null(),
                    leased_until=null(),
                )
            )

        return self._over(("id",), build)

    @cached_property
    def call_up(self) -> OverRows:
        """Put the first of each given group into the line, if it is not; return the queues and due times."""
        columns = self.message.c
        other = self.message.alias("other")

        def build(given: Any) -> Executable:
            of_group, live = _of_group(other, given.c), _live(other)
            first = select(other.c.id).where(*of_group, live).order_by(other.c.id).limit(const(1))
            ids = select(first.correlate(given).scalar_subquery()).select_from(given)
            # Not only where it is behind: who puts it there at this moment is waited for, or ends this transaction.
            moved = update(self.message).where(columns.id.in_(ids), columns.leased_by.is_(None))
            due = func.coalesce(columns.behind_at, columns.due_at, type_=self.dialect.moment)
            return moved.values(due_at=due, behind_at=null()).returning(columns.queue, columns.due_at)

        return self._over(("queue", "group"), build)

    @cached_property
    def further_lines(self) -> OverRows:
        """Read the lowest priority in use between the given ones, in groups or not; null: none. And if it is paused."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            def lowest(grouped: bool) -> Any:
                between = (columns.priority > given.c.low, columns.priority < given.c.high)
                in_line = (columns.due_at.is_not(None), self._in_group(grouped))
                found = select(func.min(columns.priority)).where(self._of_queue, *between, *in_line)
                return found.correlate(given).scalar_subquery()

            found = case((given.c.grouped, lowest(True)), else_=lowest(False))
            return select(given.c.grouped, found, self._paused).select_from(given)

        return self._over(("grouped", "low", "high"), build)

    def _lend(self) -> Update:
        columns = self.message.c
        attempts = self._bound("attempts_in", Integer())
        unsettled = columns.leased_until.is_not(None)
        used_up = and_(unsettled, columns.attempts >= attempts)
        until = self.dialect.later(self.now, self._bound("lease", self.dialect.span))
        return update(self.message).values(
            status=case((used_up, const("dead")), else_=columns.status),
            due_at=case((used_up, null()), else_=until),
            place_at=columns.due_at,
            attempts=columns.attempts + case((used_up, const(0)), else_=const(1)),
            token=columns.token + const(1),
            leased_by=case((used_up, null()), else_=self._bound("consumer", Text())),
            leased_until=case((used_up, null()), else_=until),
            last_attempt_at=case((used_up, columns.last_attempt_at), else_=self.now),
            last_error=case((unsettled, self.dialect.ended_lease(self.message, attempts)), else_=columns.last_error),
        )

    def _due_ids(self, from_floor: bool) -> Select[Any]:
        return self._first_due((self.message.c.id,), False, from_floor)

    def _first_due(self, shown: Sequence[ColumnElement[Any]], grouped: bool, from_floor: bool) -> Select[Any]:
        columns = self.message.c
        due = select(*shown).where(*self._due_rows(grouped, from_floor)).order_by(columns.due_at, columns.id)
        return due.limit(self._bound("limit_in", Integer())).with_for_update(skip_locked=True)

    def _oldest(self, grouped: bool, from_floor: bool) -> list[Any]:
        if not self.dialect.keeps_dead_entries:
            return []
        rows = self.message.alias("oldest")
        return [select(func.min(rows.c.due_at)).where(*self._due_rows(grouped, from_floor, rows)).scalar_subquery()]

    def _due_rows(self, grouped: bool, from_floor: bool, rows: Any = None) -> list[ColumnElement[bool]]:
        """The due rows of a line, which are those of a queue with one priority, in groups or not."""
        columns = self.message.c if rows is None else rows.c
        due = [
            columns.queue == self._bound("queue_in", Text()),
            columns.priority == self._bound("priority_in", SmallInteger()),
            columns.due_at <= self.now,
            columns.group.is_not(None) if grouped else columns.group.is_(None),
        ]
        return [*due, columns.due_at >= self._bound("floor", self.dialect.moment)] if from_floor else due

    @property
    def _of_queue(self) -> ColumnElement[bool]:
        return self.message.c.queue == self._bound("queue_in", Text())

    def _in_group(self, grouped: bool) -> ColumnElement[bool]:
        group = self.message.c.group
        return group.is_not(None) if grouped else group.is_(None)

    @cached_property
    def extend(self) -> OverRows:
        """Let leases run until now + lease; return id, token and the new end of those whose token matches."""
        until = self.dialect.later(self.now, self._bound("lease", self.dialect.span))
        columns = self.message.c

        def build(given: Any) -> Executable:
            longer = self._settled(given).values(due_at=until, leased_until=until)
            return longer.returning(columns.id, columns.token, columns.leased_until)

        return self._over(RECEIPT, build)

    @cached_property
    def commit(self) -> OverRows:
        """Take away the rows whose token matches; return their receipts."""

        def build(given: Any) -> Executable:
            return (
                delete(self.message)
                .where(*self.dialect.delete_matches(self.message, given))
                .returning(self.message.c.id, self.message.c.token)
            )

        return self._over(RECEIPT, build)

    @cached_property
    def roll_back(self) -> OverRows:
        """Give rows whose token matches a new due time and an error; return their receipts."""

        def build(given: Any) -> Executable:
            due = self.dialect.later(self.now, given.c.delay)
            return self._turn(given, status=const("error"), due_at=due, last_error=self._kept_error(given))

        return self._over((*RECEIPT, "delay", "error"), build)

    @cached_property
    def bury(self) -> OverRows:
        """Stop rows whose token matches for good, with an error; return their receipts."""

        def build(given: Any) -> Executable:
            return self._turn(given, status=const("dead"), due_at=null(), last_error=self._kept_error(given))

        return self._over((*RECEIPT, "error"), build)

    @cached_property
    def release(self) -> OverRows:
        """Give rows whose token matches their place in line and their attempt back; return their receipts."""

        def build(given: Any) -> Executable:
            return self._turn(given, due_at=given.c.due, attempts=self.message.c.attempts - const(1))

        return self._over((*RECEIPT, "due"), build)

    @cached_property
    def move(self) -> OverRows:
        """Send rows whose token matches to another queue; return their receipts."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            due = self._due(given.c.due, given.c.delay)
            return self._turn(
                given,
                queue=given.c.queue,
                key=given.c.key,
                kind=func.coalesce(given.c.kind, columns.kind),
                payload=func.coalesce(self._json(given.c.payload), columns.payload),
                headers=self._json(given.c.headers),
                group=given.c.group,
                priority=given.c.priority,
                status=const("new"),
                due_at=due,
                first_due_at=due,
                attempts=const(0),
                last_attempt_at=null(),
                last_error=null(),
            )

        return self._over((*RECEIPT, *ENTRY[1:]), build)

    def _turn(self, given: Any, **values: Any) -> Executable:
        """End turns: set these values, end the lease, raise the token; return the receipts that matched."""
        columns = self.message.c
        ended = self._settled(given).values(**values, **self._turned)
        return ended.returning(columns.id, columns.token - const(1))

    def _kept_error(self, given: Any) -> ColumnElement[Any]:
        return func.coalesce(self._json(given.c.error), self.message.c.last_error)

    def _settled(self, given: Any) -> Update:
        return update(self.message).where(self.message.c.id == given.c.id, self._same_token(given))

    def _same_token(self, given: Any) -> ColumnElement[bool]:
        return self.dialect.same(self.message.c.token, given.c.token)

    @cached_property
    def owned(self) -> OverRows:
        """Read the rows whose token matches, locked against changes where rows can be."""

        def build(given: Any) -> Executable:
            match = and_(self.message.c.id == given.c.id, self._same_token(given))
            return select(*self._record).join_from(given, self.message, match).with_for_update(of=self.message)

        return self._over(RECEIPT, build)

    @cached_property
    def remove(self) -> OverRows:
        """Take the given rows away unless a lease on them runs and `even_if_leased` is false; return their ids."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            ours = columns.queue == self._bound("queue_in", Text())
            wanted = columns.id.in_(select(given.c.id))
            return delete(self.message).where(ours, wanted, self._free).returning(columns.id)

        return self._over(("id",), build)

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def change(self, parts: frozenset[str]) -> OverRows:
        """Change rows whose token matches unless a lease on them runs and `even_if_leased` is false; return their ids.

        `parts` names what is changed: `payload`, `headers`, `priority`, `due`, `stopped`, `anew`. Without `due` and
        `stopped` a row keeps its place in line, but is due now if a lease on it runs.
        """
        columns = self.message.c
        running = columns.leased_until > self.now
        rows = (self._of_queue, columns.status != const("done"), self._free)

        def build(given: Any) -> Executable:
            values: dict[str, Any] = {"due_at": case((running, self.now), else_=columns.due_at)}
            if "payload" in parts:
                values |= {"kind": given.c.kind, "payload": self._json(given.c.payload)}
            if "headers" in parts:
                values["headers"] = self._json(given.c.headers)
            if "priority" in parts:
                values["priority"] = given.c.priority
            if "stopped" in parts:
                values |= {"due_at": null(), "behind_at": null()}
            if "due" in parts:
                alive = case((columns.status == const("dead"), const("error")), else_=columns.status)
                values |= {"due_at": self._due(given.c.due, given.c.delay), "behind_at": null(), "status": alive}
            if "anew" in parts:
                values |= {
                    "status": const("new"),
                    "attempts": const(0),
                    "last_attempt_at": null(),
                    "last_error": null(),
                }
            return self._settled(given).where(*rows).values(**values, **self._turned).returning(columns.id)

        return self._over((*RECEIPT, *(name for part in CHANGED if part in parts for name in CHANGED[part])), build)

    @cached_property
    def changeable(self) -> OverRows:
        """Read the ids of the rows that `change` would change."""
        columns = self.message.c
        rows = (self._of_queue, columns.status != const("done"), self._free)

        def build(given: Any) -> Executable:
            match = and_(columns.id == given.c.id, self._same_token(given))
            return select(columns.id).join_from(given, self.message, match).where(*rows)

        return self._over(RECEIPT, build)

    @property
    def _free(self) -> ColumnElement[bool]:
        """No lease runs on a row, or the bound `even_if_leased` says that this is no matter."""
        until = self.message.c.leased_until
        return or_(self._bound("even_if_leased", Boolean()), until.is_(None), until <= self.now)

    @cached_property
    def note_waiting(self) -> OverRows:
        """Note that a consumer of the given queues sleeps; written again only when the note is half over."""
        waiting = self.tables.waiting
        until = self.dialect.later(self.now, self._bound("span", self.dialect.span))
        soon = self.dialect.later(self.now, self._bound("half", self.dialect.span))

        def build(given: Any) -> Executable:
            rows = select(given.c.queue, until).where(const(1) == const(1)).order_by(given.c.queue)
            noted: Any = self.dialect.insert(waiting).from_select(["queue", "until"], rows)
            return noted.on_conflict_do_update(  # type: ignore[no-any-return]
                index_elements=[waiting.c.queue], set_={"until": noted.excluded.until}, where=waiting.c.until < soon
            )

        return self._over(("queue",), build)

    @cached_property
    def wake(self) -> Statement | None:
        """Wake the sleeping consumers of the given queues."""
        given = self.dialect.given("given", {"queue": Text()}, frozenset())
        found = self._woken(self.tables.waiting.c.queue.in_(select(given.c.queue)))
        return None if found is None else Statement(found)

    def _woken(self, which: ColumnElement[bool]) -> Any:
        return self.dialect.wake(self.tables.waiting, which, self.now, self.channel)

    # Reads.

    @lru_cache(maxsize=64)  # noqa: B019 - lives as long as the store
    def find(self, by: tuple[str, ...]) -> Statement:
        """Read messages of a queue by the filters named: ids, keys, statuses, after_id; `by_id` sets the order.

        `live` and `resting` are the statuses for which there is an index, by key and by id.
        """
        columns = self.message.c
        in_line = [columns.priority, self._stands.asc().nulls_last(), columns.id]
        line = [columns.id] if "by_id" in by else in_line
        return Statement(self._found(by).order_by(*line).limit(self._bound("limit_in", Integer())))

    def search(self, by: tuple[str, ...], where: Condition | None, order: Order, locked: bool) -> Statement:
        """As `find`, of which a condition holds and in any order; made for one use, with the condition's values."""
        columns = self.message.c
        found = self._found(by)
        if where is not None:
            found = found.where(self.conditions.clause(where))
        column = self.conditions.column(order.field)
        if order.after is not None:
            found = found.where(self._behind(column, order, *order.after))
        ends = (
            [column.desc().nulls_last(), columns.id.desc()] if order.descending else [column.nulls_last(), columns.id]
        )
        if order.field == "id":
            ends = ends[-1:]
        found = found.order_by(*ends).limit(self._bound("limit_in", Integer()))
        return Statement(found.with_for_update(of=self.message) if locked else found, kept=False)

    def _behind(self, column: ColumnElement[Any], order: Order, value: Any, id: int) -> ColumnElement[bool]:
        """Return that a row comes after a place in an order in which nulls are last."""
        ids = self.message.c.id
        mark = literal(id, BigInteger())
        later_id = ids < mark if order.descending else ids > mark
        if order.field == "id":
            return later_id
        if value is None:
            return and_(column.is_(None), later_id)
        bound = self.conditions.bound(order.field, value)
        later = column < bound if order.descending else column > bound
        return or_(later, and_(column == bound, later_id), column.is_(None))

    def tally(self, where: Condition | None, by: Path | None, limited: bool, resting: bool) -> Statement:
        """Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.

        `resting`: only those that are neither in line nor behind others, by their own index.
        """
        value = const(0) if by is None else self.conditions.value(by)
        found = select(value.label("value")).where(self._of_queue)
        if resting:
            found = found.where(self.message.c.due_at.is_(None), self.message.c.behind_at.is_(None))
        if where is not None:
            found = found.where(self.conditions.clause(where))
        if limited:
            found = found.limit(self._bound("limit_in", Integer()))
        rows = found.subquery("found")
        return Statement(select(rows.c.value, func.count()).group_by(rows.c.value), kept=False)

    def _found(self, by: tuple[str, ...]) -> Select[Any]:
        columns = self.message.c
        found = select(*self._record).where(columns.queue == self._bound("queue_in", Text()))
        if "live" in by:
            found = found.where(columns.key.is_not(None), self._live)
        if "resting" in by:
            found = found.where(columns.due_at.is_(None), columns.behind_at.is_(None))
        for name, column in (("ids", columns.id), ("keys", columns.key), ("statuses", columns.status)):
            if name in by:
                given = self.dialect.given(name, {"value": column.type}, frozenset())
                found = found.where(column.in_(select(given.c.value)))
        if "after_id" in by:
            found = found.where(columns.id > self._bound("after_id", BigInteger()))
        return found

    @property
    def _stands(self) -> ColumnElement[Any]:
        """The due time of a row, also of one that waits behind others of its group."""
        columns = self.message.c
        return func.coalesce(columns.due_at, columns.behind_at, type_=self.dialect.moment)

    @lru_cache(maxsize=2)  # noqa: B019 - lives as long as the store
    def peek(self, grouped: bool) -> Statement:
        """Read the oldest due rows of a line; of groups only those whose turn it is."""
        columns = self.message.c
        free: list[ColumnElement[bool]] = []
        if grouped:
            other = self.message.alias("other")
            of_group, live = _of_group(other, columns), _live(other)
            leased = exists().where(*of_group, other.c.leased_by.is_not(None), other.c.id != columns.id)
            free = [~exists().where(*of_group, live, other.c.id < columns.id), ~leased]
        due = select(*self._record).where(*self._due_rows(grouped, False), *free)
        return Statement(due.order_by(columns.due_at, columns.id).limit(self._bound("limit_in", Integer())))

    @cached_property
    def count(self) -> Statement:
        """Count a queue's rows by status: those in line, those behind others, those at rest, each by its own index."""
        columns = self.message.c
        in_line = columns.due_at.is_not(None)
        behind = (columns.due_at.is_(None), columns.behind_at.is_not(None), columns.group.is_not(None), self._live)
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (in_line, self._in_group(False)),
            (in_line, self._in_group(True)),
            behind,
            self._resting,
        ]
        parts = [
            select(columns.status, func.count().label("number")).where(self._of_queue, *kind).group_by(columns.status)
            for kind in kinds
        ]
        return Statement(union_all(*parts))

    @cached_property
    def queue_after(self) -> Statement:
        """Read the name of the first queue after a name: the smallest of each kind of rows, by its own index."""
        columns = self.message.c
        after = columns.queue > self._bound("queue_in", Text())
        kinds: list[tuple[ColumnElement[bool], ...]] = [
            (columns.due_at.is_not(None), self._in_group(False)),
            (columns.group.is_not(None), self._live),
            self._resting,
        ]
        return Statement(
            select(*(select(func.min(columns.queue)).where(after, *kind).scalar_subquery() for kind in kinds))
        )

    @cached_property
    def set_paused(self) -> Statement:
        """Note that a queue is paused, or not."""
        queue = self.tables.queue
        values = {"name": self._bound("queue_in", Text()), "paused": self._bound("paused_in", Boolean())}
        said: Any = self.dialect.insert(queue).values(values)
        return Statement(
            said.on_conflict_do_update(index_elements=[queue.c.name], set_={"paused": said.excluded.paused})
        )

    @cached_property
    def note_consumer(self) -> Statement:
        """Note that a consumer is there now."""
        consumer = self.tables.consumer
        about = self._json(self._bound("about_in", Text()))
        said: Any = self.dialect.insert(consumer).values(
            {"name": self._bound("name_in", Text()), "about": about, "seen_at": self.now}
        )
        new = {"about": said.excluded.about, "seen_at": said.excluded.seen_at}
        return Statement(said.on_conflict_do_update(index_elements=[consumer.c.name], set_=new))

    @cached_property
    def forget_consumers(self) -> Statement:
        """Forget the consumers not heard of for a day."""
        consumer = self.tables.consumer
        return Statement(
            delete(consumer).where(
                self.dialect.later(consumer.c.seen_at, self._bound("span", self.dialect.span)) < self.now
            )
        )

    @cached_property
    def consumers(self) -> Statement:
        """Read the consumers that were there lately."""
        columns = self.tables.consumer.c
        about = self.dialect.as_text(columns.about)
        return Statement(select(columns.name, about, columns.seen_at).order_by(columns.name))

    @cached_property
    def purge(self) -> Statement:
        """Take some messages of a queue away, whatever they are, each kind by its own index; return their ids."""
        columns = self.message.c
        kinds = ((columns.due_at.is_not(None), self._in_group(False)), *self._kinds)
        limit = self._bound("limit_in", Integer())
        some = [select(columns.id).where(self._of_queue, *kind).limit(limit).subquery() for kind in kinds]
        ids = union_all(*(select(part.c.id) for part in some)).subquery("some")
        gone = delete(self.message).where(columns.id.in_(select(ids.c.id).limit(limit)))
        return Statement(gone.returning(columns.id))

    @property
    def _kinds(self) -> tuple[tuple[ColumnElement[bool], ...], ...]:
        """The rows in groups, and those that rest: what is neither is in a line without groups."""
        columns = self.message.c
        return (columns.group.is_not(None), self._live), self._resting

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def in_line(self, grouped: bool, due: bool) -> Statement:
        """Count the rows of a line that are due, or those that are not yet, by whether they are lent, up to a number.

        Each with the first due time among them.
        """
        columns = self.message.c
        line = (self._of_queue, columns.priority == self._bound("priority_in", SmallInteger()), self._in_group(grouped))
        when = columns.due_at <= self.now if due else columns.due_at > self.now
        lent = (const(1) == const(0)) if due else columns.leased_by.is_not(None)
        some = select(lent.label("lent"), columns.due_at).where(*line, when).order_by(columns.due_at)
        first = some.limit(self._bound("limit_in", Integer())).subquery("first")
        counted = select(first.c.lent, func.count(), func.min(first.c.due_at, type_=self.dialect.moment))
        return Statement(counted.group_by(first.c.lent))

    @cached_property
    def out_of_line(self) -> Statement:
        """Count the rows of a queue that are in no line, by what they wait for, each up to a number."""
        columns = self.message.c
        limit = self._bound("limit_in", Integer())
        behind = (columns.group.is_not(None), self._live, columns.due_at.is_(None), columns.behind_at.is_not(None))
        kinds = {
            "dead": (*self._resting, ~self._live),
            "stopped": (*self._resting, self._live),
            "waiting": behind,
        }
        parts = []
        for name, which in kinds.items():
            some = select(columns.id).where(self._of_queue, *which).limit(limit).subquery(name)
            parts.append(select(func.count()).select_from(some).scalar_subquery())
        return Statement(select(*parts, self._paused, self.now))

    @cached_property
    def blocker(self) -> Statement:
        """Read the message that has to leave a group before the given one: the one that is lent, else the first."""
        columns = self.message.c
        group = (self._of_queue, columns.group == self._bound("group_in", Text()), self._live)
        before = or_(columns.leased_by.is_not(None), columns.id < self._bound("id_in", BigInteger()))
        found = select(*self._record).where(*group, before, columns.id != self._bound("id_in", BigInteger()))
        lent_first = case((columns.leased_by.is_not(None), const(0)), else_=const(1))
        return Statement(found.order_by(lent_first, columns.id).limit(const(1)))

    @property
    def _paused(self) -> ColumnElement[Any]:
        queue = self.tables.queue.c
        said = select(queue.paused).where(queue.name == self._bound("queue_in", Text())).scalar_subquery()
        return func.coalesce(said, const(1) == const(0))

    @cached_property
    def hold(self) -> Statement:
        """Write nothing, but as the first step of a transaction: SQLite then lets nobody else begin to write."""
        return Statement(delete(self.message).where(const(1) == const(0)))

    @cached_property
    def time(self) -> Statement:
        """Read the time."""
        return Statement(select(self.now))

    @cached_property
    def next_due(self) -> OverRows:
        """Read when the next of each given line is due, of those due from the bound `floor` on; and the time."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            def first(grouped: bool) -> Any:
                in_line = (columns.due_at >= self._bound("floor", self.dialect.moment), self._in_group(grouped))
                line = (self._of_queue, columns.priority == given.c.priority)
                return select(func.min(columns.due_at)).where(*line, *in_line).correlate(given).scalar_subquery()

            found = case((given.c.grouped, first(True)), else_=first(False))
            return select(found, self.now).select_from(given)

        return self._over(("grouped", "priority"), build)

    # Schedules.

    @cached_property
    def next_tick(self) -> Statement:
        """Read when the next of all schedules ticks; and the time."""
        next_at = self.tables.schedule.c.next_at
        return Statement(select(select(func.min(next_at)).where(next_at.is_not(None)).scalar_subquery(), self.now))

    @lru_cache(maxsize=4)  # noqa: B019 - lives as long as the store
    def schedules(self, by: tuple[str, ...]) -> Statement:
        """Read schedules: all, by `name`, or those `due` until a bound moment."""
        columns = self.tables.schedule.c
        definition = self.dialect.as_text(columns.definition).label("definition")
        found = select(columns.name, definition, columns.next_at, columns.last_at, columns.version)
        if "name" in by:
            return Statement(found.where(columns.name == self._bound("name_in", Text())))
        if "due" in by:
            due = found.where(columns.next_at <= self._bound("until", self.dialect.moment))
            return Statement(due.order_by(columns.next_at).limit(self._bound("limit_in", Integer())))
        return Statement(found.order_by(columns.name))

    @cached_property
    def insert_schedule(self) -> Statement:
        """Add a schedule, and return its name; nothing if there is one of that name."""
        columns = self.tables.schedule.c
        values = {"name": self._bound("name_in", Text()), **self._scheduled}
        added: Any = self.dialect.insert(self.tables.schedule).values(values)
        return Statement(added.on_conflict_do_nothing(index_elements=[columns.name]).returning(columns.name))

    @cached_property
    def update_schedule(self) -> Statement:
        """Change the schedule that has this name and version, and return its name."""
        changed = update(self.tables.schedule).where(*self._schedule_as_read).values(self._scheduled)
        return Statement(changed.returning(self.tables.schedule.c.name))

    @cached_property
    def delete_schedule(self) -> Statement:
        """Take away the schedule that has this name and version, and return its name."""
        removed = delete(self.tables.schedule).where(*self._schedule_as_read)
        return Statement(removed.returning(self.tables.schedule.c.name))

    @property
    def _schedule_as_read(self) -> list[ColumnElement[bool]]:
        columns = self.tables.schedule.c
        return [columns.name == self._bound("name_in", Text()), columns.version == self._bound("was", BigInteger())]

    @property
    def _scheduled(self) -> dict[str, ColumnElement[Any]]:
        """The columns of a schedule that change."""
        return {
            "definition": self._json(self._bound("definition_in", Text())),
            "next_at": self._bound("next_in", self.dialect.moment),
            "last_at": self._bound("last_in", self.dialect.moment),
            "version": self._bound("version_in", BigInteger()),
        }

    # Parts.

    @property
    def channel(self) -> str:
        """The name under which sleeping consumers are woken."""
        return f"{self.tables.prefix}wake"

    @property
    def _entry_types(self) -> dict[str, TypeEngine[Any]]:
        dialect = self.dialect
        texts = (Text(), Text(), Text(), Text(), Text(), Text())
        kinds = (BigInteger(), *texts, SmallInteger(), dialect.moment, dialect.span)
        return dict(zip(ENTRY, kinds, strict=True))

    @property
    def _turned(self) -> dict[str, Any]:
        """What every write that ends a lease sets."""
        return {"token": self.message.c.token + const(1), "leased_by": null(), "leased_until": null()}

    def _over(self, names: Sequence[str], build: Callable[[Any], Executable]) -> OverRows:
        """Return a statement over rows with these columns, of which each always has the same type."""
        types = {
            **self._entry_types,
            "token": BigInteger(),
            "error": Text(),
            "behind": Boolean(),
            "grouped": Boolean(),
            "low": Integer(),
            "high": Integer(),
        }
        return OverRows(self.dialect, {name: types[name] for name in names}, build)

    def _bound(self, name: str, kind: TypeEngine[Any]) -> BindParameter[Any]:
        return bindparam(name, type_=kind)

    def _json(self, value: ColumnElement[Any]) -> ColumnElement[Any]:
        return self.dialect.from_text(value)

    def _due(self, due: ColumnElement[Any], delay: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return when a message is due that was pushed with a due time, a delay or neither."""
        if isinstance(due, Null) and isinstance(delay, Null):
            return self.now
        later = self.dialect.later(self.now, delay)
        return func.coalesce(due, later, self.now, type_=self.dialect.moment)

    def _fresh(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return all columns of a new message."""
        due = self._due(given["due"], given["delay"])
        ids = {"id": given["id"]} if "id" in given else {}
        return {
            **ids,
            "queue": given["queue"],
            "key": given["key"],
            "kind": given["kind"],
            "payload": self._json(given["payload"]),
            "headers": self._json(given["headers"]),
            "group": given["group"],
            "priority": const(0) if isinstance(given["priority"], Null) else given["priority"],
            "status": const("new"),
            "due_at": due,
            "first_due_at": due,
            "attempts": const(0),
            "token": const(0),
            "created_at": self.now,
        }

    def _ignoring(self, added: Any) -> Any:
        columns = self.message.c
        held = and_(columns.key.is_not(None), self._live)
        return added.on_conflict_do_nothing(index_elements=[columns.queue, columns.key], index_where=held)


def _live(rows: Any) -> ColumnElement[bool]:
    found: ColumnElement[bool] = rows.c.status.in_([const(status) for status in LIVE])
    return found


def _of_group(rows: Any, given: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The rows of the group that is given by its queue and its name."""
    return rows.c.queue == given.queue, rows.c.group == given.group


LENT: Final = (
    "id",
    "payload",
    "kind",
    "key",
    "headers",
    "status",
    "created_at",
    "first_due_at",
    "place_at",
    "attempts",
    "token",
    "leased_until",
    "last_error",
)
"""What a reserve reads: what the caller knows is left out, and a moment equal to the one before it comes as null."""

RECORD: Final = (
    "id",
    "queue",
    "payload",
    "kind",
    "key",
    "headers",
    "group",
    "priority",
    "status",
    "due_at",
    "first_due_at",
    "attempts",
    "token",
    "leased_by",
    "leased_until",
    "created_at",
    "last_attempt_at",
    "last_error",
)
"""The columns of a record, in the order of its fields."""
