"""Django's ORM, with its default settings: accounts, orders, transactions. `python django_bank.py setup|run URL`."""

import sys
from decimal import Decimal
from threading import Thread

import django
from django.conf import settings
from django_database import database_of

settings.configure(
    DATABASES={"default": database_of(sys.argv[2])},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import F, Sum  # noqa: E402


class Account(models.Model):
    owner = models.CharField(max_length=40, unique=True)
    balance = models.DecimalField(max_digits=12, decimal_places=2)
    active = models.BooleanField(default=True)
    opened = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bank"


class Order(models.Model):
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="orders")
    item = models.CharField(max_length=40)
    price = models.IntegerField()

    class Meta:
        app_label = "bank"
        ordering = ("id",)


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Account)
        editor.create_model(Order)
    for n in range(5):
        Account.objects.create(owner=f"owner {n}", balance=100)


def work(me):
    for n in range(12):
        account = Account.objects.get(owner=f"owner {(me + n) % 5}")
        with transaction.atomic():
            locked = Account.objects.select_for_update().get(pk=account.pk)
            locked.balance -= Decimal("1.50")
            locked.save(update_fields=["balance"])
            Order.objects.create(account=locked, item=f"item {n}", price=n)
        Account.objects.filter(pk=account.pk).update(balance=F("balance") + 1)
        if n % 4 == 0:
            try:
                with transaction.atomic():
                    Account.objects.create(owner="owner 1", balance=0)
            except IntegrityError:
                pass
        Account.objects.get_or_create(owner=f"new {n % 3}", defaults={"balance": 5})
        Order.objects.filter(account=account, price__gt=2).exists()
        Order.objects.filter(account__active=True).aggregate(total=Sum("price"))
        [order.item for order in Order.objects.select_related("account").filter(price__in=[1, 2, 3])[:10]]
        list(Account.objects.order_by("owner").iterator(chunk_size=2))
    User.objects.create_user(f"user{me}", password="secret")
    User.objects.filter(username=f"user{me}").first()
    Order.objects.bulk_create([Order(account_id=1, item="bulk", price=n) for n in range(3)])
    Order.objects.filter(item="bulk").delete()
    connection.close()


def run():
    threads = [Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


{"setup": setup, "run": run}[sys.argv[1]]()
