"""The examples in the help of commands; a test parses each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "init": ("duerow init shop", "duerow init shop --db postgresql://app@localhost/shop"),
    "migrate": ("duerow migrate --db sqlite:///app.db", "DUEROW_URL=postgresql://app@host/shop duerow migrate"),
    "sql": ("duerow sql --db postgresql://app@host/shop", "duerow sql --roles --db postgresql://app@host/shop"),
    "stats": ("duerow stats", "duerow stats mail --exact", "duerow stats --json"),
    "minutes": ("duerow minutes mail",),
    "queues": ("duerow queues", "duerow queues mail --json"),
    "declare": ("duerow declare shop.mail:mail --dry-run", "duerow declare shop.app:db"),
    "workers": ("duerow workers", "duerow workers mail"),
    "push": (
        """duerow push mail '{"to": "ana@example.org"}' --key welcome-ana""",
        "duerow push reports null --delay 3600 --create",
        "echo '[1, 2]' | duerow push numbers -",
    ),
    "list": ("duerow list mail --status dead", "duerow list mail --limit 100 --after 4711 --json"),
    "find": (
        "duerow find mail \"payload.to like '%@example.org' and attempts > 2\"",
        "duerow find mail --order -due_at --limit 5",
        "duerow find mail --count --by payload.companyId",
    ),
    "show": ("duerow show mail 17", "duerow show mail --key welcome-ana"),
    "stack": ("duerow stack mail 17", "duerow stack mail --key welcome-ana --wait 10"),
    "why": ("duerow why mail 17", "duerow why mail"),
    "edit": ("""duerow edit mail --id 17 --patch '{"to": "bo@example.org"}'""",),
    "reschedule": ("duerow reschedule mail --id 17 --delay 60", "duerow reschedule mail --where 'id < 100' --stop"),
    "reprioritise": (
        "duerow reprioritise mail 5 --id 17",
        "duerow reprioritise mail --where \"key like 'vip-%'\" -- -5",
    ),
    "remove": ("duerow remove mail --where 'payload.test = true' --dry-run", "duerow remove mail --id 17"),
    "cancel": ("duerow cancel mail --id 17", "duerow cancel mail --where 'payload.test = true' --dry-run"),
    "requeue": ("duerow requeue mail --where \"status = 'dead'\"", "duerow requeue mail --id 17"),
    "transfer": (
        "duerow transfer mail --where 'payload.test = true' --to later --dry-run",
        "duerow transfer mail --id 17 --to later",
    ),
    "pause": ("duerow pause mail",),
    "resume": ("duerow resume mail",),
    "drain": ("duerow drain mail --timeout 60", "duerow drain mail --no-wait"),
    "limit": (
        "duerow limit mail",
        "duerow limit mail --concurrency 2 --rate 100 --per 60",
        "duerow limit mail --clear",
    ),
    "purge": ("duerow purge mail --confirm mail",),
    "redrive": ("duerow redrive mail --dry-run", "duerow redrive mail --rate 10 --limit 1000"),
    "copy": ("duerow copy mail --into postgresql://app@host/shop",),
    "history": ("duerow history mail", "duerow history mail --id 17"),
    "replay": ("duerow replay mail --id 17",),
    "doctor": ("duerow doctor", "duerow doctor --json"),
    "maintain": ("duerow maintain",),
    "torture": (
        "duerow torture sqlite:///spare.db",
        "duerow torture postgresql://app@localhost/spare --kills 1000 --restart 'pg_ctl restart -m immediate'",
        "duerow torture postgresql://app@localhost/spare --upgrade-from 6",
        "duerow torture postgresql://app@localhost/spare --beside then/bin/python",
    ),
    "worker": (
        "duerow worker shop.mail:mail --concurrency 8",
        "duerow worker shop.app:tasks mail reports --reload",
        "duerow worker shop.mail:send mail newsletters --until empty",
        "duerow worker shop.mail:mail --health-port 8080 --log-format json",
    ),
    "shell": ("duerow shell", "duerow shell -c 'print(db.queue(\"mail\").stats())'"),
    "audit": ("duerow audit --queue mail", "duerow audit \"payload.action = 'remove'\" --export"),
    "dashboard": (
        "duerow dashboard --db sqlite:///app.db",
        "duerow dashboard --db shop=postgresql://app@host/shop --users users.json",
    ),
    "dashboard user add": ("duerow dashboard user add ana --role operator",),
    "dashboard user token": ("duerow dashboard user token ana --name deploy",),
    "dashboard user remove": ("duerow dashboard user remove ana",),
    "dashboard user list": ("duerow dashboard user list --json",),
    "schedule list": ("duerow schedule list",),
    "schedule add": (
        "duerow schedule add nightly reports --cron '0 3 * * *' --zone Europe/Zagreb",
        "duerow schedule add tidy reports --every 3600 --create",
    ),
    "schedule remove": ("duerow schedule remove nightly",),
    "schedule pause": ("duerow schedule pause nightly",),
    "schedule resume": ("duerow schedule resume nightly",),
    "schedule push": ("duerow schedule push nightly",),
    "schedule next": ("duerow schedule next nightly",),
    "pipeline list": ("duerow pipeline list",),
    "pipeline draw": ("duerow pipeline draw shop.orders:orders",),
    "pipeline check": ("duerow pipeline check shop.orders:orders",),
    "pipeline run": ("duerow pipeline run shop.orders:orders --until empty",),
    "pipeline declare": ("duerow pipeline declare shop.orders:orders",),
    "pipeline forget": ("duerow pipeline forget orders",),
}
"""The examples of each command, by its name."""
