"""The producer: it stores text messages and makes them due."""

from __future__ import annotations

from random import Random

from sqlalchemy.orm import Session

from examples.sms.tables import SmsMessage


def write_messages(session: Session, number: int, senders: int, random: Random) -> None:
    """Store `number` messages from `senders` senders, all due now; they are sent once the session is committed."""
    for place in range(number):
        sms = SmsMessage(
            sender=f"shop-{place % senders + 1}",
            receiver=f"+385 91 {random.randrange(10**6):06}",
            text=f"Your parcel {place + 1} is on its way.",
        )
        sms.sending.schedule()
        session.add(sms)
