"""A foreign key over rows that are there, filled from a column that goes; a table that takes another name."""

import django.db.models.deletion
from django.db import migrations, models


def fill(apps, editor):
    person, ward = apps.get_model("clinic", "Person"), apps.get_model("clinic", "Ward")
    for one in person.objects.exclude(room="").order_by("id"):
        one.ward, _ = ward.objects.get_or_create(name=f"ward {one.room}")
        one.save(update_fields=["ward"])


class Migration(migrations.Migration):
    dependencies = (("clinic", "0002_grows"),)
    operations = (
        migrations.CreateModel(
            name="Ward",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("name", models.CharField(max_length=40, unique=True)),
                ("beds", models.PositiveIntegerField(default=4)),
            ],
        ),
        migrations.AddField(
            "Person",
            "ward",
            models.ForeignKey(
                "clinic.Ward", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="patients"
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RemoveField("Person", "room"),
        migrations.RenameModel("Person", "Patient"),
        migrations.AddField("Patient", "since", models.DateField(null=True)),
        migrations.AddField("Patient", "notes", models.JSONField(default=dict)),
        migrations.AddIndex("Patient", models.Index(fields=["full_name"], name="patient_name")),
        migrations.AddConstraint(
            "Patient", models.CheckConstraint(condition=models.Q(weight__gt=0), name="weight_positive")
        ),
    )
