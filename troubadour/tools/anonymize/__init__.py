"""A log without what it says: other texts, ids and names in place of its own, the same everywhere."""

from troubadour.tools.anonymize.anonymizer import Anonymizer
from troubadour.tools.anonymize.objects import without_names

__all__ = ["Anonymizer", "without_names"]
