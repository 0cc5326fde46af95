"""`python -m duerow`: the command `duerow`."""

from duerow.cli.main import main

main()
