"""What people are told: forty mistakes and twenty-four verdicts, now and at an earlier commit, side by side."""
