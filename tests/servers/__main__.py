"""Start a server by hand: python -m tests.servers postgresql | mariadb | mongodb [--durable]; or `prepare` them all."""

import argparse
import contextlib
import signal
import sys

from tests.servers import browser, mariadb, mongodb, postgresql, restartable
from tests.servers.process import ServerUnavailable

FAMILIES = {"postgresql": postgresql, "mariadb": mariadb, "mongodb": mongodb}
FETCHED = {**FAMILIES, "libfaketime": restartable, "browser": browser}
"""What tests need besides what is installed with them."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description="Start a database server for tests.")
    parser.add_argument("family", choices=[*FAMILIES, "prepare"], help="a server to run, or fetch what is missing")
    parser.add_argument("--durable", action="store_true", help="postgresql and mariadb: keep fsync on")
    chosen = parser.parse_args()
    if chosen.family == "prepare":
        prepare()
    else:
        serve(chosen.family, chosen.durable)


def prepare() -> None:
    """Fetch the servers that are missing; one that cannot be had is named here and again by the tests that need it."""
    for family, server in FETCHED.items():
        try:
            print(f"{family}: {server.prepare()}")
        except ServerUnavailable as error:
            print(f"{family}: NOT AVAILABLE: {error}", file=sys.stderr)


def serve(family: str, durable: bool) -> None:
    """Print the URL on a line of its own and run until Ctrl-C or SIGTERM."""
    options = {} if family == "mongodb" else {"durable": durable}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), FAMILIES[family].running(**options) as url:
        print(url, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
