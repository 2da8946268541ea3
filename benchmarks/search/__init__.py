"""What the steps of an audit give where much is open, and what others would. Does not know how they decide."""
