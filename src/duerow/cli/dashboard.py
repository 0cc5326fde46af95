"""Commands that serve the dashboard and the HTTP API, and manage the accounts of their users."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from duerow import aio
from duerow.cli.failures import Commands
from duerow.cli.options import PREFIX, AsJson, Prefix, Schema, encryption, read_timeout
from duerow.cli.output import is_terminal, print_json, print_table, tell
from duerow.cli.worker import find_named
from duerow.errors import ConfigurationError, shown

commands = typer.Typer(cls=Commands, invoke_without_command=True, help="Serve the dashboard and the HTTP API.")
users = typer.Typer(cls=Commands, no_args_is_help=True, help="Manage the accounts that may use the dashboard.")
commands.add_typer(users, name="user")

PORT: Final = 8765
HOST: Final = "127.0.0.1"

FILE: Final = "duerow-users.json"
"""The default accounts file."""

_NAMED = re.compile(r"([A-Za-z0-9_-]{1,40})=([A-Za-z][\w+.-]*:.*)")

PASSWORD: Final = "DUEROW_PASSWORD"  # noqa: S105 - the name of an environment variable
"""The environment variable with the password of a new account, so that no prompt is necessary."""

NEEDED: Final = ("fastapi", "uvicorn", "jinja2", "multipart", "itsdangerous", "argon2", "limits")
"""The packages of the extra `dashboard`."""

File = Annotated[
    Path, typer.Option("--users", envvar="DUEROW_USERS", metavar="FILE", help="The file that holds the accounts.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE[:QUEUES]",
        help="viewer, operator or worker; a pattern limits it to some queues, such as operator:orders*. Repeatable.",
    ),
]


@commands.callback()
def dashboard(
    context: typer.Context,
    url: Annotated[
        list[str] | None,
        typer.Option(
            "--db",
            envvar="DUEROW_URL",
            metavar="[NAME=]URL",
            help="The database. Repeatable: each is then served under its name.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to serve.")] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="The port; 0: any free one.")] = PORT,
    users: Annotated[
        Path | None,
        typer.Option(
            "--users", envvar="DUEROW_USERS", metavar="FILE", help="The accounts file; everyone must then log in."
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy that passes the user's name in a header. Repeatable."),
    ] = None,
    proxy_header: Annotated[
        str, typer.Option(metavar="NAME", help="The header in which the proxy passes the user's name.")
    ] = "X-Forwarded-User",
    proxy_role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE[:QUEUES]", help="The role of the proxy's users; default: viewer. Repeatable."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow no changes.")] = False,
    redact: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="A function that returns what people may see of a payload."),
    ] = None,
    known_as: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A host name to accept. Repeatable.")
    ] = None,
    root_path: Annotated[str, typer.Option(metavar="PATH", help="The path that a proxy removes from requests.")] = "",
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate to serve HTTPS with, in PEM.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's private key.")] = None,
    prefix: Prefix = PREFIX,
    schema: Schema = None,
) -> None:
    """Serve the dashboard and the HTTP API until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    require_packages()
    if not url:
        raise ConfigurationError("name the database: --db URL, or DUEROW_URL in the environment")
    from duerow.web import TrustedProxy
    from duerow.web.security.proxy import is_loopback

    if users is None and not proxy and not (is_loopback(host) or host == "localhost"):
        raise ConfigurationError(
            f"Without accounts, the dashboard can only serve this machine, but --host {host} is reachable by others. "
            "Pass --users FILE (`duerow dashboard user add` makes it), or --proxy ADDRESS if a proxy logs its users in"
        )
    options: dict[str, Any] = {
        "users": users,
        "proxy": TrustedProxy(proxy, proxy_header, roles_said(proxy_role)) if proxy else None,
        "read_only": read_only,
        "redact": None if redact is None else find_named(redact, "function", "shop.privacy:redact"),
        "hosts": known_as or (),
        "root_path": root_path,
    }
    if (certificate is None) != (key is None):
        raise ConfigurationError("HTTPS needs both --certificate FILE and --key FILE")
    place = {"prefix": prefix, "schema": schema, "encryption": encryption(), "read_timeout": read_timeout()}
    https = {} if certificate is None else {"ssl_certfile": certificate, "ssl_keyfile": key}
    with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        # Otherwise small answers would be held back for 40 ms: asyncio sets this only for sockets that it opens itself.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asyncio.run(_serve(named(url), place, options, https, listening))


def named(urls: Sequence[str]) -> dict[str, str]:
    """Return databases by their names: NAME if given as NAME=URL, otherwise the last part of the URL.

    Raises:
        ConfigurationError: two have the same name.
    """
    found: dict[str, str] = {}
    for one in urls:
        given = _NAMED.fullmatch(one)
        url = given[2] if given is not None else one
        last = Path(urlsplit(url).path).stem or urlsplit(url).scheme
        name = given[1] if given is not None else re.sub(r"[^A-Za-z0-9_-]+", "-", last)[:40]
        if name in found:
            raise ConfigurationError(
                f"two databases are called {name!r}: give one of them another name with --db NAME=URL"
            )
        found[name] = url
    return found


async def _serve(
    urls: Mapping[str, str],
    place: Mapping[str, Any],
    options: Mapping[str, Any],
    https: Mapping[str, Any],
    listening: socket.socket,
) -> None:
    import uvicorn

    from duerow.web import application

    async with AsyncExitStack() as opened:
        databases = {
            name: await opened.enter_async_context(await aio.connect(url, **place)) for name, url in urls.items()
        }
        window = application(databases if len(databases) > 1 else next(iter(databases.values())), **options)
        await window.open()
        config = uvicorn.Config(
            window,
            **https,
            log_level="warning",
            proxy_headers=False,  # the guard decides which proxies to trust
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        for line in told(listening, options, bool(https)):
            tell(line, err=True)
        try:
            await uvicorn.Server(config).serve([listening])
        finally:
            await window.close()


def told(listening: socket.socket, options: Mapping[str, Any], https: bool) -> list[str]:
    """Return the lines to print once the server listens: its address, and who can connect."""
    from duerow.web.security.proxy import is_loopback

    host, port = listening.getsockname()[:2]
    scheme = "https" if https else "http"
    lines = [f"serving {scheme}://{f'[{host}]' if ':' in host else host}:{port}{options['root_path']}/"]
    if options["users"] is None and options["proxy"] is None:
        lines.append("No login is required, so only this machine can connect. Use --users FILE to require a login.")
    elif scheme == "http" and not is_loopback(host):
        lines.append(
            "passwords and tokens cross the network in clear text: put an HTTPS proxy in front, or pass --certificate"
        )
    return lines


def require_packages() -> None:
    """Raise ConfigurationError unless the packages that the dashboard needs are installed."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the dashboard needs the packages {', '.join(missing)}: pip install 'duerow[dashboard]'"
        )


def roles_said(said: list[str] | None) -> dict[str, list[str]]:
    """Return the roles from options, by patterns of queue names; default: viewer of all queues."""
    roles: dict[str, list[str]] = {}
    for one in said or ["viewer"]:
        role, _, pattern = one.partition(":")
        roles.setdefault(pattern or "*", []).append(role)
    return roles


@users.command("add")
def add(name: Name, file: File = Path(FILE), role: Roles = None) -> None:
    """Add an account with a password, or change its password and roles; running dashboards notice it at once."""
    require_packages()
    from duerow.web.security.accounts import Account, hash_password, read_accounts, save_account

    before = read_accounts(file).get(name)
    roles = before.roles if before is not None and not role else roles_said(role)
    password = hash_password(_password())
    save_account(file, name, Account(roles, password, {} if before is None else before.tokens))
    tell(f"{name} may log in: {_roles(roles)} ({file})")


@users.command("token")
def token(
    name: Name,
    file: File = Path(FILE),
    role: Roles = None,
    called: Annotated[str, typer.Option("--name", metavar="TOKEN", help="The token's name.")] = "default",
) -> None:
    """Print a new API token for an account, and create the account if necessary; the token is shown only once."""
    require_packages()
    from duerow.web.security.accounts import Account, digest, new_token, read_accounts, save_account

    before = read_accounts(file).get(name)
    roles = before.roles if before is not None and not role else roles_said(role)
    made = new_token()
    tokens = {**({} if before is None else before.tokens), called: digest(made)}
    save_account(file, name, Account(roles, None if before is None else before.password, tokens))
    print(made)


@users.command("remove")
def remove(
    name: Name,
    file: File = Path(FILE),
    called: Annotated[
        str | None, typer.Option("--token", metavar="TOKEN", help="Remove only this token of the account.")
    ] = None,
) -> None:
    """Remove an account, or one of its tokens; its sessions end at once."""
    require_packages()
    from duerow.web.security.accounts import Account, read_accounts, save_account

    if called is None:
        save_account(file, name, None)
        tell(f"removed {name}")
        return
    before = read_accounts(file).get(name)
    if before is None or called not in before.tokens:
        raise ConfigurationError(f"{str(file)!r} has no account {shown(name)} with a token {shown(called)}")
    tokens = {one: kept for one, kept in before.tokens.items() if one != called}
    save_account(file, name, Account(before.roles, before.password, tokens))
    tell(f"removed the token {called} of {name}")


@users.command("list")
def list_users(file: File = Path(FILE), as_json: AsJson = False) -> None:
    """List the accounts with their roles."""
    require_packages()
    from duerow.web.security.accounts import AccountsFile

    found = AccountsFile(file).all()
    if as_json:
        print_json(
            [
                {"name": name, "roles": one.roles, "password": one.password is not None, "tokens": sorted(one.tokens)}
                for name, one in found.items()
            ]
        )
        return
    rows = [
        (name, _roles(one.roles), "yes" if one.password else "no", " ".join(sorted(one.tokens)))
        for name, one in found.items()
    ]
    print_table(("name", "roles", "password", "tokens"), rows)


def _roles(roles: Any) -> str:
    from duerow.web.security.viewer import roles_of

    return " ".join(
        role if pattern == "*" else f"{role}:{pattern}" for pattern, many in roles_of(roles).items() for role in many
    )


def _password() -> str:
    """Return the password from the environment, from a prompt on a terminal, or from standard input."""
    if said := os.environ.get(PASSWORD):
        return said
    if is_terminal() and sys.stdin.isatty():
        return str(typer.prompt("password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\n")
