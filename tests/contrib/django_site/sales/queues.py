"""Queues and their handlers."""

from django.db.models import F

from duerow.contrib.django import queue
from tests.contrib.django_site.sales.models import Order

mail = queue("mail")  # at import, before the tests have a database
ledger = queue("ledger", history=mail.lease)


@mail.handler
def send(message):
    if message.payload.get("fails"):
        raise ConnectionError("no line")
    Order.objects.filter(pk=message.payload["order"]).update(mailed=F("mailed") + 1)


@ledger.handler(transactional=True)
def book(message, connection):
    Order.objects.filter(pk=message.payload["order"]).update(mailed=F("mailed") + 1)
    if message.payload.get("fails"):
        raise ConnectionError("no line")
