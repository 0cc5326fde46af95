"""Measure duerow beside hand-written SQL and other queues: `python -m bench`.

The exit status is 0 when everything asked for could be measured, 1 otherwise. Whether the bars were reached is in the
table and in the JSON; with --strict a missed bar is a failure too.

With --peers, duerow is compared with other queues instead; one that is not installed is named as a failure.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

from bench import peers_page, report
from bench.context import Context
from bench.peers import POSTGRESQL, SQLITE, present
from bench.results import Result
from bench.scenarios import LONG, SCENARIOS, peers
from bench.sizes import SIZES


def main() -> int:
    """Measure what was asked for, print the table, write the JSON; return the exit status."""
    wanted = _arguments()
    results: list[Result] = []
    failures: dict[str, str] = {}
    on = report.machine()
    context = Context(SIZES[wanted.size], say=lambda text: print(text, file=sys.stderr, flush=True))
    scenarios = peers.SCENARIOS if wanted.peers else SCENARIOS
    if wanted.peers:
        failures |= present((*POSTGRESQL, *SQLITE))[1]
        for why in failures.values():
            context.say(why)
    with context.stack:
        for name in wanted.only or [name for name in scenarios if wanted.size == "smoke" or name not in LONG]:
            context.say(f"measuring {name} …")
            try:
                results += scenarios[name](context)
            except Exception:
                failures[name] = traceback.format_exc()
            except KeyboardInterrupt:
                failures[name] = "interrupted; what was measured before is kept"
                break
        server = context.server.settings() if "server" in vars(context) else {}
    report.show(results, failures)
    report.write(wanted.json, report.document(results, failures, wanted.size, on, server))
    if wanted.page:
        page = peers_page.page if wanted.peers else report.page
        report.write(wanted.page, page(wanted.page.read_text(), results, wanted.size, on, server))
    missed = [result for result in results if result.passed is False]
    return 1 if failures or (missed and wanted.strict) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help=f"some of {', '.join(SCENARIOS)} (default: all but {', '.join(sorted(LONG))})",
    )
    parser.add_argument("--peers", action="store_true", help=f"beside other queues: {', '.join(peers.SCENARIOS)}")
    parser.add_argument("--size", choices=SIZES, default="full", help="smoke only has to run (default: full)")
    parser.add_argument("--json", type=Path, default=Path("bench/results.json"), help="default: bench/results.json")
    parser.add_argument("--page", type=Path, help="put the table into this page of the documentation as well")
    parser.add_argument("--strict", action="store_true", help="a missed bar is a failure")
    wanted = parser.parse_args()
    known = peers.SCENARIOS if wanted.peers else SCENARIOS
    if unknown := set(wanted.only or ()) - set(known):
        parser.error(f"--only: there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return wanted
