"""What rows can ever have been, whatever the order, and which observations that rules out. Orders nothing."""
