"""Models in an inheritance: each state is a queue of the rows of the model that declares it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from duerow.entity import EntityQueue, QueueState, queue_state
from tests.entity.models import Bill, Document, Letter, Page
from tests.entity.modes import MODES, of_each


@pytest.fixture
def put(engine: Engine) -> Callable[..., None]:
    """Inserts rows of which a state is due."""

    def put(state: str, *rows: Any) -> None:
        with Session(engine) as session, session.begin():
            for row in rows:
                getattr(row, state).schedule()
            session.add_all(rows)

    return put


@pytest.mark.parametrize("mode", MODES)
def test_a_state_of_the_root_is_a_queue_of_all_kinds_of_rows_each_of_its_own_class(
    work: Any, put: Any, open_queue: Any, mode: str
) -> None:
    put("sending", Document(pages=[Page(), Page()]), Letter(), Bill(amount=5))
    seen: list[tuple[str, int]] = []

    async def handle(row: Any, session: Any) -> None:
        seen.append((type(row).__name__, len(row.pages)))
        row.text = f"{row.amount}" if isinstance(row, Bill) else "none"
        row.pages.append(Page())

    work(of_each(handle, mode), state=Document.sending, **MODES[mode])
    assert sorted(seen) == [("Bill", 0), ("Document", 2), ("Letter", 0)]
    queue = open_queue(Document.sending)
    found = {type(row).__name__: (row.text, len(row.pages)) for row in queue.find(status="done")}
    assert found == {"Document": ("none", 3), "Letter": ("none", 1), "Bill": ("5", 1)}


@pytest.mark.parametrize("model", [Letter, Bill])
@pytest.mark.parametrize("mode", MODES)
def test_a_state_of_an_heir_is_a_queue_of_its_rows_alone(
    work: Any, put: Any, open_queue: Any, mode: str, model: Any
) -> None:
    name, state = ("posting", Letter.posting) if model is Letter else ("collecting", Bill.collecting)
    put("sending", Document(text="mine"), Letter(text="mine"), Bill(text="mine"))
    put(name, model(text="mine"), model(text="mine"), model(text="other"))
    queue = open_queue(state, clock=None)
    queue.check()
    assert (queue.count(), queue.count(Document.text == "mine"), queue.stats().ready) == (4, 3, 3)
    assert queue.count(by=Document.text) == {"mine": 3, "other": 1}
    # Also of those that are not due, but of no row of another class.
    assert queue.reschedule(Document.text == "mine", delay=timedelta(0), dry_run=True).count == 3
    assert queue.reschedule(Document.text == "mine", delay=timedelta(0)).count == 3
    seen: list[str] = []

    async def handle(row: Any, session: Any) -> None:
        seen.append(f"{type(row).__name__} {row.text}")
        row.text = "posted"

    work(of_each(handle, mode), state=state, **MODES[mode])
    assert sorted(seen) == [f"{model.__name__} mine"] * 3 + [f"{model.__name__} other"]
    assert queue.count(Document.text == "posted", status="done") == 4
    assert open_queue(Document.sending, clock=None).stats().ready == 3


def test_the_first_object_of_a_program_may_be_of_a_class_that_inherits_its_state() -> None:
    class Base(DeclarativeBase):  # of its own, so that no other test's objects have had SQLAlchemy configure it
        pass

    class Paper(Base):
        __tablename__ = "paper"
        __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "paper"}  # noqa: RUF012
        id: Mapped[int] = mapped_column(primary_key=True)
        kind: Mapped[str]
        sending: Mapped[QueueState] = queue_state("sending")

    class Slip(Paper):
        __mapper_args__ = {"polymorphic_identity": "slip"}  # noqa: RUF012

    first = Slip()
    assert (first.sending.status, first.sending.due_at) == ("new", None)
    first.sending.schedule()

    class Late(Paper):  # declared when others were configured already
        __mapper_args__ = {"polymorphic_identity": "late"}  # noqa: RUF012

    second = Late()
    second.sending.schedule()
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all([first, second])
    assert EntityQueue(Paper.sending, engine).count(by=Paper.kind) == {"slip": 1, "late": 1}
