"""The operations that a store has over HTTP, and how their arguments and results are written and read as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from duerow.conditions.fields import KINDS, Subject
from duerow.conditions.model import Condition
from duerow.errors import DuerowError
from duerow.message import Pushed
from duerow.reservation import Receipt
from duerow.store.metadata import Counters, Indexing, QueueSettings, QueueStats, SchedulesFound, StoredPipeline
from duerow.store.reads import Consumer, HistoryRow, Inspection, Order, Query, Removal, Tally
from duerow.store.wire import calls
from duerow.store.wire.calls import StoreCall
from duerow.store.wire.failures import failed, failure
from duerow.store.writes import Record, Refused, Reserved
from duerow.where import as_condition

REPEATED: Final = "Duerow-Repeated"
"""The header of a request that may already have been carried out because its response was lost."""


@dataclass(frozen=True)
class StoreOperation:
    """An operation of the contract.

    Attributes:
        name: the part of the contract and the method.
        call: the type of its arguments.
        answer: the type of its result.
        about: the subject of any condition among its arguments.
        reads: whether it changes nothing.
        repeats: whether it may be carried out again after its response was lost, because that changes nothing more and
            does not misreport what happened the first time.
    """

    name: str
    call: type[StoreCall]
    answer: Any
    about: Subject = "message"
    reads: bool = False
    repeats: bool = True

    @property
    def part(self) -> str:
        """The part of the contract."""
        return self.name.partition(".")[0]

    @property
    def method(self) -> str:
        """The method of that part of the contract."""
        return self.name.partition(".")[2]

    def read_call(self, body: bytes) -> Any:
        """Return the arguments in a request; raise msgspec.ValidationError or DuerowError if they are invalid."""
        return _order_read(_decoder(self.call, self.about)(body))

    def read_answer(self, body: bytes) -> Any:
        """Return the result in a response."""
        return _decoder(self.answer, self.about)(body)


def encoded(value: Any) -> bytes:
    """Return arguments or a result as JSON."""
    return _ENCODER.encode(_with_texts(value) if isinstance(value, StoreCall) else value)


def _with_texts(call: Any) -> Any:
    """Return a call with its condition as text: an encoder would write the condition's internal fields."""
    if (query := getattr(call, "query", None)) is not None and query.where is not None:
        return replace(call, query=replace(query, where=str(query.where)))
    if getattr(call, "where", None) is not None:
        return replace(call, where=str(call.where))
    return call


def _plain(value: Any) -> Any:
    if isinstance(value, DuerowError):
        return failure(value)
    raise NotImplementedError(f"{type(value).__name__} is not sent over HTTP")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)
_DECODERS: Final[dict[tuple[Any, Subject], Callable[[bytes], Any]]] = {}


def _decoder(kind: Any, about: Subject) -> Callable[[bytes], Any]:
    key = repr(kind), about  # unions and lists of types may be unhashable
    if key not in _DECODERS:

        def special(wanted: type, value: Any) -> Any:
            if wanted is Condition:
                return as_condition(value, about)
            if wanted is DuerowError:
                return failed(value)
            raise NotImplementedError(f"{wanted} is not sent over HTTP")

        _DECODERS[key] = msgspec.json.Decoder(kind, dec_hook=special).decode
    return _DECODERS[key]


def _order_read(call: Any) -> Any:
    """Return a call with the time after which its query starts, if any, as a datetime: JSON has it as text."""
    query: Any = getattr(call, "query", None)
    order = query.order if isinstance(query, Query) else None
    if order is None or order.after is None or KINDS.get(order.field) != "moment" or order.after[0] is None:
        return call
    value, id_ = order.after
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise msgspec.ValidationError("Expected `datetime` - at `$.query.order.after`") from error
    after = Order(order.field, order.descending, (moment, id_))
    return replace(call, query=replace(query, order=after))


_ALL: Final = (
    # Repeated, a push without keys would add messages twice, and a settlement would look like a lost lease.
    StoreOperation("messages.push", calls.PushCall, list[Pushed], repeats=False),
    StoreOperation("messages.reserve", calls.ReserveCall, Reserved),
    StoreOperation("messages.extend", calls.ExtendCall, list[tuple[Receipt, datetime]]),
    StoreOperation("messages.settle", calls.SettleCall, list[Refused], repeats=False),
    StoreOperation("messages.find", calls.FindCall, list[Record], reads=True),
    StoreOperation("messages.next_due", calls.NextDueCall, timedelta | None, reads=True),
    StoreOperation("operations.peek", calls.PeekCall, list[Record], reads=True),
    StoreOperation("operations.count", calls.QueueCall, dict[str, int], reads=True),
    StoreOperation("operations.tally", calls.TallyCall, Tally, reads=True),
    StoreOperation("operations.queue_stats", calls.StatsCall, QueueStats, reads=True),
    StoreOperation("operations.inspect", calls.InspectCall, Inspection | None, reads=True),
    StoreOperation("operations.queues", calls.QueuesCall, list[str], reads=True),
    StoreOperation("operations.change", calls.ChangeCall, list[Refused], repeats=False),
    StoreOperation("operations.remove", calls.RemoveCall, Removal, repeats=False),
    StoreOperation("operations.purge", calls.PurgeCall, int, repeats=False),
    StoreOperation("history.find", calls.HistoryCall, list[HistoryRow], about="turn", reads=True),
    StoreOperation("history.prune", calls.PruneCall, int),
    StoreOperation("metadata.put_settings", calls.PutSettingsCall, None),
    StoreOperation("metadata.settings", calls.SettingsCall, list[QueueSettings], reads=True),
    StoreOperation("metadata.index", calls.IndexCall, Indexing),
    StoreOperation("metadata.set_schedule", calls.SetScheduleCall, bool),
    StoreOperation("metadata.schedules", calls.SchedulesCall, SchedulesFound, reads=True),
    StoreOperation("metadata.set_pipeline", calls.SetPipelineCall, bool),
    StoreOperation("metadata.pipelines", calls.NamedCall, list[StoredPipeline], reads=True),
    StoreOperation("metadata.note_consumer", calls.NoteConsumerCall, None),
    StoreOperation("metadata.consumers", calls.NoArguments, list[Consumer], reads=True),
    StoreOperation("counters.note_counts", calls.NoteCountsCall, None),
    StoreOperation("counters.read", calls.QueueCall, Counters, reads=True),
    StoreOperation("schema.check", calls.NoArguments, calls.About, reads=True),
)

OPERATIONS: Final[Mapping[str, StoreOperation]] = {one.name: one for one in _ALL}
"""All operations by name."""
