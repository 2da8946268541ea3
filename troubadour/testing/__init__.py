"""Audits inside test suites: what a test does to databases is recorded, and held to a level when it ends."""
