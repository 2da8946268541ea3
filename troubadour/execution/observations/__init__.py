"""What a client observed against what a run gave (DESIGN §5). Knows no order of transactions."""
