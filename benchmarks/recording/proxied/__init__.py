"""The proxy proved and measured: ``python -m benchmarks.recording.proxied clients|kills|cost``. Each has a server of
its own, of Debian's PostgreSQL where it is installed. Knows no protocol."""
