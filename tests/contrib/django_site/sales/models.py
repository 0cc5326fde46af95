"""What is sold."""

from django.db import models


class Order(models.Model):
    """An order, and whether its mail was sent."""

    item = models.CharField(max_length=100)
    mailed = models.IntegerField(default=0)

    class Meta:
        """In this app, whose name a test's module cannot tell."""

        app_label = "sales"
