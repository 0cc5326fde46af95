"""Tests for the shop; run them with `python manage.py test`."""

from unittest import mock

from django.test import TestCase
from shop.models import Order, Sold
from shop.queues import ledger

from duerow.contrib.django.testing import run_handlers, run_tasks


class Orders(TestCase):
    def test_an_order_is_confirmed_and_counted(self) -> None:
        for item in ("lamp", "chair", "lamp"):
            self.client.post("/orders/", {"item": item})
        self.assertEqual(ledger.count(), 3)
        run_handlers()
        self.assertEqual(
            [one.return_value for one in run_tasks()], ["confirmed lamp", "confirmed chair", "confirmed lamp"]
        )
        self.assertEqual(dict(Sold.objects.values_list("item", "count")), {"lamp": 2, "chair": 1})
        self.assertFalse(Order.objects.filter(confirmed=False).exists())

    def test_an_order_that_fails_leaves_nothing_behind(self) -> None:
        with mock.patch("shop.views.confirm") as confirm, self.assertRaises(ZeroDivisionError):
            confirm.enqueue.side_effect = ZeroDivisionError
            self.client.post("/orders/", {"item": "lamp"})
        self.assertEqual((Order.objects.count(), ledger.count()), (0, 0))
