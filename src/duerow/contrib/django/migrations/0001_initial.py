"""The tables of the queues."""

from __future__ import annotations

from django.db import migrations, models

from duerow.contrib.django.operations import MigrateQueues


class Migration(migrations.Migration):
    """Makes the tables."""

    initial = True
    dependencies = ()
    operations = (
        MigrateQueues(7),
        migrations.CreateModel(
            name="QueueSummary",
            fields=[("name", models.CharField(max_length=100, primary_key=True, serialize=False))],
            options={
                "verbose_name": "queue",
                "verbose_name_plural": "queues",
                "permissions": (("view_queues", "Can view queues"), ("operate_queues", "Can operate queues")),
                "managed": False,
                "default_permissions": (),
            },
        ),
    )
