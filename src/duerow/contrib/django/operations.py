"""How Django's migrations create and change the tables of queues."""

from __future__ import annotations

from typing import Any

from django.db import router
from django.db.migrations.operations.base import Operation

from duerow.contrib.django.database import DjangoDatabase, database
from duerow.stores.sql.migrations import MIGRATIONS


class MigrateQueues(Operation):
    """Bring the tables of the queues up to a version of their schema.

    The tables are brought up to the newest version at once, so a later Django migration may find nothing to do. They
    stay if the migration is reversed, because there may be messages in them.

    Args:
        version: the number of the last duerow migration that this operation includes.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, version: int) -> None:
        self.version = version

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change nothing: these tables have no models."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Create what is missing, in the transaction of the migration if the database supports that."""
        connection = schema_editor.connection
        queues = database()
        if connection.alias != queues.alias or not router.allow_migrate(connection.alias, app_label):
            return
        if schema_editor.collect_sql:
            schema_editor.collected_sql += _statements(queues)
        elif connection.in_atomic_block:
            queues.connections.migrate(connection)
        else:  # a change of the schema would end a transaction
            queues.migrate()

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Leave the tables, with the messages in them."""

    def describe(self) -> str:
        """Return what `manage.py migrate --plan` shows."""
        return f"Bring the tables of the queues up to version {self.version} ({MIGRATIONS[self.version - 1][0]})"

    @property
    def migration_name_fragment(self) -> str:
        """The part of a migration's name that stands for this operation."""
        return f"queues_{self.version}"


def _statements(queues: DjangoDatabase) -> list[str]:
    """Return the statements that `manage.py sqlmigrate` shows: the SQL for an empty database."""
    return [line for line in queues.migration_sql().split("\n\n") if line.strip()]
