"""What moves bytes between clients and a server, and writes them down before it passes them on. Knows of the protocols
only what a `Talk` tells."""
