"""django-ledger: a chart of accounts, journal entries, balances. `python ledger_entries.py setup|run URL`."""

import sys
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import django
from django.conf import settings
from django_database import database_of

settings.configure(
    DATABASES={"default": database_of(sys.argv[2])},
    SECRET_KEY="not one",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django_ledger"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF="django_ledger.urls",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.exceptions import ValidationError  # noqa: E402
from django_ledger.io import roles  # noqa: E402
from django_ledger.models import AccountModel, EntityModel, JournalEntryModel, TransactionModel  # noqa: E402


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    user = get_user_model().objects.create_user("keeper", password="secret")
    entity = EntityModel.create_entity(name="Shop", admin=user, use_accrual_method=True, fy_start_month=1)
    chart = entity.create_chart_of_accounts(assign_as_default=True, commit=True, coa_name="Chart")
    for code, role, name, side in (
        ("1010", roles.ASSET_CA_CASH, "Cash", "debit"),
        ("4010", roles.INCOME_OPERATIONAL, "Sales", "credit"),
        ("6010", roles.EXPENSE_OPERATIONAL, "Rent", "debit"),
    ):
        chart.create_account(code=code, role=role, name=name, balance_type=side, active=True)
    entity.create_ledger(name="Daily", posted=True)


def run():
    entity = EntityModel.objects.get(name="Shop")
    ledger = entity.get_ledgers().get(name="Daily")
    cash, sales, rent = (AccountModel.objects.get(code=code) for code in ("1010", "4010", "6010"))
    for n in range(8):
        other, side = ((sales, "credit"), (rent, "debit"))[n % 3 == 2]
        back = "credit" if side == "debit" else "debit"
        amount = Decimal("12.50") * (n + 1)
        entity.commit_txs(
            je_timestamp=datetime(2024, 3, 1 + n, tzinfo=ZoneInfo("UTC")),
            je_txs=[
                {"account": cash, "amount": amount, "tx_type": back, "description": "a"},
                {"account": other, "amount": amount, "tx_type": side, "description": "b"},
            ],
            je_posted=n % 2 == 0,
            je_ledger_model=ledger,
        )
    with suppress(ValidationError, ValueError):
        entity.commit_txs(
            je_timestamp=datetime(2024, 4, 1, tzinfo=ZoneInfo("UTC")),
            je_txs=[{"account": cash, "amount": Decimal(1), "tx_type": "debit", "description": "one side"}],
            je_posted=True,
            je_ledger_model=ledger,
        )
    assert JournalEntryModel.objects.filter(ledger=ledger, posted=True).count() >= 4
    assert sum(one.amount for one in TransactionModel.objects.filter(account=cash)) > 0


{"setup": setup, "run": run}[sys.argv[1]]()
