"""What the texts of statements say, before anything runs them. Knows no connection."""
