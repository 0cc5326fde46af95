"""What the admin lists; it has no table of its own."""

from __future__ import annotations

from django.db import models


class QueueSummary(models.Model):
    """The queues, as the admin shows them, and what people may do with them there and on the dashboard."""

    name = models.CharField(max_length=100, primary_key=True)

    class Meta:
        """Rows are never read: what is shown comes from the queues themselves."""

        managed = False
        default_permissions = ()
        permissions = (("view_queues", "Can view queues"), ("operate_queues", "Can operate queues"))
        verbose_name = "queue"
        verbose_name_plural = "queues"
