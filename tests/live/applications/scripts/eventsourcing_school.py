"""eventsourcing: aggregates, their events and snapshots. `python eventsourcing_school.py setup|run URL`."""

import os
import sys
from urllib.parse import parse_qs, urlsplit

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

URL = urlsplit(sys.argv[2])
if URL.scheme == "sqlite":
    os.environ |= {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": URL.path}
else:
    os.environ |= {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": URL.path.lstrip("/"),
        "POSTGRES_HOST": parse_qs(URL.query)["host"][0],
        "POSTGRES_PORT": "5432",
        "POSTGRES_USER": "postgres",
        "POSTGRES_PASSWORD": "none",
    }


class Dog(Aggregate):
    @event("Registered")
    def __init__(self, name):
        self.name = name
        self.tricks = []

    @event("Learned")
    def learn(self, trick):
        self.tricks.append(trick)


class School(Application):
    is_snapshotting_enabled = True


school = School()
for number in range(4 if sys.argv[1] == "run" else 0):
    dog = Dog(f"dog {number}")
    school.save(dog)
    for trick in range(3):
        again = school.repository.get(dog.id)
        again.learn(f"trick {trick}")
        school.save(again)
    school.take_snapshot(dog.id)
    assert len(school.repository.get(dog.id).tricks) == 3
assert len(school.notification_log.select(start=1, limit=10)) == (10 if sys.argv[1] == "run" else 0)
