"""All anomalies of a log, by name, and the levels that they rule out. Does not know how they are shown."""
