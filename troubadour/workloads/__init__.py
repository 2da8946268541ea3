"""Seeded workloads that are recorded on real servers: schema, procedures, transactions. Knows no audit."""
