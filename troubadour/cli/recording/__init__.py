"""``troubadour record`` and ``troubadour try``: workloads on databases, real and in memory."""
