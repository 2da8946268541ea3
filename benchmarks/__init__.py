"""Workloads of the paper's evaluation (§8). They know the recorder's protocol, and nothing of the audit."""
