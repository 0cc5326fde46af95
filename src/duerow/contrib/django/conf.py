"""The setting DUEROW of a Django project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from duerow.errors import ConfigurationError, shown
from duerow.store import READ_TIMEOUT


@dataclass(frozen=True, kw_only=True)
class DjangoSettings:
    """The project's setting DUEROW, which has these names in capitals.

    Attributes:
        database: the alias of the database that holds the queues.
        prefix: the prefix of all table names.
        schema: the database schema that holds the tables; None: the connection's default.
        encryption: the keys of payloads, a `duerow.encryption.Encryption`, or the dotted path of one or of a function
            that returns one; None: payloads are stored in clear text.
        read_timeout: how long a read for people may take outside of `atomic`; None: no limit.
        dashboard: the path of the dashboard, if it is not in the project's URLconf; the admin links to it.
    """

    database: str = "default"
    prefix: str = "duerow_"
    schema: str | None = None
    encryption: Any = None
    read_timeout: timedelta | None = READ_TIMEOUT
    dashboard: str | None = None

    def sealing(self) -> Any:
        """Return the encryption of payloads, or None.

        Raises:
            ConfigurationError: there is nothing at the dotted path.
        """
        if not isinstance(self.encryption, str):
            return self.encryption
        try:
            found = import_string(self.encryption)
        except ImportError as error:
            raise ConfigurationError(f'DUEROW["ENCRYPTION"] cannot be imported: {error}') from error
        return found() if callable(found) else found


_NAMES = {one.name.upper(): one.name for one in fields(DjangoSettings)}


def django_settings() -> DjangoSettings:
    """Return the project's setting DUEROW.

    Raises:
        ConfigurationError: it has an unknown name or a wrong type, or names an unknown database.
    """
    said = getattr(settings, "DUEROW", {})
    if not isinstance(said, Mapping):
        raise ConfigurationError(f"the setting DUEROW must be a dictionary, not {shown(said)}")
    if unknown := [str(name) for name in said if name not in _NAMES]:
        raise ConfigurationError(
            f"the setting DUEROW has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(_NAMES))}"
        )
    configured = DjangoSettings(**{_NAMES[name]: value for name, value in said.items()})
    if configured.database not in settings.DATABASES:
        raise ConfigurationError(
            f'DUEROW["DATABASE"] is {shown(configured.database)}, and DATABASES has no such alias; it has '
            f"{', '.join(sorted(settings.DATABASES))}"
        )
    return configured
