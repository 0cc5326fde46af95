"""What each program that is forked would do first, done once in the process that all of them are forked from."""

import gc
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import typer.main

import duerow
from duerow import Commit, Draft
from duerow.cli.application import app

typer.main.get_command = cache(typer.main.get_command)  # reads the signature of every command
typer.main.get_command(app)

# It reads the metadata of all packages and the grammar of conditions, and writes the statements for SQLite.
with TemporaryDirectory() as folder, duerow.connect(f"sqlite:///{Path(folder, 'ready.db')}", migrate=True) as database:
    queue = database.queue("ready")
    queue.push("first")
    queue.push_many([Draft("second", key="key")])
    assert queue.settle([(one, Commit()) for one in queue.reserve_many(2)]) == []
    assert queue.find("attempts > 0") == []
    assert queue.count() == 0

gc.freeze()  # else a search for garbage in a forked process copies all the memory that it shares with this one
