"""The model that the admin lists; it has no table."""

from __future__ import annotations

from django.db import models


class QueueSummary(models.Model):
    """The queues as the admin shows them, and the permissions for them in the admin and on the dashboard."""

    name = models.CharField(max_length=100, primary_key=True)

    class Meta:
        """There are no rows: the admin shows data from the queues themselves."""

        managed = False
        default_permissions = ()
        permissions = (("view_queues", "Can view queues"), ("operate_queues", "Can operate queues"))
        verbose_name = "queue"
        verbose_name_plural = "queues"
