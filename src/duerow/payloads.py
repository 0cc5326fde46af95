"""How the payloads of a queue are written and read: by its declared type, and encrypted where there are keys."""

from __future__ import annotations

import hashlib
from typing import Any, Final, Protocol, runtime_checkable

from duerow import codec, typed
from duerow.codec import BYTES, JSON, MAX_PAYLOAD_BYTES, SEALED, Encoded
from duerow.errors import ConfigurationError
from duerow.typed import Declared

LONGEST_CLEAR: Final = 120
"""Characters of text that is kept as it is to tell messages apart; of longer text a digest is kept."""


class Encode(Protocol):
    """Makes text of a payload, as `codec.encode` does."""

    def __call__(self, payload: Any, max_bytes: int = ..., /) -> Encoded:
        """Return the payload's kind and text; raise CodecError if it would not come back the same."""
        ...


class Decode(Protocol):
    """Makes a payload of text, as `codec.decode` does."""

    def __call__(self, kind: str, text: str, /) -> Any:
        """Return the payload; raise CodecError if it cannot be read, KeyMissing if only a key is missing."""
        ...


@runtime_checkable
class Sealing(Protocol):
    """Encrypts what is encoded, and decrypts it: see `duerow.encryption`."""

    def seal(self, queue: str, encoded: Encoded) -> Encoded:
        """Return a payload encrypted for a queue; what is encrypted already is returned as it is."""
        ...

    def open(self, kind: str, text: str) -> Encoded:
        """Return an encrypted payload as it was before; raise CodecError, or KeyMissing if only a key is missing."""
        ...


class Payloads:
    """The payloads of one queue.

    Args:
        queue: its name.
        declared: its declared type, if it has one.
        sealing: what encrypts the payloads of its database, if anything does.

    Attributes:
        encode: makes text of a payload for this queue.
        decode: makes a payload of this queue's text. Where nothing is declared both are those of `duerow.codec`
            themselves, with nothing in between.
    """

    encode: Encode
    decode: Decode

    def __init__(self, queue: str = "", declared: Declared[Any] | None = None, sealing: Sealing | None = None) -> None:
        self._queue, self._declared, self._sealing = queue, declared, sealing
        self.encode = codec.encode if declared is None else declared.encode
        self.decode = codec.decode if declared is None else declared.decode
        if sealing is not None:
            self.encode, self.decode = _sealed(queue, self.encode, sealing), _opened(self.decode, sealing)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that a consumer of this queue can read."""
        known = (JSON, BYTES) if self._declared is None else self._declared.kinds
        return known if self._sealing is None else (*known, *(f"{kind}{SEALED}" for kind in known))

    def encode_for(self, queue: str, payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return a payload as another queue is to have it; see `duerow.typed.encode`."""
        encoded = typed.encode(payload, max_bytes)
        return encoded if self._sealing is None else self._sealing.seal(queue, encoded)

    def veiled(self, text: str) -> str:
        """Return text that stands beside payloads to tell them apart: unreadable where they are, and never long."""
        if self._sealing is None and len(text) <= LONGEST_CLEAR:
            return text
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def patched(self, queue: str, payload: Any, patch: Any) -> Encoded:
        """Return a payload of this queue with a JSON merge patch made to it, as another queue is to have it."""
        if self._declared is None:
            return self.encode_for(queue, codec.merge_patch(payload, patch))
        return self.encode_for(queue, self._declared.patched(payload, patch))

    def edited(self, kind: str, text: str, patch: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return a stored payload of this queue with a JSON merge patch made to it, of its kind, as it is to be kept.

        Where nothing is declared, a payload of any kind is patched as the JSON that it is.

        Raises:
            CodecError: it cannot be read, or would not be of the declared type any more; KeyMissing: for want of a key.
        """
        if kind.endswith(SEALED):
            if self._sealing is None:
                raise codec.key_missing(text)
            opened = self._sealing.open(kind, text)
            kind, text = opened.kind, opened.text
        after = self._edited(kind, text, patch, max_bytes)
        return after if self._sealing is None else self._sealing.seal(self._queue, after)

    def _edited(self, kind: str, text: str, patch: Any, max_bytes: int) -> Encoded:
        if kind in (JSON, BYTES):
            encoded = codec.encode(codec.merge_patch(codec.decode(kind, text), patch), max_bytes)
        else:
            encoded = Encoded(kind, codec.encode(codec.merge_patch(codec.decode(JSON, text), patch), max_bytes).text)
        if self._declared is not None:
            self._declared.decode(encoded.kind, encoded.text)
        return encoded


PLAIN: Final = Payloads()
"""JSON and bytes, in clear text."""


def as_stored(kind: str, text: str, /) -> Encoded:
    """Return a payload as it is kept, neither decrypted nor decoded: for what passes messages on unread."""
    return Encoded(kind, text)


def check_sealing(sealing: object) -> Sealing | None:
    """Return what is to encrypt payloads, or None; raise ConfigurationError if it cannot."""
    if sealing is None or isinstance(sealing, Sealing):
        return sealing
    raise ConfigurationError(
        f"encryption takes an Encryption with keys, not {type(sealing).__name__}: write encryption=Encryption([key])"
    )


def _sealed(queue: str, encode: Encode, sealing: Sealing) -> Encode:
    def encode_and_seal(payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES, /) -> Encoded:
        return sealing.seal(queue, encode(payload, max_bytes))

    return encode_and_seal


def _opened(decode: Decode, sealing: Sealing) -> Decode:
    def open_and_decode(kind: str, text: str, /) -> Any:
        if not kind.endswith(SEALED):
            return decode(kind, text)
        opened = sealing.open(kind, text)
        return decode(opened.kind, opened.text)

    return open_and_decode
