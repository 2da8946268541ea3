"""What the answers of a log of operations on objects tell, whatever the order is. Does not know levels."""
