from django.apps import AppConfig


class ClinicConfig(AppConfig):
    name = "django_clinic"
    label = "clinic"
    default_auto_field = "django.db.models.BigAutoField"
