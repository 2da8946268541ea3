"""Statements that read and write no modelled table: settings, probes, locks."""
