"""Write text messages and send them: `python -m examples.sms`, or with `--url postgresql+psycopg://user@host/base`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from duerow import Worker, fixed, limited
from duerow.entity import EntityQueue
from examples.sms.gateway import Gateway
from examples.sms.producer import write_messages
from examples.sms.tables import Base, SmsMessage

LOG = logging.getLogger("sms")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the application; return its exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout, force=True
    )
    random = Random(chosen.seed)  # noqa: S311 - for made-up phone numbers
    engine = create_engine(chosen.url)
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        write_messages(session, chosen.messages, chosen.senders, random)
    gateway = Gateway(chosen.delay, chosen.failures, random)

    def send(sms: SmsMessage, session: Session) -> None:
        gateway.send(sms.receiver, sms.text)
        LOG.info("sent message %d of %s to %s", sms.id, sms.sender, sms.receiver)

    retry = limited(chosen.attempts, fixed(timedelta(seconds=chosen.retry_after)))
    queue: EntityQueue[SmsMessage] = EntityQueue(SmsMessage.sending, engine, retry=retry)
    worker = Worker(queue, send, batch=chosen.batch, poll=timedelta(seconds=chosen.poll))
    worker.run(until=None if chosen.until == "stopped" else chosen.until)
    stands = queue.stats()
    LOG.info(
        "%d sent now, %d in all; %s ready, %s waiting for another attempt, %s dead",
        gateway.sent,
        queue.count(status="done", exact=True),
        stands.shown("ready"),
        stands.shown("delayed"),
        stands.shown("dead"),
    )
    engine.dispose()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.sms", description="Send messages from their own table.")
    parser.add_argument("--url", default="sqlite:///sms.db", help="the database (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=250, help="messages to write first (default: %(default)s)")
    parser.add_argument("--senders", type=int, default=3, help="number of different senders (default: %(default)s)")
    parser.add_argument("--delay", type=float, default=0.02, help="seconds to send a message (default: %(default)s)")
    parser.add_argument("--failures", type=float, default=0.1, help="share that fails, 0 to 1 (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="seed that makes the failures the same in every run")
    parser.add_argument("--attempts", type=int, default=3, help="maximum number of attempts (default: %(default)s)")
    parser.add_argument("--retry-after", type=float, default=60, help="seconds between attempts (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=100, help="messages fetched at a time (default: %(default)s)")
    parser.add_argument("--poll", type=float, default=10, help="seconds between polls (default: %(default)s)")
    parser.add_argument(
        "--until",
        choices=["stopped", "idle", "empty"],
        default="empty",
        help="run until stopped, until nothing is due now, or until nothing will become due (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
