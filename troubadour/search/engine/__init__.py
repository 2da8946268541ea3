"""The engine that decides order and reads by constraints over events: known graph, saturation, linearization,
conflicts."""
