"""The store: its plans put together, and what its server is able to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from duerow.errors import ConfigurationError, NotSupported
from duerow.plan import Plan
from duerow.store import Capabilities
from duerow.stores.mongodb import commands, schema
from duerow.stores.mongodb.plans.change import MongoChange
from duerow.stores.mongodb.plans.metadata import MongoMetadata
from duerow.stores.mongodb.plans.pop import MongoPop
from duerow.stores.mongodb.plans.read import MongoRead
from duerow.stores.mongodb.plans.receive import MongoReceive
from duerow.stores.mongodb.plans.reserve import MongoReserve
from duerow.stores.mongodb.plans.stage import MongoStage

OLDEST_WIRE: Final = 17
"""The version of the protocol that MongoDB 6.0 speaks."""


class MongoStore(MongoReserve, MongoPop, MongoStage, MongoReceive, MongoChange, MongoMetadata, MongoRead):
    """Queues in MongoDB; see `duerow.store.Store`.

    What the server is able to do is known once `check` or `migrate` has asked it.
    """

    def check(self) -> Plan[None]:
        """Ask the server what it is, and check the collections; see Store.check."""
        yield from self._detect_server()
        yield from schema.check(self.names)

    def migrate(self) -> Plan[list[str]]:
        """Bring the collections up to this version; see Store.migrate."""
        yield from self._detect_server()
        return (yield from schema.migrate(self.names))

    def migration_sql(self) -> str:
        """Return what `migrate` would do on an empty database, for mongosh."""
        return schema.script(self.names)

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Refuse: roles are made by commands of MongoDB's own."""
        raise NotSupported(
            "duerow writes no roles for MongoDB, which grants rights by createRole and not by GRANT: readWrite on the "
            "database is enough for everything, read for looking"
        )

    def _detect_server(self) -> Plan[None]:
        """Learn what the server is able to do.

        Raises:
            ConfigurationError: it is too old.
        """
        answer: dict[str, Any] = yield commands.hello()
        if answer["maxWireVersion"] < OLDEST_WIRE:
            raise ConfigurationError(
                f"duerow needs MongoDB 6.0 or later; this server speaks version {answer['maxWireVersion']} of the "
                f"protocol, and 6.0 speaks {OLDEST_WIRE}"
            )
        several = "setName" in answer or answer.get("msg") == "isdbgrid"
        transactions = several and self._may_have_transactions
        self.capabilities = Capabilities(
            transactions=transactions,
            within=transactions,
            wakes_consumers=several,
            passes_over=False,
            receives=transactions,
        )
