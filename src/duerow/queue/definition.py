"""Definitions of queues: declared by a handle in Python, stored in the database, and compared with each other.

A declaration in Python applies to its handle. The stored definition applies to everything without its own declaration:
the command line, and all other code that opens a queue by name alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from duerow.conditions.fields import Path
from duerow.errors import ConfigurationError, shown
from duerow.payload.codec import JSON, MAX_PAYLOAD_BYTES, Encoded
from duerow.payload.dead_letter_headers import Home
from duerow.payload.encoding import Cipher
from duerow.queue.retry_json import PolicyValue, as_policy, as_value, limit_of
from duerow.retry import DEFAULT, DEFAULT_DELAYS, RetryPolicy, limited
from duerow.store import Indexed, IndexKind

LOG: Final = logging.getLogger("duerow.queue")

KINDS: Final[dict[type, IndexKind]] = {int: "integer", float: "float", str: "text", bool: "boolean"}
"""The types of payload fields that can be indexed, and their names in the database."""

MOST_INDEXED: Final = 16
"""How many fields of a queue may be indexed: every push writes to each of their indexes."""

LONGEST_FIELD: Final = 200

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """The definition of a queue.

    Attributes:
        lease: how long a reservation lasts.
        retry: the retry policy, as a value; its text is its form in Python.
        dead_letter: the queue that receives messages that have failed for good; None: they stay, with the status dead.
        max_payload_bytes: the maximum size of an encoded payload.
        history: how long turns are kept after they end; None: they are not kept.
        remember_keys: how long the keys of messages that have left the queue are remembered; None: they are not
            remembered.
        indexed: the payload fields that have an index: `integer`, `float`, `text` or `boolean`, by path.
    """

    lease: timedelta = timedelta(minutes=1)
    retry: PolicyValue = msgspec.field(default_factory=lambda: as_value(DEFAULT))
    dead_letter: str | None = None
    max_payload_bytes: int = MAX_PAYLOAD_BYTES
    history: timedelta | None = None
    remember_keys: timedelta | None = None
    indexed: dict[str, IndexKind] = msgspec.field(default_factory=dict)

    @property
    def limit(self) -> int | None:
        """The total number of attempts a message gets; None: no limit."""
        return limit_of(self.retry)


class Difference(msgspec.Struct, frozen=True):
    """One field for which the database and a handle have different values.

    Attributes:
        name: the field of `Definition`.
        stored: the value in the database.
        declared: the value of the handle.
    """

    name: str
    stored: Any
    declared: Any

    def __str__(self) -> str:
        return f"{self.name}: stored {_shown(self.stored)}, declared {_shown(self.declared)}"


class Defined(msgspec.Struct, frozen=True):
    """A queue as the database knows it.

    Attributes:
        name: the queue's name.
        definition: its stored definition; None: it was never declared.
        paused: whether it hands nothing out.
        draining: whether it accepts no new messages.
    """

    name: str
    definition: Definition | None
    paused: bool
    draining: bool


class Declaration(msgspec.Struct, frozen=True):
    """What `declare` did, or would do in a dry run; true if there was anything to do.

    Attributes:
        queue: the queue's name.
        stored: the definition that the database had before; None: it had none.
        declared: the handle's definition, which the database now has too.
        created: the indexes that were created.
        dropped: the indexes that were dropped.
    """

    queue: str
    stored: Definition | None
    declared: Definition
    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def differences(self) -> list[Difference]:
        """The fields that were different in the database; empty if it had no definition."""
        return [] if self.stored is None else differences(self.stored, self.declared)

    def __bool__(self) -> bool:
        return self.stored != self.declared or bool(self.created or self.dropped)


def differences(stored: Definition, declared: Definition) -> list[Difference]:
    """Return the differences between two definitions, in the order of their fields."""
    return [
        Difference(name, ours, theirs)
        for name in Definition.__struct_fields__
        if (ours := getattr(stored, name)) != (theirs := getattr(declared, name))
    ]


def encoded(definition: Definition) -> str:
    """Return a definition as JSON text."""
    return _encode(definition).decode()


def decoded(queue: str, text: str | None) -> Definition | None:
    """Return the definition of a queue from its stored JSON text; None for None.

    Raises:
        ConfigurationError: it was written by a version whose format this one does not understand.
    """
    if text is None:
        return None
    try:
        return _decode(text)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(
            f"the stored definition of queue {queue!r} cannot be read by this version ({error}); declare() replaces it"
        ) from error


def readable(text: str | None) -> Definition | None:
    """Return a definition from its stored JSON text; None if this version cannot read it."""
    try:
        return decoded("", text)
    except ConfigurationError:
        return None


def policy_of(queue: str, definition: Definition) -> RetryPolicy:
    """Return the retry policy of a stored definition; if not available here, the default delays with its limit."""
    policy = as_policy(definition.retry)
    if policy is not None:
        return policy
    LOG.warning(
        "queue %s retries by %s, which only the program that declared it has; this process uses the default delays "
        "with that policy's limit on attempts",
        queue,
        definition.retry,
        extra={"event": "policy-unknown", "queue": queue},
    )
    return DEFAULT_DELAYS if definition.limit is None else limited(definition.limit, DEFAULT_DELAYS)


def check_max_payload_bytes(size: object) -> int:
    """Return the maximum size of a payload; raise ConfigurationError if it is not a number of bytes."""
    if type(size) is not int or size < 1:
        raise ConfigurationError(f"max_payload_bytes must be a number of bytes, at least 1, not {shown(size)}")
    return size


def check_indexed(indexed: Mapping[str, type] | None) -> tuple[Indexed, ...]:
    """Return the payload fields to index, in the order of their names.

    Raises:
        ConfigurationError: a field cannot be indexed, or not with this type.
    """
    if indexed is None:
        return ()
    if not isinstance(indexed, Mapping):
        raise ConfigurationError(
            f'indexed takes fields and their types, such as {{"companyId": int}}, not {shown(indexed)}'
        )
    if len(indexed) > MOST_INDEXED:
        raise ConfigurationError(
            f"{len(indexed)} payload fields are too many to be indexed: each push writes to all of their indexes; "
            f"name at most {MOST_INDEXED}"
        )
    return tuple(sorted((Indexed(_path(field), _kind(field, kind)) for field, kind in indexed.items()), key=_field))


def check_readable(queue: str, indexed: Iterable[Indexed], sealing: Cipher | None) -> None:
    """Raise ConfigurationError if an indexed payload field is encrypted: searching it would find nothing.

    This encrypts a sample payload, since only the encryption object knows which fields stay readable.
    """
    hidden = [index for index in indexed if sealing is not None and not _is_readable(queue, index.path, sealing)]
    if hidden:
        fields = [field_text(index) for index in hidden]
        raise ConfigurationError(
            f"queue {queue!r} cannot have indexes for encrypted payload fields {fields}: keep them readable with "
            f"Encryption(…, readable={{{queue!r}: {fields}}}), or leave them out of indexed="
        )


def _is_readable(queue: str, path: Path, sealing: Cipher) -> bool:
    payload: Any = 1
    for name in reversed(path):
        payload = {name: payload}
    found = msgspec.json.decode(sealing.seal(Home(queue, None), Encoded(JSON, _encode(payload).decode())).text)
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return bool(found == 1)


def indexed_again(indexed: Mapping[str, IndexKind]) -> dict[str, type]:
    """Return the stored names and kinds of indexed fields in the form in which Python declares them."""
    types = {kind: type_ for type_, kind in KINDS.items()}
    return {field: types[kind] for field, kind in indexed.items()}


def field_text(index: Indexed) -> str:
    """Return the field of an index as it is written in `indexed=`."""
    return ".".join(index.path)


def _path(field: object) -> Path:
    names = tuple(field.split(".")) if isinstance(field, str) else ()
    if not names or len(str(field)) > LONGEST_FIELD or not all(map(_PLAIN.fullmatch, names)):
        raise ConfigurationError(
            "an indexed payload field must be a name, or names joined by dots, of ASCII letters, digits, _ and -, with "
            f"at most {LONGEST_FIELD} characters in all, not {shown(field, 120)}"
        )
    return names


def _kind(field: str, kind: object) -> IndexKind:
    for known, name in KINDS.items():
        if kind is known:
            return name
    raise ConfigurationError(f"payload field {field!r} can be indexed as int, float, str or bool, not as {shown(kind)}")


def _field(index: Indexed) -> Path:
    return index.path


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, timedelta | msgspec.Struct) else repr(value)


_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(Definition).decode
