"""The suites' engines are those of the differential tests."""

from tests.differential.conftest import postgres

__all__ = ["postgres"]
