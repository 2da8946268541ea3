"""Functions of JSON, by product. Knows no other type's."""
