"""What an error says to a program in one way and to a person at a terminal in another: arguments, calls and hints.

An error is made of text and of phrases. Its `str` is for a reader of Python; each other face gives its own `Words`, and
needs to know no error for it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol


class Words(Protocol):
    """How a face writes what errors speak of."""

    def argument(self, name: str, value: Any) -> str:
        """Return how an argument is named here; `value` is what to give it, an ellipsis: that depends."""
        ...

    def call(self, name: str) -> str:
        """Return how an operation of a queue is called here."""
        ...

    def hint(self, python: str, plain: str) -> str:
        """Return one of two hints: how it is written in Python, or what is true of every face."""
        ...


class Argument(NamedTuple):
    """An argument of the call that failed.

    Attributes:
        name: its name in Python.
        value: what to give it; an ellipsis: that depends.
    """

    name: str
    value: Any = ...

    def told(self, words: Words) -> str:
        """Return how the face names it."""
        return words.argument(self.name, self.value)


class Call(NamedTuple):
    """An operation that helps; its name is that of a method of queues."""

    name: str

    def told(self, words: Words) -> str:
        """Return how the face calls it."""
        return words.call(self.name)


class Hint(NamedTuple):
    """A hint that is Python, and what to say to those who write none."""

    python: str
    plain: str

    def told(self, words: Words) -> str:
        """Return the one that the face can use."""
        return words.hint(self.python, self.plain)


Phrase = Argument | Call | Hint
"""A part of an error that each face writes in its own way."""


class _Python:
    """The words of a program."""

    def argument(self, name: str, value: Any) -> str:
        return name if value is ... else f"{name}={value!r}"

    def call(self, name: str) -> str:
        return f"{name}()"

    def hint(self, python: str, plain: str) -> str:
        return python


PYTHON: Final[Words] = _Python()
