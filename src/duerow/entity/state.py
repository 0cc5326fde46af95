"""A queue state as an attribute of an SQLAlchemy model: `sending: Mapped[QueueState] = queue_state("sending")`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import ClauseElement, Table, event
from sqlalchemy.ext.mutable import MutableComposite
from sqlalchemy.orm import (
    Composite,
    InstanceState,
    LoaderCallableStatus,
    Mapper,
    QueryableAttribute,
    Session,
    mapped_column,
)
from sqlalchemy.orm.attributes import flag_modified

from duerow.errors import ConfigurationError
from duerow.errors import shown as briefly
from duerow.message import Failure, Status, check_moment
from duerow.stores.sql.entities.columns import PARTS, DatabaseTime, StateTable, add_indexes, check_prefix, state_columns
from duerow.stores.sql.entities.keys import keys_of

_NOTHING: Final = (None,) * len(PARTS)

_CHANGED: Final = "duerow_states_changed"
"""The name under which a session records which states were changed in it."""


class QueueState(MutableComposite):
    """One row's place in a queue, and its progress. Change it only through its methods, as part of your transaction.

    Attributes:
        status: "new" (no attempt has ended yet), "error" (the last attempt failed), "done" or "dead".
        due_at: when it will be handed out; None: never. While a consumer has it leased, the end of the lease.
        first_due_at: the due time that it was scheduled with.
        attempts: how many times it has been handed out since it was scheduled.
        token: increases whenever it is handed out, settled or scheduled.
        leased_by, leased_until: the consumer that has it leased, and until when.
        last_attempt_at: when it was last handed out.
        last_error: why the last attempt failed.
        finished_at: when it was done or failed for good.
        place_at: the due time that it had before it was handed out.
    """

    status: Status
    due_at: datetime | None
    place_at: datetime | None
    first_due_at: datetime | None
    attempts: int
    token: int
    leased_by: str | None
    leased_until: datetime | None
    last_attempt_at: datetime | None
    finished_at: datetime | None

    def __init__(self, *values: Any) -> None:
        parts = self.__dict__
        parts.update(zip(PARTS, values or _NOTHING, strict=True))
        if parts["status"] is None:  # the object was never stored
            parts.update(status="new", attempts=0, token=0)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{name} of a queue state cannot be set: call schedule() or stop(), or use its EntityQueue"
        )

    def __composite_values__(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[part] for part in PARTS)

    def __repr__(self) -> str:
        return f"<QueueState {self.status}, attempt {self.attempts}, due {_shown(self.due_at)}>"

    def __getstate__(self) -> dict[str, Any]:
        return {part: self.__dict__[part] for part in PARTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def failure(self) -> Failure | None:
        """Why the last attempt failed, as a value."""
        error = self.__dict__["last_error"]
        return None if error is None else msgspec.convert(error, Failure)

    def schedule(self, at: datetime | None = None) -> None:
        """Make the row due, now or at a given time; it starts afresh, whatever its state was.

        Its status becomes `new`, with 0 attempts and no error. Any lease on it ends, so its holder can no longer settle
        it. This takes effect only when your transaction commits.

        Args:
            at: the earliest time, an aware datetime; None: now, by the database's clock.

        Raises:
            InvalidMessage: the time has no time zone, or is out of range.
            ConfigurationError: the row's object no longer exists, so the change could not be written.
        """
        due: Any = DatabaseTime() if at is None else check_moment("at", at)
        self._begin({"status": "new", "due_at": due, "first_due_at": due, "attempts": 0})

    def stop(self) -> None:
        """Keep the row from being handed out until it is scheduled again; any lease on it ends."""
        self._begin({"due_at": None, **{part: self.__dict__[part] for part in _KEPT_BY_STOP}})

    def _begin(self, values: dict[str, Any]) -> None:
        """Set these parts and clear all others; the token is incremented in the database."""
        if "_parents" in self.__dict__ and not self._parents:
            raise ConfigurationError(
                "the row of this queue state is no longer in memory, so nothing would be changed: keep it in a "
                "variable until the session is flushed, as in row = session.get(…); row.sending.schedule()"
            )
        after = dict.fromkeys(PARTS) | values
        for state, key in list(self._parents.items()):
            _set(state, key, after)
        shown = {part: None if isinstance(value, DatabaseTime) else value for part, value in after.items()}
        self.__dict__.update({**shown, "token": self.token})

    @classmethod
    def coerce(cls, key: str, value: Any) -> QueueState:
        """Return the value if it is valid for the attribute; called by SQLAlchemy."""
        if not isinstance(value, cls):
            raise ConfigurationError(
                f"{key} is a queue state, not {briefly(value)}; call its methods instead of setting it"
            )
        return value


_KEPT_BY_STOP: Final = ("status", "first_due_at", "attempts", "last_attempt_at", "last_error", "finished_at")


def _set(state: InstanceState[Any], key: str, values: dict[str, Any]) -> None:
    """Set a state's columns on the object that it belongs to."""
    entity, inserted = state.obj(), state.key is None
    _MERGED.get(state, set()).discard(key)
    prop = state.mapper.get_property(key)
    assert isinstance(prop, QueueStateProperty)  # noqa: S101 - only such have QueueStates
    for part, attribute in zip(PARTS, prop.props, strict=True):
        value = values[part]
        if part == "token":
            value = 0 if inserted else attribute.columns[0] + 1
        setattr(entity, attribute.key, value)
        if not inserted:  # write even unchanged values: the row may have changed in the database
            flag_modified(entity, attribute.key)
    if state.session is not None and state.key is not None:
        state.session.info.setdefault(_CHANGED, set()).add((state.key, key))


def changed_here(entity: object, key: str, info: dict[Any, Any]) -> bool:
    """Return whether the session with this `info` was used to change a state of an entity."""
    state: InstanceState[Any] = entity._sa_instance_state  # type: ignore[attr-defined]
    changed: set[Hashable] = info.get(_CHANGED, set())
    return (state.key, key) in changed


_MERGED: Final[weakref.WeakKeyDictionary[InstanceState[Any], set[str]]] = weakref.WeakKeyDictionary()
"""For each row, the states that `Session.merge` must not overwrite, because the database has newer values."""


def _kept(key: str) -> Callable[[InstanceState[Any], Any, Any, Any], Any]:
    """Return a function that decides the value of a state's column when something sets it."""

    def keep(entity: InstanceState[Any], value: Any, before: Any, initiator: Any) -> Any:
        is_known = before is not LoaderCallableStatus.NO_VALUE and before is not LoaderCallableStatus.NEVER_SET
        return before if is_known and key in _MERGED.get(entity, ()) else value

    return keep


class _Comparator(Composite.Comparator[QueueState]):
    """Lets `SmsMessage.sending.status` stand for its column in a condition."""

    def __getattr__(self, name: str) -> Any:
        if name in PARTS:
            return self.prop._comparable_elements[PARTS.index(name)]
        raise AttributeError(name)


class QueueStateProperty(Composite[QueueState]):
    """The attribute itself; see `queue_state`.

    Attributes:
        prefix: the prefix of its columns.
    """

    inherit_cache = True

    def __init__(self, prefix: str) -> None:
        self.prefix = check_prefix(prefix)
        super().__init__(QueueState, *state_columns(prefix), comparator_factory=_Comparator)
        # In a model that is also a dataclass, this is not an argument: each new object starts with its own state.
        self._attribute_options = mapped_column(init=False)._attribute_options

    def instrument_class(self, mapper: Mapper[Any]) -> None:
        """Give the table its indexes, and new objects their state."""
        super().instrument_class(mapper)
        if (
            mapper is not self.parent
        ):  # an inheriting model: its table belongs to another, and it gets all events anyway
            return
        if isinstance(table := mapper.local_table, Table):
            add_indexes(table, self.prefix)
        key = self.key

        def begin(entity: Any, args: Any, given: dict[str, Any]) -> None:
            # SQLAlchemy also configures mappers when the first object is created, but for an inheriting model only
            # after this.
            if not (mapped := entity._sa_instance_state.mapper).configured:
                mapped.registry.configure(cascade=True)
            if key not in given:
                setattr(entity, key, QueueState())

        def guard(entity: Any, value: Any, before: Any, initiator: Any) -> None:
            if entity._sa_instance_state.key is not None:
                raise ConfigurationError(
                    f"{key} of a row that is in the database cannot be replaced, because its token must increase: call "
                    f".{key}.schedule() or .{key}.stop()"
                )

        event.listen(mapper.class_, "init", begin, propagate=True)
        event.listen(getattr(mapper.class_, key), "set", guard, propagate=True)

    def do_init(self) -> None:
        """Watch the columns once they are attributes of the model."""
        super().do_init()
        for column in self.props:
            attribute = getattr(self.parent.class_, column.key)
            event.listen(attribute, "set", _kept(self.key), raw=True, retval=True, propagate=True)

    def merge(
        self,
        session: Session,
        source_state: InstanceState[Any],
        source_dict: Any,
        dest_state: InstanceState[Any],
        dest_dict: Any,
        load: bool,
        _recursive: Any,
        _resolve_conflict_map: Any,
    ) -> None:
        """Make `Session.merge` schedule a row that was scheduled in the meantime; otherwise leave its state unchanged.

        The merged object may have been read long ago, or created by hand; writing its state would undo turns and their
        tokens.
        """
        if not load or dest_state.key is None:
            return
        parts = {part: source_dict.get(column.key) for part, column in zip(PARTS, self.props, strict=True)}
        is_new = source_state.key is None
        if parts["first_due_at"] is not None if is_new else isinstance(parts["token"], ClauseElement):
            getattr(dest_state.obj(), self.key)._begin(parts)
        _MERGED.setdefault(dest_state, set()).add(self.key)


def queue_state(prefix: str) -> QueueStateProperty:
    """Give a model a queue state: its columns, all with one prefix, and the index that is used for claims.

    A model may have several states, each of which is a separate queue. A new row is not due until `schedule()` is
    called.

        class SmsMessage(Base):
            ...
            sending: Mapped[QueueState] = queue_state("sending")

    Args:
        prefix: the prefix of the columns' names, such as `sending` for `sending_due_at`.

    Raises:
        ConfigurationError: the prefix is not valid in column names.
    """
    return QueueStateProperty(prefix)


def state_of(attribute: object) -> tuple[type[Any], str, StateTable]:
    """Return the model of an attribute such as `SmsMessage.sending`, the attribute's name, and where it is stored.

    Raises:
        ConfigurationError: it is not a queue state, or it cannot tell the rows of its model apart.
    """
    prop = attribute.property if isinstance(attribute, QueryableAttribute) else None
    if not isinstance(prop, QueueStateProperty) or not isinstance(attribute, QueryableAttribute):
        raise ConfigurationError(
            f"an EntityQueue takes a queue state of a model, as in SmsMessage.sending, not {briefly(attribute)}"
        )
    mapper, model = prop.parent, prop.parent.class_
    what, asked = f"{model.__name__}.{prop.key}", attribute.comparator._parentmapper
    if asked is not mapper:
        heir = asked.class_.__name__
        raise ConfigurationError(
            f"{heir}.{prop.key} is declared in {model.__name__}, whose rows are all in one queue: use {what}, where "
            f"the handler gets each row as an object of its own class, or declare a state in {heir}"
        )
    table = mapper.local_table
    if not isinstance(table, Table) or mapper.concrete:
        raise ConfigurationError(f"{what}: a queue state must belong to a model with its own table")
    columns: list[Any] = list(table.primary_key.columns)
    if mapper.inherits is None:
        columns = list(mapper.primary_key)  # the model may declare a different one from its table's
    elif table is not mapper.inherits.local_table and len(columns) > 1:
        raise ConfigurationError(
            f"{what}: a joined table with a primary key of several columns cannot hold a queue state; declare it in "
            f"{mapper.base_mapper.class_.__name__}"
        )
    return model, prop.key, StateTable(table.name, table.schema, keys_of(what, columns), prop.prefix)


def check_deletes(model: type[Any], key: str) -> None:
    """Raise ConfigurationError if an entity spans several rows or tables, so that our DELETE would not suffice."""
    mapper = mapper_of(model)
    if len({one.local_table for one in mapper.base_mapper.self_and_descendants}) > 1:
        raise ConfigurationError(
            f'{model.__name__}.{key}: on_done="delete" deletes rows from one table, but these rows are kept in several '
            "joined tables; give a function: on_done=lambda row, session: session.delete(row)"
        )


def mapper_of(model: type[Any]) -> Mapper[Any]:
    """Return the mapper of a model."""
    mapper: Mapper[Any] = model.__mapper__
    return mapper


def _shown(due_at: datetime | None) -> str:
    return "never" if due_at is None else f"{due_at:%Y-%m-%d %H:%M:%S}"
