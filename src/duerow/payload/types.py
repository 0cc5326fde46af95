"""Payloads of a declared type: a dataclass, a msgspec Struct, a pydantic model or a TypedDict.

A value travels as JSON under the name of its type, which is the message's kind, and comes back as that type, including
nested types, Decimal, UUID, enums, sets, datetimes (equal moments; the zone comes back as its offset) and integers of
any size. Anything that would come back as something else is refused before anything changes, so every pushed payload
can be read.

A message of another kind, or with a payload that does not fit the type, is passed to the function that `upgrades` names
for its kind; without one, it cannot be read and is buried with that reason.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Generic, Protocol, TypeVar, runtime_checkable

import msgspec
from typing_extensions import is_typeddict

from duerow.errors import CodecError, ConfigurationError, shown
from duerow.payload import codec
from duerow.payload.codec import BYTES, JSON, MAX_PAYLOAD_BYTES, OWN, SEALED, Encoded
from duerow.signatures import check_call

T = TypeVar("T")

Upgrade = Callable[[Any], Any]
"""Turns an older payload into one of the declared type, or into plain JSON that fits it."""

Upgrades = Mapping[str, Upgrade] | Mapping[type, Upgrade] | Mapping[str | type, Upgrade]
"""Upgrade functions by what they take: plain JSON of a kind, or a value of an older type."""

LARGE: Final = "$int"
"""The name under which an object holds the digits of an integer beyond 64 bits, which not every database can store."""

_OURS: Final = frozenset(
    {"duerow.message", "duerow.reservation", "duerow.settlement", "duerow.aio.reservation", "duerow.sync.reservation"}
)
"""Modules whose types cannot be payloads: passing a settlement or message as a payload is a mistake."""

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_UNTYPED: Final = frozenset({str, int, float, bool, type(None), dict, list, bytes, tuple, Encoded})


@runtime_checkable
class PayloadTypes(Protocol):
    """How the payloads of a queue are written and read: as one declared type, or as one of several by kind."""

    @property
    def kind(self) -> str:
        """The name of the type or types in errors."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that can be read."""
        ...

    def encode(self, payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return the payload as its kind and JSON text; raise CodecError if it would not come back the same."""
        ...

    def decode(self, kind: str, text: str) -> Any:
        """Return the payload that was passed to `encode`; raise CodecError if it cannot be read."""
        ...

    def patched(self, payload: Any, patch: Any) -> Encoded:
        """Return the payload with a JSON merge patch applied."""
        ...


class Declared(Generic[T]):
    """A declared type of payloads.

    Args:
        of: a dataclass, msgspec Struct, pydantic model or TypedDict.
        upgrades: functions for payloads that are of another kind or do not fit: by kind, a function of the plain JSON;
            by an older type, a function of a value of that type, tried if a payload with its name fits it. Each returns
            a value of the declared type, or plain JSON that fits it.
        form: how its values are written and read; default: as the type requires.

    Raises:
        ConfigurationError: the type is none of these, has a field that JSON cannot carry, or has a name that is taken;
            or an upgrade is not a function.
    """

    def __init__(self, of: type[T], upgrades: Upgrades | None = None, form: Form | None = None) -> None:
        self.type = of
        self.kind = _kind(of)
        self._form = _form(of) if form is None else form
        self._upgrades = _upgrades(self.kind, upgrades)

    def __repr__(self) -> str:
        return f"<Declared {self.kind}>"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of payloads that can be read: its own, JSON that fits, and those with an upgrade."""
        return tuple(sorted({self.kind, JSON, *self._upgrades}))

    def encode(self, payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
        """Return the payload as its kind and JSON text; raise CodecError if it would not come back the same.

        An encoded payload is returned unchanged.
        """
        if type(payload) is Encoded:
            return payload
        if type(payload) is not self._form.instance:
            raise CodecError(
                f"the payload is declared to be {self.kind}, but {shown(payload)} is of type "
                f"{type(payload).__module__}.{type(payload).__qualname__}: push {self.kind}(…), "
                "or use a queue without a declared type"
            )
        try:
            plain = _carried(self._form.plain(payload))
        except Exception as error:  # serializers may be the user's code
            raise CodecError(f"payload of type {self.kind} cannot be turned into JSON: {error}") from error
        encoded = Encoded(self.kind, codec.encode(plain, max_bytes).text)
        self._require_the_same(payload, encoded.text)
        return encoded

    def decode(self, kind: str, text: str) -> T:
        """Return the payload that was passed to `encode`, upgraded if necessary and possible.

        Raises:
            CodecError: it is of another kind or does not fit the declared type, and no upgrade takes it.
        """
        misfit: Exception | None = None
        if kind in (self.kind, JSON):
            try:
                return self._read(text)
            except Exception as error:  # validators may be the user's code
                misfit = error
        for upgrade in self._upgrades.get(kind, ()):
            try:
                return self._upgraded(upgrade, kind, text)
            except _Passed:
                continue
        if kind.endswith(SEALED):
            raise codec.key_missing(text)
        raise CodecError(self._why_not(kind, misfit)) from None  # its text already gives the reason

    def patched(self, payload: Any, patch: Any) -> Encoded:
        """Return the payload with a JSON merge patch applied: of this kind if it still fits, else plain JSON."""
        text = codec.encode(codec.merge_patch(codec.decode(JSON, self.encode(payload).text), patch)).text
        try:
            self._read(text)
        except Exception:  # validators may be the user's code
            return Encoded(JSON, text)
        return Encoded(self.kind, text)

    def _read(self, text: str) -> T:
        if LARGE in text:
            value: T = self._form.convert(_restored(codec.decode(JSON, text)))
            return value
        read: T = self._form.read(text)
        return read

    def _upgraded(self, upgrade: _Upgrade, kind: str, text: str) -> T:
        """Return a payload upgraded; raise _Passed if the upgrade does not apply to it."""
        try:
            better = upgrade.function(upgrade.taken(kind, text))
            upgraded: T = better if type(better) is self.type else self._form.convert(better)
        except _Passed:
            raise
        except Exception as error:  # the user's code
            raise CodecError(
                f"payload of kind {kind} could not be upgraded to {self.kind}: {type(error).__name__}: {error}"
            ) from error
        return upgraded

    def _require_the_same(self, payload: Any, text: str) -> None:
        """Refuse a payload that could not be read back, or would come back as something else."""
        try:
            back = self._read(text)
        except Exception as error:  # validators may be the user's code
            raise CodecError(f"payload cannot be read back as {self.kind}: {error}") from error
        if back == payload:
            return
        for path, given, found in _differences(payload, back):
            raise CodecError(f"payload{path} is {shown(given)}, which would come back as {shown(found)}")

    def _why_not(self, kind: str, misfit: Exception | None) -> str:
        if misfit is None:
            return (
                f"payload of kind {kind!r}, but this consumer knows {self.kind!r}: "
                f"register a function, upgrades={{{kind!r}: …}}"
            )
        return (
            f"payload of kind {kind!r} does not fit {self.kind}: {misfit}. If it is of an older shape, "
            f"register a function, upgrades={{{kind!r}: …}}"
        )


def encode(payload: Any, max_bytes: int = MAX_PAYLOAD_BYTES) -> Encoded:
    """Return kind and text of a payload for a queue known only by name; an object of a declarable type keeps its type.

    This is for moves and drafts to other queues. A TypedDict is a plain dict there; if it contains values that JSON
    lacks, encode it with its target queue: `queue.encode(payload)`.

    Raises:
        CodecError: it would not come back the same.
    """
    of: Any = type(payload)
    declared = None if of in _UNTYPED else _known(of)
    return codec.encode(payload, max_bytes) if declared is None else declared.encode(payload, max_bytes)


@lru_cache(maxsize=256)
def _known(of: Any) -> Declared[Any] | None:
    """Return the declaration of a type; None if it cannot be declared."""
    return Declared(of) if _is_declarable(of) else None


# Types.


class Form(Protocol):
    """Converts values of one declared type to plain JSON values, and back.

    Attributes:
        instance: the type of its values at run time.
    """

    instance: type

    def plain(self, value: Any) -> Any:
        """Return a value as JSON values, which may still include tuples and integers of any size."""
        ...

    def read(self, text: str) -> Any:
        """Return the value of JSON text; raise any exception if it does not fit."""
        ...

    def convert(self, plain: Any) -> Any:
        """Return the value of plain JSON values; raise any exception if they do not fit."""
        ...


class _Msgspec:
    """Dataclasses, Structs and TypedDicts, which msgspec supports."""

    def __init__(self, of: type) -> None:
        self._of = of
        self.instance = dict if is_typeddict(of) else of
        self.read: Callable[[str], Any] = msgspec.json.Decoder(of).decode

    def plain(self, value: Any) -> Any:
        return msgspec.to_builtins(value, str_keys=True, order="deterministic")

    def convert(self, plain: Any) -> Any:
        return msgspec.convert(plain, self._of, str_keys=True)


class PydanticForm:
    """Pydantic models, pydantic dataclasses, and TypedDicts that pydantic should check."""

    def __init__(self, of: type) -> None:
        from pydantic import TypeAdapter

        self._adapter: Any = TypeAdapter(of)
        self.instance = dict if is_typeddict(of) else of
        self.read: Callable[[str], Any] = self._adapter.validate_json

    def plain(self, value: Any) -> Any:
        """See `Form.plain`."""
        return self._adapter.dump_python(value, mode="json", by_alias=True, warnings="error")

    def convert(self, plain: Any) -> Any:
        """See `Form.convert`."""
        # Through JSON, where even a strict model accepts text for a datetime.
        return self.read(json.dumps(plain))


def _kind(of: Any) -> str:
    if not _is_declarable(of):
        raise ConfigurationError(
            f"payload={shown(of)}: a declared type must be a dataclass, a msgspec Struct, a pydantic model or a "
            "TypedDict"
        )
    kind: str = of.__name__
    if kind in (JSON, BYTES):
        raise ConfigurationError(
            f"a declared type cannot be called {kind!r}, the kind of undeclared payloads; rename it"
        )
    if kind.startswith(OWN):
        raise ConfigurationError(
            f"a declared type cannot be called {kind!r}: kinds that begin with {OWN!r} are duerow's own; rename it"
        )
    return kind


def _is_declarable(of: Any) -> bool:
    if not isinstance(of, type) or of.__module__ in _OURS:
        return False
    return is_pydantic(of) or dataclasses.is_dataclass(of) or issubclass(of, msgspec.Struct) or is_typeddict(of)


def is_pydantic(of: Any) -> bool:
    """Return whether a type is a pydantic model or a pydantic dataclass."""
    return hasattr(of, "__pydantic_validator__")


def _form(of: type) -> Form:
    if is_pydantic(of):
        return PydanticForm(of)
    try:
        strange = next(_strange(msgspec.inspect.type_info(of), of.__name__, set()), None)
        form = _Msgspec(of)
    except Exception as error:  # annotations may be any code
        raise ConfigurationError(
            f"type {of.__name__} cannot be declared: {error}; its fields must have types that can be resolved and told "
            "apart in JSON"
        ) from error
    if strange is not None:
        path, stranger = strange
        raise ConfigurationError(
            f"type {of.__name__} cannot be declared: {path} is of type {stranger.__module__}.{stranger.__qualname__}, "
            "which JSON cannot carry; make it a dataclass, a Struct or a TypedDict, or declare a pydantic model"
        )
    return form


def _strange(info: Any, path: str, seen: set[Any]) -> Iterator[tuple[str, type]]:
    """Yield every type within a type that JSON cannot carry, with the path to it."""
    if isinstance(info, msgspec.inspect.CustomType):
        yield path, info.cls
    if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field):
        return
    if (cls := getattr(info, "cls", None)) is not None:
        if (cls, type(info)) in seen:
            return
        seen.add((cls, type(info)))
    for name in info.__struct_fields__:
        part = getattr(info, name)
        for member in part if isinstance(part, tuple) else (part,):
            deeper = f"{path}.{member.name}" if isinstance(member, msgspec.inspect.Field) else path
            yield from _strange(member, deeper, seen)


# Upgrades.


class _Passed(Exception):
    """An upgrade that takes an older type got a payload that does not fit it."""


class _Upgrade:
    """An upgrade function and what it takes."""

    def __init__(self, takes: Declared[Any] | None, function: Upgrade) -> None:
        self.takes, self.function = takes, function

    def taken(self, kind: str, text: str) -> Any:
        """Return the payload in the form that this function takes."""
        if self.takes is None:
            return _restored(codec.decode(kind if kind == BYTES else JSON, text))
        try:
            return self.takes._read(text)
        except Exception as error:  # validators may be the user's code
            raise _Passed from error


def _upgrades(kind: str, upgrades: Upgrades | None) -> dict[str, list[_Upgrade]]:
    """Return the upgrades by kind, in the order in which to try them."""
    by_kind: dict[str, list[_Upgrade]] = {}
    if upgrades is not None and not isinstance(upgrades, Mapping):
        raise ConfigurationError(
            f"upgrades must be a mapping of kinds or older types to functions, not {shown(upgrades)}"
        )
    for takes, function in (upgrades or {}).items():
        if not callable(function):
            raise ConfigurationError(f"the upgrade from {shown(takes)} to {kind} is {shown(function)}, not a function")
        check_call(f"the upgrade from {shown(takes)} to {kind}", function, "payload")
        if isinstance(takes, str):
            by_kind.setdefault(takes, []).append(_Upgrade(None, function))
        else:
            declared: Declared[Any] = Declared(takes)
            by_kind.setdefault(declared.kind, []).append(_Upgrade(declared, function))
    return by_kind


# Values.


def _carried(plain: Any) -> Any:
    """Return plain values in a form that every database can store: tuples as lists, large integers as their digits."""
    of = type(plain)
    if of is dict:
        return {name: _carried(member) for name, member in plain.items()}
    if of is list or of is tuple:
        return [_carried(member) for member in plain]
    if of is int and not _LEAST <= plain <= _MOST:
        return {LARGE: str(plain)}
    return plain


def _restored(plain: Any) -> Any:
    """Return plain values with their large integers restored."""
    if isinstance(plain, list):
        return [_restored(member) for member in plain]
    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {LARGE} and isinstance(plain[LARGE], str):
        return int(plain[LARGE])
    return {name: _restored(member) for name, member in plain.items()}


def _differences(given: Any, back: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the places where two values that are unequal by `==` differ; there may be none."""
    if isinstance(given, datetime) and isinstance(back, datetime):
        # To Python, an ambiguous moment of a zone is unequal to the same moment with a fixed offset.
        if (given.utcoffset(), given.replace(tzinfo=None)) != (back.utcoffset(), back.replace(tzinfo=None)):
            yield path, given, back
    elif isinstance(given, Decimal) and isinstance(back, Decimal):
        if str(given) != str(back):
            yield path, given, back
    elif type(given) is not type(back):
        if given != back:
            yield path, given, back
    elif isinstance(given, list | tuple) and len(given) == len(back):
        for index, (one, other) in enumerate(zip(given, back, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif (fields := _fields(given)) is not None:
        yield from _different_fields(given, back, path, fields, _fields(back) or {})
    elif given != back:
        yield path, given, back


def _different_fields(
    given: Any, back: Any, path: str, fields: Mapping[Any, Any], others: Mapping[Any, Any]
) -> Iterator[tuple[str, Any, Any]]:
    if fields.keys() != others.keys():
        yield path, given, back
        return
    for name, member in fields.items():
        step = f"[{name!r}]" if isinstance(given, dict) else f".{name}"
        yield from _differences(member, others[name], path + step)


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """Return the members of a dict or of an object of a declarable type; None for anything else."""
    of = type(value)
    if of is dict:
        return dict(value)
    if not _is_declarable(of):
        return None
    if is_pydantic(of):
        return {**vars(value), **(getattr(value, "__pydantic_extra__", None) or {})}
    names: Sequence[str] = getattr(of, "__struct_fields__", None) or [field.name for field in dataclasses.fields(of)]
    return {name: getattr(value, name) for name in names}
