from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="Person",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("name", models.CharField(max_length=40)),
                ("code", models.CharField(max_length=10)),
                ("room", models.CharField(max_length=20, default="")),
            ],
        ),
        migrations.CreateModel(
            name="Visit",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("patient", models.ForeignKey("clinic.Person", models.CASCADE, related_name="visits")),
                ("reason", models.CharField(max_length=30)),
                ("cost", models.IntegerField(default=0)),
            ],
        ),
    )
