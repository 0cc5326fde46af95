"""How the payloads of a queue are written and read: by its declared type, and encrypted where there are keys."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import UNSET, UnsetType

from duerow.errors import CodecError, ConfigurationError, KeyMissing
from duerow.message import Failure, Scalar
from duerow.payload import codec, types
from duerow.payload.codec import BYTES, JSON, MAX_PAYLOAD_BYTES, SEALED, Encoded
from duerow.payload.dead_letter_headers import ERROR, Home, home
from duerow.payload.types import Declared
from duerow.settlement import failure, outline

T = TypeVar("T")

LONGEST_CLEAR: Final = 120
"""Characters of text that is kept as it is to tell messages apart; of longer text a digest is kept."""

SETS: Final = "/sets"
"""How the name of a queue ends where the sets of a join stand, after the name of the join. Their messages are
duerow's own, in clear text; the parts in them are encrypted."""


class Stored(Protocol):
    """A message, or a turn of one, as a store keeps it."""

    @property
    def queue(self) -> str:
        """Where it is."""
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
    """A payload that is kept in something else than a message of its own, and where it belongs."""

    queue: str
    key: str | None
    headers: str | Mapping[str, Scalar] | None
    kind: str
    payload: str


class PayloadReader(Protocol):
    """Makes what a user sees of what a store keeps."""

    def decode(self, stored: Stored, /) -> Any:
        """Return the payload; raise CodecError if it cannot be read, KeyMissing if only a key is missing."""
        ...

    def failure(self, text: str | None, headers: Mapping[str, Scalar] = ..., /) -> Failure | None:
        """Return why a message failed, as far as it can be read."""
        ...


@runtime_checkable
class Sealing(Protocol):
    """Encrypts what is encoded, and decrypts it: see `duerow.encryption`."""

    refuse_clear_text: bool
    """Whether payloads that are not encrypted cannot be read."""

    clear_errors: bool
    """Whether the messages of errors are kept and logged as they are."""

    def seal(self, home: Home, encoded: Encoded) -> Encoded:
        """Return a payload encrypted for a message; what is encrypted already is returned as it is."""
        ...

    def open(self, home: Home, kind: str, text: str) -> Encoded:
        """Return an encrypted payload as it was before; raise CodecError, or KeyMissing if only a key is missing."""
        ...

    def hide(self, text: str) -> str:
        """Return text that tells of payloads encrypted, as JSON that names the key as payloads do."""
        ...

    def reveal(self, hidden: str) -> str:
        """Return what `hide` was given; raise CodecError, or KeyMissing if only a key is missing."""
        ...


class Payloads:
    """The payloads of one queue, and what is said of them.

    Args:
        queue: its name.
        declared: its declared type, if it has one.
        sealing: what encrypts the payloads of its database, if anything does.
    """

    def __init__(self, queue: str = "", declared: Declared[Any] | None = None, sealing: Sealing | None = None) -> None:
        self._queue, self._declared, self._sealing = queue, declared, sealing
        self._encode = codec.encode if declared is None else declared.encode
        self._read = codec.decode if declared is None else declared.decode
        self._strict = sealing is not None and sealing.refuse_clear_text and not queue.endswith(SETS)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that a consumer of this queue can read."""
        known = (JSON, BYTES) if self._declared is None else self._declared.kinds
        return known if self._sealing is None else (*known, *(f"{kind}{SEALED}" for kind in known))

    @property
    def quiet(self) -> bool:
        """Whether what is said of payloads, by errors and logs, must not quote them."""
        return is_quiet(self._sealing)

    @property
    def elsewhere(self) -> Payloads:
        """Those of a queue that is not at hand, to which messages of this one go; see `duerow.payload.types.encode`."""
        return _Elsewhere(sealing=self._sealing)

    # Written.

    def encode(self, payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return a payload's kind and text, not encrypted yet; raise CodecError if it would not come back the same."""
        if self._sealing is None:
            return self._encode(payload, max_bytes)
        return self._said_safely(lambda: self._encode(payload, max_bytes))

    def seal(
        self, encoded: Encoded, queue: str, key: str | None, headers: str | Mapping[str, Scalar] | None
    ) -> Encoded:
        """Return an encoded payload as the message is to keep it that has this queue, key and headers."""
        return encoded if self._sealing is None else self._sealing.seal(home(queue, key, headers), encoded)

    def key(self, key: str | None) -> str | None:
        """Return the key that a message is to have: what is encrypted is bound to it, so there is always one."""
        return key if key is not None or self._sealing is None else f"auto:{secrets.token_urlsafe(16)}"

    def moved(self, sealed: Encoded, before: Home, queue: str, key: str | None, headers: str | None) -> Encoded | None:
        """Return an encrypted payload for where its message goes; None if it stays as it is.

        Raises:
            KeyMissing: it has to be encrypted anew, and there is no key here.
        """
        after = home(queue, key, headers)
        if after == before:
            return None
        if self._sealing is None:
            raise codec.key_missing(sealed.text)
        return self._sealing.seal(after, self._sealing.open(before, sealed.kind, sealed.text))

    def veiled(self, text: str) -> str:
        """Return text that stands beside payloads to tell them apart: unreadable where they are, and never long."""
        if self._sealing is None and len(text) <= LONGEST_CLEAR:
            return text
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def patched(self, payload: Any, patch: Any) -> Encoded:
        """Return a payload of this queue with a JSON merge patch made to it, as another queue is to have it."""
        if self._declared is None:
            return self.elsewhere.encode(codec.merge_patch(payload, patch))
        declared = self._declared
        return self._said_safely(lambda: declared.patched(payload, patch))

    def check_patch(self, patch: Any) -> None:
        """Raise CodecError if a JSON merge patch has in it what no payload can have."""
        self._said_safely(lambda: codec.encode(codec.merge_patch({}, patch)))

    def edited(
        self,
        stored: Stored,
        patch: Any,
        max_bytes: int = MAX_PAYLOAD_BYTES,
        headers: str | Mapping[str, Scalar] | UnsetType | None = UNSET,
    ) -> Encoded:
        """Return a stored payload of this queue with a JSON merge patch made to it, of its kind, as it is to be kept.

        Where nothing is declared, a payload of any kind is patched as the JSON that it is.

        Args:
            stored: what it is now.
            patch: what changes.
            max_bytes: how large it may be then.
            headers: the message's headers then; UNSET: as they are.

        Raises:
            CodecError: it cannot be read, or would not be of the declared type any more; KeyMissing: for want of a key.
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
        """Return the payload of a message; raise CodecError if it cannot be read, KeyMissing for want of a key."""
        if self._sealing is None:
            return self._read(stored.kind, stored.payload)
        opened = self.opened(stored)
        return self._said_safely(lambda: self._read(opened.kind, opened.text))

    def opened(self, stored: Stored) -> Encoded:
        """Return the kind and the text of a stored payload, decrypted if it is encrypted. Errors as of `decode`."""
        if str(stored.kind).endswith(SEALED):
            if self._sealing is None:
                raise codec.key_missing(stored.payload)
            return self._sealing.open(home(stored.queue, stored.key, stored.headers), stored.kind, stored.payload)
        if self._strict:
            raise CodecError("payload is not encrypted, and this consumer takes none in clear text", quotes=False)
        return Encoded(stored.kind, stored.payload)

    # What is said.

    def failure_text(self, error: BaseException | Failure | str | None) -> str | None:
        """Return why an attempt failed as it is to be kept: encrypted where payloads are, but for types and places."""
        described = failure(error)
        if described is None or self._sealing is None or self._sealing.clear_errors:
            return None if described is None else codec.encode_failure(described)
        hidden = self._sealing.hide(codec.encode_failure(described))
        return codec.encode_failure(self.said(error), hidden)

    def hidden_reason(self, error: BaseException | Failure | str | None) -> str | None:
        """Return why a message is given up, encrypted, for a header of its dead letter; None: the reason says it."""
        described = failure(error)
        if described is None or self._sealing is None or self._sealing.clear_errors:
            return None
        return self._sealing.hide(codec.encode_failure(msgspec.structs.replace(described, traceback=None)))

    def said(self, error: BaseException | Failure | str | None) -> Failure:
        """Return of an error what may be read by anyone."""
        return said_of(error, self.quiet)

    def failure(self, text: str | None, headers: Mapping[str, Scalar] = {}, /) -> Failure | None:
        """Return why a message failed, decrypted if there is the key; of a dead letter why it was given up."""
        shown = codec.decode_failure(text)
        hidden = codec.hidden_failure(text) if shown is not None else headers.get(ERROR)
        if self._sealing is None or not isinstance(hidden, str):
            return shown
        try:
            return codec.decode_failure(self._sealing.reveal(hidden))
        except CodecError:
            return shown

    def _said_safely(self, work: Callable[[], T]) -> T:
        """Do some work; raise its errors without what they quote of payloads, if these are encrypted."""
        try:
            return work()
        except CodecError as error:
            problem = error
            if not self.quiet or not error.quotes or isinstance(error, KeyMissing):
                raise
        # Here, where the error is not handled any more, so that the new one does not carry it as its context.
        kind = "" if self._declared is None else f" of type {self._declared.kind}"
        where = f" of queue {self._queue!r}" if self._queue else ""
        raise CodecError(
            f"a payload{kind}{where} cannot be carried. Payloads are encrypted here, and to say what is wrong could "
            "quote it: see the error's `detail`, or have such errors in clear text by Encryption(…, clear_errors=True)",
            quotes=False,
            detail=str(problem),
        )


class _Elsewhere(Payloads):
    """Payloads for queues of which only the name is known."""

    def __init__(self, sealing: Sealing | None) -> None:
        super().__init__(sealing=sealing)
        self._encode = types.encode


class _AsStored(Payloads):
    """Reads nothing: for what passes messages on unread."""

    def decode(self, stored: Stored, /) -> Encoded:
        """Return a payload as it is kept."""
        return Encoded(stored.kind, stored.payload)


class _Unread(Payloads):
    """Reads nothing and keeps nothing: for turns that end without a look at the payload."""

    def decode(self, stored: Stored, /) -> None:
        """Decode nothing."""


PLAIN: Final = Payloads()
"""JSON and bytes, in clear text."""

AS_STORED: Final = _AsStored()
"""Payloads as they are kept, neither decrypted nor decoded."""


UNREAD: Final = _Unread()
"""No payloads at all."""


def sealed_of(stored: Stored) -> Encoded | None:
    """Return a stored payload as it is kept if it is encrypted."""
    return Encoded(stored.kind, stored.payload) if str(stored.kind).endswith(SEALED) else None


def is_quiet(sealing: Sealing | None) -> bool:
    """Return whether what errors and logs say must not quote payloads."""
    return sealing is not None and not sealing.clear_errors


def said_of(error: BaseException | Failure | str | None, quiet: bool) -> Failure:
    """Return of an error what may be said: where that must not quote payloads its type, and where it was raised."""
    described = outline(error) if quiet else failure(error)
    return Failure("Error", "no reason given") if described is None else described


def check_sealing(sealing: object) -> Sealing | None:
    """Return what is to encrypt payloads, or None; raise ConfigurationError if it cannot."""
    if sealing is None or isinstance(sealing, Sealing):
        return sealing
    raise ConfigurationError(
        f"encryption takes an Encryption with keys, not {type(sealing).__name__}: write encryption=Encryption([key])"
    )
