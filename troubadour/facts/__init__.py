"""What the answers of transactions tell, without an order; of rows and of objects alike."""
