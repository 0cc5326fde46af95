"""A viewer: the person or program behind a request, and its rights to each queue."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

import msgspec

from duerow.errors import ConfigurationError, shown
from duerow.queue.reserved import RESERVED

Role = Literal["viewer", "operator", "worker"]
Right = Literal["view", "operate", "push", "consume"]
Means = Literal["local", "session", "token", "proxy", "host"]

ALL: Final = "*"
"""The pattern of all queues."""

RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    "viewer": frozenset({"view"}),
    "operator": frozenset({"view", "operate", "push"}),
    "worker": frozenset({"view", "push", "consume"}),
}

ROLES: Final[tuple[Role, ...]] = get_args(Role)

Roles = Mapping[str, tuple[Role, ...]]
"""Patterns of queue names, such as `orders*`, and the roles for the queues that match."""


class Viewer(msgspec.Struct, frozen=True):
    """The person or program behind a request.

    Attributes:
        name: its name; empty if nobody has to log in.
        roles: its roles by patterns of queue names, as `roles_of` returns them.
        means: how it was recognized.
        address: the address that the request comes from.
        read_only: whether it may only read, regardless of its roles.
    """

    name: str
    roles: Roles = {}
    means: Means = "host"
    address: str = ""
    read_only: bool = False

    def may(self, what: Right, queue: str | None = None) -> bool:
        """Return whether the viewer has a right to a queue.

        Without a queue: whether the viewer may view anything at all, or has any other right to all queues. Operators of
        all queues may view duerow's internal queues; nobody may change them, except that workers hold permits.
        """
        if self.read_only and what != "view":
            return False
        if queue is None:
            return any(self._has(what, one) for one in self.roles.values()) if what == "view" else self._all(what)
        if queue.startswith(RESERVED):
            return what == "view" and "operator" in self.roles.get(ALL, ())
        return any(self._has(what, roles) for pattern, roles in self.roles.items() if fnmatchcase(queue, pattern))

    def _all(self, what: Right) -> bool:
        return self._has(what, self.roles.get(ALL, ()))

    @staticmethod
    def _has(what: Right, roles: tuple[Role, ...]) -> bool:
        return any(what in RIGHTS[role] for role in roles)


def roles_of(given: object) -> Roles:
    """Return roles by patterns of queue names, from a role, several roles, or such a mapping.

    Raises:
        ConfigurationError: a role does not exist, or a pattern is not text.
    """
    if not isinstance(given, Mapping):
        return {ALL: _roles(given)}
    for pattern in given:
        if not isinstance(pattern, str) or not pattern:
            raise ConfigurationError(f"roles are given by patterns of queue names such as 'orders*', not {pattern!r}")
    return {pattern: _roles(roles) for pattern, roles in given.items()}


def _roles(given: object) -> tuple[Role, ...]:
    many = given if isinstance(given, list | tuple | set | frozenset) else (given,)
    for one in many:
        if one not in ROLES:
            raise ConfigurationError(f"there is no role {shown(one)}; use one of {', '.join(ROLES)}")
    return tuple(many)
