"""What can go wrong, each with what happened, to what, and what to do about it.

    DuerowError
    ├── ConfigurationError      the call, URL or setting cannot work as given
    │   ├── UnknownName         there is no queue, schedule or pipeline of that name
    │   ├── InvalidCondition    a `where` cannot be read, or asks for what messages do not have
    │   └── NotSupported        this store cannot do that; the message says which can
    ├── InvalidMessage          a field of a message is out of its bounds
    │   └── CodecError          a payload or header is not what JSON can carry unchanged
    │       └── KeyMissing      a payload is encrypted with a key that this process was not given
    ├── DuplicateKey            a live message holds the key already
    ├── MessageLeased           a consumer works on the message, so it was not changed
    ├── LeaseLost               the receipt is stale: somebody else ended that turn
    ├── BatchRefused            turns of a batch were refused, so nothing of it was published
    ├── StagedLost              what a batch staged is not there any more, so nothing of it was published
    ├── TimedOut                a handler ran longer than its timeout
    ├── QueryTimeout            a search or count took longer than `read_timeout` allows
    ├── HandlerDied             the process that ran a handler ended before the handler did
    ├── InvalidOutcome          a handler or station returned something that ends no turn
    ├── TransactionEnded        a handler ended the transaction that its worker ends
    ├── StationFailed           the tasks of a station failed on Spark again and again
    ├── SchemaOutdated          the tables are missing or older than this version: migrate
    ├── SchemaNewer             the tables were made by a newer version: upgrade duerow
    ├── QueueDraining           the queue takes no new messages
    ├── StoreRefused            the database refused a statement of duerow's for a reason of its own
    └── StoreUnavailable        the database did not answer; worth retrying
        └── Conflict            the database chose this transaction as a victim; retry it whole

Stores map the database's error codes to these, never its message texts; the driver's error is the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from reprlib import Repr
from typing import Any, Final, Literal, Protocol

from duerow.phrases import PYTHON, Argument, Call, Hint, Phrase, Words


class _Short(Repr):
    """Shows the beginning of a value, also of one that holds itself, or whose own way to be shown fails."""

    def repr_int(self, x: int, level: int) -> str:
        """Return an integer; of a long one how long it is, which takes less than its digits."""
        return repr(x) if x.bit_length() <= 256 else f"<int of {x.bit_length():,} bits>"

    def repr_instance(self, x: object, level: int) -> str:
        """Return what the value says of itself, or else its type."""
        try:
            return repr(x)
        except Exception:  # the user's code
            return f"<{type(x).__name__}>"


_short = _Short()
_short.maxlevel, _short.maxstring, _short.maxother = 4, 120, 120


def shown(value: object, most: int = 80) -> str:
    """Return the beginning of a value as Python writes it, to be told in an error: bounded, and it never fails."""
    try:
        return _short.repr(value)[:most]
    except Exception:  # the user's code: a container of its own that cannot be walked
        return f"<{type(value).__name__}>"


class DuerowError(Exception):
    """The root of every error that duerow raises on purpose.

    Made of text, and of phrases that each face writes in its own way (see `duerow.phrases`); its `str` is for a reader
    of Python. An error among its parts is told with it.

    Attributes:
        of_row: whether the database refused what one row would hold (a constraint, a trigger, a value that does not
            fit), so that the same statement may pass for other rows.
    """

    of_row: bool = False

    def __init__(self, *parts: str | Phrase | DuerowError) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return self.told(PYTHON)

    def told(self, words: Words) -> str:
        """Return what it says in the words of a face."""
        return "".join(part.told(words) if isinstance(part, Phrase | DuerowError) else str(part) for part in self.args)


class ConfigurationError(DuerowError):
    """The call, URL or setting cannot work as given; nothing was changed."""


class UnknownName(ConfigurationError):
    """There is no queue, schedule or pipeline of this name; nothing was changed.

    Attributes:
        what: which of them was asked for.
        name: the name that nothing has.
        nearest: the name of one that there is and that may have been meant; None: none is like it.
        where: which database that is, if another one is meant than that of the call.
    """

    def __init__(self, what: str, name: str, nearest: str | None = None, where: str = "") -> None:
        self.what, self.name, self.nearest, self.where = what, name, nearest, where
        meant = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"{where or 'the database'} has no {what} {name!r:.120}{meant}")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, str | None, str]]:
        """Travel between processes with its values, not its text."""
        return UnknownName, (self.what, self.name, self.nearest, self.where)


class InvalidCondition(ConfigurationError):
    """A condition on messages cannot be read, or asks for what they do not have; nothing was changed."""


class NotSupported(ConfigurationError):
    """This store cannot do what was asked; nothing was changed."""


class InvalidMessage(DuerowError):
    """A field of a message is out of its bounds; nothing was changed."""


class CodecError(InvalidMessage):
    """A payload or a header cannot be carried by JSON and come back unchanged, or cannot be read back.

    Attributes:
        quotes: whether its text may quote the payload. Where payloads are encrypted such a text is not said.
        detail: the text that is not said; None: nothing is left out.
    """

    def __init__(self, *parts: str | Phrase | DuerowError, quotes: bool = True, detail: str | None = None) -> None:
        self.quotes, self.detail = quotes, detail
        super().__init__(*parts)


class KeyMissing(CodecError):
    """A payload is encrypted with a key that this process was not given; the message was left as it is.

    Attributes:
        key_id: which key is missing, as `duerow.encryption.key_id` names it.
    """

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        super().__init__(
            f"the payload is encrypted with key {key_id}, which this process was not given; ",
            Hint("connect(…, encryption=Encryption([…])) with that key", "give it with that key"),
            " among its keys, the first of which encrypts",
            quotes=False,
        )

    def __reduce__(self) -> tuple[type[KeyMissing], tuple[str]]:
        """Travel between processes with its values, not its text."""
        return KeyMissing, (self.key_id,)


class DuplicateKey(DuerowError):
    """A live message of the queue holds the key already, or the queue remembers it of one that left.

    Attributes:
        queue: the queue in which the key is taken.
        keys: the taken keys, in the order of the messages that asked for them.
        remembered: whether the queue remembers keys, so that it may be so.
    """

    def __init__(self, queue: str, keys: Sequence[str], remembered: bool = False) -> None:
        self.queue, self.keys, self.remembered = queue, tuple(keys), remembered
        taken = ", ".join(repr(key) for key in self.keys[:10])
        more = f" and {len(self.keys) - 10} more" if len(self.keys) > 10 else ""
        former, others = (", or remembers it of one that left", "") if remembered else ("", ", 'replace' or 'earliest'")
        super().__init__(
            f"queue {queue!r} has a live message with key {taken}{more}{former}; choose another key, or say ",
            Argument("on_duplicate", "ignore"),
            others,
        )

    def __reduce__(self) -> tuple[type[DuplicateKey], tuple[str, tuple[str, ...], bool]]:
        """Travel between processes with its values, not its text."""
        return DuplicateKey, (self.queue, self.keys, self.remembered)


class LeaseLost(DuerowError):
    """The reservation ended before it was settled; another worker may have the message now.

    Attributes:
        message_id: the message that is no longer ours.
        until: when the lease ended or would have ended, if known.
    """

    def __init__(self, message_id: int, until: datetime | None = None) -> None:
        self.message_id, self.until = message_id, until
        lease = f" (its lease ran until {until:%Y-%m-%d %H:%M:%S} UTC)" if until else ""
        super().__init__(
            f"message {message_id} is no longer yours{lease}: it was taken over, changed, removed or settled already; "
            "nothing was changed. Ask for a longer lease or extend() while you work"
        )

    def __reduce__(self) -> tuple[type[LeaseLost], tuple[int, datetime | None]]:
        """Travel between processes with its values, not its text."""
        return LeaseLost, (self.message_id, self.until)


class RefusedTurn(Protocol):
    """A turn that a store refused to end: whose, and why."""

    @property
    def receipt(self) -> Any:
        """The receipt; see `duerow.Receipt`."""
        ...

    @property
    def error(self) -> DuerowError:
        """Why it was refused."""
        ...


class BatchRefused(DuerowError):
    """Turns of a batch were refused, so nothing of it was published and no turn was ended.

    Attributes:
        batch: the batch.
        refused: the receipts that were refused, each with its error.
    """

    def __init__(self, batch: str, refused: Sequence[RefusedTurn]) -> None:
        self.batch, self.refused = batch, tuple(refused)
        first = "; ".join(str(one.error) for one in self.refused[:3])
        super().__init__(
            f"batch {batch!r} was not published, and nothing was changed: {len(self.refused)} of its turns were "
            f"refused ({first}{'; …' if len(self.refused) > 3 else ''}). Give back the others, or publish them without"
        )

    def __reduce__(self) -> tuple[type[BatchRefused], tuple[str, tuple[RefusedTurn, ...]]]:
        """Travel between processes with its values, not its text."""
        return BatchRefused, (self.batch, self.refused)


class StagedLost(DuerowError):
    """A part of a batch has not as many staged entries as it should, so nothing of the batch was published.

    Attributes:
        batch: the batch.
        part: the part.
        wanted: how many entries it should have.
        found: how many it has.
    """

    def __init__(self, batch: str, part: str, wanted: int, found: int) -> None:
        self.batch, self.part, self.wanted, self.found = batch, part, wanted, found
        super().__init__(
            f"batch {batch!r} was not published, and nothing was changed: its part {part!r} staged {wanted} entries, "
            f"and {found} are there. It was published or discarded before, staged more than a day ago, or the server "
            "crashed since; stage it again under another name"
        )

    def __reduce__(self) -> tuple[type[StagedLost], tuple[str, str, int, int]]:
        """Travel between processes with its values, not its text."""
        return StagedLost, (self.batch, self.part, self.wanted, self.found)


class MessageLeased(DuerowError):
    """A consumer works on the message; it was not changed.

    Attributes:
        message_id: the message that is leased.
    """

    def __init__(self, message_id: int, leased_by: str | None = None) -> None:
        self.message_id, self.leased_by = message_id, leased_by
        super().__init__(
            f"message {message_id} is leased by {leased_by or 'a consumer'}; wait until it is settled, or say ",
            Argument("even_if_leased", True),
            " to end that lease",
        )

    def __reduce__(self) -> tuple[type[MessageLeased], tuple[int, str | None]]:
        """Travel between processes with its values, not its text."""
        return MessageLeased, (self.message_id, self.leased_by)


class TimedOut(DuerowError):
    """A handler ran longer than the worker's timeout, or a blocking call waited longer than its own."""


class QueryTimeout(DuerowError):
    """A search, a count or another read for people took longer than `read_timeout` allows; nothing was changed by it.

    A change of many messages goes on in batches, each with a read of its own: those before are done.

    Attributes:
        limit: how long it was allowed to take.
    """

    def __init__(self, limit: timedelta) -> None:
        self.limit = limit
        super().__init__(
            f"a read was ended since it took longer than {limit.total_seconds():g} s, or than a shorter limit of the "
            "server's own. Narrow the condition, search by a payload field that is declared with ",
            Hint("indexed={…}", "an index"),
            ", wait until nobody else has the messages locked, or allow more time with ",
            Hint("connect(…, read_timeout=…)", "DUEROW_READ_TIMEOUT, in seconds"),
        )

    def __reduce__(self) -> tuple[type[QueryTimeout], tuple[timedelta]]:
        """Travel between processes with its values, not its text."""
        return QueryTimeout, (self.limit,)


class HandlerDied(DuerowError):
    """The process that ran a handler ended before the handler did: it was killed, or crashed."""


class InvalidOutcome(DuerowError):
    """A handler or a station returned something that cannot end a turn."""


class TransactionEnded(DuerowError):
    """A handler committed or rolled back the transaction that it was given, which its worker ends."""


class StationFailed(DuerowError):
    """The tasks of a station failed on Spark, as often as Spark tries them; the cause is Spark's error."""


HOW_TO_MIGRATE: Final = (
    "run `duerow migrate`, ",
    Hint("connect(…, migrate=True), ", ""),
    "or hand the output of `duerow sql` to your DBA",
)
"""What to do about tables that are missing, as the last parts of an error."""


class SchemaOutdated(DuerowError):
    """The tables are missing or older than this version of duerow needs: run `duerow migrate`."""


class SchemaNewer(DuerowError):
    """The tables were made by a newer duerow than this one: upgrade this installation."""


class QueueDraining(DuerowError):
    """The queue is being drained and takes no new messages; nothing was pushed.

    Attributes:
        queue: the queue.
    """

    def __init__(self, queue: str) -> None:
        self.queue = queue
        super().__init__(
            f"queue {queue!r} is being drained and takes no new messages; push elsewhere, or let it take messages "
            "again with ",
            Call("resume"),
        )

    def __reduce__(self) -> tuple[type[QueueDraining], tuple[str]]:
        """Travel between processes with its values, not its text."""
        return QueueDraining, (self.queue,)


class StoreRefused(DuerowError):
    """The database refused a statement of duerow's for a reason of its own; the cause is its error."""

    def __init__(self, text: str, *, of_row: bool = False) -> None:
        self.of_row = of_row
        super().__init__(text)


class StoreUnavailable(DuerowError):
    """The database could not be reached or broke off; worth trying again.

    Attributes:
        outcome: "none" when nothing was changed, "unknown" when it may have happened before the answer was lost.
    """

    def __init__(self, text: str, outcome: Literal["none", "unknown"] = "none") -> None:
        self.outcome = outcome
        super().__init__(text)


class Conflict(StoreUnavailable):
    """The database ended this transaction in favour of another one (deadlock, lock timeout, serialization).

    Attributes:
        waited: whether the database had waited for the other one as long as it was told to: then duerow does not try
            again by itself.
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
