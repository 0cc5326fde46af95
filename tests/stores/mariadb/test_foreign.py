"""Payloads that somebody wrote with plain SQL, on MariaDB."""

from typing import Any

import pytest

from duerow.testing.conformance.fixtures import Place
from tests.stores.foreign import *  # noqa: F403
from tests.stores.foreign import Write


@pytest.fixture
def write(place: Place, superuser: Any) -> Write:
    def write(text: str) -> None:
        superuser.execute(f"UPDATE `{place.settings['schema']}`.duerow_message SET payload = %s", [text])

    return write
