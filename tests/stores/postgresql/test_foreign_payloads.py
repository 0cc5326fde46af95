"""Payloads that somebody wrote with plain SQL, on PostgreSQL."""

import psycopg
import pytest

from tests.stores.foreign_payloads import *  # noqa: F403
from tests.stores.foreign_payloads import Write


@pytest.fixture
def write(superuser: psycopg.Connection) -> Write:
    def write(text: str, id: int) -> None:
        superuser.execute("UPDATE tested.duerow_message SET payload = %s WHERE id = %s", [text, id])

    return write
