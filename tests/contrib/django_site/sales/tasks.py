"""Tasks of Django's own framework."""

from datetime import timedelta

import django

import duerow
from duerow.contrib.django import database
from tests.contrib.django_site.sales.models import Order

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


typed = duerow.Tasks(database(), queue="typed", results=timedelta(hours=1))


@typed.task
def price(item: str, count: int = 1) -> int:
    return Order.objects.filter(item=item).count() * count


@typed.callback
def total(outcomes: list[duerow.TaskOutcome]) -> None:
    Order.objects.create(item=f"{sum(one.value for one in outcomes)} in all")


@task()
def add(a, b=0):
    return a + b


@task(queue_name="mail", priority=10)
async def sell(item):
    return item


@task()
def make_order(item):
    return Order.objects.create(item=item).pk


@task()
def fail():
    raise ValueError("it failed")


@task()
def unspeakable():
    return lambda: True


@task(takes_context=True)
def attempt(context, words):
    return [context.attempt, context.task_result.id, words]


@task(backend="patient", queue_name="patient", takes_context=True)
def second_time(context):
    if context.attempt < 2:
        raise ConnectionError("not yet")
    return context.attempt


@task(backend="at_once")
def double(n):
    return 2 * n
