"""SQL types and the arithmetic of concrete values; knows nothing of guards or of rows."""
