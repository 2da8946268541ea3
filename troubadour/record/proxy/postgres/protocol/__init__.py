"""Messages of PostgreSQL's protocol, and values in them. Does not know what a session did."""
