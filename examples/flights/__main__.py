"""`python -m examples.flights`."""

import sys

try:
    from examples.flights.command import main
except ModuleNotFoundError as error:
    if (error.name or "duerow").startswith("duerow"):
        raise
    sys.exit(f"the demo needs the module {error.name}; run pip install 'duerow[demo]'")

main()
