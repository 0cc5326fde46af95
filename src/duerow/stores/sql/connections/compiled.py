"""Statements as the text that a driver takes, compiled once a process for each kind of driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Dialect as SqlDialect
from sqlalchemy import make_url

from duerow.errors import InvalidCondition
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.statements import Statement, Step


class Text:
    """A compiled statement: its text, and how its values are put to it."""

    __slots__ = ("constants", "positions", "text")

    def __init__(self, statement: Statement, dialect: SqlDialect) -> None:
        element: Any = statement.element
        compiled = element.compile(dialect=dialect)
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
        text = step.statement.texts.get(self._kind) or self._text(step.statement)
        return text.text, text.values(step.values)

    def _text(self, statement: Statement) -> Text:
        # All of a kind write alike; of which one this is, is known when a connection was made, so not before.
        self._kind = (type(self.dialect), self.dialect.paramstyle, self.dialect.server_version_info)
        text: Text | None = statement.texts.get(self._kind)
        if text is None:
            text = Text(statement, self.dialect)
            if self._most is not None and len(text.constants) > self._most:
                raise InvalidCondition(
                    f"a statement takes at most {self._most:,} values here, and this one has {len(text.constants):,}: "
                    "ask for fewer values at a time"
                )
            if statement.kept:
                statement.texts[self._kind] = text
        return text


def callers_texts(dialect: Dialect, driver: str) -> Texts:
    """Return the texts for connections of one of `dialect.callers`."""
    return Texts(dialect, make_url(f"{dialect.callers[driver].name}://").get_dialect()(), raw=True, lenient=True)
