"""The complete contract: a store, and the parts that it may lack."""

from __future__ import annotations

from typing import Any, Final, NoReturn, Protocol

from duerow.errors import NotSupported
from duerow.store.contract.bulk import BulkStore
from duerow.store.contract.capabilities import Capabilities, Part
from duerow.store.contract.counters import CounterStore
from duerow.store.contract.history import HistoryStore
from duerow.store.contract.messages import MessageStore
from duerow.store.contract.metadata import MetadataStore
from duerow.store.contract.operations import OperationStore
from duerow.store.contract.schema import SchemaStore

_LACKS: Final[dict[Part, str]] = {
    "operations": "cannot look into queues or change messages",
    "history": "keeps no history and remembers no keys",
    "metadata": "keeps no settings of queues, schedules, pipelines or consumers",
    "counters": "keeps no counts",
    "bulk": "has no batches for engines and takes in no copies",
    "schema": "has no tables of duerow's to check or create",
}


class MissingPart:
    """A part that a store does not have: any use of it raises NotSupported.

    Args:
        part: its name in the contract.
    """

    def __init__(self, part: Part) -> None:
        self._part: Part = part

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python looks these up, and does without them
            raise AttributeError(name)
        raise self.refusal(self._part, f"{self._part}.{name}")

    @staticmethod
    def refusal(part: Part, needed: str) -> NotSupported:
        """Return the error for something that needs a missing part."""
        return NotSupported(
            f"this store {_LACKS[part]}, so it has no {needed}: {part} is not among the parts that its capabilities "
            "name; use a database whose store has it"
        )


def missing(part: Part) -> Any:
    """Return the placeholder for a part that a store does not have."""
    return MissingPart(part)


class Store(Protocol):
    """The contract. Its parts return plans; a plan with several steps yields BEGIN first.

    The time is that of the database server, or of the clock with which the store was opened. A store that inherits from
    this class needs only `capabilities` and `messages` at first: parts that it does not set are missing.

    Attributes:
        capabilities: what it can do, and which of the parts below it has.
        messages: push, reserve and settle; every store has it.
        operations: inspect queues, change messages and remove them.
        history: finished turns.
        metadata: settings of queues, schedules, pipelines and live consumers.
        counters: what processes counted.
        bulk: batches for engines, scans, and messages that arrive from another database.
        schema: its tables.
    """

    capabilities: Capabilities
    messages: MessageStore
    operations: OperationStore = missing("operations")
    history: HistoryStore = missing("history")
    metadata: MetadataStore = missing("metadata")
    counters: CounterStore = missing("counters")
    bulk: BulkStore = missing("bulk")
    schema: SchemaStore = missing("schema")
