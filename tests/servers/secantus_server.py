"""SecantusDB with one user from the start: `python secantus_server.py PORT FOLDER SECRET REPLICA_SET [FLAG]`.

Its own command makes users only while it lets everybody in. SECRET is a file with the user's password; an empty
REPLICA_SET is a standalone server.
"""

import gc
import signal
import sys
from pathlib import Path

from secantus.auth import SCRAM_SHA_256, derive_credentials
from secantus.server import SecantusDBServer

USER = "duerow"
"""Root of the server, known in this database."""

ROUNDS = 4_096
"""Of the key derivation, for each connection on both sides: as few as drivers accept, since the password is random."""


def main(port: str, folder: str, secret: str, replica_set: str, *flags: str) -> None:
    """Serve until a signal."""
    sys.setrecursionlimit(10_000)  # it copies a document level by level, and tests have some that are nested deep
    spare_processor_time()
    server = SecantusDBServer(
        host="127.0.0.1",
        port=int(port),
        storage_path=folder,
        require_auth=True,
        replica_set_name=replica_set or None,
        enable_test_commands="--enable-test-commands" in flags,
        sync_on_commit="--durable" in flags,
        durable=True if "--durable" in flags else None,
    )
    password = Path(secret).read_text()
    user = {
        "_id": f"admin.{USER}",
        "user": USER,
        "db": "admin",
        "credentials": derive_credentials(password, iterations=ROUNDS).to_doc(),
        "roles": [{"role": "root", "db": "admin"}],
        "mechanisms": [SCRAM_SHA_256],
    }
    server.storage.add_user("admin", USER, user)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(server.stop()))
    gc.freeze()
    gc.set_threshold(20_000)  # objects; looking for garbage at every 700 takes long, and there is little
    server.start()
    server.wait()


def spare_processor_time() -> None:
    """Have the server take a third of the time, unless this SecantusDB is another one than that was written for."""
    try:
        import secantus_savings

        unknown = secantus_savings.install()
    except (ImportError, AttributeError) as error:
        unknown = {str(error)}
    if unknown:
        print("the server is slow, because it is of another version:", *sorted(unknown), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
