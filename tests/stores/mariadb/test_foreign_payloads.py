"""Payloads that somebody wrote with plain SQL, on MariaDB."""

from typing import Any

import pytest

from duerow.testing.conformance.fixtures import Place
from tests.stores.foreign_payloads import *  # noqa: F403
from tests.stores.foreign_payloads import Write


@pytest.fixture
def write(place: Place, superuser: Any) -> Write:
    def write(text: str, id: int) -> None:
        message = f"`{place.settings['schema']}`.duerow_message"
        superuser.execute(f"UPDATE {message} SET payload = %s WHERE id = %s", [text, id])

    return write
