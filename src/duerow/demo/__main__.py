"""`python -m duerow.demo`."""

import sys

try:
    from duerow.demo.command import main
except ModuleNotFoundError as error:
    if (error.name or "duerow").startswith("duerow"):
        raise
    sys.exit(f"the demo needs the module {error.name}: pip install 'duerow[demo]'")

main()
