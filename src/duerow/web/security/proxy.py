"""A proxy that is trusted to name the user of a request."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from starlette.requests import Request

from duerow.errors import ConfigurationError, shown
from duerow.web.security.viewer import Roles, roles_of


class TrustedProxy:
    """A proxy that logs users in and names them in a header (oauth2-proxy, Authelia, Pomerium, …).

    Args:
        addresses: the addresses or networks of the proxy; its headers are ignored in requests from elsewhere.
        header: the header with the user's name. The proxy must remove this header from incoming requests.
        roles: the roles of all users, or a function of (name, request headers) that returns the roles of a user; None
            refuses the user.

    Raises:
        ConfigurationError: an address or a role is invalid.
    """

    def __init__(
        self,
        addresses: Iterable[str] = ("127.0.0.1", "::1"),
        header: str = "X-Forwarded-User",
        roles: object | Callable[[str, Mapping[str, str]], object] = "viewer",
    ) -> None:
        self._networks = [_network(one) for one in ([addresses] if isinstance(addresses, str) else addresses)]
        self.header = header.lower()
        self._roles = roles
        if not callable(roles):
            roles_of(roles)

    def is_peer(self, request: Request) -> bool:
        """Return whether the request comes from the proxy itself."""
        try:
            peer = ipaddress.ip_address(peer_of(request))
        except ValueError:
            return False
        return any(peer in network for network in self._networks)

    def user_of(self, request: Request) -> tuple[str, Roles] | None:
        """Return the user that the proxy names, with the roles; None if it names none."""
        if not self.is_peer(request):
            return None
        names = request.headers.getlist(self.header)
        if len(names) != 1 or not names[0].strip():
            return None  # of two headers, at least one is not from the proxy
        name = names[0].strip()
        roles: Any = self._roles(name, request.headers) if callable(self._roles) else self._roles
        return None if roles is None else (name, roles_of(roles))

    def client_of(self, request: Request) -> str:
        """Return the client's address as the proxy reports it: the last one, which the proxy itself added."""
        said = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        return said or peer_of(request)

    def scheme_of(self, request: Request) -> str:
        """Return the scheme of the browser's request."""
        said = request.headers.get("x-forwarded-proto", "").rpartition(",")[2].strip()
        return said if said in ("http", "https") else request.url.scheme


def peer_of(request: Request) -> str:
    """Return the address at the other end of the connection; empty for a Unix socket."""
    return request.client.host if request.client is not None else ""


def is_loopback(address: str) -> bool:
    """Return whether an address is a loopback address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def _network(address: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(address)
    except ValueError as error:
        raise ConfigurationError(f"a trusted proxy must be an address or a network, not {shown(address)}") from error
