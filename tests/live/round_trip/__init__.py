"""Odd schemas and statements on the real engines, recorded by our recorders and audited. Does not judge verdicts."""
