"""Workloads on objects (lists, registers, sets, counters), run on real databases and recorded as object logs."""

from troubadour.record.objects.run import Plan, Told, record_objects
from troubadour.record.objects.stores import PRODUCTS, Store

__all__ = ["PRODUCTS", "Plan", "Store", "Told", "record_objects"]
