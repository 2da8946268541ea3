# mypy: ignore-errors
# (run by an interpreter of its own, with packages that the project does not have)
"""What a Kinto, a store of JSON behind HTTP, does: ``python kinto_store.py PORT [setup]``."""

import sys

from pyramid.config import Configurator
from webtest import TestApp


def application(port):
    """A Kinto on the database at a port."""
    import kinto

    url = f"postgresql://postgres@127.0.0.1:{port}/shop"
    settings = {
        "storage_backend": "kinto.core.storage.postgresql", "storage_url": url,
        "permission_backend": "kinto.core.permission.postgresql", "permission_url": url,
        "cache_backend": "kinto.core.cache.memory", "userid_hmac_secret": "secret",
        "multiauth.policies": "basicauth", "bucket_create_principals": "system.Everyone",
        "includes": "kinto.plugins.history",
    }  # fmt: skip
    return kinto.main({}, Configurator(settings=settings), **settings)


def use(app):
    """Buckets, collections and records are made, changed, listed and deleted."""
    app.authorization = ("Basic", ("me", "secret"))
    app.put_json("/v1/buckets/shop", {})
    app.put_json("/v1/buckets/shop/collections/notes", {})
    records = "/v1/buckets/shop/collections/notes/records"
    made = [app.post_json(records, {"data": {"n": n, "text": f"it's {n}"}}).json["data"]["id"] for n in range(10)]
    for one in made[:5]:
        app.patch_json(f"{records}/{one}", {"data": {"n": 7}})
    app.get(f"{records}?n=7&_sort=-last_modified&_limit=3")
    app.delete(f"{records}/{made[0]}")
    app.get(records)
    app.get("/v1/buckets")
    app.delete(f"{records}?n=7")
    app.get("/v1/buckets/shop/history")


if __name__ == "__main__":
    if sys.argv[2:] == ["setup"]:
        from kinto.core import scripts

        scripts.migrate({"registry": application(int(sys.argv[1])).registry})
    else:
        use(TestApp(application(int(sys.argv[1]))))
