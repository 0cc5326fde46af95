"""Explore the models: `make model`, `make model SIZE=full`, `make model ARGS="groups --story"`.

Each model must hold within its bounds, every line of it must be reached, and Spin must find each of the mistakes that
are made on purpose. Exits with 1 if anything else happens.
"""

from __future__ import annotations

import argparse
import sys

from model import spin
from model.catalog import MODELS, Bounds, Model

ENDING = "-end-"
"""What Spin calls the step that ends a process."""

SEARCHES = 8
"""How many searches each swarm has."""

SEARCH_S = 60.0
"""Seconds that each of them takes at most."""


class Report:
    """Prints what was found, and counts surprises."""

    def __init__(self, story: bool) -> None:
        self.surprises, self._story = 0, story

    def tell(self, name: str, bounds: Bounds, found: spin.Found, expected: str, surprise: str | None) -> None:
        """Print one line for an exploration, and more if it went another way than expected."""
        within = ", ".join(f"{macro}={value}" for macro, value in bounds.items())
        states = f"{found.states:>11,} states {found.seconds:>6.1f} s"
        print(f"{'SURPRISE' if surprise else 'ok':<9}{name:<10}{expected:<34}{states}  {within}", flush=True)
        if surprise:
            self.surprises += 1
            print(f"         {surprise}")
            if self._story:
                print(found.story)


def main() -> int:
    """Explore the models that are asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="make model", description="Explore the models of the protocol with Spin.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(one.name for one in MODELS)}")
    parser.add_argument("--size", choices=("short", "full"), default="short", help="how large the bounds are")
    parser.add_argument("--story", action="store_true", help="print the steps that lead to a surprise")
    options = parser.parse_args()
    if unknown := set(options.models) - {one.name for one in MODELS}:
        parser.error(f"no model is called {', '.join(sorted(unknown))}")
    report = Report(options.story)
    try:
        program = spin.program()
        for model in MODELS:
            if not options.models or model.name in options.models:
                explore(program, model, options.size == "full", report)
    except spin.ModelError as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    print(f"{report.surprises} surprises" if report.surprises else "all models hold, and every mistake was found")
    return 1 if report.surprises else 0


def explore(program: str, model: Model, full: bool, report: Report) -> None:
    """Explore one model within all of its bounds, then each of its broken variants."""
    reached: list[set[str]] = []
    for bounds in (*model.short, *(model.full if full else ())):
        found = spin.explore(program, model.path, bounds)
        expected = "every wait ends" if "PROGRESS" in bounds else "holds in every state"
        report.tell(model.name, bounds, found, expected, found.error)
        reached.append({line for line in found.unreached if not (model.endless and line.endswith(ENDING))})
    if never := set.intersection(*reached):
        report.surprises += 1
        print(f"SURPRISE {model.name:<10}no run comes to " + "; ".join(sorted(never)))
    for bounds in model.swarm if full else ():
        for seed in range(1, SEARCHES + 1):
            found = spin.explore(program, model.path, bounds, spin.SWARM, seed, SEARCH_S)
            report.tell(model.name, bounds, found, f"holds as far as search {seed} came", found.error)
    for mistake, bounds in model.broken.items():
        found = spin.explore(program, model.path, {**bounds, f"BROKEN_{mistake}": 1})
        missed = None if found.error else "Spin finds no violation: the model does not check what it should"
        report.tell(model.name, bounds, found, mistake.lower().replace("_", " "), missed)


if __name__ == "__main__":
    sys.exit(main())
