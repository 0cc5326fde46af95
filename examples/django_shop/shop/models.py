"""The tables of the shop."""

from django.db import models


class Order(models.Model):
    item = models.CharField(max_length=100)
    confirmed = models.BooleanField(default=False)


class Sold(models.Model):
    item = models.CharField(max_length=100, unique=True)
    count = models.PositiveIntegerField(default=0)
