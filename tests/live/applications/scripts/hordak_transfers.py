"""django-hordak: accounts, and transfers between them. `python hordak_transfers.py setup|run URL`."""

import sys

import django
from django.conf import settings
from django_database import database_of

settings.configure(
    DATABASES={"default": database_of(sys.argv[2])},
    SECRET_KEY="not one",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "mptt", "hordak"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DEFAULT_CURRENCY="EUR",
    CURRENCIES=["EUR"],
    USE_TZ=True,
)
django.setup()


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def run():
    from hordak.models import Account
    from moneyed import Money

    bank = Account.objects.create(name="Bank", code="1", type="AS", currencies=["EUR"])
    income = Account.objects.create(name="Income", code="2", type="IN", currencies=["EUR"])
    for number in range(4):
        income.transfer_to(bank, Money(10 + number, "EUR"))
    assert bank.get_balance() == income.get_balance()


{"setup": setup, "run": run}[sys.argv[1]]()
