"""Sink of items in a table of SQLite, PostgreSQL, MySQL or MariaDB: each item one row, once, whatever is killed."""
