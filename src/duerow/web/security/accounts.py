"""Accounts with passwords and API tokens, kept in a file or given in code."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from duerow.errors import ConfigurationError, shown
from duerow.web.security.viewer import Roles, roles_of

SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 1_024
"""The longest password that is hashed, so that hashing cannot be used to keep the server busy."""

TOKEN: Final = "duerow_"  # noqa: S105 - the beginning of all tokens
"""The prefix of tokens, so that tools can find leaked ones."""

_HASHER: Final = PasswordHasher()
"""Hashes passwords, and checks them, at the cost that `argon2` recommends."""


def _of_nobody() -> str:
    """Return random text that looks like the hash of a password; computing a real hash would take too long."""
    cost = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    salt, made = (b64encode(secrets.token_bytes(size)).rstrip(b"=") for size in (_HASHER.salt_len, _HASHER.hash_len))
    return f"$argon2id$v=19${cost}${salt.decode()}${made.decode()}"


_NOBODY: Final = _of_nobody()
"""A password hash for accounts that do not exist: checking it takes as long as checking a real one."""


class Account(msgspec.Struct, frozen=True):
    """A person or a program that may use the web application.

    Attributes:
        roles: a role, several, or a mapping of patterns of queue names to either; see `roles_of`.
        password: the hash of its password, from `hash_password`; None: it has no password.
        tokens: the digests of its API tokens, from `digest`, by name.
    """

    roles: Any = "viewer"
    password: str | None = None
    tokens: Mapping[str, str] = {}

    @property
    def mark(self) -> str:
        """A short digest that changes with the password, so that a new password ends all sessions."""
        return hashlib.sha256((self.password or "").encode()).hexdigest()[:16]


class _File(msgspec.Struct):
    secret: str
    accounts: dict[str, Account] = {}


class Accounts:
    """Accounts given in code.

    Args:
        accounts: each account by its name.
        secret: signs sessions; None: a new one at each start, so that everybody has to log in again.

    Raises:
        ConfigurationError: a role or a hash is invalid.
    """

    def __init__(self, accounts: Mapping[str, Account], secret: str | None = None) -> None:
        self._accounts = dict(accounts)
        self._secret = secret
        self._roles = {name: _checked(name, account) for name, account in accounts.items()}
        # Hashing is slow and takes memory by design: a flood of logins must not use up all memory.
        self._hashing = asyncio.Semaphore(2)

    @property
    def secret(self) -> str | None:
        """The secret that signs sessions, if the accounts define one."""
        self.refresh()
        return self._secret

    @property
    def have_passwords(self) -> bool:
        """Whether any account has a password."""
        self.refresh()
        return any(account.password is not None for account in self._accounts.values())

    def refresh(self) -> None:
        """Read the accounts again if they have changed; accounts given in code never do."""

    def get(self, name: str) -> Account | None:
        """Return the account with this name; None if there is none."""
        self.refresh()
        return self._accounts.get(name)

    def all(self) -> dict[str, Account]:
        """Return all accounts by name."""
        self.refresh()
        return dict(self._accounts)

    def roles(self, name: str) -> Roles:
        """Return the roles of the account with this name."""
        return self._roles[name]

    def of_token(self, token: str) -> str | None:
        """Return the name of the account with this token; None if there is none."""
        self.refresh()
        wanted, found = digest(token), None
        for name, account in self._accounts.items():
            for one in account.tokens.values():
                if hmac.compare_digest(one, wanted):
                    found = name
        return found

    async def verify(self, name: str, password: str) -> bool:
        """Return whether this is the password of the account; takes equally long if there is no such account."""
        account = self.get(name)
        known = account is not None and account.password is not None
        kept = account.password if account is not None and account.password is not None else _NOBODY
        if len(password) > LONGEST_PASSWORD:
            return False
        async with self._hashing:
            return await asyncio.to_thread(_verify, kept, password) and known


class AccountsFile(Accounts):
    """Accounts in a file that `duerow dashboard user add` writes; changes to it take effect at once.

    Raises:
        ConfigurationError: the file cannot be read, or users other than its owner can change it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._seen: tuple[int, ...] | None = None
        super().__init__({})
        self.refresh()

    def refresh(self) -> None:
        """Read the file again if it has changed."""
        try:
            found = self.path.stat()
        except OSError as error:
            raise ConfigurationError(f"the accounts file {str(self.path)!r} cannot be read: {error}") from error
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen == self._seen:
            return
        kept = _read(self.path, found)
        roles = {name: _checked(name, account) for name, account in kept.accounts.items()}
        self._accounts, self._secret, self._roles, self._seen = kept.accounts, kept.secret, roles, seen


def hash_password(password: str) -> str:
    """Return the argon2 hash of a password; raise ConfigurationError if it is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ConfigurationError(f"a password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    return _HASHER.hash(password)


def new_token() -> str:
    """Return a new API token; only its digest is kept."""
    return f"{TOKEN}{secrets.token_urlsafe(32)}"


def digest(token: str) -> str:
    """Return the digest of an API token; a fast hash is enough, because a random token cannot be guessed."""
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def read_accounts(path: str | os.PathLike[str]) -> dict[str, Account]:
    """Return the accounts in a file; none if the file does not exist yet."""
    return AccountsFile(path).all() if Path(path).exists() else {}


def save_account(path: str | os.PathLike[str], name: str, account: Account | None) -> None:
    """Write an account to a file, creating the file if necessary; None removes the account.

    Raises:
        ConfigurationError: the file cannot be read or written, a role is invalid, or the account to remove does not
            exist.
    """
    file = Path(path)
    kept = _read(file, file.stat()) if file.exists() else _File(secrets.token_urlsafe(32))
    if account is None:
        if kept.accounts.pop(name, None) is None:
            raise ConfigurationError(f"{str(file)!r} has no account {shown(name)}")
    else:
        _checked(name, account)
        kept.accounts[name] = account
    _write(file, kept)


def _verify(kept: str, password: str) -> bool:
    try:
        return _HASHER.verify(kept, password)
    except (VerificationError, InvalidHashError):
        return False


def _checked(name: str, account: Account) -> Roles:
    if not name or not name.isprintable() or len(name) > 100:
        raise ConfigurationError(f"an account cannot be called {shown(name)}: use 1 to 100 printable characters")
    if account.password is not None and not account.password.startswith("$argon2"):
        raise ConfigurationError(f"the password of account {name!r} is not a hash made by hash_password()")
    return roles_of(account.roles)


def _read(path: Path, found: os.stat_result) -> _File:
    if stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH | stat.S_IROTH):
        raise ConfigurationError(
            f"the accounts file {str(path)!r} can be read by everybody, or changed by others; run chmod 600 on it"
        )
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigurationError(f"the accounts file {str(path)!r} cannot be read: {error}") from error


def _write(path: Path, kept: _File) -> None:
    """Replace the whole file; only its owner can read it."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(kept)))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ConfigurationError(f"the accounts file {str(path)!r} cannot be written: {error}") from error
