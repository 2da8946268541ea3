"""Isolation by the database's own timestamps (*Online Timestamp-based Transactional Isolation Checking of Database
Systems*: Chronos and Aion): what each transaction must have read, and every axiom that fails. Does not know SQL.
"""
