"""What buttons and forms do; each change is recorded before it is made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response, StreamingResponse

from duerow.conditions.fields import Subject
from duerow.errors import ConfigurationError, DuerowError, NotSupported
from duerow.errors import shown as briefly
from duerow.payload.codec import BYTES, JSON, Encoded, encode
from duerow.phrases import PYTHON
from duerow.queue.edits import Changed
from duerow.queue.limits import checked
from duerow.retry import exponential, limited
from duerow.web.api.common import check_searchable
from duerow.web.dashboard import changes, forms
from duerow.web.dashboard.changes import VERBS, AskedChange, Trial
from duerow.web.dashboard.form_actions import FormActions
from duerow.web.dashboard.views.journey import lineage_of
from duerow.web.dashboard.views.message import message
from duerow.web.dashboard.views.own_tables import as_id
from duerow.web.dashboard.visit import Forbidden, NotFound, Shown, Visit
from duerow.where import as_condition, field

if TYPE_CHECKING:
    from duerow.queue.audit import AuditEntry

TITLES: Final = {name: verb.title for name, verb in VERBS.items()} | {
    "redrive": "Redrive",
    "replay": "Replay",
    "purge": "Purge",
}
SAMPLES: Final = 5
"""How many messages a dry run shows."""


class Actions(FormActions):
    """Carries out the actions of forms."""

    def target(self, visit: Visit, values: Mapping[str, str]) -> str:
        """Return the target queue of a form; raise Forbidden if the viewer may not change it."""
        to = forms.queue_name(values)
        self.require(visit, to)
        if to in self.web.options.queues:
            raise NotSupported(f"queue {to!r} is in the application's own table: messages cannot be moved there")
        return to

    # Queues.

    async def pause(self, visit: Visit, form: FormData) -> Response:
        """Stop handing out messages of a queue."""
        name = self.operated(visit)
        await self.web.record(visit.viewer, "pause", name)
        await (await self.web.queue(name)).pause()
        return self.back(visit.url("queues", name), f"{name} is paused: it hands out no messages until it is resumed.")

    async def resume(self, visit: Visit, form: FormData) -> Response:
        """Hand out messages of a queue again."""
        name = self.operated(visit)
        await self.web.record(visit.viewer, "resume", name)
        await (await self.web.queue(name)).resume()
        return self.back(visit.url("queues", name), f"{name} hands out messages again.")

    async def drain(self, visit: Visit, form: FormData) -> Response:
        """Let a queue accept no new messages until it is resumed."""
        name = self.operated(visit)
        await self.web.record(visit.viewer, "drain", name)
        await (await self.web.queue(name)).drain(wait=False)
        return self.back(
            visit.url("queues", name), f"{name} is being drained: it accepts no new messages until it is resumed."
        )

    async def limit(self, visit: Visit, form: FormData) -> Response:
        """Set the limits of a queue's workers."""
        name = self.operated(visit)
        queue: Any = self.web.options.queues.get(name) or await self.web.queue(name)
        said = {one: str(form.get(one, "")).strip() for one in ("concurrency", "cluster_concurrency", "rate", "span")}
        limits: dict[str, Any] = {
            one: forms.integer(said[one], one.replace("_", " "))
            for one in ("concurrency", "cluster_concurrency")
            if said[one]
        }
        if said["rate"]:
            limits["rate"] = (forms.integer(said["rate"], "the rate"), forms.span(said["span"] or "1m", "its span"))
        checked(**{"concurrency": None, "cluster_concurrency": None, "rate": None, **limits})
        await self.web.record(visit.viewer, "limit", name, **{one: value for one, value in said.items() if value})
        await queue.limit(**limits)
        text = "Workers apply them within ten seconds." if limits else "Only each worker's own limits are left."
        return self.back(visit.url("queues", name), f"The limits of {name} were set. {text}")

    async def declare(self, visit: Visit, form: FormData) -> Response:
        """Declare a new queue."""
        said = {name: str(value).strip() for name, value in form.items() if isinstance(value, str)}
        name = forms.queue_name(said, "name")
        self.require(visit, name)
        if await self.web.database.knows_queue(name) or name in self.web.options.queues:
            raise ConfigurationError(f"queue {name!r} already exists; its program declares its settings")
        queue = self.web.database.queue(name, **_terms(said))
        await self.web.record(visit.viewer, "declare", name, **{one: said[one] for one in TERMS if said.get(one)})
        await queue.declare()
        self.pages.live.forget_names()
        return self.back(visit.url("queues", name), f"Queue {name} was declared.")

    async def purge(self, visit: Visit, form: FormData) -> Response:
        """Show how many messages a purge would remove; given the queue's name, remove them in the background."""
        name = self.operated(visit)
        queue, asked = await self.web.queue(name), AskedChange("purge", (), "all", "", {})
        trial = await changes.tried(queue, asked, self.web.database.host_time())
        typed = str(form.get("confirm", "")).strip()
        if typed != name:
            problem = f"Nothing was removed. Type the name {name} to purge this queue." if "confirm" in form else ""
            return await self._confirmed_first(visit, name, asked, trial, problem)
        await self.web.record(visit.viewer, "purge", name, expected=trial.count)
        newest = await queue.find(order="-id", limit=1)
        highest = newest[0].id if newest else 0
        job = await self.pages.jobs.begin(f"Purge {name}", name, visit.viewer.name, trial.total, asked, highest)
        return RedirectResponse(visit.url("jobs", job), 303)

    async def push(self, visit: Visit, form: FormData) -> Response:
        """Push a message."""
        name = self.operated(visit)
        queue = await self.web.queue(name)
        payload = forms.as_json(str(form.get("payload", "")), "payload")
        headers = str(form.get("headers", "")).strip()
        given: dict[str, Any] = {"key": str(form.get("key", "")).strip() or None}
        if headers:
            given["headers"] = forms.as_json(headers, "headers")
        if str(form.get("when", "")).strip() not in ("", "now"):
            given["due"], given["delay"] = forms.when({"when": str(form["when"])})
        if str(form.get("priority", "")).strip():
            given["priority"] = forms.integer(str(form["priority"]), "the priority")
        await self.web.record(visit.viewer, "push", name, key=given["key"])
        pushed = await queue.push(payload, **given)
        return self.back(visit.url("queues", name, "messages", pushed.id), f"Message {pushed.id} was {pushed.outcome}.")

    # One message.

    async def change(self, visit: Visit, form: FormData) -> Response:
        """Change one message; after an error, show what was typed again."""
        name, id = self.operated(visit), int(visit.request.path_params["id"])
        verb = visit.request.path_params["verb"]
        if verb not in VERBS and verb != "replay":
            raise NotFound(f"messages cannot be {briefly(verb)}")
        typed = {field: str(value) for field, value in form.items() if isinstance(value, str) and field != "csrf_token"}
        try:
            text = await self._change(visit, name, id, verb, typed)
        except DuerowError as error:
            return await self._message_again(visit, error, typed, verb)
        gone = verb in ("remove", "cancel")
        now_in = forms.queue_name(typed) if verb == "transfer" else name
        return self.back(visit.url("queues", name) if gone else visit.url("queues", now_in, "messages", id), text)

    async def stack(self, visit: Visit, form: FormData) -> Response:
        """Ask the worker that handles a message where its handler is; its page shows the answer."""
        name, id = self.operated(visit), int(visit.request.path_params["id"])
        queue = await self.web.queue(name)
        await self.web.record(visit.viewer, "stack", name, ids=[id])
        try:
            await queue.stack(id)
        except DuerowError as error:
            return await self._message_again(visit, error, {}, "stack")
        return self.back(visit.url("queues", name, "messages", id), f"The worker of message {id} reported its stack.")

    async def _message_again(self, visit: Visit, error: DuerowError, typed: dict[str, str], tried: str) -> Response:
        """Show the page of a message with an error, and what was typed."""
        shown = await message(visit)
        shown.values |= {"problem": error.told(PYTHON), "typed": typed, "tried": tried}
        shown.status, shown.live = 400, False
        return self.pages.page(visit, shown)

    async def _change(self, visit: Visit, name: str, id: int, verb: str, typed: dict[str, str]) -> str:
        queue = await self.web.queue(name)
        leased = bool(typed.get("even_if_leased"))
        to = self.target(visit, typed) if verb == "transfer" else None
        more = {field: value for field, value in typed.items() if value.strip() and field not in ("payload", "patch")}
        await self.web.record(visit.viewer, verb, name, ids=[id], **more)
        match verb:
            case "replay":
                replayed = await queue.replay(id)
                new = f" as message {replayed.ids[0]}" if replayed.ids else ""
                return (
                    f"Message {id} was pushed again{new}."
                    if replayed
                    else f"Message {id} was not pushed again: a live message has its key."
                )
            case "requeue":
                changed = await queue.requeue(id, even_if_leased=leased)
            case "reschedule":
                due, delay = forms.when(typed)
                if delay is not None:
                    changed = await queue.reschedule(id, delay=delay, even_if_leased=leased)
                else:
                    changed = await queue.reschedule(id, due=due, even_if_leased=leased)
            case "reprioritise":
                priority = forms.integer(typed.get("priority", ""), "the priority")
                changed = await queue.reprioritise(id, priority=priority, even_if_leased=leased)
            case "edit":
                given = forms.edited(typed)
                found = await queue.get(id)
                if "payload" in given and found is not None and found.kind not in (JSON, BYTES):
                    given["payload"] = Encoded(found.kind, encode(given["payload"]).text)
                changed = await queue.edit(id, even_if_leased=leased, **given)
            case "transfer":
                changed = await queue.transfer(id, to=str(to), even_if_leased=leased)
            case "cancel":
                changed = await queue.cancel(id)
            case _:
                changed = await queue.remove(id, even_if_leased=leased)
        if not changed:
            return f"Message {id} is no longer there: nothing was changed."
        return f"Message {id} was {VERBS[verb].done}."

    async def lineage(self, visit: Visit, form: FormData) -> Response:
        """Show how many messages would be removed or requeued: a message and those made from it; with `go`, do it."""
        name, id = self.operated(visit), int(visit.request.path_params["id"])
        verb = visit.request.path_params["verb"]
        if verb not in ("remove", "requeue"):
            raise NotFound(f"messages cannot be {briefly(verb)} together with the messages made from them")
        seen = await lineage_of(visit, name, id)
        chosen = seen.waiting(id) if verb == "remove" else seen.failed(id)
        for queue in chosen:
            self.require(visit, queue)
        leased = bool(form.get("even_if_leased"))
        if not form.get("go"):
            trial = {queue: await self._of_lineage(verb, queue, ids, leased, True) for queue, ids in chosen.items()}
            values = {"name": name, "id": id, "verb": verb, "title_of_verb": VERBS[verb].title, "leased": leased}
            values |= {"chosen": chosen, "trial": trial, "sum": sum(trial.values(), Changed(0))}
            values |= {"danger": VERBS[verb].danger, "complete": seen.complete}
            title = f"{VERBS[verb].title}: messages made from message {id}"
            return self.pages.page(visit, Shown("lineage.html", title, values, live=False))
        counted, done = set(map(str, form.getlist("id"))), Changed(0)
        for queue, found in chosen.items():
            ids = [one for one in found if str(one) in counted]
            if ids:
                await self.web.record(visit.viewer, verb, queue, ids=ids, lineage_of=id)
                done += await self._of_lineage(verb, queue, ids, leased, False)
        text = f"{done.count} messages were {VERBS[verb].done}."
        if done.skipped:
            text += f" {done.skipped} were skipped: a consumer is working on them."
        if not seen.complete:
            text += " There may be more: the search for messages made from it stopped early."
        gone = verb == "remove" and id in chosen.get(name, ())
        return self.back(visit.url("queues", name) if gone else visit.url("queues", name, "messages", id), text)

    async def _of_lineage(self, verb: str, queue: str, ids: list[int], leased: bool, dry_run: bool) -> Changed:
        handle = await self.web.queue(queue)
        change = handle.remove if verb == "remove" else handle.requeue
        return await change(where=field("id").in_(ids), even_if_leased=leased, dry_run=dry_run)

    async def row(self, visit: Visit, form: FormData) -> Response:
        """Requeue, run or stop a row of the user's own table."""
        name, verb = self.operated(visit), visit.request.path_params["verb"]
        queue: Any = self.web.options.queues.get(name)
        if queue is None or verb not in ("requeue", "now", "stop"):
            raise NotFound("there is no such row")
        id = as_id(visit.get("row"))
        await self.web.record(visit.viewer, "requeue" if verb == "requeue" else "reschedule", name, ids=[str(id)])
        if verb == "requeue":
            changed = await queue.requeue(id=id)
        elif verb == "now":
            changed = await queue.reschedule(id=id, delay=timedelta(0))
        else:
            changed = await queue.reschedule(id=id, due=None)
        text = (
            f"Row {id} was {'requeued' if verb == 'requeue' else 'rescheduled'}."
            if changed
            else "The row was not changed."
        )
        return self.back(visit.url("queues", name), text)

    # Many messages.

    async def many(self, visit: Visit, form: FormData) -> Response:
        """Show what a change of many messages would do; with `go`, start it in the background."""
        name, asked = self.operated(visit), asked_in(form)
        if asked.verb not in TITLES or asked.verb == "purge":  # purge has its own form
            raise NotFound(f"messages cannot be {briefly(asked.verb)}")
        queue, now = await self.web.queue(name), self.web.database.host_time()
        if form.get("scope") == "chosen" and not asked.ids:
            raise ConfigurationError("no message is selected: check some of them, or choose all messages")
        if asked.where:
            about: Subject = "turn" if asked.verb == "replay" else "message"
            check_searchable(self.web, name, as_condition(asked.where, about))
        if asked.verb == "transfer":
            self.target(visit, asked.values)
        trial = await changes.tried(queue, asked, now)
        if form.get("go"):
            return await self._begin(visit, name, asked, trial)
        return await self._confirmed_first(visit, name, asked, trial)

    async def _confirmed_first(
        self, visit: Visit, name: str, asked: AskedChange, trial: Trial, problem: str = ""
    ) -> Response:
        """Show what a change would do, with the form that starts it."""
        queue, samples = await self.web.queue(name), []
        if asked.verb in VERBS or asked.verb == "purge":
            where = asked.condition(self.web.database.host_time())
            samples = [self.web.shown(one) for one in await queue.find(where, limit=SAMPLES)]
        shown = Shown(
            "confirm.html",
            f"{TITLES[asked.verb]}: {asked.about}",
            {
                "name": name,
                "asked": asked,
                "trial": trial,
                "title_of_verb": TITLES[asked.verb],
                "danger": asked.verb == "purge" or (asked.verb in VERBS and VERBS[asked.verb].danger),
                "leased": (await queue.stats()).shown("leased") if asked.verb == "purge" else "0",
                "samples": samples,
                "columns": [],
                "problem": problem,
            },
            live=False,
            status=400 if problem else 200,
        )
        return self.pages.page(visit, shown)

    async def _begin(self, visit: Visit, name: str, asked: AskedChange, trial: Trial) -> Response:
        said = {
            field: value for field, value in asked.values.items() if value.strip() and field not in ("payload", "patch")
        }
        await self.web.record(
            visit.viewer,
            asked.verb,
            name,
            ids=list(asked.ids) or None,
            where=asked.where or None,
            tab=None if asked.ids or asked.tab in ("", "all") else asked.tab,
            expected=trial.count,
            **said,
        )
        title = f"{TITLES[asked.verb]} {asked.about} of {name}"
        job = await self.pages.jobs.begin(title, name, visit.viewer.name, trial.total, asked)
        return RedirectResponse(visit.url("jobs", job), 303)

    async def cancel(self, visit: Visit, form: FormData) -> Response:
        """Cancel a job."""
        job = await self.pages.jobs.get(visit.request.path_params["id"])
        if job is None or not visit.sees(job.queue):
            raise NotFound("there is no such job")
        self.require(visit, job.queue)
        await self.web.record(visit.viewer, "cancel", job.queue, job=job.title, changed=job.changed.count)
        if not job.is_over:
            await self.pages.jobs.cancel(job.id)
        return RedirectResponse(visit.url("jobs", job.id), 303)

    # The record.

    async def export(self, visit: Visit, form: FormData) -> Response:
        """Send the audit, one entry per line."""
        if not visit.viewer.may("view", "duerow.audit"):
            raise Forbidden("only operators of all queues may see the audit")
        where = visit.get("where") or None
        await self.web.audit.events(where, limit=1)  # refuses an invalid condition before anything is sent

        async def lines() -> AsyncIterator[bytes]:
            async for one in self.web.audit.all(where):
                yield _line(one)

        headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
        return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)


def _line(one: AuditEntry) -> bytes:
    return msgspec.json.encode(one) + b"\n"


TERMS: Final = ("lease", "attempts", "first", "maximum", "dead_letter", "history", "remember_keys")
"""The fields of the form that declares a queue, except its name."""


def _terms(said: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `Database.queue` from a form; empty fields have their defaults."""
    names = {"lease": "the lease", "history": "the history", "remember_keys": "the time to remember keys"}
    terms: dict[str, Any] = {field: forms.span(said[field], name) for field, name in names.items() if said.get(field)}
    if said.get("dead_letter"):
        terms["dead_letter"] = forms.queue_name(said, "dead_letter")
    delays: dict[str, Any] = {
        field: forms.span(said[field], f"the {field} delay") for field in ("first", "maximum") if said.get(field)
    }
    if said.get("attempts") or delays:
        policy = exponential(**delays)
        terms["retry"] = limited(forms.integer(said.get("attempts") or "20", "the number of attempts"), policy)
    return terms


def asked_in(form: FormData) -> AskedChange:
    """Return the change that a form asks for."""
    values = {name: str(value) for name, value in form.items() if isinstance(value, str)}
    ids = tuple(
        sorted({int(one) for one in form.getlist("id") if isinstance(one, str) and one.lstrip("-").isdecimal()})
    )
    if values.get("scope") == "all":
        ids = ()
    kept = ("when", "priority", "payload", "patch", "headers", "rate", "to", "even_if_leased")
    return AskedChange(
        values.get("verb", ""),
        ids[:1_000],
        values.get("tab", "all"),
        values.get("where", "").strip(),
        {name: values[name] for name in kept if name in values},
    )
