"""Conversion of payloads and headers to text and back: equal, and with the same types, on every database.

A payload is null, a boolean, a 64-bit integer, a finite float, text without U+0000 or lone surrogates, or lists
and objects of these, nested at most 64 deep and at most 1 MiB when encoded; or bytes, which are a separate kind.
Anything that would come back as something else (a tuple, an IntEnum, a datetime) is refused before anything changes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any, Final

import msgspec

from duerow.errors import CodecError, KeyMissing, shown
from duerow.message import Failure, Scalar

JSON: Final = "json"
BYTES: Final = "bytes"

OWN: Final = "duerow."
"""The prefix of the kinds of duerow's own messages; no declared type or task may have a name that begins with it."""

SEALED: Final = "+encrypted"
"""The suffix that the kind of a payload gets when the payload is encrypted."""

SEAL: Final = "encrypted"
"""The member of an encrypted payload's JSON that holds the name of the key and the encrypted text."""

MAX_DEPTH: Final = 64
DEEPEST_READ: Final = 2 * MAX_DEPTH
"""How deep JSON may be nested when it is read back: a set's message contains the payloads of its parts."""

MAX_PAYLOAD_BYTES: Final = 1 << 20
MAX_HEADERS_BYTES: Final = 64 << 10

LONGEST_SHOWN: Final = 10_000
"""How many characters are shown of a stored failure that cannot be decoded."""

_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 63) - 1
_PLAIN = frozenset({str, bool, type(None)})
_SCALARS: frozenset[type] = frozenset({str, bool, int, float})

_encoder = msgspec.json.Encoder(order="sorted")
_encode = _encoder.encode
_decode = msgspec.json.Decoder().decode
_decode_failure = msgspec.json.Decoder(Failure).decode


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """A payload as a store keeps it: the name of its type, and its JSON text with sorted keys."""

    kind: str
    text: str


UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError, TypeError)
"""What decoders raise for values that duerow did not write."""

_CONTAINERS = frozenset({dict, list})
_CARRIED = _PLAIN | _SCALARS | _CONTAINERS
_QUICK = frozenset({str, bool, int, float, bytes, type(None), Encoded})


class _Hidden(msgspec.Struct, frozen=True, gc=False):
    encrypted: msgspec.Raw = msgspec.Raw(b"")


_decode_hidden = msgspec.json.Decoder(_Hidden).decode


class _Unfit(Exception):
    """The reason why a value cannot be stored, and the path to it, innermost step first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str | int] = []

    def within(self, step: str | int) -> _Unfit:
        """Record one step of the path to the value."""
        self.path.append(step)
        return self


class _TooDeep(_Unfit):
    """The value is nested too deep; its path is left out, since it is too long to be useful."""

    def __init__(self) -> None:
        super().__init__(f"is nested more than {MAX_DEPTH} deep")

    def within(self, step: str | int) -> _Unfit:
        """Record nothing."""
        return self


def encode(payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
    """Return the payload as its kind and canonical JSON text; raise CodecError if it would not come back the same.

    An encoded payload is returned unchanged.
    """
    if type(payload) is Encoded:
        return payload
    if type(payload) is bytes:
        return Encoded(BYTES, _text(base64.b64encode(payload).decode("ascii"), "payload", max_bytes))
    _require(payload, "payload")
    return Encoded(JSON, _text(payload, "payload", max_bytes))


def encode_alike(payloads: Sequence[Any], max_bytes: int = MAX_PAYLOAD_BYTES) -> tuple[str, list[str]] | None:
    """Return the kind and the texts of payloads that are all JSON or all bytes, as `encode` would; else None.

    Also None if `encode` would refuse one of them; its error tells which, and why. All are checked and encoded
    together, which takes a third of the time.
    """
    kinds = set(map(type, payloads))
    if kinds == {bytes}:
        texts = [f'"{base64.b64encode(payload).decode("ascii")}"' for payload in payloads]
        return (BYTES, texts) if max(map(len, texts)) <= max_bytes else None
    if not kinds <= _CARRIED or not _all_come_back(payloads):
        return None
    try:
        lines = _encoder.encode_lines(payloads)  # a line of JSON contains no line break
    except UnicodeEncodeError:
        return None
    if b"\\u0000" in lines and any(_zero(payload) is not None for payload in payloads):  # as in `_text`
        return None
    if len(lines) > max_bytes and max(map(len, lines.splitlines())) > max_bytes:
        return None
    return JSON, lines.decode().split("\n")[:-1]


def _all_come_back(values: Sequence[Any]) -> bool:
    """Return whether `_check` would accept all values; it goes through them level by level."""
    level: Sequence[Any] = values
    for _ in range(MAX_DEPTH + 1):
        kinds = set(map(type, level))
        if not kinds <= _CARRIED:
            return False
        if int in kinds:
            integers = [value for value in level if type(value) is int]
            if min(integers) < _LEAST_INTEGER or max(integers) > _MOST_INTEGER:
                return False
        if float in kinds and not all(isfinite(value) for value in level if type(value) is float):
            return False
        if kinds.isdisjoint(_CONTAINERS):
            return True
        objects = level if kinds == {dict} else [value for value in level if type(value) is dict]
        if not {str}.issuperset(map(type, chain.from_iterable(objects))):
            return False
        lists = [value for value in level if type(value) is list] if list in kinds else []
        level = [*chain.from_iterable(map(dict.values, objects)), *chain.from_iterable(lists)]
    return False


def weight(payload: Any) -> int:
    """Return the size of a payload in bytes when encoded; 0 if it is quick to encode, or cannot be encoded."""
    if type(payload) in _QUICK:
        return 0
    try:
        return len(_encode(payload))
    except Exception:  # `encode` reports what is wrong
        return 0


def decode(kind: str, text: str) -> Any:
    """Return the payload that was passed to `encode`; raise CodecError if duerow did not write the text."""
    if kind == JSON:
        return decode_json(text, "payload")
    if kind != BYTES:
        if str(kind).endswith(SEALED):
            raise key_missing(text)
        raise CodecError(
            f"payload of unknown kind {shown(kind)}: this consumer knows {JSON!r} and {BYTES!r}", quotes=False
        )
    value = decode_json(text, "payload")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise CodecError(f"payload cannot be read back as {kind}: {error}") from error


def decode_json(text: Any, what: str) -> Any:
    """Return the value of JSON text; raise CodecError if it is not JSON, or nested deeper than `DEEPEST_READ`.

    How deep a decoder can go depends on its caller's stack, so text that is nested too deep is always refused.
    """
    try:
        value = _decode(text)
    except RecursionError:
        raise CodecError(f"{what} cannot be read back: it is nested more than {DEEPEST_READ} deep") from None
    except UNREADABLE as error:
        raise CodecError(f"{what} cannot be read back as JSON: {error}") from error
    # Counting brackets costs next to nothing, and text nested this deep has at least as many opening brackets.
    if len(text) > 2 * DEEPEST_READ and (not isinstance(text, str) or text.count("[") + text.count("{") > DEEPEST_READ):
        _refuse_deep(value, what)
    return value


def _refuse_deep(value: Any, what: str) -> None:
    """Raise CodecError for a value nested deeper than DEEPEST_READ; check level by level, without recursion."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(DEEPEST_READ):
        if not level:
            return
        level = [
            member
            for container in level
            for member in (container.values() if type(container) is dict else container)
            if type(member) in _CONTAINERS
        ]
    if level:
        raise CodecError(f"{what} cannot be read back: it is nested more than {DEEPEST_READ} deep")


def key_missing(text: str) -> CodecError:
    """Return the error for an encrypted payload whose key this process does not have."""
    try:
        return KeyMissing(str(_decode(text)[SEAL]["key"]))
    except (*UNREADABLE, LookupError):
        return CodecError("payload is marked as encrypted, but names no key", quotes=False)


def encode_headers(headers: Mapping[str, Scalar] | None, limited: bool = True) -> str | None:
    """Return headers as JSON text, None if there are none; raise CodecError unless they map names to scalars.

    Args:
        headers: what to encode.
        limited: whether they may have at most MAX_HEADERS_BYTES.
    """
    if not headers:
        return None
    if not isinstance(headers, Mapping):
        raise CodecError(f"headers must be a mapping of names to scalars, not {type(headers).__name__}", quotes=False)
    for name, value in headers.items():
        if type(name) is not str:
            raise CodecError(f"the name of a header must be text, not {type(name).__name__}")
        if type(value) not in _SCALARS:
            raise CodecError(f"header {shown(name)} must be text, a number or a boolean, not {type(value).__name__}")
    _require(dict(headers), "headers")
    return _text(dict(headers), "headers", MAX_HEADERS_BYTES if limited else MAX_PAYLOAD_BYTES)


def decode_headers(text: str | None) -> dict[str, Scalar]:
    """Return the headers that were passed to `encode_headers`."""
    if text is None:
        return {}
    headers = decode_json(text, "headers")
    if not isinstance(headers, dict):
        raise CodecError("headers cannot be read back: they are not a JSON object", quotes=False)
    return headers


def encode_failure(failure: Failure, hidden: str | None = None) -> str:
    """Return a failure as JSON text; characters that a database cannot keep become U+FFFD.

    Args:
        failure: the part that anyone may read.
        hidden: the whole failure, encrypted, as the JSON of a member SEAL; None: nothing is encrypted.
    """
    kept = Failure(storable(failure.type), storable(failure.message), failure.traceback and storable(failure.traceback))
    text = _encode(kept).decode()
    return text if hidden is None else f'{{"{SEAL}":{hidden},{text[1:]}'


def hidden_failure(text: str | None) -> str | None:
    """Return the encrypted part of a failure, as it was passed to `encode_failure`; None if there is none."""
    if text is None or SEAL not in text:
        return None
    try:
        return bytes(_decode_hidden(text).encrypted).decode() or None
    except msgspec.DecodeError:
        return None


def decode_failure(text: str | None) -> Failure | None:
    """Return the failure that was passed to `encode_failure`; any other text becomes a failure's message."""
    if text is None:
        return None
    try:
        return _decode_failure(text)
    except UNREADABLE:
        return Failure("unknown", str(text)[:LONGEST_SHOWN])


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target with a JSON merge patch (RFC 7396) applied: null removes a member.

    Raises:
        CodecError: JSON cannot carry the patch, or it is nested too deep.
    """
    _require(patch, "patch")
    return _merged(target, patch)


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged


def storable(text: str) -> str:
    """Return the text with U+FFFD for characters that databases cannot keep."""
    if type(text) is str and text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _require(value: Any, what: str) -> None:
    try:
        _check(value, MAX_DEPTH)
    except _Unfit as unfit:
        raise CodecError(f"{_place(what, unfit)} {unfit.reason}") from None


def _check(value: Any, depth: int) -> None:
    """Refuse anything that would not come back equal and of the same type; text is checked after it is encoded."""
    of = type(value)
    if of in _PLAIN:
        return
    if of is int:
        if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
            raise _Unfit(f"is an integer beyond 64 bits ({value.bit_length()} bits): use text or a declared type")
    elif of is float:
        if not isfinite(value):
            raise _Unfit(f"is {value}, which JSON does not have: use null or text")
    elif of is dict:
        if depth == 0:
            raise _TooDeep()
        for name, member in value.items():
            if type(name) is not str:
                raise _Unfit(f"has the key {shown(name)} of type {type(name).__name__}; JSON keys must be text")
            if type(member) not in _PLAIN:
                try:
                    _check(member, depth - 1)
                except _Unfit as unfit:
                    raise unfit.within(name) from None
    elif of is list:
        if depth == 0:
            raise _TooDeep()
        for index, member in enumerate(value):
            if type(member) not in _PLAIN:
                try:
                    _check(member, depth - 1)
                except _Unfit as unfit:
                    raise unfit.within(index) from None
    else:
        hint = (
            "use a list"
            if of is tuple
            else "use null, booleans, numbers, text, lists and objects, or declare the type: queue(…, payload=…)"
        )
        raise _Unfit(
            f"is of type {of.__module__}.{of.__qualname__} ({shown(value)}), which JSON would not return unchanged: "
            f"{hint}"
        )


def _text(value: Any, what: str, max_bytes: int) -> str:
    try:
        encoded = _encode(value)
    except UnicodeEncodeError as error:
        raise CodecError(
            f"{what} contains a lone surrogate ({error.object[error.start]!r}), which no database can store"
        ) from error
    if len(encoded) > max_bytes:
        raise CodecError(
            f"{what} has {len(encoded):,} bytes when encoded; at most {max_bytes:,} are allowed: "
            "store it elsewhere and push a reference",
            quotes=False,
        )
    # The escape also occurs in text that literally contains \u0000, so a hit only calls for a closer look.
    if b"\\u0000" in encoded and (path := _zero(value)) is not None:
        raise CodecError(f"{what}{path} contains U+0000, which not every database can store")
    return encoded.decode()


def _zero(value: Any) -> str | None:
    """Return the path to text with U+0000, or None."""
    if isinstance(value, str):
        return "" if "\0" in value else None
    members: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        if any("\0" in name for name in value):
            return " (in a key)"
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    for step, member in members:
        if (path := _zero(member)) is not None:
            return f"[{step!r}]{path}"
    return None


def _place(what: str, unfit: _Unfit) -> str:
    return what + "".join(f"[{step!r}]" for step in reversed(unfit.path))
