"""django-q2: tasks that wait in a table and are worked off. `python q2_tasks.py setup|run URL`."""

import sys

import django
from django.conf import settings
from django_database import database_of

settings.configure(
    DATABASES={"default": database_of(sys.argv[2])},
    SECRET_KEY="not one",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django_q"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    Q_CLUSTER={"name": "q", "orm": "default", "sync": False, "retry": 120, "timeout": 60, "poll": 0.1},
)
django.setup()


def setup():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def run():
    import math
    from datetime import timedelta

    from django.utils import timezone
    from django_q.brokers import get_broker
    from django_q.models import Schedule, Success, Task
    from django_q.monitor import save_task
    from django_q.signing import SignedPackage
    from django_q.tasks import async_task, fetch, queue_size, result, schedule

    broker = get_broker()
    ids = [async_task("math.sqrt", n * n, broker=broker, group="roots") for n in range(5)]
    assert queue_size(broker=broker) == 5
    for ack, text in [pair for _ in range(5) for pair in broker.dequeue()]:
        task = SignedPackage.loads(text)
        task |= {"result": math.sqrt(*task["args"]), "success": True, "stopped": timezone.now()}
        task["ack_id"] = ack
        broker.acknowledge(ack)
        save_task(task, broker)
    assert result(ids[3]) == 3
    schedule("math.sqrt", 4, schedule_type=Schedule.HOURLY, next_run=timezone.now() + timedelta(days=1))
    assert Success.objects.count() == 5
    assert Task.get_group_count("roots") == 5
    fetch(ids[0]).delete()


{"setup": setup, "run": run}[sys.argv[1]]()
