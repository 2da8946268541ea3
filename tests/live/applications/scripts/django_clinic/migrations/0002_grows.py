"""What is added to models that have rows, and what of them is altered."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("clinic", "0001_initial"),)
    operations = (
        migrations.AddField("Person", "weight", models.DecimalField(max_digits=6, decimal_places=2, null=True)),
        migrations.AddField("Visit", "paid", models.BooleanField(default=False)),
        migrations.AlterField("Person", "code", models.CharField(max_length=20, unique=True)),
        migrations.AlterField("Visit", "reason", models.CharField(max_length=100)),
        migrations.RenameField("Person", "name", "full_name"),
        migrations.AlterField("Person", "full_name", models.CharField(max_length=80)),
    )
