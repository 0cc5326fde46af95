"""The store, which combines its plans into the parts of the contract."""

from __future__ import annotations

from collections.abc import Mapping

from duerow.clock import Clock
from duerow.store import Capabilities, Check, Store
from duerow.stores.mongodb import diagnosis
from duerow.stores.mongodb.plans.change import MongoChange
from duerow.stores.mongodb.plans.context import MongoContext
from duerow.stores.mongodb.plans.counters import MongoCounters
from duerow.stores.mongodb.plans.history import MongoHistory
from duerow.stores.mongodb.plans.join import MongoJoin
from duerow.stores.mongodb.plans.metadata import MongoMetadata
from duerow.stores.mongodb.plans.parts import MongoBulk, MongoMessages, MongoOperations
from duerow.stores.mongodb.plans.pop import MongoPop
from duerow.stores.mongodb.plans.priorities import MongoPriorities
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.plans.read import MongoRead
from duerow.stores.mongodb.plans.receive import MongoReceive
from duerow.stores.mongodb.plans.reserve import MongoReserve
from duerow.stores.mongodb.plans.schema import MongoSchema
from duerow.stores.mongodb.plans.settle import MongoSettle
from duerow.stores.mongodb.plans.stage import MongoStage


class MongoStore(Store):
    """Queues in MongoDB; see `duerow.store.Store`.

    The server's features are known once `check` or `migrate` has asked for them.

    Args:
        prefix: the prefix of all collection names.
        transactions: whether to use transactions if the server has them.
        clock: a clock to use instead of the server's.

    Attributes:
        context: the state that its plans and connections share.
    """

    def __init__(self, prefix: str, transactions: bool = True, clock: Clock | None = None) -> None:
        self.context = context = MongoContext(prefix, transactions, clock)
        self._learn(context.capabilities)
        push, priorities = MongoPush(context), MongoPriorities(context)
        settle = MongoSettle(context, push, MongoJoin(context, push))
        reserve, pop = MongoReserve(context, priorities), MongoPop(context, priorities)
        self.metadata = metadata = MongoMetadata(context, push)
        read = MongoRead(context, priorities, metadata)
        self.messages = MongoMessages(push, reserve, settle, pop, read)
        self.operations = MongoOperations(read, pop, MongoChange(context))
        self.history, self.counters = MongoHistory(context), MongoCounters(context)
        self.bulk = MongoBulk(reserve, read, MongoStage(context, push, settle), MongoReceive(context, push))
        self.schema = MongoSchema(context, self._learn)

    def _learn(self, capabilities: Capabilities) -> None:
        self.capabilities = self.context.capabilities = capabilities

    def checks(self) -> Mapping[str, Check]:
        """Return the checks of `duerow.doctor`; see SelfChecking."""
        return {
            "indexes": lambda patience: diagnosis.missing_indexes(self.context.names),
            "server": lambda patience: diagnosis.standalone(self.capabilities),
        }
