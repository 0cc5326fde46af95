"""The values of a store's writes: what is pushed, handed out and settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from duerow.errors import DuerowError
from duerow.message import OnDuplicate, Status
from duerow.reservation import Receipt


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An encoded message to be pushed. At most one of `due` and `delay` is given; neither: due at once."""

    queue: str
    key: str | None
    kind: str
    payload: str
    headers: str | None
    due: datetime | None
    delay: timedelta | None
    group: str | None = None
    priority: int = 0


class Record(msgspec.Struct, frozen=True, gc=False):
    """A message as it is stored, with payload, headers and last error as JSON text; fields as in `Message`.

    A message that waits behind others of its group has its own due time here. `damage` describes stored values that no
    version of duerow wrote and that were left out or brought within bounds; None if there are none.
    """

    id: int
    queue: str
    payload: str
    kind: str
    key: str | None
    headers: str | None
    group: str | None
    priority: int
    status: Status
    due_at: datetime | None
    first_due_at: datetime
    attempts: int
    token: int
    leased_by: str | None
    leased_until: datetime | None
    created_at: datetime
    last_attempt_at: datetime | None
    last_error: str | None
    damage: str | None = None


class GivenUp(msgspec.Struct, frozen=True, gc=False):
    """A message that a claim buried because the lease of its last allowed attempt ended unsettled."""

    id: int
    key: str | None
    attempts: int
    error: str | None


class Reserved(msgspec.Struct, frozen=True, gc=False):
    """The result of `reserve`: records, oldest first, with their earlier due times; and what was buried instead."""

    records: list[Record]
    buried: list[GivenUp]


class Committed(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The message leaves the queue.

    Attributes:
        then: messages pushed in the same transaction.
        payload, kind: the payload that history keeps, with its kind; None: the message's own.
        dropped: whether history calls it dropped instead of done.
        why: what history says about it, as `codec.encode_failure` writes it.
        moved_to: for history, the queue of the set's message of which it is now a part.
        headers: the headers that history keeps; None: the message's own.
    """

    then: tuple[Entry, ...] = ()
    payload: str | None = None
    kind: str | None = None
    dropped: bool = False
    why: str | None = None
    moved_to: str | None = None
    headers: str | None = None


class RolledBack(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The attempt failed: status `error`, due at now + delay; None keeps the recorded error."""

    delay: timedelta
    error: str | None


class Buried(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The message fails for good: status `dead`, no due time.

    Attributes:
        error: why; None keeps the recorded error.
        then: messages pushed in the same transaction.
    """

    error: str | None
    then: tuple[Entry, ...] = ()


class Released(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The turn was not started: due again at `due_at`, as before the reservation, with one attempt less.

    None: as before the reservation, which the store remembers.
    """

    due_at: datetime | None


class Moved(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The message goes to another queue: attempts 0, status `new`, no error, no lease.

    Attributes:
        to: the target queue.
        payload: the new payload; None: unchanged.
        kind: the new payload's kind; None: unchanged.
        key: its key in the target queue.
        headers: all of its headers in the target queue, the hop count included.
        due, delay: when it is due in the target queue; neither: at once. The first due time is set to the same.
        on_duplicate: what to do if another live message holds the key in the target. "reject" refuses this turn with
            DuplicateKey; "ignore" ends this message as done; "replace" and "earliest" change the message that holds the
            key, as a push would, and end this one as done.
        group: its group in the target queue.
        priority: its priority in the target queue.
        dead: whether it failed for good and goes to a dead-letter queue.
        error: the reason, for the history of the queue that it leaves.
        then: messages pushed in the same transaction.
    """

    to: str
    payload: str | None
    kind: str | None
    key: str | None
    headers: str | None
    due: datetime | None
    delay: timedelta | None
    on_duplicate: OnDuplicate
    group: str | None = None
    priority: int = 0
    dead: bool = False
    error: str | None = None
    then: tuple[Entry, ...] = ()


class Joined(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The message leaves its queue and becomes part of a set; a complete set becomes a message made of its parts.

    An incomplete set is a message in the queue `sets`, due at its deadline, with the payload of
    `duerow.store.join_sets.open_text`. When the set is complete, that message gets the payload of
    `duerow.store.join_sets.whole_text`, is due at once, and is otherwise reset like a new message. Even if several
    parts arrive at the same time, each part is in one set, and each set is completed once. History shows a part as done
    and moved to the queue `sets`, with headers that name its set's message (`duerow.store.join_sets.part_headers`).

    Attributes:
        sets: the queue that holds the sets.
        correlation: identifies the set; sets with the same queue and correlation follow one another.
        within: how long after its first part a set is due, complete or not.
        limit: the maximum number of parts in a set.
        full: how the turn ends if the set has that many parts and is not complete.
        count: how many parts complete a set.
        complete: takes the parts of the set, including this one, and returns whether the set is complete. It is called
            in the transaction; if it raises a DuerowError, this turn is refused with that error.
        late: how the turn ends if the set is already complete; None: a new set begins.
        remember: how long a complete set is remembered if `late` is given.
    """

    sets: str
    correlation: str
    within: timedelta
    limit: int
    full: End
    count: int | None = None
    complete: Callable[[Sequence[str]], bool] | None = None
    late: End | None = None
    remember: timedelta = timedelta(0)

    @property
    def remembered(self) -> timedelta | None:
        """How long this set is remembered after it is complete; None: not at all."""
        return None if self.late is None else self.remember


class Closed(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The message of an open set is due: it becomes a message of the parts so far, due at once and otherwise like new.

    Attributes:
        sets: the queue of the message, which is the queue that holds the sets.
        correlation: identifies the set.
        remember: how long the complete set is remembered; None: the next part begins a new set.
    """

    sets: str
    correlation: str
    remember: timedelta | None


End = Committed | RolledBack | Buried | Released | Moved | Joined | Closed


_FOLLOWED: Final = (Committed, Buried, Moved)


def following(end: End) -> tuple[Entry, ...]:
    """Return the messages that are pushed in the transaction that ends a turn."""
    return end.then if isinstance(end, _FOLLOWED) else ()


ORDER_OF_EFFECT: Final[tuple[type[End], ...]] = (Closed, Joined, Committed, RolledBack, Buried, Released, Moved)
"""The order in which the turns of a call take effect, so that a move can take a key that another turn frees."""


class Turn(msgspec.Struct, frozen=True, gc=False):
    """A reservation's receipt, and how its turn ends.

    Attributes:
        group: the queue and group of the message, if it has a group: the next message of that group may now be due.
    """

    receipt: Receipt
    end: End
    group: tuple[str, str] | None = None


class Refused(msgspec.Struct, frozen=True):
    """A receipt that was refused, and the reason.

    The reason is LeaseLost, DuplicateKey for a move whose key is taken, or the error that a join's predicate raised.
    """

    receipt: Receipt
    error: DuerowError


class Retention(msgspec.Struct, frozen=True, gc=False):
    """How long a queue keeps traces of finished messages, as its handle declares.

    Attributes:
        history: how long its turns are kept; None: they are not kept.
        keys: how long the keys of messages that have left the queue are remembered; None: they are not remembered.
    """

    history: timedelta | None = None
    keys: timedelta | None = None
