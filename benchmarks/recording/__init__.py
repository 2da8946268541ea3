"""Recording on real servers: clients, costs, kills, crashes, all workloads. Does not know how a log is judged."""
