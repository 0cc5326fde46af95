"""The parameters of a task's function: arguments are checked against their types when pushed, and again when run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, NotRequired, Union, get_args, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import TypedDict

from duerow.errors import CodecError, ConfigurationError, shown
from duerow.payload.codec import Encoded
from duerow.payload.types import Declared, PydanticForm, Upgrades, is_pydantic

_VARIABLE: Final[dict[Any, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


class Parameters:
    """The parameters of a task's function, by name and type.

    An argument that is not given is not stored: the function's own default applies when it runs.

    Args:
        name: the task's name.
        function: its function.
        upgrades: functions that turn the arguments of other tasks, or of older versions of this one, into its own; see
            `Declared`.

    Raises:
        ConfigurationError: the function takes any number of arguments, or one whose type JSON cannot represent.
    """

    def __init__(self, name: str, function: Callable[..., Any], upgrades: Upgrades | None) -> None:
        self.signature = inspect.signature(function)
        hints = types_of(name, function)
        self.returned = hints.pop("return", Any)
        fields: dict[str, tuple[Any, bool]] = {}
        for parameter in self.signature.parameters.values():
            if stars := _VARIABLE.get(parameter.kind):
                raise ConfigurationError(
                    f"task {name!r} takes {stars}{parameter.name}, but arguments are stored by name and type; declare "
                    "a parameter for each of them, or take one list or dict"
                )
            required = parameter.default is inspect.Parameter.empty
            fields[parameter.name] = (hints.get(parameter.name, Any), required)
        self._task = name
        self._declared, self._make = declared_fields(name, fields, upgrades)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of messages whose arguments it can read."""
        return frozenset(self._declared.kinds)

    def bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by their names, without those for which the function's defaults apply.

        Raises:
            ConfigurationError: the function does not take these arguments.
        """
        try:
            return dict(self.signature.bind(*args, **named).arguments)
        except TypeError as error:
            takes = str(self.signature.replace(return_annotation=inspect.Signature.empty))
            raise ConfigurationError(f"task {self._task!r} takes {takes:.200}: {error}") from None

    def encode(self, arguments: Mapping[str, Any]) -> Encoded:
        """Return arguments as a message stores them.

        Raises:
            CodecError: one does not have the type that the function declares, or would not come back the same.
        """
        try:
            return self._declared.encode(self._make(arguments))
        except CodecError as error:
            raise CodecError(f"task {self._task!r}: {error}", quotes=error.quotes) from error.__cause__

    def decode(self, kind: str, text: str) -> dict[str, Any]:
        """Return the arguments of a message, upgraded if necessary and possible.

        Raises:
            CodecError: they do not fit the function's parameters.
        """
        value = self._declared.decode(kind, text)
        if isinstance(value, dict):
            return value
        given = {name: getattr(value, name) for name in value.__struct_fields__}
        return {name: argument for name, argument in given.items() if argument is not UNSET}

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call the function with arguments by name, including those that it takes only by position."""
        bound = inspect.BoundArguments(self.signature, dict(arguments))
        return function(*bound.args, **bound.kwargs)


def types_of(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function's parameters, and of its result as `return`.

    Raises:
        ConfigurationError: an annotation names something that its module does not have.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
        return {parameter: Any if of is object else of for parameter, of in hints.items()}
    except Exception as error:  # annotations may be any code
        raise ConfigurationError(
            f"the annotations of task {name!r} cannot be read: {error}; its types must be importable at the top level "
            "of its module, not only by type checkers"
        ) from error


def declared_fields(
    name: str, fields: Mapping[str, tuple[Any, bool]], upgrades: Upgrades | None = None
) -> tuple[Declared[Any], Callable[[Mapping[str, Any]], Any]]:
    """Return the declared type of an object with these members, and a function that makes one from a mapping.

    Args:
        name: its name, and so the kind of its messages.
        fields: the type of each member, and whether it is required.
        upgrades: see `Declared`.

    Raises:
        ConfigurationError: JSON cannot represent one of the types.
    """
    if any(_has_pydantic(of) for of, _ in fields.values()):
        members = {one: of if required else NotRequired[of] for one, (of, required) in fields.items()}
        make: Any = TypedDict  # made at run time, as type checkers do not expect
        of = make(name, members)
        of.__pydantic_config__ = {"extra": "forbid"}
        return Declared(of, upgrades, PydanticForm(of)), dict
    struct: Any = msgspec.defstruct(
        name,
        [(one, of) if required else (one, Union[of, UnsetType], UNSET) for one, (of, required) in fields.items()],  # noqa: UP007
        kw_only=True,
        frozen=True,
        forbid_unknown_fields=True,
    )
    return Declared(struct, upgrades), lambda given: struct(**given)


def _has_pydantic(of: Any) -> bool:
    return is_pydantic(of) or any(map(_has_pydantic, get_args(of)))


class Returned:
    """How the return value of a task's function is stored as its result.

    Args:
        name: the task's name.
        of: the declared type; Any: any value that JSON can represent.

    Raises:
        ConfigurationError: JSON cannot represent the type.
    """

    def __init__(self, name: str, of: Any) -> None:
        self._task = name
        try:
            self._declared, self._make = declared_fields(f"{name}.result", {"value": (of, True)})
        except ConfigurationError as error:
            raise ConfigurationError(
                f"task {name!r} keeps its results, but JSON cannot represent {shown(of)}, the declared return type of "
                f"its function: {error}"
            ) from error

    def encode(self, value: Any) -> str:
        """Return a result as JSON text.

        Raises:
            CodecError: it is not of the declared type, or would not come back unchanged.
        """
        try:
            return self._declared.encode(self._make({"value": value})).text
        except CodecError as error:
            raise CodecError(f"the result of task {self._task!r}: {error}", quotes=error.quotes) from error.__cause__

    def decode(self, text: str) -> Any:
        """Return the result that was passed to `encode`; raise CodecError if it is not of the declared type."""
        value = self._declared.decode(self._declared.kind, text)
        return value["value"] if isinstance(value, dict) else value.value
