"""Applications that know nothing of the recorder, recorded and judged. Run by `python -m tests.live.applications`."""
