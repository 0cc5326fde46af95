"""The command, made ready in the process that programs are forked from: each of them would do the same first."""

from functools import cache

import typer.main

from duerow.cli.application import app

typer.main.get_command = cache(typer.main.get_command)  # reads the signature of every command
typer.main.get_command(app)
