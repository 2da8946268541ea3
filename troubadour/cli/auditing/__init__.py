"""``troubadour audit`` and what it alone asks for: logs read once, every level, other levels."""
