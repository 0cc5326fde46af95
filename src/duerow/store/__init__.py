"""What a store is: the parts of the contract, whose methods return plans, and two ways to reach its server.

A store knows nothing about codecs, retry policies or handlers: it receives encoded text and decided turns. Its plans
yield steps that only its own connections understand (see `duerow.plan`). Every store keeps the same promises, verified
by one conformance suite.
"""

from __future__ import annotations

from duerow.store.backends import READ_TIMEOUT, Backend, Settings, find_backend
from duerow.store.bulk import Arrival, Lease, MessageHeader, Published, Reception
from duerow.store.connections import (
    ArrowConnections,
    ArrowScan,
    AsyncConnections,
    AsyncListener,
    AsyncOwnTransaction,
    Connections,
    Listener,
    OwnTransaction,
    ReadPage,
    TransactionState,
    cancellations,
)
from duerow.store.contract.bulk import BulkStore
from duerow.store.contract.capabilities import PARTS, Capabilities, Part
from duerow.store.contract.counters import CounterStore
from duerow.store.contract.history import HistoryStore
from duerow.store.contract.messages import MessageStore
from duerow.store.contract.metadata import MetadataStore
from duerow.store.contract.operations import OperationStore
from duerow.store.contract.schema import SchemaStore, TriesRights
from duerow.store.contract.store import MissingPart, Store, missing
from duerow.store.damage import ABSENT, UNFIT, Garbled, Shapes, examined, mended
from duerow.store.diagnosis import SEVERITIES, Check, Finding, SelfChecking, Severity
from duerow.store.metadata import (
    Counted,
    Counters,
    Indexed,
    Indexing,
    IndexKind,
    Planned,
    QueueSettings,
    QueueStats,
    ScheduleChange,
    SchedulesFound,
    StoredPipeline,
    Totals,
)
from duerow.store.reads import (
    ALL_IDS,
    Change,
    Consumer,
    HistoryQuery,
    HistoryRow,
    Inspection,
    Order,
    PlaceInHistory,
    Query,
    Removal,
    Scan,
    Tally,
)
from duerow.store.writes import (
    ORDER_OF_EFFECT,
    Buried,
    Closed,
    Committed,
    End,
    Entry,
    GivenUp,
    Joined,
    Moved,
    Record,
    Refused,
    Released,
    Reserved,
    Retention,
    RolledBack,
    Turn,
)

__all__ = [
    "ABSENT",
    "ALL_IDS",
    "ORDER_OF_EFFECT",
    "PARTS",
    "READ_TIMEOUT",
    "SEVERITIES",
    "UNFIT",
    "Arrival",
    "ArrowConnections",
    "ArrowScan",
    "AsyncConnections",
    "AsyncListener",
    "AsyncOwnTransaction",
    "Backend",
    "BulkStore",
    "Buried",
    "Capabilities",
    "Change",
    "Check",
    "Closed",
    "Committed",
    "Connections",
    "Consumer",
    "Counted",
    "CounterStore",
    "Counters",
    "End",
    "Entry",
    "Finding",
    "Garbled",
    "GivenUp",
    "HistoryQuery",
    "HistoryRow",
    "HistoryStore",
    "IndexKind",
    "Indexed",
    "Indexing",
    "Inspection",
    "Joined",
    "Lease",
    "Listener",
    "MessageHeader",
    "MessageStore",
    "MetadataStore",
    "MissingPart",
    "Moved",
    "OperationStore",
    "Order",
    "OwnTransaction",
    "Part",
    "PlaceInHistory",
    "Planned",
    "Published",
    "Query",
    "QueueSettings",
    "QueueStats",
    "ReadPage",
    "Reception",
    "Record",
    "Refused",
    "Released",
    "Removal",
    "Reserved",
    "Retention",
    "RolledBack",
    "Scan",
    "ScheduleChange",
    "SchedulesFound",
    "SchemaStore",
    "SelfChecking",
    "Settings",
    "Severity",
    "Shapes",
    "Store",
    "StoredPipeline",
    "Tally",
    "Totals",
    "TransactionState",
    "TriesRights",
    "Turn",
    "cancellations",
    "examined",
    "find_backend",
    "mended",
    "missing",
]
