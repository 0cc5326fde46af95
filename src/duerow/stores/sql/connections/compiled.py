"""Statements as text for a driver, compiled once per process for each kind of driver.

A statement that is built for a single use, such as a search with a condition, shares its text with statements that
differ only in values. SQLAlchemy's cache keys identify them, as in its own cache of compiled statements.
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
"""How many texts of single-use statements a process keeps: as many as SQLAlchemy keeps for an engine."""


class Text:
    """A compiled statement: its text, and how values are passed to it."""

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
        """Return a step's values in the driver's form: by name, or in the order of the placeholders."""
        if self.positions is None:
            return {**self.constants, **values} if self.constants else values
        named = {**self.constants, **values}
        return tuple(named[name] for name in self.positions)

    def values_of(self, key: Any, values: Mapping[str, Any]) -> Any:
        """Return the same for a step of another statement with this text, whose cache key contains its constants."""
        named = self._compiled.construct_params(values, extracted_parameters=key.bindparams, escape_names=False)
        return named if self.positions is None else tuple(named[name] for name in self.positions)


_shared: LRUCache[Any, Text] = LRUCache(MOST_SHARED)


class Texts:
    """The texts of one driver's dialect.

    Args:
        dialect: the database.
        driver: the driver's SQLAlchemy dialect, which determines how placeholders and casts are written.
        raw: whether statements go directly to the driver, without SQLAlchemy.
        lenient: whether SQLite's text is read by `lenient.told_text`.

    Attributes:
        lenient: the same; set after the first text that is not UTF-8, for all connections of an engine.
    """

    def __init__(self, dialect: Dialect, driver: SqlDialect, raw: bool, lenient: bool = False) -> None:
        self.lenient = lenient
        self.dialect, self._most = dialect.written(driver, raw), dialect.most_values
        self._spelled = dialect.spelling(self.dialect)
        self._kind: Any = None

    def of(self, step: Step) -> tuple[str, Any]:
        """Return a step's text and values."""
        statement, values = step.statement, step.values
        if self._spelled is not None:
            values = self._spelled(values)
        text: Text | None = statement.texts.get(self._kind)
        if text is None and statement.kept:
            self._know_kind()
            text = statement.texts.get(self._kind)
            if text is None:
                text = statement.texts[self._kind] = self._compile(statement)
        if text is None:
            return self._of_shared(statement, values)
        return text.text, text.values(values)

    def _of_shared(self, statement: Statement, values: Mapping[str, Any]) -> tuple[str, Any]:
        """Return the text and values of a step with a single-use statement."""
        self._know_kind()
        key = _key(statement.element)
        if key is None:
            own = self._compile(statement)
            return own.text, own.values(values)
        shared = (self._kind, key.key)
        text = _shared.get(shared)
        if text is None:
            text = _shared[shared] = self._compile(statement, key)
        return text.text, text.values_of(key, values)

    def _know_kind(self) -> None:
        # Drivers of a kind compile to the same text. The kind is only known after a connection has been made.
        driver = self.dialect
        self._kind = (type(driver), driver.paramstyle, driver.server_version_info, self._spelled)

    def _compile(self, statement: Statement, key: Any = None) -> Text:
        text = Text(statement, self.dialect, key)
        if self._most is not None and len(text.constants) > self._most:
            raise InvalidCondition(
                f"a statement takes at most {self._most:,} values here, and this one has {len(text.constants):,}: "
                "ask for fewer values at a time"
            )
        return text


def _key(element: Any) -> Any:
    """Return the key that statements share if they differ only in values; None if a part of one has no key."""
    return element._generate_cache_key() if isinstance(element, HasCacheKey) else None


def callers_texts(dialect: Dialect, driver: str) -> Texts:
    """Return the texts for connections of a driver in `dialect.callers`."""
    return Texts(dialect, make_url(f"{dialect.callers[driver].name}://").get_dialect()(), raw=True, lenient=True)
