"""The errors that duerow raises; each says what happened, to which object, and what to do about it.

    DuerowError
    ├── ConfigurationError      the call, URL or setting cannot work as given
    │   ├── UnknownName         there is no queue, schedule or pipeline with that name
    │   ├── InvalidCondition    a `where` cannot be parsed, or names a field that messages do not have
    │   └── NotSupported        this store cannot do that; the message says which stores can
    ├── InvalidMessage          a field of a message is out of bounds
    │   └── CodecError          JSON cannot carry a payload or header unchanged
    │       └── KeyMissing      a payload is encrypted with a key that this process was not given
    ├── DuplicateKey            a live message already has the key
    ├── MessageLeased           a consumer is working on the message, so it was not changed
    ├── NotInProgress           no consumer is working on the message, so there is no stack
    ├── LeaseLost               the receipt is stale: somebody else ended that turn
    │   └── MessageGone         the message has left its queue: it was cancelled, removed, or finished elsewhere
    ├── BatchRefused            turns of a batch were refused, so the batch was not published
    ├── StagedLost              staged entries of a batch are missing, so the batch was not published
    ├── TimedOut                a handler ran longer than its timeout
    ├── QueryTimeout            a search or count took longer than `read_timeout` allows
    ├── HandlerDied             the process that ran a handler ended before the handler did
    ├── InvalidOutcome          a handler or station returned something that cannot end a turn
    ├── TransactionEnded        a handler ended the transaction that its worker must end
    ├── TaskFailed              a task failed for good, so it has no result
    ├── TaskCancelled           a task was cancelled, so it has no result
    ├── ResultMissing           no result is stored for a task, or it has expired
    ├── StationFailed           the Spark tasks of a station failed repeatedly
    ├── SchemaOutdated          the tables are missing or older than this version: migrate
    ├── SchemaNewer             the tables were made by a newer version: upgrade duerow
    ├── QueueDraining           the queue accepts no new messages
    ├── StoreRefused            the database refused a statement for any other reason
    └── StoreUnavailable        the database did not answer; worth retrying
        └── Conflict            the database aborted this transaction in favor of another; retry all of it

Stores map the database's error codes, never its message texts, to these errors; the driver's error is the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from reprlib import Repr
from typing import Any, Final, Literal, Protocol

from duerow.phrases import PYTHON, Argument, Call, Hint, Phrase, Value, Words, counted


class _Short(Repr):
    """Shows the beginning of a value, even if it contains itself or its `__repr__` fails."""

    def repr_int(self, x: int, level: int) -> str:
        """Return an integer's digits, or for a long one its length in bits, which is cheaper to compute."""
        return repr(x) if x.bit_length() <= 256 else f"<int of {x.bit_length():,} bits>"

    def repr_instance(self, x: object, level: int) -> str:
        """Return the value's own `repr`, or its type if that fails."""
        try:
            return repr(x)
        except Exception:  # the user's code
            return f"<{type(x).__name__}>"


_short = _Short()
_short.maxlevel, _short.maxstring, _short.maxother = 4, 120, 120


def shown(value: object, most: int = 80) -> str:
    """Return the beginning of a value's `repr` for an error message: bounded in length, and this never fails."""
    try:
        return _short.repr(value)[:most]
    except Exception:  # the user's code: a custom container that cannot be iterated over
        return f"<{type(value).__name__}>"


class DuerowError(Exception):
    """The root of every error that duerow raises on purpose.

    An error consists of text and of phrases that each interface words in its own way (see `duerow.phrases`); `str()`
    gives the wording for Python. If one of the parts is itself an error, its text is included.

    Attributes:
        of_row: whether the database refused the contents of one row (a constraint, a trigger, a value that does not
            fit), so that the same statement may succeed for other rows.
    """

    of_row: bool = False

    def __init__(self, *parts: str | Phrase | DuerowError) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return self.told(PYTHON)

    def told(self, words: Words) -> str:
        """Return the error's text as an interface words it."""
        return "".join(part.told(words) if isinstance(part, Phrase | DuerowError) else str(part) for part in self.args)


class ConfigurationError(DuerowError):
    """The call, URL or setting cannot work as given; nothing was changed."""


class UnknownName(ConfigurationError):
    """There is no queue, schedule or pipeline with this name; nothing was changed.

    Attributes:
        what: the kind of object that was asked for.
        name: the unknown name.
        nearest: an existing name that may have been meant; None: no name is similar.
        where: the database that was searched, if it is not the one on which the call was made.
    """

    def __init__(self, what: str, name: str, nearest: str | None = None, where: str = "") -> None:
        self.what, self.name, self.nearest, self.where = what, name, nearest, where
        meant = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"{where or 'the database'} has no {what} {shown(name)}{meant}")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, str | None, str]]:
        """Pickle the error by its values, not its text."""
        return UnknownName, (self.what, self.name, self.nearest, self.where)


class InvalidCondition(ConfigurationError):
    """A condition on messages cannot be parsed, or names a field that they do not have; nothing was changed.

    Attributes:
        at: the position in the text at which parsing failed, counted from 0; None: the error is not tied to one
            position.
    """

    at: int | None = None


class NotSupported(ConfigurationError):
    """This store cannot do what was asked; nothing was changed."""


class InvalidMessage(DuerowError):
    """A field of a message is out of bounds; nothing was changed."""


class CodecError(InvalidMessage):
    """A payload or a header would not come back from JSON unchanged, or cannot be read back.

    Attributes:
        quotes: whether its text may quote the payload. If so, and payloads are encrypted, the text is left out.
        detail: the text that was left out; None: nothing was left out.
    """

    def __init__(self, *parts: str | Phrase | DuerowError, quotes: bool = True, detail: str | None = None) -> None:
        self.quotes, self.detail = quotes, detail
        super().__init__(*parts)


class KeyMissing(CodecError):
    """A payload is encrypted with a key that this process was not given; the message was left unchanged.

    Attributes:
        key_id: the name of the missing key, as `duerow.encryption.key_id` returns it.
    """

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        super().__init__(
            f"the payload is encrypted with key {key_id}, which this process was not given; ",
            Hint("add it to Encryption([…]) in connect(…, encryption=…)", "add it to the keys"),
            "; the first key in the list is the one that encrypts",
            quotes=False,
        )

    def __reduce__(self) -> tuple[type[KeyMissing], tuple[str]]:
        """Pickle the error by its values, not its text."""
        return KeyMissing, (self.key_id,)


class DuplicateKey(DuerowError):
    """A live message of the queue already has the key, or the queue remembers it from a message that has left.

    Attributes:
        queue: the queue in which the key is taken.
        keys: the taken keys, in the order of the messages that were pushed with them.
        remembered: whether the queue remembers keys; if so, there may be no live message with the key.
    """

    def __init__(self, queue: str, keys: Sequence[str], remembered: bool = False) -> None:
        self.queue, self.keys, self.remembered = queue, tuple(keys), remembered
        taken = ", ".join(repr(key) for key in self.keys[:10])
        more = f" and {len(self.keys) - 10} more" if len(self.keys) > 10 else ""
        former = ", or remembers the key from an earlier message" if remembered else ""
        others = () if remembered else (", ", Value("replace"), " or ", Value("earliest"))
        super().__init__(
            f"queue {queue!r} has a live message with key {taken}{more}{former}; choose another key, or pass ",
            Argument("on_duplicate", "ignore"),
            *others,
        )

    def __reduce__(self) -> tuple[type[DuplicateKey], tuple[str, tuple[str, ...], bool]]:
        """Pickle the error by its values, not its text."""
        return DuplicateKey, (self.queue, self.keys, self.remembered)


class LeaseLost(DuerowError):
    """The reservation ended before it was settled; another worker may have the message now.

    Attributes:
        message_id: the message whose lease was lost.
        until: when the lease ended or would have ended, if known.
    """

    def __init__(self, message_id: int, until: datetime | None = None) -> None:
        self.message_id, self.until = message_id, until
        lease = f" (its lease ran until {until:%Y-%m-%d %H:%M:%S} UTC)" if until else ""
        super().__init__(
            f"message {message_id} is no longer yours{lease}: it was taken over, changed, removed or already settled; "
            "this call changed nothing. Ask for a longer lease, or call extend() while you work"
        )

    def __reduce__(self) -> tuple[type[LeaseLost], tuple[int, datetime | None]]:
        """Pickle the error by its values, not its text."""
        return LeaseLost, (self.message_id, self.until)


class MessageGone(LeaseLost):
    """The message left its queue while it was being handled: it was cancelled, removed, or finished by another worker.

    The handler's return value no longer has any effect, so the handler should stop.
    """

    def __init__(self, message_id: int, until: datetime | None = None) -> None:
        super().__init__(message_id, until)
        self.args = (
            f"message {message_id} is no longer in its queue: it was cancelled or removed, or another worker finished "
            "it; nothing was changed",
        )

    def __reduce__(self) -> tuple[type[MessageGone], tuple[int, datetime | None]]:
        """Pickle the error by its values, not its text."""
        return MessageGone, (self.message_id, self.until)


class RefusedTurn(Protocol):
    """A turn that a store refused to end: its receipt and the reason."""

    @property
    def receipt(self) -> Any:
        """The receipt; see `duerow.Receipt`."""
        ...

    @property
    def error(self) -> DuerowError:
        """Why it was refused."""
        ...


class BatchRefused(DuerowError):
    """Turns of a batch were refused, so nothing was published and no turn was ended.

    Attributes:
        batch: the batch.
        refused: the receipts that were refused, each with its error.
    """

    def __init__(self, batch: str, refused: Sequence[RefusedTurn]) -> None:
        self.batch, self.refused = batch, tuple(refused)
        first = "; ".join(str(one.error) for one in self.refused[:3])
        super().__init__(
            f"batch {batch!r} was not published, and nothing was changed: {counted(len(self.refused), 'turn')} of the "
            f"batch {'was' if len(self.refused) == 1 else 'were'} "
            f"refused ({first}{'; …' if len(self.refused) > 3 else ''}). Release the others, or publish without these"
        )

    def __reduce__(self) -> tuple[type[BatchRefused], tuple[str, tuple[RefusedTurn, ...]]]:
        """Pickle the error by its values, not its text."""
        return BatchRefused, (self.batch, self.refused)


class StagedLost(DuerowError):
    """A part of a batch does not have the expected number of staged entries, so nothing was published.

    Attributes:
        batch: the batch.
        part: the part.
        wanted: how many entries it should have.
        found: how many it has.
    """

    def __init__(self, batch: str, part: str, wanted: int, found: int) -> None:
        self.batch, self.part, self.wanted, self.found = batch, part, wanted, found
        super().__init__(
            f"batch {batch!r} was not published, and nothing was changed: its part {part!r} should have "
            f"{counted(wanted, 'entry', 'entries')}, but has {found}. It was already published or discarded, it was "
            "staged more than a day ago, or the server has crashed since; stage it again under another name"
        )

    def __reduce__(self) -> tuple[type[StagedLost], tuple[str, str, int, int]]:
        """Pickle the error by its values, not its text."""
        return StagedLost, (self.batch, self.part, self.wanted, self.found)


class MessageLeased(DuerowError):
    """A consumer is working on the message; it was not changed.

    Attributes:
        message_id: the leased message.
        leased_by: the consumer that holds the lease, if known.
    """

    def __init__(self, message_id: int, leased_by: str | None = None) -> None:
        self.message_id, self.leased_by = message_id, leased_by
        super().__init__(
            f"message {message_id} is leased by {leased_by or 'a consumer'}; wait until it is settled, or pass ",
            Argument("even_if_leased", True),
            " to end that lease",
        )

    def __reduce__(self) -> tuple[type[MessageLeased], tuple[int, str | None]]:
        """Pickle the error by its values, not its text."""
        return MessageLeased, (self.message_id, self.leased_by)


class NotInProgress(DuerowError):
    """No consumer is working on the message, so no handler has a stack."""


class TimedOut(DuerowError):
    """A handler ran longer than the worker's timeout, or a blocking call waited longer than its own timeout."""


class QueryTimeout(DuerowError):
    """A search, a count or another interactive read took longer than `read_timeout` allows; it changed nothing.

    Changes to many messages run in batches, each with its own read; the batches before this one have been applied.

    Attributes:
        limit: how long it was allowed to take.
    """

    def __init__(self, limit: timedelta) -> None:
        self.limit = limit
        super().__init__(
            f"a read was stopped because it took longer than {limit.total_seconds():g} s, or than a lower limit "
            "set on the server. Narrow the condition, search by a payload field that is declared with ",
            Hint("indexed={…}", "an index"),
            ", wait until no one else holds a lock on the messages, or allow more time with ",
            Hint("connect(…, read_timeout=…)", "DUEROW_READ_TIMEOUT, in seconds"),
        )

    def __reduce__(self) -> tuple[type[QueryTimeout], tuple[timedelta]]:
        """Pickle the error by its values, not its text."""
        return QueryTimeout, (self.limit,)


class HandlerDied(DuerowError):
    """The process that ran a handler ended before the handler did: it was killed, or crashed."""


class InvalidOutcome(DuerowError):
    """A handler or a station returned something that cannot end a turn."""


class TransactionEnded(DuerowError):
    """A handler committed or rolled back the transaction that it was given; only its worker may end it."""


class TaskFailed(DuerowError):
    """A task failed for good on its last attempt, so it has no result.

    Attributes:
        task: its name.
        message_id: its message.
        failure: why its last attempt failed, as a `Failure`; None: not known.
    """

    def __init__(self, task: str, message_id: int, failure: Any = None) -> None:
        self.task, self.message_id, self.failure = task, message_id, failure
        why = "no reason is known" if failure is None else failure.message
        super().__init__(f"task {task!r}, message {message_id}, failed for good: {why}")

    def __reduce__(self) -> tuple[type[TaskFailed], tuple[str, int, Any]]:
        """Pickle the error by its values, not its text."""
        return TaskFailed, (self.task, self.message_id, self.failure)


class TaskCancelled(DuerowError):
    """A task was cancelled, so it has no result.

    Attributes:
        task: its name.
        message_id: its message.
    """

    def __init__(self, task: str, message_id: int) -> None:
        self.task, self.message_id = task, message_id
        super().__init__(f"task {task!r}, message {message_id}, was cancelled")

    def __reduce__(self) -> tuple[type[TaskCancelled], tuple[str, int]]:
        """Pickle the error by its values, not its text."""
        return TaskCancelled, (self.task, self.message_id)


class ResultMissing(DuerowError):
    """No result is stored for the task: it has expired, or the message was removed.

    Attributes:
        task: its name.
        message_id: its message.
    """

    def __init__(self, task: str, message_id: int) -> None:
        self.task, self.message_id = task, message_id
        super().__init__(
            f"no result is stored for task {task!r}, message {message_id}: its result has expired, its message was "
            "removed, or there never was one"
        )

    def __reduce__(self) -> tuple[type[ResultMissing], tuple[str, int]]:
        """Pickle the error by its values, not its text."""
        return ResultMissing, (self.task, self.message_id)


class StationFailed(DuerowError):
    """The Spark tasks of a station failed as many times as Spark allows; the cause is Spark's error."""


HOW_TO_MIGRATE: Final = (
    "run `duerow migrate`, ",
    Hint("connect(…, migrate=True), ", ""),
    "or hand the output of `duerow sql` to your DBA",
)
"""What to do about missing tables, as the last parts of an error."""


class SchemaOutdated(DuerowError):
    """The tables are missing, or older than this version of duerow needs: run `duerow migrate`."""


class SchemaNewer(DuerowError):
    """The tables were made by a newer version of duerow than this one: upgrade this installation."""


class QueueDraining(DuerowError):
    """The queue is being drained and accepts no new messages; nothing was pushed.

    Attributes:
        queue: the queue.
    """

    def __init__(self, queue: str) -> None:
        self.queue = queue
        super().__init__(
            f"queue {queue!r} is being drained and accepts no new messages; push to another queue, or let it "
            "accept messages again with ",
            Call("resume"),
        )

    def __reduce__(self) -> tuple[type[QueueDraining], tuple[str]]:
        """Pickle the error by its values, not its text."""
        return QueueDraining, (self.queue,)


class StoreRefused(DuerowError):
    """The database refused a statement for a reason that no other error covers; the cause is the database's error."""

    def __init__(self, text: str, *, of_row: bool = False) -> None:
        self.of_row = of_row
        super().__init__(text)


class StoreUnavailable(DuerowError):
    """The database could not be reached, or the connection was lost; worth retrying.

    Attributes:
        outcome: "none" if nothing was changed, "unknown" if the change may have happened before the answer was lost.
    """

    def __init__(self, text: str, outcome: Literal["none", "unknown"] = "none") -> None:
        self.outcome = outcome
        super().__init__(text)


class Conflict(StoreUnavailable):
    """The database aborted this transaction in favor of another one (deadlock, lock timeout, serialization).

    Attributes:
        waited: whether the database waited for the other transaction until the lock timeout; if so, duerow does not
            retry.
    """

    def __init__(
        self,
        text: str,
        outcome: Literal["none", "unknown"] = "none",
        *,
        waited: bool = False,
        of_row: bool = False,
    ) -> None:
        self.waited, self.of_row = waited, of_row
        super().__init__(text, outcome)
