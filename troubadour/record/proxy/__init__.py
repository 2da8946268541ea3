"""A proxy that records: what clients of any language send and are answered, byte by byte, between them and the server.

`carrier` moves the bytes and writes them down before it passes them on; `decode`, a process of its own behind it, makes
the log of them; `postgres` and `mysql` know the two protocols. Does not know who connects.
"""
