"""Payloads that somebody wrote with plain SQL, on PostgreSQL."""

import psycopg
import pytest

from tests.stores.foreign import *  # noqa: F403
from tests.stores.foreign import Write


@pytest.fixture
def write(superuser: psycopg.Connection) -> Write:
    def write(text: str) -> None:
        superuser.execute("UPDATE tested.duerow_message SET payload = %s", [text])

    return write
