"""The intermediate representation: frozen data, names already resolved, types already known.

Knows neither the SQL text it came from nor how it will be run.
"""
