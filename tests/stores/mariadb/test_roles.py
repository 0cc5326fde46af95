"""Roles of MySQL and MariaDB with the rights that are printed."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import make_url

from duerow.stores.sql.rights import ROLES
from duerow.testing.conformance.fixtures import Place
from tests.stores.roles import *  # noqa: F403
from tests.stores.roles import printed


@pytest.fixture(scope="session")
def role_urls(migrated: Place, superuser: Any) -> Iterator[Mapping[str, str]]:
    """Users with roles of odd names, whose rights are those that the command prints."""
    url, those = make_url(migrated.url).set(database=migrated.settings["schema"]), uuid.uuid4().hex[:8]
    names = {role: f"{role}'s {those}" for role in ROLES}
    superuser.execute("SELECT VERSION()")
    link = "FOR" if "MariaDB" in superuser.fetchone()[0] else "TO"
    for name in names.values():
        superuser.execute(f"CREATE ROLE `{name}`")
    for statement in printed(migrated, names):
        superuser.execute(statement)
    users = {role: f"{role[:4]}{those}" for role in ROLES}
    for role, user in users.items():
        superuser.execute(f"CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY 'pw'")
        superuser.execute(f"GRANT `{names[role]}` TO '{user}'@'127.0.0.1'")
        superuser.execute(f"SET DEFAULT ROLE `{names[role]}` {link} '{user}'@'127.0.0.1'")
    yield {
        role: url.set(username=user, password="pw").render_as_string(hide_password=False)
        for role, user in users.items()
    }
    for user in users.values():
        superuser.execute(f"DROP USER '{user}'@'127.0.0.1'")
    for name in names.values():
        superuser.execute(f"DROP ROLE `{name}`")
