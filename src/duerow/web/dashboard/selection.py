"""The selection of a list of messages: tab, condition, order and the start of the page."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final

import msgspec

from duerow.conditions.fields import FIELDS, path_text
from duerow.conditions.model import Compare, Condition, conjuncts, every
from duerow.errors import InvalidCondition
from duerow.message import Message
from duerow.web.api.common import check_searchable
from duerow.web.dashboard.tabs import TABS, of_tab
from duerow.web.dashboard.visit import Visit
from duerow.web.web import Web
from duerow.where import parse

ORDERS: Final = {
    "-due_at": "latest due first",
    "due_at": "earliest due first",
    "-id": "newest first",
    "id": "oldest first",
    "priority": "by priority",
    "-attempts": "most attempts first",
    "-last_attempt_at": "latest attempt first",
}


DEFAULTS: Final = {"ready": "due_at", "delayed": "due_at", "leased": "due_at", "stopped": "-id", "dead": "-id"}
"""The default order of a tab's messages if it differs from the one for all messages; each is that of an index."""


class Selection(msgspec.Struct):
    """The requested selection of messages.

    Attributes:
        tab: the tab.
        where: the text of the condition.
        refused: why the condition is invalid; None: it is valid, or there is none.
        order: the order.
        after: the place after which the page begins: an id, and a value of the field that orders the list.
        stopped: why the search was stopped before it found a page; None: it was not stopped.
    """

    tab: str
    where: str
    refused: InvalidCondition | None
    order: str
    after: str
    stopped: str | None = None

    @property
    def marked(self) -> tuple[str, str, str] | None:
        """The condition in three parts, the middle one being the error."""
        if self.refused is None or self.refused.at is None:
            return None
        at = self.refused.at
        word = len(self.where[at:].split(maxsplit=1)[0]) if self.where[at:].strip() else 0
        return self.where[:at], self.where[at : at + word] or " ", self.where[at + word :]


def selection(visit: Visit, indexed: Collection[str] = ()) -> Selection:
    """Return the selection of a request; an invalid condition is kept with the reason.

    Args:
        visit: the request.
        indexed: the queue's payload fields that have an index.
    """
    tab, where = visit.get("tab", "all"), visit.get("where")
    tab = tab if tab in TABS else "all"
    default, refused = DEFAULTS.get(tab, "-due_at"), None
    if where:
        try:
            default = "-id" if _is_served(parse(where), indexed) else default
        except InvalidCondition as error:
            refused = error
    order = visit.get("order", default)
    return Selection(tab, where, refused, order if order.removeprefix("-") in FIELDS else default, visit.get("after"))


def _is_served(where: Condition, indexed: Collection[str]) -> bool:
    """Return whether an index of a payload field has the messages that match a condition, in the order of their ids."""
    paths = {one.path for one in conjuncts(where) if isinstance(one, Compare) and one.operator == "="}
    return any(path_text(path).removeprefix("payload.") in indexed for path in paths if path[0] == "payload")


def condition(web: Web, queue: str, chosen: Selection, now: datetime) -> Condition | None:
    """Return the condition of a selection; None: all messages.

    Raises:
        InvalidCondition: the text cannot be read.
        Refusal: it names redacted fields, which a search would reveal.
    """
    parts = [] if chosen.tab == "all" else [of_tab(chosen.tab, now)]
    if chosen.where:
        said = parse(chosen.where)
        check_searchable(web, queue, said)
        parts.append(said)
    return every(*parts) if parts else None


def place_of(message: Message[Any], order: str) -> str:
    """Return the place of a message in an order, for the address of the next page."""
    name = order.removeprefix("-")
    value = getattr(message, name)
    if isinstance(value, datetime):
        value = value.astimezone(UTC).isoformat()
    return f"{message.id}:{'' if value is None else value}"


def after(chosen: Selection) -> Any:
    """Return the start of the page, as `find` takes it; None: the beginning."""
    id, colon, text = chosen.after.partition(":")
    if not colon or not id.lstrip("-").isdecimal():
        return None
    name = chosen.order.removeprefix("-")
    value: Any = text
    if text == "":
        value = None
    elif FIELDS[name] == "integer":
        value = int(text)
    elif FIELDS[name] == "moment":
        value = datetime.fromisoformat(text)
    return SimpleNamespace(**{name: value, "id": int(id)})
