"""The duerow URL of a Django database: both lead to the same tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from django.db import connections
from sqlalchemy import URL

from duerow.errors import ConfigurationError
from duerow.store.backends import has_backend

_OF_DJANGO: Final = frozenset(
    ("pool", "isolation_level", "server_side_binding", "assume_role", "cursor_factory", "context", "client_encoding")
)
"""The OPTIONS for PostgreSQL that are meant for Django, not for the driver."""


def where(alias: str) -> tuple[Any, ...]:
    """Return the database settings that may change while a process runs: tests put their own database there."""
    said = connections[alias].settings_dict
    return said["NAME"], said["HOST"], said["PORT"], said["USER"], said["PASSWORD"]


def scheme_of(alias: str) -> str:
    """Return the scheme of a Django database in duerow's URLs, which is Django's name for its vendor.

    Raises:
        ConfigurationError: duerow has no store for it.
    """
    vendor: str = connections[alias].vendor
    if not has_backend(vendor):
        raise ConfigurationError(
            f"DATABASES[{alias!r}] has the vendor {vendor!r}, for which duerow has no store; put the queues into "
            'another database: DUEROW = {"DATABASE": …}'
        )
    return vendor


def url_of(alias: str) -> str:
    """Return the URL of a Django database.

    Raises:
        ConfigurationError: duerow has no store for it, or it is an in-memory database of one connection.
    """
    scheme = scheme_of(alias)
    said = connections[alias].settings_dict
    url = _sqlite(alias, said) if scheme == "sqlite" else _server(scheme, said)
    return url.render_as_string(hide_password=False)


def _sqlite(alias: str, said: Mapping[str, Any]) -> URL:
    name = str(said["NAME"])
    if name in ("", ":memory:"):
        raise ConfigurationError(
            f"DATABASES[{alias!r}] is an in-memory database of one connection, so no worker would see its queues; set "
            "NAME to a file (in tests, Django replaces it with a database that can be shared)"
        )
    query: dict[str, str] = {}
    if name.startswith("file:"):
        name, _, more = name.partition("?")
        query = {**dict(parse_qsl(more)), "uri": "true"}
    elif not Path(name).is_absolute():
        name = str(Path(name).absolute())
    if "timeout" in said["OPTIONS"]:
        query["busy_timeout"] = str(int(float(said["OPTIONS"]["timeout"]) * 1000))
    return URL.create("sqlite", database=name, query=query)


def _server(scheme: str, said: Mapping[str, Any]) -> URL:
    host = said["HOST"] or None
    query = _options(scheme, said["OPTIONS"])
    if host is not None and host.startswith("/"):
        query["host" if scheme == "postgresql" else "unix_socket"] = host
        host = None
    return URL.create(
        scheme,
        username=said["USER"] or None,
        password=said["PASSWORD"] or None,
        host=host,
        port=int(said["PORT"]) if said["PORT"] else None,
        database=said["NAME"] or None,
        query=query,
    )


def _options(scheme: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the OPTIONS that are meant for the driver."""
    if scheme == "postgresql":
        found = {name: str(value) for name, value in options.items() if name not in _OF_DJANGO}
        if role := options.get("assume_role"):
            found["options"] = f"{found.get('options', '')} -c role={role}".strip()
        return found
    tls = {f"ssl_{name}": str(value) for name, value in dict(options.get("ssl") or {}).items()}
    plain = {name: str(options[name]) for name in ("charset", "unix_socket") if name in options}
    return {"charset": "utf8mb4", **plain, **tls}
