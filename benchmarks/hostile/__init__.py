"""Hostile logs under `--timeout` and `--memory`: `python -m benchmarks.hostile`."""
