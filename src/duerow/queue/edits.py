"""Changes that operators make to messages: which messages to change, and how, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from duerow.conditions.fields import FIELDS
from duerow.conditions.model import Compare, Condition, every
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
from duerow.store import Change, Entry, Indexed, Order, Query, Record, Retention, Store
from duerow.where import as_condition

UNFINISHED: Final[tuple[Status, ...]] = (*LIVE, "dead")

BATCH: Final = 200
"""How many messages are changed in one transaction; a payload can be up to 1 MiB."""

MOST: Final = 1_000_000_000
"""The highest limit that is passed to a database: a number that all of them accept."""

Edit = Callable[[Record], Change]
"""Returns the change to a message; raises InvalidMessage if it is not possible."""


class Changed(msgspec.Struct, frozen=True, gc=False):
    """How many messages were changed; true if any were. After a dry run: how many would have been.

    Attributes:
        count: how many were changed.
        skipped: how many were chosen but left alone because they are leased, their key is now taken, or they cannot be
            read.
    """

    count: int
    skipped: int = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: Changed) -> Changed:
        return Changed(self.count + other.count, self.skipped + other.skipped)


class EditBatch(msgspec.Struct, frozen=True, gc=False):
    """The result of one batch.

    Attributes:
        changed: how many were changed and skipped.
        last: the id after which the next batch begins; None: this was the last batch.
        highest: the highest id that the call covers.
    """

    changed: Changed
    last: int | None
    highest: int | None


class EditChoice(msgspec.Struct, frozen=True):
    """The messages of a queue to change: one by its id, the live one with a key, or all that match a condition."""

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
    """Return which messages to change.

    Raises:
        ConfigurationError: not exactly one of id, key and where was given, the id is invalid, or `even_if_leased` is
            neither true nor false.
        InvalidMessage: the key is invalid.
        InvalidCondition: the condition cannot be parsed.
    """
    if sum(which is not None for which in (id, key, where)) != 1:
        raise ConfigurationError(
            "give exactly one of an id, a key and a condition: ",
            *one_of({"id": id, "key": key, "where": where}),
        )
    if not isinstance(even_if_leased, bool):
        raise ConfigurationError(Argument("even_if_leased"), f" is True or False, not {shown(even_if_leased)}")
    chosen = None if id is None else one_id(id)
    condition = None if where is None else as_condition(where)
    return EditChoice(queue, chosen, check_key(key), condition, even_if_leased, indexed)


def all_dead(queue: str, batch: int, where: Condition | None, indexed: tuple[Indexed, ...]) -> EditChoice:
    """Choose the dead messages of a queue that match a condition (None: all of them), `batch` at a time."""
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
    """Change the next batch of the chosen messages; they are read and written in one transaction.

    Raises:
        MessageLeased: a consumer is working on the message given by id or key.
        DuplicateKey: another live message has the key of the message given by id or key.
    """
    if store.capabilities.together:
        yield BEGIN
    records, batch = yield from next_batch(store, choice, statuses, previous, locked=not dry_run)
    changes, unreadable = _changes(records, edit, alone=choice.where is None)
    refused = (
        (yield from store.operations.change(choice.queue, changes, choice.even_if_leased, dry_run)) if changes else []
    )
    if refused and choice.where is None:
        raise error_of(refused[0].error)
    return _counted(batch, len(changes) - len(refused), len(refused) + unreadable)


def _changes(records: list[Record], edit: Edit, alone: bool) -> tuple[list[Change], int]:
    """Return the changes to messages, and how many messages are left alone because their stored data cannot be read.

    Raises:
        InvalidMessage: the change is not possible, or the message given by id or key cannot be read.
    """
    changes: list[Change] = []
    unreadable = 0
    for record in records:
        try:
            changes.append(edit(record))
        except CodecError:
            if alone or is_readable(record):
                raise
            unreadable += 1
    return changes, unreadable


def is_readable(record: Record) -> bool:
    """Return whether the stored JSON of a message is valid, whatever its kind."""
    try:
        codec.decode_headers(record.headers)
        codec.decode_json(record.payload, "payload")
    except CodecError:
        return False
    return record.damage is None


def remove(
    store: Store,
    choice: EditChoice,
    previous: EditBatch | None,
    dry_run: bool,
    keep: Retention | None,
    notes: Callable[[Record], Sequence[Entry]],
) -> Plan[EditBatch]:
    """Remove the next batch of the chosen messages from the queue; otherwise like `change`.

    Args:
        store: the store.
        choice: the messages to remove.
        previous: the result of the previous batch.
        dry_run: whether to remove nothing.
        keep: what the queue keeps about messages that leave.
        notes: returns what to push in the same transaction because a message was removed.
    """
    if dry_run:
        return (yield from change(store, choice, UNFINISHED, Change, previous, dry_run))
    if store.capabilities.together:
        yield BEGIN
    records, batch = yield from next_batch(store, choice, None, previous, locked=True)
    ids = [record.id for record in records]
    removal = yield from store.operations.remove(choice.queue, ids, (), choice.even_if_leased, keep)
    if removal.leased and choice.where is None:
        raise MessageLeased(*removal.leased[0])
    gone = set(removal.removed)
    pushed = [entry for record in records if record.id in gone for entry in notes(record)]
    if pushed:
        yield from store.messages.push(pushed, "ignore")
    return _counted(batch, len(removal.removed), len(removal.leased))


def next_batch(
    store: Store, choice: EditChoice, statuses: tuple[Status, ...] | None, previous: EditBatch | None, locked: bool
) -> Plan[tuple[list[Record], EditBatch]]:
    """Read the next batch, without messages pushed since the call began, so that the call ends."""
    highest = None if previous is None else previous.highest
    if previous is None and choice.where is not None:
        newest = yield from store.messages.find(Query(choice.queue, order=Order(descending=True), limit=1))
        highest = newest[0].id if newest else 0
    after = None if previous is None else previous.last
    found = yield from store.messages.find(choice.query(after, statuses, locked))
    records = [record for record in found if highest is None or record.id <= highest]
    more = choice.where is not None and len(records) == choice.batch
    return records, EditBatch(Changed(0), records[-1].id if more else None, highest)


def _counted(batch: EditBatch, count: int, skipped: int) -> EditBatch:
    return msgspec.structs.replace(batch, changed=Changed(count, skipped))


def error_of(error: DuerowError) -> DuerowError:
    """Return the error to raise for a message given by id or key; if it has changed since, retrying may help."""
    return Conflict(str(error)) if isinstance(error, LeaseLost) else error


# Changes to a message.


def edited(
    payload: Any, patch: Any, headers: Mapping[str, Scalar | None] | None, max_bytes: int, payloads: Payloads
) -> Edit:
    """Return the edit that replaces or patches a message's payload and changes its headers.

    Raises:
        ConfigurationError: there is nothing to change, or payload and patch are both given.
        InvalidMessage: JSON cannot carry the payload or a header.
    """
    if payload is not UNSET and patch is not UNSET:
        raise ConfigurationError(
            "give ", Argument("payload"), " or ", Argument("patch"), " to edit a message, not both"
        )
    if payload is UNSET and patch is UNSET and headers is None:
        ways: list[str | Argument] = [Argument("payload"), ", ", Argument("patch"), " or ", Argument("headers")]
        raise ConfigurationError("the edit changes nothing: give ", *ways)
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
    """Return the edit that gives a message another due time, or none.

    Raises:
        ConfigurationError: not exactly one of due and delay was given.
        InvalidMessage: the due time or the delay is out of bounds.
    """
    if (due is UNSET) == (delay is None):
        raise ConfigurationError(
            "give exactly one of a due time",
            Hint(" (None: stop the message) and a delay (timedelta(0): now)", ", a delay (0: now) and a stop"),
        )
    at, span = check_due(None if due is UNSET else due, delay)
    if span is not None:
        return lambda record: Change(record, delay=span)
    return lambda record: Change(record, due=at)


def reprioritised(priority: object) -> Edit:
    """Return the edit that gives a message another priority; raise InvalidMessage if the priority is invalid."""
    checked = check_priority(priority)
    return lambda record: Change(record, priority=checked)


def requeued(record: Record) -> Change:
    """Restart a message from its first attempt, due now."""
    return Change(record, delay=timedelta(0), anew=True)


def statuses_to_reschedule(due: datetime | object | None) -> tuple[Status, ...]:
    """Return the statuses of messages that can be rescheduled; only live messages can be stopped."""
    return LIVE if due is None else UNFINISHED


def _carried_over(record: Record, after: Record, payloads: Payloads) -> codec.Encoded | None:
    """Return the payload, encrypted again, if the headers that tell where it belongs were changed; else None."""
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


# Checks of arguments.


def one_of(given: Mapping[str, object]) -> list[str | Argument]:
    """Return the parts of an error that name the arguments of which exactly one is allowed, and the given ones."""
    parts: list[str | Argument] = []
    for name in given:
        parts += [" or " if parts else "", Argument(name)]
    said = [value[:80] if isinstance(value, str) else _said(value) for value in given.values() if value is not None]
    return [*parts, f" (given: {', '.join(said) or 'none'})"]


def _said(value: object) -> str:
    return f"{value!s:.80}" if isinstance(value, Condition) else shown(value)


def order(text: object, after: object) -> Order:
    """Return the order given as text, such as "id" or "-created_at", starting after a message or its id.

    Raises:
        ConfigurationError: messages have no such order, or an id alone does not determine where to start in it.
    """
    name = text.removeprefix("-") if isinstance(text, str) else text
    if not isinstance(text, str) or name not in FIELDS:
        raise ConfigurationError(f"messages cannot be ordered by {shown(text)}; use one of {', '.join(FIELDS)}, or -id")
    descending = text.startswith("-")
    if after is None:
        return Order(str(name), descending)
    return Order(str(name), descending, _place(str(name), after))


def _place(name: str, after: Any) -> tuple[Any, int]:
    if is_id(after):
        if name != "id":
            raise ConfigurationError(f"an id is not enough to continue in the order of {name}; give the last message")
        return after, after
    if not hasattr(after, "id") or not hasattr(after, name):
        raise ConfigurationError(f"after= takes the last message of the previous page, or its id, not {shown(after)}")
    return getattr(after, name), after.id


def is_id(value: object) -> bool:
    """Return whether this is a valid message id."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def one_id(id: object) -> int:
    """Return the id if it is valid, else raise ConfigurationError."""
    if not is_id(id):
        raise ConfigurationError(
            f"an id must be a 64-bit integer, not {shown(id)}; give a condition as ", Argument("where")
        )
    return cast(int, id)


def one_key(key: object) -> str:
    """Return the key if it is valid, else raise InvalidMessage."""
    checked = check_key(key)
    if checked is None:
        raise InvalidMessage("a key must be text of 1 to 255 characters, not None")
    return checked


def how_many(n: object) -> int:
    """Return a number of messages, at least 1 and capped at `MOST`, else raise ConfigurationError."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ConfigurationError(f"the number of messages must be an integer of at least 1, not {shown(n)}")
    return min(n, MOST)


def each_of(many: object, what: str) -> Iterator[Any]:
    """Return an iterator over an argument; raise ConfigurationError, saying what is expected, if there is none."""
    try:
        return iter(many)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise ConfigurationError(f"{what}, not {type(many).__name__}") from None
