"""`python -m duerow.spark`."""

import sys

try:
    from duerow.spark.command import main
except ModuleNotFoundError as error:
    if (error.name or "duerow").startswith("duerow"):
        raise
    sys.exit(f"the command needs the module {error.name}: pip install 'duerow[spark,cli]'")

main()
