"""The part of the contract for stores that have tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from duerow.plan import Plan


class SchemaStore(Protocol):
    """The tables of a store."""

    def check(self) -> Plan[None]:
        """Raise SchemaOutdated or SchemaNewer unless the tables match this version."""
        ...

    def migrate(self) -> Plan[list[str]]:
        """Bring the tables up to this version; return the migrations applied, by name. Safe to call concurrently."""
        ...

    def migration_sql(self) -> str:
        """Return what `migrate` would run on an empty database, as text for someone with the rights to run it."""
        ...

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Return the statements that grant roles their rights on the tables, as text.

        Args:
            names: the database's names for the roles `producer`, `consumer`, `operator` and `reader`; a role that is
                missing here is named by the prefix and that word.

        Raises:
            ConfigurationError: a name is invalid.
            NotSupported: the database has no roles, or does not manage them by statements.
        """
        ...


@runtime_checkable
class TriesRights(Protocol):
    """An optional addition to this part, for databases whose users have rights."""

    def consumer_trials(self) -> Mapping[str, Callable[[], Plan[None]]]:
        """Return plans that change nothing, one for each right that a worker needs, by the right's name.

        Each raises ConfigurationError if this user does not have that right.
        """
        ...


@runtime_checkable
class KnowsRights(Protocol):
    """An optional addition to this part, for databases that tell which rights a user has."""

    def may_consume(self) -> Plan[bool]:
        """Return whether this user certainly has every right that a worker needs; if not, each right is tried."""
        ...
