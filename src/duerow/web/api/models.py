"""The requests and responses of the HTTP API, from which its OpenAPI description is generated."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from duerow.errors import InvalidMessage, shown
from duerow.message import QUEUE_NAME, OnDuplicate, check_moment

QUEUE = rf"^{QUEUE_NAME}$"

Scalar = str | int | float | bool
Headers = Annotated[dict[str, Scalar], Field(description="Named scalars that travel with the message.")]
HeaderChanges = Annotated[
    dict[str, Scalar | None], Field(description="Merged into the existing headers; null removes one.")
]
QueueName = Annotated[str, Field(pattern=QUEUE, max_length=100)]
Key = Annotated[str, Field(min_length=1, max_length=255)]
Priority = Annotated[int, Field(ge=-(1 << 15), lt=1 << 15, description="Lower numbers go first.")]
Id = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
Seconds = Annotated[float, Field(ge=0, le=31_536_000_000)]
Time = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
Anything = Annotated[Any, WithJsonSchema({})]
MessageStatus = Literal["new", "error", "done", "dead"]
Receipt = Annotated[str, Field(max_length=200, description="Opaque; proves that the reservation is still yours.")]
Where = Annotated[str, Field(max_length=10_000, description="A condition, such as: payload.companyId = 3345.")]

MOST_AT_ONCE = 1_000


class Model(BaseModel):
    """The base of all requests: strict, without unknown members."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DraftIn(Model):
    """A message to push."""

    payload: Anything = None
    payload_base64: Annotated[str | None, Field(description="Bytes, instead of a JSON payload.")] = None
    kind: Annotated[
        str | None, Field(max_length=100, description="The name of the payload's declared type; default: JSON.")
    ] = None
    key: Key | None = None
    due: Time | None = None
    delay_seconds: Seconds | None = None
    headers: Headers | None = None
    group: Key | None = None
    priority: Priority = 0


class FollowUp(DraftIn):
    """A message that a commit pushes."""

    queue: QueueName


class PushIn(Model):
    """Messages to push: either all or none of them are pushed."""

    messages: Annotated[list[DraftIn], Field(min_length=1, max_length=MOST_AT_ONCE)]
    on_duplicate: OnDuplicate = "ignore"
    create: Annotated[bool, Field(description="Accept a queue that the database does not know yet.")] = False


class PushedOut(Model):
    """The outcome of pushing a message."""

    id: int
    outcome: Literal["created", "updated", "ignored"]


class PushResult(Model):
    """One result per message, in the order given."""

    messages: list[PushedOut]


class FailureOut(Model):
    """Why an attempt failed."""

    type: str
    message: str
    traceback: str | None = None


class MessageOut(BaseModel):
    """A message."""

    id: int
    queue: str
    payload: Anything = None
    payload_base64: Annotated[str | None, Field(description="The payload, if it is bytes.")] = None
    kind: str
    key: str | None
    headers: dict[str, Any]
    group: str | None
    priority: int
    status: MessageStatus
    due_at: datetime | None
    first_due_at: datetime
    attempts: int
    leased_by: str | None
    leased_until: datetime | None
    created_at: datetime
    last_attempt_at: datetime | None
    last_error: FailureOut | None


class MessagePage(BaseModel):
    """A page of messages."""

    messages: list[MessageOut]
    next: Annotated[str | None, Field(description="Pass it as `after` to get the next page; null if there is none.")]


class CountOut(BaseModel):
    """How many messages there are; `counts` has the numbers by the values of a field."""

    count: int
    capped: bool
    counts: list[dict[str, Any]] | None = None


class ReasonOut(BaseModel):
    """A reason why a message is not running."""

    code: str
    text: str
    until: datetime | None
    by: int | str | None


class ReserveIn(Model):
    """How many messages to reserve, and for how long."""

    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = 1
    lease_seconds: Annotated[float | None, Field(ge=0.001, le=31_536_000)] = None
    wait_seconds: Annotated[float, Field(ge=0, le=60, description="How long to wait for a message to become due.")] = 0
    any_kind: Annotated[
        bool, Field(description="Also reserve messages of declared types, as JSON; otherwise they are left alone.")
    ] = False
    consumer: Annotated[
        str | None,
        Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_.:@-]+$", description="The consumer's name."),
    ] = None


class ReservationOut(BaseModel):
    """A message that is yours until its lease ends."""

    receipt: str
    until: datetime
    message: MessageOut


class ReservationsOut(BaseModel):
    """The messages that were reserved; none if none is due."""

    reservations: list[ReservationOut]


class ExtendIn(Model):
    """The receipts whose leases to extend until now + lease."""

    receipts: Annotated[list[Receipt], Field(min_length=1, max_length=MOST_AT_ONCE)]
    lease_seconds: Annotated[float | None, Field(ge=0.001, le=31_536_000)] = None


class ExtendedOut(BaseModel):
    """The leases that were extended, and those that were lost."""

    extended: list[dict[str, Any]]
    refused: list[RefusedOut]


class ErrorIn(Model):
    """Why an attempt failed."""

    type: Annotated[str, Field(max_length=200)] = "Error"
    message: Annotated[str, Field(max_length=100_000)]
    traceback: Annotated[str | None, Field(max_length=100_000)] = None


class CommitIn(Model):
    """The message is done and leaves the queue."""

    receipt: Receipt
    outcome: Literal["commit"]
    payload: Annotated[Anything, Field(description="What the queue's history keeps in place of the payload.")] = None
    then: Annotated[list[FollowUp], Field(max_length=MOST_AT_ONCE, description="Pushed in the same transaction.")] = []


class RollbackIn(Model):
    """The attempt failed; the message is due again after a delay."""

    receipt: Receipt
    outcome: Literal["rollback"]
    delay_seconds: Annotated[Seconds | None, Field(description="Default: the delay of the queue's retry policy.")] = (
        None
    )
    error: ErrorIn | None = None


class BuryIn(Model):
    """The message fails for good and is kept for people to inspect."""

    receipt: Receipt
    outcome: Literal["bury"]
    reason: ErrorIn


class ReleaseIn(Model):
    """The message was not started: its due time, place and attempts are restored."""

    receipt: Receipt
    outcome: Literal["release"]


class MoveIn(Model):
    """The message moves to another queue; fields that you leave out do not change."""

    receipt: Receipt
    outcome: Literal["move"]
    to: QueueName
    payload: Anything = None
    patch: Annotated[Anything, Field(description="A JSON merge patch for the payload, instead of a new payload.")] = (
        None
    )
    key: Key | None = None
    headers: HeaderChanges | None = None
    due: Time | None = None
    delay_seconds: Seconds | None = None
    on_duplicate: OnDuplicate = "reject"
    group: Key | None = None
    priority: Priority | None = None


TurnIn = Annotated[CommitIn | RollbackIn | BuryIn | ReleaseIn | MoveIn, Field(discriminator="outcome")]


class SettleIn(Model):
    """How turns end, each in its own way, in one transaction if the database supports transactions."""

    turns: Annotated[list[TurnIn], Field(min_length=1, max_length=MOST_AT_ONCE)]


class ProblemOut(BaseModel):
    """A problem, as defined by RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


class RefusedOut(BaseModel):
    """A receipt that was refused, and why."""

    receipt: str
    problem: ProblemOut


class SettledOut(BaseModel):
    """How many turns were ended, and which ones were refused."""

    settled: int
    refused: list[RefusedOut]


class ChoiceIn(Model):
    """The messages to change: one by its id, the live one with a key, or all that match a condition."""

    id: Id | None = None
    key: Key | None = None
    where: Where | None = None
    dry_run: Annotated[bool, Field(description="Change nothing; only count.")] = False
    even_if_leased: Annotated[bool, Field(description="Also change messages that a consumer is working on.")] = False


class CancelIn(Model):
    """The live messages to cancel: one by its id, the one with a key, or all that match a condition."""

    id: Id | None = None
    key: Key | None = None
    where: Where | None = None
    dry_run: Annotated[bool, Field(description="Cancel nothing; only count.")] = False


class EditIn(ChoiceIn):
    """What to change in the messages."""

    payload: Anything = None
    patch: Annotated[Anything, Field(description="A JSON merge patch for the payload, instead of a new payload.")] = (
        None
    )
    headers: HeaderChanges | None = None


class RescheduleIn(ChoiceIn):
    """When the messages are due: at a time, after a delay, or never (`due: null`)."""

    due: Time | None = None
    delay_seconds: Seconds | None = None


class TransferIn(ChoiceIn):
    """The queue to move the messages to."""

    to: QueueName
    on_duplicate: Annotated[
        OnDuplicate, Field(description="What to do if a live message there has the same key; `reject` leaves it there.")
    ] = "reject"


class ReprioritiseIn(ChoiceIn):
    """The messages' new priority."""

    priority: Priority


class ChangedOut(BaseModel):
    """How many messages were changed, or would be changed."""

    count: int
    skipped: int
    dry_run: bool = False


class RedriveIn(Model):
    """Which dead letters to bring back."""

    limit: Annotated[int | None, Field(ge=1, lt=1 << 53)] = None
    where: Where | None = None
    rate: Annotated[
        float | None, Field(gt=0, le=1_000_000, description="The maximum number of messages per second.")
    ] = None
    on_duplicate: OnDuplicate = "reject"
    dry_run: bool = False


class ReplayIn(Model):
    """Which finished messages to push again."""

    id: Id | None = None
    where: Where | None = None
    limit: Annotated[int | None, Field(ge=1, lt=1 << 53)] = None
    dry_run: bool = False


class ReplayedOut(BaseModel):
    """How many messages were pushed again, and their ids."""

    count: int
    skipped: int
    ids: list[int]
    dry_run: bool


class PurgeIn(Model):
    """The queue's name again."""

    confirm: Annotated[str, Field(max_length=200)]


class TurnOut(BaseModel):
    """A finished turn."""

    model_config = ConfigDict(extra="allow")

    id: int
    queue: str
    outcome: Literal["done", "moved", "dropped", "dead", "failed"]
    attempts: int
    finished_at: datetime
    log: str | None = None


class TurnPage(BaseModel):
    """A page of turns, latest first."""

    turns: list[TurnOut]
    next: str | None


class StatsOut(BaseModel):
    """The state of a queue."""

    model_config = ConfigDict(extra="allow")

    queue: str
    ready: int
    delayed: int
    leased: int
    waiting: int
    stopped: int
    dead: int
    capped: list[str]
    paused: bool
    oldest_due_at: datetime | None
    next_due_at: datetime | None


class QueuesOut(BaseModel):
    """The queues that you may see."""

    queues: list[str]


class ScheduleIn(Model):
    """When to push which message. Give one of `cron`, `every_seconds` and `daily`."""

    queue: QueueName
    payload: Anything = None
    cron: Annotated[str | None, Field(max_length=200)] = None
    every_seconds: Annotated[float | None, Field(ge=1, le=31_536_000)] = None
    daily: Annotated[list[Annotated[str, Field(max_length=20)]] | None, Field(max_length=1_440)] = None
    zone: Annotated[str | None, Field(max_length=100)] = None
    start: Time | None = None
    headers: Headers | None = None
    group: Key | None = None
    priority: Priority = 0
    missed: Literal["skip", "once", "all"] = "once"
    grace_seconds: Seconds = 60


class ScheduleOut(BaseModel):
    """A schedule, with its next ticks."""

    model_config = ConfigDict(extra="allow")

    name: str
    queue: str
    next_at: datetime | None
    ticks: list[datetime]


class SchedulesOut(BaseModel):
    """The schedules, sorted by name."""

    schedules: list[ScheduleOut]


class PipelinesOut(BaseModel):
    """The pipelines, as graphs."""

    pipelines: list[dict[str, Any]]


class ConsumersOut(BaseModel):
    """The consumers that reported in the last day."""

    consumers: list[dict[str, Any]]


class AuditPage(BaseModel):
    """A page of the audit, latest first."""

    entries: list[dict[str, Any]]
    next: str | None


ExtendedOut.model_rebuild()


def moment(text: str | None, name: str) -> datetime | None:
    """Return a time in a request; raise InvalidMessage if it is invalid or has no time zone."""
    if text is None:
        return None
    try:
        return check_moment(name, datetime.fromisoformat(text))
    except ValueError as error:
        raise InvalidMessage(
            f"{name} must be a time in ISO 8601, such as 2026-03-01T12:00:00Z, not {shown(text)}"
        ) from error


def span(seconds: float | None) -> timedelta | None:
    """Return a span in a request."""
    return None if seconds is None else timedelta(seconds=seconds)
