"""`python -m duerow.spark`."""

import sys

try:
    from duerow.spark.command import main
except ModuleNotFoundError as error:
    if (error.name or "duerow").startswith("duerow"):
        raise
    sys.exit(f"python -m duerow.spark needs the module {error.name}; run pip install 'duerow[spark,cli]'")

main()
