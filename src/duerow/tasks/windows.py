"""Windows of time for calls with the same key: unique within a window, debounced, or throttled.

A message in the queue `NAME/windows` records the last push with a key: it has that key, and is due when the window is
over. It is read and written in the transaction that pushes the call, so if several processes push at once, only one can
be first. It has a mark; see `duerow.queue.beside`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from duerow.errors import ConfigurationError, NotSupported
from duerow.message import LIVE, Pushed, check_span
from duerow.plan import BEGIN, Plan
from duerow.queue.beside import KINDS, WINDOWS, marks
from duerow.store import Entry, Query, Record, Store

Kind = Literal["unique", "debounce", "throttle"]

_FORGOTTEN: Final = 100
"""How many notes of past windows are removed at once."""

_SHORTEST: Final = timedelta(milliseconds=1)


class Window(NamedTuple):
    """How calls with the same key are spaced in time.

    Attributes:
        kind: "unique": within the window after a push, other pushes with its key are ignored. "debounce": a call runs,
            with the latest arguments, once nothing has been pushed with its key for the length of the window.
            "throttle": at most one call runs in any window; calls pushed during the window become one call when it
            ends, with the latest arguments.
        length: how long the window is.
    """

    kind: Kind
    length: timedelta


class _Note(msgspec.Struct, frozen=True):
    """The latest push with a key.

    Attributes:
        id: the message that was pushed last.
        key: the key of that message.
    """

    id: int = 0
    key: str = ""


def window_of(
    task: str,
    keyed: bool,
    unique: timedelta | None,
    debounce: timedelta | None,
    throttle: timedelta | None,
) -> Window | None:
    """Return the window of a task's calls; None: it has none.

    Raises:
        ConfigurationError: more than one window is given, or the task has no key.
        InvalidMessage: the length of the window is not valid.
    """
    kinds: dict[Kind, timedelta | None] = {"unique": unique, "debounce": debounce, "throttle": throttle}
    given = [Window(kind, check_span(kind, length, _SHORTEST)) for kind, length in kinds.items() if length is not None]
    if not given:
        return None
    if len(given) > 1:
        raise ConfigurationError(f"task {task!r}: give only one of unique=, debounce= and throttle=")
    if not keyed:
        raise ConfigurationError(
            f'task {task!r}: {given[0].kind}= applies to calls with the same key; set one, as in key="user-{{user}}"'
        )
    return given[0]


def push(store: Store, window: Window, entries: Sequence[Entry]) -> Plan[list[Pushed]]:
    """Push calls, each within the window of its key; return a result for each, in the order given.

    Raises:
        NotSupported: the store has no transactions.
        ConfigurationError: the queue of the notes has a message of the application with the key of a call.
    """
    if window.kind == "debounce":
        return (yield from store.messages.push([_later(entry, window.length) for entry in entries], "replace"))
    if not store.capabilities.transactions:
        raise NotSupported(
            f"{window.kind}= needs a store with transactions, to record a key in the same transaction that pushes its "
            "message"
        )
    yield BEGIN
    one: Callable[[Store, timedelta, Entry], Plan[Pushed]] = _unique if window.kind == "unique" else _throttled
    for queue in sorted({entry.queue + WINDOWS for entry in entries}):
        while len((yield from store.messages.pop(queue, _FORGOTTEN, kinds=marks(queue)))) == _FORGOTTEN:
            pass
    pushed: list[Pushed] = []
    for entry in entries:
        pushed.append((yield from one(store, window.length, entry)))  # noqa: PERF401 - a plan's steps
    return pushed


def _unique(store: Store, length: timedelta, entry: Entry) -> Plan[Pushed]:
    """Push a call, unless one was pushed with its key within the window."""
    held = yield from _hold(store, length, entry)
    if held is not None:
        return Pushed(_read(held).id, "ignored")
    (pushed,) = yield from store.messages.push([entry], "ignore")
    yield from _note(store, _noted(entry, _Note(pushed.id), delay=length))
    return pushed


def _throttled(store: Store, length: timedelta, entry: Entry) -> Plan[Pushed]:
    """Push a call for now or for the end of the window, or pass its arguments to the call that waits for that end."""
    held = yield from _hold(store, length, entry)
    named = replace(entry, key=f"{entry.key}#{secrets.token_hex(4)}")
    if held is None:
        (pushed,) = yield from store.messages.push([named], "ignore")
        yield from _note(store, _noted(entry, _Note(pushed.id, named.key or ""), delay=length))
        return pushed
    note = _read(held)
    query = Query(entry.queue, keys=(note.key,), statuses=LIVE, limit=1, locked=True)
    waiting: list[Record] = yield from store.messages.find(query)
    if waiting and waiting[0].leased_by is None:
        (pushed,) = yield from store.messages.push(
            [replace(entry, key=note.key, due=waiting[0].due_at, delay=None)], "replace"
        )
        return pushed
    assert held.due_at is not None  # noqa: S101 - it was pushed with one
    (pushed,) = yield from store.messages.push([replace(named, due=held.due_at, delay=None)], "ignore")
    following = _noted(entry, _Note(pushed.id, named.key or ""), delay=None)
    yield from _note(store, replace(following, due=held.due_at + length))
    return pushed


def _hold(store: Store, length: timedelta, entry: Entry) -> Plan[Record | None]:
    """Note a key; return the note of an earlier push within the window, locked, if there is one.

    Raises:
        ConfigurationError: there is a message of the application with this key.
    """
    while True:
        (mine,) = yield from store.messages.push([_noted(entry, _Note(), delay=length)], "ignore")
        if mine.outcome == "created":
            return None
        query = Query(entry.queue + WINDOWS, keys=(str(entry.key),), statuses=LIVE, limit=1, locked=True)
        found = yield from store.messages.find(query)
        if not found:  # it has just been removed
            continue
        if found[0].kind != KINDS[WINDOWS]:
            raise ConfigurationError(
                f"queue {found[0].queue!r} has one of your messages with the key {entry.key!r}; duerow uses this queue "
                "to record when a call was pushed: rename your queue or the queue of the task"
            )
        return found[0]


def _note(store: Store, note: Entry) -> Plan[None]:
    yield from store.messages.push([note], "replace")


def _noted(entry: Entry, note: _Note, delay: timedelta | None) -> Entry:
    text = msgspec.json.encode(note, order="sorted").decode()
    return Entry(entry.queue + WINDOWS, entry.key, KINDS[WINDOWS], text, None, None, delay)


def _read(record: Record) -> _Note:
    return msgspec.json.decode(record.payload, type=_Note)


def _later(entry: Entry, length: timedelta) -> Entry:
    return replace(entry, due=None, delay=length)
