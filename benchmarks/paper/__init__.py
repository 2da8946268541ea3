"""The paper's evaluation (§8) again: its four questions, its table and its figures, its numbers beside ours."""
