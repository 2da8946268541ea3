"""Values that the DBMS chose freely, and how a run is told of them. Knows no order of transactions."""
