"""Payloads encrypted by this process, so that whoever reads the database, its backups or its logs cannot read them.

    db = duerow.connect(url, encryption=Encryption([key]))

All that the handle writes is encrypted, wherever it goes: pushes, moves, drafts. Keys, headers, kinds and errors stay
readable, and so do the payload's fields that are named for it. Uses Fernet of the library `cryptography` (AES-128 in
CBC mode with HMAC-SHA256): `pip install 'duerow[encryption]'`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from duerow.codec import SEAL, SEALED, UNREADABLE, Encoded, key_missing
from duerow.errors import CodecError, ConfigurationError
from duerow.message import check_queue_name

try:
    from cryptography.fernet import Fernet, InvalidToken
except ModuleNotFoundError as missing:
    raise ConfigurationError("encryption needs the library cryptography: pip install 'duerow[encryption]'") from missing

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode

_ABSENT: Final = object()


class _Seal(msgspec.Struct, frozen=True, gc=False):
    """What stands under `SEAL`: the name of the key, and the token that was made with it."""

    key: str
    text: str


class _Sealed(msgspec.Struct, frozen=True, gc=False):
    """The part of an encrypted payload that is needed to decrypt it."""

    encrypted: _Seal


_decode_sealed = msgspec.json.Decoder(_Sealed).decode


class Encryption:
    """Encrypts payloads with the first of its keys, and decrypts what any of them has encrypted.

    To replace a key, give the new one to every process as the last, then as the first, and drop the old one when no
    message of it is left. A message whose key a process was not given is neither handed out there nor buried: see
    `duerow.errors.KeyMissing`.

    Args:
        keys: made by `new_key`; kept where secrets are kept.
        readable: fields of payloads that stay readable beside what is encrypted, by queue, such as
            `{"orders": ["companyId", "customer.country"]}`. They can be searched for, and anyone who can read the
            database can read them. They are protected against change, as all of the payload is.

    Raises:
        ConfigurationError: there is no key, one is none, or a readable field cannot be one.
    """

    def __init__(self, keys: Iterable[str | bytes], *, readable: Mapping[str, Iterable[str]] | None = None) -> None:
        if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
            raise ConfigurationError("encryption takes a list of keys: write Encryption([key])")
        if readable is not None and not isinstance(readable, Mapping):
            raise ConfigurationError(
                f'readable takes queues and their fields, such as {{"orders": ["companyId"]}}, not {readable!r:.80}'
            )
        self._keys = [_key(key) for key in keys]
        if not self._keys:
            raise ConfigurationError("encryption needs at least one key, such as Encryption.new_key() makes")
        self._readable = {check_queue_name(queue): _paths(queue, fields) for queue, fields in (readable or {}).items()}
        self._locks = {key_id(key): Fernet(key) for key in self._keys}
        self._first = key_id(self._keys[0])

    def __repr__(self) -> str:
        return f"<Encryption with keys {', '.join(self._locks)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to other processes of a pipeline, with the keys."""
        readable = {queue: [".".join(path) for path in paths] for queue, paths in self._readable.items()}
        return _made, (self._keys, readable)

    @staticmethod
    def new_key() -> str:
        """Return a new random key, as text."""
        return Fernet.generate_key().decode()

    def seal(self, queue: str, encoded: Encoded) -> Encoded:
        """Return a payload encrypted for a queue; what is encrypted already is returned as it is."""
        if encoded.kind.endswith(SEALED):
            return encoded
        token = self._locks[self._first].encrypt(f"{encoded.kind}\n{encoded.text}".encode())
        clear = self._clear(queue, encoded.text)
        text = _encode({**clear, SEAL: _Seal(self._first, token.decode())}).decode()
        return Encoded(encoded.kind + SEALED, text)

    def open(self, kind: str, text: str) -> Encoded:
        """Return an encrypted payload as it was before.

        Raises:
            KeyMissing: it was encrypted with a key that is none of these.
            CodecError: it, its kind or its readable fields are not as they were written.
        """
        try:
            seal = _decode_sealed(text).encrypted
        except UNREADABLE as error:
            raise CodecError(f"payload is called encrypted, but is not: {error}") from error
        lock = self._locks.get(seal.key)
        if lock is None:
            raise key_missing(text)
        try:
            said, _, opened = lock.decrypt(seal.text.encode()).decode().partition("\n")
        except InvalidToken as error:
            raise CodecError(f"payload was changed since it was encrypted with key {seal.key}") from error
        if said + SEALED != kind:
            raise CodecError(f"payload was encrypted as one of kind {said!r}, and is now called {kind!r}")
        clear = {name: value for name, value in _decode(text).items() if name != SEAL}
        if clear and not _holds(_decode(opened), clear):
            raise CodecError("the readable fields of the payload were changed since it was encrypted")
        return Encoded(said, opened)

    def _clear(self, queue: str, text: str) -> dict[str, Any]:
        """Return the payload's fields that stay readable, each in its place."""
        clear: dict[str, Any] = {}
        paths = self._readable.get(queue, ())
        payload = _decode(text) if paths else None
        for path in paths:
            value = _at(payload, path)
            if value is not _ABSENT:
                _put(clear, path, value)
        return clear


def key_id(key: str | bytes) -> str:
    """Return the name of a key that stands with each payload which it encrypted; it tells nothing of the key."""
    return hashlib.sha256(b"duerow key " + _key(key)).hexdigest()[:16]


def _made(keys: list[bytes], readable: dict[str, list[str]]) -> Encryption:
    return Encryption(keys, readable=readable)


def _key(key: str | bytes) -> bytes:
    """Return a key as Fernet takes it; the error does not show it."""
    try:
        raw = key.encode() if isinstance(key, str) else key
        Fernet(raw)
    except (ValueError, TypeError, AttributeError):
        raise ConfigurationError(
            "a key for encryption is 32 random bytes in URL-safe base64, such as Encryption.new_key() makes"
        ) from None
    return raw


def _paths(queue: str, fields: Iterable[str]) -> list[tuple[str, ...]]:
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise ConfigurationError(f"readable fields of queue {queue!r} are a list: write [{fields!r:.80}]")
    paths = []
    for field in list[object](fields):
        path = tuple(field.split(".")) if isinstance(field, str) else ()
        if not path or not all(path) or path[0] == SEAL:
            raise ConfigurationError(
                f"a readable field of queue {queue!r} is a name or names joined by dots, and not {SEAL!r} itself; "
                f"{field!r:.80} is none"
            )
        paths.append(path)
    return paths


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _put(clear: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        clear = clear.setdefault(name, {})
    clear[path[-1]] = value


def _holds(whole: Any, part: Any) -> bool:
    """Return whether all of a part stands in the whole: objects member by member, anything else as it is."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _holds(whole[name], member) for name, member in part.items())
    return type(whole) is type(part) and bool(whole == part)
