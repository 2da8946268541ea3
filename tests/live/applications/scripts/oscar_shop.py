"""django-oscar, a web shop: baskets are filled and ordered, stock runs out. `python oscar_shop.py setup|run URL`."""

import sys
from decimal import Decimal

import django
from django.conf import settings
from django_database import database_of
from oscar.defaults import *  # noqa: F403

settings.configure(
    **{name: value for name, value in globals().items() if name.startswith("OSCAR_")},
    DATABASES={"default": database_of(sys.argv[2])},
    SECRET_KEY="not one",
    SITE_ID=1,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
        "django.contrib.sites",
        "django.contrib.flatpages",
        "oscar.config.Shop",
        "oscar.apps.analytics.apps.AnalyticsConfig",
        "oscar.apps.checkout.apps.CheckoutConfig",
        "oscar.apps.address.apps.AddressConfig",
        "oscar.apps.shipping.apps.ShippingConfig",
        "oscar.apps.catalogue.apps.CatalogueConfig",
        "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
        "oscar.apps.communication.apps.CommunicationConfig",
        "oscar.apps.partner.apps.PartnerConfig",
        "oscar.apps.basket.apps.BasketConfig",
        "oscar.apps.payment.apps.PaymentConfig",
        "oscar.apps.offer.apps.OfferConfig",
        "oscar.apps.order.apps.OrderConfig",
        "oscar.apps.customer.apps.CustomerConfig",
        "oscar.apps.search.apps.SearchConfig",
        "oscar.apps.voucher.apps.VoucherConfig",
        "oscar.apps.wishlists.apps.WishlistsConfig",
        "oscar.apps.dashboard.apps.DashboardConfig",
        "oscar.apps.dashboard.reports.apps.ReportsDashboardConfig",
        "oscar.apps.dashboard.users.apps.UsersDashboardConfig",
        "oscar.apps.dashboard.orders.apps.OrdersDashboardConfig",
        "oscar.apps.dashboard.catalogue.apps.CatalogueDashboardConfig",
        "oscar.apps.dashboard.offers.apps.OffersDashboardConfig",
        "oscar.apps.dashboard.partners.apps.PartnersDashboardConfig",
        "oscar.apps.dashboard.pages.apps.PagesDashboardConfig",
        "oscar.apps.dashboard.ranges.apps.RangesDashboardConfig",
        "oscar.apps.dashboard.reviews.apps.ReviewsDashboardConfig",
        "oscar.apps.dashboard.vouchers.apps.VouchersDashboardConfig",
        "oscar.apps.dashboard.communications.apps.CommunicationsDashboardConfig",
        "oscar.apps.dashboard.shipping.apps.ShippingDashboardConfig",
        "widget_tweaks",
        "haystack",
        "treebeard",
        "django_tables2",
    ],
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import transaction  # noqa: E402
from oscar.core.loading import get_class, get_model  # noqa: E402

Basket, Line = get_model("basket", "Basket"), get_model("basket", "Line")
Category, Product = get_model("catalogue", "Category"), get_model("catalogue", "Product")
ProductClass, Partner = get_model("catalogue", "ProductClass"), get_model("partner", "Partner")
StockRecord, Order = get_model("partner", "StockRecord"), get_model("order", "Order")
OrderCreator = get_class("order.utils", "OrderCreator")
OrderTotalCalculator = get_class("checkout.calculators", "OrderTotalCalculator")
Free = get_class("shipping.methods", "Free")
Selector = get_class("partner.strategy", "Selector")


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    User.objects.create_user("ann", "ann@example.org", "secret")


def ordered(user, number, wanted):
    basket = Basket.objects.create(owner=user)
    basket.strategy = Selector().strategy(user=user)
    for product, quantity in wanted:
        basket.add_product(product, quantity)
    method = Free()
    charge = method.calculate(basket)
    total = OrderTotalCalculator().calculate(basket, charge)
    with transaction.atomic():
        OrderCreator().place_order(
            basket=basket, total=total, shipping_method=method, shipping_charge=charge, user=user, order_number=number
        )
        basket.submit()


def run():
    user = User.objects.get(username="ann")
    kind = ProductClass.objects.create(name="books")
    partner = Partner.objects.create(name="a publisher")
    shelf = Category.add_root(name="shelf")
    products = []
    for n in range(4):
        product = Product.objects.create(title=f"book {n}", product_class=kind, upc=f"upc-{n}")
        product.categories.add(shelf)
        StockRecord.objects.create(
            product=product, partner=partner, partner_sku=f"sku-{n}", price=Decimal("9.99") + n, num_in_stock=5
        )
        products.append(product)
    for n in range(4):
        ordered(user, f"order-{n}", [(Product.objects.get(upc=f"upc-{m}"), 1) for m in range(n + 1)])
    order = Order.objects.get(number="order-3")
    assert order.lines.count() == 4
    for line in order.lines.select_related("stockrecord"):
        line.stockrecord.consume_allocation(line.quantity)
    low = StockRecord.objects.filter(num_in_stock__lt=5).order_by("id")
    assert [record.num_in_stock for record in low] == [4, 4, 4, 4]
    assert Order.objects.filter(user=user).count() == 4


{"setup": setup, "run": run}[sys.argv[1]]()
