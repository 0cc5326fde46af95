"""Whoever wants text messages sent: it stores them, and says that they are due."""

from __future__ import annotations

from random import Random

from sqlalchemy.orm import Session

from examples.sms.tables import SmsMessage


def write_messages(session: Session, number: int, senders: int, random: Random) -> None:
    """Store so many messages of so many senders, all due at once; they are sent if the session is committed."""
    for place in range(number):
        sms = SmsMessage(
            sender=f"shop-{place % senders + 1}",
            receiver=f"+385 91 {random.randrange(10**6):06}",
            text=f"Your parcel {place + 1} is on its way.",
        )
        sms.sending.schedule()
        session.add(sms)
