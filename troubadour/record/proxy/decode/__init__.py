"""What passed the proxy, made into a log, by a process of its own behind the carrier. Knows no socket."""
