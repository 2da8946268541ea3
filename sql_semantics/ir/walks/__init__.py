"""Questions about statements and expressions, answered by walking over them. Runs and changes nothing."""
