"""Detect the server's features, and check and create the collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from duerow.errors import ConfigurationError, NotSupported
from duerow.plan import Plan
from duerow.store import Capabilities
from duerow.stores.mongodb import commands, schema
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans

OLDEST_WIRE: Final = 17
"""The wire version of MongoDB 6.0."""


class MongoSchema(MongoPlans):
    """Plans for the server and the collections.

    Args:
        context: the state that all plans of the store share.
        learn: called with the server's features.
    """

    def __init__(self, context: MongoContext, learn: Callable[[Capabilities], None]) -> None:
        super().__init__(context)
        self._learn = learn

    def check(self) -> Plan[None]:
        """Ask for the server's features, and check the collections; see SchemaStore.check."""
        yield from self._detect_server()
        yield from schema.check(self.names)

    def migrate(self) -> Plan[list[str]]:
        """Bring the collections up to this version; see SchemaStore.migrate."""
        yield from self._detect_server()
        return (yield from schema.migrate(self.names))

    def migration_sql(self) -> str:
        """Return a mongosh script that does what `migrate` does on an empty database."""
        return schema.script(self.names)

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Raise NotSupported: roles are created with MongoDB's own commands."""
        raise NotSupported(
            "duerow prints no roles for MongoDB, which grants rights with createRole instead of GRANT: readWrite on "
            "the database is enough for everything, read is enough for reading"
        )

    def _detect_server(self) -> Plan[None]:
        """Detect the server's features.

        Raises:
            ConfigurationError: the server is too old.
        """
        answer: dict[str, Any] = yield commands.hello()
        if answer["maxWireVersion"] < OLDEST_WIRE:
            raise ConfigurationError(
                f"duerow needs MongoDB 6.0 or later; this server speaks version {answer['maxWireVersion']} of the "
                f"protocol, and 6.0 speaks {OLDEST_WIRE}"
            )
        several = "setName" in answer or answer.get("msg") == "isdbgrid"
        transactions = several and self.context.may_have_transactions
        self._learn(
            Capabilities(
                transactions=transactions,
                within=transactions,
                wakes_consumers=several,
                passes_over=False,
                receives=transactions,
            )
        )
