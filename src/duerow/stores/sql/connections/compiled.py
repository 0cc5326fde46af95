"""Statements as the text that a driver takes, compiled once a process for each kind of driver.

A statement that is built for one use, such as a search with a condition, shares its text with those that differ from it
in values alone. SQLAlchemy's cache keys say which do, as in its own cache of compiled statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Dialect as SqlDialect
from sqlalchemy import make_url
from sqlalchemy.sql.cache_key import HasCacheKey
from sqlalchemy.util import LRUCache

from duerow.errors import InvalidCondition
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.statements import Statement, Step

MOST_SHARED: Final = 500
"""How many texts of statements for one use are kept in a process: as many as SQLAlchemy keeps for an engine."""


class Text:
    """A compiled statement: its text, and how its values are put to it."""

    __slots__ = ("_compiled", "constants", "positions", "text")

    def __init__(self, statement: Statement, dialect: SqlDialect, key: Any = None) -> None:
        element: Any = statement.element
        compiled = element.compile(dialect=dialect) if key is None else element.compile(dialect=dialect, cache_key=key)
        self._compiled: Any = None if key is None else compiled
        self.text: str = compiled.string
        binds: dict[Any, str] = getattr(compiled, "bind_names", {})
        positional = getattr(compiled, "positional", False)
        self.positions: list[str] | None = list(compiled.positiontup or ()) if positional else None
        self.constants = {name: bind.value for bind, name in binds.items() if not bind.required}

    def values(self, values: Mapping[str, Any]) -> Any:
        """Return a step's values as the driver takes them: by name, or in the order of the placeholders."""
        if self.positions is None:
            return {**self.constants, **values} if self.constants else values
        named = {**self.constants, **values}
        return tuple(named[name] for name in self.positions)

    def values_of(self, key: Any, values: Mapping[str, Any]) -> Any:
        """Return the same for a step of another statement with this text; its cache key has its constants."""
        named = self._compiled.construct_params(values, extracted_parameters=key.bindparams, escape_names=False)
        return named if self.positions is None else tuple(named[name] for name in self.positions)


_shared: LRUCache[Any, Text] = LRUCache(MOST_SHARED)


class Texts:
    """The texts of one driver's dialect.

    Args:
        dialect: the database.
        driver: SQLAlchemy's dialect of the driver, which says how placeholders and casts are written.
        raw: whether they go to the driver itself, without SQLAlchemy.
        lenient: whether SQLite's text is read by `lenient.told_text`.

    Attributes:
        lenient: the same; who meets text that is not UTF-8 has all connections of an engine read leniently.
    """

    def __init__(self, dialect: Dialect, driver: SqlDialect, raw: bool, lenient: bool = False) -> None:
        self.lenient = lenient
        self.dialect, self._most = dialect.written(driver, raw), dialect.most_values
        self._kind: Any = None

    def of(self, step: Step) -> tuple[str, Any]:
        """Return a step's text and values."""
        statement = step.statement
        text: Text | None = statement.texts.get(self._kind)
        if text is None and statement.kept:
            self._know_kind()
            text = statement.texts.get(self._kind)
            if text is None:
                text = statement.texts[self._kind] = self._compile(statement)
        if text is None:
            return self._of_shared(step)
        return text.text, text.values(step.values)

    def _of_shared(self, step: Step) -> tuple[str, Any]:
        """Return the same for a statement for one use."""
        self._know_kind()
        key = _key(step.statement.element)
        if key is None:
            own = self._compile(step.statement)
            return own.text, own.values(step.values)
        shared = (self._kind, key.key)
        text = _shared.get(shared)
        if text is None:
            text = _shared[shared] = self._compile(step.statement, key)
        return text.text, text.values_of(key, step.values)

    def _know_kind(self) -> None:
        # All of a kind write alike; of which one this is, is known when a connection was made, so not before.
        self._kind = (type(self.dialect), self.dialect.paramstyle, self.dialect.server_version_info)

    def _compile(self, statement: Statement, key: Any = None) -> Text:
        text = Text(statement, self.dialect, key)
        if self._most is not None and len(text.constants) > self._most:
            raise InvalidCondition(
                f"a statement takes at most {self._most:,} values here, and this one has {len(text.constants):,}: "
                "ask for fewer values at a time"
            )
        return text


def _key(element: Any) -> Any:
    """Return what all statements have in common that differ in values alone; None if an element of it has no key."""
    return element._generate_cache_key() if isinstance(element, HasCacheKey) else None


def callers_texts(dialect: Dialect, driver: str) -> Texts:
    """Return the texts for connections of one of `dialect.callers`."""
    return Texts(dialect, make_url(f"{dialect.callers[driver].name}://").get_dialect()(), raw=True, lenient=True)
