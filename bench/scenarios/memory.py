"""Whether a worker grows with what it has handled."""

from __future__ import annotations

from bench import ours
from bench.context import Context
from bench.processes import together
from bench.results import Result, limit

BAR_MB = 10.0


def worker(context: Context) -> list[Result]:
    """Resident memory after all messages against after a tenth, two per cent of them failing once, some for ever."""
    count = context.size.memory
    early = count // 10
    context.postgresql.fill(count)
    timed = together(ours.watch_memory, context.postgresql.url, count, (early, count))
    megabytes = timed.results[0]
    note = f"{megabytes[early]:.1f} MB after {early:,}, {megabytes[count]:.1f} MB after {count:,}"
    title = f"worker's memory after {count:,} messages above after {early:,}"
    return [limit(title, "MB", megabytes[count] - megabytes[early], BAR_MB, note=note)]
