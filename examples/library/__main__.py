"""`python -m examples.library`."""

import sys

try:
    from examples.library.command import main
except ModuleNotFoundError as error:
    if (error.name or "duerow").startswith(("duerow", "examples")):
        raise
    sys.exit(f"the example needs the module {error.name}; run pip install 'duerow[spark,cli]'")

main()
