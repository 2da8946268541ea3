"""The order of events that the facts leave: known graph, saturation, linearization, contradictions. Runs nothing."""
