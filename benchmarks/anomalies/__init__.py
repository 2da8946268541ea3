"""Violations by name: what logs with known anomalies, faults and real findings are called; whether chains follow."""
