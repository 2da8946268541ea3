"""SQL as text: what a product reads, spells and calls its types. Knows no tables."""
