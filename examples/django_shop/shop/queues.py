"""The queues of the shop, and their handlers."""

from typing import Any

from django.db.models import F
from shop.models import Sold

from duerow import Message
from duerow.contrib.django import queue

ledger = queue("ledger")


@ledger.handler(transactional=True)  # its writes and the end of its turn are committed together: exactly once
def count(message: Message, connection: Any) -> None:
    sold, _ = Sold.objects.get_or_create(item=message.payload["item"])
    Sold.objects.filter(pk=sold.pk).update(count=F("count") + 1)
