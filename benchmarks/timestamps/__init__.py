"""Logs with the database's timestamps: what it takes to audit and to watch them (Chronos and Aion)."""
