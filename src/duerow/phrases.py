"""The parts of an error that read differently in Python and on the command line: arguments, values, calls and hints.

An error consists of text and phrases. Its `str` is worded for Python. Any other interface passes its own `Words` and
need not know the errors.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol


class Words(Protocol):
    """How an interface words the phrases of errors."""

    def argument(self, name: str, value: Any) -> str:
        """Return the name of an argument, with the value to pass; an ellipsis: no particular value."""
        ...

    def value(self, value: Any) -> str:
        """Return another value for the argument named before it."""
        ...

    def call(self, name: str) -> str:
        """Return the name of an operation of a queue."""
        ...

    def hint(self, python: str, plain: str) -> str:
        """Return the hint for Python or the one for every other interface."""
        ...


class Argument(NamedTuple):
    """An argument of the call that failed.

    Attributes:
        name: its name in Python.
        value: the value to pass; an ellipsis: no particular value.
    """

    name: str
    value: Any = ...

    def told(self, words: Words) -> str:
        """Return it in the words of an interface."""
        return words.argument(self.name, self.value)


class Value(NamedTuple):
    """Another value for the argument named before it."""

    value: Any

    def told(self, words: Words) -> str:
        """Return it in the words of an interface."""
        return words.value(self.value)


class Call(NamedTuple):
    """An operation that would help, by the name of the queue's method."""

    name: str

    def told(self, words: Words) -> str:
        """Return it in the words of an interface."""
        return words.call(self.name)


class Hint(NamedTuple):
    """A hint in Python, and one for all other interfaces."""

    python: str
    plain: str

    def told(self, words: Words) -> str:
        """Return the one for an interface."""
        return words.hint(self.python, self.plain)


Phrase = Argument | Value | Call | Hint
"""A part of an error that each interface words in its own way."""


def counted(number: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun: "1 message", "2 messages".

    Args:
        number: the number.
        one: the noun in the singular.
        several: the noun in the plural; default: `one` with an s.
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


class _Python:
    """The words for Python."""

    def argument(self, name: str, value: Any) -> str:
        return name if value is ... else f"{name}={value!r}"

    def value(self, value: Any) -> str:
        return repr(value)

    def call(self, name: str) -> str:
        return f"{name}()"

    def hint(self, python: str, plain: str) -> str:
        return python


PYTHON: Final[Words] = _Python()
