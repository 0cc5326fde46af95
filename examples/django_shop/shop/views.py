"""The view that takes orders."""

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from shop.models import Order
from shop.queues import ledger
from shop.tasks import confirm


@csrf_exempt
@require_POST
def order(request: HttpRequest) -> HttpResponse:
    with transaction.atomic():  # the order, its message and its task are all committed, or none of them is
        made = Order.objects.create(item=request.POST["item"])
        ledger.push({"item": made.item}, key=f"order-{made.pk}")
        confirm.enqueue(made.pk)
    return HttpResponse(f"order {made.pk}\n")
