"""Write the Grafana dashboard, `src/duerow/telemetry/grafana.json`: panels in rows, each of one or several queries."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src" / "duerow" / "telemetry" / "grafana.json"

SOURCE = {"type": "prometheus", "uid": "${source}"}
CHOSEN = '{queue=~"$queue"}'
HERE = '{messaging_destination_name=~"$queue"}'


def quantile(of: str, metric: str, labels: str, by: str) -> str:
    """Return a quantile of what the database keeps."""
    return f"histogram_quantile({of}, max by (le, {by}) (rate({metric}_bucket{labels}[$__rate_interval])))"


def summed(of: str, metric: str, labels: str, by: str) -> str:
    """Return a quantile over what processes count."""
    return f"histogram_quantile({of}, sum by (le, {by}) (rate({metric}_bucket{labels}[$__rate_interval])))"


# Whoever scrapes reads the same database, so the state of queues is the largest of what instances say, never the sum.
PANELS: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "Ready messages",
        "short",
        [('max by (queue) (duerow_queue_messages{queue=~"$queue",state="ready"})', "{{queue}}")],
    ),
    ("Oldest due", "s", [(f"max by (queue) (duerow_queue_oldest_due_seconds{CHOSEN})", "{{queue}}")]),
    (
        "Messages by state",
        "short",
        [(f"sum by (state) (max by (queue, state) (duerow_queue_messages{CHOSEN}))", "{{state}}")],
    ),
    (
        "Turns per second",
        "ops",
        [
            (
                "sum by (outcome) (max by (queue, outcome) "
                f"(rate(duerow_queue_turns_total{CHOSEN}[$__rate_interval])))",
                "{{outcome}}",
            )
        ],
    ),
    (
        "Failed and dead per second",
        "ops",
        [
            (
                "max by (queue, outcome) (rate(duerow_queue_turns_total"
                '{queue=~"$queue",outcome=~"failed|dead"}[$__rate_interval]))',
                "{{queue}} {{outcome}}",
            )
        ],
    ),
    ("Workers", "short", [(f"max by (queue) (duerow_queue_consumers{CHOSEN})", "{{queue}}")]),
    ("Waiting, p95", "s", [(quantile("0.95", "duerow_queue_waiting_seconds", CHOSEN, "queue"), "{{queue}}")]),
    ("Handling, p95", "s", [(quantile("0.95", "duerow_queue_handling_seconds", CHOSEN, "queue"), "{{queue}}")]),
    (
        "Leases lost per second",
        "ops",
        [(f"sum by (queue) (rate(duerow_leases_lost_total{CHOSEN}[$__rate_interval]))", "{{queue}}")],
    ),
    (
        "Operations, p95",
        "s",
        [
            (
                summed("0.95", "messaging_client_operation_duration_seconds", HERE, "messaging_operation_name"),
                "{{messaging_operation_name}}",
            )
        ],
    ),
    (
        "Database, p95",
        "s",
        [
            (
                summed("0.95", "db_client_operation_duration_seconds", "", "db_operation_name"),
                "{{db_operation_name}}",
            )
        ],
    ),
    (
        "Claims per second",
        "ops",
        [(f"sum by (found) (rate(duerow_claims_total{CHOSEN}[$__rate_interval]))", "found: {{found}}")],
    ),
]


def panel(number: int, title: str, unit: str, queries: list[tuple[str, str]]) -> dict[str, Any]:
    """Return a panel at its place."""
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"h": 8, "w": 8, "x": 8 * (number % 3), "y": 8 * (number // 3)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for place, (query, legend) in enumerate(queries)
        ],
    }


def dashboard() -> str:
    """Return the text of the file."""
    variables = [
        {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"},
        {
            "name": "queue",
            "label": "Queue",
            "type": "query",
            "datasource": SOURCE,
            "query": "label_values(duerow_queue_messages, queue)",
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
            "refresh": 2,
        },
    ]
    whole = {
        "title": "duerow",
        "uid": "duerow",
        "tags": ["duerow", "queues"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": [panel(number, *one) for number, one in enumerate(PANELS)],
    }
    return json.dumps(whole, indent=2) + "\n"


def main() -> None:
    """Write the file; with --check, say whether it is as it would be written."""
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text() != dashboard() and f"{TARGET} is not what tools/grafana.py writes: run it")
    TARGET.write_text(dashboard())


if __name__ == "__main__":
    main()
