"""Writing and reading the payloads of a queue: by its declared type, and encrypted if there are keys."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import UNSET, UnsetType

from duerow.errors import CodecError, ConfigurationError, KeyMissing
from duerow.errors import shown as briefly
from duerow.message import Failure, Scalar
from duerow.payload import codec, types
from duerow.payload.codec import BYTES, JSON, MAX_PAYLOAD_BYTES, SEAL, SEALED, UNREADABLE, Encoded
from duerow.payload.dead_letter_headers import ERROR, Home, home
from duerow.payload.types import PayloadTypes
from duerow.settlement import MAX_TRACEBACK, failure, outline

T = TypeVar("T")

LONGEST_CLEAR: Final = 120
"""Text that tells messages apart is kept as it is up to this many characters; longer text is kept as a digest."""

SETS: Final = "/sets"
"""The suffix that, after the name of a join, makes the name of the queue that holds its sets. The sets' messages are
duerow's own, in clear text; the parts in them are encrypted."""

BATCHES: Final = "/batches"
"""The suffix that, after a table station's name, names the queue of the batches that the table does not have yet."""


ANY_KIND: Final = "*"
"""The kind named by a consumer that takes payloads of all kinds because it does not read them."""

LOG: Final = "Log"
"""The type under which the log of a successful attempt is stored in the place of history's error."""


_SEAL_NAME: Final = f'"{SEAL}"'


class Stored(Protocol):
    """A message, or one of its turns, as a store keeps it."""

    @property
    def queue(self) -> str:
        """The queue that it is in."""
        ...

    @property
    def key(self) -> str | None:
        """Its key there."""
        ...

    @property
    def headers(self) -> str | Mapping[str, Scalar] | None:
        """Its headers, or their text."""
        ...

    @property
    def kind(self) -> str:
        """The kind of its payload."""
        ...

    @property
    def payload(self) -> str:
        """The text of its payload."""
        ...


class StoredPayload(NamedTuple):
    """A payload that is not stored as a separate message, and where it belongs."""

    queue: str
    key: str | None
    headers: str | Mapping[str, Scalar] | None
    kind: str
    payload: str


class PayloadReader(Protocol):
    """Converts stored data to what a user sees."""

    def decode(self, stored: Stored, /) -> Any:
        """Return the payload; raise CodecError if it cannot be read, KeyMissing if only a key is missing."""
        ...

    def failure(self, text: str | None, headers: Mapping[str, Scalar] = ..., /) -> Failure | None:
        """Return why a message failed, as far as that can be read."""
        ...


@runtime_checkable
class Cipher(Protocol):
    """Encrypts and decrypts encoded payloads: see `duerow.encryption`."""

    refuse_clear_text: bool
    """Whether payloads that are not encrypted are refused."""

    clear_errors: bool
    """Whether the messages of errors are kept and logged in clear text."""

    def seal(self, home: Home, encoded: Encoded) -> Encoded:
        """Return a payload encrypted for a message; an encrypted payload is returned unchanged."""
        ...

    def open(self, home: Home, kind: str, text: str) -> Encoded:
        """Return an encrypted payload decrypted; raise CodecError, or KeyMissing if only a key is missing."""
        ...

    def hide(self, text: str) -> str:
        """Return text that may quote payloads, encrypted, as JSON that names the key in the same way as payloads do."""
        ...

    def reveal(self, hidden: str) -> str:
        """Return the text that was passed to `hide`; raise CodecError, or KeyMissing if only a key is missing."""
        ...


class Payloads:
    """The payloads of one queue, and what errors and logs may say about them.

    Args:
        queue: the queue's name.
        declared: the queue's declared type or types, if there are any.
        sealing: encrypts the payloads of the database; None: they are not encrypted.

    Attributes:
        seals: whether payloads are encrypted, so that each message has a key.
    """

    def __init__(self, queue: str = "", declared: PayloadTypes | None = None, sealing: Cipher | None = None) -> None:
        self._queue, self._declared, self._sealing = queue, declared, sealing
        self.seals = sealing is not None
        self._encode = codec.encode if declared is None else declared.encode
        self._read = codec.decode if declared is None else declared.decode
        self._elsewhere: Payloads | None = None
        self._strict = sealing is not None and sealing.refuse_clear_text and not queue.endswith(SETS)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that a consumer of this queue can read."""
        known = (JSON, BYTES) if self._declared is None else self._declared.kinds
        return known if self._sealing is None else (*known, *(f"{kind}{SEALED}" for kind in known))

    @property
    def quiet(self) -> bool:
        """Whether errors and logs must not quote payloads."""
        return is_quiet(self._sealing)

    @property
    def elsewhere(self) -> Payloads:
        """The payloads of target queues that are known only by name; see `duerow.payload.types.encode`."""
        if self._elsewhere is None:
            self._elsewhere = _Elsewhere(sealing=self._sealing)
        return self._elsewhere

    # Written.

    def encode(self, payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return a payload's kind and text, not encrypted yet; raise CodecError if it would not come back the same."""
        if self._sealing is None:
            return self._encode(payload, max_bytes)
        return self._said_safely(lambda: self._encode(payload, max_bytes))

    def encode_alike(self, payloads: Sequence[Any], max_bytes: int = MAX_PAYLOAD_BYTES) -> tuple[str, list[str]] | None:
        """Return the kind and the texts of payloads, as a store keeps them; None: they must be encoded one by one."""
        if self._sealing is not None or self._declared is not None:
            return None
        return codec.encode_alike(payloads, max_bytes)

    def seal(
        self, encoded: Encoded, queue: str, key: str | None, headers: str | Mapping[str, Scalar] | None
    ) -> Encoded:
        """Return an encoded payload in the form that a message with this queue, key and headers stores."""
        return encoded if self._sealing is None else self._sealing.seal(home(queue, key, headers), encoded)

    def key(self, key: str | None) -> str | None:
        """Return the key for a message; an encrypted payload is bound to its key, so it always gets one."""
        return key if key is not None or self._sealing is None else f"auto:{secrets.token_urlsafe(16)}"

    def moved(self, sealed: Encoded, before: Home, queue: str, key: str | None, headers: str | None) -> Encoded | None:
        """Return an encrypted payload for the place to which its message goes; None if it stays as it is.

        Raises:
            KeyMissing: it must be encrypted again, but the key is missing here.
        """
        after = home(queue, key, headers)
        if after == before:
            return None
        if self._sealing is None:
            raise codec.key_missing(sealed.text)
        return self._sealing.seal(after, self._sealing.open(before, sealed.kind, sealed.text))

    def veiled(self, text: str) -> str:
        """Return text stored next to payloads to tell them apart: a digest if it is long or payloads are encrypted."""
        if self._sealing is None and len(text) <= LONGEST_CLEAR:
            return text
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def patched(self, payload: Any, patch: Any) -> Encoded:
        """Return a payload of this queue with a JSON merge patch applied, for another queue."""
        if self._declared is None:
            return self.elsewhere.encode(codec.merge_patch(payload, patch))
        declared = self._declared
        return self._said_safely(lambda: declared.patched(payload, patch))

    def check_patch(self, patch: Any) -> None:
        """Raise CodecError if a JSON merge patch contains something that no payload can have."""
        self._said_safely(lambda: codec.encode(codec.merge_patch({}, patch)))

    def edited(
        self,
        stored: Stored,
        patch: Any,
        max_bytes: int = MAX_PAYLOAD_BYTES,
        headers: str | Mapping[str, Scalar] | UnsetType | None = UNSET,
    ) -> Encoded:
        """Return a stored payload of this queue with a JSON merge patch applied, of the same kind, ready to store.

        If no type is declared, a payload of any kind is patched as plain JSON.

        Args:
            stored: the message, or turn, as it is now.
            patch: the changes.
            max_bytes: the maximum size of the result.
            headers: the message's headers after the change; UNSET: unchanged.

        Raises:
            CodecError: it cannot be read, or would no longer be of the declared type.
            KeyMissing: the key is missing.
        """
        opened = self.opened(stored)
        after = self._said_safely(lambda: self._edited(opened.kind, opened.text, patch, max_bytes))
        return self.seal(after, stored.queue, stored.key, stored.headers if headers is UNSET else headers)

    def _edited(self, kind: str, text: str, patch: Any, max_bytes: int) -> Encoded:
        if kind in (JSON, BYTES):
            encoded = codec.encode(codec.merge_patch(codec.decode(kind, text), patch), max_bytes)
        else:
            encoded = Encoded(kind, codec.encode(codec.merge_patch(codec.decode(JSON, text), patch), max_bytes).text)
        if self._declared is not None:
            self._declared.decode(encoded.kind, encoded.text)
        return encoded

    # Read.

    def decode(self, stored: Stored, /) -> Any:
        """Return the payload of a message; raise CodecError if it cannot be read, KeyMissing if the key is missing."""
        if self._sealing is None:
            return self._read(stored.kind, stored.payload)
        opened = self.opened(stored)
        return self._said_safely(lambda: self._read(opened.kind, opened.text))

    def opened(self, stored: Stored) -> Encoded:
        """Return the kind and text of a stored payload, decrypted if necessary; raise as `decode` does."""
        if str(stored.kind).endswith(SEALED):
            if self._sealing is None:
                raise codec.key_missing(stored.payload)
            return self._sealing.open(home(stored.queue, stored.key, stored.headers), stored.kind, stored.payload)
        if self._strict:
            raise CodecError("payload is not encrypted, and this consumer refuses clear text", quotes=False)
        if self._sealing is not None and _SEAL_NAME in str(stored.payload):
            self._check_clear(self._sealing, stored)
        return Encoded(stored.kind, stored.payload)

    def _check_clear(self, sealing: Cipher, stored: Stored) -> None:
        """Raise CodecError if a payload was encrypted with one of the keys but its kind says that it is clear text."""
        try:
            sealing.open(home(stored.queue, stored.key, stored.headers), f"{stored.kind}{SEALED}", stored.payload)
        except KeyMissing:
            return  # it looks like an encrypted payload, but names no key that is known here
        except CodecError as error:
            if isinstance(error.__context__, UNREADABLE):
                return  # it looks like one only in part
        raise CodecError(
            f"payload was encrypted, but its message has the kind {briefly(str(stored.kind))}, which is for "
            "clear text: the kind was changed afterward",
            quotes=False,
        )

    # Errors.

    def failure_text(self, error: BaseException | Failure | str | None) -> str | None:
        """Return why an attempt failed, ready to store; if payloads are encrypted, only types and places are clear."""
        described = failure(error)
        if described is None or self._sealing is None or self._sealing.clear_errors:
            return None if described is None else codec.encode_failure(described)
        hidden = self._sealing.hide(codec.encode_failure(described))
        return codec.encode_failure(self.said(error), hidden)

    def log_text(self, log: str | None) -> str | None:
        """Return a handler's log, ready to store in the place of history's error."""
        return None if log is None else self.failure_text(Failure(LOG, "", log[-MAX_TRACEBACK:]))

    def hidden_reason(self, error: BaseException | Failure | str | None) -> str | None:
        """Return the reason why a message is buried, encrypted, for its dead letter; None: it is in clear text."""
        described = failure(error)
        if described is None or self._sealing is None or self._sealing.clear_errors:
            return None
        return self._sealing.hide(codec.encode_failure(msgspec.structs.replace(described, traceback=None)))

    def said(self, error: BaseException | Failure | str | None) -> Failure:
        """Return the part of an error that anyone may read."""
        return shown_failure(error, self.quiet)

    def failure(self, text: str | None, headers: Mapping[str, Scalar] = {}, /) -> Failure | None:
        """Return why a message failed, decrypted if the key is available; for a dead letter, why it failed for good."""
        shown = codec.decode_failure(text)
        hidden = codec.hidden_failure(text) if shown is not None else headers.get(ERROR)
        if self._sealing is None or not isinstance(hidden, str):
            return shown
        try:
            return codec.decode_failure(self._sealing.reveal(hidden))
        except CodecError:
            return shown

    def _said_safely(self, work: Callable[[], T]) -> T:
        """Do some work; if payloads are encrypted, raise its errors without quoting them."""
        try:
            return work()
        except CodecError as error:
            problem = error
            if not self.quiet or not error.quotes or isinstance(error, KeyMissing):
                raise
        # Raised outside the `except` block, so that the new error does not carry the old one as its context.
        kind = "" if self._declared is None else f" of type {self._declared.kind}"
        where = f" of queue {self._queue!r}" if self._queue else ""
        raise CodecError(
            f"a payload{kind}{where} cannot be encoded. Payloads are encrypted here, and a precise error could "
            "reveal this one: see the error's `detail`, or allow clear errors with Encryption(…, clear_errors=True)",
            quotes=False,
            detail=str(problem),
        )


class _Elsewhere(Payloads):
    """Payloads for queues that are known only by name."""

    def __init__(self, sealing: Cipher | None) -> None:
        super().__init__(sealing=sealing)
        self._encode = types.encode


class AnyKind(Payloads):
    """The payloads of a queue for programs that know no types: values of declared types are plain JSON."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind."""
        return (ANY_KIND,)

    def decode(self, stored: Stored, /) -> Any:
        """Return the payload of a message; raise as `Payloads.decode` does."""
        opened = self.opened(stored)
        kind = opened.kind if opened.kind in (JSON, BYTES) else JSON
        return self._said_safely(lambda: codec.decode(kind, opened.text))


class _AsStored(Payloads):
    """Leaves payloads as they are, for code that passes messages on unread."""

    def decode(self, stored: Stored, /) -> Encoded:
        """Return a payload as it is stored."""
        return Encoded(stored.kind, stored.payload)


class PassedOn(Payloads):
    """The payloads of a queue whose consumer passes on messages of every kind unread."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind."""
        return (ANY_KIND,)

    def decode(self, stored: Stored, /) -> Encoded:
        """Return a payload as it is stored."""
        return Encoded(stored.kind, stored.payload)


class _Unread(Payloads):
    """Drops payloads, for turns that end without reading them."""

    def decode(self, stored: Stored, /) -> None:
        """Decode nothing."""


PLAIN: Final = Payloads()
"""JSON and bytes, in clear text."""

AS_STORED: Final = _AsStored()
"""Payloads as they are stored, neither decrypted nor decoded."""


UNREAD: Final = _Unread()
"""No payloads at all."""


def sealed_of(stored: Stored) -> Encoded | None:
    """Return a payload as it is stored if it is encrypted, else None."""
    return Encoded(stored.kind, stored.payload) if str(stored.kind).endswith(SEALED) else None


def is_quiet(sealing: Cipher | None) -> bool:
    """Return whether errors and logs must not quote payloads."""
    return sealing is not None and not sealing.clear_errors


def shown_failure(error: BaseException | Failure | str | None, quiet: bool) -> Failure:
    """Return what may be shown of an error: only its types and where it was raised if payloads must not be quoted."""
    described = outline(error) if quiet else failure(error)
    return Failure("Error", "no reason given") if described is None else described


def check_sealing(sealing: object) -> Cipher | None:
    """Return the object that encrypts payloads, or None; raise ConfigurationError if it cannot encrypt."""
    if sealing is None or isinstance(sealing, Cipher):
        return sealing
    raise ConfigurationError(
        f"encryption takes an Encryption with keys, not {type(sealing).__name__}: write encryption=Encryption([key])"
    )
