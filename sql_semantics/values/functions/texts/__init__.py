"""Functions of text and bytes, and the patterns that texts are compared with. Knows no collation."""
