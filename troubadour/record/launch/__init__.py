"""A folder for PYTHONPATH: a Python that finds `sitecustomize` here records all that it does (`troubadour record app`).
Does not know the application."""
