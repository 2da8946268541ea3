"""Which table or column a name means, and what a name may not mean. Knows no values."""
