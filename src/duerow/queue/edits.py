"""What an operator does to messages: which ones are meant, what becomes of each, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from duerow.conditions.model import FIELDS, Compare, Condition, every
from duerow.errors import (
    CodecError,
    ConfigurationError,
    Conflict,
    DuerowError,
    InvalidMessage,
    KeyMissing,
    LeaseLost,
    MessageLeased,
    shown,
)
from duerow.message import LIVE, Scalar, Status, check_due, check_key, check_priority
from duerow.payload import codec
from duerow.payload.dead_letter_headers import home
from duerow.payload.encoding import Payloads, sealed_of
from duerow.phrases import Argument, Hint
from duerow.plan import BEGIN, Plan
from duerow.settlement import merged
from duerow.store import Change, Indexed, Order, Query, Record, Retention, Store
from duerow.where import as_condition

UNFINISHED: Final[tuple[Status, ...]] = (*LIVE, "dead")

BATCH: Final = 200
"""How many messages are changed in one transaction; each may have a payload of a mebibyte."""

MOST: Final = 1_000_000_000
"""However many are asked for: a number that every database can be told."""

Edit = Callable[[Record], Change]
"""Says what becomes of a message; raises InvalidMessage if that cannot be."""


class Changed(msgspec.Struct, frozen=True, gc=False):
    """How many messages were changed; true if any was. After a dry run: how many would have been.

    Attributes:
        count: those that were changed.
        skipped: those that were meant but left alone: a lease on them runs, their key is taken by now, or they hold
            what cannot be read.
    """

    count: int
    skipped: int = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: Changed) -> Changed:
        return Changed(self.count + other.count, self.skipped + other.skipped)


class EditBatch(msgspec.Struct, frozen=True, gc=False):
    """What became of one batch.

    Attributes:
        changed: how many were changed and skipped.
        last: the id behind which the next batch begins; None: this was the last one.
        highest: the highest id that the call is about.
    """

    changed: Changed
    last: int | None
    highest: int | None


class EditChoice(msgspec.Struct, frozen=True):
    """Which messages of a queue are meant: one by its id, the live one that holds a key, or all of a condition."""

    queue: str
    id: int | None
    key: str | None
    where: Condition | None
    even_if_leased: bool
    indexed: tuple[Indexed, ...] = ()
    batch: int = BATCH

    def query(self, after: int | None, statuses: tuple[Status, ...] | None, locked: bool) -> Query:
        """Return the query for the next batch."""
        return Query(
            self.queue,
            ids=None if self.id is None else (self.id,),
            keys=None if self.key is None else (self.key,),
            statuses=statuses if self.key is None else LIVE,
            where=self.where,
            after_id=after,
            order=Order(),
            limit=self.batch,
            locked=locked,
            indexed=self.indexed,
        )


def choice(
    queue: str, id: object, key: object, where: object, even_if_leased: object, indexed: tuple[Indexed, ...] = ()
) -> EditChoice:
    """Return which messages are meant.

    Raises:
        ConfigurationError: not exactly one of id, key and where was given, the id is none, or `even_if_leased` is
            neither true nor false.
        InvalidMessage: no message can have the key.
        InvalidCondition: the condition cannot be read.
    """
    if sum(which is not None for which in (id, key, where)) != 1:
        raise ConfigurationError(
            "say an id or a key or a condition, exactly one of them: ",
            *one_of({"id": id, "key": key, "where": where}),
        )
    if not isinstance(even_if_leased, bool):
        raise ConfigurationError(Argument("even_if_leased"), f" is True or False, not {shown(even_if_leased)}")
    chosen = None if id is None else one_id(id)
    condition = None if where is None else as_condition(where)
    return EditChoice(queue, chosen, check_key(key), condition, even_if_leased, indexed)


def all_dead(queue: str, batch: int, where: Condition | None, indexed: tuple[Indexed, ...]) -> EditChoice:
    """Return that the dead messages of a queue of which a condition holds are meant, so many at a time; None: all."""
    dead = Compare(("status",), "=", "dead")
    return EditChoice(queue, None, None, dead if where is None else every(dead, where), False, indexed, batch)


def change(
    store: Store,
    choice: EditChoice,
    statuses: tuple[Status, ...],
    edit: Edit,
    previous: EditBatch | None,
    dry_run: bool,
) -> Plan[EditBatch]:
    """Change the next batch of the messages that are meant; they are read and written in one transaction.

    Raises:
        MessageLeased: the message that was named is worked on.
        DuplicateKey: another live message holds the key of the message that was named.
    """
    if store.capabilities.transactions:
        yield BEGIN
    records, batch = yield from next_batch(store, choice, statuses, previous, locked=not dry_run)
    changes, unreadable = _changes(records, edit, alone=choice.where is None)
    refused = (yield from store.change(choice.queue, changes, choice.even_if_leased, dry_run)) if changes else []
    if refused and choice.where is None:
        raise _error(refused[0].error)
    return _counted(batch, len(changes) - len(refused), len(refused) + unreadable)


def _changes(records: list[Record], edit: Edit, alone: bool) -> tuple[list[Change], int]:
    """Return what becomes of messages, and how many are left alone since what is stored of them cannot be read.

    Raises:
        InvalidMessage: it was named, or the change is wrong with it.
    """
    changes: list[Change] = []
    unreadable = 0
    for record in records:
        try:
            changes.append(edit(record))
        except CodecError:
            if alone or _is_readable(record):
                raise
            unreadable += 1
    return changes, unreadable


def _is_readable(record: Record) -> bool:
    """Return whether the JSON of a message is such, whatever its kind makes of it."""
    try:
        codec.decode_headers(record.headers)
        codec.decode_json(record.payload, "payload")
    except CodecError:
        return False
    return record.damage is None


def remove(
    store: Store, choice: EditChoice, previous: EditBatch | None, dry_run: bool, keep: Retention | None = None
) -> Plan[EditBatch]:
    """Take the next batch of the messages that are meant out of the queue; as `change` otherwise."""
    if dry_run:
        return (yield from change(store, choice, UNFINISHED, Change, previous, dry_run))
    if store.capabilities.transactions:
        yield BEGIN
    records, batch = yield from next_batch(store, choice, None, previous, locked=True)
    ids = [record.id for record in records]
    removal = yield from store.remove(choice.queue, ids, (), choice.even_if_leased, keep)
    if removal.leased and choice.where is None:
        raise MessageLeased(*removal.leased[0])
    return _counted(batch, len(removal.removed), len(removal.leased))


def next_batch(
    store: Store, choice: EditChoice, statuses: tuple[Status, ...] | None, previous: EditBatch | None, locked: bool
) -> Plan[tuple[list[Record], EditBatch]]:
    """Read the next batch; what was pushed since the call began is not among it, so that the call comes to an end."""
    highest = None if previous is None else previous.highest
    if previous is None and choice.where is not None:
        newest = yield from store.find(Query(choice.queue, order=Order(descending=True), limit=1))
        highest = newest[0].id if newest else 0
    after = None if previous is None else previous.last
    found = yield from store.find(choice.query(after, statuses, locked))
    records = [record for record in found if highest is None or record.id <= highest]
    more = choice.where is not None and len(records) == choice.batch
    return records, EditBatch(Changed(0), records[-1].id if more else None, highest)


def _counted(batch: EditBatch, count: int, skipped: int) -> EditBatch:
    return msgspec.structs.replace(batch, changed=Changed(count, skipped))


def _error(error: DuerowError) -> DuerowError:
    """Return what to raise for a message that was named; one that changed meanwhile is worth another try."""
    return Conflict(str(error)) if isinstance(error, LeaseLost) else error


# What becomes of a message.


def edited(
    payload: Any, patch: Any, headers: Mapping[str, Scalar | None] | None, max_bytes: int, payloads: Payloads
) -> Edit:
    """Return what gives a message another payload, or a changed one, and changed headers.

    Raises:
        ConfigurationError: nothing is to be changed, or payload and patch are both given.
        InvalidMessage: the payload or a header cannot be carried.
    """
    if payload is not UNSET and patch is not UNSET:
        raise ConfigurationError(
            "give ", Argument("payload"), " or ", Argument("patch"), " to edit a message, not both"
        )
    if payload is UNSET and patch is UNSET and headers is None:
        ways: list[str | Argument] = [Argument("payload"), ", ", Argument("patch"), " or ", Argument("headers")]
        raise ConfigurationError("an edit was given nothing to change: say ", *ways)
    encoded = None if payload is UNSET else payloads.encode(payload, max_bytes)
    if patch is not UNSET:
        payloads.check_patch(patch)
    codec.encode_headers(merged({}, headers))

    def edit(record: Record) -> Change:
        after = (
            UNSET if headers is None else codec.encode_headers(merged(codec.decode_headers(record.headers), headers))
        )
        belongs = record if after is UNSET else msgspec.structs.replace(record, headers=after)
        content: codec.Encoded | None
        if patch is not UNSET:
            content = _patched(record, belongs.headers, patch, max_bytes, payloads)
        elif encoded is not None:
            content = payloads.seal(encoded, belongs.queue, belongs.key, belongs.headers)
        else:
            content = _carried_over(record, belongs, payloads)
        if content is None:
            return Change(record, headers=after)
        return Change(record, payload=content.text, kind=content.kind, headers=after)

    return edit


def rescheduled(due: Any, delay: timedelta | None) -> Edit:
    """Return what gives a message another due time, or none.

    Raises:
        ConfigurationError: not exactly one of due and delay was given.
        InvalidMessage: the due time or the delay is out of bounds.
    """
    if (due is UNSET) == (delay is None):
        raise ConfigurationError(
            "give a due time, a delay",
            Hint(" (timedelta(0): now), or due=None to stop the message", " (0: now), or stop the message"),
            ", one of them",
        )
    at, span = check_due(None if due is UNSET else due, delay)
    if span is not None:
        return lambda record: Change(record, delay=span)
    return lambda record: Change(record, due=at)


def reprioritised(priority: object) -> Edit:
    """Return what gives a message another priority; raise InvalidMessage if it is none."""
    checked = check_priority(priority)
    return lambda record: Change(record, priority=checked)


def requeued(record: Record) -> Change:
    """Let a message begin anew, now."""
    return Change(record, delay=timedelta(0), anew=True)


def statuses_to_reschedule(due: datetime | object | None) -> tuple[Status, ...]:
    """Return which messages can be given a due time; what is dead need not be stopped."""
    return LIVE if due is None else UNFINISHED


def _carried_over(record: Record, after: Record, payloads: Payloads) -> codec.Encoded | None:
    """Return the payload anew if it is encrypted, and the headers that say where it belongs were changed."""
    sealed = sealed_of(record)
    if sealed is None:
        return None
    before = home(record.queue, record.key, record.headers)
    return payloads.moved(sealed, before, after.queue, after.key, after.headers)


def _patched(record: Record, headers: str | None, patch: Any, max_bytes: int, payloads: Payloads) -> codec.Encoded:
    try:
        return payloads.edited(record, patch, max_bytes, headers)
    except KeyMissing:
        raise
    except CodecError as error:
        said = f"message {record.id} cannot be patched: {error}"
        raise CodecError(said, quotes=error.quotes, detail=error.detail) from (error if error.quotes else None)


# What is looked for.


def one_of(given: Mapping[str, object]) -> list[str | Argument]:
    """Return how an error names arguments of which one is to be given, and those that were."""
    parts: list[str | Argument] = []
    for name in given:
        parts += [" or " if parts else "", Argument(name)]
    said = [value[:80] if isinstance(value, str) else _said(value) for value in given.values() if value is not None]
    return [*parts, f" (given: {', '.join(said) or 'none'})"]


def _said(value: object) -> str:
    return f"{value!s:.80}" if isinstance(value, Condition) else shown(value)


def order(text: object, after: object) -> Order:
    """Return the order that a text says, such as "id" or "-created_at", behind a message or its id.

    Raises:
        ConfigurationError: messages have no such order, or an id alone does not say where to begin in it.
    """
    name = text.removeprefix("-") if isinstance(text, str) else text
    if not isinstance(text, str) or name not in FIELDS:
        raise ConfigurationError(f"messages cannot be ordered by {shown(text)}: say one of {', '.join(FIELDS)}, or -id")
    descending = text.startswith("-")
    if after is None:
        return Order(str(name), descending)
    return Order(str(name), descending, _place(str(name), after))


def _place(name: str, after: Any) -> tuple[Any, int]:
    if is_id(after):
        if name != "id":
            raise ConfigurationError(f"an id does not say where to begin in the order of {name}: give the last message")
        return after, after
    if not hasattr(after, "id") or not hasattr(after, name):
        raise ConfigurationError(f"after= takes the last message of the page before, or its id, not {shown(after)}")
    return getattr(after, name), after.id


def is_id(value: object) -> bool:
    """Return whether a message can have this id."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def one_id(id: object) -> int:
    """Return an id that was asked for, else raise ConfigurationError."""
    if not is_id(id):
        raise ConfigurationError(
            f"an id is an integer of 64 bits, not {shown(id)}; a condition is given as ", Argument("where")
        )
    return cast(int, id)


def one_key(key: object) -> str:
    """Return a key that was asked for, else raise InvalidMessage."""
    checked = check_key(key)
    if checked is None:
        raise InvalidMessage("a key is text of 1 to 255 characters, not None")
    return checked


def how_many(n: object) -> int:
    """Return a number of messages, at least 1 and no more than any queue has, else raise ConfigurationError."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ConfigurationError(f"how many is an integer of at least 1, not {shown(n)}")
    return min(n, MOST)


def each_of(many: object, what: str) -> Iterator[Any]:
    """Return an iterator over what was given, else raise ConfigurationError: it says what was to be given."""
    if not isinstance(many, Iterable):
        raise ConfigurationError(f"{what}, not {type(many).__name__}")
    return iter(many)
