"""How turns end: the effect of each settlement on the state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from duerow.errors import DuerowError, DuplicateKey, LeaseLost, NotSupported
from duerow.store import (
    ORDER_OF_EFFECT,
    Buried,
    Closed,
    Committed,
    End,
    Entry,
    Joined,
    Moved,
    Record,
    Released,
    Retention,
    RolledBack,
    Turn,
)
from duerow.stores.memory import history, join
from duerow.stores.memory.state import State
from duerow.stores.memory.steps import lent_on, merge_into_holder
from duerow.stores.records import as_new, dead, due_time, settled


def in_order_of_effect(turns: Iterable[tuple[int, Turn]]) -> list[tuple[int, Turn]]:
    """Return turns with their places in the call, in the order in which they take effect: by kind of end, then id."""

    def effect(numbered: tuple[int, Turn]) -> tuple[int, int]:
        _, turn = numbered
        return ORDER_OF_EFFECT.index(type(turn.end)), turn.receipt.id

    return sorted(turns, key=effect)


def require_lone_turns(turns: Sequence[Turn]) -> None:
    """Raise NotSupported if a turn would also have to change a message other than its own.

    The turn alone decides this, because it is too late when it turns out that the key of a move is taken.
    """
    for turn in turns:
        match turn.end:
            case Committed(then=(_, *_)) | Buried(then=(_, *_)) | Moved(then=(_, *_)):
                asked = "then= with the settlement"
            case Moved(key=str(), on_duplicate="replace" | "earliest"):
                asked = f"move(on_duplicate={turn.end.on_duplicate!r}) with a key"
            case Joined() | Closed():
                asked = "the join"
            case _:
                continue
        raise NotSupported(
            f"{asked} of message {turn.receipt.id} changes several messages together, and this in-memory store was "
            "opened with transactions=off; open it without that option"
        )


def end_turn(state: State, now: datetime, turn: Turn, keep: Retention | None) -> DuerowError | None:
    """End a turn, but ignore its `then`, and write its history; return why it was refused, or None."""
    record = lent_on(state, turn.receipt)
    if record is None:
        return LeaseLost(turn.receipt.id)
    if not isinstance(turn.end, Moved):
        history.ended(state, now, record, turn.end, keep)
    match turn.end:
        case Committed():
            state.drop(record.id)
        case RolledBack(delay, error):
            state.put(
                replace(settled(record), status="error", due_at=now + delay, last_error=_latest_error(record, error))
            )
        case Buried(error):
            state.put(replace(dead(record), last_error=_latest_error(record, error)))
        case Released(due_at):
            if due_at is None:
                due_at = state.place(record) or record.first_due_at
            state.put(replace(settled(record), due_at=due_at, attempts=record.attempts - 1))
        case Moved() as move:
            return _move(state, now, record, move, keep)
        case Closed() | Joined():
            raise AssertionError("the turns of sets and of their parts end before all others")
    return None


def gather(state: State, now: datetime, turn: Turn) -> End | DuerowError | None:
    """End the turn of a set, or of a part that joins one; return its actual end, or why it was refused."""
    record = lent_on(state, turn.receipt)
    if record is None:
        return LeaseLost(turn.receipt.id)
    if isinstance(turn.end, Closed):
        join.close(state, now, record, turn.end)
    return join.join(state, now, record, turn.end) if isinstance(turn.end, Joined) else None


def _move(state: State, now: datetime, record: Record, move: Moved, keep: Retention | None) -> DuplicateKey | None:
    payload = record.payload if move.payload is None else move.payload
    kind = record.kind if move.kind is None else move.kind
    held = state.holder(move.to, move.key)
    if move.key is None or held is None or held.id == record.id:
        history.ended(state, now, record, move, keep)
        arrived = as_new(record, due_time(now, move.due, move.delay))
        arrived = replace(arrived, queue=move.to, payload=payload, kind=kind, key=move.key, headers=move.headers)
        state.put(replace(arrived, group=move.group, priority=move.priority))
        return None
    if move.on_duplicate == "reject":
        return DuplicateKey(move.to, [move.key])
    # From now on, the message that holds the key replaces this one.
    history.ended(state, now, record, move, keep, met=True)
    entry = Entry(move.to, move.key, kind, payload, move.headers, move.due, move.delay, move.group, move.priority)
    merge_into_holder(state, now, held, entry, move.on_duplicate)
    state.drop(record.id)
    return None


def _latest_error(record: Record, error: str | None) -> str | None:
    return record.last_error if error is None else error
