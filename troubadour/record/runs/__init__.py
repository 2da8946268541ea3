"""Workloads that run, and what is done to their servers meanwhile; schedules that run again. Knows no log."""
