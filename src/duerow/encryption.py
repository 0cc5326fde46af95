"""Encryption of payloads in this process, so that nobody can read them in the database, its backups or its logs.

    db = duerow.connect(url, encryption=Encryption([key]))

Every payload that the handle writes is encrypted, whichever queue it ends up in: pushes, moves, drafts, and the
messages of errors. Keys, headers and kinds stay readable, and so do the payload fields that are listed as readable.
Encryption uses AES-256-GCM from the library `cryptography`, with a separate key for each text: `pip install
'duerow[encryption]'`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from duerow.errors import CodecError, ConfigurationError, shown
from duerow.message import check_queue_name
from duerow.payload.codec import SEAL, SEALED, UNREADABLE, Encoded, key_missing
from duerow.payload.dead_letter_headers import Home

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.fernet import Fernet, InvalidToken
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ModuleNotFoundError as missing:
    raise ConfigurationError(
        "encryption needs the library cryptography; run pip install 'duerow[encryption]'"
    ) from missing

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode

_ABSENT: Final = object()

_FORMAT: Final = 2
"""The format of new texts. Format 1, the default that is not written out, is Fernet and is not bound to a message."""

_SALT_BYTES: Final = 24
"""How many random bytes each text's own key is derived from: enough that no two texts ever share them."""


class _Seal(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The value of the member `SEAL`: the name of the key, the encrypted text, and its format."""

    key: str
    text: str
    v: int = 1


class _Sealed(msgspec.Struct, frozen=True, gc=False):
    """The part of an encrypted payload, or of an error, that is needed to decrypt it."""

    encrypted: _Seal


_decode_sealed = msgspec.json.Decoder(_Sealed).decode


class _Lock:
    """One key."""

    def __init__(self, key: bytes) -> None:
        self.id = key_id(key)
        self._secret = base64.urlsafe_b64decode(key)
        self.fernet = Fernet(key)  # reads texts of format 1

    def shut(self, text: str, bound_to: bytes) -> str:
        """Return the text encrypted; decrypting it requires the same `bound_to`."""
        salt = secrets.token_bytes(_SALT_BYTES)
        key, nonce = self._own_key(salt)
        return base64.urlsafe_b64encode(salt + AESGCM(key).encrypt(nonce, text.encode(), bound_to)).decode()

    def unlocked(self, text: str, bound_to: bytes) -> str:
        """Return the decrypted text; raise CodecError if anything was changed."""
        try:
            raw = base64.b64decode(text, altchars=b"-_", validate=True)
            key, nonce = self._own_key(raw[:_SALT_BYTES])
            return AESGCM(key).decrypt(nonce, raw[_SALT_BYTES:], bound_to).decode()
        except (InvalidTag, binascii.Error, ValueError):
            raise CodecError(
                f"the payload does not match what was encrypted for this message with key {self.id}. Its text, its "
                "readable fields, or the message's kind, key or queue was changed, or it belongs to another message",
                quotes=False,
            ) from None

    def _own_key(self, salt: bytes) -> tuple[bytes, bytes]:
        """Return a text's own key and nonce: random nonces under one key might repeat after 2**32 texts."""
        made = hmac.digest(self._secret, b"duerow payload 2" + salt, "sha512")
        return made[:32], made[32:44]


class Encryption:
    """Encrypts payloads with the first of its keys, and decrypts payloads that were encrypted with any of them.

    To replace a key, first give the new key to every process as the last one, then as the first one, and drop the old
    key when no message uses it any more. A process that lacks a message's key neither hands the message out nor buries
    it: see `duerow.errors.KeyMissing`.

    Args:
        keys: made by `new_key`; keep them where you keep secrets.
        readable: payload fields that stay readable next to the encrypted text, by queue, such as
            `{"orders": ["companyId", "customer.country"]}`. They can be searched, and anyone who can read the database
            can read them. Like the rest of the payload, they are protected against changes.
        refuse_clear_text: whether messages that are not encrypted are buried instead of handed out. Set it when all
            messages from the time before encryption are gone.
        clear_errors: whether the messages and tracebacks of errors are kept and logged in clear text. Errors raised by
            handlers and by type validation often quote the payload.

    Raises:
        ConfigurationError: there is no key, a key is invalid, or a field cannot be made readable.
    """

    def __init__(
        self,
        keys: Iterable[str | bytes],
        *,
        readable: Mapping[str, Iterable[str]] | None = None,
        refuse_clear_text: bool = False,
        clear_errors: bool = False,
    ) -> None:
        if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
            raise ConfigurationError("encryption takes a list of keys; write Encryption([key])")
        if readable is not None and not isinstance(readable, Mapping):
            raise ConfigurationError(
                f'readable takes queues and their fields, such as {{"orders": ["companyId"]}}, not {shown(readable)}'
            )
        for name, value in (("refuse_clear_text", refuse_clear_text), ("clear_errors", clear_errors)):
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} is True or False, not {shown(value)}")
        self._keys = [_key(key) for key in keys]
        if not self._keys:
            raise ConfigurationError("encryption needs at least one key, such as one from Encryption.new_key()")
        self._readable = {check_queue_name(queue): _paths(queue, fields) for queue, fields in (readable or {}).items()}
        self._locks = {lock.id: lock for lock in map(_Lock, self._keys)}
        self._first = self._locks[key_id(self._keys[0])]
        self.refuse_clear_text, self.clear_errors = refuse_clear_text, clear_errors

    def __repr__(self) -> str:
        return f"<Encryption with keys {', '.join(self._locks)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the keys, for other processes of a pipeline."""
        readable = {queue: [".".join(path) for path in paths] for queue, paths in self._readable.items()}
        return _made, (self._keys, readable, self.refuse_clear_text, self.clear_errors)

    @staticmethod
    def new_key() -> str:
        """Return a new random key, as text."""
        return Fernet.generate_key().decode()

    def seal(self, home: Home, encoded: Encoded) -> Encoded:
        """Return a payload encrypted for a message; an encrypted payload is returned unchanged.

        Args:
            home: the message's queue and key, to which the payload is bound.
            encoded: the payload's kind and text.
        """
        if encoded.kind.endswith(SEALED):
            return encoded
        clear = self._clear(home.queue, encoded.text)
        kind = encoded.kind + SEALED
        text = self._first.shut(encoded.text, _bound_to(self._first.id, home, kind, clear))
        return Encoded(kind, _encode({**clear, SEAL: _Seal(self._first.id, text, _FORMAT)}).decode())

    def open(self, home: Home, kind: str, text: str) -> Encoded:
        """Return an encrypted payload decrypted.

        Args:
            home: the queue and the key of the message that holds it.
            kind: its kind there.
            text: its text there.

        Raises:
            KeyMissing: it was encrypted with a key that this object does not have.
            CodecError: it, its kind or its readable fields were changed, or it belongs to another message.
        """
        try:
            seal = _decode_sealed(text).encrypted
        except UNREADABLE:
            raise CodecError("payload is marked as encrypted, but is not", quotes=False) from None
        lock = self._locks.get(seal.key)
        if lock is None:
            raise key_missing(text)
        clear = {name: value for name, value in _decode(text).items() if name != SEAL}
        if _encode({**clear, SEAL: seal}).decode() != text:
            # If a member occurs twice, a parser may see one value and a database the other.
            raise CodecError(
                "the readable fields of the payload have been changed since it was encrypted", quotes=False
            )
        if seal.v == 1:
            return _opened_as_once(lock, seal.text, kind, clear)
        return Encoded(kind.removesuffix(SEALED), lock.unlocked(seal.text, _bound_to(lock.id, home, kind, clear)))

    def hide(self, text: str) -> str:
        """Return text that may quote payloads, such as an error's, encrypted as the JSON of a member `SEAL`."""
        return _encode(_Seal(self._first.id, self._first.shut(text, _BESIDE), _FORMAT)).decode()

    def reveal(self, hidden: str) -> str:
        """Return the text that was passed to `hide`.

        Raises:
            CodecError: it was not encrypted by `hide`, or was changed since.
            KeyMissing: the key is missing.
        """
        try:
            seal = msgspec.json.decode(hidden, type=_Seal)
        except msgspec.DecodeError:
            raise CodecError("an error is marked as encrypted, but is not", quotes=False) from None
        lock = self._locks.get(seal.key)
        if lock is None:
            raise key_missing(f'{{"{SEAL}":{hidden}}}')
        return lock.unlocked(seal.text, _BESIDE)

    def _clear(self, queue: str, text: str) -> dict[str, Any]:
        """Return the payload fields that stay readable, each in its place."""
        clear: dict[str, Any] = {}
        paths = self._readable.get(queue, ())
        payload = _decode(text) if paths else None
        for path in paths:
            value = _at(payload, path)
            if value is not _ABSENT:
                _put(clear, path, value)
        return clear


def key_id(key: str | bytes) -> str:
    """Return the name of a key, which is stored with each payload that it encrypts and reveals nothing about it."""
    return hashlib.sha256(b"duerow key " + _key(key)).hexdigest()[:16]


_BESIDE: Final = b"duerow failure"
"""What texts stored next to a payload are bound to."""


def _bound_to(key: str, home: Home, kind: str, clear: Mapping[str, Any]) -> bytes:
    """Return what a payload is bound to: if any part of it changes, the payload cannot be decrypted."""
    return _encode(["duerow", _FORMAT, key, home.queue, home.key, kind, clear])


def _opened_as_once(lock: _Lock, token: str, kind: str, clear: Mapping[str, Any]) -> Encoded:
    """Return a payload that was encrypted in format 1, decrypted."""
    try:
        said, _, opened = lock.fernet.decrypt(token.encode()).decode().partition("\n")
    except InvalidToken:
        raise CodecError(f"payload has been changed since it was encrypted with key {lock.id}", quotes=False) from None
    if said + SEALED != kind:
        raise CodecError(f"payload was encrypted with the kind {said!r}, but its kind is now {kind!r}", quotes=False)
    if clear and not _holds(_decode(opened), clear):
        raise CodecError("the readable fields of the payload have been changed since it was encrypted", quotes=False)
    return Encoded(said, opened)


def _made(
    keys: list[bytes], readable: dict[str, list[str]], refuse_clear_text: bool = False, clear_errors: bool = False
) -> Encryption:
    return Encryption(keys, readable=readable, refuse_clear_text=refuse_clear_text, clear_errors=clear_errors)


def _key(key: str | bytes) -> bytes:
    """Return a key in the form that Fernet takes; the error does not show it."""
    try:
        raw = key.encode() if isinstance(key, str) else key
        Fernet(raw)
    except (ValueError, TypeError, AttributeError):
        raise ConfigurationError(
            "an encryption key must be 32 random bytes in URL-safe base64, as returned by Encryption.new_key()"
        ) from None
    return raw


def _paths(queue: str, fields: Iterable[str]) -> list[tuple[str, ...]]:
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise ConfigurationError(f"the readable fields of queue {queue!r} must be a list: write [{shown(fields)}]")
    paths = []
    for field in list[object](fields):
        path = tuple(field.split(".")) if isinstance(field, str) else ()
        if not path or not all(path) or path[0] == SEAL:
            raise ConfigurationError(
                f"a readable field of queue {queue!r} must be a name or names joined by dots, other than {SEAL!r}, not "
                f"{shown(field)}"
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
    """Return whether the whole contains the part: objects are compared member by member, other values as a whole."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _holds(whole[name], member) for name, member in part.items())
    return type(whole) is type(part) and bool(whole == part)
