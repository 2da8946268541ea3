"""Django with its migrations: tables are made, filled, changed and used between. `python django_migrations.py setup|run
URL`."""

import sys
from datetime import date
from decimal import Decimal
from threading import Thread

import django
from django.conf import settings
from django_database import database_of

settings.configure(
    DATABASES={"default": database_of(sys.argv[2])},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django_clinic.apps.ClinicConfig"],
    USE_TZ=True,
)
django.setup()

# what needs the settings comes after them
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402


def migrated(name):
    """The models as a migration leaves them."""
    call_command("migrate", "clinic", name, verbosity=0)
    return MigrationExecutor(connection).loader.project_state(("clinic", name)).apps


def at_first(apps):
    person, visit = apps.get_model("clinic", "Person"), apps.get_model("clinic", "Visit")
    for n in range(6):
        one = person.objects.create(name=f"name {n}", code=f"c{n}", room=str(n % 3))
        visit.objects.create(patient=one, reason="checkup", cost=n)
    visit.objects.filter(patient__code="c3").update(cost=models.F("cost") + 10)


def grown(apps):
    person, visit = apps.get_model("clinic", "Person"), apps.get_model("clinic", "Visit")
    for one in person.objects.order_by("id"):
        one.weight = Decimal("60.5") + one.id
        one.save(update_fields=["weight"])
    visit.objects.filter(cost__gt=3).update(paid=True)
    try:
        with transaction.atomic():
            person.objects.create(full_name="again", code="c1", room="1")
    except IntegrityError:
        pass


def work(me):
    from django_clinic.models import Patient, Visit, Ward

    for n in range(8):
        patient = Patient.objects.select_related("ward").get(code=f"c{(me + n) % 6}")
        with transaction.atomic():
            Visit.objects.create(patient=patient, reason=f"reason {n} of {me}", cost=n)
            Patient.objects.filter(pk=patient.pk).update(since=date(2026, 1, 1 + n), notes={"by": me, "n": [n]})
        Visit.objects.filter(patient=patient, paid=False).aggregate(total=models.Sum("cost"))
        [visit.reason for visit in Visit.objects.filter(patient__ward__name="ward 1").order_by("id")[:5]]
        [p.notes for p in Patient.objects.filter(notes__by=me).order_by("id")]
        if n % 3 == 0:
            try:
                with transaction.atomic():
                    Patient.objects.create(full_name="none", code="none", ward_id=99)
            except IntegrityError:
                pass
            Ward.objects.filter(name="ward 2").update(beds=models.F("beds") - 1)
    connection.close()


def run():
    at_first(migrated("0001_initial"))
    grown(migrated("0002_grows"))
    call_command("migrate", verbosity=0)
    threads = [Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    from django_clinic.models import Patient, Visit

    Patient.objects.filter(code="c5").delete()
    assert Visit.objects.filter(patient__code="c5").count() == 0
    assert Patient.objects.count() == 5


{"setup": lambda: None, "run": run}[sys.argv[1]]()
