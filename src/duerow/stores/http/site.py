"""The address of the API and the options for requests, taken from a URL and the options of `connect`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from ssl import SSLContext
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote, urlunsplit

import httpx

from duerow.errors import ConfigurationError, shown
from duerow.store import READ_TIMEOUT, Settings
from duerow.store.backends import port_of, split
from duerow.store.consumer_id import own_version

T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.http")

API: Final = "/api/v1"
OPTIONS: Final = ("timeout", "retries", "token", "client")

TIMEOUT: Final = 30.0
"""Seconds to wait for an answer."""

CONNECT_TIMEOUT: Final = 5.0
"""The maximum number of seconds to wait for a connection."""

RETRIES: Final = 3
MOST_RETRIES: Final = 100

_TABLES: Final = "the server decides which tables it uses: leave out {}="


@dataclass(frozen=True)
class Site:
    """The address of a duerow API, and how to send requests to it.

    Attributes:
        url: where the application is mounted, without user and password.
        token: the token to send; None: no token.
        timeout: seconds to wait for an answer.
        retries: how many times a request is sent again.
        make: creates the clients; None: httpx does.
    """

    url: str
    token: str | None = field(repr=False)
    timeout: float = TIMEOUT
    retries: int = RETRIES
    make: Callable[..., Any] | None = None

    @property
    def place(self) -> Hashable:
        """The identity of the site."""
        return "http", self.url

    @property
    def name(self) -> str:
        """The name of the site in errors."""
        return self.url

    @cached_property
    def _certificates(self) -> SSLContext:
        """The trusted certificates. They are read once, outside event loops, because that takes milliseconds."""
        return httpx.create_ssl_context()

    def prepared(self) -> Site:
        """Return the site after reading everything that comes from files."""
        own_version()
        if self.make is None and self.url.startswith("https:"):
            _ = self._certificates
        return self

    def client(self, kind: type[T]) -> T:
        """Return a new httpx client, blocking or async."""
        said = {"User-Agent": f"duerow/{own_version()}", "Accept": "application/json"}
        if self.token is not None:
            said["Authorization"] = f"Bearer {self.token}"
        options: dict[str, Any] = {
            "base_url": f"{self.url}{API}/store/",
            "headers": said,
            "timeout": httpx.Timeout(self.timeout, connect=min(self.timeout, CONNECT_TIMEOUT)),
        }
        if self.make is None:
            options["verify"] = self._certificates if self.url.startswith("https:") else False
        made = (self.make or kind)(**options)
        if not isinstance(made, kind):
            raise ConfigurationError(
                f"client= returns {shown(type(made).__name__)}; this face needs httpx.{kind.__name__}"
            )
        return made


def site_of(target: Any, settings: Settings) -> Site:
    """Return the site for a URL and the options of `connect`.

    Raises:
        ConfigurationError: the URL or an option is invalid. The error never shows the token.
    """
    if not isinstance(target, str):
        raise ConfigurationError(f"queues behind an HTTP API are opened with a URL, not with {type(target).__name__}")
    for name, given, usual in (("prefix", settings.prefix, "duerow_"), ("schema", settings.schema, None)):
        if given != usual:
            raise ConfigurationError(_TABLES.format(name))
    if settings.read_timeout != READ_TIMEOUT:
        raise ConfigurationError(
            "the server decides how long a read may take: leave out read_timeout=, and set timeout= to wait less"
        )
    url = split(target)
    host, port = url.hostname, port_of(url)
    if not host or url.fragment:
        raise ConfigurationError("this URL names no host, or has a #; write https://TOKEN@host/path")
    options = {**dict(parse_qsl(url.query, keep_blank_values=True)), **settings.options}
    if "token" in dict(parse_qsl(url.query)):
        raise ConfigurationError("a token in a query ends up in logs: write https://TOKEN@host/path, or pass token=")
    if unknown := sorted(options.keys() - set(OPTIONS)):
        raise ConfigurationError(
            f"{url.scheme}:// has no option {shown(unknown[0])}; its options are {', '.join(OPTIONS)}"
        )
    place = f"[{host}]" if ":" in host else host
    path = url.path.rstrip("/").removesuffix(API)
    bare = urlunsplit((url.scheme.partition("+")[0], place if port is None else f"{place}:{port}", path, "", ""))
    token = _token(options.get("token", url.password or url.username), "token" in options)
    if token is not None and url.scheme == "http" and not _is_this_machine(host):
        LOG.warning("the token for %s travels unencrypted: use https://", bare, extra={"event": "token-in-clear"})
    make = options.get("client")
    if make is not None and not callable(make):
        raise ConfigurationError(f"client= must be a function that creates an httpx client, not {shown(make)}")
    timeout = _number(options, "timeout", TIMEOUT, float)
    retries = _number(options, "retries", RETRIES, int)
    if not 0 < timeout <= 86_400:
        raise ConfigurationError(f"timeout= must be a number of seconds above 0 and at most a day, not {timeout}")
    if not 0 <= retries <= MOST_RETRIES:
        raise ConfigurationError(f"retries= must be a number from 0 to {MOST_RETRIES}, not {retries}")
    return Site(bare, token, timeout, retries, make).prepared()


def _number(options: Mapping[str, Any], name: str, usual: T, kind: Callable[[Any], T]) -> T:
    given = options.get(name, usual)
    try:
        if isinstance(given, bool):
            raise TypeError
        return kind(given)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(f"{name}= must be a number, not {shown(given)}") from None


def _token(given: Any, said: bool) -> str | None:
    """Return the token; in a URL, its special characters are encoded."""
    if given is None or given == "":
        return None
    token = given if said or not isinstance(given, str) else unquote(given)
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            "the token is not one that `duerow dashboard user token` printed: ASCII without spaces"
        )
    return token


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
