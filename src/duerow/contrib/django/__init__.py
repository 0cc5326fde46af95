"""Queues in the database of a Django project: add `duerow.contrib.django` to INSTALLED_APPS.

mail = queue("mail")

with transaction.atomic():
    order.save()
    mail.push({"order": order.pk})        # committed with the order, or rolled back with it
"""

from duerow.contrib.django.database import DjangoDatabase, database, queue, url

__all__ = ["DjangoDatabase", "database", "queue", "url"]
