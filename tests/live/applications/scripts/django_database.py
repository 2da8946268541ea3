"""Django's own words for the database of a URL, for the scripts beside it."""

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


def database_of(url: str) -> dict[str, Any]:
    """The entry of DATABASES for a sqlite:// or postgresql:// URL."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": parts.path, "OPTIONS": {"timeout": 20}}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or "postgres"),
        "HOST": parse_qs(parts.query)["host"][0],
    }
