"""The in-memory store: the reference with which every other store is compared."""

from __future__ import annotations

from duerow.store import Capabilities, Store
from duerow.stores.memory.plans.bulk import MemoryBulk
from duerow.stores.memory.plans.counters import MemoryCounters
from duerow.stores.memory.plans.history import MemoryHistory
from duerow.stores.memory.plans.messages import MemoryMessages
from duerow.stores.memory.plans.metadata import MemoryMetadata
from duerow.stores.memory.plans.operations import MemoryOperations
from duerow.stores.memory.plans.schema import MemorySchema


class MemoryStore(Store):
    """Messages in the memory of this process: nothing to install, and nothing survives the process.

    Args:
        transactions: whether several messages can change together; see `MemoryMessages`.
    """

    def __init__(self, transactions: bool = True) -> None:
        self.capabilities = Capabilities(
            transactions=transactions, within=False, processes=False, hosts=False, receives=transactions
        )
        self.messages = messages = MemoryMessages(transactions)
        self.operations = MemoryOperations()
        self.history = MemoryHistory()
        self.metadata = MemoryMetadata()
        self.counters = MemoryCounters()
        self.bulk = MemoryBulk(messages, receives=transactions)
        self.schema = MemorySchema()
