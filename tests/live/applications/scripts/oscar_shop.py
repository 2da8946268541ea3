"""django-oscar: baskets are filled, and orders placed. `python oscar_shop.py setup|run URL`."""

import sys
from decimal import Decimal
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

import django
from django.conf import settings
from oscar import defaults

parts = urlsplit(sys.argv[2])
if parts.scheme == "sqlite":
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": parts.path, "OPTIONS": {"timeout": 20}}
else:
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or "postgres"),
        "HOST": parse_qs(parts.query)["host"][0],
    }
settings.configure(
    **{name: value for name, value in vars(defaults).items() if name.startswith("OSCAR_")},
    DATABASES={"default": database},
    SECRET_KEY="not one",
    SITE_ID=1,
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
    INSTALLED_APPS=[
        *("django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"),
        *("django.contrib.messages", "django.contrib.sites", "django.contrib.flatpages"),
        "oscar.config.Shop",
        *(f"oscar.apps.{name}" for name in (
            "analytics.apps.AnalyticsConfig", "checkout.apps.CheckoutConfig", "address.apps.AddressConfig",
            "shipping.apps.ShippingConfig", "catalogue.apps.CatalogueConfig",
            "catalogue.reviews.apps.CatalogueReviewsConfig", "communication.apps.CommunicationConfig",
            "partner.apps.PartnerConfig", "basket.apps.BasketConfig", "payment.apps.PaymentConfig",
            "offer.apps.OfferConfig", "order.apps.OrderConfig", "customer.apps.CustomerConfig",
            "search.apps.SearchConfig", "voucher.apps.VoucherConfig", "wishlists.apps.WishlistsConfig",
        )),
        *("widget_tweaks", "haystack", "treebeard", "sorl.thumbnail", "django_tables2"),
    ],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    USE_TZ=True,
)  # fmt: skip
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from oscar.apps.basket.models import Basket  # noqa: E402
from oscar.apps.catalogue.models import Product, ProductClass  # noqa: E402
from oscar.apps.order.models import Order  # noqa: E402
from oscar.apps.order.utils import OrderCreator, OrderNumberGenerator  # noqa: E402
from oscar.apps.partner.models import Partner, StockRecord  # noqa: E402
from oscar.apps.partner.strategy import Default  # noqa: E402
from oscar.apps.shipping.methods import Free  # noqa: E402


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    kind = ProductClass.objects.create(name="book")
    partner = Partner.objects.create(name="store")
    for n in range(4):
        product = Product.objects.create(structure="standalone", title=f"book {n}", product_class=kind, upc=f"b{n}")
        StockRecord.objects.create(
            product=product, partner=partner, partner_sku=f"s{n}", price=Decimal(10 + n), num_in_stock=50
        )
    for n in range(2):
        get_user_model().objects.create_user(f"buyer{n}", email=f"buyer{n}@example.org", password="secret")


def buy(me):
    user = get_user_model().objects.get(username=f"buyer{me}")
    for n in range(4):
        basket = Basket.objects.create(owner=user)
        basket.strategy = Default()
        for product in Product.objects.filter(upc__in=[f"b{n % 4}", f"b{(n + me + 1) % 4}"]).order_by("id"):
            basket.add_product(product, 1 + n % 2)
        method = Free()
        with transaction.atomic():
            total = type("Total", (), {"currency": "GBP", "incl_tax": basket.total_excl_tax,
                                       "excl_tax": basket.total_excl_tax, "tax": Decimal(0)})()  # fmt: skip
            order = OrderCreator().place_order(
                basket, total, method, method.calculate(basket), user=user,
                order_number=OrderNumberGenerator().order_number(basket),
            )  # fmt: skip
            basket.submit()
        assert order.lines.count() >= 1
        Order.objects.filter(user=user).order_by("-date_placed").first()
        if n == 3:
            order.set_status("Cancelled") if order.available_statuses() else None
    connection.close()


def run():
    threads = [Thread(target=buy, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Order.objects.count() == 8


{"setup": setup, "run": run}[sys.argv[1]]()
