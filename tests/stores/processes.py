"""Promises to processes that share a database. Taken in by each store that processes can share."""

import json
import subprocess
import sys
from collections import Counter

import duerow
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face


def test_a_handle_opened_before_a_fork_works_on_both_sides_of_it(place: Place, face: Face) -> None:
    command = [sys.executable, "-m", "tests.stores.forking", face.name, place.url, json.dumps(place.settings)]
    forked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert forked.returncode == 0, forked.stderr
    with duerow.connect(place.url, **place.settings) as database:
        messages = database.queue("mail").find(limit=1000)
    keys = Counter((message.key or "").partition("-")[0] for message in messages)
    assert (keys["child"], keys["parent"], len(messages)) == (20, 20, 46), keys
