"""Recording through any DB-API driver, by a wrapper. Does not know how a log is judged."""

from troubadour.record.dbapi.connection import RecordedDbapi, wrap

__all__ = ["RecordedDbapi", "wrap"]
