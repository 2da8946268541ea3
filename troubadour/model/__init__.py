"""The log, verdicts and witnesses as plain data; knows neither files nor SQL."""
