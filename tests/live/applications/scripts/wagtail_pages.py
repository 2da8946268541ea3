"""Wagtail: pages are written, published, moved and taken back. `python wagtail_pages.py setup|run URL`."""

import sys

import django
from django.conf import settings
from django_database import database_of

settings.configure(
    DATABASES={"default": database_of(sys.argv[2])},
    SECRET_KEY="not one",
    INSTALLED_APPS=[
        "wagtail.users",
        "wagtail.sites",
        "wagtail.images",
        "wagtail.documents",
        "wagtail.search",
        "wagtail.admin",
        "wagtail",
        "taggit",
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    WAGTAIL_SITE_NAME="news",
    WAGTAILADMIN_BASE_URL="http://localhost",
    STATIC_URL="/static/",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.db import transaction  # noqa: E402
from wagtail.models import Page  # noqa: E402


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser("editor", "editor@example.org", "secret")


def run():
    editor = get_user_model().objects.get(username="editor")
    home = Page.objects.filter(depth=2).first()
    for n in range(4):
        with transaction.atomic():
            page = home.add_child(instance=Page(title=f"page {n}", slug=f"page-{n}", live=False, owner=editor))
        page.title = f"page {n}, revised"
        page.save_revision(user=editor).publish()
        child = page.add_child(instance=Page(title=f"below {n}", slug="below"))
        assert Page.objects.child_of(page).live().count() == 1
        if n % 2:
            child.unpublish()
            page.get_parent().refresh_from_db()
    first, last = Page.objects.get(slug="page-0"), Page.objects.get(slug="page-3")
    first.move(last, pos="last-child")
    Page.objects.get(slug="page-1").delete()
    titles = [page.title for page in Page.objects.live().order_by("path")]
    assert "page 3, revised" in titles


{"setup": setup, "run": run}[sys.argv[1]]()
