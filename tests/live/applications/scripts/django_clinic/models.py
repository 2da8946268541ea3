"""The models as the last migration leaves them."""

from django.db import models


class Ward(models.Model):
    name = models.CharField(max_length=40, unique=True)
    beds = models.PositiveIntegerField(default=4)


class Patient(models.Model):
    full_name = models.CharField(max_length=80)
    code = models.CharField(max_length=20, unique=True)
    weight = models.DecimalField(max_digits=6, decimal_places=2, null=True)
    since = models.DateField(null=True)
    ward = models.ForeignKey(Ward, on_delete=models.PROTECT, null=True, related_name="patients")
    notes = models.JSONField(default=dict)

    class Meta:
        indexes = (models.Index(fields=["full_name"], name="patient_name"),)
        constraints = (models.CheckConstraint(condition=models.Q(weight__gt=0), name="weight_positive"),)


class Visit(models.Model):
    patient = models.ForeignKey(Patient, on_delete=models.CASCADE, related_name="visits")
    reason = models.CharField(max_length=100)
    cost = models.IntegerField(default=0)
    paid = models.BooleanField(default=False)
