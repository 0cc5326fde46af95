"""Actions of the forms of schedules."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.responses import Response

from duerow.errors import ConfigurationError, DuerowError, InvalidMessage, UnknownName
from duerow.errors import shown as briefly
from duerow.payload.codec import JSON
from duerow.phrases import PYTHON
from duerow.queue.schedule import Schedule, check_schedule_name
from duerow.web.dashboard import forms
from duerow.web.dashboard.form_actions import FormActions
from duerow.web.dashboard.views.schedules import found, schedule, schedules
from duerow.web.dashboard.visit import NotFound, Visit


class ScheduleActions(FormActions):
    """Carries out the actions of the forms of schedules."""

    async def save(self, visit: Visit, form: FormData) -> Response:
        """Add or change a schedule; after an error, show what was typed again."""
        before = await found(visit) if "name" in visit.request.path_params else None
        typed = {name: str(value).strip() for name, value in form.items() if isinstance(value, str)}
        try:
            saved = await self._save(visit, typed, before)
        except DuerowError as error:
            shown = await (schedules if before is None else schedule)(visit)
            shown.values |= {"problem": error.told(PYTHON), "typed": typed}
            shown.status, shown.live = 400, False
            return self.pages.page(visit, shown)
        done = "saved" if before is not None else "added"
        return self.back(visit.url("schedules", saved.name), f"Schedule {saved.name} was {done}.")

    async def _save(self, visit: Visit, typed: dict[str, str], before: Schedule | None) -> Schedule:
        database = self.web.database
        name = check_schedule_name(typed.get("name", "") if before is None else before.name)
        known = {one.name for one in await database.schedules()}
        if before is None and name in known:
            raise ConfigurationError(f"there is already a schedule {briefly(name)}: change it, or choose another name")
        queue = forms.queue_name(typed, "queue")
        for one in (queue, *([] if before is None else [before.queue])):
            self.require(visit, one)
        if not await database.knows_queue(queue):
            raise UnknownName("queue", queue)
        declared = {"queue": queue, **_declared(typed, before)}
        when = {one: str(declared[one]) for one in ("cron", "every", "daily") if declared.get(one) is not None}
        await self.web.record(visit.viewer, "schedule add", queue, schedule=name, **when)
        return await database.schedule(name, **declared)

    async def change(self, visit: Visit, form: FormData) -> Response:
        """Pause, resume or remove a schedule, or push its message now."""
        verb, one = visit.request.path_params["verb"], await found(visit)
        if verb not in ("pause", "resume", "push", "remove"):
            raise NotFound(f"schedules cannot be {briefly(verb)}")
        self.require(visit, one.queue)
        database, name = self.web.database, one.name
        if verb == "remove" and str(form.get("confirm", "")).strip() != name:
            raise ConfigurationError(f"nothing was removed: type the schedule's name, {name!r}, to remove it")
        await self.web.record(visit.viewer, f"schedule {verb}", one.queue, schedule=name)
        match verb:
            case "pause":
                await database.pause_schedule(name)
                text = f"Schedule {name} is paused."
            case "resume":
                await database.resume_schedule(name)
                text = f"Schedule {name} ticks again."
            case "remove":
                await database.unschedule(name)
                text = f"Schedule {name} was removed; the messages that it has pushed stay."
            case _:
                pushed = await database.push_scheduled(name)
                text = f"Message {pushed.id} was pushed to {one.queue}."
        return self.back(visit.url("schedules"), text)


def _declared(typed: dict[str, str], before: Schedule | None) -> dict[str, Any]:
    """Return the arguments of `Database.schedule` from a form.

    Raises:
        InvalidMessage: a field is not valid JSON, or not a span, time or number.
        ConfigurationError: the kind of recurrence is unknown, or the payload is of a type that a form cannot write.
    """
    said = typed.get("when", "")
    declared: dict[str, Any] = {
        "payload": _payload(typed.get("payload", ""), before),
        "headers": forms.as_json(typed["headers"], "headers") if typed.get("headers") else None,
        "zone": typed.get("zone") or None,
        "group": typed.get("group") or None,
        "priority": forms.integer(typed.get("priority") or "0", "the priority"),
        "missed": typed.get("missed") or "once",
        "start": forms.moment(typed["start"], "the start") if typed.get("start") else None,
    }
    if typed.get("grace"):
        declared["grace"] = forms.span(typed["grace"], "the grace")
    match typed.get("recurrence", "cron"):
        case "cron":
            declared["cron"] = said
        case "every":
            declared["every"] = forms.span(said, "an interval")
        case "daily":
            declared["daily"] = said.replace(",", " ").split()
        case other:
            raise ConfigurationError(f"a schedule ticks by cron, every or daily, not {briefly(other)}")
    if declared["headers"] is not None and not isinstance(declared["headers"], dict):
        raise InvalidMessage("headers must be a JSON object of names and values")
    return declared


def _payload(typed: str, before: Schedule | None) -> Any:
    """Return the payload from a form; an empty field keeps the payload of the schedule."""
    if before is not None and before.kind != JSON:
        raise ConfigurationError(
            f"the payload of schedule {before.name!r} is of kind {before.kind!r}, which no form can edit: change the "
            "schedule in the program that declares it"
        )
    if typed:
        return forms.as_json(typed, "payload")
    return None if before is None else before.payload
