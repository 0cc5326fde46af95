"""The tasks of the shop, written for Django's own task framework."""

import django
from shop.models import Order

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


@task(queue_name="mail", priority=10)
def confirm(order: int) -> str:
    """Confirm an order; a real shop would also send an email here."""
    found = Order.objects.get(pk=order)
    found.confirmed = True
    found.save(update_fields=["confirmed"])
    return f"confirmed {found.item}"
