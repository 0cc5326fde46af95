"""The options of `application`, checked."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import msgspec
from starlette.requests import Request

from duerow.errors import ConfigurationError, shown
from duerow.message import check_span
from duerow.queue.audit import KEEP_AUDIT
from duerow.web.security.accounts import Accounts, AccountsFile
from duerow.web.security.proxy import TrustedProxy
from duerow.web.security.viewer import Viewer

LASTING: Final = timedelta(hours=12)
MAX_BODY_BYTES: Final = 16 << 20
MOST_QUEUES: Final = 2_000
"""How many queue handles are kept."""

SHORTEST_SECRET: Final = 16

Redact = Callable[[str, Any], Any]
"""(queue name, payload) -> what people may see of the payload."""

Authenticate = Callable[[Request], Viewer | Awaitable[Viewer | None] | None]
"""Returns the viewer that the host application recognizes; None: the request is refused."""


class WebOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `application`, which describes them.

    With several databases, `called` is the name of this one, and `databases` holds the names of all.
    """

    accounts: Accounts | None = None
    proxy: TrustedProxy | None = None
    authenticate: Authenticate | None = None
    read_only: bool = False
    redact: Redact | None = None
    searchable: Mapping[str, Sequence[str]] = {}
    queues: Mapping[str, Any] = {}
    secret: str | None = None
    session: timedelta = LASTING
    audit: timedelta = KEEP_AUDIT
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    max_body_bytes: int = MAX_BODY_BYTES
    rate: str = "6000/minute"
    login_rate: str = "10/minute"
    most_queues: int = MOST_QUEUES
    called: str = ""
    databases: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether nobody has to log in, so that only this machine may use it."""
        return self.accounts is None and self.proxy is None and self.authenticate is None


def checked(
    *,
    users: Accounts | str | os.PathLike[str] | None,
    queues: Sequence[Any],
    secret: str | None,
    hosts: Sequence[str],
    root_path: str,
    **others: Any,
) -> WebOptions:
    """Return the checked options; raise ConfigurationError if one is invalid."""
    accounts = AccountsFile(users) if isinstance(users, str | os.PathLike) else users
    if accounts is not None and not isinstance(accounts, Accounts):
        raise ConfigurationError(f"users= takes Accounts or the path of an accounts file, not {shown(users)}")
    if secret is not None and len(secret) < SHORTEST_SECRET:
        raise ConfigurationError(f"secret= takes at least {SHORTEST_SECRET} random characters")
    if isinstance(hosts, str):
        raise ConfigurationError("hosts= takes a list of names, such as ['queues.example.org']")
    if root_path and (not root_path.startswith("/") or root_path.endswith("/")):
        raise ConfigurationError(f"root_path= is {shown(root_path)}, but it must begin with a / and not end with one")
    for name in ("session", "audit"):
        check_span(name, others[name], timedelta(seconds=1))
    return WebOptions(
        accounts=accounts,
        queues={one.name: one for one in queues},
        secret=secret,
        hosts=tuple(one.lower() for one in hosts),
        root_path=root_path,
        **others,
    )
