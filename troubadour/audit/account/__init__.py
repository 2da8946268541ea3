"""What a violation is called and why it is one: anomalies, chains of dependencies, differences, lost commits."""
